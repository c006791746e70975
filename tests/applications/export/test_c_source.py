"""A model that is exported to C predicts as the model does, and finds the same words."""

import os
import select
import subprocess
import unicodedata
from pathlib import Path
from random import Random

import numpy as np
import pytest
from demo_models import (
    KINDS,
    ODD_TEXTS,
    STRICT,
    ask_c,
    build_filter,
    documents,
    draw_options,
    export,
    predicted,
)

from nbtext.applications.export.c_source import C_SOURCE
from nbtext.errors import AssumptionWarning, ModelError
from nbtext.features.analyzer import Analyzer
from nbtext.text_classifier import TextClassifier

SPOKEN = {name: kind for name, kind in KINDS.items() if "strip_accents" not in kind}
PERILOUS = "aAbBéÉßſıİΣσςΑΑ \t\xa0\x1c_-'0½²x\u0301\u0307\u0345ʰﬁ漢字\U00010400\U0001d400:\xadΐŉǰΣ."
WORDS = """
#define NBTEXT_NO_MAIN
#include "model.c"
int main(void) {
    static char text[1 << 25], letters[1 << 26];
    static uint32_t points[1 << 25], lower[1 << 25];
    static Word words[1 << 24];
    size_t length = fread(text, 1, sizeof text, stdin);
    size_t n_words = find_words(lower, read_text(text, length, points, lower), 0, letters, words);
    for (size_t i = 0; i < n_words; i++) fwrite(words[i].at, 1, words[i].length + 1, stdout);
}
"""


TINY = TextClassifier().fit(["one two", "three"], ["a", "b"])


def labels_of(classifier: TextClassifier, numbers: list[int]) -> list[tuple[str, ...]]:
    """The labels of these numbers; a text without a known feature has none."""
    return [(classifier.fitted_.labels[number],) if number >= 0 else () for number in numbers]


@pytest.mark.exhaustive(every=4)
@pytest.mark.parametrize("kind", SPOKEN)
def test_each_kind_of_model(cc: str, kind: str, tmp_path: Path) -> None:
    """Labels are equal, and probabilities equal to 1e-9; a text without a feature has no label."""
    classifier = TextClassifier(**SPOKEN[kind]).fit(*documents("train"))
    texts = documents("test")[0][:40] + ODD_TEXTS
    numbers, probabilities = ask_c(cc, classifier, [text.encode() for text in texts], tmp_path)
    np.testing.assert_allclose(probabilities, classifier.predict_proba(texts), rtol=0, atol=1e-9)
    assert labels_of(classifier, numbers) == predicted(classifier, texts).labels


@pytest.mark.exhaustive
@pytest.mark.parametrize("lowercase", [True, False])
def test_the_same_words(cc: str, lowercase: bool, tmp_path: Path) -> None:
    """Every assigned character is treated alike: between letters, doubled, and beside a sigma."""
    assigned = [
        c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ("Cn", "Co", "Cs")
    ]
    text = "".join(f" ab{c}cd{c} {c}{c} aΣ{c} {c}Σ aΣ{c}b a{c}Σ " for c in assigned)
    text += "".join(Random(1).choices(PERILOUS, k=100_000))
    classifier = TextClassifier(lowercase=lowercase, stop_words=("ab", "aς")).fit(
        ["one two", "three"], ["a", "b"]
    )
    export(classifier, "c", str(tmp_path / "model.c"))
    (tmp_path / "words.c").write_text(WORDS, encoding="ascii")
    subprocess.run([cc, "words.c", "-o", "words", *STRICT, "-O1"], cwd=tmp_path, check=True)
    found = subprocess.run(
        [tmp_path / "words"], input=text.encode(), capture_output=True, check=True
    ).stdout
    assert found.decode().split(" ")[:-1] == Analyzer(classifier.feature_settings)(text)


@pytest.mark.parametrize("seed", range(8))
def test_random_texts(cc: str, tmp_path: Path, seed: int) -> None:
    """Models of random options predict alike, for short texts of unusual characters and for bytes
    that are not text.
    """
    random = Random(seed)
    texts = ["".join(random.choices(PERILOUS, k=random.randint(0, 40))) for _ in range(60)]
    classifier = TextClassifier(**draw_options(random, seed)).fit(
        texts[:30], [random.choice(["a", '"\\', "??/*\n"]) for _ in range(30)]
    )
    broken = [
        bytes(random.choices(text.encode() + b"ab \xff\xc3\xed\xa0\xf4", k=30)) for text in texts
    ]
    numbers, probabilities = ask_c(
        cc, classifier, [text.encode() for text in texts] + broken, tmp_path
    )
    expected = predicted(classifier, texts + [text.decode("utf-8", "replace") for text in broken])
    np.testing.assert_allclose(probabilities, expected.probabilities, rtol=0, atol=1e-9)
    assert labels_of(classifier, numbers) == expected.labels


def test_the_filter(cc: str, tmp_path: Path) -> None:
    """The program predicts each line of standard input; the last line may have no line feed."""
    classifier = TextClassifier().fit(*documents("train"))
    program = build_filter(cc, classifier, tmp_path)
    texts = ["the bins were not emptied", "", "word " * 50_000, "my neighbour drills all night"]
    done = subprocess.run(
        [program], input="\n".join(texts), text=True, capture_output=True, check=True
    )
    labels, found = zip(*[line.split("\t") for line in done.stdout.splitlines()], strict=True)
    expected = classifier.predict(texts).tolist()
    probabilities = classifier.predict_proba(texts).max(axis=1)
    assert list(labels) == expected
    np.testing.assert_allclose(np.array(found, dtype=float), probabilities, rtol=1e-9)


def test_the_filter_keeps_a_record_on_its_line(cc: str, tmp_path: Path) -> None:
    """A label's tabs, line ends and backslashes are spelled as `predict` spells them."""
    classifier = TextClassifier().fit(["one two", "three four"], ["a\tb\rc", "c\\\nd"])
    done = subprocess.run(
        [build_filter(cc, classifier, tmp_path)],
        input=b"one two\nthree four\n",
        capture_output=True,
        check=True,
    )
    labels = [line.split(b"\t")[0] for line in done.stdout.split(b"\n")]
    assert labels == [rb"a\tb\rc", rb"c\\\nd", b""]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_the_filter_says_that_it_cannot_write(cc: str, tmp_path: Path) -> None:
    """The program reports an error if its output cannot be written, whether it is flushed at the
    end or before.
    """
    program = build_filter(cc, TINY, tmp_path)
    for n_lines in (1, 2047, 2048, 2049):  # of two bytes each: buffers often have 4096
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [program], input=b"\n" * n_lines, stdout=full, stderr=-1, check=False
            )
        assert (done.returncode, b"output failed" in done.stderr) == (1, True), n_lines


@pytest.mark.parametrize("end", [b"\n", b""])
def test_the_filter_says_that_memory_is_short(cc: str, tmp_path: Path, end: bytes) -> None:
    """The program reports a lack of memory, also for a last line without a line feed."""
    build_filter(cc, TINY, tmp_path)
    limited = ["sh", "-c", "ulimit -v 100000; exec ./model"]
    done = subprocess.run(
        limited, input=b"one " * 1_000_000 + end, cwd=tmp_path, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"no memory" in done.stderr


def test_a_stop_word_with_a_nul(cc: str, tmp_path: Path) -> None:
    """It is not a word of any text, and what is before its NUL is none of the stop words."""
    with pytest.warns(AssumptionWarning, match="1 of 2 entries can never match"):
        classifier = TextClassifier(stop_words=("one\0", "two")).fit(
            ["one two", "three"], ["a", "b"]
        )
    _, found = ask_c(cc, classifier, [b"one", b"two", b"one\0"], tmp_path)
    one, two, other = np.asarray(found).tolist()
    assert one == other != two
    assert two == pytest.approx(classifier.predict_proba([""])[0].tolist())


def test_a_name_that_c_cannot_hold() -> None:
    """A NUL ends a string of C."""
    classifier = TextClassifier().fit(["one two", "three"], ["a\0", "b"])
    with pytest.raises(ModelError, match="NUL"):
        C_SOURCE.check(classifier.fitted_)


def test_the_filter_answers_each_line_at_once(cc: str, tmp_path: Path) -> None:
    """A program that waits for the answer before it writes the next line gets it."""
    program = build_filter(cc, TINY, tmp_path)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text, label in ((b"one\n", b"a"), (b"three\n", b"b"), (b"two\n", b"a")):
            process.stdin.write(text)
            process.stdin.flush()
            is_ready, _, _ = select.select([process.stdout], [], [], 30)
            assert is_ready, "no answer"
            assert os.read(process.stdout.fileno(), 1000).split(b"\t")[0] == label
        process.stdin.close()
        assert process.wait() == 0

"""--names, as a user types it: texts are classified by what labels mean."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_files import read_rows, write_rows

from nbtext import TextClassifier

LABELS = ("dark_red", "deepBlue", "leaf.green")
DIMENSIONS = 12
N_WORDS = 30
TABLE = "table.vec"
FILE = "names.txt"
WORDS = {
    label: [f"{label[:2]}{chr(97 + i % 26)}{i // 26 * 'x'}" for i in range(N_WORDS)]
    for label in LABELS
}
SPOKEN = dict(zip(LABELS, ("red", "blue", "green"), strict=True))
FILLER = [f"filler{letter}" for letter in "abcdefgh"]
TRAIN = f"train --names {FILE} --vectors {TABLE} -o m --force"


@pytest.fixture(autouse=True)
def made(own_folder: None) -> None:
    """A table, names, and texts whose words are near the names."""
    random = np.random.default_rng(1)
    vectors = {
        word: random.normal(0, 0.3, DIMENSIONS) for word in (*FILLER, "dark", "deep", "leaf")
    }
    for label, center in zip(LABELS, np.eye(DIMENSIONS), strict=False):
        for word in (SPOKEN[label], *WORDS[label]):
            vectors[word] = center + random.normal(0, 0.25, DIMENSIONS)
    lines = (f"{word} {' '.join(map(str, vector))}\n" for word, vector in vectors.items())
    Path(TABLE).write_text("".join(lines))
    Path(FILE).write_text("".join(f"{label}\n" for label in LABELS))
    texts = [
        {"text": " ".join((*WORDS[label][i : i + 3], FILLER[i % 8])), "label": label}
        for i in range(0, N_WORDS, 3)
        for label in LABELS
    ]
    write_rows(Path("one.jsonl"), texts[:3])
    write_rows(Path("test.jsonl"), texts[3:])


def evaluate(nbtext: Any) -> float:
    return float(nbtext("evaluate test.jsonl -m m --to json").ok().json["accuracy"])


@pytest.mark.parametrize("more", ["", "--unlabeled test.jsonl"])
def test_without_labeled_texts(nbtext: Any, more: str) -> None:
    """The model says that it has no document, and no estimate."""
    said = nbtext(f"{TRAIN} {more}").ok().err
    assert "the accuracy is not estimated" in said
    assert "stacked: 0 documents, 3 labels" in said
    assert evaluate(nbtext) > 0.9
    assert nbtext("inspect m --to json").ok().json.get("expected") is None
    first = Path("m").read_bytes()
    nbtext(f"{TRAIN} {more} -j 2").ok()
    assert Path("m").read_bytes() == first


def test_descriptions(nbtext: Any) -> None:
    """They stand in place of the names; several lines of a label are joined."""
    words = {label: f"{WORDS[label][0]} {WORDS[label][1]}" for label in LABELS}
    labels = [*LABELS[1:], LABELS[0]]  # each has the words of the next one
    lines = [
        f"{label}: {word}\n"
        for label, own in zip(LABELS, labels, strict=True)
        for word in words[own].split()
    ]
    Path(FILE).write_text("\n".join(lines))
    nbtext(TRAIN).ok()
    assert evaluate(nbtext) < 0.1


def test_keywords_are_descriptions(nbtext: Any) -> None:
    """Without labeled texts, SOURCE holds unlabeled ones, as without vectors; with --unlabeled, it
    holds labeled ones.
    """
    keywords = [f"{label} = {WORDS[label][:2]}\n" for label in ("dark_red", "deepBlue")]
    Path("words.toml").write_text("".join((*keywords, f'"leaf.green" = {WORDS["leaf.green"][:2]}')))
    described = [f"{label}: {' '.join(WORDS[label][:2])}\n" for label in LABELS]
    Path(FILE).write_text("".join(described))
    by_keywords = f"--keywords words.toml --vectors {TABLE} -o m --force"
    for source, alike in (
        ("test.jsonl", "--unlabeled test.jsonl"),
        ("one.jsonl --unlabeled test.jsonl", "one.jsonl --unlabeled test.jsonl"),
    ):
        said = nbtext(f"train {source} {by_keywords}").ok().err
        assert ("the accuracy is not estimated" in said) == (source == "test.jsonl")
        found = Path("m").read_bytes()
        assert evaluate(nbtext) > 0.9
        nbtext(f"train {alike} --names {FILE} --vectors {TABLE} -o m --force").ok()
        assert Path("m").read_bytes() == found
    both = nbtext(f"train one.jsonl --names {FILE} {by_keywords}")
    both.refused(2, "--keywords: cannot be combined with --names")


def test_names_help_few_labeled_texts(nbtext: Any) -> None:
    """Without --names, too; the command and the library agree."""
    nbtext(f"train one.jsonl --vectors {TABLE} -o m -q").ok()
    assert evaluate(nbtext) > 0.9
    plain = Path("m").read_bytes()
    nbtext(f"train one.jsonl --vectors {TABLE} --names {FILE} -o m -q --force").ok()
    rows = read_rows(Path("one.jsonl"))
    texts, labels = ([each[name] for each in rows] for name in ("text", "label"))
    names = tuple((label, "") for label in LABELS)
    classifier = TextClassifier(vectors=TABLE, names=names).fit(texts, labels)
    tests = [each["text"] for each in read_rows(Path("test.jsonl"))]
    predicted = [each["label"] for each in nbtext("predict test.jsonl -m m --to jsonl").records]
    assert classifier.predict(tests).tolist() == predicted
    assert TABLE.encode() not in plain


@pytest.mark.parametrize(
    ("text", "options", "status", "error"),
    [
        ("a\nb: x\n: y\n", "", 1, f"{FILE}:3: expected a label and its description"),
        ("a\nb:\n", "", 1, f"{FILE}:2: expected a label and its description"),
        ("a\nb\na\n", "", 1, f"{FILE}:3: the label 'a' is there twice"),
        ("a\nb\na: x\n", "", 1, f"{FILE}:3: the label 'a' is there twice"),
        ("a\n\n", "", 1, f"{FILE}: two labels or more are needed; found 1"),
        ("a\nb\xff\n", "", 1, f"{FILE}:2: is not UTF-8"),
        ("a" * 2000 + "\nb\n", "", 1, f"{FILE}:1: the label aaaaa"),
        ("red\nblue\nzzz\n", "", 1, f"{TABLE}: the table has no word that tells zzz from"),
        ("red\nblue\n", "one.jsonl", 2, "--names: the model has no label 'blue'"),
        ("red\nblue\n", "--model best", 2, "--names: needs labeled documents"),
        ("red\nblue\n", "--min-recall red=.9", 2, "--names: needs labeled documents"),
    ],
)
def test_what_is_refused(nbtext: Any, text: str, options: str, status: int, error: str) -> None:
    Path(FILE).write_bytes(text.encode("latin-1"))
    refused = nbtext(f"{TRAIN} {options}")
    assert error in refused.err
    assert refused.status == status


def test_what_is_missing(nbtext: Any) -> None:
    assert "Missing argument 'SOURCE...'" in nbtext("train -o m").err
    assert "--names: needs --vectors" in nbtext(f"train --names {FILE} -o m").err
    Path(FILE).unlink()
    refused = nbtext(TRAIN)
    assert re.search(rf"{FILE}: cannot be read", refused.err)
    assert not Path("m").exists()

"""`nbtext train`, typed without options, selects what it counts."""

import json
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

N = 240


def write_texts(
    path: Path, seed: int = 0, n: int = N, others: str = "売上利率今年度前期比"
) -> Path:
    """Texts of a script without spaces: runs that hardly repeat, of syllables that tell the
    label, and others.
    """
    random = Random(seed)
    rows = []
    for number in range(n):
        own = ("高良増益", "低悪減損")[number % 2]
        text = "".join(random.choices(own * (len(others) // 10) + others, k=12))
        rows.append({"text": text, "label": ("up", "down")[number % 2]})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "texts.jsonl")


def test_views_that_pay_are_counted(nbtext: Any, texts: Path) -> None:
    """The line of `train` says what was selected and what it brings, and `inspect` repeats it; the
    bytes are the same for a pipe and any number of threads, and the folds are those of this model.
    """
    trained = nbtext(f"train {texts} -o m").ok()
    (found,) = (each for each in trained.err.split("; ") if each.startswith("selected "))
    assert "characters" in found
    assert found.removeprefix("selected ") in nbtext("inspect m --to markdown").out
    choice = nbtext("inspect m --to json").json["view_choice"]
    assert f": +{choice['gain']:.3f} of {choice['accuracy']:.3f}" in found
    assert choice["gain"] > 0.1
    nbtext(f"train -q -j 3 {texts} -o other").ok()
    assert Path("other").read_bytes() == Path("m").read_bytes()
    command = [sys.executable, "-m", "nbtext", "train", "-q", "-", "-o", "piped"]
    subprocess.run(command, input=texts.read_bytes(), check=True)
    assert Path("piped").read_bytes() == Path("m").read_bytes()
    folds = nbtext(f"evaluate {texts} --folds 5 --to json").json["accuracy"]
    assert folds == pytest.approx(choice["accuracy"] + choice["gain"], abs=0.05)


@pytest.mark.parametrize(
    "options",
    ["--model multinomial", "--ngrams 1,2", "--ngrams 1,1", "--view word:1", "--smoothing 1"],
)
def test_options_decide_by_hand(nbtext: Any, texts: Path, options: str) -> None:
    assert "selected" not in nbtext(f"train {texts} {options} -o m").ok().err


def test_words_stay_where_they_are_enough(nbtext: Any, letters: Path, texts: Path) -> None:
    """Long texts, and texts with several labels."""
    assert "selected" not in nbtext(f"train {letters}/train -o m").ok().err
    several = texts.with_name("several.jsonl")
    rows = [json.loads(line) for line in texts.read_text().splitlines()]
    several.write_text(
        "".join(json.dumps({**row, "label": [row["label"]] * 2}) + "\n" for row in rows)
    )
    assert "selected" not in nbtext(f"train {several} -o m --force").ok().err


def test_models_that_are_trained_alike_merge(nbtext: Any, texts: Path, letters: Path) -> None:
    nbtext(f"train -q {texts} -o m").ok()
    nbtext(f"train -q {letters}/train -o words").ok()
    refused = nbtext("merge m words -o both")
    assert "--like" in refused.err
    nbtext(f"train -q {letters}/train --like m -o like").ok()
    nbtext("merge -q m like -o both").ok()
    assert nbtext("inspect both --to json").json["documents"] == N + 336
    assert "does not apply" in nbtext(f"train {texts} --like m --ngrams 1,2 -o x").err


def test_a_model_with_its_sample_grows_and_forgets(nbtext: Any, texts: Path) -> None:
    other = write_texts(texts.with_name("other.jsonl"), seed=1)
    nbtext(f"train -q {texts} --keep-sample 500 -o kept").ok()
    nbtext(f"update -q kept {other} -o grown").ok()
    nbtext(f"forget -q grown {other} -o again").ok()
    nbtext(f"train -q {texts} --like kept -o like").ok()
    assert Path("again").read_bytes() == Path("like").read_bytes()


def test_each_document_of_a_pipe_counts(nbtext: Any, tmp_path: Path) -> None:
    """Also if they have several labels, which no views are compared for; beside a file named `-`,
    too.
    """
    random = Random(3)
    rows = [
        {
            "text": " ".join(random.choices(["red", "green", "blue", "round", "long"], k=6)),
            "label": random.sample("abc", 2),
        }
        for _ in range(40_000)
    ]
    for name, given in (
        ("several", rows),
        ("one", [{**row, "label": row["label"][0]} for row in rows]),
    ):
        data = tmp_path / f"{name}.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in given))
        nbtext(f"train -q {data} -o {name}").ok()
        Path("-").write_text("text,label\nfoo bar,x\n")
        command = [sys.executable, "-m", "nbtext", "train", "-q", "-", "-o", "piped", "--force"]
        subprocess.run(command, input=data.read_bytes(), check=True)
        Path("-").unlink()
        assert Path("piped").read_bytes() == Path(name).read_bytes()


def test_a_large_file_has_no_counts_that_nobody_asked_for(nbtext: Any, tmp_path: Path) -> None:
    """It is small, has the same estimate, predicts nearly the same, and says what it lacks."""
    many = "".join(map(chr, range(0x5000, 0x503C)))
    texts = write_texts(tmp_path / "many.jsonl", n=20_000, others=many)
    trained = nbtext(f"train {texts} -o small").ok()
    assert "the file holds no counts" in trained.err
    nbtext(f"train -q {texts} --keep-sample 100 -o full").ok()
    assert Path("small").stat().st_size < Path("full").stat().st_size / 2
    other = write_texts(tmp_path / "other.jsonl", seed=1, others=many)
    small, full = (
        nbtext(f"evaluate {other} -m {name} --to json").json for name in ("small", "full")
    )
    assert small["accuracy"] == pytest.approx(full["accuracy"], abs=0.02)
    refused = nbtext(f"update small {other} -o x").err
    assert refused.count("\n") == 1
    assert "--keep-sample" in refused
    nbtext(f"update -q full {other} -o x").ok()


def test_large_sources_are_counted_in_words(nbtext: Any, tmp_path: Path) -> None:
    """Files and pipes of more than 16 MB have no view of characters where words are separated, of
    more than 40 MB none.
    """
    texts = write_texts(tmp_path / "texts.jsonl").read_text()
    texts = re.sub("([^ -~]{4})", "\\1 ", texts.encode().decode("unicode_escape"))
    assert "高" in texts
    for n_megabytes in (17, 41):
        data = tmp_path / f"{n_megabytes}.jsonl"
        data.write_text(texts * (n_megabytes * 1_000_000 // len(texts.encode()) + 1))
        trained = nbtext(f"train {data} -o m --force").ok()
        assert "characters" not in trained.err
        assert "without spaces" not in trained.err
        with data.open("rb") as file:
            command = [sys.executable, "-m", "nbtext", "train", "-q", "-", "-o", "piped", "--force"]
            subprocess.run(command, stdin=file, check=True)
        assert Path("piped").read_bytes() == Path("m").read_bytes()


def test_characters_count_in_large_sources_without_spaces(nbtext: Any, tmp_path: Path) -> None:
    """Also in sources of more than 40 MB. A pipe is read once: of more than 40 MB its words are
    counted, and characters are advised.
    """
    for n_megabytes in (17, 41):
        data = write_texts(tmp_path / f"{n_megabytes}.jsonl", n=n_megabytes * 10_000)
        assert data.stat().st_size > n_megabytes * 1_000_000
        trained = nbtext(f"train {data} -o m --force").ok()
        assert "selected characters" in trained.err
        assert "may be more accurate" not in trained.err
        command = [sys.executable, "-m", "nbtext", "train", "-", "-o", "piped", "--force"]
        with data.open("rb") as file:
            piped = subprocess.run(command, stdin=file, check=True, capture_output=True, text=True)
        is_told = "may be more accurate" in piped.stderr
        is_equal = Path("piped").read_bytes() == Path("m").read_bytes()
        assert (is_told, is_equal) == (n_megabytes == 41, n_megabytes == 17)


@pytest.mark.parametrize("n", [2, 20, 60])
def test_characters_of_few_texts_without_spaces_count(nbtext: Any, tmp_path: Path, n: int) -> None:
    """They are too few to compare views, and their words hardly repeat."""
    texts = write_texts(tmp_path / "few.jsonl", n=n)
    trained = nbtext(f"train {texts} --keep-sample 500 -o m").ok()
    assert trained.err.startswith("combined")
    others = write_texts(tmp_path / "others.jsonl", seed=1)
    assert "script without spaces" not in trained.err
    nbtext(f"train -q {texts} --view word:1 -o words").ok()
    found, words = (
        nbtext(f"evaluate {others} -m {name} --to json").json["accuracy"] for name in ("m", "words")
    )
    assert found > words + 0.1
    nbtext(f"update -q m {others} -o grown").ok()
    nbtext(f"forget -q grown {others} -o again").ok()
    nbtext(f"train -q {texts} --like m -o like").ok()
    assert Path("again").read_bytes() == Path("like").read_bytes()


def test_a_model_with_word_vectors_is_no_example(nbtext: Any, texts: Path) -> None:
    Path("t.vec").write_text("red 1 0\nround .9 .1\nyellow 0 1\nlong .1 .9\n")
    rows = [("red round", "apple"), ("yellow long", "banana")] * 4
    Path("d.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    nbtext("train -q d.csv --vectors t.vec -o v").ok()
    refused = nbtext(f"train {texts} --like v -o x")
    refused.refused(2, "--like: v has word vectors, and not their table")

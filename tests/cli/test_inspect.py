"""`nbtext inspect` and `nbtext diff` as a user types them."""

import re
from pathlib import Path
from typing import Any

import pytest


def test_what_it_says(nbtext: Any, model: str) -> None:
    """Sizes, priors, the smoothing and how it was chosen, what to expect, and the words by the
    criterion.
    """
    record = nbtext(f"inspect {model} --to json --by mi --features 3").json
    assert (record["model"], record["documents"], record["n_labels"]) == ("multinomial", 336, 6)
    assert record["chosen_by"] == "leave-one-out"
    assert 0.9 < record["expected"]["accuracy"] < 1
    assert [label["label"] for label in record["labels"]] == [
        "noise",
        "parking",
        "permits",
        "streets",
        "taxes",
        "trash",
    ]
    assert all(len(label["features"]) == 3 for label in record["labels"])


@pytest.mark.parametrize(
    ("options", "found"),
    [([], "1 (default)"), (["--C", "auto"], "(folds)"), (["--C", "2"], "2 (given)")],
)
def test_a_linear_model(nbtext: Any, letters: Path, options: list[str], found: str) -> None:
    """A linear model has no smoothing; its C is shown with how it was chosen."""
    arguments = (
        "train",
        str(letters / "train"),
        "--max-features",
        "50",
        "--model",
        "nbsvm",
        "-q",
        "-o",
        "m",
    )
    nbtext(*arguments, *options).ok()
    shown = nbtext("inspect m --to table").out
    assert "smoothing" not in shown
    assert next(line for line in shown.splitlines() if line.startswith("C ")).endswith(found)


def test_a_word(nbtext: Any, model: str) -> None:
    """What is known of it in each label; of another one, that it is not known."""
    shown = nbtext(f"inspect {model} --word Parking --word zebra --to table").out
    assert "mutual information" in shown
    assert "zebra  is not in the vocabulary" in shown


def test_what_is_approximate(nbtext: Any, letters: Path, model: str) -> None:
    """A model that was updated without a sample names the parameters that were fitted before, and
    shows no confusions; after calibration on labeled texts it does.
    """
    nbtext(f"update {model} {letters}/test -q -o m").ok()
    record = nbtext("inspect m --to json").json
    assert (record["expected"], record["confused"]) == (None, [])
    assert record["approximate"] == [
        "smoothing",
        "calibration",
        "outlier_threshold",
        "nonconformity",
    ]
    shown = nbtext("inspect m --to markdown").out
    assert "outlier threshold, nonconformity: not fitted to all documents" in shown
    nbtext(f"calibrate m {letters}/test -q").ok()
    record = nbtext("inspect m --to json").json
    assert record["approximate"] == []
    wrong = sum(pair["first_as_second"] + pair["second_as_first"] for pair in record["confused"])
    assert wrong == round((1 - record["expected"]["accuracy"]) * 84) > 0


def test_an_unknown_word_is_a_row(nbtext: Any, model: str) -> None:
    """In rows of fields, a word that the model does not know has one row, whose other fields are
    empty.
    """
    assert nbtext(f"inspect {model} --word zebra").ok().out == "zebra" + "\t" * 8 + "\n"
    rows = nbtext(f"inspect {model} --word zebra --word parking --to csv").ok().rows
    assert [row[:3] for row in rows[:3]] == [
        ["word", "label", "feature"],
        ["zebra", "", ""],
        ["parking", "noise", "parking"],
    ]
    assert {len(row) for row in rows} == {9}


def test_hashed_words(nbtext: Any, letters: Path) -> None:
    """A model does not keep the words that it hashed, and says so."""
    nbtext(f"train {letters}/train --hash-bits 16 -q -o hashed").ok()
    assert "nbtext explain shows those" in nbtext("inspect hashed --to table").out
    numbered = nbtext("inspect hashed").out.splitlines()
    assert all(re.fullmatch(r"#\d+", row.split("\t")[1]) for row in numbered)


def test_one_label(nbtext: Any, model: str) -> None:
    """--label shows one; mistyped, it is asked whether another was meant."""
    assert {
        row.split("\t")[0] for row in nbtext(f"inspect {model} --label taxes").out.splitlines()
    } == {"taxes"}
    nbtext(f"inspect {model} --label taxs").refused(2, "did you mean taxes?")


def test_a_matrix(nbtext: Any, letters: Path) -> None:
    """Its shape, entries, labels and settings."""
    nbtext(f"vectorize {letters}/train --ngrams 1,2 -o m.npz").ok()
    record = nbtext("inspect m.npz --to json").json
    assert (record["documents"], record["kind"], record["settings"]) == (
        336,
        "counts",
        {"ngrams": [1, 2]},
    )
    assert record["labels"][0] == ["noise", 56]
    assert "336 documents" in nbtext("inspect m.npz --to table").out


@pytest.mark.parametrize(
    "options",
    [["--analyzer", "char_wb", "--ngrams", "2,4"], ["--analyzer", "char", "--ngrams", "2,3"]],
)
def test_a_blank_among_characters_is_shown(
    nbtext: Any, letters: Path, tmp_path: Path, options: list[str]
) -> None:
    """As ␣, in the tables of inspect, explain and diff; records keep the feature, and word pairs
    their blank.
    """
    path = str(tmp_path / "m")
    nbtext("train", str(letters / "train"), *options, "-o", path).ok()
    other = str(tmp_path / "other")
    nbtext("train", str(letters / "test"), *options, "-o", other).ok()
    for command in (["inspect", path], ["explain", "-", "-m", path], ["diff", path, other]):
        table = nbtext(*command, "--to", "table", input=b"bins not emptied\n")
        assert "␣" in table.out, table.err
    assert "␣" not in nbtext(f"explain - -m {path} --to json", input=b"bins not emptied\n").out
    nbtext(f"train {letters}/train --ngrams 1,2 --force -o {path}").ok()
    pairs = nbtext(f"explain - -m {path} --to table", input=b"the bins were not emptied\n").out
    assert re.search("^ (the bins|bins were|were not|not emptied) +1 ", pairs, re.MULTILINE), pairs
    assert "␣" not in pairs


def test_two_models(nbtext: Any, letters: Path, model: str) -> None:
    """The result has sizes, settings, and features whose log-odds changed; it is the same without
    the kernel.
    """
    halves = [str(letters / half) for half in ("train", "test")]
    nbtext("train", *halves, "--ngrams", "1,2", "-q", "-o", "b.joblib").ok()
    result = nbtext(f"diff {model} b.joblib --features 2")
    assert (result.status, result.err) == (0, "")
    assert "size\t\tdocuments\t336\t420\n" in result.out
    assert "setting\t\tngrams\t\t1,2\n" in result.out
    assert sum(line.startswith("log-odds\t") for line in result.out.splitlines()) == 12
    assert nbtext(f"diff {model} b.joblib --features 2", NBTEXT_KERNEL="off").out == result.out

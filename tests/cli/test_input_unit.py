"""A model stores what one document was: a single file is read as the files of the training
directory were.
"""

import json
from pathlib import Path
from typing import Any

import pytest

TEXTS = {
    "a/1.txt": "red apple\nsweet",
    "a/2.txt": "green\napple",
    "b/1.txt": "yellow\nbanana",
    "b/2.txt": "a banana",
}


@pytest.fixture
def fruit(nbtext: Any, tmp_path: Path) -> Path:
    """A folder with a tree of texts of several lines, and a model of it."""
    for name, text in TEXTS.items():
        (tmp_path / "td" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "td" / name).write_text(text)
    nbtext("train td -q -o m.joblib").ok()
    return tmp_path


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_a_file_is_answered_as_in_its_directory(nbtext: Any, fruit: Path, command: str) -> None:
    """predict FILE.txt and predict DIR give the same record for the same document."""
    arguments = f"{command} -m m.joblib --to jsonl"
    whole = nbtext(f"{arguments} td").out.splitlines()
    each = [nbtext(f"{arguments} td/{name}").out for name in TEXTS]
    assert "".join(each).splitlines() == whole
    (fruit / "plain").write_text(TEXTS["a/1.txt"])
    assert nbtext(f"{arguments} plain").out.count("\n") == 1


def test_the_format_that_is_asked_for_wins(nbtext: Any, fruit: Path) -> None:
    """So does what the name of a file tells."""
    assert nbtext("predict td/a/1.txt -m m.joblib --input-format lines").out.count("\n") == 2
    (fruit / "x.jsonl").write_text('{"text": "red"}\n{"text": "banana"}\n')
    assert nbtext("predict x.jsonl -m m.joblib").out.count("\n") == 2
    lines = nbtext("predict - -m m.joblib", input=b"red\nbanana\n")
    assert lines.out.count("\n") == 2
    said = "each line is a document, and the model was trained on files; give --input-format files"
    assert said in lines.err
    assert nbtext("predict - -m m.joblib", input=b"red\n").err == ""
    typed = nbtext("predict - -m m.joblib --input-format lines", input=b"red\nbanana\n")
    assert (typed.out, typed.err) == (lines.out, "")


def test_a_model_of_lines_reads_lines(nbtext: Any, fruit: Path) -> None:
    """As it did before."""
    (fruit / "train.txt").write_text("__label__a red apple\n__label__b yellow banana\n")
    nbtext("train train.txt -q -o lines.joblib").ok()
    assert nbtext("predict td/a/1.txt -m lines.joblib").out.count("\n") == 2


def test_fields_that_are_typed_hold_for_sources_of_another_kind(
    nbtext: Any, model: str, tmp_path: Path
) -> None:
    """A model of files predicts a table if its column is named; only the stored fields apply to
    files alone.
    """
    (tmp_path / "t.csv").write_text("body,kind\nthe bins,trash\n")
    asked = f"t.csv -m {model} --text-field body"
    assert nbtext(f"predict {asked}").out.startswith("t.csv:2\ttrash\t")
    nbtext(f"evaluate {asked} --label-field kind").ok()


@pytest.mark.parametrize("envelope", ["", "From ada@example.org Thu Nov 21 03:37:00 2024\n"])
def test_a_raw_mail_is_read_as_in_its_directory(nbtext: Any, tmp_path: Path, envelope: str) -> None:
    """A model of files learned the headers, so it gets them from a single file and from standard
    input, too.
    """
    for name, words in (
        ("a/1", "red apple"),
        ("a/2", "green apple"),
        ("b/1", "yellow banana"),
        ("b/2", "banana"),
    ):
        (tmp_path / "td" / name).parent.mkdir(parents=True, exist_ok=True)
        mail = f"{envelope}From: {name[0]}@example.org\nSubject: fruit\nX-Farm: {name[0]}land\n\n{words}\n"
        (tmp_path / "td" / name).write_text(mail)
    nbtext("train td -q -o m.joblib").ok()
    arguments = "predict -m m.joblib --to jsonl"
    whole = nbtext(f"{arguments} td").out
    each = [nbtext(f"{arguments} td/{name}").out for name in ("a/1", "a/2", "b/1", "b/2")]
    assert "".join(each) == whole
    piped = nbtext(f"{arguments} -", input=(tmp_path / "td/a/1").read_bytes()).out
    assert json.loads(piped) | {"id": "td/a/1"} == json.loads(each[0])
    assert "aland" not in nbtext("explain td/a/1 -m m.joblib --input-format mbox").out

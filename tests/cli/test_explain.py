"""`nbtext explain`, and `nbtext predict --explain`, as a user types them."""

import math
from pathlib import Path
from typing import Any

import pytest


def test_it_explains_what_predict_says(nbtext: Any, letters: Path, model: str) -> None:
    """Labels and probabilities are those of `predict`, for any number of jobs, and the parts of
    each record add up.
    """
    source = str(letters / "test")
    result = nbtext(f"explain {source} -m {model} --to jsonl -j 1").ok()
    assert nbtext(f"explain {source} -m {model} --to jsonl -j 3").out == result.out
    explained = result.records
    predicted = nbtext(f"predict {source} -m {model} --to jsonl").records
    assert [record["label"] for record in explained] == [record["label"] for record in predicted]
    for record, answer in zip(explained, predicted, strict=True):
        assert record["probability"] == pytest.approx(answer["probability"], abs=1e-6)
        total = sum(record["terms"].values()) + sum(
            each["log_odds"] for each in record["contributions"]
        )
        assert total == pytest.approx(record["log_odds"], abs=1e-9)
        assert math.log(record["probability"] / record["other_probability"]) == pytest.approx(
            total, abs=1e-9
        )


def test_one_row_of_a_table_by_its_id(nbtext: Any, model: str, tmp_path: Path) -> None:
    """The same records as among all rows: by the id column, or by the file and the line that
    `predict` prints.
    """
    rows = "id,text\na-1,my trash\na-2,a parking fine\na-3,noise at night\n"
    (tmp_path / "t.csv").write_text(rows)
    (tmp_path / "plain.csv").write_text(rows.replace("id,", "key,"))
    for path, ids in (("t.csv", ["a-3", "a-1"]), ("plain.csv", ["plain.csv:4", "plain.csv:2"])):
        command = ["explain", path, "-m", model, "--to", "jsonl"]
        lines = nbtext(*command).out.splitlines()
        wanted = [option for identity in ids for option in ("--id", identity)]
        found = nbtext(*command, *wanted)
        assert (found.status, found.err, found.out.splitlines()) == (0, "", [lines[0], lines[2]])
    missing = nbtext(f"explain t.csv -m {model} --id a-1 --id a-9 -o x.jsonl")
    assert (missing.status, missing.err) == (
        1,
        "nbtext: SOURCE: no document has the id 'a-9'; see the ids with nbtext predict\n",
    )
    assert not (tmp_path / "x.jsonl").exists()


def test_against_another_label(nbtext: Any, model: str) -> None:
    """--against and --label choose the pair; mistyped, they are told from what was meant."""
    command = ["explain", "-", "-m", model, "--to", "jsonl"]
    line = b"a parking fine in my trash"
    record = nbtext(*command, "--label", "taxes", "--against", "noise", input=line).json
    assert (record["label"], record["against"]) == ("taxes", "noise")
    nbtext(*command, "--label", "noise", "--against", "noise", input=line).refused(
        2, "--against: is the same label as --label; give another"
    )
    wrong = nbtext(*command, "--against", "noisy", input=line)
    assert (wrong.status, "did you mean noise?" in wrong.err) == (2, True)


def test_predictions_with_words(nbtext: Any, model: str) -> None:
    """--explain 2 adds two words to each JSONL record; in other forms there is no place for
    them.
    """
    record = nbtext(f"predict - -m {model} --explain 2 --to jsonl", input=b"my trash bin").json
    assert {part["feature"] for part in record["explanation"]} == {"bin", "trash"}
    assert len(record["explanation"]) == 2
    wrong = nbtext(f"predict - -m {model} --explain 2", input=b"my trash bin")
    assert (wrong.status, "--to jsonl" in wrong.err) == (2, True)


def test_a_page(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """-o FILE.html writes one file."""
    result = nbtext(f"explain {letters}/test/trash -m {model} -o why.html")
    assert (result.status, result.out, result.err) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["why.html"]
    assert b'<mark class="for3">' in (tmp_path / "why.html").read_bytes()


def test_a_page_without_the_extra(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """One line says how to install it, before anything is read."""
    arguments = f"explain {letters}/test -m {model} -o why.html"
    (tmp_path / "jinja2.py").write_text("raise ImportError")
    path = f"{tmp_path}:{Path(__file__).parents[2]}"
    missing = nbtext(arguments, PYTHONPATH=path).refused(1)
    assert (
        missing.err
        == "nbtext: a page of HTML needs Jinja2; install it with: pip install 'nbtext[report]'\n"
    )
    assert not (tmp_path / "why.html").exists()

"""Nested keys of JSON and fields of structs, and documents without a text, in every format and
command.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

from nbtext import TextClassifier

NESTED = ("--text-field", "data.text", "--label-field", "meta.label", "--id-field", "meta.id")
LETTERS = [
    ("red round", "apple"),
    ("long yellow", "banana"),
    ("red", "apple"),
    ("yellow", "banana"),
] * 5


def nested_rows() -> list[dict[str, Any]]:
    return [
        {
            "data": {"text": text, "n": number},
            "meta": {"id": f"d{number}", "label": label, "who": f"w{number % 5}"},
        }
        for number, (text, label) in enumerate(LETTERS)
    ]


@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "t.parquet", "t.arrow"])
def test_nested_fields(nbtext: Any, tmp_path: Path, name: str) -> None:
    """Texts, labels, ids and groups are found in objects and structs, as if they were keys and
    columns of their own, and later commands find them again.
    """
    write_rows(tmp_path / name, nested_rows())
    flat = [
        {
            "data.text": row["data"]["text"],
            "meta.label": row["meta"]["label"],
            "meta.id": row["meta"]["id"],
        }
        for row in nested_rows()
    ]
    write_rows(tmp_path / "flat.jsonl", flat)
    nbtext("train", name, *NESTED, "-o", "m.joblib").ok()
    nbtext("train", "flat.jsonl", *NESTED, "-o", "flat.joblib").ok()
    assert (tmp_path / "m.joblib").read_bytes() == (tmp_path / "flat.joblib").read_bytes()
    assert TextClassifier.load(tmp_path / "m.joblib").fitted_.labels == ("apple", "banana")
    predicted = nbtext(f"predict {name} -m m.joblib --id-field meta.id --to jsonl").ok().records
    assert [(record["id"], record["label"]) for record in predicted] == [
        (f"d{number}", label) for number, (_, label) in enumerate(LETTERS)
    ]
    assert nbtext(f"evaluate {name} -m m.joblib --to json").ok().json["accuracy"] == 1
    folds = ("--folds", "5", "--group-field", "meta.who", "--to", "json")
    assert nbtext("evaluate", name, *NESTED, *folds).ok().json["documents"] == len(LETTERS)
    added = nbtext(f"predict {name} -m m.joblib --add-columns -q -o added.{name}").ok()
    assert added.err == ""


@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "t.parquet"])
def test_a_literal_key_goes_first(nbtext: Any, tmp_path: Path, name: str) -> None:
    """A key or column that has the whole name is used, with and without the kernel."""
    rows = [
        {**row, "data.text": "literal words", "meta.label": "x" if n % 2 else "y"}
        for n, row in enumerate(nested_rows())
    ]
    write_rows(tmp_path / name, rows)
    for kernel in ("", "off"):
        nbtext("train", name, *NESTED, "-o", "m.joblib", NBTEXT_KERNEL=kernel).ok()
        assert TextClassifier.load(tmp_path / "m.joblib").fitted_.labels == ("x", "y")


def test_a_nested_label_is_corrected_in_its_place(nbtext: Any, tmp_path: Path) -> None:
    """`review --apply` writes the new label where the old one was."""
    write_rows(tmp_path / "t.jsonl", nested_rows())
    (tmp_path / "d.jsonl").write_text(
        json.dumps({"id": "d0", "decision": "relabel", "label": "pear"}) + "\n"
    )
    nbtext("review", "t.jsonl", *NESTED, "--apply", "d.jsonl", "-o", "new.jsonl").ok()
    rows = [json.loads(line) for line in (tmp_path / "new.jsonl").read_text().splitlines()]
    expected = nested_rows()
    expected[0]["meta"]["label"] = "pear"
    assert rows == expected


def test_a_label_that_is_an_object(tmp_path: Path, nbtext: Any) -> None:
    """The error says which key to name."""
    write_rows(tmp_path / "t.jsonl", [{"text": "red", "label": {"choices": ["a"]}}])
    nbtext("train t.jsonl -o m.joblib").refused(
        1, "t.jsonl:1: `label` is an object", "--label-field label.choices"
    )


EMPTY_ROWS: list[dict[str, Any]] = [
    {"text": None, "label": "a"},
    {"text": "", "label": "a"},
    {"text": " \u00a0", "label": "b"},
]
FULL_ROWS = [{"text": text, "label": label} for text, label in LETTERS]


@pytest.mark.parametrize("name", str.split("t.jsonl t.json t.csv t.db t.parquet t.arrow"))
def test_documents_without_a_text_are_left_out(nbtext: Any, tmp_path: Path, name: str) -> None:
    """--skip-empty leaves out what is missing, null or blank, counted, when training and
    evaluating; `predict` gives each row its record.
    """
    write_rows(tmp_path / "full.csv", FULL_ROWS)
    write_rows(tmp_path / name, [*FULL_ROWS[:7], *EMPTY_ROWS, *FULL_ROWS[7:]])
    nbtext("train full.csv -o full.joblib").ok()
    done = nbtext(f"train {name} --skip-empty -o m.joblib").ok()
    assert "skipped 3: without a text (--skip-empty)" in done.err
    assert (tmp_path / "m.joblib").read_bytes() == (tmp_path / "full.joblib").read_bytes()
    for way in (("-m", "m.joblib"), ("--folds", "4")):
        result = nbtext("evaluate", name, *way, "--skip-empty", "--to", "json").ok()
        assert result.json["documents"] == len(FULL_ROWS)
        assert "skipped 3: without a text (--skip-empty)" in result.err
    predicted = nbtext(f"predict {name} -m m.joblib --to jsonl").ok().records
    assert [not record.get("known") for record in predicted] == [
        7 <= row < 10 for row in range(len(FULL_ROWS) + 3)
    ]
    assert not any("--skip-empty" in record.get("reason", "") for record in predicted)
    if name != "t.csv":  # where a cell is empty, not null
        for command in (
            ("train", name, "-o", "x.joblib"),
            ("evaluate", name, "-m", "m.joblib"),
            ("vectorize", name),
        ):
            nbtext(*command).refused(1, f"{name}:8: `text` is null", "--skip-empty")


def test_a_missing_key_is_no_text(nbtext: Any, tmp_path: Path) -> None:
    """A row of JSON without the key is like one where it is null; with several fields, one text is
    enough.
    """
    write_rows(tmp_path / "t.jsonl", [{"label": "apple"}, *FULL_ROWS])
    nbtext("train t.jsonl -o m.joblib").refused(
        1, "t.jsonl:1: no key `text`, found label", "--skip-empty"
    )
    assert "skipped 1: without a text" in nbtext("train t.jsonl --skip-empty -o m.joblib").ok().err
    rows = [
        {"title": None, "text": None, "label": "apple"},
        *({"title": "x", **row} for row in FULL_ROWS),
    ]
    write_rows(tmp_path / "t.jsonl", rows)
    fields = "--text-field title,text"
    assert (
        "skipped 1: without a text"
        in nbtext(f"train t.jsonl {fields} --skip-empty -o m.joblib").ok().err
    )


def test_documents_without_a_text_in_directories(nbtext: Any, tmp_path: Path) -> None:
    """An empty file is left out, too, and no document at all is an error that says why."""
    for label, text in (("a", "words here"), ("b", "others there")):
        (tmp_path / "d" / label).mkdir(parents=True)
        (tmp_path / "d" / label / "1.txt").write_text(text)
        (tmp_path / "d" / label / "2.txt").write_text("\n")
    assert (
        "skipped 2: without a text (--skip-empty)"
        in nbtext("train d --skip-empty -o m.joblib").ok().err
    )
    (tmp_path / "e.csv").write_text("text,label\n,a\n ,b\n")
    nbtext("train e.csv --skip-empty -o m.joblib").refused(1, "without a text (--skip-empty)")

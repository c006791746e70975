"""A label is one value in every format, in Python, in the service and in files of predictions."""

import math
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

from nbtext import TextClassifier
from nbtext.errors import InputError

TABLES: dict[str, tuple[list[Any], list[str]]] = {
    "whole numbers": ([1, 0, -3, 10**15], ["-3", "0", "1", "1000000000000000"]),
    "numbers": ([0.0, 1.5, 2e16, -0.25, math.nan], ["-0.25", "0.0", "1.5", "2e+16"]),
    "booleans": ([True, False], ["False", "True"]),
    "texts": (
        ["a", " b ", "c\r\n", "\u00a0d\t", "1.0", "true", "nan", "e  f", "", "  ", "\u00a0"],
        ["1.0", "a", "b", "c", "d", "e  f", "nan", "true"],
    ),
}
FORMATS = ["jsonl", "json", "csv", "tsv", "db", "parquet", "arrow"]
NUMBERS = str.split("zero one two three four five six seven eight nine ten eleven")


def rows_of(values: list[Any]) -> list[dict[str, Any]]:
    """Rows of texts with these labels, each twice, and with a missing one."""
    return [
        {"id": f" {number} ", "text": f"word {NUMBERS[place]} {NUMBERS[place]}", "label": value}
        for number in range(2)
        for place, value in enumerate([*values, None])
    ]


@pytest.mark.parametrize("kind", TABLES)
def test_every_format_gives_the_same_labels(nbtext: Any, tmp_path: Path, kind: str) -> None:
    """The models of one table are equal to the byte, whatever the format, with and without the
    kernel, and the labels are those of Python.
    """
    values, labels = TABLES[kind]
    rows = rows_of(values)
    models = {}
    for name in FORMATS:
        if kind == "booleans" and name == "db":  # SQLite has none
            continue
        write_rows(tmp_path / f"t.{name}", rows)
        for kernel in ("", "off"):
            output = f"{name}{kernel}.joblib"
            done = nbtext(f"train t.{name} --skip-unlabeled -o {output}", NBTEXT_KERNEL=kernel).ok()
            n_missing = len(rows) - 2 * len(labels)
            assert f"skipped {n_missing}: without a label (--skip-unlabeled)" in done.err
            models[output] = (tmp_path / output).read_bytes()
    assert len(set(models.values())) == 1, {name: len(model) for name, model in models.items()}
    assert sorted(TextClassifier.load(tmp_path / "jsonl.joblib").fitted_.labels) == labels
    missing = ("None", "", "nan") if kind == "numbers" else ("None", "")
    known = [row for row in rows if str(row["label"]).strip() not in missing]
    fitted = TextClassifier().fit([row["text"] for row in known], [row["label"] for row in known])
    assert sorted(fitted.fitted_.labels) == labels
    assert fitted.score([row["text"] for row in known], [row["label"] for row in known]) == 1


def test_columns_of_python() -> None:
    """Columns of pandas and Polars and arrays of NumPy give the labels that a file of them
    gives.
    """
    np = pytest.importorskip("numpy")
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    for column, labels in (
        (pd.Series([True, False] * 4), ("False", "True")),
        (pd.Series([1, 2] * 4, dtype="Int64"), ("1", "2")),
        (np.array([1.0, 0.5] * 4), ("0.5", "1.0")),
        (pl.Series(["a\n", "b"] * 4), ("a", "b")),
        (pl.Series([[1, None], [2]] * 4), ("1", "2")),
    ):
        assert TextClassifier().fit(["red round", "blue long"] * 4, column).fitted_.labels == labels
    for missing in (None, math.nan, " \u00a0\n", pd.NA, pd.NaT):
        with pytest.raises(InputError, match="label 1 is missing"):
            TextClassifier().fit(["a b", "c d"], ["x", missing])


def test_folders_and_headers_are_trimmed(nbtext: Any, tmp_path: Path) -> None:
    """The names of folders are labels like others; a blank one is none."""
    for name in ("a ", "a", "b\u00a0", "\u00a0"):
        (tmp_path / "d" / name).mkdir(parents=True)
        (tmp_path / "d" / name / "1.txt").write_text("some words\n")
    done = nbtext("train d --skip-unlabeled -o m.joblib").ok()
    assert "skipped 1: without a label (--skip-unlabeled)" in done.err
    assert TextClassifier.load(tmp_path / "m.joblib").fitted_.labels == ("a", "b")


def test_indicator_columns_of_which_one_is_true(nbtext: Any, tmp_path: Path) -> None:
    """The model has one label for each document, and reads the same columns again."""
    table = "text,a,b\n" + "red w,1,0\nblue w,0,1\n" * 10
    (tmp_path / "t.csv").write_text(table)
    done = nbtext("train t.csv --label-fields a,b -o m.joblib").ok()
    assert "20 documents, 2 labels" in done.err
    assert "multi-label" not in done.err
    assert nbtext("evaluate t.csv -m m.joblib --to json").ok().json["accuracy"] == 1
    (tmp_path / "t.csv").write_text(f"{table}w,1,1\n")
    nbtext("update m.joblib t.csv").refused(1, "t.csv:22: the document has 2 labels (a, b)")


@pytest.mark.parametrize("kernel", ["", "off"])
def test_ids_and_typed_labels_are_trimmed(nbtext: Any, tmp_path: Path, kernel: str) -> None:
    """Ids have the same spelling as labels, with and without the kernel; a blank one is the place
    of the document.
    """
    ids = [" a\\t", "\u00a0b ", "c\\u2003", "\\u00a0", "", "  ", "\u00e9 \u00e9 "]
    values = [*(f'"{each}"' for each in ids), "1.50", "true", "null", "-0"]
    (tmp_path / "t.jsonl").write_text(
        "".join(f'{{"text": "red", "id": {value}}}\n' for value in values)
    )
    nbtext("train", "t.jsonl", "--label", " q ", "-o", "m.joblib", NBTEXT_KERNEL=kernel).ok()
    rows = nbtext("predict t.jsonl -m m.joblib", NBTEXT_KERNEL=kernel).ok().out.splitlines()
    found = [row.split("\t") for row in rows]
    assert [row[0] for row in found] == [
        "a",
        "b",
        "c",
        "t.jsonl:4",
        "t.jsonl:5",
        "t.jsonl:6",
        "\u00e9 \u00e9",
        "1.5",
        "True",
        "t.jsonl:10",
        "0",
    ]
    assert {row[1] for row in found} == {"q"}
    nbtext("train", "t.jsonl", "--label", " ", "-o", "m.joblib").refused(
        2, "--label: is not a label"
    )

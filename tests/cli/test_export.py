"""`nbtext export`: models for other programs, as the command is typed."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("form", ["c", "csv", "js", "sklearn-json"])
def test_on_a_pipe_and_into_a_file(nbtext: Any, model: str, tmp_path: Path, form: str) -> None:
    """The same bytes; nothing on standard error."""
    for target in ("one", "two"):
        assert nbtext("export", model, "--to", form, "-o", target, cwd=tmp_path).err == ""
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert nbtext("export", model, "--to", form).out.encode() == (tmp_path / "one").read_bytes()


def test_what_is_written(nbtext: Any, model: str) -> None:
    """A table of all features and labels, and JSON."""
    rows = list(csv.reader(io.StringIO(nbtext("export", model, "--to", "csv").out)))
    assert rows[0] == ["kind", "feature", "idf", "noise", "parking", "permits", "streets", "taxes", "trash"]
    assert {len(row) for row in rows} == {9}
    assert json.loads(nbtext("export", model, "--to", "sklearn-json").out)["steps"][-1]["class"] == "MultinomialNB"


def test_errors(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """One line each, and no file: an unknown format, a model that the format cannot hold, no place to write to."""
    hashed = str(tmp_path / "hashed.joblib")
    assert nbtext("train", str(letters / "train"), "--hash-bits", "12", "-q", "-o", hashed).status == 0
    result = nbtext("export", model, "--to", "pmml")
    assert (result.status, result.err.count("\n")) == (2, 1)
    result = nbtext("export", model)
    problem = "is needed, because the suffix of -o does not name a format"
    expected = f"nbtext: --to: {problem}; choose one of c, csv, js, sklearn-json\n"
    assert (result.status, result.err) == (2, expected)
    result = nbtext("export", hashed, "--to", "csv", "-o", str(tmp_path / "out.csv"))
    assert (result.status, result.err) == (
        1, "nbtext: hashed features have no names to export; train without --hash-bits\n",
    )  # fmt: skip
    result = nbtext("export", model, "--to", "csv", "-o", str(tmp_path / "nowhere" / "out.csv"))
    assert (result.status, result.err.count("\n")) == (1, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["hashed.joblib"]

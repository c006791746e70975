"""Exponential decay of old documents: `update --half-life` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def folder(nbtext: Any, tmp_path: Path) -> Path:
    """A model of old documents, and some new ones that use a word otherwise."""
    (tmp_path / "old.csv").write_text("text,label\n" + "mouse cheese,animals\nkeyboard cable,computers\n" * 8)
    (tmp_path / "new.csv").write_text("text,label\n" + "mouse keyboard,computers\n" * 4)
    assert nbtext("train", "old.csv", "-o", "old.joblib", "-q", cwd=tmp_path).status == 0
    return tmp_path


def test_old_documents_weigh_less(nbtext: Any, folder: Path) -> None:
    """Two half-lives reduce the weight of old documents to a quarter; new meanings of a word win, and `inspect` reports
    it.
    """
    for name, how in (("plain", ()), ("faded", ("--half-life", "12h", "--elapsed", "1d"))):
        result = nbtext("update", "old.joblib", "new.csv", *how, "-o", f"{name}.joblib", cwd=folder)
        assert (result.status, result.out) == (0, ""), result.err
    assert "8 documents" in result.err
    assert "calibrate on documents that the model was not trained on" in result.err
    answers = [
        nbtext("predict", "-", "-m", f"{name}.joblib", cwd=folder, input=b"mouse\n").out for name in ("plain", "faded")
    ]
    assert [answer.split("\t")[1] for answer in answers] == ["animals", "computers"]
    shown = json.loads(nbtext("inspect", "faded.joblib", "--word", "mouse", "--to", "json", cwd=folder).out)
    assert shown["documents"] == 16 / 4 + 4
    seen = {label: view["occurrences"] for label, view in shown["words"][0]["classes"]}
    assert seen == {"animals": 2.0, "computers": 4.0}
    assert "--half-life" in nbtext("inspect", "faded.joblib", "--to", "table", cwd=folder).out


def test_the_same_bytes(nbtext: Any, folder: Path) -> None:
    """The result depends on what was typed: not on the clock, the jobs or the kernel. A week is 7 days."""
    models = []
    for elapsed, jobs, kernel in (("1w", "1", {}), ("7d", "3", {}), ("168h", "2", {"NBTEXT_KERNEL": "off"})):
        how = ("--half-life", "30d", "--elapsed", elapsed, "-j", jobs, "-q", "-o", "faded.joblib")
        assert nbtext("update", "old.joblib", "new.csv", *how, cwd=folder, **kernel).status == 0
        models.append((folder / "faded.joblib").read_bytes())
    assert models[0] == models[1] == models[2]


def test_what_decayed_models_refuse(nbtext: Any, folder: Path) -> None:
    """Decayed models can be updated and calibrated; merge and forget are refused in one line, and change nothing."""
    how = ("--half-life", "30d", "--elapsed", "7d")
    assert nbtext("update", "old.joblib", "new.csv", *how, cwd=folder).status == 0
    before = (folder / "old.joblib").read_bytes()
    for command in (("forget", "old.joblib", "new.csv"), ("merge", "old.joblib", "old.joblib", "-o", "both.joblib")):
        result = nbtext(*command, cwd=folder)
        assert (result.status, result.err.count("\n")) == (1, 1)
        assert "--half-life" in result.err
    assert (folder / "old.joblib").read_bytes() == before
    for command in (("update", "old.joblib", "new.csv"), ("calibrate", "old.joblib", "old.csv")):
        result = nbtext(*command, cwd=folder)
        assert result.status == 0, result.err
    assert nbtext("train", "old.joblib", "--model", "bernoulli", "-o", "other.joblib", cwd=folder).status == 0
    assert nbtext("explain", "new.csv", "-m", "other.joblib", cwd=folder).status == 0
    assert nbtext("sample", "-m", "old.joblib", cwd=folder).status == 0


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--half-life", "30d"], 2, "--elapsed"),
        (["--elapsed", "30d"], 2, "--half-life"),
        (["--half-life", "0d", "--elapsed", "1d"], 2, "give a time above 0"),
        (["--half-life", "30d", "--elapsed=-1d"], 2, "--elapsed"),
        (["--half-life", "a month", "--elapsed", "1d"], 2, "is not a time"),
        (["--half-life", "nan", "--elapsed", "1d"], 2, "give a time above 0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_makes_no_sense(nbtext: Any, folder: Path, options: list[str], status: int, said: str) -> None:
    """One of two options without the other, or an invalid time, gives one line; the model does not change."""
    before = (folder / "old.joblib").read_bytes()
    result = nbtext("update", "old.joblib", "new.csv", *options, cwd=folder)
    assert (result.status, result.err.count("\n")) == (status, 1)
    assert said in result.err
    assert (folder / "old.joblib").read_bytes() == before


def test_models_that_keep_documents(nbtext: Any, folder: Path) -> None:
    """A model with a sample refuses, and says what to do instead."""
    assert nbtext("train", "old.csv", "--keep-sample", "9", "-q", "-o", "kept.joblib", cwd=folder).status == 0
    result = nbtext("update", "kept.joblib", "new.csv", "--half-life", "1d", "--elapsed", "1d", cwd=folder)
    assert (result.status, result.err.count("\n")) == (1, 1)
    assert "without --keep-sample" in result.err

"""Exponential decay of old documents: `update --half-life` as a user types it."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def folder(nbtext: Any, tmp_path: Path) -> Path:
    """A model of old documents, and some new ones that use a word otherwise."""
    (tmp_path / "old.csv").write_text(
        "text,label\n" + "mouse cheese,animals\nkeyboard cable,computers\n" * 8
    )
    (tmp_path / "new.csv").write_text("text,label\n" + "mouse keyboard,computers\n" * 4)
    nbtext("train", "old.csv", "-o", "old.joblib", "-q").ok()
    return tmp_path


def test_old_documents_weigh_less(nbtext: Any, folder: Path) -> None:
    """Two half-lives reduce the weight of old documents to a quarter; new meanings of a word win,
    and `inspect` reports it.
    """
    for name, how in (("plain", ()), ("faded", ("--half-life", "12h", "--elapsed", "1d"))):
        result = nbtext("update", "old.joblib", "new.csv", *how, "-o", f"{name}.joblib", cwd=folder)
        assert (result.status, result.out) == (0, ""), result.err
    assert "8 documents" in result.err
    assert "calibrate on documents that the model was not trained on" in result.err
    answers = [
        nbtext("predict", "-", "-m", f"{name}.joblib", cwd=folder, input=b"mouse\n").out
        for name in ("plain", "faded")
    ]
    assert [answer.split("\t")[1] for answer in answers] == ["animals", "computers"]
    shown = nbtext("inspect", "faded.joblib", "--word", "mouse", "--to", "json", cwd=folder).json
    assert shown["documents"] == 16 / 4 + 4
    seen = {label: view["occurrences"] for label, view in shown["words"][0]["classes"]}
    assert seen == {"animals": 2.0, "computers": 4.0}
    assert "--half-life" in nbtext("inspect", "faded.joblib", "--to", "table", cwd=folder).out


def test_the_same_bytes(nbtext: Any, folder: Path) -> None:
    """The result depends on what was typed: not on the clock, the jobs or the kernel. A week is 7
    days.
    """
    models = []
    for elapsed, jobs, kernel in (
        ("1w", "1", {}),
        ("7d", "3", {}),
        ("168h", "2", {"NBTEXT_KERNEL": "off"}),
    ):
        how = ("--half-life", "30d", "--elapsed", elapsed, "-j", jobs, "-q", "-o", "faded.joblib")
        nbtext("update", "old.joblib", "new.csv", *how, cwd=folder, **kernel).ok()
        models.append((folder / "faded.joblib").read_bytes())
    assert models[0] == models[1] == models[2]


def test_what_decayed_models_refuse(nbtext: Any, folder: Path) -> None:
    """Decayed models can be updated and calibrated; merge and forget are refused in one line, and
    change nothing.
    """
    how = ("--half-life", "30d", "--elapsed", "7d")
    nbtext("update", "old.joblib", "new.csv", *how, cwd=folder).ok()
    before = (folder / "old.joblib").read_bytes()
    for command in (
        ("forget", "old.joblib", "new.csv"),
        ("merge", "old.joblib", "old.joblib", "-o", "both.joblib"),
    ):
        nbtext(*command, cwd=folder).refused(1, "--half-life")
    assert (folder / "old.joblib").read_bytes() == before
    for command in (("update", "old.joblib", "new.csv"), ("calibrate", "old.joblib", "old.csv")):
        nbtext(*command, cwd=folder).ok()
    nbtext("train", "old.joblib", "--model", "bernoulli", "-o", "other.joblib", cwd=folder).ok()
    nbtext("explain", "new.csv", "-m", "other.joblib", cwd=folder).ok()
    nbtext("sample", "-m", "old.joblib", cwd=folder).ok()


def test_models_that_keep_documents(nbtext: Any, folder: Path) -> None:
    """A model with a sample refuses, and says what to do instead."""
    nbtext("train", "old.csv", "--keep-sample", "9", "-q", "-o", "kept.joblib", cwd=folder).ok()
    nbtext(
        "update", "kept.joblib", "new.csv", "--half-life", "1d", "--elapsed", "1d", cwd=folder
    ).refused(1, "without --keep-sample")

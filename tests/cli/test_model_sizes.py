"""Models without counts, and models of a limited size, as a user types them."""

from pathlib import Path
from typing import Any

import pytest

MISSING = ("the model holds no counts of its training documents", "--keep-sample")


@pytest.fixture
def models(nbtext: Any, letters: Path, tmp_path: Path) -> tuple[str, str]:
    """A linear model, and one that keeps counts."""
    model, kept = str(tmp_path / "model.joblib"), str(tmp_path / "kept.joblib")
    for path, options in ((model, ()), (kept, ("--keep-sample", "1"))):
        nbtext("train", str(letters / "train"), "--model", "svm", *options, "-o", path, "-q").ok()
    return model, kept


def test_what_needs_counts_says_so(nbtext: Any, letters: Path, models: tuple[str, str]) -> None:
    """A linear model keeps none, but with --keep-sample: one line names this option."""
    model, kept = models
    for arguments in (
        ("train", model, "--model", "multinomial", "-o", "other"),
        ("inspect", model, "--by", "z"),
        ("inspect", model, "--by", "frequency"),
        ("prevalence", str(letters / "test"), "-m", model),
    ):
        nbtext(*arguments).refused(1, *MISSING)
        nbtext(*(kept if each == model else each for each in arguments)).ok()
    nbtext("update", model, str(letters / "test")).refused(1, "not fitted to sums of counts")


def test_commands_that_need_no_counts(nbtext: Any, letters: Path, models: tuple[str, str]) -> None:
    """They know how many documents the model was trained on, and leave out what only counts tell."""
    model, kept = models
    found, expected = (nbtext("inspect", each, "--word", "parking", "--to", "json").json for each in models)
    assert (found["documents"], found["occurrences"]) == (expected["documents"], None)
    assert [each["documents"] for each in found["labels"]] == [each["documents"] for each in expected["labels"]]
    for (label, own), (_, other) in zip(found["words"][0]["classes"], expected["words"][0]["classes"], strict=True):
        assert own == other | dict.fromkeys(own, None) | {"feature": "parking", "log_odds": other["log_odds"]}, label
    assert "336 documents" in nbtext("inspect", model, "--to", "table").ok().out
    assert "–" in nbtext("inspect", model, "--word", "parking", "--to", "table").ok().out
    assert nbtext("diff", model, kept, "--to", "json").json["moves"] == []
    compared = nbtext("compare", str(letters / "test"), "-m", model, "-m", kept, "--to", "json").json
    assert compared["models"][0]["documents"] == compared["models"][1]["documents"] == 336

"""`nbtext train MODEL`: a model's counts read as another model, without any text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

MODELS = ("multinomial", "bernoulli", "complement")
EXACT = ["--smoothing", "0.3", "--no-calibrate", "-q"]


@pytest.mark.parametrize("weighting", ["counts", "binary"])
@pytest.mark.parametrize("name", MODELS)
def test_the_same_answers_as_from_the_texts(
    nbtext: Any, letters: Path, tmp_path: Path, name: str, weighting: str
) -> None:
    """Whatever model kept the counts."""
    features = ["--weighting", weighting, "--ngrams", "1,2", "--min-df", "2"]
    for other in MODELS:
        assert (
            nbtext("train", str(letters / "train"), *features, "--model", other, "-q", "-o", other, cwd=tmp_path).status
            == 0
        )
    wanted = ["train", str(letters / "train"), *features, "--model", name, *EXACT, "-o", "wanted"]
    assert nbtext(*wanted, cwd=tmp_path).status == 0
    expected = nbtext("predict", str(letters / "test"), "-m", "wanted", "--to", "tsv", cwd=tmp_path).out
    for other in MODELS:
        again = nbtext("train", other, "--model", name, *EXACT, "-o", "again", cwd=tmp_path)
        assert again.status == 0, again.err
        assert nbtext("predict", str(letters / "test"), "-m", "again", "--to", "tsv", cwd=tmp_path).out == expected


def test_a_kept_sample_chooses_as_the_texts_do(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """With all documents kept, the model is the one that training on the texts gives, to the byte."""
    keep = ["--keep-sample", "1000"]
    for arguments in (
        [str(letters / "train"), *keep, "-o", "kept"],
        [str(letters / "train"), *keep, "--model", "complement", "-o", "wanted"],
        ["kept", *keep, "--model", "complement", "-o", "again"],
    ):
        assert nbtext("train", *arguments, cwd=tmp_path).status == 0
    assert (tmp_path / "again").read_bytes() == (tmp_path / "wanted").read_bytes()


def test_what_is_carried_over_is_said(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """The same model keeps its smoothing and calibration; another one the smoothing alone."""
    trained = nbtext("train", str(letters / "train"), "-o", "model", cwd=tmp_path)
    smoothing = trained.err.split("smoothing ")[1].split(";")[0]
    for name, is_calibrated in (("multinomial", True), ("bernoulli", False)):
        again = nbtext("train", "model", "--model", name, "-o", "again", cwd=tmp_path)
        assert f"smoothing {smoothing}\n" in again.err
        assert "approximate (as before): smoothing, calibration" in again.err
        answers = [
            nbtext("predict", str(letters / "test"), "-m", model, cwd=tmp_path).out for model in ("model", "again")
        ]
        assert (answers[0] == answers[1]) == is_calibrated


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--model", "nbsvm"],
            "nbtext: nbsvm looks at whole documents here, and the model keeps counts only; train it on",
        ),
        (["--model", "categorical"], "nbtext: categorical looks at whole documents here"),
        (["--ngrams", "1,2"], "nbtext: --ngrams: a model has its features already; leave it out"),
        (["--smoothing", "-1"], "nbtext: --smoothing: -1.0 is not a number >= 0"),
    ],
)
def test_what_counts_cannot_do(nbtext: Any, model: str, tmp_path: Path, options: list[str], says: str) -> None:
    """One line each, and no output."""
    result = nbtext("train", model, *options, "-o", str(tmp_path / "again"))
    assert result.status in {1, 2}
    assert result.err.startswith(says)
    assert not (tmp_path / "again").exists()

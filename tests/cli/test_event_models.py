"""Every event model as a user types it: train, save, predict and cross-validate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtext.bayes.event_models import EVENT_MODELS

OPTIONS = [[model] for model in EVENT_MODELS] + [
    ["complement", "--normalize-weights"],
    ["categorical", "--values", "3"],
]


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_the_same_bytes(nbtext: Any, letters: Path, tmp_path: Path, options: list[str]) -> None:
    """Model and answers are the same bytes with the kernel and without, and with any number of jobs."""
    for name, jobs, environment in (("a", "1", {}), ("b", "3", {}), ("c", "2", {"NBTEXT_KERNEL": "off"})):
        arguments = ["--model", *options, "-j", jobs, "-o", name]
        trained = nbtext("train", str(letters / "train"), *arguments, cwd=tmp_path, **environment)
        assert trained.status == 0, trained.err
        assert trained.err.startswith(f"{options[0]}: 336 documents, 6 labels, ")
        asked = ["predict", str(letters / "test"), "-m", name, "-j", jobs, "-o", f"{name}.tsv"]
        assert nbtext(*asked, cwd=tmp_path, **environment).status == 0
    assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1
    assert len({(tmp_path / f"{name}.tsv").read_bytes() for name in "abc"}) == 1


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_folds_say_what_the_test_half_says(nbtext: Any, letters: Path, tmp_path: Path, options: list[str]) -> None:
    """Cross-validation of the training half and the test half give similar accuracies, far above chance."""
    model = ["--model", *options]
    folds = nbtext("evaluate", str(letters / "train"), "--folds", "10", *model, "--to", "json")
    assert nbtext("train", str(letters / "train"), *model, "-o", "model", cwd=tmp_path).status == 0
    test = nbtext("evaluate", str(letters / "test"), "-m", "model", "--to", "json", cwd=tmp_path)
    found = [json.loads(result.out)["accuracy"] for result in (folds, test)]
    assert min(found) > 0.5
    assert abs(found[0] - found[1]) < 0.15


def test_categorical_from_a_matrix(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """A matrix of counts is as good as the texts; one of weights holds no counts, and the line says so."""
    texts = str(letters / "train")
    assert nbtext("vectorize", texts, "-o", "counts.npz", cwd=tmp_path).status == 0
    assert nbtext("vectorize", texts, "--weighting", "tfidf", "-o", "weights.npz", cwd=tmp_path).status == 0
    for source in (texts, "counts.npz"):
        name = Path(source).stem
        assert nbtext("train", source, "--model", "categorical", "-o", f"{name}.joblib", cwd=tmp_path).status == 0
    asked = [nbtext("predict", str(letters / "test"), "-m", f"{m}.joblib", cwd=tmp_path) for m in ("train", "counts")]
    assert asked[0].out == asked[1].out
    refused = nbtext("train", "weights.npz", "--model", "categorical", "-o", "m", cwd=tmp_path)
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "make the matrix with nbtext vectorize --weighting counts" in refused.err


def test_normalized_weights_are_calibrated(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """Weights that sum to one give small scores; smoothing and calibration do not depend on that."""
    model = ["--model", "complement", "--normalize-weights"]
    assert nbtext("train", str(letters / "train"), *model, "-o", "model", cwd=tmp_path).status == 0
    found = json.loads(nbtext("evaluate", str(letters / "test"), "-m", "model", "--to", "json", cwd=tmp_path).out)
    assert found["accuracy"] > 0.92
    assert found["log_loss"] < 0.25


def test_values_of_what_there_are(nbtext: Any, letters: Path) -> None:
    """--values requires at least two values."""
    refused = nbtext("train", str(letters / "train"), "--model", "categorical", "--values", "1", "-o", "m")
    assert (refused.status, refused.out) == (2, "")
    assert "--values: 1 is not a valid value; give a number from 2 to 1,000" in refused.err

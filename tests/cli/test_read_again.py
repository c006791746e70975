"""`nbtext train MODEL`: fit another model to the counts of a model file, without any text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

MODELS = ("multinomial", "bernoulli", "complement")
EXACT = ["--smoothing", "0.3", "--no-calibrate", "-q"]


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("weighting", ["counts", "binary"])
@pytest.mark.parametrize("name", MODELS)
def test_the_same_answers_as_from_the_texts(
    nbtext: Any, letters: Path, tmp_path: Path, name: str, weighting: str
) -> None:
    """The refitted model predicts as one that was trained on the texts, whichever model had the counts."""
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
    trained = nbtext("train", str(letters / "train"), "--model", "multinomial", "-o", "model", cwd=tmp_path)
    smoothing = trained.err.split("smoothing ")[1].split(";")[0]
    same = nbtext("train", "model", "-o", "same", cwd=tmp_path)
    assert f"smoothing {smoothing}\n" in same.err
    parts = "smoothing, calibration, outlier threshold, nonconformity"
    assert f"approximate (fitted before the last change of the documents): {parts};" in same.err
    other = nbtext("train", "model", "--model", "bernoulli", "-o", "other", cwd=tmp_path)
    assert (
        f"smoothing {smoothing}\napproximate (fitted before the last change of the documents): smoothing;" in other.err
    )
    assert "not fitted, because there are too few documents: calibration, nonconformity;" in other.err
    answers = {
        name: nbtext("predict", str(letters / "test"), "-m", name, cwd=tmp_path).out
        for name in ("model", "same", "other")
    }
    assert answers["model"] == answers["same"] != answers["other"]


def test_settings_stay_as_far_as_they_mean_the_same(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """A model that is not named stays; a prior goes along; a share of the variance is not a pseudo-count."""
    train, prior = str(letters / "train"), ["--prior", "1,2,3,4,5,6"]
    nbtext("train", train, "--model", "bernoulli", *prior, "--smoothing", "2", "-o", "a", cwd=tmp_path)
    again = nbtext("train", "a", "--smoothing", "0.5", "-o", "b", cwd=tmp_path)
    assert again.err.startswith("bernoulli: 336 documents, 6 labels, 2,803 features; smoothing 0.5\n")
    exact = ["--smoothing", "0.5", "--no-calibrate"]
    nbtext("train", "a", "--model", "complement", *exact, "-o", "c", cwd=tmp_path)
    nbtext("train", train, "--model", "complement", *prior, *exact, "-o", "d", cwd=tmp_path)
    answers = [nbtext("predict", str(letters / "test"), "-m", name, cwd=tmp_path).out for name in "cd"]
    assert answers[0] == answers[1]
    nbtext("train", train, "--model", "gaussian", "-o", "e", cwd=tmp_path)
    assert "smoothing 1\n" in nbtext("train", "e", "--model", "multinomial", "-o", "f", cwd=tmp_path).err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--model", "nbsvm"],
            "nbtext: nbsvm needs the counts of each document, which the model file does not hold; train",
        ),
        (["--model", "categorical"], "nbtext: categorical needs the counts of each document"),
        (
            ["--ngrams", "1,2"],
            "nbtext: --ngrams: does not apply: SOURCE is a model, whose features are already extracted",
        ),
        (
            ["--weighting", "binary"],
            "nbtext: --weighting: does not apply: SOURCE is a model, whose features are already extracted",
        ),
        (
            ["--text-field", "body"],
            "nbtext: --text-field: does not apply: SOURCE is a model, whose features are already extracted",
        ),
        (
            ["--optimize", "macro_f1"],
            "nbtext: --optimize: needs retained documents, and the model has none; train with",
        ),
        (
            ["--smoothing", "-1"],
            "nbtext: --smoothing: -1 is not a valid value; give 0, or a number from 1e-100 to 1e+100",
        ),
    ],
)
def test_what_counts_cannot_do(nbtext: Any, model: str, tmp_path: Path, options: list[str], says: str) -> None:
    """One line each, and no output."""
    result = nbtext("train", model, *options, "-o", str(tmp_path / "again"))
    assert result.status in {1, 2}
    assert result.err.startswith(says)
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("best", 2, "best needs texts, but SOURCE is a model, which holds only counts; name a model"),
        ("auto", 1, "auto selects a model on retained documents, and this model retains none; name a model"),
    ],
)
def test_a_search_needs_the_texts(nbtext: Any, model: str, name: str, status: int, says: str) -> None:
    """A model keeps none to try others on."""
    result = nbtext("train", model, "--model", name, "-o", "-")
    assert result.status == status
    assert result.err.startswith(f"nbtext: --model: {says}")


@pytest.mark.parametrize("command", ["predict", "train -o -", "evaluate"])
def test_a_model_among_the_sources_is_refused(nbtext: Any, letters: Path, model: str, command: str) -> None:
    """A model file among the sources, or on standard input, is refused, and the error calls it a model."""
    name, *options = command.split()
    options = options or ["-m", model]
    among = nbtext(name, str(letters / "test"), model, *options)
    piped = nbtext(name, "-", *options, input=Path(model).read_bytes())
    for result in (among, piped):
        assert result.status == 1
        assert ": is a model, not a source of documents; give it with -m to predict" in result.err

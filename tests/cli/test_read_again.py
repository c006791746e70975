"""`nbtext train MODEL`: fit another model to the counts of a model file, without any text."""

from pathlib import Path
from typing import Any

import pytest


def test_what_is_carried_over_is_said(nbtext: Any, letters: Path) -> None:
    """The same model stays as it is; another one has the smoothing alone."""
    trained = nbtext(f"train {letters}/train --model multinomial -o model")
    smoothing = trained.err.split("smoothing ")[1].split(";")[0]
    same = nbtext("train model -o same")
    assert (same.err, same.err.count("approximate")) == (trained.err, 0)
    other = nbtext("train model --model bernoulli -o other")
    assert (
        f"smoothing {smoothing}\napproximate (not fitted to all documents): smoothing;" in other.err
    )
    answers = {
        name: nbtext(f"predict {letters}/test -m {name}").out for name in ("model", "same", "other")
    }
    assert answers["model"] == answers["same"] != answers["other"]


def test_settings_stay_as_far_as_they_mean_the_same(nbtext: Any, letters: Path) -> None:
    """A model that is not named stays; a prior goes along; a share of the variance is not a
    pseudo-count.
    """
    train = str(letters / "train")
    prior = ["--prior", "1,2,3,4,5,6"]
    nbtext("train", train, "--model", "bernoulli", *prior, "--smoothing", "2", "-o", "a")
    again = nbtext("train a --smoothing 0.5 -o b")
    assert again.err.startswith(
        "bernoulli: 336 documents, 6 labels, 2,803 features; smoothing 0.5\n"
    )
    exact = ["--smoothing", "0.5", "--no-calibrate"]
    nbtext("train", "a", "--model", "complement", *exact, "-o", "c")
    nbtext("train", train, "--model", "complement", *prior, *exact, "-o", "d")
    answers = [nbtext(f"predict {letters}/test -m {name}").out for name in "cd"]
    assert answers[0] == answers[1]
    nbtext(f"train {train} --model gaussian -o e")
    assert "smoothing 1\n" in nbtext("train e --model multinomial -o f").err


@pytest.mark.parametrize("command", ["predict", "train -o m", "evaluate"])
def test_a_model_among_the_sources_is_refused(
    nbtext: Any, letters: Path, model: str, command: str
) -> None:
    """A model file among the sources is refused, and the error calls it a model; alone, `train`
    fits it again.
    """
    name, *options = command.split()
    options = options or ["-m", model]
    among = nbtext(name, str(letters / "test"), model, *options)
    piped = nbtext(name, "-", *options, input=Path(model).read_bytes())
    for result in (among,) if name == "train" else (among, piped):
        assert result.status == 1
        assert ": is a model, not a source of documents; give it with -m to predict" in result.err
    assert (piped.status == 0) == (name == "train")

"""Every event model as a user types it: train, save, predict and cross-validate."""

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
    """Model and answers are the same bytes with the kernel and without, and with any number of
    jobs.
    """
    for name, jobs, environment in (
        ("a", "1", {}),
        ("b", "3", {}),
        ("c", "2", {"NBTEXT_KERNEL": "off"}),
    ):
        arguments = ["--model", *options, "-j", jobs, "-o", name]
        trained = nbtext("train", str(letters / "train"), *arguments, **environment).ok()
        name_of_model = options[0] + " with binary counts" * (options[0] == "combined")
        assert trained.err.startswith(f"{name_of_model}: 336 documents, 6 labels, ")
        asked = ["predict", str(letters / "test"), "-m", name, "-j", jobs, "-o", f"{name}.tsv"]
        nbtext(*asked, **environment).ok()
    assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1
    assert len({(tmp_path / f"{name}.tsv").read_bytes() for name in "abc"}) == 1


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_folds_say_what_the_test_half_says(nbtext: Any, letters: Path, options: list[str]) -> None:
    """Cross-validation of the training half and the test half give similar accuracies, far above
    chance.
    """
    model = ["--model", *options]
    folds = nbtext("evaluate", str(letters / "train"), "--folds", "10", *model, "--to", "json")
    nbtext("train", str(letters / "train"), *model, "-o", "model").ok()
    test = nbtext(f"evaluate {letters}/test -m model --to json")
    found = [result.json["accuracy"] for result in (folds, test)]
    assert min(found) > 0.5
    assert abs(found[0] - found[1]) < 0.15


def test_categorical_from_a_matrix(nbtext: Any, letters: Path) -> None:
    """A matrix of counts is as good as the texts, and so is one of weights, which has the counts
    beside them.
    """
    texts = str(letters / "train")
    nbtext(f"vectorize {texts} -o counts.npz").ok()
    nbtext(f"vectorize {texts} --weighting tfidf -o weights.npz").ok()
    for source in (texts, "counts.npz", "weights.npz"):
        name = Path(source).stem
        nbtext(f"train {source} --model categorical -o {name}.joblib").ok()
    asked = [
        nbtext(f"predict {letters}/test -m {m}.joblib") for m in ("train", "counts", "weights")
    ]
    assert asked[0].ok().out == asked[1].ok().out == asked[2].ok().out


def test_normalized_weights_are_calibrated(nbtext: Any, letters: Path) -> None:
    """Weights that sum to one give small scores; smoothing and calibration do not depend on
    that.
    """
    model = ["--model", "complement", "--normalize-weights"]
    nbtext("train", str(letters / "train"), *model, "-o", "model").ok()
    found = nbtext(f"evaluate {letters}/test -m model --to json").json
    assert found["accuracy"] > 0.92
    assert found["log_loss"] < 0.25

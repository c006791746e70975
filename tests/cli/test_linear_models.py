"""The discriminative siblings behind --model, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

LINEAR = [
    ("nbsvm", "--weighting", "tfidf"),
    ("nbsvm", "--loss", "logistic", "--beta", "0.25", "--ratio-smoothing", "0.5"),
    ("logistic", "--C", "10", "--weighting", "binary"),
]


@pytest.mark.parametrize("options", LINEAR, ids=" ".join)
def test_train_and_evaluate(nbtext: Any, letters: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    """The model is the same for any number of threads, tells the letters apart, and is no worse than folds foretell."""
    models = [tmp_path / f"{jobs}.joblib" for jobs in (1, 3)]
    for jobs, model in zip(("1", "3"), models, strict=True):
        trained = nbtext("train", str(letters / "train"), "-o", str(model), "-j", jobs, "--model", *options)
        assert trained.status == 0
        assert "; C 1; expect" in trained.err or "; C 10; expect" in trained.err
        assert "(5 folds)" in trained.err
    assert models[0].read_bytes() == models[1].read_bytes()
    found = json.loads(nbtext("evaluate", str(letters / "test"), "-m", str(models[0]), "--to", "json").out)
    expected = float(trained.err.split("expect accuracy ")[1].split(",")[0])
    assert found["accuracy"] > expected - 0.05
    assert found["expected_calibration_error"] < 0.15


def test_the_penalty_is_chosen_by_folds(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """`--C auto` says which it took, and expects no more loss than with the usual one."""

    def loss(C: str) -> tuple[str, float]:
        options = ["--model", "nbsvm", "--weighting", "tfidf", "--C", C]
        said = nbtext("train", str(letters / "train"), "-o", str(tmp_path / "m"), *options).err
        return said.split("; C ")[1].split(";")[0], float(said.split("log-loss ")[1].split()[0])

    chosen, least = loss("auto")
    assert chosen != "1"
    assert least < loss("1")[1]


def test_folds(nbtext: Any, letters: Path) -> None:
    """Cross-validation takes them like any model."""
    found = json.loads(
        nbtext("evaluate", str(letters / "train"), "--folds", "4", "--model", "nbsvm", "--to", "json").out
    )
    assert (found["documents"], found["accuracy"] > 0.85) == (336, True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--C", "3"], "nbtext: --C: multinomial has no use for it; leave it out"),
        (["--model", "logistic", "--loss", "logistic"], "nbtext: --loss: logistic has no use for it; leave it out"),
        (["--model", "nbsvm", "--smoothing", "1"], "nbtext: --smoothing: nbsvm has no use for it; leave it out"),
        (["--model", "nbsvm", "--prior", "uniform"], "nbtext: --prior: nbsvm has no use for it; leave it out"),
        (["--values", "3"], "nbtext: --values: multinomial has no use for it; leave it out"),
        (["--model", "nbsvm", "--C", "0"], "nbtext: --C: 0.0 is not auto or a number > 0"),
        (["--model", "nbsvm", "--C", "much"], "nbtext: Invalid value for '--C': 'much' is neither auto nor a number"),
    ],
)
def test_options_that_make_no_sense(nbtext: Any, letters: Path, options: list[str], says: str) -> None:
    """Each gets its line."""
    result = nbtext("train", str(letters / "train"), "-o", "-", *options)
    assert result.status == 2
    assert result.err.startswith(says)


def test_a_model_of_two_labels_is_kept_whole(nbtext: Any, tmp_path: Path) -> None:
    """One plane between two labels, the same answers after it was saved, and no outliers, which it cannot tell."""
    (tmp_path / "texts.jsonl").write_text(
        "".join(
            json.dumps({"text": text, "label": label}) + "\n"
            for text, label in [("cheap pills now", "spam"), ("lunch at noon", "ham")] * 6
        )
    )
    assert nbtext("train", "texts.jsonl", "-o", "m", "--model", "nbsvm", cwd=tmp_path).status == 0
    found = json.loads(
        nbtext("predict", "-", "-m", "m", "--to", "jsonl", input=b"cheap lunch pills\n", cwd=tmp_path).out
    )
    assert (found["label"], found["outlier"]) == ("spam", None)

"""Thresholds of --fail-under are parsed, checked and explained."""

from itertools import combinations, product

import pytest

from nbtext import TextClassifier
from nbtext.documents.batch import Batch
from nbtext.errors import BelowThreshold, SettingsError
from nbtext.evaluation.evaluator import (
    Evaluation,
    LabelScore,
    ThresholdScore,
    check_thresholds,
    parse_thresholds,
)
from nbtext.model.predictor import Predictor
from nbtext.model.settings import DecisionSettings

METRICS = {"accuracy": 0.8, "macro_f1": 0.7, "log_loss": 0.5, "expected_calibration_error": 0.05}
SCORES = (LabelScore("ham", 0.9, 0.99, 0.94, 8), LabelScore("a:b, c", 0.5, 0.25, 1 / 3, 2))
EVALUATION = Evaluation(10, 0, METRICS, ("ham", "a:b, c"), SCORES, (), ())


def test_thresholds_that_are_reached() -> None:
    """A metric at its threshold, or better than it, passes; losses and errors are better where they
    are lower.
    """
    check_thresholds(
        EVALUATION,
        parse_thresholds("accuracy=0.8, macro_f1=0.6,log_loss=0.5,expected_calibration_error=0.1"),
    )


def test_thresholds_that_are_missed() -> None:
    """Every missed threshold is named, and the exit status is 3."""
    with pytest.raises(
        BelowThreshold, match=r"accuracy is 0\.8000, below 0\.85; log_loss is 0\.5000, above 0\.4"
    ) as missed:
        check_thresholds(EVALUATION, parse_thresholds("accuracy=0.85,log_loss=0.4,macro_f1=0.7"))
    assert missed.value.exit_code == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("acuracy=1", "did you mean accuracy"),
        ("accuracy", "has no number"),
        ("accuracy=high", "has no number"),
        ("accuracy=nan", "has no number"),
        ("x=1", "there are accuracy"),
    ],
)
def test_thresholds_that_make_no_sense(text: str, message: str) -> None:
    """A misspelled metric gets a suggestion, a missing number an example."""
    with pytest.raises(ValueError, match=message):
        parse_thresholds(text)


def test_thresholds_of_a_label() -> None:
    """Precision, recall and F1 of one label; a label that is not there is named with the nearest
    one.
    """
    check_thresholds(EVALUATION, parse_thresholds("recall:ham=0.99,precision:ham=0.9"))
    with pytest.raises(
        BelowThreshold, match=r"recall:ham is 0\.9900, below 0\.995; f1:ham is 0\.9400, below 0\.95"
    ):
        check_thresholds(EVALUATION, parse_thresholds("recall:ham=0.995,f1:ham=0.95"))
    with pytest.raises(SettingsError, match="there is no label hm; did you mean recall:ham"):
        check_thresholds(EVALUATION, parse_thresholds("recall:hm=0.5"))
    with pytest.raises(SettingsError, match="coverage was not measured; give coverage too"):
        check_thresholds(EVALUATION, parse_thresholds("coverage=0.5"))
    with pytest.raises(ValueError, match="did you mean recall:LABEL"):
        parse_thresholds("recal:ham=0.9")
    with pytest.raises(
        ValueError, match="cannot be reached: the highest value is 1; write recall:ham=0"
    ):
        parse_thresholds("recall:ham=99.5")


def test_metrics_of_several_labels() -> None:
    """The same options; a metric of the other kind of model is named as such."""
    score = ThresholdScore("tax", 0.5, 0.75, 0.6, 8, 0.4)
    metrics = {"micro_f1": 0.8, "classwise_calibration_error": 0.01}
    evaluation = Evaluation(9, 1, metrics, ("tax",), (score,), unlabeled=0, label_pairs=())
    check_thresholds(
        evaluation,
        parse_thresholds("micro_f1=0.8,recall:tax=0.75,classwise_calibration_error=0.02"),
    )
    with pytest.raises(
        BelowThreshold, match=r"micro_f1 is 0.8000, below 0.81; f1:tax is 0.6000, below 0.7"
    ):
        check_thresholds(evaluation, parse_thresholds("micro_f1=0.81,f1:tax=0.7"))
    with pytest.raises(
        SettingsError, match=r"accuracy was not measured; it is a metric of one label for each"
    ):
        check_thresholds(evaluation, parse_thresholds("accuracy=0.8"))
    with pytest.raises(
        SettingsError, match=r"micro_f1 was not measured; it is a metric of several labels"
    ):
        check_thresholds(EVALUATION, parse_thresholds("micro_f1=0.8"))
    with pytest.raises(SettingsError, match=r"coverage was not measured; give coverage too"):
        check_thresholds(evaluation, parse_thresholds("coverage=0.8"))


def test_thresholds_of_labels_decide() -> None:
    """The most probable label that reaches its threshold, else the most probable one without a
    threshold, else none.
    """
    texts = ["red round", "red long", "yellow long", "yellow round", "green", "green long"]
    model = TextClassifier(smoothing=1.0).fit(texts, ["a", "b", "c", "a", "b", "c"]).fitted_
    batch = Batch([""] * 6, (texts,), [None] * 6)
    seen = set()
    for limited in (each for n in (1, 2, 3) for each in combinations("abc", n)):
        for minimums in product((0.2, 0.35, 0.5), repeat=len(limited)):
            needed = dict(zip(limited, minimums, strict=True))
            found = Predictor(model).predict_batch(
                batch, DecisionSettings(threshold=tuple(needed.items()))
            )
            for labels, row in zip(found.labels, found.probabilities.tolist(), strict=True):
                p = dict(zip("abc", row, strict=True))
                reached = [k for k in limited if p[k] >= needed[k]]
                free = [k for k in "abc" if k not in needed]
                best = max(reached or free, key=lambda k: p[k], default=None)
                assert labels == (() if best is None else (best,))
                seen.add((bool(reached), bool(free)))
    assert len(seen) == 4

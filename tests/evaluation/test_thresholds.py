"""Bars are understood, held, and explained."""

from __future__ import annotations

import pytest

from nbtext.errors import BelowThreshold
from nbtext.evaluation.metrics import Evaluation
from nbtext.evaluation.thresholds import check_bars, parse_bars

EVALUATION = Evaluation(10, 0, 0.8, 0.7, 0.75, 0.5, 0.3, 0.05, (), (), (), ())


def test_bars_that_are_reached() -> None:
    """A figure at its bar, or better than it, is fine; losses and errors are better where they are lower."""
    check_bars(EVALUATION, parse_bars("accuracy=0.8, macro_f1=0.6,log_loss=0.5,expected_calibration_error=0.1"))


def test_bars_that_are_missed() -> None:
    """Every missed bar is named, and the exit status is 3."""
    with pytest.raises(
        BelowThreshold, match=r"accuracy is 0\.8000, below 0\.85; log_loss is 0\.5000, above 0\.4"
    ) as missed:
        check_bars(EVALUATION, parse_bars("accuracy=0.85,log_loss=0.4,macro_f1=0.7"))
    assert missed.value.exit_code == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("acuracy=1", "did you mean accuracy"),
        ("accuracy", "names no number"),
        ("accuracy=high", "names no number"),
        ("accuracy=nan", "names no number"),
        ("x=1", "there are accuracy"),
    ],
)
def test_bars_that_make_no_sense(text: str, message: str) -> None:
    """A misspelled metric gets a suggestion, a missing number an example."""
    with pytest.raises(ValueError, match=message):
        parse_bars(text)

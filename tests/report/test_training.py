"""Figures have as many digits as their interval supports."""

import pytest

from nbtext.bayes.diagnostics import LeaveOneOutEstimate, score_interval
from nbtext.report.training import format_estimate, format_share


@pytest.mark.parametrize(
    ("share", "documents", "shown"),
    [
        (0.7, 10, "0.70 (0.40 to 0.89, leave-one-out)"),
        (0.9732, 336, "0.973 (0.950 to 0.986, leave-one-out)"),
        (0.85399, 11_314, "0.854 (0.847 to 0.860, leave-one-out)"),
        (0.9, 10**6, "0.9000 (0.8994 to 0.9006, leave-one-out)"),
        (0.83391, None, "0.8339 (leave-one-out)"),
    ],
)
def test_digits(share: float, documents: int | None, shown: str) -> None:
    """Without an interval, four."""
    interval = None if documents is None else score_interval(share, documents)
    assert format_share(share, interval, "leave-one-out") == shown
    assert format_share(0.5, None) == "0.5000"


def test_all_figures_of_an_estimate_have_the_digits_of_the_first() -> None:
    found = format_estimate(LeaveOneOutEstimate(10, 0.7, 0.61234))
    assert found == "accuracy 0.70 (0.40 to 0.89), log-loss 0.61"

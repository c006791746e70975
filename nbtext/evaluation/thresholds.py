"""Bars that an evaluation must reach: `--fail-under accuracy=0.85,macro_f1=0.8`."""

from __future__ import annotations

from difflib import get_close_matches
from math import isfinite

from nbtext.errors import BelowThreshold, SettingsError
from nbtext.evaluation.metrics import Evaluation

HIGHER_IS_BETTER = (
    "accuracy",
    "macro_f1",
    "weighted_f1",
    "answered",
    "accuracy_among_answered",
    "coverage",
    "outlier_auroc",
)
LOWER_IS_BETTER = ("log_loss", "brier_score", "expected_calibration_error", "mean_set_size", "mean_cost")

NEEDED = dict.fromkeys(("coverage", "mean_set_size"), "give --coverage too") | {
    "mean_cost": "give --cost too",
    "outlier_auroc": "give --foreign too",
}


def parse_bars(text: str) -> dict[str, float]:
    """The bar of each metric named; ValueError says what cannot be understood."""
    bars = {}
    for part in text.split(","):
        name, equals, number = (piece.strip() for piece in part.partition("="))
        metrics = (*HIGHER_IS_BETTER, *LOWER_IS_BETTER)
        if name not in metrics:
            nearest = get_close_matches(name, metrics, n=1)
            advice = f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(metrics)}"
            raise ValueError(f"{name!r} is no metric; {advice}")
        try:
            bars[name] = float(number)
        except ValueError:
            raise ValueError(f"{part.strip()!r} names no number; write {name}=0.85") from None
        if not equals or not isfinite(bars[name]):
            raise ValueError(f"{part.strip()!r} names no number; write {name}=0.85")
        if name in HIGHER_IS_BETTER and bars[name] > 1:
            share = f"; write {name}={bars[name] / 100:g}" if 10 < bars[name] <= 100 else ""
            raise ValueError(f"{part.strip()!r} cannot be reached: 1 is the most{share}")
    return bars


def check_bars(evaluation: Evaluation, bars: dict[str, float]) -> None:
    """Raise BelowThreshold, which names them all, where a metric is below its bar (for losses and errors: above)."""
    missed = []
    for name, bar in bars.items():
        value = getattr(evaluation, name)
        if value is None:
            raise SettingsError(f"{name} is not measured here", where="--fail-under", hint=NEEDED[name])
        if name in LOWER_IS_BETTER and value > bar:
            missed.append(f"{name} is {value:.4f}, above {bar:g}")
        elif name in HIGHER_IS_BETTER and value < bar:
            missed.append(f"{name} is {value:.4f}, below {bar:g}")
    if missed:
        raise BelowThreshold("; ".join(missed))

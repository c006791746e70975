"""How the discriminative models are fitted: the options of that stage, and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from nbtext.errors import SettingsError

LINEAR_MODELS = ("logistic", "nbsvm")
LOSSES = ("squared-hinge", "logistic")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearSettings:
    """How hard logistic regression and NB-SVM fit the documents, and what NB-SVM takes over from Naive Bayes."""

    penalty: float | None = field(
        default=1.0,
        metadata={"help": "C, what an error costs beside the length of the weights; `auto`: the best by folds."},
    )
    loss: str = field(
        default="squared-hinge",
        metadata={"choices": LOSSES, "help": "NB-SVM: what counts as an error of a document, and how much."},
    )
    interpolation: float = field(
        default=1.0,
        metadata={
            "help": "NB-SVM's beta: 1 trusts the support vector machine, 0 the log-count ratios alone; "
            "0.25 is its authors'."
        },
    )
    ratio_smoothing: float = field(
        default=1.0, metadata={"help": "NB-SVM: imaginary sightings of each feature in the log-count ratios."}
    )
    folds: int = field(
        default=5, metadata={"help": "Parts of the documents that are held out in turn, to calibrate and to choose C."}
    )
    seed: int = field(default=0, metadata={"help": "Of the order in which documents are visited and held out."})

    def __post_init__(self) -> None:
        _require(self.penalty is None or 0 < self.penalty < math.inf, self.penalty, "a number > 0", "--C")
        _require(self.loss in LOSSES, self.loss, " or ".join(LOSSES), "--loss")
        _require(0 <= self.interpolation <= 1, self.interpolation, "from 0 to 1", "--interpolation")
        _require(0 < self.ratio_smoothing < math.inf, self.ratio_smoothing, "a number > 0", "--ratio-smoothing")
        _require(self.folds >= 2, self.folds, "2 or more", "--folds")
        _require(0 <= self.seed < 2**64, self.seed, "a whole number from 0 to 2^64 - 1", "--seed")


def _require(is_sound: bool, value: object, wanted: str, option: str) -> None:
    if not is_sound:
        raise SettingsError(f"{value} is not {wanted}", where=option)

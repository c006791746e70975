"""How counts become a model: the options of that stage, and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from nbtext.errors import SettingsError

EVENT_MODELS = ("multinomial", "bernoulli", "complement", "categorical", "gaussian")
MOST_VALUES = 1000  # of a feature, 0 included

METRICS = ("accuracy", "macro_f1", "log_loss")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Which event model reads the counts, with which smoothing and prior, and whether it is calibrated."""

    model: str = field(
        default="multinomial", metadata={"choices": EVENT_MODELS, "help": "How a class is thought to write documents."}
    )
    smoothing: float | None = field(
        default=None,
        metadata={
            "help": "Imaginary sightings of each feature in each class (Laplace's alpha); "
            "0 is maximum likelihood, `auto` the best by leave-one-out. "
            "Gaussian: the share of the largest variance that is added to all, `auto` being 1e-9."
        },
    )
    prior: str | tuple[float, ...] | None = field(
        default=None,
        metadata={
            "help": "`empirical`, `uniform`, or a weight for each label in sorted order: 1,3. "
            "The default is empirical; for complement uniform, as in its paper's classifier."
        },
    )
    calibrate: bool = field(
        default=True, metadata={"help": "Mend the probabilities by leave-one-out, so that 90 % means nine out of ten."}
    )
    optimize: str | None = field(
        default=None,
        metadata={
            "choices": METRICS,
            "help": "Shift the decision between labels to where leave-one-out finds this best; for log_loss, shift the "
            "probabilities.",
        },
    )
    normalize_weights: bool = field(
        default=False, metadata={"help": "Complement: scale each class's weights to sum to one (Rennie et al. 2003)."}
    )
    values: int = field(
        default=4,
        metadata={"help": "Categorical: tell counts from 0 to N - 1 apart; more counts as N - 1."},
    )

    def __post_init__(self) -> None:
        if self.smoothing is not None and not (math.isfinite(self.smoothing) and self.smoothing >= 0):
            raise SettingsError(f"{self.smoothing} is not a number >= 0", where="--smoothing")
        if self.normalize_weights and self.model != "complement":
            raise SettingsError(f"{self.model} has no such weights", where="--normalize-weights", hint="leave it out")
        if not 2 <= self.values <= MOST_VALUES:
            raise SettingsError(f"{self.values} is not from 2 to {MOST_VALUES}", where="--values")

    @property
    def event_model(self) -> str:
        """The event model, in the variant that is wanted."""
        return "normalized complement" if self.normalize_weights else self.model

    @property
    def effective_prior(self) -> str | tuple[float, ...]:
        """The prior that is used where none is given."""
        return self.prior if self.prior is not None else ("uniform" if self.model == "complement" else "empirical")

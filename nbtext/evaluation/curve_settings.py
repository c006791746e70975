"""How models are compared while they learn: the options of that stage, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from nbtext.bayes.settings import ModelSettings
from nbtext.errors import SettingsError


def models_to_compare() -> tuple[str, ...]:
    """The models that there are."""
    (model,) = (field for field in fields(ModelSettings) if field.name == "model")
    return tuple(model.metadata["choices"])


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveSettings:
    """Which models learn from how many documents, how often."""

    models: tuple[str, ...] = field(
        default=("multinomial", "bernoulli", "complement"),
        metadata={"help": "The models to compare, by --model's names."},
    )
    sizes: tuple[int, ...] | None = field(
        default=None,
        metadata={
            "help": "Documents to learn from, as in 50,100,200; each part holds the ones before it.  "
            "[default: from 50 on twice as many each time, up to 70 % of them]"
        },
    )
    seeds: int = field(default=5, metadata={"help": "How often to deal the documents out anew."})

    def __post_init__(self) -> None:
        known = models_to_compare()
        for name in self.models:
            if name not in known:
                from difflib import get_close_matches

                nearest = get_close_matches(name, known, n=1)
                hint = f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(known)}"
                raise SettingsError(f"{name!r} is no model", where="--models", hint=hint)
        if not self.models or len(set(self.models)) < len(self.models):
            raise SettingsError("name each model once", where="--models")
        if self.sizes is not None and (not self.sizes or min(self.sizes) < 1):
            raise SettingsError("a part needs a document at least", where="--sizes")
        if self.seeds < 1:
            raise SettingsError(f"{self.seeds} is less than 1", where="--seeds")

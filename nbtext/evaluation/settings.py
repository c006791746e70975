"""Settings of cross-validation, learning curves and model search."""

from __future__ import annotations

import math
from dataclasses import fields, replace

from nbtext.bayes.settings import ModelSettings
from nbtext.documents.settings import InputSettings
from nbtext.errors import SettingsError
from nbtext.records import dataclass

TIME_STEPS = 10  # of a time-series split, if --folds does not say
BEST = "best"  # the value of --model that searches settings


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldSettings:
    """How documents are split for cross-validation.

    folds        number of folds; None: the default of the kind of split
    group_field  field whose equal values are in the same fold; None: documents are not grouped
    order_field  field by which a time-series split orders documents; None: folds are random
    seed         seed of the random folds
    """

    folds: int | None = None
    group_field: str | None = None
    order_field: str | None = None
    seed: int = 1

    @property
    def is_wanted(self) -> bool:
        """Whether cross-validation was asked for."""
        return (self.folds, self.group_field, self.order_field) != (None, None, None)

    @property
    def split_field(self) -> str | None:
        """The field that holds the group or the timestamp of a document; None: none."""
        return self.group_field if self.group_field is not None else self.order_field

    @property
    def split_option(self) -> str:
        """The option that names this field."""
        return "--group-field" if self.group_field is not None else "--order-field"

    def add_split(self, settings: InputSettings) -> InputSettings:
        """Return the input settings with the field that holds the groups or timestamps."""
        return replace(settings, split_field=self.split_field, split_option=self.split_option)

    def __post_init__(self) -> None:
        if self.group_field is not None and self.order_field is not None:
            raise SettingsError(
                "cannot be combined with --group-field", where="--order-field", hint="leave out one of them"
            )
        if self.split_field == "":
            raise SettingsError("the name of the field is empty", where=self.split_option)
        if self.folds is not None and self.folds < 2:
            raise SettingsError(f"{self.folds} is less than 2", where="--folds", hint="10 is usual")


def models_to_compare() -> tuple[str, ...]:
    """Return the names of models that `compare --models` accepts."""
    (model,) = (field for field in fields(ModelSettings) if field.name == "model")
    return tuple(model.metadata["choices"])


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveSettings:
    """Models, training set sizes and repetitions of learning curves.

    models  None: the event models that need only class statistics; best alone: the candidates of a model search
    """

    models: tuple[str, ...] | None = None
    sizes: tuple[int, ...] | None = None
    seeds: int = 5

    @property
    def is_search(self) -> bool:
        """Whether the candidates of a model search are compared, and not learning curves."""
        return self.models == (BEST,)

    def __post_init__(self) -> None:
        known = (*models_to_compare(), BEST)
        for name in self.models or ():
            if name not in known:
                from difflib import get_close_matches

                nearest = get_close_matches(name, known, n=1)
                hint = f"did you mean {nearest[0]}?" if nearest else f"choose from {', '.join(known)}"
                raise SettingsError(f"{name!r} is not a model", where="--models", hint=hint)
        if self.models is not None and not 0 < len(self.models) == len(set(self.models)):
            raise SettingsError("name each model once", where="--models")
        if not self.is_search and BEST in (self.models or ()):
            raise SettingsError("best cannot be combined with other models", where="--models", hint="use it alone")
        if self.sizes is not None and (not self.sizes or min(self.sizes) < 1):
            raise SettingsError("each size must be at least 1", where="--sizes")
        if self.seeds < 1:
            raise SettingsError(f"{self.seeds} is less than 1", where="--seeds")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Time limit of a model search."""

    budget: float = 120.0

    def __post_init__(self) -> None:
        if not 0 <= self.budget < math.inf:
            raise SettingsError(f"{self.budget} is not a time", where="--budget", hint="write 30s or 5m")

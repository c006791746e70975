"""The settings of learning curves."""

from __future__ import annotations

from nbtext.bayes.settings import BEST
from nbtext.errors import SettingsError, suggest
from nbtext.evaluation.settings import models_to_compare
from nbtext.records import Strings, frozen
from nbtext.settings import Settings, parse_names, setting


def _parse_sizes(text: str) -> tuple[int, ...]:
    parts = parse_names(text)
    if not all(map(str.isdecimal, parts)):
        raise ValueError(f"{text!r} is not a list of numbers; write 50,100,200")
    return tuple(map(int, parts))


@frozen(kw_only=True)
class CurveSettings(Settings):
    """Models, training set sizes and repetitions of learning curves.

    models  None: the event models that need only class statistics
    """

    TITLE = "Models to train"

    models: Strings | None = setting(
        None,
        "Models to train and compare, such as multinomial,svm (see `nbtext train`).",
        parse=parse_names,
        metavar="MODEL,…",
        default_help="those that `update` can extend",
    )
    sizes: tuple[int, ...] | None = setting(
        None,
        "Sizes of the training set, in documents. Each training set contains the smaller ones.",
        parse=_parse_sizes,
        metavar="N,N…",
        default_help="50, 100, 200 and so on, up to 70 % of SOURCE",
    )
    seeds: int = setting(5, "Number of random splits.", low=2, metavar="N")

    def check_values(self) -> None:
        known = models_to_compare()
        for name in self.models or ():
            if name not in known:
                is_search = name == BEST
                hint = (
                    "nbtext train --model best tries models" if is_search else suggest(name, known)
                )
                raise SettingsError(f"{name!r} is not a model", where="models", hint=hint)
        if self.models is not None and len(self.models) > len(set(self.models)):
            raise SettingsError("name each model once", where="models")
        if self.sizes is not None and min(self.sizes) < 1:
            raise SettingsError("each size must be at least 1", where="sizes")

"""The settings of `nbtext prevalence`, and of `nbtext predict --adapt-prior`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.cli import options
from nbtext.records import frozen
from nbtext.settings import Excludes, Settings, setting

if TYPE_CHECKING:
    from nbtext.documents.settings import InputSettings


@frozen(kw_only=True)
class PrevalenceSettings:
    """The settings of `nbtext prevalence`."""

    sources: tuple[str, ...] = options.sources()
    model: str = options.model_file()
    group_field: str | None = setting(
        None,
        "Column, JSON key or mail header of a group, such as the month. Each group has its own shares: a row for "
        "each group and label.",
        metavar="NAME",
    )
    result: options.ResultSettings = options.result()
    input: InputSettings = options.unlabeled_input()
    run: options.RunSettings = options.run()


@frozen(kw_only=True)
class AdaptSettings(Settings):
    """The option of `nbtext predict`."""

    TITLE = "Predictions"
    RULES_OF_COMMAND = (
        Excludes("adapt_prior", "cluster"),
        Excludes(
            "adapt_prior", "coverage", because="prediction sets cover only documents as in training"
        ),
    )

    adapt_prior: bool = setting(
        False,
        "Adapt the probabilities to the shares of the labels in SOURCE, as `nbtext prevalence` estimates them. "
        "It assumes that only these shares differ from those in training. SOURCE is read twice.",
    )

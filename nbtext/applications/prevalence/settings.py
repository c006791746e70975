"""The settings of `nbtext prevalence`."""

from __future__ import annotations

from nbtext.cli import options
from nbtext.documents.settings import InputSettings
from nbtext.records import Strings, frozen
from nbtext.settings import setting


@frozen(kw_only=True)
class PrevalenceSettings:
    """The settings of `nbtext prevalence`."""

    sources: Strings = options.sources()
    model: str = options.model_file()
    group_field: str | None = setting(
        None,
        "Column, JSON key or mail header of a group, such as the author. Each group has its own shares: a row for "
        "each group and label. NAME:month groups by the month of a date, and so do :day and :year.",
        metavar="NAME",
    )
    result: options.ResultSettings = options.result()
    input: InputSettings = options.unlabeled_input()
    run: options.RunSettings = options.run()

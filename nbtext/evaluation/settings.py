"""Settings of cross-validation, learning curves and model search."""

from __future__ import annotations

from dataclasses import replace

from nbtext.bayes.settings import ModelSettings
from nbtext.documents.settings import InputSettings, Split
from nbtext.errors import SettingsError
from nbtext.records import Strings, frozen
from nbtext.settings import Excludes, Settings, list_settings, setting

TIME_STEPS = 10  # of a time-series split, if --folds does not say
SHOWN = 4  # decimals of micro F1 in the table of a model search
GIVEN = "given"  # the name of a feature set, or a weighting, that the user of a model search chose
# Size of the sample of a search, in bytes or files, on which a search takes 0.5 GB of memory
# (IMDB). Each corpus that exceeds MAX_SIZES is sampled, because memory grows with what is searched.
SAMPLE_SIZES = {"bytes": 1 << 25, "files": 1 << 14}
MAX_SIZES = {"bytes": 1 << 28, "files": 1 << 17}


@frozen(kw_only=True)
class FoldSettings(Settings):
    """How documents are split for cross-validation."""

    TITLE = "Cross-validation"
    RULES = (
        Excludes("order_field", "group_field"),
        Excludes("seed", "order_field", because="the folds follow the time"),
    )

    folds: int | None = setting(
        None,
        "Cross-validate on SOURCE with N folds, instead of using a model.",
        low=2,
        metavar="N",
        wanted="2 or more; 10 is usual",
    )
    group_field: str | None = setting(
        None,
        "Column, JSON key or mail header of a group, such as the author. A group stays in one fold. NAME:month "
        "groups by the month of a date, and so do :day and :year.",
        metavar="NAME",
    )
    order_field: str | None = setting(
        None,
        "Split SOURCE by time, and predict each part with a model trained on all earlier parts. NAME is the "
        "column, JSON key or mail header of the time: a number, or a date such as 2024-12-31. --folds is the number of parts that "
        "are predicted, 10 by default; one more part, the earliest, is used for training only.",
        metavar="NAME",
    )
    seed: int = setting(
        1, "Seed of the random assignment of documents to folds.", low=0, metavar="N"
    )

    def check_values(self) -> None:
        if self.split_field == "":
            raise SettingsError("the name of the field is empty", where=self.split_option)

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
        return "group_field" if self.group_field is not None else "order_field"

    def add_split(self, settings: InputSettings) -> InputSettings:
        """Return the input settings with the field that holds the groups or timestamps."""
        if self.order_field is None:
            return settings.group_by(self.group_field)
        return replace(settings, split=Split(self.order_field, self.split_option, is_by_time=True))


def models_to_compare() -> Strings:
    """Return the names of models that `compare --models` accepts."""
    return next(
        found.choices for field, found in list_settings(ModelSettings) if field.name == "model"
    )

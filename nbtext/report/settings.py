"""Which columns `predict --add-columns` adds to the rows of a source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from nbtext.documents.formats import WRITABLE_NAMES
from nbtext.errors import SettingsError, require_label
from nbtext.records import Strings, frozen
from nbtext.report.records import field_text, format_json
from nbtext.settings import Needs, Settings, parse_names, setting

NAME_HINT = "name the column: --score LABEL=NAME"
COLUMNS = ("label", "probability")
# of a model that predicts several labels for a document
SEVERAL_COLUMNS = ("labels", "probabilities")


@frozen
class PredictionField:
    """A field of a prediction.

    kind        the kind of its values; see `rows.Column`
    cell        returns a value, or an item of a list, as text
    is_list     whether its values are lists, whose items are divided by a separator in a text
    is_several  whether only predictions of several labels have it; False: only those of one label;
                None: all
    """

    kind: str
    cell: Callable[[Any], str]
    is_list: bool = False
    is_several: bool | None = None


LABEL_LIST = PredictionField("labels", str, is_list=True)
FIELDS = {
    "label": PredictionField("text", field_text, is_several=False),
    "probability": PredictionField("number", field_text, is_several=False),
    "labels": replace(LABEL_LIST, is_several=True),
    "probabilities": PredictionField("numbers", field_text, is_list=True, is_several=True),
    "known": PredictionField("number", field_text),
    "outlier": PredictionField(
        "boolean", lambda value: "" if value is None else str(value).lower()
    ),
    "typicality": PredictionField(
        "number", lambda value: "" if value is None else f"{value:g}", is_several=False
    ),
    "reason": PredictionField("text", field_text),
}
SCORES = PredictionField("scores", format_json)
EXPLANATION = PredictionField("contributions", format_json)


@frozen(kw_only=True)
class ColumnSettings(Settings):
    """Which columns are added to the rows of a source.

    score    labels, each with the name of the column of its probability, `LABEL` or `LABEL=NAME`
    columns  names of fields of a prediction
    table    the name of the new table, if the rows are those of a database; None: the default name
    """

    TITLE = "Columns"
    RULES = tuple(Needs(name, "add_columns") for name in ("column_prefix", "table", "columns"))

    add_columns: bool = setting(
        False,
        "Write the rows of SOURCE as they are, in its format or in that of --to, with predictions as further columns. SOURCE is "
        f"{', '.join(WRITABLE_NAMES[:-1])} or {WRITABLE_NAMES[-1]}.",
    )
    score: Strings = setting(
        (),
        "Add the probability of LABEL to each record, as a column or key NAME; may be repeated.",
        metavar="LABEL[=NAME]",
        default_help="NAME is LABEL",
        is_repeated=True,
    )
    columns: Strings = setting(
        COLUMNS,
        f"Columns to add: any of {', '.join(FIELDS)}. known is the share of the tokens that are in the "
        "vocabulary. typicality, from 0 to 1, is the share of training documents whose words are at most as probable "
        "(a conformal p-value). outlier is true if the words are less probable than those of 99 % of the training "
        "documents. reason tells why a document has no label. labels and probabilities are lists, only for multi-label "
        "models.",
        parse=parse_names,
        metavar="NAME,…",
    )
    column_prefix: str = setting(
        "", "Beginning of the names of added columns, such as predicted_.", metavar="TEXT"
    )
    table: str | None = setting(
        None,
        "Name of the new table, if SOURCE is a database. -o is a new or existing SQLite file.",
        metavar="NAME",
        default_help="predictions",
    )

    def check_values(self) -> None:
        if self.table == "":
            raise SettingsError(
                "the name of the table is empty",
                where="table",
                hint="name it, or leave out --table",
            )
        hint = f"choose from {', '.join(FIELDS)}"
        for name in self.columns:
            if name not in FIELDS:
                raise SettingsError(f"unknown column {name!r}", where="columns", hint=hint)
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise SettingsError("name each column once", where="columns", hint=hint)

    def find_scores(self, labels: Sequence[str]) -> dict[str, int]:
        """Return the number of the label of each column of `score`, by the name of the column.

        Raises
        ------
        SettingsError
            A label is not one of these, or two columns have one name.
        """
        found: dict[str, int] = {}
        for text in self.score:
            fitting = [label for label in labels if f"{text}=".startswith(f"{label}=")]
            if not fitting:
                require_label(text.partition("=")[0], labels, "score")
            label = max(fitting, key=len)
            name = text.removeprefix(label).removeprefix("=") or label
            if name in found:
                raise SettingsError(
                    f"two columns have the name {name}", where="score", hint=NAME_HINT
                )
            found[name] = labels.index(label)
        return found

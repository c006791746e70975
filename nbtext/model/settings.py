"""The settings of decisions, and of inspection."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from nbtext.documents.settings import read_small_file
from nbtext.errors import InputError, SettingsError, list_some, require_label
from nbtext.records import frozen
from nbtext.settings import Excludes, Settings, parse_label_share, setting

COST_COLUMNS = 3
COST_HINT = "each line has a true label, a predicted label and a cost, separated by commas, semicolons or tabs"
MAX_TOP = 1000  # each is two columns of a table
DEFAULT_ERROR_COST = 1.0  # of a wrong label, or of no label, that the file does not list


@frozen
class Costs:
    """The costs of pairs of a true and a predicted label. A pair that is not listed costs 0 if
    correct, else 1.

    The predicted label "" means that the model abstains.
    """

    path: str
    pairs: dict[tuple[str, str], float]
    places: dict[tuple[str, str], str]  # of the lines, for errors

    def of(self, true: str, predicted: str | None) -> float:
        """Return the cost of a prediction; None stands for no label."""
        usual = DEFAULT_ERROR_COST * (true != predicted)
        return self.pairs.get((true, predicted or ""), usual)

    def check(self, labels: Collection[str]) -> None:
        """Raise InputError if a label of the file is not among these labels."""
        known = set(labels)
        for (true, predicted), where in self.places.items():
            for label in (true, predicted or true):
                if label not in known:
                    raise InputError(
                        f"the model has no label {label!r}",
                        where=where,
                        hint=f"its labels are {list_some(sorted(known))}",
                    )


def read_costs(path: str) -> Costs:
    """Return the costs in a CSV or TSV file, with or without a header, which has no digit in its
    last column.

    raises  InputError: the file cannot be read, or a line (which is named) holds no cost
    """
    from nbtext.documents.tables import separator_of

    text = read_small_file(path)
    first = next(filter(str.strip, text.splitlines()), "")
    separator = separator_of(first, frozenset(), COST_COLUMNS)
    pairs: dict[tuple[str, str], float] = {}
    places: dict[tuple[str, str], str] = {}
    is_first = True
    for where, columns in read_cells(text, path, separator=separator, hint=COST_HINT):
        if len(columns) != COST_COLUMNS:
            raise InputError(
                f"expected {COST_COLUMNS} columns, found {len(columns)}",
                where=where,
                hint=COST_HINT,
            )
        true, predicted, cost = columns
        number = _number(cost)
        is_header = is_first and number is None and cost and not any(map(str.isdigit, cost))
        is_first = False
        if is_header:
            continue
        if number is None or not math.isfinite(number):
            raise InputError(f"{cost!r} is not a cost", where=where, hint=COST_HINT)
        if not true:
            raise InputError("the true label is empty", where=where, hint=COST_HINT)
        if (true, predicted) in pairs:
            raise InputError(
                f"the cost of {true} predicted as {predicted} is given twice",
                where=where,
                hint="keep one of the lines",
            )
        pairs[true, predicted] = number
        places[true, predicted] = where
    if not pairs:
        raise InputError("the file has no cost", where=path, hint=COST_HINT)
    return Costs(path, pairs, places)


def read_cells(
    text: str, path: str, *, separator: str, hint: str
) -> Iterator[tuple[str, list[str]]]:
    """Yield the place and the cells of each line of CSV that is not blank, without white space at
    their ends.
    """
    import csv
    import io

    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield f"{path}:{rows.line_num}", cells
    except csv.Error as error:
        raise InputError(
            f"is not valid CSV: {error}", where=f"{path}:{rows.line_num}", hint=hint
        ) from None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _parse_threshold(text: str) -> tuple[str, float]:
    """Return the threshold of a label, or of all labels, whose name is ""."""
    number = _number(text)
    return parse_label_share(text) if number is None else ("", number)


@frozen(kw_only=True)
class DecisionSettings(Settings):
    """How probabilities become decisions.

    min_probability  the model abstains below it; None: it never abstains
    min_known        the model abstains if a smaller share of a document's tokens is known
    coverage         probability that a prediction set holds the true label; None: no sets
    cost             the costs of errors, which the labels minimize; None: all errors cost the same
    threshold        labels and minimum probabilities at which they are predicted; "" stands for all
                     labels of a multi-label model
    explain          number of features that explain each prediction; None: no explanation
    top_k            number of most probable labels that are reported; None: see the output format
    at_least_one     whether a multi-label model predicts the most probable one if none reaches its
                     threshold
    """

    TITLE = "Predictions"
    RULES = (Excludes("threshold", "cost", because="both decide on the label"),)

    min_probability: float | None = setting(
        None, "Predict no label if its probability is below P.", low=0, high=1, metavar="P"
    )
    min_known: float | None = setting(
        None,
        "Predict no label if the model knows less than this share of the document's tokens; of a document "
        "without tokens it is 0. Without the option, a document without known words gets the label of an empty document.",
        low=0,
        high=1,
        metavar="SHARE",
    )
    coverage: float | None = setting(
        None,
        "Add the smallest set of labels that contains the true label with probability P, such as 0.95 "
        "(conformal prediction). A document with an empty set gets no label. For a multi-label model, the sets "
        "contain a share P of the true labels.",
        metavar="P",
    )
    cost: Costs | None = setting(
        None,
        "Predict the label with the lowest expected cost. The columns of FILE are true label, predicted label "
        "and cost. Other pairs cost 0 if the labels are equal, else 1.",
        file="input",
        parse=read_costs,
    )
    threshold: tuple[tuple[str, float], ...] = setting(
        (),
        "Predict LABEL if its probability is at least P, otherwise the most probable other label; may be "
        "repeated. Of several labels that reach their thresholds, the most probable one is predicted. A multi-label "
        "model predicts every label that reaches its threshold; there, P alone is the threshold for all labels, and "
        "the default is the thresholds of the model.",
        parse=_parse_threshold,
        metavar="[LABEL=]P",
        is_repeated=True,
    )
    at_least_one: bool = setting(
        False,
        "Predict the most probable label if no label reaches its threshold. Only with a multi-label model.",
    )
    top_k: int | None = setting(
        None,
        "Add the K most probable labels with their probabilities. In jsonl and json, `scores` holds only these.",
        low=1,
        high=MAX_TOP,
        metavar="K",
    )
    explain: int | None = setting(
        None,
        "Add the N features with the largest contributions to each record. Needs --to jsonl or json.",
        low=1,
        metavar="N",
    )

    def check_values(self) -> None:
        for name, minimum in self.threshold:
            if not 0 <= minimum <= 1:
                shown = f"{name}={minimum:g}".removeprefix("=")
                raise SettingsError(
                    f"{shown} is not a probability",
                    where="threshold",
                    hint="give a number from 0 to 1",
                )
        if len(dict(self.threshold)) < len(self.threshold):
            raise SettingsError(
                "a label has two thresholds", where="threshold", hint="keep one of them"
            )
        if self.label_thresholds and self.coverage is not None:
            raise SettingsError(
                "cannot be combined with ‹coverage›, because both decide on the label",
                where="threshold",
                hint="leave out one of them",
            )
        if self.coverage is not None and not 0 < self.coverage < 1:
            raise SettingsError(
                f"{self.coverage:g} is not above 0 and below 1",
                where="coverage",
                hint="0.95 means that 19 of 20 prediction sets contain the true label",
            )

    @property
    def label_thresholds(self) -> dict[str, float]:
        """The thresholds of single labels."""
        return {label: minimum for label, minimum in self.threshold if label}

    @property
    def common_threshold(self) -> float | None:
        """The threshold of all other labels of a multi-label model; None: its own."""
        return dict(self.threshold).get("")

    @property
    def replaces_label(self) -> bool:
        """Whether costs or thresholds choose the label, instead of the decision offsets of the
        model.
        """
        return self.cost is not None or bool(self.label_thresholds)

    @property
    def of_some_tasks(self) -> list[str]:
        """The settings that are given, of those that only some tasks take."""
        is_given = {
            "threshold": self.common_threshold is not None,
            "at_least_one": self.at_least_one,
            "min_probability": self.min_probability is not None,
            "cost": self.cost is not None,
        }
        return [name for name in is_given if is_given[name]]

    def check_labels(self, labels: Sequence[str]) -> None:
        """Raise InputError or SettingsError if a label of the costs or thresholds is not among
        these.
        """
        if self.cost is not None:
            self.cost.check(labels)
        for label in self.label_thresholds:
            require_label(label, labels, "threshold")


class Criterion(NamedTuple):
    """A criterion by which `inspect` ranks the features of a label.

    title  for people
    field  of the FeatureView that is shown beside a feature
    form   format of the value
    """

    title: str
    field: str
    form: str

    def format(self, feature: object) -> str:
        """Return the value of a FeatureView as text."""
        return format(getattr(feature, self.field), self.form)


CRITERIA = {
    "log-odds": Criterion("log-odds", "log_odds", "+.2f"),
    "z": Criterion("z-score", "z", "+.1f"),
    "mi": Criterion("mutual information", "mutual_information", ".4f"),
    "chi2": Criterion("chi-squared", "chi_squared", ",.0f"),
    "frequency": Criterion("frequency", "occurrences", ",.6g"),
}

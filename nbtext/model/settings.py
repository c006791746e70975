"""The settings of decisions, of training on unlabeled documents, of exponential decay, and of reviews."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from nbtext.errors import InputError, SettingsError
from nbtext.records import dataclass

COST_COLUMNS = 3
COST_HINT = "each line has a true label, a predicted label and a cost, separated by commas, semicolons or tabs"
MAX_TOP = 1000  # each is two columns of a table
FINDINGS = (  # of a review, in the order in which equally certain ones are listed
    "label_error", "conflicting_duplicates", "duplicate", "near_duplicate", "leak", "outlier", "not_text",
)  # fmt: skip
LARGEST_FALL = 0.03  # of the agreement with hidden keywords, without a warning
DEFAULT_ERROR_COST = 1.0  # of a wrong label, or of no label, that the file does not list


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of pairs of a true and a predicted label. A pair that is not listed costs 0 if correct, else 1.

    The predicted label "" means that the model abstains.
    """

    path: str
    pairs: dict[tuple[str, str], float]
    lines: dict[tuple[str, str], int]

    @property
    def has_abstention(self) -> bool:
        """Whether the file lists a cost of abstaining."""
        return any(predicted == "" for _, predicted in self.pairs)

    def of(self, true: str, predicted: str | None) -> float:
        """Return the cost of a prediction; None stands for no label."""
        listed = self.pairs.get((true, predicted or ""))
        return listed if listed is not None else DEFAULT_ERROR_COST * (true != predicted)

    def check(self, labels: Iterable[str]) -> None:
        """Raise InputError if a label of the file is not among these labels."""
        known = set(labels)
        for (true, predicted), line in self.lines.items():
            for label in (true, predicted or true):
                if label not in known:
                    raise InputError(
                        f"the model has no label {label!r}",
                        where=f"{self.path}:{line}",
                        hint=f"its labels are {_list_labels(known)}",
                    )


def read_costs(path: str) -> Costs:
    """Return the costs in a CSV or TSV file, with or without a header.

    raises  InputError: the file cannot be read, or a line (which is named) holds no cost
    """
    pairs: dict[tuple[str, str], float] = {}
    lines: dict[tuple[str, str], int] = {}
    for line, columns in _rows(path):
        where = f"{path}:{line}"
        if len(columns) != COST_COLUMNS:
            raise InputError(f"expected {COST_COLUMNS} columns, found {len(columns)}", where=where, hint=COST_HINT)
        true, predicted, cost = columns
        if line == 1 and _number(cost) is None:
            continue  # the header
        number = _number(cost)
        if number is None or not math.isfinite(number):
            raise InputError(f"{cost!r} is not a cost", where=where, hint=COST_HINT)
        if not true:
            raise InputError("the true label is empty", where=where, hint=COST_HINT)
        if (true, predicted) in pairs:
            raise InputError(
                f"the cost of {true} predicted as {predicted} is given twice", where=where, hint="keep one of the lines"
            )
        pairs[true, predicted], lines[true, predicted] = number, line
    if not pairs:
        raise InputError("the file has no cost", where=path, hint=COST_HINT)
    return Costs(path, pairs, lines)


def _rows(path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the columns of each line that is not blank."""
    import csv

    from nbtext.documents.delimited import separator_of

    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            first = next(filter(str.strip, file), "")
            file.seek(0)
            rows = csv.reader(file, delimiter=separator_of(first, frozenset(), COST_COLUMNS), strict=True)
            for columns in rows:
                if any(map(str.strip, columns)):
                    yield rows.line_num, [column.strip() for column in columns]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=path, hint="check the path") from None
    except UnicodeDecodeError as error:
        what = f"cannot be read as UTF-8 text (invalid byte 0x{error.object[error.start]:02x} at byte {error.start})"
        raise InputError(what, where=path, hint=COST_HINT) from None
    except (csv.Error, ValueError) as error:
        raise InputError(f"is not a valid cost file ({error})", where=path, hint=COST_HINT) from None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _list_labels(labels: set[str]) -> str:
    shown = sorted(labels)[:10]
    return ", ".join(shown) + (" and others" if len(labels) > len(shown) else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSettings:
    """How probabilities become decisions.

    min_probability  the model abstains below it, from 0 to 1; None: it never abstains
    coverage         probability that a prediction set holds the true label, between 0 and 1; None: no sets
    cost             the costs of errors, which the labels minimize; None: all errors cost the same
    threshold        labels with the minimum probability at which each is predicted, from 0 to 1
    explain          number of features that explain each prediction; None: no explanation
    top_k            number of most probable labels that are reported; None: see the output format
    label_threshold  probability from which a multi-label model predicts each; None or "auto": its own thresholds
    at_least_one     whether a multi-label model predicts the most probable one if none reaches its threshold
    """

    min_probability: float | None = None
    coverage: float | None = None
    cost: Costs | None = None
    threshold: tuple[tuple[str, float], ...] = ()
    explain: int | None = None
    top_k: int | None = None
    label_threshold: float | Literal["auto"] | None = None
    at_least_one: bool = False

    def __post_init__(self) -> None:
        self._check_thresholds()
        if self.top_k is not None and not 1 <= self.top_k <= MAX_TOP:
            hint = "3 reports the three most probable labels"
            raise SettingsError(f"{self.top_k} is not between 1 and {MAX_TOP:,}", where="top_k", hint=hint)
        if self.explain is not None and self.explain < 1:
            raise SettingsError(f"{self.explain} is less than 1", where="explain", hint="5 is usual")
        if self.min_probability is not None and not 0 <= self.min_probability <= 1:
            raise SettingsError(
                f"{self.min_probability:g} is not a probability",
                where="min_probability",
                hint="give a number from 0 to 1",
            )
        if isinstance(self.label_threshold, int | float) and not 0 <= self.label_threshold <= 1:
            what, hint = f"{self.label_threshold:g} is not a probability", "give a number from 0 to 1, or auto"
            raise SettingsError(what, where="threshold", hint=hint)
        if self.coverage is not None and not 0 < self.coverage < 1:
            hint = "0.95 means that 19 of 20 prediction sets contain the true label"
            raise SettingsError(f"{self.coverage:g} is not above 0 and below 1", where="coverage", hint=hint)

    def _check_thresholds(self) -> None:
        for label, minimum in self.threshold:
            if not 0 <= minimum <= 1:
                hint = "give a number from 0 to 1"
                raise SettingsError(f"{label}={minimum:g} is not a probability", where="threshold", hint=hint)
        if len(dict(self.threshold)) < len(self.threshold):
            raise SettingsError("a label has two thresholds", where="threshold", hint="keep one of them")
        for name, other in (("cost", self.cost), ("coverage", self.coverage)):
            if self.threshold and other is not None:
                what = f"cannot be combined with --{name}, because both decide on the label"
                raise SettingsError(what, where="threshold", hint="leave out one of them")

    @property
    def replaces_label(self) -> bool:
        """Whether costs or thresholds choose the label, instead of the decision offsets of the model."""
        return self.cost is not None or bool(self.threshold)

    def check(self, labels: Iterable[str]) -> None:
        """Raise InputError or SettingsError if a label of the costs or thresholds is not among these labels."""
        known = set(labels)
        if self.cost is not None:
            self.cost.check(known)
        for label, _ in self.threshold:
            if label not in known:
                hint = f"its labels are {_list_labels(known)}"
                raise SettingsError(f"the model has no label {label!r}", where="threshold", hint=hint)


def check_decisions(decisions: DecisionSettings, labels: Iterable[str], *, is_multilabel: bool) -> None:
    """Raise InputError or SettingsError if the decisions do not fit a model with these labels.

    is_multilabel  whether the model predicts several labels for a document
    """
    one, several = ("min_probability", "cost"), ("label_threshold", "at_least_one")
    for name in one if is_multilabel else several:
        if getattr(decisions, name) in (None, False):
            continue
        if is_multilabel:
            what, hint = "cannot be used with a multi-label model", "use --threshold, --at-least-one or --coverage"
            raise SettingsError(what, where=name, hint=hint)
        what, hint = "cannot be used with a single-label model", "use --threshold LABEL=P or --min-probability"
        raise SettingsError(what, where="threshold" if name == "label_threshold" else name, hint=hint)
    decisions.check(labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlabeledSettings:
    """How a model is trained on unlabeled documents.

    em         maximum number of steps of expectation-maximization; None: it is not used
    marginals  whether to use feature marginals
    """

    em: int | None = None
    marginals: bool = False

    def __post_init__(self) -> None:
        if self.em is not None and self.em < 1:
            raise SettingsError(f"{self.em} is less than 1", where="em", hint="10 is usual")
        if self.em is not None and self.marginals:
            raise SettingsError("cannot be combined with --em", where="marginals", hint="leave out one of them")

    @property
    def method(self) -> str | None:
        """The field that selects the method, `em` or `marginals`; None: no method."""
        return "marginals" if self.marginals else "em" if self.em is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecaySettings:
    """Exponential decay of the weights of older documents. The clock is never read.

    half_life  time in which the weight of a document halves, > 0
    elapsed    time since the last update, >= 0, in the same unit
    """

    half_life: float | None = None
    elapsed: float | None = None

    def __post_init__(self) -> None:
        for name, value, bound in (
            ("half_life", self.half_life, "above 0"),
            ("elapsed", self.elapsed, "0 or more"),
        ):
            if value is not None and not (0 <= value < math.inf and (value > 0 or name == "elapsed")):
                raise SettingsError(f"{value:g} is not {bound}", where=name, hint="write 30d, 12h or 4w")
        if (self.half_life is None) != (self.elapsed is None):
            missing, given = ("--elapsed", "half_life") if self.elapsed is None else ("--half-life", "elapsed")
            hint = "give both, for example --half-life 30d --elapsed 7d"
            raise SettingsError(f"is used only with {missing}", where=given, hint=hint)

    @property
    def factor(self) -> float:
        """The factor by which the weights of older documents are multiplied: 2^(−elapsed / half_life)."""
        if self.half_life is None or self.elapsed is None:
            return 1.0
        return float(2.0 ** (-self.elapsed / self.half_life))


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

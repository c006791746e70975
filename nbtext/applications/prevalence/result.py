"""The shares of labels as a result, and doubts about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nbtext.applications.prevalence.drift import MAX_DRIFT, MIN_DRIFT
from nbtext.applications.prevalence.shares import SHARE_LEVEL
from nbtext.bayes.prevalence import Prevalence
from nbtext.errors import format_number, list_some, number_of, printable
from nbtext.model.tasks import TaskKind
from nbtext.report.result import Result
from nbtext.report.terminal import Screen, new_table

if TYPE_CHECKING:
    from rich.console import RenderableType


PREVALENCE_COLUMNS = str.split("label share low high documents predicted predicted_share")


def prevalence_result(groups: Mapping[str, Prevalence], *, is_grouped: bool) -> Result[list[Any]]:
    """Return the shares of groups by name as a result; without groups there is one, without a
    name.
    """
    start = 0 if is_grouped else 1
    columns = ("group", *PREVALENCE_COLUMNS)[start:]
    headers = ("group", "label", "share", f"{SHARE_LEVEL:.0%} interval", "documents", "predicted")
    found = [(name, *row)[start:] for name, each in groups.items() for row in _rows(each)]

    def document(_: list[Any]) -> dict[str, Any]:
        nested = [
            ({"group": name} if is_grouped else {})
            | {"documents": each.n_documents}
            | ({} if each.drift is None else {"drift": each.drift, "shift": each.shift})
            | {"labels": [dict(zip(PREVALENCE_COLUMNS, row, strict=True)) for row in _rows(each)]}
            for name, each in groups.items()
        ]
        return {"groups": nested} if is_grouped else nested[0]

    def layout(rows: list[Any], screen: Screen) -> list[RenderableType]:
        table = new_table(*headers[start:])
        for *names, share, low, high, documents, predicted, naive in rows:
            interval = f"{low:.4f} … {high:.4f}"
            counted = f"{format_number(predicted)} ({naive:.4f})"
            table.add_row(
                *map(printable, names), f"{share:.4f}", interval, f"{documents:,.0f}", counted
            )
        n_documents = sum(each.n_documents for each in groups.values())
        return [
            f"{number_of(n_documents, 'document')}; predicted: counted labels, errors included",
            table,
        ]

    def records(rows: list[Any]) -> Iterator[dict[str, Any]]:
        return (dict(zip(columns, row, strict=True)) for row in rows)

    return Result([found], columns, list, document, layout, records=records)


def _rows(found: Prevalence) -> list[tuple[Any, ...]]:
    """Return the values of PREVALENCE_COLUMNS for each label."""
    figures = (
        *found.estimate,
        found.estimate.shares * found.n_documents,
        found.predicted,
        found.naive_shares,
    )
    return list(zip(found.labels, *(each.tolist() for each in figures), strict=True))


def describe_doubts(groups: Mapping[str, Prevalence], kind: TaskKind) -> Iterator[str]:
    """Yield a line for what makes estimates uncertain: what is not compared, labels that are not
    measured, and words and certainties that have changed.
    """
    doubt = "the errors of these labels are not known, and assumed to be 0"
    if not kind.has_one_label:
        doubt = "these labels have too few training documents, and any share is possible"
        yield (
            "the intervals hold if the documents of each label are like those in training; with several labels, "
            "changed words are not found"
        )
    if unmeasured := next(iter(groups.values())).unmeasured:
        yield f"{doubt}: {list_some(unmeasured, 5)}"
    for name, each in groups.items():
        where = f"group {name}: " if name else ""
        if each.shift:
            change = "more" if each.shift > 0 else "less"
            yield (
                f"{where}the predictions are {change} certain than in training, whatever the shares of the labels are "
                f"({abs(each.shift):.1f} standard deviations): documents of a label have changed; the intervals allow "
                "for it as far as it shows"
            )
        if each.drift is None or each.drift < MIN_DRIFT:
            continue
        words = f" (most: {', '.join(each.drifted)})" if each.drifted else ""
        result = "any share is possible"
        if each.drift <= MAX_DRIFT:
            result = (
                "the intervals allow for as many errors as the probabilities say, and for the effect of these words, "
                "not for other changes"
            )
        yield (
            f"{where}{each.drift:.1%} of the words differ from those of training, whatever the shares of the "
            f"labels are{words}, so the shares are those of the predictions, not corrected; {result}"
        )

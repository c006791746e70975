"""The differences between two models, as a result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from nbtext.applications.diff.difference import ModelDifference
from nbtext.errors import printable
from nbtext.report.records import field_text
from nbtext.report.result import Result
from nbtext.report.terminal import Screen, new_table, show_features

if TYPE_CHECKING:
    from rich.console import RenderableType


def difference_result(changes: Iterable[ModelDifference]) -> Result[Sequence[ModelDifference]]:
    """Return the differences between two models as a result."""
    return Result([[*changes]], ModelDifference._fields, iter, layout=_table)


def _table(changes: Sequence[ModelDifference], _: Screen) -> Iterator[RenderableType]:
    names = show_features([change.name for change in changes])
    rows = (
        (change.what, printable(change.label), name, *map(printable, map(field_text, change[3:])))
        for change, name in zip(changes, names, strict=True)
    )
    yield new_table(*ModelDifference._fields, rows=rows, texts=(0, 1, 2))

"""How far a command has come: a bar with rate and time left, on standard error, where a person looks at it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

Item = TypeVar("Item")


@contextmanager
def progress(total: int | None, *, unit: str, is_wanted: bool) -> Iterator[Callable[[int], None]]:
    """A callback that moves the bar on by so many of `total`; it does nothing where no terminal shows it.

    unit  `bytes`, or what is counted
    """
    if not is_wanted or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda amount: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(*_columns(unit), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=total)
        yield lambda amount: bar.advance(task, amount)


def track_progress(items: Iterable[Item], total: int, *, unit: str, is_wanted: bool) -> Iterator[Item]:
    """Yield items, while a bar shows how many of `total` have been there."""
    with progress(total, unit=unit, is_wanted=is_wanted) as advance:
        for item in items:
            yield item
            advance(1)


def _columns(unit: str) -> list[ProgressColumn]:
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        ProgressColumn,
        Task,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """How many a second."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f} {unit}/s" if task.speed else f"? {unit}/s", "progress.data.speed")

    counted: list[ProgressColumn] = (
        [DownloadColumn(), TransferSpeedColumn()] if unit == "bytes" else [MofNCompleteColumn(), RateColumn()]
    )
    return [BarColumn(), *counted, TimeRemainingColumn()]

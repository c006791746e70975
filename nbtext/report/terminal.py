"""Output for a terminal: at its width, in colors if it has them, and without control characters."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from nbtext.records import dataclass

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import ProgressColumn
    from rich.table import Table


@dataclass(frozen=True, slots=True)
class Screen:
    """What a terminal can show.

    width      Characters.
    is_styled  It can show bold and underlined text.
    has_color  It can show colors, and they are wanted.
    """

    width: int = 80
    is_styled: bool = False
    has_color: bool = False


PLAIN = Screen()


def format_screen(parts: Iterable[RenderableType], screen: Screen) -> str:
    """Render the parts below each other, as lines of text."""
    from rich.console import Console

    target = io.StringIO()
    console = Console(
        file=target, width=screen.width, force_terminal=screen.is_styled, no_color=not screen.has_color,
        color_system="standard" if screen.has_color else None if not screen.is_styled else "standard",
        highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    for part in parts:
        console.print(part)
    lines = [line.rstrip() for line in target.getvalue().splitlines()]
    # tables have an empty line on each side; keep one between two of them
    kept = [line for line, before in zip(lines, ["", *lines], strict=False) if line or before]
    return "\n".join(kept).rstrip() + "\n"


def new_table(*headers: str) -> Table:
    """Make a table whose first column holds text and whose other columns hold numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(headers[0], overflow="ellipsis", no_wrap=True)
    for header in headers[1:]:
        table.add_column(header, justify="right", no_wrap=True, overflow="ellipsis")
    return table


Item = TypeVar("Item")


@contextmanager
def progress(total: int | None, *, unit: str, is_wanted: bool) -> Iterator[Callable[[int], None]]:
    """Yield a callback that advances the progress bar by an amount; it does nothing if no terminal shows the bar.

    Parameters
    ----------
    unit : str
        `bytes`, or what is counted.
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
    """Yield items, while a bar shows how many of `total` have been yielded."""
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
        """The number of items per second."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f} {unit}/s" if task.speed else f"? {unit}/s", "progress.data.speed")

    counted: list[ProgressColumn] = (
        [DownloadColumn(), TransferSpeedColumn()] if unit == "bytes" else [MofNCompleteColumn(), RateColumn()]
    )
    return [BarColumn(), *counted, TimeRemainingColumn()]

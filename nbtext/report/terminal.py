"""Output for a terminal: at its width, in colors if it has them, and without control characters."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from nbtext.errors import printable
from nbtext.records import frozen

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import ProgressColumn
    from rich.table import Table


@frozen
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
MIN_TEXT = 8  # characters of a text that are shown, however narrow the terminal is
UNBOUNDED = 1 << 20  # characters


def format_screen(parts: Iterable[RenderableType], screen: Screen) -> str:
    """Render the parts below each other, as lines of text. Only a table whose figures need more is
    wider than the screen.
    """
    from rich.console import Console
    from rich.table import Table

    target = io.StringIO()
    console = Console(
        file=target,
        width=screen.width,
        force_terminal=screen.is_styled,
        no_color=not screen.has_color,
        color_system="standard" if screen.is_styled or screen.has_color else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for part in parts:
        if isinstance(part, Table):
            console.width = max(screen.width, fit_columns(part, screen.width))
        console.print(part)
        console.width = screen.width
    lines = [line.rstrip() for line in target.getvalue().splitlines()]
    # tables have an empty line on each side; keep one between two of them
    kept = [line for line, before in zip(lines, ["", *lines], strict=False) if line or before]
    return "\n".join(kept).rstrip() + "\n"


def show_features(features: Sequence[str]) -> list[str]:
    """Return features as a screen shows them. If they are of characters, ␣ stands for a blank.

    They are of characters if one of them begins or ends with a blank, after the name of its field.
    """
    has_blanks = any(re.search("(?:^|^[^ ]*:) | $", feature) for feature in features)
    return [printable(feature).replace(" ", "␣" if has_blanks else " ") for feature in features]


def new_table(
    *headers: str,
    rows: Iterable[Iterable[RenderableType]] = (),
    texts: Collection[int] = (0,),
    wraps: Collection[int] = (),
) -> Table:
    """Make a table of figures, which are never cut, and of texts, which are cut if the screen is
    too narrow.

    texts  the numbers of the columns that hold texts
    wraps  the numbers of those that are wrapped instead
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, header in enumerate(headers):
        is_text = number in texts
        is_wrapped = number in wraps
        table.add_column(
            header,
            justify="left" if is_text or not number else "right",
            no_wrap=not is_wrapped,
            overflow="fold" if is_wrapped else "ellipsis" if is_text else "crop",
        )
    for row in rows:
        table.add_row(*row)
    return table


def fit_columns(table: Table, width: int) -> int:
    """Set the widths of the columns so that the table fits, if it can be, and return its width.

    The longest texts and names of columns are cut, or wrapped, to one length; figures and columns
    that are shorter keep theirs.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.measure import Measurement
    from rich.text import Text

    def length(cell: object) -> int:
        return max(map(cell_len, str(cell).split("\n")))

    columns = table.columns
    bodies = [max(map(length, column.cells), default=0) for column in columns]
    wanted = [
        max(body, length(column.header)) for body, column in zip(bodies, columns, strict=True)
    ]
    least = [
        body if column.overflow == "crop" else min(MIN_TEXT, size)
        for body, size, column in zip(bodies, wanted, columns, strict=True)
    ]
    console = Console(width=UNBOUNDED, markup=False, emoji=False)
    between = Measurement.get(console, console.options, table).maximum - sum(wanted)
    limit = width
    sizes = wanted
    while sum(sizes) + between > width and limit:
        limit -= 1
        sizes = [
            max(minimum, min(size, limit)) for minimum, size in zip(least, wanted, strict=True)
        ]
    for column, size in zip(columns, sizes, strict=True):
        column.width = size
        header = Text(str(column.header), style=column.header_style)
        header.truncate(size, overflow="ellipsis")
        column.header = header
    return sum(sizes) + between


Item = TypeVar("Item")


@contextmanager
def progress(total: int | None, *, unit: str, is_wanted: bool) -> Iterator[Callable[[int], None]]:
    """Yield a callback that advances the progress bar by an amount; it does nothing if no terminal
    shows the bar.

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


def track_progress(
    items: Iterable[Item], total: int, *, unit: str, is_wanted: bool
) -> Iterator[Item]:
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
            rate = f"{task.speed:,.0f}" if task.speed else "?"
            return Text(f"{rate} {unit}/s", "progress.data.speed")

    counted: list[ProgressColumn] = (
        [DownloadColumn(), TransferSpeedColumn()]
        if unit == "bytes"
        else [MofNCompleteColumn(), RateColumn()]
    )
    return [BarColumn(), *counted, TimeRemainingColumn()]

"""Output for a terminal: at its width, in colors if it has them, and without control characters."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from nbtext.errors import printable
from nbtext.records import frozen

if TYPE_CHECKING:
    from logging import LogRecord

    from rich.console import RenderableType
    from rich.progress import Progress, TaskID
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


PLAIN_SCREEN = Screen()
MIN_WIDTH = 8  # characters of a title, or of a line of a text, however narrow the terminal is
UNBOUNDED = 1 << 20  # characters
GAP = 3  # characters between two columns
EXCERPT = 110  # characters of a document in a list


def format_screen(parts: Iterable[RenderableType], screen: Screen) -> str:
    """Render the parts below each other, as lines of text. In a table that is too wide, texts are
    folded and titles are cut, and only one whose figures need more is wider than the screen.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.measure import Measurement
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
            wide = console.options.update(width=UNBOUNDED)
            is_too_wide = Measurement.get(console, wide, part).maximum > screen.width
            needed = 0
            for column in part.columns if is_too_wide else ():
                cells = [str(column.header)[:MIN_WIDTH], *map(str, column.cells)]
                size = max(cell_len(line) for cell in cells for line in cell.split("\n"))
                if column.no_wrap:  # figures
                    column.max_width = size
                column.min_width = size if column.no_wrap else min(size, MIN_WIDTH)
                needed += column.min_width + GAP
            console.width = max(screen.width, needed)
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


def name_features(parts: Sequence[Any]) -> list[str]:
    """Return the features of views or contributions as a screen shows them, and mark those that no
    training document has.
    """
    return [
        f"{name}{' (untrained)' * part.is_untrained}"
        for name, part in zip(show_features([part.feature for part in parts]), parts, strict=True)
    ]


def show_number(number: float | None, form: str) -> str:
    """Format a number, or a dash if it is unknown."""
    return "–" if number is None else format(number, form)


def shorten_text(text: str, *, is_cut: bool = False) -> str:
    """Return the beginning of a text, on one line; an ellipsis shows that it is cut, here or
    before.
    """
    line = printable(" ".join(text.split()))
    return line[:EXCERPT].rstrip() + "…" if line and (is_cut or len(line) > EXCERPT) else line


def new_table(
    *headers: str,
    rows: Iterable[Iterable[RenderableType]] = (),
    texts: Collection[int] = (0,),
) -> Table:
    """Make a table of figures, which are never folded, and of texts.

    texts  the numbers of the columns that hold texts
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, header in enumerate(headers):
        is_text = number in texts
        table.add_column(
            header,
            justify="left" if is_text or not number else "right",
            no_wrap=not is_text,
            overflow="fold" if is_text else "ellipsis",
        )
    for row in rows:
        table.add_row(*row)
    return table


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
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    console = Console(stderr=True)
    counted = [MofNCompleteColumn(), TextColumn(unit)]
    if unit == "bytes":
        counted = [DownloadColumn(), TransferSpeedColumn()]
    parts = (TextColumn("reading"), BarColumn(), *counted, TimeRemainingColumn())
    with ExitStack() as shown:
        bar = Progress(*parts, console=console, transient=True)
        task = shown.enter_context(bar).add_task("reading", total=total)
        is_read = False

        def advance(amount: int) -> None:
            nonlocal is_read
            bar.advance(task, amount)
            if bar.finished and not is_read:  # what follows has no known end
                is_read = True
                bar.stop()
                columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
                rest = Progress(*columns, console=console, transient=True)
                shown.enter_context(rest)
                shown.enter_context(_show_log(rest, rest.add_task("computing", total=None)))

        yield advance


@contextmanager
def _show_log(bar: Progress, task: TaskID) -> Iterator[None]:
    """Describe a task by the phases in the log of nbtext: each lies within the one before it, and
    ends when that one changes.
    """
    from logging import INFO, Handler, getLogger

    phases: dict[str, str] = {}  # by their kinds

    class Shown(Handler):
        def emit(self, record: LogRecord) -> None:
            while record.msg in phases:
                phases.popitem()
            phases[record.msg] = printable(record.getMessage())
            bar.update(task, description=", ".join(phases.values()), refresh=True)

    log = getLogger("nbtext")
    level = log.level
    handler = Shown()
    log.addHandler(handler)
    log.setLevel(INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def track_progress(
    items: Iterable[Item], total: int, *, unit: str, is_wanted: bool
) -> Iterator[Item]:
    """Yield items, while a bar shows how many of `total` have been yielded."""
    with progress(total, unit=unit, is_wanted=is_wanted) as advance:
        for item in items:
            yield item
            advance(1)

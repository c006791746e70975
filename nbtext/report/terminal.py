"""Output for a terminal: at its width, in colors if it has them, and without control characters."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


@dataclass(frozen=True, slots=True)
class Screen:
    """What a terminal can show.

    width      characters
    is_styled  it can show bold and underlined text
    has_color  it can show colors, and they are wanted
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

"""A confusion matrix that is small enough for a terminal: a shade for each cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from nbtext.errors import printable

if TYPE_CHECKING:
    from rich.text import Text

SHADES = ((0.6, "█"), (0.25, "▓"), (0.1, "▒"), (0.02, "░"))  # from which share of its row on
CELL = 2  # characters: as wide as high
WIDEST_LABEL = 28  # columns of the terminal, of which a Chinese character takes two
RIGHT, WRONG = "blue", "yellow"  # told apart by the color-blind


def fits(labels: Sequence[str], width: int) -> bool:
    """Whether a heat map of these labels fits a screen."""
    return _margin(labels) + CELL * len(labels) <= width


def heat_map(labels: Sequence[str], matrix: Sequence[Sequence[int]]) -> Iterator[Text]:
    """A line of cells for each true label, darker where more of its documents are; columns are numbered as the rows."""
    from rich.cells import set_cell_size
    from rich.text import Text

    margin = _margin(labels)
    yield Text(f"{'true, by row':<{margin}}predicted, by column")
    numbers = [f"{place % 100:>2}" for place in range(1, len(labels) + 1)]
    for digit in (0, 1):  # tens above units, so that numbers do not run into one another
        yield Text(" " * margin + "".join(f"{number[digit]:>{CELL}}" for number in numbers), "dim")
    for place, (label, row) in enumerate(zip(labels, matrix, strict=True)):
        line = Text(f"{set_cell_size(_short(label), margin - 4)} {(place + 1) % 100:>2} ")
        total = max(1, sum(row))
        for column, number in enumerate(row):
            line.append(_shade(number / total) * CELL, RIGHT if column == place else WRONG)
        yield line
    yield Text(", ".join(f"{shade} from {share:.0%}" for share, shade in reversed(SHADES)) + " of the row", "dim")


def _margin(labels: Sequence[str]) -> int:
    """What stands before the cells: the label, and its number."""
    from rich.cells import cell_len

    return max((cell_len(_short(label)) for label in labels), default=0) + 4


def _short(label: str) -> str:
    from rich.cells import cell_len, set_cell_size

    shown = printable(label)
    return shown if cell_len(shown) <= WIDEST_LABEL else set_cell_size(shown, WIDEST_LABEL - 1).rstrip() + "…"


def _shade(share: float) -> str:
    return next((shade for least, shade in SHADES if share >= least), "·" if share else " ")

"""The screen of a labeling session, as lines of text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbtext.errors import printable
from nbtext.model.explanation import Explanation
from nbtext.records import frozen
from nbtext.report.explanation import mark_texts, part_weights
from nbtext.report.terminal import Screen, format_screen

if TYPE_CHECKING:
    from rich.text import Text

    from nbtext.features.analyzer import Locator

MAX_CHARACTERS = 10_000  # of a text that are shown
# share of the largest weight of a window; with more, the beginning of a text is shown first
ENOUGH_WEIGHT = 0.5
MIN_TEXT_LINES = 3
MIN_HEIGHT = 8
MIN_WIDTH = 20
MAX_LABEL = 26  # characters of a label
HELP = """Enter      accept the prediction, or save the labels that are switched on
1 2 3 …    give this label; with several labels for a document, switch it on or off
n          type a label, new or not; Tab completes it
s          skip the document; it comes again when no other is left
u          undo the last skip or answer, also an answer of an earlier session
/          show only documents that contain some words; / Enter shows all again
↑ ↓ PgUp PgDn  scroll the text
q, Ctrl-C  quit; every answer is on the disk already"""


@frozen
class View:
    """What the screen shows.

    header      the first line
    text        the text, with its words marked
    weights     the weight of each character, for each part of the text
    prediction  what the model predicts
    choices     the key and the name of each label, and whether it is switched on
    status      the last line
    top         the first line of the text that is shown; None: the one where the words of large
                weight are
    """

    header: str
    text: tuple[Text, ...]
    weights: tuple[tuple[float, ...], ...]
    prediction: str
    choices: tuple[tuple[str, str, bool], ...]
    status: str
    top: int | None = None


@frozen
class Drawing:
    """The lines of a screen, at most its height.

    top      the first line of the text that is shown
    page     number of lines of the text that are shown
    """

    lines: tuple[str, ...]
    top: int
    page: int


def mark_document(
    texts: Sequence[str], explanations: Sequence[Explanation], locate: Locator
) -> tuple[tuple[Text, ...], tuple[tuple[float, ...], ...]]:
    """Return the texts of a document with the words marked that speak for and against its most
    probable label.

    Also the weight of each character. Long texts are cut.
    """
    room = MAX_CHARACTERS
    cut = []
    for text in texts:
        cut.append(text[:room])
        room -= len(cut[-1])
    weights = [[0.0] * len(text) for text in cut]
    if explanations and explanations[0].contributions:
        weights = part_weights(replace(explanations[0], texts=tuple(cut)), locate)
    return tuple(mark_texts(cut, weights)), tuple(tuple(marks) for marks in weights if marks)


def format_prediction(explanations: Sequence[Explanation]) -> str:
    """Return one line that says what the model predicts."""
    if not explanations:
        return "no prediction yet: the model has no document"
    first = explanations[0]
    if first.label is None:
        return f"no prediction: {printable(first.reason or '')}"
    if first.is_absence and len(explanations) > 1:
        shares = (f"{printable(each.label or '')} {each.probability:.0%}" for each in explanations)
        return f"prediction: {', '.join(shares)}"
    if first.against is None:
        return f"prediction: {printable(first.label)}, the only label so far"
    prediction = f"prediction: {printable(first.label)} {first.probability:.0%}"
    if first.other_probability is None or first.is_absence:
        return prediction
    return f"{prediction}, then {printable(first.against)} {first.other_probability:.0%}"


def draw(view: View, screen: Screen, height: int) -> Drawing:
    """Return the screen of a view, at the width and height of a terminal."""
    screen = replace(screen, width=max(screen.width, MIN_WIDTH))
    height = max(height, MIN_HEIGHT)
    header = _line(view.header, screen, "bold")
    bottom = [_line(view.prediction, screen, "bold"), _line(view.status, screen, "dim")]
    choices = _draw_choices(view.choices, screen, height - MIN_TEXT_LINES - len(bottom) - 2)
    page = height - len(bottom) - len(choices) - 2
    lines = [line for part in view.text for line in format_screen([part], screen).splitlines()]
    top = (
        view.top if view.top is not None else _find_large_weights(view.weights, screen.width, page)
    )
    top = max(0, min(top, len(lines) - page))
    shown = lines[top : top + page]
    hidden = ((top, "above"), (len(lines) - top - len(shown), "below"))
    parts = [f"{number} lines {place}" for number, place in hidden if number]
    rest = (f"── {', '.join(parts)} " if parts else "").ljust(screen.width, "─")[: screen.width]
    shown += [""] * (page - len(shown))
    return Drawing((header, *shown, _line(rest, screen, "dim"), *choices, *bottom), top, page)


def _find_large_weights(weights: Sequence[Sequence[float]], width: int, page: int) -> int:
    """Return about how many lines precede the words of large weight; 0 if the beginning has enough
    of them.
    """
    flat = np.abs([weight for marks in weights for weight in marks])
    size = width * page
    if len(flat) <= size:
        return 0
    sums = np.concatenate(([0.0], np.cumsum(flat)))
    starts = np.arange(0, len(flat) - size + width, width)
    found = sums[np.minimum(starts + size, len(flat))] - sums[starts]
    best = int(np.argmax(found))
    return 0 if found[0] >= ENOUGH_WEIGHT * found[best] else best


def _draw_choices(
    choices: Sequence[tuple[str, str, bool]], screen: Screen, max_lines: int
) -> list[str]:
    """Return the keys of the labels in columns, as many as there is space for."""
    from rich.text import Text

    if not choices:
        return [_line("no label yet: press n and type one", screen, "")]
    labels = [Text(printable(name), "reverse" if is_on else "") for _, name, is_on in choices]
    size = min(max(label.cell_len for label in labels), MAX_LABEL, screen.width - 4)
    cells = []
    for (key, _, _), label in zip(choices, labels, strict=True):
        label.truncate(size, overflow="ellipsis", pad=True)
        cells.append(Text.assemble((f"{key} ", "bold cyan"), label, "  "))
    n_columns = max(1, screen.width // (size + 4))
    n_lines = min(-(-len(cells) // n_columns), max(1, max_lines))
    shown = n_lines * n_columns
    rows = [Text(no_wrap=True).join(cells[start:shown:n_lines]) for start in range(n_lines)]
    lines = [format_screen([row], screen).rstrip("\n") for row in rows]
    if shown < len(cells):
        n_more = len(cells) - shown + n_columns
        lines[-1] = _line(f"… and {n_more} more labels: press n and type one", screen, "dim")
    return lines


def _line(text: str, screen: Screen, style: str) -> str:
    """Return one line without control characters, cut at the width."""
    from rich.text import Text

    shown = Text(printable(text), style, no_wrap=True, overflow="ellipsis")
    shown.truncate(screen.width, overflow="ellipsis")
    return format_screen([shown], screen).rstrip("\n")

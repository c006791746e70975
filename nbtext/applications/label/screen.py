"""The terminal of a labeling session: keys change the session, and the screen shows it."""

from __future__ import annotations

import os
import re
import shutil
import string
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from nbtext.errors import NbtextError, number_of, printable
from nbtext.features.analyzer import Locator
from nbtext.interrupts import interrupts_raise
from nbtext.model.explanation import Explanation
from nbtext.report.explanation import mark_texts, part_weights
from nbtext.report.terminal import Screen, format_screen

if TYPE_CHECKING:
    from rich.text import Text

    from nbtext.applications.label.session import Session

ENTER = "\r\n"  # POSIX systems send one, Windows the other
BACKSPACE = "\x7f\b"
ESCAPE_KEY = "\x1b"
SEQUENCE = r"\x1b[\[O][^@-~]*[@-~]?|."  # an arrow and the like, or a character
SCROLL = {"\x1b[A": -1, "\x1b[B": 1, "\xe0H": -1, "\xe0P": 1}  # pages; the last two: Windows
COMMAND_KEYS = "nqsu"  # letters that are not keys of labels
LABEL_KEYS = (
    "1234567890"
    + "".join(c for c in string.ascii_lowercase if c not in COMMAND_KEYS)
    + string.ascii_uppercase
)
OTHER_KEYS_LINE = "s skip  u undo  / search  n new label  ↑ ↓ scroll  q quit"
MAX_CHARACTERS_SHOWN = 10_000  # of a text that are shown
MAX_LABEL = 26  # characters of a label
N_OTHER_LINES = 7  # that labels leave for the rest of the screen


class LabelingScreen:
    """Shows a session on the terminal, and obeys its keys.

    Parameters
    ----------
    session
        The session.
    locate
        Finds the features of a text.
    screen
        What the terminal can show.
    """

    def __init__(self, session: Session, locate: Locator, screen: Screen) -> None:
        self._session = session
        self._locate = locate
        self._screen = screen
        # the key of a label switches it on or off, and gives no answer
        self._is_switched = session.file.has_lists
        self._message = ""
        self._page = 0  # lines of the text that are shown
        self._show_document()

    def run(self) -> None:
        """Obey keys until the person quits, or the terminal is gone."""
        from rich.console import Console

        with pressed_keys() as keys, Console().screen(), interrupts_raise():
            self._draw()
            for key in keys:
                if key == "q":
                    return
                self._message = ""
                self._obey(key, keys)
                self._draw()

    def _obey(self, key: str, keys: Iterator[str]) -> None:
        """Do what a key means; `keys` are those that follow."""
        session = self._session
        labels = session.labels
        if key in ENTER:
            if self._chosen or self._is_switched:
                chosen = tuple(label for label in labels if label in self._chosen)
                self._do(lambda: session.answer(chosen))
        elif key == "s":
            self._do(session.skip)
        elif key == "u":
            self._do(session.undo)
        elif key == "/":
            words = self._ask("search", keys)
            if session.search(words):
                self._show_document()
            else:
                self._message = f"no document without an answer contains {words!r}"
        elif key == "n":
            if label := self._ask("label", keys).strip():
                if label not in labels:
                    labels.append(label)
                self._choose(label)
        elif key in SCROLL:
            self._top += SCROLL[key] * self._page
        elif key in LABEL_KEYS[: len(labels)]:
            self._choose(labels[LABEL_KEYS.index(key)])

    def _choose(self, label: str) -> None:
        if self._is_switched:
            self._chosen ^= {label}
        else:
            self._do(lambda: self._session.answer((label,)))

    def _do(self, action: Callable[[], None]) -> None:
        """Change the session, and show its next document; after an error, the document stays."""
        try:
            action()
        except NbtextError as error:
            self._message = str(error)
        else:
            self._show_document()

    def _ask(self, what: str, keys: Iterator[str]) -> str:
        """Return what is typed until Enter; after Esc, nothing. Tab completes a label."""
        typed = ""
        while True:
            self._message = f"{what}: {typed}▏  (Enter: done, Esc: back)"
            self._draw()
            self._message = ""
            key = next(keys, ESCAPE_KEY)
            if key == ESCAPE_KEY:
                return ""
            if key in ENTER:
                return typed
            if key in BACKSPACE:
                typed = typed[:-1]
            elif key == "\t":
                found = [label for label in self._session.labels if label.startswith(typed)]
                typed = found[0] if len(found) == 1 else typed
            elif key.isprintable():
                typed += key

    def _show_document(self) -> None:
        """Explain the current document, and show its beginning."""
        document = self._session.current
        explanations = []
        self._top = 0
        self._texts: list[Text] = []
        self._prediction = "no document is left: all have an answer"
        if document is not None:
            explanations = self._session.learner.explain(document)
            self._texts = mark_document(document.texts, explanations, self._locate)
            self._prediction = format_prediction(explanations)
        # one label is predicted whatever its probability is
        minimum = 0.5 if self._is_switched else 0.0
        self._chosen = {
            each.label
            for each in explanations
            if each.label is not None and (each.probability or 0) >= minimum
        }

    def _draw(self) -> None:
        from rich.rule import Rule

        session = self._session
        size = shutil.get_terminal_size()
        screen = replace(self._screen, width=size.columns)
        name = session.current.id if session.current is not None else ""
        header = (
            f"{number_of(len(session.file.answers), 'answer')} · {session.n_left:,} left · {name}"
        )
        status = f"Enter {'save' if self._is_switched else 'accept'}  {OTHER_KEYS_LINE}"
        bottom = draw_labels(session.labels, self._chosen, screen)[: size.lines - N_OTHER_LINES]
        for line, style in ((self._prediction, "bold"), (self._message or status, "dim")):
            bottom += format_screen([_line(line, style, screen.width)], screen).splitlines()
        self._page = max(1, size.lines - len(bottom) - 2)
        lines = format_screen(self._texts, screen).splitlines()
        self._top = max(0, min(self._top, len(lines) - self._page))
        shown = lines[self._top : self._top + self._page]
        place = f"{self._top + len(shown)} of {number_of(len(lines), 'line')}"
        drawn = [
            *format_screen([_line(header, "bold", screen.width)], screen).splitlines(),
            *shown,
            *[""] * (self._page - len(shown)),
            *format_screen([Rule(place, align="left", style="dim")], screen).splitlines(),
            *bottom,
        ]
        # each line is cleared to its end, and what is below the last one, too
        sys.stdout.write("\x1b[H" + "\n".join(f"{line}\x1b[K" for line in drawn) + "\x1b[J")
        sys.stdout.flush()


@contextmanager
def pressed_keys() -> Iterator[Iterator[str]]:
    """Read keys at once, without echo, until the terminal is gone; it is as before at the end."""
    if sys.platform == "win32":
        yield iter(click.getchar, None)
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield _read_keys(descriptor)
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _read_keys(descriptor: int) -> Iterator[str]:
    with suppress(OSError):  # the terminal is gone
        while data := os.read(descriptor, 4096):
            yield from re.findall(SEQUENCE, data.decode("utf-8", "replace"), re.DOTALL)


def mark_document(
    texts: Sequence[str], explanations: Sequence[Explanation], locate: Locator
) -> list[Text]:
    """Return the texts of a document with the words marked that speak for and against its most
    probable label. Long texts are cut.
    """
    cut = tuple(text[:MAX_CHARACTERS_SHOWN] for text in texts)
    weights = [[0.0]] * len(cut)
    if explanations:
        weights = part_weights(replace(explanations[0], texts=cut), locate)
    return list(mark_texts(cut, weights))


def format_prediction(explanations: Sequence[Explanation]) -> str:
    """Return one line that says what the model predicts."""
    if not explanations:
        return "no prediction yet: no document has an answer"
    first = explanations[0]
    if first.label is None:
        return f"no prediction: {first.reason}"
    shares = [(each.label, each.probability) for each in explanations]
    if first.other_probability is not None and not first.is_absence:
        shares.append((first.against, first.other_probability))
    return "prediction: " + ", ".join(f"{label} {share:.0%}" for label, share in shares)


def draw_labels(labels: Sequence[str], chosen: set[str], screen: Screen) -> list[str]:
    """Return the keys of the labels, and the labels, in columns; those that are switched on are
    reversed.
    """
    from rich.columns import Columns
    from rich.text import Text

    cells = []
    width = min(MAX_LABEL, screen.width - 2)
    for key, label in zip(LABEL_KEYS.ljust(len(labels)), labels, strict=False):
        shown = _line(label, "reverse" if label in chosen else "", width)
        cells.append(Text.assemble((f"{key} ", "bold cyan"), shown))
    columns = Columns(cells, padding=(0, 2), equal=True, column_first=True)
    return format_screen([columns], screen).splitlines()


def _line(text: str, style: str, width: int) -> Text:
    """Return a text without control characters, cut at a width."""
    from rich.text import Text

    line = Text(printable(text), style)
    line.truncate(width, overflow="ellipsis")
    return line

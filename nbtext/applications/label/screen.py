"""The terminal of a labeling session: keys change the session, and the screen shows it."""

from __future__ import annotations

import shutil
import signal
import string
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from nbtext.applications.label import keyboard
from nbtext.applications.label.drawing import (
    HELP,
    MAX_CHARACTERS,
    Drawing,
    View,
    draw,
    format_prediction,
    mark_document,
)
from nbtext.applications.label.keyboard import Keyboard
from nbtext.errors import NbtextError, number_of
from nbtext.interrupts import interrupts_raise
from nbtext.report.terminal import Screen

if TYPE_CHECKING:
    from types import FrameType

    from nbtext.applications.label.session import Session
    from nbtext.features.analyzer import Locator

COMMANDS = "nqsu"  # letters that are not keys of labels
KEYS = (
    "1234567890"
    + "".join(c for c in string.ascii_lowercase if c not in COMMANDS)
    + string.ascii_uppercase
)
FOOTER = "Enter accept  s skip  u undo  / search  n new label  q quit  ? help"
FOOTER_SEVERAL = "1… switch  Enter save  s skip  u undo  / search  n new label  q quit  ? help"
ENTER_SCREEN = "\x1b[?1049h\x1b[?25l"
LEAVE_SCREEN = "\x1b[?25h\x1b[?1049l"
OUTCOME = "no document is left: all have an answer; q quits, u undoes"
AGAIN = "all other documents have an answer: skipped documents come again"
UNDONE = {
    "answer": "the last answer is removed",
    "skip": "back to the skipped document",
    "": "nothing to undo",
}


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
        self._prompt: tuple[str, str] | None = None  # what is asked for, and what was typed
        self._is_help = self._is_finished = False
        self._size = shutil.get_terminal_size()
        self._view = View("", (), (), "", (), "")
        self._drawing = Drawing((), 0, 0)
        self._show_document()

    def run(self) -> None:
        """Obey keys until the person quits, or the terminal is gone."""
        with Keyboard() as keys, _full_screen():
            self._draw()
            while not self._is_finished:
                key = keys.read()
                if key == keyboard.END_OF_INPUT:
                    return
                if key is None:
                    if shutil.get_terminal_size() == self._size:
                        continue
                else:
                    self._obey(key)
                self._draw()

    def _obey(self, key: str) -> None:
        """Do what a key means."""
        self._message = ""
        if self._prompt is not None:
            self._edit(key)
        elif self._is_help:
            self._is_help = False
        elif key in SCROLL:
            n_lines, n_pages = SCROLL[key]
            shown = self._drawing
            self._view = replace(self._view, top=shown.top + n_lines + n_pages * shown.page)
        elif key == keyboard.ENTER:
            self._accept()
        elif key == "s":
            self._do(self._session.skip)
        elif key == "u":
            self._do(self._session.undo)
        elif key == "q":
            self._is_finished = True
        elif key == "?":
            self._is_help = True
        elif key == "/":
            self._prompt = ("search", "")
        elif key == "n":
            self._prompt = ("label", "")
        elif key in KEYS and KEYS.index(key) < len(self._session.labels):
            self._choose(self._session.labels[KEYS.index(key)])
        elif key.isprintable() and len(key) == 1:
            self._message = "no label has this key; ? shows the keys"

    def _accept(self) -> None:
        """Save the labels that are switched on: at first those that are predicted."""
        if self._chosen or self._is_switched:
            labels = tuple(label for label in self._session.labels if label in self._chosen)
            self._do(lambda: self._session.answer(labels))
        else:
            self._message = "no prediction to accept: press the key of a label, or n to type one"

    def _choose(self, label: str) -> None:
        if self._is_switched:
            self._chosen ^= {label}
        else:
            self._do(lambda: self._session.answer((label,)))

    def _do(self, action: Callable[[], str | None]) -> None:
        """Change the session, and show its next document; after an error, the document stays."""
        try:
            undone = action()
        except NbtextError as error:
            self._message = str(error)
            return
        self._show_document()
        self._message = (
            UNDONE[undone] if undone is not None else AGAIN if self._session.is_again else ""
        )

    def _edit(self, key: str) -> None:
        """Change what is typed at a prompt."""
        assert self._prompt is not None
        what, typed = self._prompt
        if key == keyboard.ESCAPE:
            self._prompt = None
        elif key == keyboard.BACKSPACE:
            self._prompt = (what, typed[:-1])
        elif key == keyboard.TAB and what == "label":
            found = [label for label in self._session.labels if label.startswith(typed)]
            shared = takewhile(lambda letters: len(set(letters)) == 1, zip(*found, strict=False))
            self._prompt = (what, "".join(letters[0] for letters in shared) or typed)
        elif key == keyboard.ENTER:
            self._prompt = None
            self._finish_prompt(what, typed)
        elif len(key) == 1 and key.isprintable():
            self._prompt = (what, typed + key)

    def _finish_prompt(self, what: str, typed: str) -> None:
        if what == "search":
            n_found = self._session.search(typed)
            if n_found or not typed:
                self._show_document()
            else:
                self._message = f"no document without an answer contains {typed!r}"
        elif typed.strip() and self._session.current is not None:
            try:
                label = self._session.add_label(typed)
            except NbtextError as error:
                self._message = str(error)
            else:
                self._choose(label)

    def _show_document(self) -> None:
        """Explain the current document, and begin a new view."""
        explanations = self._session.explain()
        # one label is predicted whatever its probability is
        minimum = 0.5 if self._is_switched else 0.0
        self._chosen = {
            each.label
            for each in explanations
            if each.label is not None and (each.probability or 0) >= minimum
        }
        document = self._session.current
        if document is None:
            self._view = View("", (), (), OUTCOME, (), "")
            return
        text, weights = mark_document(document.texts, explanations, self._locate)
        self._view = View(document.id, text, weights, format_prediction(explanations), (), "")

    def _draw(self) -> None:
        self._size = shutil.get_terminal_size()
        session = self._session
        keys = KEYS.ljust(len(session.labels))
        choices = tuple(
            (key, label, label in self._chosen)
            for key, label in zip(keys, session.labels, strict=False)
        )
        status = self._message or (FOOTER_SEVERAL if self._is_switched else FOOTER)
        if self._prompt is not None:
            status = f"{self._prompt[0]}: {self._prompt[1]}▏  (Enter: done, Esc: back)"
        parts = [number_of(len(session.file.answers), "answer"), f"{session.n_left:,} left"]
        if session.n_found is not None:
            parts.append(f"search: {session.n_found:,}")
        header = " · ".join(filter(None, (*parts, self._view.header)))
        view = replace(self._view, header=header, choices=choices, status=status)
        if self._is_help:
            from rich.text import Text

            view = replace(view, text=(Text(HELP),), weights=(), top=0, status="any key: back")
        self._drawing = draw(
            view, replace(self._screen, width=self._size.columns), self._size.lines
        )
        if not self._is_help:
            self._view = replace(self._view, top=self._drawing.top)
        # each line is cleared to its end, and what is below the last one, too
        with suppress(OSError):  # the terminal is gone; the next key says so
            sys.stdout.write(
                "\x1b[H" + "\n".join(f"{line}\x1b[K" for line in self._drawing.lines) + "\x1b[J"
            )
            sys.stdout.flush()


MANY = MAX_CHARACTERS  # pages, more than any text has
# the lines and the pages by which a key scrolls
SCROLL = {
    keyboard.UP: (-1, 0),
    keyboard.DOWN: (1, 0),
    keyboard.PAGE_UP: (0, -1),
    keyboard.PAGE_DOWN: (0, 1),
    " ": (0, 1),
    keyboard.HOME: (0, -MANY),
    keyboard.END: (0, MANY),
}


@contextmanager
def _full_screen() -> Iterator[None]:
    """Show another screen of the terminal, and the one before at the end, also if a signal ends the
    program.
    """

    def stop(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    ending = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, stop) for number in ending}
    try:
        sys.stdout.write(ENTER_SCREEN)
        with interrupts_raise():
            yield
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.write(LEAVE_SCREEN)
            sys.stdout.flush()
        for number, handler in before.items():
            signal.signal(number, handler)

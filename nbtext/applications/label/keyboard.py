"""Single keys from a terminal, on POSIX systems and on Windows."""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections import deque
from contextlib import suppress
from typing import Any

ENTER = "\r"
ESCAPE = "\x1b"
BACKSPACE = "\x7f"
TAB = "\t"
END_OF_INPUT = ""
UP = "up"
DOWN = "down"
PAGE_UP = "page up"
PAGE_DOWN = "page down"
HOME = "home"
END = "end"
OTHER = "other"  # a key without a meaning
SEQUENCES = {
    "[A": UP,
    "[B": DOWN,
    "OA": UP,
    "OB": DOWN,
    "[5~": PAGE_UP,
    "[6~": PAGE_DOWN,
    "[H": HOME,
    "[F": END,
    "OH": HOME,
    "OF": END,
    "[1~": HOME,
    "[4~": END,
}
# an escape sequence, which ends with a character from @ to ~, or a character
SEQUENCE = r"\x1b[\[O][^@-~]*[@-~]?|."
WINDOWS_KEYS = {"H": UP, "P": DOWN, "I": PAGE_UP, "Q": PAGE_DOWN, "G": HOME, "O": END}
WAIT = 0.25  # seconds after which a key that was not pressed is no longer waited for


def parse_keys(text: str) -> list[str]:
    """Return the keys of what a terminal sends: characters, and names for escape sequences."""
    characters = {"\n": ENTER, "\b": BACKSPACE}
    found = re.findall(SEQUENCE, text, re.DOTALL)
    return [
        SEQUENCES.get(each[1:], OTHER) if len(each) > 1 else characters.get(each, each)
        for each in found
    ]


class Keyboard:
    """Reads keys at once, without echo, as a context; the terminal is as before at its end."""

    def __init__(self) -> None:
        self._pending: deque[str] = deque()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def __enter__(self) -> Keyboard:
        self._saved: Any = None
        if sys.platform != "win32":
            import termios
            import tty

            self._saved = termios.tcgetattr(sys.stdin.fileno())
            tty.setcbreak(sys.stdin.fileno())
        return self

    def __exit__(self, *_: object) -> None:
        if sys.platform != "win32":
            import termios

            with suppress(termios.error, OSError):  # the terminal is gone
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._saved)

    def read(self) -> str | None:
        """Return the next key; None if there is none for a moment, END_OF_INPUT if the terminal is
        gone.
        """
        if not self._pending:
            found = _read_windows() if sys.platform == "win32" else self._read_posix()
            if not found:
                return found
            self._pending.extend(parse_keys(found))
        return self._pending.popleft() if self._pending else None

    def _read_posix(self) -> str | None:
        import select

        try:
            ready, _, _ = select.select([sys.stdin], [], [], WAIT)
            if not ready:
                return None
            data = os.read(sys.stdin.fileno(), 4096)
        except (OSError, ValueError):
            return END_OF_INPUT
        return (self._decoder.decode(data) or None) if data else END_OF_INPUT


def _read_windows() -> str | None:
    import msvcrt
    import time

    module: Any = msvcrt
    if not module.kbhit():
        time.sleep(WAIT / 5)
        return None
    key = str(module.getwch())
    if key == "\x03":
        raise KeyboardInterrupt
    if key in ("\0", "\xe0"):
        name = WINDOWS_KEYS.get(module.getwch())
        return next((f"{ESCAPE}{each}" for each, found in SEQUENCES.items() if found == name), None)
    return key

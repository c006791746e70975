"""An end to regular expressions that find none.

A token pattern may come in a stranger's model, and some take for ever: `(?:a+)+b` doubles its time with each letter.
Python's matcher cannot be told how long it may take, but it heeds signals, where it runs in the main thread.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from nbtext.errors import InputError

LONGEST_TEXT = 5_000_000  # characters that a pattern is tried on: a matcher may need a hundred bytes for each
LEAST_SECONDS = 10.0  # of computing, not waiting for others, that some texts may take,
SECONDS_PER_CHARACTER = 1e-6  # and so much more for each character: an honest pattern takes a tenth of that


@contextmanager
def patience(columns: Sequence[list[str]]) -> Iterator[None]:
    """Let patterns be tried on these texts, but not for ever.

    raises  InputError: a text is too long, or they take too long, which only the main thread can tell
    """
    if any(len(text) > LONGEST_TEXT for texts in columns for text in texts):
        raise InputError(
            f"a text of more than {LONGEST_TEXT:,} characters is too long for a token pattern",
            hint="use the default one, or leave such texts out with --max-document-bytes",
        )
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    n_characters = sum(map(len, (text for texts in columns for text in texts)))
    seconds = LEAST_SECONDS + SECONDS_PER_CHARACTER * n_characters
    previous = signal.signal(signal.SIGVTALRM, _give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def _give_up(*_: Any) -> None:
    raise InputError(
        "the token pattern takes too long on these texts",
        where="--token-pattern",
        hint="it may repeat what repeats; a model from a stranger may mean harm by it",
    )

"""Limits for token patterns, because a model file may contain a regular expression that takes exponential time.

The time of `(?:a+)+b` doubles with each letter. Python's matcher has no timeout, but a signal interrupts it in the main
thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from nbtext.documents.batch import Batch
from nbtext.errors import InputError
from nbtext.features.analyzer import has_own_pattern
from nbtext.features.settings import FeatureSettings

MAX_CHARACTERS = 5_000_000  # of a text; the matcher may need 100 bytes for each
MIN_SECONDS = 10.0  # CPU time for a batch of texts,
SECONDS_PER_CHARACTER = 1e-6  # plus this for each character; usual patterns take a tenth of it


def refuse_long_texts(batch: Batch, settings: FeatureSettings) -> None:
    """Move each document that is too long for a token pattern to the problems of its batch, and empty its texts."""
    if not has_own_pattern(settings):
        return
    batch.columns = columns = tuple(map(list, batch.columns))
    for texts in columns:
        if max(map(len, texts), default=0) > MAX_CHARACTERS:
            for row in [row for row, text in enumerate(texts) if len(text) > MAX_CHARACTERS]:
                batch.problems.setdefault(row, _too_long(batch.ids[row]))
    for row in batch.problems:
        for texts in columns:
            texts[row] = ""


def _too_long(where: str) -> InputError:
    return InputError(
        f"a text has more than {MAX_CHARACTERS:,} characters, which is too long for a custom token pattern",
        where=where,
        hint="use the default pattern, or leave such texts out with --max-document-bytes",
    )


@contextmanager
def regex_timeout(columns: Sequence[Sequence[str]]) -> Iterator[None]:
    """Limit the time in which a token pattern is matched with these texts.

    The time is limited in the main thread only, because only it receives signals.

    Raises
    ------
    InputError
        A text is too long, or the texts together take too long.
    """
    texts = [text for column in columns for text in column]
    if max(map(len, texts), default=0) > MAX_CHARACTERS:
        raise _too_long("")
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    previous = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MIN_SECONDS + SECONDS_PER_CHARACTER * sum(map(len, texts)))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def _stop(*_: Any) -> None:
    raise InputError(
        "matching the token pattern with these texts takes too long",
        where="--token-pattern",
        hint="simplify the pattern: avoid nested repetitions such as (a+)+",
    )

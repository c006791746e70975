"""Signals that end a command: what it has half written is removed, and one line says that it was
interrupted.

The handler ends the process itself. An exception instead, such as KeyboardInterrupt, is dropped by
Python in finalizers and in some imports, changed to another error in others, and leaves locks of
libraries locked, if it is raised there.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

INTERRUPTED = 130  # the exit status of an interrupted program, as in shells
ENDING = ("SIGTERM", "SIGHUP")  # other signals that end a process; Windows lacks the second one
STANDARD_ERROR = 2
CLEAR_LINE_AND_SHOW_CURSOR = b"\r\x1b[2K\x1b[?25h"  # a progress bar may have hidden it
_temporary_paths: set[str] = set()


def end_on_signals() -> None:
    """From now on, end this process at SIGINT, SIGTERM and SIGHUP, unless it was started to ignore
    them.

    Child processes that are forked handle them as Python does.
    """
    before = {}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        before[signal.SIGINT] = signal.signal(signal.SIGINT, _end)
    for name in ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, _end)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    if hasattr(os, "register_at_fork"):  # Windows does not fork
        os.register_at_fork(after_in_child=restore)


def _end(number: int, _: FrameType | None) -> None:
    for path in tuple(_temporary_paths):
        if os.path.isdir(path):
            import shutil  # rarely needed, and it takes time to import

            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                os.unlink(path)
    if number == signal.SIGINT:
        with suppress(OSError):  # standard error is closed or full; its buffer may be locked
            if os.isatty(STANDARD_ERROR):
                os.write(STANDARD_ERROR, CLEAR_LINE_AND_SHOW_CURSOR)
            os.write(STANDARD_ERROR, b"nbtext: interrupted\n")
        os._exit(INTERRUPTED)
    signal.signal(number, signal.SIG_DFL)  # so that the exit status names the signal
    os.kill(os.getpid(), number)


@contextmanager
def temporary_path(path: str) -> Iterator[None]:
    """Within the context, remove a file or directory, which may not exist yet, if a signal ends the
    process.
    """
    _temporary_paths.add(path)
    try:
        yield
    finally:
        _temporary_paths.discard(path)


@contextmanager
def interrupts_raise() -> Iterator[None]:
    """Within the context, SIGINT raises KeyboardInterrupt: for what must end child processes or
    restore a terminal.

    A program that uses the library keeps its own handler.
    """
    if signal.getsignal(signal.SIGINT) is not _end:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _end)

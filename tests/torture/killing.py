"""Kills this process at the n-th step of writing its output, without warning.

A step is a call that touches the disk, from the one on that makes the new file: just before it, and
(the next number) just after it.
"""

import io
import os
import signal
from collections.abc import Callable
from functools import wraps
from itertools import count
from typing import Any

steps = count(1)  # taken when the process writes
deadly_step = 0
written: list[Any] = []  # paths that were opened for writing


def step() -> None:
    if written and next(steps) == deadly_step:
        os.kill(os.getpid(), signal.SIGKILL)


def deadly(call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def called(*arguments: Any, **options: Any) -> Any:
        step()
        result = call(*arguments, **options)
        step()
        return result

    return called


class DeadlyFile(io.FileIO):
    """A file, each write to which is two steps."""

    write = deadly(io.FileIO.write)
    close = deadly(io.FileIO.close)


def watched_open(
    path: Any, flags: int, *arguments: Any, _open: Callable[..., int] = os.open, **options: Any
) -> int:
    written.extend([path] if flags & os.O_WRONLY else [])
    step()
    handle = _open(path, flags, *arguments, **options)
    step()
    return handle


def watched_fdopen(
    handle: int, mode: str, *arguments: Any, _fdopen: Callable[..., Any] = os.fdopen, **options: Any
) -> Any:
    return (
        io.BufferedWriter(DeadlyFile(handle, "w"))
        if mode == "wb"
        else _fdopen(handle, mode, *arguments, **options)
    )


def kill_at(number: int) -> None:
    """Count the steps of this process from now on, and kill it at this one."""
    global deadly_step  # noqa: PLW0603
    deadly_step = number
    os.open = watched_open
    os.fdopen = watched_fdopen
    for name in ("fsync", "fchmod", "link", "replace", "unlink"):
        setattr(os, name, deadly(getattr(os, name)))

"""Running whole processes and measuring what they cost: wall time, CPU time, peak memory.

A process is spawned, waited for with wait4, and its rusage read: user + system time and the largest resident size, both
of the process and of the children it waited for. The kernel counts the spawning process into the peak of the spawned
one, so a peak below this program's own (`own_peak`, some 20 MB) cannot be told from it.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

KILOBYTE = 1024  # ru_maxrss is in kibibytes on Linux
SHOWN_OF_ERRORS = 2000  # characters
# `wc -w` is faster in a UTF-8 locale than in C (1.7 s against 2.5 s for 500 MB): the harder peer
ENVIRONMENT = os.environ | {"LC_ALL": "C.UTF-8"}


class StepFailedError(Exception):
    """A process ended with another exit status than 0; the message has the last of what it said."""


@dataclass(frozen=True)
class Step:
    """One process.

    command  program and arguments
    stdin    what it reads from a pipe; None: nothing
    stdout   the file that it writes to; None: nowhere
    counts   whether its cost counts; clearing up before a round does not
    """

    command: tuple[str, ...]
    stdin: bytes | None = None
    stdout: Path | None = None
    counts: bool = True


@dataclass(frozen=True)
class Cost:
    """What one or more processes took: seconds, seconds of all cores together, bytes."""

    wall: float = 0.0
    cpu: float = 0.0
    memory: int = 0

    def __add__(self, later: Cost) -> Cost:
        return Cost(self.wall + later.wall, self.cpu + later.cpu, max(self.memory, later.memory))


def own_peak() -> int:
    """The largest resident size of this process so far, in bytes: the smallest peak that can be measured."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KILOBYTE


def measure(steps: Sequence[Step]) -> Cost:
    """Run processes one after the other, and add up what they cost; StepFailedError where one fails."""
    total = Cost()
    for step in steps:
        cost = _measure(step)
        total = total + cost if step.counts else total
    return total


def _measure(step: Step) -> Cost:
    program = shutil.which(step.command[0])
    if program is None:
        raise StepFailedError(f"{step.command[0]}: not found")
    with (
        tempfile.TemporaryFile() as errors,
        _opened(step.stdin) as stdin,
        open(step.stdout or os.devnull, "wb") as stdout,
    ):
        redirections = [
            (os.POSIX_SPAWN_DUP2, file.fileno(), number) for number, file in enumerate((stdin, stdout, errors))
        ]
        start = time.perf_counter()
        pid = os.posix_spawn(program, step.command, ENVIRONMENT, file_actions=redirections)
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - start
        if status != 0:
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace")[-SHOWN_OF_ERRORS:]
            raise StepFailedError(f"{step.command[0]}: exit status {os.waitstatus_to_exitcode(status)}\n{said}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * KILOBYTE)


def _opened(stdin: bytes | None) -> BinaryIO:
    """A pipe that holds these few bytes, or an empty input."""
    if stdin is None:
        return open(os.devnull, "rb")
    reading, writing = os.pipe()
    os.write(writing, stdin)
    os.close(writing)
    return open(reading, "rb")


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each quantity by itself."""
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.cpu for cost in costs),
        int(statistics.median(cost.memory for cost in costs)),
    )


def interleaved(
    contestants: dict[str, Sequence[Step]], *, rounds: int, on_cost: Callable[[str, Cost], None] = lambda _, __: None
) -> dict[str, list[Cost] | StepFailedError]:
    """Measure A B C, A B C, ... so that a busy minute of the machine touches all of them alike.

    A contestant that fails is left out from then on, and its error is its result.
    """
    results: dict[str, list[Cost] | StepFailedError] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, steps in contestants.items():
            costs = results[name]
            if isinstance(costs, StepFailedError):
                continue
            try:
                costs.append(measure(steps))
            except StepFailedError as error:
                results[name] = error
            else:
                on_cost(name, costs[-1])
    return results

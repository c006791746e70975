"""Running whole processes and measuring what they cost: wall time, CPU time, peak memory.

A process is spawned by a tiny one (launch.py), waited for with wait4, and its rusage read: user +
system time and the largest resident size, both of the process and of the children it waited for.
The spawning process counts into the peak, so a peak below `smallest_peak` (some 10 MB) cannot be
told from it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LAUNCHER = Path(__file__).with_name("launch.py")
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


@cache
def smallest_peak() -> int:
    """The peak of a process that needs next to nothing, in bytes: the least that can be
    measured.
    """
    return measure([Step(("true",))]).memory


def measure(steps: Sequence[Step]) -> Cost:
    """Run processes one after the other, and add up what they cost; StepFailedError where one
    fails.
    """
    total = Cost()
    for step in steps:
        cost = _measure(step)
        total = total + cost if step.counts else total
    return total


def _measure(step: Step) -> Cost:
    reading, writing = os.pipe()
    command = [sys.executable, "-I", "-S", str(LAUNCHER), str(writing), *step.command]
    with (
        tempfile.TemporaryFile() as errors,
        open(step.stdout or os.devnull, "wb") as stdout,
        open(reading) as report,
    ):
        try:
            subprocess.run(
                command,
                input=step.stdin or b"",
                stdout=stdout,
                stderr=errors,
                env=ENVIRONMENT,
                pass_fds=[writing],
                check=False,
            )
        finally:
            os.close(writing)
        status, *numbers = report.read().split() or ["none"]
        if status != "0":
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace")[-SHOWN_OF_ERRORS:]
            raise StepFailedError(f"{step.command[0]}: exit status {status}\n{said}")
    wall, cpu, memory = numbers
    return Cost(float(wall), float(cpu), int(memory))


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each quantity by itself."""
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.cpu for cost in costs),
        int(statistics.median(cost.memory for cost in costs)),
    )


def measure_in_turns(
    programs: dict[str, Sequence[Step]],
    *,
    rounds: int,
    on_cost: Callable[[str, Cost], None] = lambda _, __: None,
) -> dict[str, list[Cost] | StepFailedError]:
    """Measure A B C, A B C, ... so that a busy minute of the machine touches all of them alike.

    A program that fails is left out from then on, and its error is its result.
    """
    results: dict[str, list[Cost] | StepFailedError] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, steps in programs.items():
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

"""Run commands of the shell, and measure what they cost: wall time, CPU time, peak memory.

A command is spawned by a tiny process (launch.py), waited for with wait4, and its rusage read: user
+ system time and the largest resident size, both of the process and of the children it waited for.
The spawning process counts into the peak, so a peak below some 10 MB cannot be told from it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

LAUNCHER = Path(__file__).with_name("launch.py")
SHOWN_OF_ERRORS = 2000  # characters
MEGABYTE = 1_000_000


class CommandFailedError(Exception):
    """A command ended with another exit status than 0; the message has the last of what it said."""


class Cost(NamedTuple):
    """What a command took: seconds, seconds of all cores together, bytes."""

    wall: float
    cpu: float
    memory: int


def parser_with(text: str | None) -> argparse.ArgumentParser:
    """Return a parser of arguments that shows a text, the documentation of a module, as it is."""
    return argparse.ArgumentParser(None, None, text, formatter_class=argparse.RawTextHelpFormatter)


def measure(
    command: str,
    folder: Path | None = None,
    programs: Path = Path(sys.executable).parent,
    **variables: object,
) -> Cost:
    """Run a command in a folder, with `programs` first on the path; CommandFailedError if it
    fails. Its output is dropped.
    """
    reading, writing = os.pipe()
    # `wc -w` is faster in this locale than in C (1.7 s against 2.5 s for 500 MB): the harder peer
    environment = os.environ | {"LC_ALL": "C.UTF-8"}
    environment["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment |= {name: str(value) for name, value in variables.items()}
    launcher = [sys.executable, "-I", "-S", LAUNCHER, str(writing)]
    with open(reading) as report:
        done = subprocess.run(
            [*launcher, "sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment,
            pass_fds=[writing],
            check=False,
        )
        os.close(writing)
        status, *numbers = report.read().split() or ["none"]
    if status != "0":
        said = done.stderr.decode("utf-8", "replace")[-SHOWN_OF_ERRORS:]
        raise CommandFailedError(f"{command}: exit status {status}\n{said}")
    wall, cpu, memory = numbers
    return Cost(float(wall), float(cpu), int(memory))


def measure_in_turns(
    programs: Mapping[str, Callable[[], Cost]], rounds: int
) -> dict[str, list[Cost] | CommandFailedError]:
    """Measure A B C, A B C, ... so that a busy minute of the machine touches all of them alike.

    A program that fails is left out from then on, and its error is its result.
    """
    results: dict[str, list[Cost] | CommandFailedError] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, run in programs.items():
            costs = results[name]
            if isinstance(costs, CommandFailedError):
                continue
            try:
                costs.append(run())
            except CommandFailedError as error:
                results[name] = error
    return results


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each quantity by itself."""
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


def say(line: str) -> None:
    """Print a line as soon as it is known."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def say_row(cells: Iterable[object]) -> None:
    """Print a row of a table in Markdown."""
    shown = " | ".join(str(cell).replace("|", "\\|") for cell in cells)
    say(f"| {shown} |")


def say_head(*cells: str) -> None:
    """Print the first rows of a table in Markdown."""
    say_row(cells)
    say_row(["---"] * len(cells))

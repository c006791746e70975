"""Measure the reliability of nbtext, and print what was found as JSON.

python tests/torture [RUNS]      all parts, a line each; RUNS executions of each fuzzer
python tests/torture attacks     the attacks of tests/artifact
python tests/torture kills N M   commands killed at N moments each and at every M-th step of
                                 writing
python tests/torture models N M  every N-th hostile model, and M pairs of changes
python tests/torture races N     every pair of commands that replace a model, N times at once
python tests/torture texts N     hostile texts, the largest of a thousand times N bytes
python tests/torture foreign N   N foreign files and special files that commands find in their way
python tests/torture tables N    every N-th of the hostile tables, mails, JSON and lines
python tests/torture requests N  hostile requests of about N bytes, beside which /healthz is asked

The figures of FAULTS count what should not happen.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import artifacts
import kills
import models
import races
import seams
import texts

FUZZ = Path(__file__).parents[1] / "fuzz"
FAULTS = {
    "executed",
    "not_refused",
    "lost",
    "silent",
    "crashed",
    "changed",
    "failed",
    "slow",
    "large",
    "blocked",
    "wrong",
}


def fuzz(_: Path, runs: int) -> dict[str, Any]:
    """Run the fuzzers; without their library, only the stored inputs and mutations of them."""
    try:
        import atheris  # noqa: F401

        command = [sys.executable, str(FUZZ), "all", str(runs)]
    except ImportError:
        command = [sys.executable, str(FUZZ), "replay", str(runs // 100)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return {"said": done.stdout.splitlines(), "crashed": done.returncode}


# each part, and what `make torture` gives it
PARTS: dict[str, tuple[Callable[..., dict[str, Any]], tuple[int, ...]]] = {
    "attacks": (artifacts.attacked, ()),
    "models": (models.attack, (4, 3000)),
    "races": (races.race, (20,)),
    "kills": (kills.killed, (80, 1)),
    "texts": (texts.fed, (1_000_000,)),
    "foreign": (seams.protect, (60,)),
    "tables": (seams.feed, (1,)),
    "requests": (seams.ask, (15_000_000,)),
    "fuzz": (fuzz, (100_000,)),
}


def run_part(name: str, *numbers: int) -> bool:
    """Run a part in a folder of its own, print its figures, and return whether it has no fault."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        found = PARTS[name][0](Path(folder), *numbers)
        os.chdir(here)
    print(json.dumps({"part": name, **found}), flush=True)  # noqa: T201
    return not any(found[fault] for fault in FAULTS & found.keys())


def main(*arguments: str) -> int:
    """Run the part that the arguments name, or all of them."""
    if arguments and arguments[0] in PARTS:
        run_part(arguments[0], *map(int, arguments[1:]))
        return 0
    given = {name: numbers for name, (_, numbers) in PARTS.items()}
    if arguments:
        given["fuzz"] = (int(arguments[0]),)
    are_well = [run_part(name, *numbers) for name, numbers in given.items()]
    return int(not all(are_well))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

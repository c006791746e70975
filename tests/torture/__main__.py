"""Measure the reliability of nbtext, and print what was found as JSON.

python tests/torture             all parts, a line each
python tests/torture kills N M   commands killed at N moments each and at every M-th step of
                                 writing
python tests/torture models N M  every N-th hostile model, and M pairs of changes
python tests/torture races N     every pair of commands that replace a model, N times at once
python tests/torture tables N    every N-th of the hostile tables, mails, JSON and lines

The figures of FAULTS count what should not happen. `make torture` runs the hostile model files of
tests/artifact and the fuzzers, too.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kills
import models
import races
import tables

FAULTS = {"lost", "silent", "crashed", "slow", "large", "wrong"}
# each part, and what `make torture` gives it
PARTS: dict[str, tuple[Callable[..., dict[str, Any]], tuple[int, ...]]] = {
    "models": (models.attack, (4, 3000)),
    "races": (races.race, (20,)),
    "kills": (kills.killed, (80, 1)),
    "tables": (tables.feed, (1,)),
}


def run_part(name: str, *numbers: int) -> bool:
    """Run a part in a folder of its own, print its figures, and return whether it has no fault."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        found = PARTS[name][0](Path(folder), *numbers)
        os.chdir(here)
    print(json.dumps({"part": name, **found}), flush=True)  # noqa: T201
    return not any(found[fault] for fault in FAULTS & found.keys())


def main(name: str = "", *numbers: str) -> int:
    """Run the part of a name, or all of them."""
    if name:
        run_part(name, *map(int, numbers))
        return 0
    are_well = [run_part(name, *numbers) for name, (_, numbers) in PARTS.items()]
    return int(not all(are_well))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Races: two commands that replace the same model, at once. No change is lost unless its command
says so.
"""

import itertools
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from kills import run_nbtext, start_nbtext

MAX_DELAY = 0.5  # seconds between the starts of two commands

REFUSALS = re.compile(
    rb"another nbtext process is writing it|changed by another program|not trained on some of these documents"
)

# each command that replaces a model, by its arguments
WRITERS = {
    "update": ["update", "model.joblib", "update.csv"],
    "forget": ["forget", "model.joblib", "forget.csv"],
    "calibrate": ["calibrate", "model.joblib", "calibrate.csv"],
    "merge": ["merge", "model.joblib", "other.joblib", "-o", "model.joblib"],
}


def race(folder: Path, n_races: int) -> dict[str, Any]:
    """Run every pair of writers at once, `n_races` times each, and judge the model that they leave.

    Returns
    -------
    dict
        races: how many; lost: races after which the model is not that of all commands that reported
        success, in some order; both, one, none: races in which so many commands succeeded; silent:
        failures for any other reason than the other command.
    """
    _write_sources(folder)
    run_nbtext(["train", "train.csv", "-o", "honest.joblib"], folder).check_returncode()
    run_nbtext(["train", "other.csv", "-o", "other.joblib"], folder).check_returncode()
    figures: dict[str, Any] = {"races": 0, "lost": 0, "silent": 0, "none": 0, "one": 0, "both": 0}
    for pair in itertools.combinations_with_replacement(WRITERS, 2):
        results = {order: _run_in_order(order, folder) for order in _list_orders(pair)}
        for number in range(n_races):
            shutil.copy(folder / "honest.joblib", folder / "model.joblib")
            first = start_nbtext(WRITERS[pair[0]], folder)
            time.sleep(MAX_DELAY * number / n_races)
            done = _finish([first, start_nbtext(WRITERS[pair[1]], folder)])
            succeeded = tuple(
                name for name, one in zip(pair, done, strict=True) if one.returncode == 0
            )
            model = (folder / "model.joblib").read_bytes()
            figures["races"] += 1
            figures["lost"] += model not in [
                results[order] for order in itertools.permutations(succeeded)
            ]
            figures["silent"] += sum(
                one.returncode != 0 and not REFUSALS.search(one.stderr) for one in done
            )
            figures[("none", "one", "both")[len(succeeded)]] += 1
    return figures


def _list_orders(pair: tuple[str, str]) -> set[tuple[str, ...]]:
    return {order for length in range(3) for order in itertools.permutations(pair, length)}


def _run_in_order(order: tuple[str, ...], folder: Path) -> bytes | None:
    """Return the model that these commands leave, one after the other; None if one fails, as a
    second `forget` does.
    """
    shutil.copy(folder / "honest.joblib", folder / "model.joblib")
    if any(run_nbtext(WRITERS[name], folder).returncode for name in order):
        return None
    return (folder / "model.joblib").read_bytes()


def _finish(processes: list[subprocess.Popen[bytes]]) -> list[subprocess.CompletedProcess[bytes]]:
    outputs = [process.communicate() for process in processes]
    return [
        subprocess.CompletedProcess(process.args, process.returncode, out, err)
        for process, (out, err) in zip(processes, outputs, strict=True)
    ]


def _write_sources(folder: Path) -> None:
    rows = [
        f"word{number % 7} more{number % 11} text,{'ab'[number % 2]}\n" for number in range(3000)
    ]
    for name, lines in {
        "train": rows[:2000],
        "forget": rows[:500],
        "update": rows[2000:],
        "calibrate": rows[100:900:7],
        "other": rows[1500:2500:3],
    }.items():
        (folder / f"{name}.csv").write_text("text,label\n" + "".join(lines), encoding="ascii")

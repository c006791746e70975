"""Measure the reliability of nbtext, and print a table.

python tests/torture [RUNS]      all of them, as a table; RUNS executions of each fuzzer
python tests/torture kills N M   commands killed at N moments each and at every M-th step of
                                 writing, as JSON
python tests/torture flips N     every N-th bit of a small model flipped
python tests/torture models N M  every N-th hostile model, and M pairs of changes
python tests/torture races N     every pair of commands that replace a model, N times at once
python tests/torture texts N     hostile texts, the largest of a thousand times N bytes
python tests/torture foreign N   N foreign files and special files that commands find in their way
python tests/torture outputs N   every N-th pair of an output of a command and a FIFO, socket or
                                 device in its place
python tests/torture tables N    every N-th of the hostile tables, mails, JSON and lines
python tests/torture requests N  hostile requests of about N bytes, beside which /healthz is asked
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import artifacts
import kills
import models
import races
import seams
import texts

MOMENTS = 80  # for each command
RACES = 20  # of each pair
EVERY_MODEL = 4  # of 20,000
FOREIGN = 60  # files in the way
REQUEST = 15_000_000  # bytes
FUZZ = Path(__file__).parents[1] / "fuzz"


def row(name: str, tried: int, bad: str, n_bad: int, more: str = "") -> bool:
    """Print a row of the table; return whether it has no failures."""
    print(f"{name:<28}{tried:>12,}  {bad} {n_bad:,}{'  ' + more if more else ''}", flush=True)  # noqa: T201
    return n_bad == 0


def everything(folder: Path, runs: int) -> bool:
    """Run all parts; return whether none has a failure."""
    are_well = [
        _artifacts(folder / "a"),
        _models(folder / "m"),
        _races(folder / "r"),
        _kills(folder / "k"),
        _texts(folder / "t"),
        _seams(folder / "s", min(runs / 100_000, 1)),
        _fuzzers(runs),
    ]
    return all(are_well)


def _artifacts(folder: Path) -> bool:
    folder.mkdir()
    found = artifacts.attacked(folder)
    bounds = f"worst {found['seconds']:.2f} s, {found['megabytes']:.0f} MB above an empty start"
    is_well = row("attack artifacts tried", found["tried"], "executed", found["executed"], bounds)
    is_well &= row("  of them", found["tried"], "not refused", found["not_refused"])
    flips = artifacts.flipped(folder)
    return is_well & row(
        "bit flips tried",
        flips["tried"],
        "wrong answers",
        flips["wrong"],
        f"same {flips['same']:,}",
    )


def _models(folder: Path) -> bool:
    folder.mkdir()
    here = os.getcwd()
    found = models.attack(folder, every=EVERY_MODEL)
    os.chdir(here)
    for wrong in found["wrong"][:20]:
        print(json.dumps(wrong))  # noqa: T201
    more = f"accepted {found['accepted']:,}, commands {found['commands']:,}"
    return row(
        "hostile models tried", found["tried"], "NaN, crashes, hangs", len(found["wrong"]), more
    )


def _kills(folder: Path) -> bool:
    folder.mkdir()
    found = kills.killed(folder, MOMENTS)
    more = f"temporary files left {found['left']}; {', '.join(found['commands'])}"
    return row("kill points tried", found["points"], "files lost", found["lost"], more)


def _races(folder: Path) -> bool:
    folder.mkdir()
    found = races.race(folder, RACES)
    outcomes = ", ".join(f"{name} succeeded {found[name]:,}" for name in ("none", "one", "both"))
    return row(
        "races of two writers",
        found["races"],
        "changes lost silently",
        found["lost"] + found["silent"],
        outcomes,
    )


def _texts(folder: Path) -> bool:
    folder.mkdir()
    is_well = True
    for found in texts.fed(folder):
        is_bad = found["status"] not in (0, 1) or found["is_traced"]
        figures = f"{found['seconds']:.1f} s, {found['megabytes']:.0f} MB, status {found['status']}"
        is_well &= row(found["name"], 1, "crashes", int(is_bad), f"{figures}; {found['said'][:90]}")
    return is_well


def _seams(folder: Path, scale: float) -> bool:
    """Run them, with fewer files if the fuzzers run less."""
    for name in ("f", "o", "t", "r"):
        (folder / name).mkdir(parents=True)
    foreign = seams.protect(folder / "f", max(int(FOREIGN * scale), 14))
    special = seams.replace_specials(folder / "o", max(round(1 / scale), 1))
    tables = seams.feed(folder / "t")
    asked = seams.ask(folder / "r", REQUEST)
    for wrong in (*foreign["wrong"], *special["wrong"], *tables["wrong"], *asked["wrong"]):
        print(f"  {wrong}")  # noqa: T201
    is_well = row("foreign files met", foreign["tried"], "changed", foreign["changed"])
    unavailable = (
        f"device files that cannot be made here {special['unavailable']}"
        if special["unavailable"]
        else ""
    )
    is_well &= row(
        "FIFOs, sockets, devices", special["tried"], "changed", special["changed"], unavailable
    )
    n_bad = special["slow"] + special["failed"]
    is_well &= row("  of them", special["tried"], "hangs, other bytes, crashes", n_bad)
    most = f"at most {tables['megabytes']:,} MB ({tables['worst']})"
    is_well &= row("small files read", tables["tried"], "over 1 GB", tables["large"], most)
    is_well &= row(
        "  of them", tables["tried"], "hangs, crashes", tables["slow"] + tables["crashed"]
    )
    longest = (
        f"longest {asked['seconds']:.2f} s ({asked['worst']}), unanswered {asked['unanswered']}"
    )
    return is_well & row(
        "hostile requests sent", asked["tried"], "block /healthz", asked["blocked"], longest
    )


def _fuzzers(runs: int) -> bool:
    start = time.monotonic()
    try:
        import atheris  # noqa: F401

        command = [sys.executable, str(FUZZ), "all", str(runs)]
    except ImportError:
        command = [sys.executable, str(FUZZ), "replay", str(runs // 100)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout, end="")  # noqa: T201
    is_bad = int(done.returncode != 0)
    n_targets = len(list((FUZZ / "corpus").iterdir()))
    return row("fuzzers", n_targets, "crashed", is_bad, f"{time.monotonic() - start:.0f} s")


def main(what: str = "100000", number: str = "1", every: str = "1") -> int:
    """Run the parts that the arguments name."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found: Any
        if what == "kills":
            found = kills.killed(folder, int(number), stride=int(every))
        elif what == "flips":
            found = artifacts.flipped(folder, int(number))
        elif what == "models":
            found = models.attack(folder, int(number), int(every))
        elif what == "races":
            found = races.race(folder, int(number))
        elif what == "texts":
            found = list(texts.fed(folder, int(number)))
        elif what == "foreign":
            found = seams.protect(folder, int(number))
        elif what == "outputs":
            found = seams.replace_specials(folder, int(number))
        elif what == "tables":
            found = seams.feed(folder, int(number))
        elif what == "requests":
            found = seams.ask(folder, int(number))
        else:
            return int(not everything(folder, int(what)))
        print(json.dumps(found))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

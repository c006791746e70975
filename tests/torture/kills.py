"""Commands killed (SIGKILL) at many moments: the old output is whole afterwards, or the new one."""

import atexit
import os
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

TOP = Path(__file__).parents[2]
sys.path.insert(0, str(TOP / "tests" / "processes"))
from forking import Forker  # noqa: E402

KILL = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import killing; killing.kill_at({{}})"
LETTERS = TOP / "corpora" / "letters"
OLD = b"what was there before" * 1000
MAX_STEPS = 200


class Job(NamedTuple):
    """A command that writes `output`, from the files of its folder."""

    name: str
    command: str
    output: str = "new.joblib"

    @property
    def arguments(self) -> list[str]:
        return self.command.split()


JOBS = [
    Job("train", f"train {LETTERS}/train --force -o new.joblib"),
    Job("vectorize", f"vectorize {LETTERS}/train --force -o new.npz", "new.npz"),
    Job("predict", f"predict {LETTERS}/test -m letters.joblib --force -o new.tsv", "new.tsv"),
    Job("update", f"update letters.joblib {LETTERS}/test --force -o new.joblib"),
    Job("update-in-place", f"update old.joblib {LETTERS}/test", "old.joblib"),
    Job("merge", "merge letters.joblib test.joblib --force -o new.joblib"),
]


def killed(folder: Path, n_delays: int, stride: int = 1) -> dict[str, Any]:
    """Kill every command there is at `n_delays` moments of its life, and at each step of writing
    its output.

    stride   above 1: only at every so manieth step, beginning with another one for each command
    returns  points (moments tried), lost (outputs neither old nor new), left (temporary files that
             stayed), commands
    """
    figures: dict[str, Any] = {
        "points": 0,
        "lost": 0,
        "left": 0,
        "old": 0,
        "new": 0,
        "commands": [],
    }
    run_nbtext(["train", str(LETTERS / "train"), "-o", "letters.joblib"], folder).check_returncode()
    run_nbtext(["train", str(LETTERS / "test"), "-o", "test.joblib"], folder).check_returncode()
    known = run_nbtext(["--help"], folder).stdout
    for number, job in enumerate(JOBS):
        if f" {job.arguments[0]} ".encode() in known:
            figures["commands"].append(job.name)
            _kill_job(job, folder, n_delays, range(1 + number % stride, MAX_STEPS, stride), figures)
    return figures


def _kill_job(job: Job, folder: Path, n_delays: int, steps: range, figures: dict[str, Any]) -> None:
    output = folder / job.output
    old = (folder / "letters.joblib").read_bytes() if job.output == "old.joblib" else OLD
    output.write_bytes(old)
    start = time.monotonic()
    run_nbtext(job.arguments, folder).check_returncode()
    seconds = time.monotonic() - start
    new = output.read_bytes()
    before = set(os.listdir(folder))

    def judge() -> None:
        found = output.read_bytes() if output.exists() else b""
        figures["points"] += 1
        figures["old"] += found == old
        figures["new"] += found == new
        figures["lost"] += found not in (old, new)
        for name in set(os.listdir(folder)) - before:
            figures["left"] += 1
            (folder / name).unlink()
        output.write_bytes(old)

    output.write_bytes(old)
    for number in range(n_delays):
        run_nbtext(job.arguments, folder, kill_after=1.05 * seconds * (number + 0.5) / n_delays)
        judge()
    _kill_at_steps(job, folder, steps, judge)


def _kill_at_steps(job: Job, folder: Path, steps: range, judge: Any) -> None:
    for step in steps:
        done = run_nbtext(job.arguments, folder, before=KILL.format(step))
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done
        judge()
    else:
        raise AssertionError("it never ends")


@cache
def forker() -> Forker:
    """Return the process that starts the commands."""
    made = Forker()
    atexit.register(made.end)
    return made


def start_nbtext(arguments: list[str], folder: Path, before: str = "") -> subprocess.Popen[bytes]:
    """Start a command in a folder; `before` is Python code that its process runs first."""
    command = [*arguments, *([] if arguments[0].startswith("-") else ["-q"])]
    return forker().popen(
        command, before=before, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def run_nbtext(
    arguments: list[str], folder: Path, *, kill_after: float | None = None, before: str = ""
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end, or kill it after so many seconds."""
    with start_nbtext(arguments, folder, before) as process:
        try:
            out, err = process.communicate(timeout=kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)

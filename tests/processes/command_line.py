"""Fixtures that run nbtext as a user does: the real program, in a fresh folder."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest
from forking import Forker

TOP = Path(__file__).parents[2]
SECONDS = 120  # that a command may take
# small: the memory of what starts a process counts as its own
LAUNCHER = TOP / "tests" / "benchmarks" / "launch.py"
# commands and options of applications that were deleted; see `make core`
DELETED = set(os.environ.get("NBTEXT_DELETED", "").split())


@dataclass(frozen=True)
class Result:
    """The outputs and the exit status of a command."""

    status: int
    out: str
    err: str
    seconds: float = field(default=0, compare=False)  # of CPU; of `nbtext_alone` only
    peak: int = field(default=0, compare=False)  # bytes of memory, as above

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def records(self) -> list[Any]:
        """The JSON lines of the output."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def rows(self) -> list[list[str]]:
        """The rows of CSV, the header included."""
        return list(csv.reader(io.StringIO(self.out, newline="")))

    def ok(self) -> Self:
        """It succeeded."""
        assert self.status == 0, self.err
        return self

    def refused(self, status: int, *parts: str) -> Self:
        """It says in one line, which has all these parts, why it refuses; there is no output."""
        assert (self.status, self.out, self.err.count("\n")) == (status, "", 1), self
        assert self.err.startswith("nbtext: "), self
        for part in parts:
            assert part in self.err
        return self


Run = Callable[..., Result]


def environment_with(**variables: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(TOP), "PYTHONWARNINGS": "error", **variables}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test runs in a folder of its own, `tmp_path`, and so do its commands."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def nbtext_alone() -> Run:
    """What `nbtext` does, by a Python that is started for it."""

    def run(
        *arguments: str, input: bytes = b"", cwd: Path | None = None, **environment: str
    ) -> Result:
        reading, writing = os.pipe()
        with open(reading) as report:
            done = subprocess.run(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    LAUNCHER,
                    str(writing),
                    sys.executable,
                    "-m",
                    "nbtext",
                    *arguments,
                ],
                input=input,
                cwd=cwd,
                env=environment_with(**environment),
                pass_fds=[writing],
                capture_output=True,
                timeout=SECONDS,
                check=True,
            )
            os.close(writing)
            status, _, seconds, peak = report.read().split()
        return Result(
            int(status), done.stdout.decode(), done.stderr.decode(), float(seconds), int(peak)
        )

    return run


@pytest.fixture(scope="session")
def nbtext(forker: Callable[..., Forker]) -> Run:
    """nbtext(*arguments, input=b"", cwd=folder): run the program and give its exit status and
    outputs. One argument alone is a command as it is typed, whose words are separated by blanks.
    """

    def run(
        *arguments: str, input: bytes = b"", cwd: Path | None = None, **environment: str
    ) -> Result:
        words = arguments[0].split() if len(arguments) == 1 else arguments
        if DELETED.intersection(words):
            pytest.skip("its application was deleted")
        given = environment_with(**environment)
        done = forker(given.get("NBTEXT_KERNEL", "")).run(
            list(words), input=input, cwd=cwd, env=given
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture(scope="session")
def on_a_terminal(forker: Callable[..., Forker]) -> Callable[..., str]:
    """on_a_terminal(*arguments, **variables): return what nbtext shows on a terminal with these
    variables.
    """

    def show(*arguments: str, **variables: str) -> str:
        """What it shows on a terminal of 80 columns, both outputs together."""
        if DELETED.intersection(arguments):
            pytest.skip("its application was deleted")
        main, side = pty.openpty()
        environment = environment_with(**{"COLUMNS": "80", "TERM": "xterm"} | variables)
        with forker().popen(
            list(arguments), stdin=subprocess.DEVNULL, stdout=side, stderr=side, env=environment
        ) as process:
            os.close(side)
            shown = b""
            with suppress(OSError):  # the other side is closed
                while piece := os.read(main, 65536):
                    shown += piece
            process.wait(SECONDS)
        os.close(main)
        return shown.decode()

    return show


@pytest.fixture(scope="session")
def letters() -> Path:
    """The demo corpus."""
    return TOP / "corpora" / "letters"


@pytest.fixture(scope="session")
def model(nbtext: Run, letters: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model of the demo corpus."""
    path = str(tmp_path_factory.mktemp("model") / "letters.joblib")
    result = nbtext("train", str(letters / "train"), "--model", "multinomial", "-o", path)
    assert result.status == 0, result.err
    return path

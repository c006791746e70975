"""Runs nbtext as a user does: the real program, in a fresh folder."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]


@dataclass(frozen=True)
class Result:
    """What a command printed and how it ended."""

    status: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture(scope="session")
def nbtext() -> Run:
    """nbtext(*arguments, input=b"", cwd=folder): run the program and give its exit status and outputs."""

    def run(*arguments: str, input: bytes = b"", cwd: Path | None = None, **environment: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "nbtext", *arguments],
            input=input,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(TOP), "PYTHONWARNINGS": "error", **environment},
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture(scope="session")
def on_a_terminal() -> Callable[..., str]:
    """on_a_terminal(command, **variables): what a command shows on a terminal, with these environment variables."""

    def show(command: list[str], **variables: str) -> str:
        """What a command shows on a terminal of 80 columns, both outputs together."""
        main, side = pty.openpty()
        environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm", **variables}
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=side, stderr=side, env=environment) as process:
            os.close(side)
            shown = b""
            while True:
                try:
                    piece = os.read(main, 65536)
                except OSError:  # the other side is closed
                    break
                if not piece:
                    break
                shown += piece
            process.wait()
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
    result = nbtext("train", str(letters / "train"), "-o", path)
    assert result.status == 0, result.err
    return path

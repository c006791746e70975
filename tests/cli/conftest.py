"""Runs nbtext as a user does: the real program, in a fresh folder."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
SECONDS = 120  # that a command may take
READ_LATE = {"COLUMNS", "NBTEXT_KERNEL", "NO_COLOR", "TERM"}  # variables that are nothing to what nbtext imports


@dataclass(frozen=True)
class Result:
    """The outputs and the exit status of a command."""

    status: int
    out: str
    err: str


Run = Callable[..., Result]


def environment_with(**variables: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(TOP), "PYTHONWARNINGS": "error", **variables}


class Forker:
    """A process that has imported nbtext, and is forked for each command, one after the other."""

    def __init__(self, kernel: str) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._orders.settimeout(SECONDS)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, Path(__file__).with_name("forking.py"), str(theirs.fileno())],
                env=environment_with(NBTEXT_KERNEL=kernel, OPENBLAS_NUM_THREADS="1"),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )

    def start(self, arguments: tuple[str, ...], streams: list[int], cwd: Path | None, **variables: str) -> None:
        """Have a command run with these streams, which are closed here."""
        order = {"arguments": arguments, "folder": str(cwd or "."), "environment": environment_with(**variables)}
        socket.send_fds(self._orders, [json.dumps(order).encode()], streams)
        for stream in set(streams):
            os.close(stream)

    def status(self) -> int:
        """How the command ended, once it has."""
        try:
            return int(self._orders.recv(64))
        except TimeoutError:
            self.end()
            raise

    def end(self) -> None:
        """End it, and what it was forked for."""
        self._orders.close()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.fixture(scope="session")
def forker() -> Iterator[Callable[..., Forker]]:
    """forker(**variables): return a process to fork from, which has these environment variables."""
    with ExitStack() as ends:

        @cache
        def with_kernel(kernel: str) -> Forker:
            made = Forker(kernel)
            ends.callback(made.end)
            return made

        yield lambda **variables: with_kernel((os.environ | variables).get("NBTEXT_KERNEL", ""))


@pytest.fixture(scope="session")
def nbtext_alone() -> Run:
    """What `nbtext` does, by a Python that is started for it."""

    def run(*arguments: str, input: bytes = b"", cwd: Path | None = None, **environment: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "nbtext", *arguments],
            input=input,
            cwd=cwd,
            env=environment_with(**environment),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture(scope="session")
def nbtext(forker: Callable[..., Forker], nbtext_alone: Run) -> Run:
    """nbtext(*arguments, input=b"", cwd=folder): run the program and give its exit status and outputs."""

    def run(*arguments: str, input: bytes = b"", cwd: Path | None = None, **environment: str) -> Result:
        if not environment.keys() <= READ_LATE:
            return nbtext_alone(*arguments, input=input, cwd=cwd, **environment)
        process = forker(**environment)
        (stdin, to), (out, stdout), (err, stderr) = (os.pipe() for _ in range(3))
        process.start(arguments, [stdin, stdout, stderr], cwd, **environment)
        with ThreadPoolExecutor(3) as pool:
            pool.submit(fill, to, input)
            shown, said = pool.submit(drain, out), pool.submit(drain, err)
            return Result(process.status(), shown.result().decode(), said.result().decode())

    return run


def fill(pipe: int, content: bytes) -> None:
    with suppress(BrokenPipeError), open(pipe, "wb") as file:
        file.write(content)


def drain(pipe: int) -> bytes:
    with open(pipe, "rb") as file:
        return file.read()


@pytest.fixture(scope="session")
def on_a_terminal(forker: Callable[..., Forker]) -> Callable[..., str]:
    """on_a_terminal(*arguments, **variables): return what nbtext shows on a terminal with these variables."""

    def show(*arguments: str, **variables: str) -> str:
        """What it shows on a terminal of 80 columns, both outputs together."""
        main, side = pty.openpty()
        process = forker(**variables)
        streams = [os.open(os.devnull, os.O_RDONLY), side, side]
        process.start(arguments, streams, None, **{"COLUMNS": "80", "TERM": "xterm"} | variables)
        shown = b""
        with suppress(OSError):  # the other side is closed
            while piece := os.read(main, 65536):
                shown += piece
        process.status()
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

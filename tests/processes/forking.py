"""Starts nbtext within milliseconds: a process that has imported it forks for each command.

What is run is what `python -m nbtext` runs, in a process of its own with its own streams, folder
and environment. The imports alone are shared: what depends on them is tested with a Python of its
own.

`python forking.py SOCKET LIFELINE` is the process that forks. It listens at the path SOCKET, and
ends when the other end of the pipe LIFELINE is closed.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ordering import order_command

TOP = Path(__file__).parents[2]
NBTEXT = [sys.executable, "-m", "nbtext"]
# What nbtext imports does not depend on these variables.
READ_LATE = {"COLUMNS", "NO_COLOR", "PATH", "TERM"}
# imported within functions; the last ones by the service
WITHIN = [
    "jinja2",
    "joblib",
    "rich.box",
    "rich.progress",
    "rich.table",
    "rich.text",
    "scipy.sparse",
    "vl_convert",
    "prometheus_client",
    "starlette.applications",
    "uvicorn.protocols.http.httptools_impl",
]


class Forker:
    """A process that has imported nbtext, and is forked for each command; warnings are errors in
    it.

    Parameters
    ----------
    kernel
        Its NBTEXT_KERNEL; "" for that of this process.
    """

    def __init__(self, kernel: str = "") -> None:
        self._own = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(TOP), "PYTHONWARNINGS": "error"}
        self._environment = {
            **os.environ,
            **self._own,
            **({"NBTEXT_KERNEL": kernel} if kernel else {}),
        }
        self._folder = tempfile.TemporaryDirectory(prefix="nbtext-")
        self._address = str(Path(self._folder.name) / "socket")
        lifeline, self._lifeline = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, __file__, self._address, str(lifeline)],
            env=self._environment,
            pass_fds=[lifeline],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        os.close(lifeline)
        assert self._process.stdout is not None
        with self._process.stdout as ready:
            assert ready.readline() == b"listening\n"

    def popen(
        self, arguments: list[str], *, before: str = "", **options: Any
    ) -> subprocess.Popen[Any]:
        """Return the running command.

        Where the environment has to be known before nbtext is imported, a Python is started for the
        command.

        Parameters
        ----------
        arguments
            What follows `nbtext` on the command line.
        before
            Python code that its process runs first.
        options
            Those of `subprocess.Popen`: the streams and how they are read, cwd, env,
            start_new_session.
        """
        given = {**self._own, **(options.get("env") or os.environ)}
        # scikit-learn and polars, once imported, set KMP and _RJEM variables, which nbtext does not
        # read
        unread = ("KMP_", "PYTEST_", "_RJEM_")
        changed = {
            name
            for name, _ in given.items() ^ self._environment.items()
            if not name.startswith(unread)
        }
        if changed <= READ_LATE:
            return _Forked(self._address, [*NBTEXT, *map(str, arguments)], before, **options)
        assert not before
        return subprocess.Popen([*NBTEXT, *arguments], **options)

    def run(
        self, arguments: list[str], *, input: Any = None, timeout: float = 120, **options: Any
    ) -> subprocess.CompletedProcess[Any]:
        """Run the command to its end, and capture its outputs; the options are those of `popen`."""
        streams = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        if input is not None:
            streams["stdin"] = subprocess.PIPE
        with self.popen(arguments, **{**streams, **options}) as process:
            try:
                out, err = process.communicate(input, timeout)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def write_command(self, folder: Path) -> None:
        """Write the command `nbtext` for shells into a folder; services are started, because shells
        end them.
        """
        kernel = shlex.quote(self._environment.get("NBTEXT_KERNEL", ""))
        ask = shlex.join(
            [sys.executable, "-SE", str(Path(__file__).with_name("ordering.py")), self._address]
        )
        lines = (
            "#!/bin/sh",
            f'[ "$NBTEXT_KERNEL" = {kernel} ] && [ "$1" != serve ] && exec {ask} "$@"',
            f'exec {shlex.join(NBTEXT)} "$@"',
        )
        (folder / "nbtext").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "nbtext").chmod(0o755)

    def end(self) -> None:
        """End it, and what it was forked for."""
        os.close(self._lifeline)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._folder.cleanup()


class _Forked(subprocess.Popen[Any]):
    """A `Popen` whose process is forked elsewhere."""

    max_rss = 0  # KiB, when it has ended

    def __init__(self, address: str, args: list[str], before: str, **options: Any) -> None:
        self._address = address
        self._before = before
        super().__init__(args, **options)

    def _execute_child(self, args: list[str], *options: Any) -> None:
        cwd = options[4]
        env = options[5]
        pipes = options[9:15]
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(self._address)
        self._answers = self._connection.makefile("rb")
        stdin, stdout, stderr = (
            own if pipe < 0 else pipe for own, pipe in enumerate((pipes[0], pipes[3], pipes[5]))
        )
        order_command(
            self._connection,
            args[len(NBTEXT) :],
            (stdin, stdout, stderr),
            folder=os.fsdecode(cwd or os.getcwd()),
            environment=dict(os.environ if env is None else env),
            is_leader=options[-2],
            before=self._before,
        )
        self.pid = int(self._answers.readline())
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and select.select([self._connection], [], [], 0)[0]:
            self._end()
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self._end()
        return self.returncode

    def _end(self) -> None:
        self.returncode, self.max_rss = json.loads(self._answers.readline())
        self._answers.close()
        self._connection.close()


def _import_all() -> None:
    """Import nbtext but for its cluster, which few commands need, and what is imported only within
    functions.
    """
    modules = pkgutil.walk_packages(importlib.import_module("nbtext").__path__, "nbtext.")
    names = [
        module.name
        for module in modules
        if not module.name.startswith(("nbtext.cluster", "nbtext.__main__"))
    ]
    for name in (*names, *WITHIN):
        with contextlib.suppress(ImportError):  # of what is missing the commands tell
            importlib.import_module(name)
    gc.freeze()


def _keep_chart_library(folder: Path) -> None:
    """Have the first page with charts keep their script, which takes a second, in the folder for
    all later ones.
    """
    try:
        from nbtext.report.page import rendering
    except ImportError:
        return
    make = rendering._chart_library
    kept = folder / "charts.js"

    def read() -> str:
        if not kept.exists():
            new = folder / f"charts-{os.getpid()}.js"
            new.write_bytes(make().encode())
            new.rename(kept)
        return kept.read_bytes().decode()

    rendering._chart_library = read


def _serve(listener: socket.socket, lifeline: int) -> dict[str, Any] | None:
    """Fork for each order, and tell how each process ended; return the order in its process, and
    None at the end.
    """
    # processes and the connections of their orders, by pidfd
    running: dict[int, tuple[int, socket.socket]] = {}
    while lifeline not in (ready := select.select([listener, lifeline, *running], [], [])[0]):
        for ended in running.keys() & set(ready):
            process, connection = running.pop(ended)
            os.close(ended)
            _, status, usage = os.wait4(process, 0)
            with connection, contextlib.suppress(OSError):  # nobody waits for it
                connection.sendall(
                    json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss]).encode()
                    + b"\n"
                )
        if listener in ready:
            connection, _ = listener.accept()
            streams, order = _receive(connection)
            if not (process := os.fork()):
                for descriptor in (lifeline, *running):
                    os.close(descriptor)
                for each in (listener, connection, *(other for _, other in running.values())):
                    each.close()
                for number, stream in enumerate(streams):
                    os.dup2(stream, number)
                    os.close(stream)
                return order
            for stream in streams:
                os.close(stream)
            running[os.pidfd_open(process)] = process, connection
            with contextlib.suppress(OSError):
                connection.sendall(b"%d\n" % process)
    return None


def _receive(connection: socket.socket) -> tuple[list[int], dict[str, Any]]:
    """Receive the streams of a command, and its order."""
    size, streams, _, _ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as file:
        return list(streams), json.loads(file.read(int(size)))


def _take_over(
    *, arguments: list[str], folder: str, environment: dict[str, str], is_leader: bool, before: str
) -> None:
    """Become the process that was ordered."""
    if is_leader:
        os.setsid()
    sys.stdout.reconfigure(line_buffering=sys.stdout.isatty())  # type: ignore[union-attr]
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments
    exec(before, {})


def main(address: str, lifeline: str) -> None:
    """Serve orders, or run what was ordered."""
    _import_all()
    _keep_chart_library(Path(address).parent)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        os.write(1, b"listening\n")
        os.dup2(0, 1)
        order = _serve(listener, int(lifeline))
    if order is not None:
        _take_over(**order)
        runpy.run_module("nbtext", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""`nbtext serve`: what it refuses before it listens. What it answers is tested in tests/serve."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nbtext.cli.serve import serve


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("", 2, "Missing option '-m' / '--model-file'; try: nbtext serve --help"),
        ("-m nothing", 1, "nothing: cannot be read: no such file or directory"),
        ("-m t.csv", 1, "t.csv: looks like text, not a model; give the file that nbtext train wrote"),
        ("-m -", 2, "'-' does not name a file; write MODEL or NAME=MODEL"),
        ("-m MODEL -m MODEL", 2, "-m: two models have the name "),
        (
            "-m MODEL --host 0.0.0.0",
            2,
            "--host: 0.0.0.0 is not a loopback address, so requests need a token; give --token-file",
        ),
        ("-m MODEL --host 0.0.0.0 --token-file t.csv", 1, "t.csv:1: is not a token; write one on a line"),
        ("-m MODEL --token-file nothing", 1, "nothing: cannot be read: No such file"),
        ("-m MODEL --host no.such.host.invalid --insecure", 1, "no.such.host.invalid:8000: cannot listen: "),
        ("-m MODEL --port 99999", 2, "--port: 99999 is not a valid value; give a number from 0 to 65,535"),
        ("-m MODEL --timeout 0", 2, "--timeout: 0 is not a valid value"),
    ],
)
def test_refused(nbtext: Any, model: str, tmp_path: Path, arguments: str, status: int, message: str) -> None:
    """One line each."""
    (tmp_path / "t.csv").write_text("text, label\n")
    result = nbtext("serve", *arguments.replace("MODEL", model).split(), cwd=tmp_path)
    assert (result.status, result.out, result.err.count("\n")) == (status, "", 1)
    assert message in result.err


def test_a_port_that_is_taken(nbtext: Any, model: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = nbtext("serve", "-m", model, "--port", str(port))
    assert result.status == 1
    assert result.err == (
        f"nbtext: 127.0.0.1:{port}: cannot listen: address already in use; choose another --port or --host\n"
    )


def test_without_the_extra(nbtext_alone: Any, model: str, tmp_path: Path) -> None:
    """The error names the library and the extra."""
    for name in ("starlette", "prometheus_client", "uvicorn", "httptools"):
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError('no', name='{name}')")
        result = nbtext_alone("serve", "-m", model, PYTHONPATH=f"{tmp_path}:{Path(__file__).parents[2]}")
        (tmp_path / f"{name}.py").unlink()
        assert result.status == 1
        assert result.err == f"nbtext: serve needs {name}; install it with: pip install 'nbtext[serve]'\n"


def test_the_example_works(model: str) -> None:
    """As it can be copied from the help, until it is ended."""
    program, *arguments = serve.example.split()
    assert program == "nbtext"
    process = subprocess.Popen(
        [sys.executable, "-m", "nbtext", *arguments, "--port", "0"], cwd=Path(model).parent, stderr=subprocess.PIPE,
        text=True, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    with process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("serving letters on http://127.0.0.1:")
        process.terminate()
        assert process.wait(timeout=30) == 0

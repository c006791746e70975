"""`nbtext serve`: what it refuses before it listens."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from nbtext.applications.serve.command import serve


def test_a_port_that_is_taken(nbtext: Any, model: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        nbtext(f"serve -m {model} --port {port}").refused(
            1,
            f"127.0.0.1:{port}: cannot listen: address already in use; "
            "choose another --port or --host",
        )


def test_without_the_extra(nbtext_alone: Any, model: str, tmp_path: Path) -> None:
    """The error names the library and the extra."""
    for name in ("starlette", "prometheus_client", "uvicorn", "httptools", "msgspec"):
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError('no', name='{name}')")
        nbtext_alone(
            "serve", "-m", model, PYTHONPATH=f"{tmp_path}:{Path(__file__).parents[3]}"
        ).refused(1, f"serve needs {name}; install it with: pip install 'nbtext[serve]'")
        (tmp_path / f"{name}.py").unlink()


def test_the_example_works(model: str) -> None:
    """As it can be copied from the help, until it is ended."""
    program, *arguments = serve.example.split()
    assert program == "nbtext"
    process = subprocess.Popen(
        [sys.executable, "-m", "nbtext", *arguments, "--port", "0"],
        cwd=Path(model).parent,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    with process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("serving letters on http://127.0.0.1:")
        process.terminate()
        assert process.wait(timeout=30) == 0


def test_no_service_of_something_else(nbtext: Any, tmp_path: Path) -> None:
    """A FIFO in the place of a model is refused at the start."""
    os.mkfifo(tmp_path / "m.joblib")
    nbtext("serve -m m.joblib --port 0").refused(1, "m.joblib: is not a regular file")

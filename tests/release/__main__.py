"""Tries what is to be released: `python tests/release DIST`, DIST holding a wheel with the kernel and a pure one.

Each is installed into an empty environment, and asked in a folder away from the source. Both have to do the demo's
work, and the two models have to be the same, byte for byte.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

LETTERS = Path(__file__).parents[2] / "corpora" / "letters"
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def tried(wheel: Path, folder: Path, kernel: str) -> bytes:
    """The model that an installed wheel trains, after it has evaluated it and been asked."""
    folder.mkdir()
    venv.create(folder / "env")
    subprocess.run([*PIP, "--python", folder / "env" / "bin" / "python", "install", wheel], check=True)
    shutil.copytree(LETTERS, folder / "letters")
    says(folder, "nbtext --version", f"kernel: {kernel}")
    says(folder, "python -c 'import nbtext; print(nbtext.__file__)'", f"{folder}/env/lib")
    says(folder, "nbtext train letters/train -o model.joblib", "336 documents, 6 labels")
    says(folder, "nbtext evaluate letters/test -m model.joblib --fail-under accuracy=0.9", "accuracy\t0.9")
    says(folder, "echo 'the bins were not emptied' | python -m nbtext predict - -m model.joblib", "1\ttrash\t0.9")
    return (folder / "model.joblib").read_bytes()


def says(folder: Path, command: str, expected: str) -> None:
    """Run a command with nothing but the environment's own programs, and look for what it has to say."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NBTEXT"))}
    environment = {**inherited, "PATH": f"{folder}/env/bin{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    printed = done.stdout.decode()
    if done.returncode or expected not in printed:
        sys.exit(f"$ {command}\n{printed}\nexit status {done.returncode}; expected: {expected}")


def main(dist: Path) -> None:
    (pure,) = dist.glob("*-py3-none-any.whl")
    (compiled,) = set(dist.glob("*.whl")) - {pure}
    with tempfile.TemporaryDirectory() as scratch:
        models = {
            tried(compiled, Path(scratch) / "compiled", "compiled"),
            tried(pure, Path(scratch) / "pure", "pure Python (slower)"),
        }
    if len(models) != 1:
        sys.exit(f"{compiled.name} and {pure.name} train different models")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

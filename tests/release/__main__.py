"""Test the wheels of a release: `python tests/release DIST`, where DIST has a wheel with the kernel
and one without.

Each is installed into an empty environment. There the commands of the README have to print what it
shows, in a folder outside the source tree, and both wheels have to train the same model, byte for
byte.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

TOP = Path(__file__).parents[2]
sys.path.insert(0, str(TOP / "tests" / "docs"))
from console import BLOCK, steps  # noqa: E402  a module of the documentation's tests

PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def model_of(wheel: Path, folder: Path, kernel: str) -> bytes:
    """Install a wheel, run the commands of the README, and return the model that they train."""
    folder.mkdir()
    venv.create(folder / "env")
    subprocess.run(
        [*PIP, "--python", folder / "env" / "bin" / "python", "install", "--no-compile", wheel],
        check=True,
    )
    check(folder, "nbtext --version", f"kernel: {kernel}")
    check(folder, "python -c 'import nbtext; print(nbtext.__file__)'", f"{folder}/env/lib")
    for _, language, block in BLOCK.findall((TOP / "README.md").read_text(encoding="utf-8")):
        if language == "console":
            for command, shown in steps(block):
                check(folder, command, shown.strip())
        elif language == "python":
            (folder / "example.py").write_text(block, encoding="utf-8")
            check(folder, "python example.py", "")
    check(folder, "nbtext train letters/train -q -o model.joblib", "")
    return (folder / "model.joblib").read_bytes()


def check(folder: Path, command: str, expected: str) -> None:
    """Run a command with the programs of the environment; exit if it fails or does not print what
    is expected.
    """
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "NBTEXT"))
    }
    environment = {
        **inherited,
        "PATH": f"{folder}/env/bin{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
    }
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    printed = "\n".join(line.rstrip() for line in done.stdout.decode().splitlines())
    if done.returncode or expected not in printed:
        sys.exit(f"$ {command}\n{printed}\nexit status {done.returncode}; expected: {expected}")


def main(dist: Path) -> None:
    (pure,) = dist.glob("*-py3-none-any.whl")
    (compiled,) = set(dist.glob("*.whl")) - {pure}
    with tempfile.TemporaryDirectory() as scratch:
        models = {
            model_of(compiled, Path(scratch) / "compiled", "compiled"),
            model_of(pure, Path(scratch) / "pure", "pure Python (slower)"),
        }
    if len(models) != 1:
        sys.exit(f"{compiled.name} and {pure.name} train different models")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

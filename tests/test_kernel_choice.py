"""The choice between the kernel and plain Python, and its messages."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nbtext.kernel import HAS_KERNEL, MODULE, WHY_PLAIN, kernel_name

TOP = Path(__file__).parents[1]
LETTERS = str(TOP / "corpora" / "letters" / "train")
TRAIN = ("train", LETTERS, "-o", os.devnull)
compiled = pytest.mark.skipif(not HAS_KERNEL, reason="the kernel is not compiled")


def run(
    program: str, *arguments: str, is_missing: bool = False, kernel: str = ""
) -> tuple[int, str, str]:
    """Run a program, where the kernel cannot be imported if it `is_missing`; return its status and
    its outputs.
    """
    block = f"import sys; sys.modules[{MODULE!r}] = None\n" if is_missing else "import sys\n"
    done = subprocess.run(
        [sys.executable, "-c", block + program, *arguments],
        env={**os.environ, "NBTEXT_KERNEL": kernel},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def run_nbtext(*arguments: str, is_missing: bool = False, kernel: str = "") -> tuple[int, str, str]:
    return run(
        "from nbtext.__main__ import main; main()", *arguments, is_missing=is_missing, kernel=kernel
    )


def test_the_kernel_is_what_is_built() -> None:
    """The one extension module is that of pyproject.toml."""
    settings = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert [module["name"] for module in settings["ext-modules"]] == [MODULE]


def test_the_kernel_has_a_name() -> None:
    """As `nbtext --version` shows it."""
    assert kernel_name() == (
        "compiled" if HAS_KERNEL else f"pure Python (slower); the compiled kernel is {WHY_PLAIN}"
    )


def test_a_kernel_that_is_missing_is_not_used() -> None:
    """`--version` and the first slow command say so."""
    status, out, _ = run_nbtext("--version", is_missing=True)
    assert status == 0
    assert out.endswith("kernel: pure Python (slower); the compiled kernel is missing\n")
    status, out, err = run_nbtext(*TRAIN, "--model", "nbsvm", is_missing=True)
    assert (status, out) == (0, "")
    assert err.count("warning") == 1
    assert err.startswith(
        "nbtext: warning: the compiled kernel is missing; pure Python takes several times as long"
    )


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("off", "pure Python (slower); the compiled kernel is switched off by NBTEXT_KERNEL False"),
        ("", "pure Python (slower); the compiled kernel is missing False"),
        (
            "require",
            "SettingsError NBTEXT_KERNEL=require: the compiled kernel (nbtext._kernel) is missing; ",
        ),
    ],
)
def test_without_a_kernel_plain_python_counts_unless_it_is_required(kernel: str, said: str) -> None:
    """And NumPy is not imported to say so."""
    program = (
        "try:\n    from nbtext.kernel import kernel_name; print(kernel_name(), 'numpy' in sys.modules)\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    assert run(program, is_missing=True, kernel=kernel)[1].startswith(said)


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("command", ["train", "predict", "evaluate"])
def test_each_slow_command_says_that_the_kernel_is_missing(command: str, tmp_path: Path) -> None:
    """Once, though several threads count; -q silences it; and somebody who switched it off
    knows.
    """
    assert run_nbtext(*TRAIN[:2], "-q", "-o", str(tmp_path / "m"))[0] == 0
    outputs = {"train": ["-o", os.devnull, "--force"], "predict": ["-m", str(tmp_path / "m")]}
    arguments = [command, LETTERS, "-j", "3", *outputs.get(command, outputs["predict"])]
    said = "nbtext: warning: the compiled kernel is missing; pure Python takes several times as long; install nbtext"
    status, out, err = run_nbtext(*arguments, is_missing=True)
    assert (status, err.count(said), err.count("warning")) == (0, 1, 1)
    for quiet in (
        run_nbtext(*arguments, kernel="off"),
        run_nbtext(*arguments, "-q", is_missing=True),
        run_nbtext(*arguments, kernel="require" if HAS_KERNEL else "off"),
    ):
        assert quiet[:2] == (0, out)
        assert "warning" not in quiet[2]


@compiled
def test_a_kernel_that_is_there_can_be_switched_off(tmp_path: Path) -> None:
    """With NBTEXT_KERNEL=off, no command loads any of its modules."""
    (tmp_path / "t.jsonl").write_text(
        '{"text": "one two", "label": "a"}\n{"text": "three", "label": "b"}\n' * 3
    )
    program = (
        "import os, contextlib, pkgutil, importlib, nbtext, sys\n"
        "from nbtext.cli.main import run_command\n"
        "for line in ('train LETTERS -q -o m', 'train t.jsonl -q --model logistic -o l', 'predict LETTERS -m m -o p',"
        " 'predict t.jsonl -m l -o q.jsonl', 'evaluate LETTERS -m m -o e'):\n"
        "    assert run_command(line.replace('LETTERS', sys.argv[1]).split()) == 0\n"
        "for each in pkgutil.walk_packages(nbtext.__path__, 'nbtext.'):\n"
        "    last = each.name.rpartition('.')[2]\n"
        "    if not last.startswith('_') and last not in ('atheris', 'wheel'): importlib.import_module(each.name)\n"
        "print([name for name, module in sorted(sys.modules.items()) if name.startswith('nbtext')"
        " and (getattr(module, '__file__', None) or '').endswith(('.so', '.pyd'))])"
    )
    inside = f"import os; os.chdir({str(tmp_path)!r})\n"
    status, out, err = run(inside + program, LETTERS, kernel="off")
    assert (status, out) == (0, "[]\n"), err


def test_an_unknown_value_is_an_error_of_the_library() -> None:
    """A misspelled `off` does not leave the kernel switched on."""
    program = "try:\n    from nbtext import TextClassifier\nexcept Exception as error: print(type(error).__name__, error)"
    said = "SettingsError NBTEXT_KERNEL: unknown value 'of'; use off or require, or unset it\n"
    assert run(program, kernel="of")[1] == said


@pytest.mark.parametrize("arguments", [["--version"], TRAIN])
def test_an_unknown_value_is_an_error_of_every_command(arguments: list[str]) -> None:
    """One line, with the status of a wrong option."""
    said = "nbtext: NBTEXT_KERNEL: unknown value 'of'; use off or require, or unset it\n"
    assert run_nbtext(*arguments, kernel="of") == (2, "", said)

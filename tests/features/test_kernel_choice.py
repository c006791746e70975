"""The choice between the kernel and plain Python, and its messages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nbtext.features.kernel import HAS_KERNEL, kernel_name

LETTERS = str(Path(__file__).parents[2] / "corpora" / "letters" / "train")


def test_the_kernel_has_a_name() -> None:
    """As `nbtext --version` shows it."""
    assert kernel_name() == ("compiled" if HAS_KERNEL else "pure Python (slower)")


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ("off", "pure Python (slower)"),
        ("", "pure Python (slower)"),
        ("require", "SettingsError NBTEXT_KERNEL=require: the compiled kernel (extension modules) is missing"),
    ],
)
def test_without_a_kernel_plain_python_counts_unless_it_is_required(wish: str, said: str) -> None:
    """And NumPy is not imported to say so."""
    program = (
        "import sys; sys.modules['nbtext.features._counting'] = None\n"
        "try:\n    from nbtext.features.kernel import kernel_name; print(kernel_name(), 'numpy' in sys.modules)\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, env={**os.environ, "NBTEXT_KERNEL": wish}, capture_output=True, text=True, check=True)
    assert run.stdout.startswith(said)
    assert "True" not in run.stdout


@pytest.mark.skipif(not HAS_KERNEL, reason="the kernel is not compiled")
def test_a_kernel_that_is_there_can_be_switched_off() -> None:
    """NBTEXT_KERNEL=off counts in plain Python all the same."""
    program = (
        "from nbtext.features.counting import score_rows\n"
        "from nbtext.features.kernel import kernel_name\n"
        "print(kernel_name(), score_rows.__module__)"
    )
    command = [sys.executable, "-c", program]
    run = subprocess.run(
        command, env={**os.environ, "NBTEXT_KERNEL": "off"}, capture_output=True, text=True, check=True
    )
    assert run.stdout == "pure Python (slower) nbtext.features.plain\n"


def test_an_unknown_value_is_an_error_of_the_library() -> None:
    """A misspelled `off` does not leave the kernel switched on."""
    program = (
        "try:\n    from nbtext import TextClassifier\nexcept Exception as error: print(type(error).__name__, error)"
    )
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, env={**os.environ, "NBTEXT_KERNEL": "of"}, capture_output=True, text=True, check=True)
    assert run.stdout == "SettingsError NBTEXT_KERNEL: unknown value 'of'; use off or require, or unset it\n"


@pytest.mark.parametrize("arguments", [["--version"], ["train", LETTERS, "-o", os.devnull]])
def test_an_unknown_value_is_an_error_of_every_command(arguments: list[str]) -> None:
    """One line, with the status of a wrong option."""
    command = [sys.executable, "-m", "nbtext", *arguments]
    run = subprocess.run(
        command, env={**os.environ, "NBTEXT_KERNEL": "of"}, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "nbtext: NBTEXT_KERNEL: unknown value 'of'; use off or require, or unset it\n"

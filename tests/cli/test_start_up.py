"""No command imports what it does not need."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nbtext.kernel import HAS_KERNEL

# what only training, searching, explaining, logging or completing needs
UNUSED_BY_PREDICT = set(
    str.split(
        "csv hashlib logging shutil click.shell_completion nbtext.applications "
        "nbtext.bayes.leave_one_out nbtext.bayes.smoothing nbtext.cli.training_options "
        "nbtext.evaluation nbtext.linear nbtext.model.explanation nbtext.model.fitting"
    )
)
UNUSED_BY_TRAIN = set(
    str.split(
        "hashlib shutil click.shell_completion nbtext.applications "
        "nbtext.bayes.binary_relevance nbtext.bayes.label_calibration "
        "nbtext.evaluation.metrics nbtext.evaluation.search nbtext.linear "
        "nbtext.model.several_labels nbtext.model.explanation nbtext.model.predictor"
    )
)


def imported(*arguments: str, input: bytes = b"") -> set[str]:
    """The modules that a command imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "nbtext", *arguments],
        input=input,
        capture_output=True,
        check=False,
    )
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]], ids=str)
def test_help_and_version_import_no_numpy(arguments: list[str]) -> None:
    """`nbtext --help` and `--version` import neither NumPy, SciPy, joblib nor rich."""
    assert not imported(*arguments) & {"numpy", "scipy", "joblib", "rich"}


def test_the_library_is_imported_when_it_is_used() -> None:
    """`import nbtext` alone imports no NumPy; its names are those of the rooms, and no others."""
    said = python(
        "import sys, nbtext; print('numpy' in sys.modules); from nbtext import *;"
        "print(TextClassifier.__module__, Vectorizer.__module__, load_model.__module__, save_model.__module__);"
        "print(set(nbtext.__all__) <= set(dir(nbtext)), hasattr(nbtext, 'load_mdoel'))"
    )
    homes = "nbtext.text_classifier nbtext.features.vectorizer nbtext nbtext"
    assert said.splitlines() == ["False", homes, "True False"]


def python(program: str) -> str:
    """Return what a new Python process prints."""
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    ).stdout


def test_completion_imports_no_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shell completion of a command's name imports neither NumPy nor SciPy."""
    for name, value in (
        ("_NBTEXT_COMPLETE", "bash_complete"),
        ("COMP_WORDS", "nbtext tr"),
        ("COMP_CWORD", "1"),
    ):
        monkeypatch.setenv(name, value)
    assert not imported() & {"numpy", "scipy", "joblib"}


@pytest.mark.skipif(
    not HAS_KERNEL, reason="the kernel is not compiled, so SciPy multiplies the matrices"
)
def test_predicting_one_document_imports_little(model: str) -> None:
    """Predicting a line imports neither SciPy, joblib nor rich."""
    found = imported("predict", "-", "-m", model, input=b"parking\n")
    assert "nbtext.model.predictor" in found
    assert found & {"scipy", "joblib", "rich", *UNUSED_BY_PREDICT} == set()


@pytest.mark.skipif(
    not HAS_KERNEL, reason="the kernel is not compiled, so SciPy multiplies the matrices"
)
def test_training_imports_little(letters: Path, tmp_path: Path) -> None:
    """Training on texts imports neither SciPy, joblib nor rich, and nothing that the other commands
    need only.
    """
    found = imported("train", str(letters / "train"), "-o", str(tmp_path / "model"))
    assert "nbtext.model.fitting" in found
    assert found & {"scipy", "joblib", "rich", *UNUSED_BY_TRAIN} == set()


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("train letters/train -o model --model bernoulli", 0),
        ("predict - -m MODEL --to table", 0),
        ("evaluate letters/test -m MODEL --fail-under accuracy=1", 3),
        ("inspect nothing", 1),
        ("sample", 2),
    ],
)
def test_forked_or_started(
    nbtext: Any,
    nbtext_alone: Any,
    letters: Path,
    model: str,
    tmp_path: Path,
    arguments: str,
    status: int,
) -> None:
    """A forked process gives the same results as a new one, in the same folder."""
    (tmp_path / "letters").symlink_to(letters)
    words = arguments.replace("MODEL", model).split()
    asked = {"input": "the bins, \xe4gain\n".encode(), "cwd": tmp_path, "COLUMNS": "60"}
    forked = nbtext(*words, **asked)
    started = nbtext_alone(*words, **asked)
    assert forked == started
    assert forked.status == status

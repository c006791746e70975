"""The core works without any application, and with those of other packages."""

import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from nbtext.registry import own_applications

TOP = Path(__file__).parents[1]
EXAMPLE = TOP / ".github" / "examples" / "package"
LETTERS = TOP / "corpora" / "letters"
SCORES = """
SELECT label, bias + (
  SELECT sum(weight) FROM weights WHERE label = labels.label AND feature IN ('loud', 'noise')
) FROM labels
"""
NAMES = [each.package.rpartition(".")[2] for each in own_applications()]


@dataclass(frozen=True)
class Installation:
    """Folders from which Python imports nbtext and other packages."""

    folders: tuple[Path, ...]
    scratch: Path

    def start(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run Python with these folders."""
        path = os.pathsep.join(map(str, self.folders))
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=self.scratch,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command of nbtext."""
        return self.start("-W", "error", "-m", "nbtext", *arguments)

    def ok(self, *arguments: str | Path) -> str:
        """Run a command that succeeds; return its output."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def import_everything(self) -> None:
        """Import each module of the package."""
        root = self.folders[0]
        paths = (path.relative_to(root) for path in (root / "nbtext").rglob("*.py"))
        modules = [".".join(path.with_suffix("").parts) for path in paths]
        wanted = [name for name in modules if "wheel" not in name and "__main__" not in name]
        program = f"import importlib\nfor name in {wanted!r}: importlib.import_module(name)"
        done = self.start("-c", program)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def copied(tmp_path: Path) -> Iterator[Path]:
    """A folder with a copy of the package, which may be changed."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(TOP / "nbtext", tmp_path / "copy" / "nbtext", ignore=ignored)
    yield tmp_path / "copy"
    shutil.rmtree(tmp_path / "copy")


@pytest.mark.parametrize("deleted", [*NAMES, "all"])
def test_what_is_left_works_without_an_application(
    copied: Path, tmp_path: Path, deleted: str
) -> None:
    """All modules are imported, the main job gives the same model, and the help names no command
    and no option of the application.
    """
    names = NAMES if deleted == "all" else [deleted]
    applications = [each for each in own_applications() if each.package.split(".")[-1] in names]
    gone = [command for each in applications for command in each.commands]
    for name in names:
        folder = copied / "nbtext" / "applications" / name
        shutil.rmtree(folder)
        (folder / "__pycache__").mkdir(parents=True)  # as git leaves it
    rest = Installation((copied,), tmp_path)
    whole = Installation((TOP,), tmp_path)
    rest.import_everything()
    rest.ok("train", LETTERS / "train", "-q", "-o", "rest.joblib")
    whole.ok("train", LETTERS / "train", "-q", "-o", "whole.joblib")
    assert (tmp_path / "rest.joblib").read_bytes() == (tmp_path / "whole.joblib").read_bytes()
    for words in (["predict"], ["evaluate", "--to", "json"]):
        job = (*words, LETTERS / "test", "-m", "rest.joblib", "-q")
        assert rest.ok(*job) == whole.ok(*job)
    listed = {line.split()[0] for line in rest.ok("--help").splitlines() if line.startswith("  ")}
    assert not listed & set(gone)
    for name in gone:
        refused = rest.run(name, "--help")
        assert refused.returncode == 2
        assert refused.stderr.startswith(f"nbtext: No such command '{name}'")
    for name in {command for each in applications for command in each.options}:
        assert len(rest.ok(name, "--help")) < len(whole.ok(name, "--help"))


def test_a_folder_without_a_module_is_no_application(copied: Path, tmp_path: Path) -> None:
    """Python writes __pycache__ beside the applications, and leaves it where one was deleted."""
    for folder in ("__pycache__", "gone/__pycache__"):
        (copied / "nbtext" / "applications" / folder).mkdir(parents=True)
    assert "train" in Installation((copied,), tmp_path).ok("--help")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the example of CONTRIBUTING.md was installed."""
    folder = tmp_path_factory.mktemp("packages")
    source = folder / "source"
    shutil.copytree(EXAMPLE, source)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--no-compile"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder / "site")]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def test_a_command_of_another_package(installed: Path, tmp_path: Path) -> None:
    """It is listed, helped and run like those of nbtext; the demo has 56 letters of each label."""
    both = Installation((TOP, installed), tmp_path)
    assert "  labels " in both.ok("--help")
    assert "Usage: nbtext labels [OPTIONS] MODEL" in both.ok("labels", "-h")
    both.ok("train", LETTERS / "train", "-q", "-o", "m.joblib")
    assert both.ok("labels", "m.joblib").splitlines()[:2] == ["noise\t56", "parking\t56"]
    records = json.loads(both.ok("labels", "m.joblib", "--to", "json"))
    assert {"label": "trash", "documents": 56} in records
    refused = both.run("labels", LETTERS / "train" / "trash" / "001.txt")
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1


def test_an_exporter_of_another_package(installed: Path, tmp_path: Path) -> None:
    """It is helped and chosen by its suffix, and a query computes the probabilities."""
    both = Installation((TOP, installed), tmp_path)
    both.ok("train", LETTERS / "train", "--no-calibrate", "-q", "-o", "m.joblib")
    assert "sql: Statements" in both.ok("export", "--help")
    both.ok("export", "m.joblib", "-o", "m.sql")
    (tmp_path / "t.txt").write_text("loud noise\n")
    (record,) = json.loads(both.ok("predict", "t.txt", "-m", "m.joblib", "--to", "json"))
    database = sqlite3.connect(":memory:")
    database.executescript((tmp_path / "m.sql").read_text())
    found = dict(database.execute(SCORES))
    database.close()
    total = sum(map(math.exp, found.values()))
    assert record["probability"] == pytest.approx(math.exp(found[record["label"]]) / total)


def test_a_command_that_another_one_has(installed: Path, tmp_path: Path) -> None:
    """A package cannot replace a command: `nbtext --help` says in one line which one it is."""
    taken = tmp_path / "taken"
    shutil.copytree(installed, taken)
    record = taken / "nbtext_labels" / "__init__.py"
    record.write_text(record.read_text().replace('"labels": Command', '"train": Command'))
    both = Installation((TOP, taken), tmp_path)
    refused = both.run("--help")
    assert (refused.returncode, refused.stderr) == (
        1,
        "nbtext: nbtext_labels: there is another command 'train'\n",
    )
    both.ok("train", LETTERS / "train", "-q", "-o", "m.joblib")


def test_a_record_of_another_kind(installed: Path, tmp_path: Path) -> None:
    """What an entry point names must be an `Application`."""
    wrong = tmp_path / "wrong"
    shutil.copytree(installed, wrong)
    (wrong / "nbtext_labels" / "__init__.py").write_text("APPLICATION = 1\n")
    refused = Installation((TOP, wrong), tmp_path).run("--help")
    assert refused.returncode == 1
    assert refused.stderr == "nbtext: nbtext_labels:APPLICATION is not an Application of nbtext\n"

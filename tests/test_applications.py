"""The core works without any application, and with those of other packages."""

import json
import math
import os
import re
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
OPTIONS = {  # of the core or of several commands, which need an application
    "keywords": ("--keywords",),
    "unlabeled": ("--em",),
    "vectors": ("--vectors", "word vectors"),
}
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
    offered = {f"nbtext {name}" for name in gone} | {
        option for name in names for option in OPTIONS.get(name, ())
    }
    helps = [rest.ok(*words, "--help") for words in ((), ("train",), ("evaluate",))]
    helps += [] if "label" in names else [rest.ok("label", "--help")]
    (tmp_path / "d.csv").write_text("text,label\n" + "red apple,a\nblue sky,b\n" * 30)
    helps += [rest.run("train", "d.csv", "-o", "d.joblib").stderr]
    helps += [rest.run("train", "d.csv", "--unlabeled", "d.csv", "-o", "d.joblib").stderr]
    assert [text for text in helps for word in offered if re.search(rf"{word}\b", text)] == []
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


MODULES = {  # of an extension; a record names them
    "command.py": "import not_there\n",
    "settings.py": """
import dataclasses
from typing import Optional, Union
from nbtext.records import frozen
from nbtext.settings import Settings, setting, shorthand

@frozen(kw_only=True)
class Loud(Settings):
    NAME_loud: bool = setting(False, "Be loud.")
    NAME_times: int | None = setting(None, "How often.", low=1, metavar="N")
    NAME_share: Optional[float] = setting(None, "A share.", metavar="P")
    NAME_sure: Union[bool, None] = setting(None, "Be sure.")
    NAME_word: "str" = setting("a", "A word.", metavar="TEXT")

@frozen(kw_only=True)
class Model(Settings):
    model: str = setting("", "Another model.")
""",
    "training.py": """
import json, sys

def train(settings, given):
    from nbtext.artifact.model import load_model_file
    json.dump({name[2:]: value for name, value in vars(settings).items()}, sys.stdout)
    return load_model_file("m.joblib")
""",
}


def write_extension(folder: Path, name: str, record: str, **changed: str) -> Path:
    """Write an installed package with an application; the names of its options begin with its own
    name.
    """
    package = folder / name
    package.mkdir(parents=True)
    for file, code in (MODULES | changed).items():
        (package / file).write_text(code.replace("NAME", name))
    imports = "from nbtext.registry import *\nfrom nbtext.registry import Added, CommandLine\n"
    (package / "__init__.py").write_text(imports + record + "\n")
    metadata = folder / f"{name}-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        f"[nbtext.applications]\n{name} = {name}:APPLICATION\n"
    )
    return folder


RECORD = "APPLICATION = Application(__package__, {})"
COMMAND = 'CommandLine("Use elsewhere", "Do it.", "command:x")'


UNUSABLE = [
    ("import not_there", "x:APPLICATION: cannot be imported (ModuleNotFoundError"),
    ("raise SystemExit(0)", "x:APPLICATION: cannot be imported (SystemExit: 0)"),
    ("APPLICATION = 1", "x:APPLICATION: 1 is not of the type Application"),
    ("", "x:APPLICATION: cannot be imported (AttributeError"),
    ("RECORD finders={}", "unexpected keyword argument 'finders'); install it again"),
    ('RECORD commands={"x": "command:x"}', "'command:x' is not of the type Command"),
    ('RECORD commands={"serve": COMMAND}', "x: there is another command 'serve'"),
    ('RECORD commands={"train": COMMAND}', "x: there is another command 'train'"),
    ('RECORD exporters={"csv": "sql:SQL"}', "x: there is another exporter 'csv'"),
    ('RECORD exporters={"x": "sql:SQL"}', "x.sql:SQL: cannot be imported (Module"),
    ('RECORD options={"train": Added("no:A", "no:b")}', "x.no:A: cannot be imported"),
    (
        'RECORD options={"train": Added("settings:Model", "training:train")}',
        "x: train has another option --model",
    ),
    (
        'RECORD options={"merge": Added("settings:Loud", "training:train")}',
        "x: merge takes no options of applications",
    ),
]


@pytest.mark.parametrize(("code", "named"), UNUSABLE)
def test_an_extension_that_cannot_be_used(tmp_path: Path, code: str, named: str) -> None:
    """One line names it where it would be asked, and everything else works."""
    code = code.replace("COMMAND", COMMAND)
    record = RECORD.format(code[7:]) if code.startswith("RECORD") else code
    folder = write_extension(tmp_path / "site", "x", record)
    both = Installation((TOP, folder), tmp_path)
    said = []
    for words, status in (
        (("--help",), 0),
        (("train", "--help"), 0),
        (("merge", "--help"), 0),
        (("export", "--help"), 0),
        (("trian",), 2),
        (("train", "--modle", "svm", LETTERS), 2),
    ):
        done = both.run(*words)
        assert done.returncode == status, done.stderr
        assert "internal error" not in done.stderr
        lines = done.stderr.splitlines()
        said += [line for line in lines if line.startswith("nbtext: warning: left out: ")]
        assert len(lines) - (status == 2) == sum(named in line for line in lines) <= 1
        assert status == 2 or done.stdout.startswith("Usage: nbtext")
    assert said
    both.ok("train", LETTERS / "train", "-q", "-o", "m.joblib")


def test_a_command_that_cannot_be_imported(tmp_path: Path) -> None:
    """It is refused in one line; the list of commands needs no module of it."""
    record = RECORD.format(f'commands={{"x": {COMMAND}, "y": {COMMAND}}}')
    folder = write_extension(tmp_path / "site", "ext", record)
    both = Installation((TOP, folder), tmp_path)
    assert "  x " in both.ok("--help")
    for words in (("x",), ("help", "x"), ("y", "--help")):
        refused = both.run(*words)
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
        assert refused.stderr.startswith("nbtext: ext.command:")
        assert "No module named 'not_there'); install it again" in refused.stderr
    (folder / "ext" / "command.py").write_text("x = len\n")
    assert both.run("x").stderr.endswith(" is not of the type Command\n")


def test_options_of_extensions(tmp_path: Path) -> None:
    """Their types are those of the record, whose annotations need not be texts. Each step is taken,
    or the combination is refused by name.
    """
    record = RECORD.format('options={"train": Added("settings:Loud", "training:train")}')
    for name in ("a", "b"):
        write_extension(tmp_path / "site", name, record)
    both = Installation((TOP, tmp_path / "site"), tmp_path)
    both.ok("train", LETTERS / "train", "-q", "-o", "m.joblib")
    job = ("train", LETTERS / "train", "-q", "-o", "n.joblib")
    given = ("--a-loud", "--a-times", "3", "--a-share", "0.5", "--no-a-sure")
    assert json.loads(both.ok(*job, *given)) == {
        "loud": True,
        "times": 3,
        "share": 0.5,
        "sure": False,
        "word": "a",
    }
    assert json.loads(both.ok(*job, "--b-word", "1"))["word"] == "1"
    assert "'x' is not a whole number" in both.run(*job, "--a-times", "x").stderr
    assert "--a-times: 0 is not a valid value" in both.run(*job, "--a-times", "0").stderr
    (tmp_path / "k.csv").write_text("noise,loud\ntrash,bins\n")
    for words, where, other in (
        (("--b-loud", "--a-loud"), "--b-loud", "--a-loud"),
        (("--a-loud", "--keywords", "k.csv"), "--a-loud", "--keywords"),
        (("--em", "2", "--a-loud", "--unlabeled", LETTERS / "test"), "--a-loud", "--em"),
    ):
        refused = both.run(*job, *words)
        assert refused.returncode == 2
        expected = f"nbtext: {where}: cannot be combined with {other}, because each of them"
        assert refused.stderr.startswith(expected)


CODE = "import click\nfrom nbtext.applications.export.exporter import Exporter\n"
FAILURES = [
    (
        "x",
        "command",
        'x=click.command("x")(lambda:1/0)',
        "internal error of x (ZeroDivisionError: division",
    ),
    ("train", "training", "train=3", "x.training:train: 3 is not of the type Callable"),
    (
        "train",
        "training",
        "train=lambda*_:None",
        "x.training:train(): None is not of the type TrainedModel",
    ),
    (
        "train",
        "training",
        "train=lambda*_:{}[2]",
        "internal error of x (KeyError: 2); add --verbose",
    ),
    (
        "export",
        "sql",
        'X=Exporter((".x",),"Xs.",1/0,str)',
        "x.sql:X: cannot be imported (ZeroDivisionError",
    ),
    (
        "export",
        "sql",
        'X=Exporter((".x",),"Xs.",None,str)',
        "x.sql:X: None is not of the type Callable",
    ),
    (
        "export",
        "sql",
        'X=Exporter((".x",),"Xs.",lambda*_:{}[3],str)',
        "internal error of x (KeyError: 3)",
    ),
    (
        "export",
        "sql",
        'X=Exporter((".x",),"Xs.",str,lambda*_:None)',
        "x.sql.<lambda>(): None is not of the",
    ),
    (
        "export",
        "sql",
        'X=Exporter((".x",),"Xs.",str,lambda*_:["x"])',
        "x.sql.<lambda>(): 'x' is not of the",
    ),
    (
        "export",
        "sql",
        'X=Exporter((".x",),"Xs.",str,lambda*_:({}[k]for(k)in[5]))',
        "internal error of x (Key",
    ),
]


@pytest.mark.parametrize(("job", "file", "statement", "named"), FAILURES)
def test_an_extension_that_fails(
    tmp_path: Path, job: str, file: str, statement: str, named: str
) -> None:
    """The line names it, whatever of it fails, so that nobody reports it to nbtext."""
    options = 'options={"train": Added("settings:Loud", "training:train")}'
    record = f'commands={{"x": {COMMAND}}}, exporters={{"x": "sql:X"}}, {options}'
    changed = {"sql.py": "from abc import *", f"{file}.py": CODE + statement}
    folder = write_extension(tmp_path / "site", "x", RECORD.format(record), **changed)
    both = Installation((TOP, folder), tmp_path)
    both.ok("train", LETTERS / "train", "-q", "-o", "m.joblib")
    words = {
        "x": "",
        "train": f"{LETTERS}/train -q -o n.joblib --x-loud",
        "export": "m.joblib --to x -o n.x",
    }
    failed = both.run(job, *words[job].split())
    assert failed.returncode != 0
    assert named in failed.stderr.splitlines()[0]
    assert "Traceback" not in failed.stderr
    traced = "Traceback" in both.run(job, *words[job].split(), "--verbose").stderr
    assert traced == (named.startswith("internal") and job != "x")
    assert not list(tmp_path.glob("n.*"))

"""No command destroys a file that it reads, or replaces a file of another kind, and no writer of a
model loses one.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest
from made_files import read_cases

from nbtext import load_model

CSV = "text,label\nred round,apple\nyellow long,banana\ngreen round,apple\n"


@pytest.fixture(scope="module")
def originals(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of two kinds, a folder of documents, two models, and lists of words and costs."""
    folder = tmp_path_factory.mktemp("originals")
    (folder / "d.csv").write_text(CSV)
    (folder / "one.csv").write_text("".join(CSV.splitlines(keepends=True)[:2]))
    (folder / "e.csv").write_text(CSV.replace("green", "blue"))
    for label, text in (("apple", "red round"), ("banana", "yellow long")):
        (folder / "docs" / label).mkdir(parents=True)
        (folder / "docs" / label / "1.txt").write_text(text)
    (folder / "words.txt").write_text("red\nround\nyellow\n")
    (folder / "costs.csv").write_text("true,predicted,cost\napple,banana,5\n")
    for name, source in (("m", "d.csv"), ("n", "e.csv")):
        nbtext(f"train {source} --keep-sample 9 -q -o {name}", cwd=folder).ok()
    nbtext("predict d.csv -m m -o p.tsv", cwd=folder).ok()
    return folder


@pytest.fixture
def folder(originals: Path, tmp_path: Path) -> Path:
    """A copy of them, with links."""
    shutil.copytree(originals, tmp_path, dirs_exist_ok=True)
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "d.csv")
    (tmp_path / "soft.csv").symlink_to("d.csv")
    (tmp_path / "link").symlink_to("docs")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


OUTPUT_IS_INPUT = """train d.csv -o d.csv
train d.csv -o ./d.csv
train d.csv -o docs/../d.csv
train d.csv -o hard.csv
train soft.csv -o d.csv
train d.csv -o soft.csv
train d.csv e.csv -o e.csv
train m --model bernoulli -o m
train d.csv --stop-words words.txt -o words.txt
train d.csv --vocabulary words.txt -o words.txt
train d.csv --unlabeled e.csv --em 2 -o e.csv
train docs -o docs/apple/1.txt
train link -o docs/apple/1.txt
predict d.csv -m m -o d.csv
predict d.csv -m m -o m
predict d.csv -m m --cost costs.csv -o costs.csv
predict docs -m m -o docs/apple/1.txt
vectorize d.csv -o d.csv
vectorize d.csv --stop-words words.txt -o words.txt
evaluate d.csv -m m --report d.csv
evaluate d.csv -m m --report m
evaluate d.csv --predictions p.tsv --report p.tsv
evaluate d.csv --folds 2 --vocabulary words.txt --report words.txt
explain d.csv -m m -o d.csv
explain d.csv -m m -o hard.csv
compare d.csv -m m -m n --report n
compare d.csv --sizes 1 --report d.csv
sample -m m -o m
export m --to csv -o m
update m d.csv -o d.csv
forget m d.csv -o hard.csv
calibrate m d.csv -o soft.csv""".splitlines()


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("command", OUTPUT_IS_INPUT)
@pytest.mark.parametrize("force", [False, True], ids=["", "--force"])
def test_an_output_is_no_input(nbtext: Any, folder: Path, command: str, force: bool) -> None:
    """Whatever the file is called, and --force changes nothing: one line, status 2, and all files
    stay.
    """
    before = contents(folder)
    nbtext(*command.split(), *["--force"] * force).refused(2, "input")
    assert contents(folder) == before


@pytest.mark.parametrize(
    "command", ["predict d.csv -m m", "inspect m", "train d.csv -o -", "explain -m m d.csv"]
)
def test_standard_output_is_no_input(forker: Any, folder: Path, command: str) -> None:
    """`nbtext predict d.csv >> d.csv` does not append to what it reads."""
    target = folder / ("d.csv" if "d.csv" in command else "m")
    before = contents(folder)
    with open(target, "ab") as out:
        done = forker().run(command.split(), stdout=out, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert b"standard output" in done.stderr
    assert contents(folder) == before


def test_standard_input_is_no_output(forker: Any, folder: Path) -> None:
    """`nbtext predict - -o d.csv < d.csv` is the same mistake."""
    before = contents(folder)
    with open(folder / "d.csv", "rb") as file:
        done = forker().run(["predict", "-", "-m", "m", "-o", "d.csv"], stdin=file, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert contents(folder) == before


OTHER_KINDS = [
    row.split(" | ")
    for row in """train d.csv -o e.csv | is not a model
train docs -o e.csv | is not a model
merge m n -o e.csv | is not a model
update m d.csv -o words.txt | is not a model
predict d.csv -m m -o n | is a model
vectorize d.csv -o n | is a model
evaluate d.csv -m m --report n | is a model
explain d.csv -m m -o n | is a model
sample -m m -o n | is a model
export m --to csv -o n | is a model
export m --to csv -o n.joblib | is a model
export m --to joblib --max-model-bytes 9KB -o e.csv | is not a model
export m --max-model-bytes 9KB -o text.joblib | is not a model""".splitlines()
]


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize(("command", "part"), OTHER_KINDS)
def test_a_file_of_another_kind(nbtext: Any, folder: Path, command: str, part: str) -> None:
    """Only --force replaces a file that is not a model by a model, or a model by something else."""
    shutil.copy(folder / "n", folder / "n.joblib")
    shutil.copy(folder / "e.csv", folder / "text.joblib")
    before = contents(folder)
    nbtext(command).refused(2, part, "--force")
    assert contents(folder) == before
    nbtext(*command.split(), "--force").ok()
    assert contents(folder) != before


def test_a_file_of_the_same_kind(nbtext: Any, folder: Path) -> None:
    """A model replaces a model, predictions other predictions, and anything an empty file, as of
    mktemp.
    """
    (folder / "empty").touch()
    for command in (
        "train d.csv -o n --keep-sample 9",
        "train d.csv -o empty",
        "predict d.csv -m m -o p.tsv",
        "merge m n -o m",
        "update m e.csv -o n",
        "update m d.csv",
        "predict docs -m m -o /dev/null",
        "export m --to joblib --max-model-bytes 9KB -o n",
        "export m --max-model-bytes 9KB -o small.joblib",
        "export m --max-model-bytes 8KB -o small.joblib",
    ):
        nbtext(command).ok()


@pytest.mark.parametrize("name", ["out.tsv", "out.jsonl", "apple/out.tsv", "apple/out.jsonl"])
def test_an_output_inside_the_source(nbtext: Any, folder: Path, name: str) -> None:
    """The next run is refused, because nothing tells it from a document; `train` leaves it out by
    --exclude.
    """
    expected = nbtext("predict", "docs", "-m", "m", "--to", name.partition(".")[2]).out
    command = f"predict docs -m m -o docs/{name}"
    nbtext(command).ok()
    result = nbtext(command)
    said = (
        f"nbtext: -o: docs/{name} is an input, a document in SOURCE docs; write to another file\n"
    )
    assert (result.status, result.err) == (2, said)
    assert (folder / "docs" / name).read_text() == expected
    excluded = "--exclude out.*"
    for _ in range(2):
        nbtext(f"train docs -q {excluded} -o docs/apple/model.joblib").ok()
        assert load_model(folder / "docs/apple/model.joblib").counts_.statistics.n_documents == 2


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize(
    "command",
    """predict - -m -
explain - -m -
evaluate - -m -
evaluate - -m /dev/stdin
update - -
merge - -
merge - m -
train - - -o new
train - --unlabeled - --em 2 -o new
compare - -m m -m -
diff - -""".splitlines(),
)
def test_standard_input_is_read_once(nbtext: Any, folder: Path, command: str) -> None:
    """Model and texts cannot both come from it."""
    nbtext(command, input=(folder / "m").read_bytes()).refused(2, "standard input")


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize(
    ("command", "option"),
    read_cases("""
        train d.csv --text-field text --text-field body -o new => --text-field
        train d.csv --stop-words english --stop-words words.txt -o new => --stop-words
        train d.csv -o new -o newer => -o
        predict d.csv -m m -m n => -m
        evaluate d.csv --folds 2 --group-field a --group-field b => --group-field
        evaluate d.csv -m m --fail-under accuracy=0.1 --fail-under macro_f1=0.1 => --fail-under
        compare d.csv --models multinomial --models bernoulli => --models
        explain d.csv -m m --label apple --label banana => --label
        train d.csv --smoothing 1 --smoothing 2 -o new => --smoothing
    """),
)
def test_an_option_that_takes_one_value(
    nbtext: Any, folder: Path, command: str, option: str
) -> None:
    """Given twice it is refused; the last value does not silently win."""
    nbtext(command).refused(2, option, "more than once")
    assert not (folder / "new").exists()


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "nbtext", *arguments], cwd=folder, stderr=subprocess.PIPE
    )


@pytest.mark.parametrize(
    "command",
    """train d.csv -o m
train n -o m
merge m n -o m
update m d.csv
forget m one.csv
calibrate m d.csv
update n d.csv -o m""".splitlines(),
)
def test_every_writer_of_a_model_takes_its_lock(nbtext: Any, folder: Path, command: str) -> None:
    """While another process holds the lock of the file, the command is refused, and the file does
    not change.
    """
    before = contents(folder)
    with open(folder / "m", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = nbtext(command)
    assert (result.status, result.err.count("\n")) == (1, 1), result.err
    assert "another nbtext" in result.err
    assert contents(folder) == before
    nbtext(command).ok()


@pytest.mark.parametrize(
    ("command", "name"),
    read_cases("""
        train - -o m => m
        update m - => m
        update n - -o m => m
        train - -o new => new
    """),
)
def test_a_file_that_changed_meanwhile(forker: Any, folder: Path, command: str, name: str) -> None:
    """If another program replaced the file without a lock, the command fails and reports it; no
    change is lost.
    """
    target = folder / name
    streams = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = forker().popen([*command.split(), "--input-format", "csv"], cwd=folder, **streams)
    process.stdin.write(CSV.encode())
    process.stdin.flush()
    while process.poll() is None and fcntl.ioctl(
        process.stdin, termios.FIONREAD, bytes(4)
    ) != bytes(4):
        time.sleep(0.05)  # until it reads its input
    time.sleep(0.2)
    shutil.copyfile(folder / "n", folder / "copy")
    os.replace(folder / "copy", target)
    other = target.read_bytes()
    _, err = process.communicate()
    assert process.returncode == 1, err
    assert err.count(b"\n") == 1
    assert name.encode() in err
    assert b"changed" in err
    assert target.read_bytes() == other

"""On a terminal, through pipes, and interrupted."""

import re
import select
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NBTEXT = [sys.executable, "-m", "nbtext"]


def test_a_table_on_a_terminal(on_a_terminal: Any, letters: Path, model: str) -> None:
    """Predictions and evaluations are tables there, without being asked."""
    shown = on_a_terminal("evaluate", str(letters / "test"), "-m", model)
    assert "84 documents" in shown
    assert "precision" in shown
    assert "%" in on_a_terminal("predict", str(letters / "test"), "-m", model)


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_no_bar_runs_through_results(
    on_a_terminal: Any, letters: Path, model: str, command: str
) -> None:
    """There is no progress bar if results are printed on the same terminal, because it would erase
    some of them.
    """
    shown = on_a_terminal(command, str(letters / "test"), "-m", model)
    assert shown.count("noise/0") == 14
    assert "\x1b[2K" not in shown
    assert "/84" not in shown


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_color(on_a_terminal: Any, letters: Path, model: str, name: str, value: str) -> None:
    """Colors can be refused, and are shown to no terminal that has none."""
    command = ["evaluate", str(letters / "test"), "-m", model]
    colors = re.compile(r"\x1b\[[0-9;]*3[0-9]")  # of letters
    assert colors.search(on_a_terminal(*command))
    assert not colors.search(on_a_terminal(*command, **{name: value}))


def test_progress(on_a_terminal: Any, letters: Path, tmp_path: Path) -> None:
    """How much is read, how fast, and the time that is left, of files and of one file; it is wiped
    away in the end.
    """
    (tmp_path / "texts.tsv").write_text(
        "text\tlabel\n" + ("red sun " * 40 + "\ta\n" + "blue sea " * 40 + "\tb\n") * 6000
    )
    shown = on_a_terminal("train", str(letters / "train"), "-o", str(tmp_path / "m"))
    assert re.search(r"reading.*336/336.* files.*\d:\d\d:\d\d", shown)
    assert re.search(r"computing.*\d:\d\d:\d\d", shown)  # what follows has no known end
    assert shown.rpartition("\x1b[2K")[2].startswith("complement: 336 documents")
    shown = on_a_terminal("train", str(tmp_path / "texts.tsv"), "-o", str(tmp_path / "m"))
    assert re.search(r"[0-9.]+ .?B.*[0-9.]+ .?B/s.*\d:\d\d:\d\d", shown)


@pytest.mark.parametrize(
    ("command", "phases"),
    [
        ("evaluate {train} --folds 3", ["fold 2 of 3", "fold 3 of 3"]),
        (
            "evaluate {train} --folds 2 --model best",
            ["fold 2 of 2, model 2: stacked, part 2 of 4"],
        ),
        (
            "train {train} -o {m} --unlabeled {test} --em 2",
            ["step 1 of 2 with unlabeled documents"],
        ),
    ],
)
def test_phases(
    on_a_terminal: Any, letters: Path, tmp_path: Path, command: str, phases: list[str]
) -> None:
    """After reading, a computation of several phases says in which one it is."""
    names = {"train": letters / "train", "test": letters / "test", "m": tmp_path / "m"}
    shown = on_a_terminal(*command.format(**names).split())
    for phase in phases:
        assert phase in shown


def test_progress_of_training(on_a_terminal: Any, letters: Path) -> None:
    """Learning curves have a bar for their parts, of which there are sizes times seeds; it can be
    refused.
    """
    command = ["compare", str(letters / "train"), "--sizes", "25,50,100", "--seeds", "3"]
    assert re.search(r"9/9.* parts.*\d:\d\d:\d\d", on_a_terminal(*command))
    assert " parts" not in on_a_terminal(*command, "--quiet")


@pytest.mark.parametrize(
    ("options", "variables"),
    [(["--quiet"], {}), ([], {"TERM": "dumb"}), ([], {"NO_COLOR": "1"})],
)
def test_what_can_be_refused(
    on_a_terminal: Any, letters: Path, tmp_path: Path, options: list[str], variables: dict[str, str]
) -> None:
    """The progress bar, everything, all that a dumb terminal could not obey, and colors."""
    command = ["train", str(letters / "train"), "-o", str(tmp_path / "m"), *options]
    shown = on_a_terminal(*command, **variables)
    assert (" files" in shown) == ("NO_COLOR" in variables)
    assert ("336 documents" in shown) == (options != ["--quiet"])
    assert "\x1b[3" not in shown and "\x1b[38" not in shown
    if "NO_COLOR" not in variables:
        assert "\x1b" not in shown


@pytest.mark.parametrize(
    "name", str.split("predict evaluate inspect explain compare diff sample train")
)
def test_a_dumb_terminal(
    on_a_terminal: Any, letters: Path, model: str, tmp_path: Path, name: str
) -> None:
    """A dumb terminal gets plain text from every command: no escape sequences, no bar, and tables
    that fit.
    """
    some = str(letters / "test" / "trash")
    arguments = {
        "predict": [some, "-m", model],
        "evaluate": [str(letters / "test"), "-m", model],
        "inspect": [model, "--features", "5"],
        "explain": [some, "-m", model, "--features", "3"],
        "compare": [str(letters / "test"), "-m", model, "-m", model],
        "diff": [model, model],
        "sample": ["-m", model, "--length", "5"],
        "train": [some, "-o", str(tmp_path / "m"), "--model", "best"],
    }
    shown = on_a_terminal(name, *arguments[name], TERM="dumb")
    assert shown
    assert "\x1b" not in shown
    if name in ("evaluate", "inspect", "compare", "diff"):
        assert max(map(len, shown.splitlines())) <= 80


def test_verbose_says_when_the_kernel_cannot_help(
    nbtext: Any, letters: Path, tmp_path: Path
) -> None:
    """Whether it is compiled, and once for all threads why words are counted in plain Python."""
    arguments = ["train", str(letters / "train"), "-o", str(tmp_path / "m"), "-q", "-v"]
    slow = nbtext(*arguments, "--token-pattern", r"\w+", "--jobs", "3")
    assert slow.err.splitlines()[0].startswith("nbtext: kernel: ")
    assert slow.err.count("counting in plain Python") == 1
    off = nbtext(*arguments, NBTEXT_KERNEL="off")
    assert (
        "kernel: pure Python (slower); the compiled kernel is switched off by NBTEXT_KERNEL\n"
        in off.err
    )
    assert (
        "counting in plain Python, which is slower: the compiled kernel is switched off" in off.err
    )


def test_a_model_does_not_go_to_a_terminal(on_a_terminal: Any, letters: Path) -> None:
    """Without -o and without a pipe, training asks where the model should go."""
    assert "the result is binary, and standard output is a terminal" in on_a_terminal(
        "train", str(letters / "train")
    )


def test_a_co_process(model: str) -> None:
    """Each line is predicted as soon as it arrives, before the next one is sent."""
    with subprocess.Popen(
        [*NBTEXT, "predict", "-", "-m", model],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line, label in (
            ("my trash was not collected", "trash"),
            ("a parking fine", "parking"),
            ("", "noise"),
        ):
            process.stdin.write(line.encode() + b"\n")
            assert select.select([process.stdout], [], [], 30)[0], "no answer"
            assert process.stdout.readline().decode().split("\t")[1] == label
        process.stdin.close()
        assert process.wait(30) == 0


@pytest.mark.parametrize("command", ["update", "calibrate"])
def test_a_model_that_is_redirected(model: str, letters: Path, command: str) -> None:
    """Standard input may be a file, too; the model of - goes to standard output, and the file stays
    as it is.
    """
    before = Path(model).read_bytes()
    found = []
    for start in (
        f"{model} {letters}/test -o -",
        f"- {letters}/test -q <{model}",
        f"-m - {letters}/test -o - <{model}",
    ):
        line = f"{shlex.join(NBTEXT)} {command} {start}"
        found.append(subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout)
    assert found[0] == found[1] == found[2] != b""
    assert Path(model).read_bytes() == before


@pytest.mark.parametrize(
    "command", ["predict lines.txt -m m -o p.csv", "vectorize lines.txt -o p.npz"]
)
def test_a_line_at_the_end(nbtext: Any, command: str) -> None:
    """It says how many documents went where, but not with --quiet or to standard output."""
    Path("lines.txt").write_text("a red one\na blue one\n")
    Path("d.csv").write_text("text,label\nred round,a\nred,a\nblue long,b\nblue,b\n")
    nbtext("train d.csv -q -o m").ok()
    assert nbtext(command).ok().err.endswith(f"2 documents to {command.rsplit(maxsplit=1)[-1]}\n")
    assert nbtext(f"{command} -q").ok().err == ""
    for options in ("", "--summary -o s.tsv", "--keep a>=0.9 -o k.tsv"):  # not all go there
        assert " documents to " not in nbtext(f"predict lines.txt -m m {options}").ok().err

"""Help: each command says what it does, and ends in an example that does it; man pages and Tab know the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from nbtext.cli.help import example_of, notes_of, takes_sources
from nbtext.cli.main import COMMANDS, cli
from nbtext.cli.manual import pages

CONTEXT = click.Context(cli, info_name="nbtext")
NAMES = cli.list_commands(CONTEXT)


def command_of(name: str) -> click.Command:
    command = cli.get_command(CONTEXT, name)
    assert command is not None
    return command


@pytest.fixture(scope="module")
def folder(nbtext: Any, letters: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the examples speak of."""
    path: Path = tmp_path_factory.mktemp("examples")
    (path / "corpora").symlink_to(letters.parent)
    halves = {name: str(letters / half) for name, half in (("letters", "train"), ("north", "train"), ("south", "test"))}
    for name, source in halves.items():
        assert nbtext("train", source, "-q", "-o", f"{name}.joblib", cwd=path).status == 0
    assert (
        nbtext("train", halves["letters"], "--model", "bernoulli", "-q", "-o", "bernoulli.joblib", cwd=path).status == 0
    )
    assert nbtext("vectorize", halves["letters"], "-q", "-o", "letters.npz", cwd=path).status == 0
    withdrawn = [{"text": file.read_text(), "label": "trash"} for file in sorted(letters.glob("train/trash/*.txt"))[:2]]
    (path / "withdrawn.jsonl").write_text("".join(json.dumps(document) + "\n" for document in withdrawn))
    return path


@pytest.mark.parametrize("name", NAMES)
def test_the_example_works(nbtext_alone: Any, folder: Path, name: str, tmp_path: Path) -> None:
    """As it can be copied from the help, by a Python of its own, which finds all that the command imports."""
    shutil.copytree(folder, tmp_path / "here", symlinks=True)
    program, *arguments = example_of(command_of(name)).split()
    assert (program, arguments[0]) == ("nbtext", name)
    result = nbtext_alone(*arguments, cwd=tmp_path / "here")
    assert result.status == 0, result.err


@pytest.mark.parametrize("name", NAMES)
def test_help(nbtext: Any, name: str) -> None:
    """It begins with what the command does, names every option with its meaning, and ends in the example."""
    shown, command = nbtext(name, "--help", COLUMNS="80").out, command_of(name)
    lines = {name: line for commands in COMMANDS.values() for name, line in commands.items()}
    assert " ".join(shown.split("\n\n")[1].split()).startswith(lines[name].rstrip("."))
    assert shown.rstrip().splitlines()[-2:] == ["Example:", f"  {example_of(command)}"]
    assert ("\nSOURCE:\n" in shown) == takes_sources(command)
    for parameter in command.get_params(click.Context(command, info_name=name)):
        if isinstance(parameter, click.Option):
            assert parameter.help
            assert max(parameter.opts, key=len) in shown
    assert "emory" in notes_of(command)
    assert shown.count("DIR/LABEL/**/FILE") == takes_sources(command)


def test_values_are_shown_as_they_are_typed(nbtext: Any) -> None:
    """A word that is to be typed stands in small letters, and in capitals what it stands for."""
    shown = nbtext("train", "--help", COLUMNS="80").out
    for name in ("--stop-words english|FILE", "--select mi:N|chi2:N", "--smoothing auto|N", "--ngrams N,N"):
        assert name in shown


def test_groups(nbtext: Any) -> None:
    """`nbtext --help` shows the commands in their groups, and how to let Tab complete."""
    shown = nbtext("--help").out
    assert shown.index("\nDo:\n") < shown.index("\nLook:\n")
    assert 'eval "$(_NBTEXT_COMPLETE=bash_source nbtext)"' in shown


def completed(*words: str) -> list[str]:
    """What Tab offers after these words, of which the last is not complete."""
    environment = {
        "_NBTEXT_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "nbtext"], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.split()]


def test_tab(model: str) -> None:
    """Completes commands, options, formats, models between commas, and the labels of the model that is named."""
    assert completed("nbtext", "exp") == ["explain", "export"]
    assert completed("nbtext", "train", "--smoo") == ["--smoothing"]
    assert completed("nbtext", "predict", "--to", "js") == ["jsonl", "json"]
    assert completed("nbtext", "train", "--input-format", "f") == ["files", "fasttext"]
    assert completed("nbtext", "compare", "x", "--models", "multinomial,be") == ["multinomial,bernoulli"]
    assert completed("nbtext", "explain", "x", "-m", model, "--against", "t") == ["taxes", "trash"]
    assert completed("nbtext", "inspect", model, "--label", "n") == ["noise"]
    assert completed("nbtext", "inspect", "missing.joblib", "--label", "n") == []


def test_the_line_for_bash() -> None:
    """It defines a completion for nbtext."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", 'eval "$(_NBTEXT_COMPLETE=bash_source nbtext)"; complete -p nbtext'],
        env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "nbtext" in done.stdout


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_line_for_other_shells(nbtext: Any, shell: str) -> None:
    """It gives a script; where the shell is there, one that it understands."""
    script = nbtext(_NBTEXT_COMPLETE=f"{shell}_source").out
    assert "_NBTEXT_COMPLETE" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_man_pages(tmp_path: Path) -> None:
    """One for nbtext and for each command, with every option; roff has nothing to complain of."""
    made = dict(pages())
    assert list(made) == ["nbtext.1", *(f"nbtext-{name}.1" for name in NAMES)]
    for name in NAMES:
        page = made[f"nbtext-{name}.1"]
        for parameter in command_of(name).params:
            if isinstance(parameter, click.Option):
                assert max(parameter.opts, key=len).replace("-", "\\-") in page
        assert example_of(command_of(name)).replace("-", "\\-") in page
        assert not [line for line in page.splitlines() if line.startswith("'")]
    if shutil.which("groff"):
        for name, page in made.items():
            done = subprocess.run(
                ["groff", "-man", "-ww", "-z", "-Kutf8"], input=page, capture_output=True, text=True, check=True
            )
            assert done.stderr == "", f"{name}: {done.stderr}"

"""Help: each command says what it does, and ends in an example that does it; Tab knows the same."""

import os
import re
import shutil
import subprocess
import sys
from collections import ChainMap
from pathlib import Path
from typing import Any

import click
import pytest
from command_line import DELETED
from made_files import read_cases, write_rows

from nbtext.cli.command import TOPICS, Command, Option
from nbtext.cli.main import CORE_COMMANDS, cli
from nbtext.registry import group_commands
from nbtext.settings import list_all_settings, type_of_values

CONTEXT = click.Context(cli, info_name="nbtext")
NAMES = cli.list_commands(CONTEXT)


def command_of(name: str) -> Command:
    command = cli.get_command(CONTEXT, name)
    assert isinstance(command, Command)
    return command


def flags_in(shown: str) -> set[str]:
    """Return the long names of the options that a help lists."""
    heads = re.findall(r"^  ((?:-[\w-]+(?:, | / )?)+)", shown, re.MULTILINE)
    return set(re.findall(r"--?[\w-]+", " ".join(heads)))


@pytest.fixture(scope="module")
def folder(nbtext: Any, letters: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files that the examples name."""
    path: Path = tmp_path_factory.mktemp("examples")
    (path / "letters").symlink_to(letters)
    halves = {
        name: str(letters / half)
        for name, half in (("letters", "train"), ("north", "train"), ("south", "test"))
    }
    for name, source in halves.items():
        nbtext(f"train {source} --model multinomial -q -o {name}.joblib", cwd=path).ok()
    nbtext(
        "train", halves["letters"], "--model", "bernoulli", "-q", "-o", "bernoulli.joblib", cwd=path
    ).ok()
    nbtext("vectorize", halves["letters"], "-q", "-o", "letters.npz", cwd=path).ok()
    withdrawn = [
        {"text": file.read_text(), "label": "trash"}
        for file in sorted(letters.glob("train/trash/*.txt"))[:2]
    ]
    write_rows(path / "withdrawn.jsonl", withdrawn)
    return path


@pytest.mark.exhaustive(every=3)
# these run on
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("serve", "label")])
def test_the_example_works(nbtext_alone: Any, folder: Path, name: str, tmp_path: Path) -> None:
    """The example of the help can be copied and run, by a new process that imports what the command
    needs.
    """
    shutil.copytree(folder, tmp_path / "here", symlinks=True)
    program, *arguments = command_of(name).example.split()
    assert (program, arguments[0]) == ("nbtext", name)
    nbtext_alone(*arguments, cwd=tmp_path / "here").ok()


@pytest.mark.parametrize("name", NAMES)
def test_help(nbtext: Any, name: str) -> None:
    """It begins with what the command does, names every option with its meaning, and ends in the
    example.
    """
    shown = nbtext(f"{name} --help", COLUMNS="80").out
    command = command_of(name)
    lines = ChainMap(*group_commands(CORE_COMMANDS).values())
    kinds = {
        field.name: type_of_values(own, field)
        for own, field, _ in list_all_settings(command.record)
    }
    assert " ".join(shown.split("\n\n")[1].split()).startswith(lines[name].rstrip("."))
    assert shown.rstrip().splitlines()[-2:] == ["Example:", f"  {command.example}"]
    for parameter in command.get_params(click.Context(command, info_name=name)):
        if isinstance(parameter, Option):
            if parameter.name in kinds:
                assert parameter.is_flag == (kinds[parameter.name] is bool)
            assert parameter.help[0].isupper() and parameter.help.rstrip().endswith((".", ")"))
            assert not re.match(r"[\w-]+(, [\w-]+)*: ", parameter.help), (
                "it begins with a name of its condition"
            )
            assert (parameter.flag in flags_in(shown)) != (parameter.title in command.referred)
            if parameter.title in command.referred:
                topic = next(name for name in TOPICS if TOPICS[name].title == parameter.title)
                assert f"`nbtext help {topic}`" in " ".join(shown.split())
    assert "emory" in command.notes
    assert shown.count("DIR/LABEL/**/FILE") == command.takes_sources


@pytest.mark.parametrize("name", NAMES)
def test_short_help(nbtext: Any, name: str) -> None:
    """`-h` has at most 24 lines of options on a terminal of 80 columns, and all of it fits on a
    screen.
    """
    shown = nbtext(f"{name} -h", COLUMNS="80")
    assert (shown.status, shown.err) == (0, "")
    options = shown.out.partition("\nOptions:\n")[2].partition("\n\n")[0].splitlines()
    assert 2 <= len(options) <= 24
    assert len(shown.out.splitlines()) <= 40
    assert max(map(len, shown.out.splitlines())) <= 82
    flags = {flag for parameter in command_of(name).params for flag in parameter.opts}
    assert set(command_of(name).common) <= flags
    assert f"`nbtext {name} --help` shows all options." in shown.out
    assert command_of(name).example in shown.out


def test_nbtext_alone(nbtext: Any) -> None:
    """It prints the help, and succeeds."""
    assert nbtext(COLUMNS="80").ok() == nbtext("--help", COLUMNS="80")


def test_order_of_commands(nbtext: Any) -> None:
    """Commands are shown in the order in which people meet them."""
    assert NAMES[:3] == ["train", "predict", "evaluate"]
    groups = ["Train and predict", "Inspect and compare", "Change a model", "Use elsewhere"]
    assert list(group_commands(CORE_COMMANDS)) == groups[: len(group_commands(CORE_COMMANDS))]


@pytest.mark.parametrize(
    "command",
    """inspect {}
sample {}
export {} --to csv -o -
update {} t.csv -o x --force
calibrate {} t.csv -o x --force""".splitlines(),
)
def test_a_model_is_an_argument_or_an_option(
    nbtext: Any, model: str, tmp_path: Path, command: str
) -> None:
    """MODEL and -m MODEL mean the same in all commands that take one model; without any, the error
    says so.
    """
    (tmp_path / "t.csv").write_text("text,label\nthe bins,trash\n")
    (tmp_path / "m").write_bytes(Path(model).read_bytes())
    name, _, *others = command.split()
    expected = nbtext(name, "m", *others).ok()
    assert nbtext(name, "-m", "m", *others) == expected
    assert nbtext(name, *others, "--model-file", "m") == expected
    nbtext(name).refused(2, "Missing argument")


@pytest.mark.exhaustive(every=5)
@pytest.mark.parametrize(
    ("command", "start"),
    [
        ("predict t.csv -m m -o x.jsonl", b'{"id"'),
        ("predict t.csv -m m -o x.md", b"| id"),
        ("predict t.csv -m m -o x", b"t.csv:2\t"),
        ("predict t.csv -m m -o x.jsonl --to tsv", b"t.csv:2\t"),
        ("evaluate t.csv -m m -o x.json", b"{"),
        ("explain t.csv -m m -o x.html", b"<!"),
        ("sample m -o x.csv", b"label,text"),
        ("vectorize t.csv -o x.mtx", b"%%MatrixMarket"),
        ("vectorize t.csv -o x", b"PK"),
        ("export m -o x.mjs", b"export"),
        ("predict t.csv -m m -o x.jsonl.gz", b"\x1f\x8b"),
        ("inspect m -o x.json.bz2", b"BZh"),
        ("sample m -o x.csv.xz", b"\xfd7zXZ"),
    ],
)
def test_the_suffix_implies_the_format(
    nbtext: Any, model: str, tmp_path: Path, command: str, start: bytes
) -> None:
    """`-o x.jsonl` writes JSON lines; --to wins, and without either it is as before."""
    (tmp_path / "t.csv").write_text("text,label\nthe bins,trash\nthe taxes,taxes\n")
    (tmp_path / "m").write_bytes(Path(model).read_bytes())
    assert nbtext(command).ok().out == ""
    (output,) = tmp_path.glob("x*")
    assert output.read_bytes().startswith(start)


def test_no_format_for_the_suffix(nbtext: Any, model: str, tmp_path: Path) -> None:
    """Export must know the format; a result is TSV in a file of any name, and what --to says in
    each file.
    """
    nbtext(f"export {model} -o x").refused(
        2, "--to: is needed, because the suffix of -o does not name a format"
    )
    (tmp_path / "t.csv").write_text("text,label\nthe bins,trash\n")
    for name, more in (("x", ()), ("x.out", ()), ("x.tab", ()), ("x.parquet", ("--to", "tsv"))):
        nbtext("predict", "t.csv", "-m", model, "-o", name, *more).ok()
        assert (tmp_path / name).read_text().startswith("t.csv:2\ttrash\t0.")


@pytest.mark.parametrize(
    ("command", "option", "suffix"),
    read_cases("""
        train t.csv -o x.joblib.gz => -o => .gz
        update m t.csv -o x.xz => -o => .xz
        merge m m -o x.gz => -o => .gz
        vectorize t.csv -o x.npz.gz => -o => .gz
        export m --to c -o x.c.zst => -o => .zst
        explain t.csv -m m -o x.html.gz => -o => .gz
        evaluate t.csv -m m --report x.html.gz => --report => .gz
        predict t.csv -m m --cluster local -o x.jsonl.gz => -o => .gz
    """),
)
def test_an_output_is_never_plain_under_the_name_of_a_compression(
    nbtext: Any, model: str, tmp_path: Path, command: str, option: str, suffix: str
) -> None:
    """Results are compressed; models, matrices, pages and exported models are not, so the name is
    refused.
    """
    (tmp_path / "t.csv").write_text("text,label\nthe bins,trash\nthe taxes,taxes\n")
    (tmp_path / "m").write_bytes(Path(model).read_bytes())
    message = f"this output cannot be compressed; leave out {suffix}"
    nbtext(command).refused(2, f"nbtext: {option}: x", message)
    assert list(tmp_path.glob("x*")) == []


NAIVE_BAYES = ("multinomial", "bernoulli", "complement", "dirichlet", "categorical", "gaussian")


@pytest.mark.parametrize("model", [*NAIVE_BAYES, "logistic", "nbsvm", "svm"])
def test_options_of_other_models_are_refused(nbtext: Any, tmp_path: Path, model: str) -> None:
    """The help of an option that only some models take names them, and each other model refuses
    it.
    """
    options = {
        "--C": ("1e3", ("logistic", "nbsvm", "svm")),
        "--smoothing": ("0.5", NAIVE_BAYES),
        "--prior": ("uniform", NAIVE_BAYES),
    }
    helps = {
        each.flag: each.help or ""
        for each in command_of("train").params
        if isinstance(each, Option)
    }
    (tmp_path / "t.csv").write_text("text,label\nthe bins,trash\nthe taxes,taxes\n")
    for option, (value, takers) in options.items():
        listed = " or ".join(", ".join(takers).rsplit(", ", 1))
        named = "of Naive Bayes" if takers == NAIVE_BAYES else f"Only with --model {listed}."
        assert named in helps[option], option
        if model not in takers:
            result = nbtext(f"train t.csv --model {model} {option} {value} -o x").refused(2)
            assert (
                result.err
                == f"nbtext: {option}: does not apply: {model} does not use it; leave out this option\n"
            )


def test_values_are_shown_as_they_are_typed(nbtext: Any) -> None:
    """A word that is to be typed stands in small letters, and in capitals what it stands for."""
    shown = nbtext("train --help", COLUMNS="80").out
    for name in (
        "--stop-words english|FILE",
        "--select mi:N|chi2:N",
        "--smoothing auto|N",
        "--ngrams N,N",
    ):
        assert name in shown


def test_topics(nbtext: Any) -> None:
    """Each group that evaluate and compare refer to is shown once, with every option that these
    have.
    """
    listed = nbtext("help", COLUMNS="80").ok().out
    assert nbtext("help -h").ok()
    for topic in ("input", "features", "model", "output", "running"):
        assert f"\n  {topic} " in listed
        shown = nbtext(f"help {topic}", COLUMNS="80").ok().out
        for name in {"evaluate", "compare"} - DELETED:
            options = {each.flag for each in command_of(name).list_group(TOPICS[topic].title)}
            assert options - {"--help", "-h"} <= flags_in(shown)
        assert shown.count("--min-df N ") == (topic == "features")
    assert len(nbtext("evaluate --help").out.splitlines()) < 220


def test_help_of_a_command(nbtext: Any) -> None:
    """`nbtext help COMMAND` is `nbtext COMMAND --help`; all commands are listed, and a wrong name
    is one line.
    """
    listed = nbtext("help").ok().out
    for name in NAMES:
        assert nbtext(f"help {name}") == nbtext(f"{name} --help")
        assert f"\n  {name} " in listed
    for name, wanted in (("featurs", "features"), ("evalute", "evaluate"), ("xyz", "there are ")):
        nbtext(f"help {name}").refused(2, f"there is no topic or command {name!r}", wanted)
    nbtext("help input output").refused(2, "unexpected extra argument")
    nbtext("hlep").refused(2, "Did you mean help?")
    assert "nbtext help" in nbtext("--help").out


def test_groups(nbtext: Any) -> None:
    """`nbtext --help` shows the commands in their groups, and how to let Tab complete."""
    shown = nbtext("--help").out
    assert shown.index("\nTrain and predict:\n") < shown.index("\nInspect and compare:\n")
    assert 'eval "$(_NBTEXT_COMPLETE=bash_source nbtext)"' in shown


def completed(*words: str) -> list[str]:
    """Return the completions of these words, of which the last is not complete."""
    environment = {
        "_NBTEXT_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "nbtext"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.split()]


def test_tab() -> None:
    """Completes commands, options and formats."""
    assert completed("nbtext", "expl") == ["explain"]
    assert completed("nbtext", "train", "--smoo") == ["--smoothing"]
    assert completed("nbtext", "predict", "--to", "js") == ["jsonl", "json"]
    assert completed("nbtext", "train", "--input-format", "f") == ["files", "fasttext"]


def test_the_line_for_bash() -> None:
    """It defines a completion for nbtext."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [
            "bash",
            "--norc",
            "-c",
            'eval "$(_NBTEXT_COMPLETE=bash_source nbtext)"; complete -p nbtext',
        ],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "nbtext" in done.stdout

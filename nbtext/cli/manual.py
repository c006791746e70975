"""Man pages made of the same words as `--help`: `python -m nbtext.cli.manual FOLDER` writes one for each command."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from nbtext import __version__
from nbtext.cli.help import SOURCE, example_of, notes_of, takes_sources
from nbtext.cli.main import COMMANDS, COMPLETION, cli

STATUS = (
    ("0", "It is done."),
    ("1", "The input or a model cannot be used."),
    ("2", "The command line makes no sense."),
    ("3", "A bar of --fail-under was missed."),
    ("130", "It was interrupted."),
)


def pages() -> Iterator[tuple[str, str]]:
    """The name and the roff source of each page: that of nbtext first, then one a command."""
    context = click.Context(cli, info_name="nbtext")
    yield "nbtext.1", "\n".join(_group_page(context)) + "\n"
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None:
            yield f"nbtext-{name}.1", "\n".join(_command_page(command, name, context)) + "\n"


def _group_page(context: click.Context) -> Iterator[str]:
    text, _, example = (cli.help or "").partition("\b\n")
    yield from _head("nbtext", text.strip().partition("\n")[0])
    yield from (".SH SYNOPSIS", ".B nbtext", "COMMAND [OPTIONS] [ARGUMENTS]")
    yield from (".SH DESCRIPTION", *_paragraphs(text))
    for group, commands in COMMANDS.items():
        yield f".SS {_roff(group)}"
        for name, line in commands.items():
            yield from (".TP", f".BR nbtext\\-{name} (1)", _roff(line))
    yield from (".SH OPTIONS", *_options(cli, context))
    yield from (".SH EXAMPLES", *_literal(example))
    yield from (".SH COMPLETION", *_literal(COMPLETION.removeprefix("\b\n")))
    yield ".SH EXIT STATUS"
    for status, meaning in STATUS:
        yield from (".TP", f".B {status}", _roff(meaning))


def _command_page(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    text = command.help or ""
    yield from _head(f"nbtext-{name}", text.partition("\n")[0])
    yield from (".SH SYNOPSIS", f".B nbtext {name}", _roff(" ".join(command.collect_usage_pieces(context))))
    yield from (".SH DESCRIPTION", *_paragraphs(text))
    if takes_sources(command):
        yield from (".SS SOURCE", _roff(SOURCE))
    yield from (".SH OPTIONS", *_options(command, context))
    if notes := notes_of(command):
        yield from (".SH NOTES", *_paragraphs(notes))
    if example := example_of(command):
        yield from (".SH EXAMPLES", *_literal(example))
    yield from (".SH SEE ALSO", ".BR nbtext (1)")


def _head(name: str, line: str) -> Iterator[str]:
    yield f'.TH {name.upper()} 1 "" "nbtext {__version__}" "nbtext manual"'
    yield from (".SH NAME", f"{_roff(name)} \\- {_roff(line.rstrip('.'))}")


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    """The options, by stage."""
    stage = None
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or not isinstance(parameter, click.Option):
            continue
        if stage != getattr(parameter, "stage", stage):
            stage = getattr(parameter, "stage", stage)
            yield f".SS {_roff(stage or '')}"
        yield from (".TP", f".B {_roff(record[0])}", _roff(record[1]))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        yield from (".PP", _roff(" ".join(paragraph.split())))


def _literal(text: str) -> Iterator[str]:
    """Lines that are shown as they are."""
    yield from (".nf", *map(_roff, text.strip().splitlines()), ".fi")


def _roff(text: str) -> str:
    """Text that roff takes literally, on one line or each line by itself."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return re.sub(r"(?m)^\.", r"\\&.", escaped)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "man")
    folder.mkdir(parents=True, exist_ok=True)
    for file_name, page in pages():
        (folder / file_name).write_text(page, encoding="utf-8")

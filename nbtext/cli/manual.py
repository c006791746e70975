"""Man pages with the texts of `--help`: `python -m nbtext.cli.manual DIR` writes one for each command."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from nbtext import __version__
from nbtext.cli.command import Command
from nbtext.cli.main import COMMANDS, COMPLETION, cli

STATUS = (
    ("0", "Success."),
    ("1", "The input or a model cannot be used, or the output cannot be written."),
    ("2", "The command line is wrong."),
    ("3", "A metric is worse than its threshold of --fail-under."),
    ("130", "The command was interrupted."),
)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the roff source of each page: first that of nbtext, then one for each command."""
    context = click.Context(cli, info_name="nbtext")
    yield "nbtext.1", "\n".join(_group_page(context)) + "\n"
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if isinstance(command, Command):
            yield f"nbtext-{name}.1", "\n".join(_command_page(command, name, context)) + "\n"


def _group_page(context: click.Context) -> Iterator[str]:
    records = [record for each in cli.get_params(context) if (record := each.get_help_record(context)) is not None]
    text, _, example = (cli.help or "").partition("\b\n")
    yield from _head("nbtext", text.strip().partition("\n")[0])
    yield from (".SH SYNOPSIS", ".B nbtext", "COMMAND [OPTIONS] [ARGUMENTS]")
    yield from (".SH DESCRIPTION", *_paragraphs(text))
    for group, commands in COMMANDS.items():
        yield f".SS {_roff(group)}"
        for name, line in commands.items():
            yield from (".TP", f".BR nbtext\\-{name} (1)", _roff(line))
    yield from (".SH OPTIONS", *_options({"Options": records}))
    yield from (".SH EXAMPLES", *_literal(example))
    yield from (".SH COMPLETION", *_literal(COMPLETION.removeprefix("\b\n")))
    yield ".SH EXIT STATUS"
    for status, meaning in STATUS:
        yield from (".TP", f".B {status}", _roff(meaning))


def _command_page(command: Command, name: str, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    text = command.help or ""
    yield from _head(f"nbtext-{name}", text.partition("\n")[0])
    yield from (".SH SYNOPSIS", f".B nbtext {name}", _roff(" ".join(command.collect_usage_pieces(context))))
    yield from (".SH DESCRIPTION", *_paragraphs(text))
    if command.takes_sources:
        yield from (".SS SOURCE", _roff(command.source_help))
    yield from (".SH OPTIONS", *_options(command.option_groups(context)))
    if command.notes:
        yield from (".SH NOTES", *_paragraphs(command.notes))
    yield from (".SH EXAMPLES", *_literal(command.example))
    yield from (".SH SEE ALSO", ".BR nbtext (1)")


def _head(name: str, line: str) -> Iterator[str]:
    yield f'.TH {name.upper()} 1 "" "nbtext {__version__}" "nbtext manual"'
    yield from (".SH NAME", f"{_roff(name)} \\- {_roff(line.rstrip('.'))}")


def _options(groups: Mapping[str, Sequence[tuple[str, str]]]) -> Iterator[str]:
    """Yield the options and their help, in groups."""
    for title, records in groups.items():
        yield f".SS {_roff(title)}"
        for names, help in records:
            yield from (".TP", f".B {_roff(names)}", _roff(help))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        yield from (".PP", _roff(" ".join(paragraph.split())))


def _literal(text: str) -> Iterator[str]:
    """Return lines without filling."""
    yield from (".nf", *map(_roff, text.strip().splitlines()), ".fi")


def _roff(text: str) -> str:
    """Escape text for roff; line breaks are kept."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return re.sub(r"(?m)^\.", r"\\&.", escaped)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "man")
    folder.mkdir(parents=True, exist_ok=True)
    for file_name, page in pages():
        (folder / file_name).write_text(page, encoding="utf-8")

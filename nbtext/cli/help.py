"""What `--help` adds to what click says: where texts come from, and an example on a line of its own."""

from __future__ import annotations

import click

SOURCE = (
    "A directory (DIR/LABEL/**/FILE, or files without labels), a file (.jsonl, .csv, .tsv, .txt, .mbox, .eml, a matrix "
    ".npz; each also .gz, .bz2, .xz, .zst), or - for standard input. A .txt has a text on each line; one that is a "
    "single text, such as a letter, is read as a whole with --input-format files."
)
EXAMPLE = "Example: "


def example_of(command: click.Command) -> str:
    """The command line that its help ends in; "" where it has none."""
    first, _, _ = (command.epilog or "").partition("\n\n")
    return first.removeprefix(EXAMPLE) if first.startswith(EXAMPLE) else ""


def notes_of(command: click.Command) -> str:
    """What the help says last: what the command needs of memory, and the like."""
    return (command.epilog or "").removeprefix(EXAMPLE + example_of(command)).strip()


def takes_sources(command: click.Command) -> bool:
    """Whether a command reads texts."""
    return any("SOURCE" in (parameter.metavar or "") for parameter in command.params)


def write_sources(command: click.Command, formatter: click.HelpFormatter) -> None:
    """What SOURCE may be, for a command that reads texts."""
    if takes_sources(command):
        with formatter.section("SOURCE"):
            formatter.write_text(SOURCE)


def write_epilog(command: click.Command, formatter: click.HelpFormatter) -> None:
    """Notes, and the example as it can be copied."""
    if notes := notes_of(command):
        formatter.write_paragraph()
        with formatter.indentation():
            for paragraph in notes.split("\n\n"):
                formatter.write_text(paragraph)
    if example := example_of(command):
        with formatter.section("Example"):
            formatter.write(f"  {example}\n")

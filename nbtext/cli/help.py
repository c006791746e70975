"""`nbtext help`: groups of options that several commands share, and the help of commands."""

from __future__ import annotations

import click

from nbtext.cli.command import TOPICS, Command, format_text
from nbtext.errors import SettingsError, suggest


@click.command(
    "help",
    params=[click.Argument(["topic"], required=False)],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.pass_context
def help_command(ctx: click.Context, topic: str | None) -> None:
    """Show a group of options that several commands share, or the help of a command: nbtext help
    TOPIC|COMMAND.
    """
    parent = ctx.parent
    assert parent is not None and isinstance(parent.command, click.Group)
    group = parent.command
    formatter = ctx.make_formatter()
    command = group.get_command(parent, TOPICS[topic].command if topic in TOPICS else topic or "")
    if topic is None:
        with formatter.section("Topics: nbtext help TOPIC shows the options of a group"):
            formatter.write_dl([(name, each.about) for name, each in TOPICS.items()])
        group.format_commands(parent, formatter)
        formatter.write("\n`nbtext help COMMAND` shows all options of a command.\n")
    elif not isinstance(command, Command):
        names = (*TOPICS, *group.list_commands(parent))
        raise SettingsError(
            f"there is no topic or command {topic!r}", where="help", hint=suggest(topic, names)
        )
    elif topic in TOPICS:
        title = TOPICS[topic].title
        format_text(formatter, TOPICS[topic].about)
        with formatter.section(title):
            formatter.write_dl(
                [
                    each.get_help_record(ctx)
                    for each in command.list_group(title)
                    if not each.is_eager
                ]
            )
    else:
        command.format_help(click.Context(command, info_name=topic, parent=parent), formatter)
    click.echo(formatter.getvalue().strip("\n"))

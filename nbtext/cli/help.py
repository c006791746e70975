"""`nbtext help`: groups of options that several commands share, and the help of commands."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from nbtext.cli.command import TOPICS, Command, format_text
from nbtext.errors import SettingsError, suggest


class Topic(click.Argument):
    """A topic or a command; the Tab key completes it."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [
            CompletionItem(name)
            for name in (*TOPICS, *list_commands(ctx))
            if name.startswith(incomplete)
        ]


def list_commands(ctx: click.Context) -> dict[str, Command]:
    """Return the commands of nbtext, by name."""
    parent = ctx.parent
    assert parent is not None and isinstance(parent.command, click.Group)
    found = {
        name: parent.command.get_command(parent, name)
        for name in parent.command.list_commands(parent)
    }
    return {name: each for name, each in found.items() if isinstance(each, Command)}


@click.command(
    "help",
    params=[Topic(["topic"], required=False)],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.pass_context
def help_command(ctx: click.Context, topic: str | None) -> None:
    """Show a group of options that several commands share, or the help of a command: nbtext help
    TOPIC|COMMAND.
    """
    assert ctx.parent is not None
    commands = list_commands(ctx)
    formatter = ctx.make_formatter()
    if topic is None:
        with formatter.section("Topics: nbtext help TOPIC shows the options of a group"):
            formatter.write_dl([(name, each.about) for name, each in TOPICS.items()])
        assert isinstance(ctx.parent.command, click.Group)
        ctx.parent.command.format_commands(ctx.parent, formatter)
        formatter.write("\n`nbtext help COMMAND` shows all options of a command.\n")
    elif topic in commands:
        command = commands[topic]
        command.format_help(click.Context(command, info_name=topic, parent=ctx.parent), formatter)
    elif topic in TOPICS:
        _write_topic(topic, commands, ctx, formatter)
    else:
        names = (*TOPICS, *commands)
        raise SettingsError(
            f"there is no topic or command {topic!r}", where="help", hint=suggest(topic, names)
        )
    click.echo(formatter.getvalue().strip("\n"))


def _write_topic(
    name: str, commands: dict[str, Command], ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options of a topic, and the commands that have half of them or more."""
    topic = TOPICS[name]
    shown = {
        each.flag: each
        for each in commands[topic.command].list_group(topic.title)
        if each.flag != "--help"
    }
    having = []
    for command in commands.values():
        own = {each.flag for each in command.list_group(topic.title)}
        if 2 * len(own & shown.keys()) >= len(shown):
            having.append(str(command.name))
    format_text(formatter, topic.about)
    with formatter.section(topic.title):
        formatter.write_dl([each.get_help_record(ctx) for each in shown.values()])
    format_text(
        formatter, f"These commands have all of these options, or most: {', '.join(having)}."
    )

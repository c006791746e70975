"""What a shell offers when Tab is pressed, beside commands, options and choices, which click knows."""

from __future__ import annotations

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

from nbtext.errors import NbtextError

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def files(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The shell's own file names."""
    return [CompletionItem(incomplete, type="file")]


def labels(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The labels of the model that the command line names; none where it cannot be read."""
    model = ctx.params.get("model")
    if model is None and any(isinstance(each, click.Argument) and each.name == "model" for each in ctx.command.params):
        model = next(iter(ctx.args), None)  # where click leaves arguments while the line is not complete
    if model in (None, "-"):
        return []
    from nbtext.artifact.model import load_model

    try:
        known = load_model(model).fitted.labels
    except (NbtextError, OSError):  # while somebody types, nothing is wrong yet
        return []
    return [CompletionItem(label) for label in known if label.startswith(incomplete) and label.isprintable()]


def names(known: Callable[[], tuple[str, ...]]) -> Complete:
    """Names between commas, each once."""

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        taken = before.split(",")
        return [
            CompletionItem(f"{before}{comma}{name}") for name in known() if name.startswith(last) and name not in taken
        ]

    return complete

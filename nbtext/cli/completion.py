"""Completion with the Tab key of labels and lists; click completes commands, options, choices and files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from nbtext.errors import NbtextError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def labels(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the labels of the model on the command line; none if it cannot be read."""
    model = ctx.params.get("model") or ctx.params.get("model_option")
    if model is None and any(isinstance(each, click.Argument) and each.name == "model" for each in ctx.command.params):
        model = next(iter(ctx.args), None)  # click keeps arguments there while the line is incomplete
    if model in (None, "-"):
        return []
    from click.shell_completion import CompletionItem

    from nbtext.artifact.model import load_model

    try:
        known = load_model(model).fitted.labels
    except (NbtextError, OSError):  # the line may be incomplete: no error is printed
        return []
    return [CompletionItem(label) for label in known if label.startswith(incomplete) and label.isprintable()]


def models(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the models that a list between commas does not have yet; `best` stands alone."""
    from click.shell_completion import CompletionItem

    from nbtext.bayes.settings import BEST
    from nbtext.evaluation.settings import models_to_compare

    before, comma, last = incomplete.rpartition(",")
    offered = [name for name in models_to_compare() if name not in before.split(",")] + [BEST] * (not comma)
    return [CompletionItem(f"{before}{comma}{name}") for name in offered if name.startswith(last)]


COMPLETIONS: dict[str, Complete] = {"labels": labels, "models": models}

"""What the commands that rewrite a model by the texts of SOURCE have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from nbtext.cli.options import Command, StagedCommand, collected
from nbtext.cli.running import jobs_or_all, reading, rewriting
from nbtext.cli.shared_options import reading_options, rewrite_option, rewritten_model_argument, run_options, sources
from nbtext.documents.settings import ReadingSettings
from nbtext.model.settings import FadingSettings

Work = Callable[..., None]  # (classifier, source, *settings, jobs, on_batch)


def rewriting_command(
    *, epilog: str, further: tuple[type[FadingSettings], Callable[[Command], Command]] | None = None
) -> Callable[[Work], click.Command]:
    """Make a command of what is done to a classifier with a source; its name and docstring are those of the command.

    further  a record of settings that the work takes as well, and what makes options of it
    """

    def decorate(work: Work) -> click.Command:
        def command(model: str, sources: tuple[str, ...], output: str | None, **options: Any) -> None:
            quiet, no_progress = options["quiet"], options["no_progress"]
            settings = collected(ReadingSettings, options)
            others = [collected(further[0], options)] if further is not None else []
            with (
                rewriting(model, output, quiet=quiet) as classifier,
                reading(sources, settings, quiet=quiet, no_progress=no_progress) as (source, on_batch),
            ):
                work(classifier, source, *others, jobs=jobs_or_all(options["jobs"]), on_batch=on_batch)

        own = [further[1]] if further is not None else []
        for add in (run_options, reading_options, *own, rewrite_option, sources, rewritten_model_argument):
            command = add(command)
        return click.command(work.__name__, cls=StagedCommand, help=work.__doc__, epilog=epilog)(command)

    return decorate

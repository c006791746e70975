"""What the commands that rewrite a model by the texts of SOURCE have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli.options import Command, StagedCommand, collected
from nbtext.cli.running import jobs_or_all, reading, rewrite_model
from nbtext.cli.shared_options import reading_options, rewrite_option, rewritten_model_argument, run_options, sources
from nbtext.documents.settings import ReadingSettings
from nbtext.model.settings import FadingSettings

if TYPE_CHECKING:
    from nbtext.model.fitted_model import TrainedModel

Work = Callable[..., "TrainedModel"]  # (model, source, *settings, jobs, on_batch)


def rewriting_command(
    *, epilog: str, further: tuple[type[FadingSettings], Callable[[Command], Command]] | None = None
) -> Callable[[Work], click.Command]:
    """Make a command of what is done to a model with a source; its name and docstring are those of the command.

    further  a record of settings that the work takes as well, and what makes options of it
    """

    def decorate(work: Work) -> click.Command:
        def command(model: str, sources: tuple[str, ...], output: str | None, **options: Any) -> None:
            quiet, no_progress = options["quiet"], options["no_progress"]
            settings = collected(ReadingSettings, options)
            others = [collected(further[0], options)] if further is not None else []

            def change(trained: TrainedModel) -> TrainedModel:
                unit = trained.fitted.input_unit
                with reading(sources, settings, quiet=quiet, no_progress=no_progress, input_unit=unit) as (
                    source,
                    on_batch,
                ):
                    return work(trained, source, *others, jobs=jobs_or_all(options["jobs"]), on_batch=on_batch)

            rewrite_model(model, output, change, quiet=quiet)

        own = [further[1]] if further is not None else []
        for add in (run_options, reading_options, *own, rewrite_option, sources, rewritten_model_argument):
            command = add(command)
        return click.command(work.__name__, cls=StagedCommand, help=work.__doc__, epilog=epilog)(command)

    return decorate

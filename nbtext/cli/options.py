"""Options of the commands: made of the settings records, so that each is spelled in one place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from nbtext.bayes.settings import ModelSettings
from nbtext.cli import completion
from nbtext.cli.files import NAMED, FileType, check_files
from nbtext.cli.help import write_epilog, write_sources
from nbtext.cli.types import PARSED
from nbtext.cluster.settings import ClusterSettings
from nbtext.documents.settings import ReadingSettings
from nbtext.errors import SettingsError
from nbtext.evaluation.settings import CurveSettings, FoldSettings, SearchSettings, models_to_compare
from nbtext.features.formulas import WEIGHTINGS
from nbtext.features.settings import FeatureSettings
from nbtext.model.settings import DecisionSettings, FadingSettings, UnlabeledSettings

Command = Callable[..., Any]
TYPED = "nbtext.typed"  # where click keeps what was typed
FORCED = "nbtext.forced"  # and whether --force was
FORCE = "Let a model replace a file that is not a model, or the reverse."
Settings = TypeVar(
    "Settings",
    ReadingSettings,
    FeatureSettings,
    ModelSettings,
    DecisionSettings,
    FoldSettings,
    CurveSettings,
    SearchSettings,
    ClusterSettings,
    UnlabeledSettings,
    FadingSettings,
)


COMPLETED: dict[str, completion.Complete] = {
    "models": completion.names(models_to_compare),
}


class StagedCommand(click.Command):
    """A command whose help groups its options by stage, and which refuses to destroy a file that it reads."""

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        if any(isinstance(parameter.type, FileType) and parameter.type.is_output for parameter in self.params):
            self.params.append(
                StagedOption(
                    ["--force"], is_flag=True, expose_value=False, callback=_note_force, stage="Running", help=FORCE
                )
            )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        for parameter in {each for each in order if order.count(each) > 1}:
            if isinstance(parameter, click.Option) and not (parameter.multiple or parameter.is_flag):
                raise click.UsageError(f"{parameter.opts[0]} is given more than once; it takes one value", ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        check_files(ctx.meta.get(NAMED, []), is_forced=ctx.meta.get(FORCED, False))
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        stages: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                stages.setdefault(getattr(parameter, "stage", "Options"), []).append(record)
        for stage, records in stages.items():
            with formatter.section(stage):
                formatter.write_dl(records)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        write_sources(self, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_epilog(self, formatter)


def _note_force(ctx: click.Context, _: click.Parameter, is_forced: bool) -> None:
    ctx.meta[FORCED] = is_forced


class StagedOption(click.Option):
    """An option that belongs to a stage of the way from text to result, and remembers what was typed."""

    def __init__(self, *arguments: Any, stage: str = "Options", **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.stage = stage

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        if value is not None and ctx.get_parameter_source(self.name or "") is ParameterSource.COMMANDLINE:
            flag = max(self.opts, key=len) if value is not False else self.secondary_opts[0]
            ctx.meta.setdefault(TYPED, {})[flag] = "" if isinstance(value, bool) else str(value)
        return super().process_value(ctx, value)


def typed_options() -> dict[str, str]:
    """The options of the running command that were typed, by their names, as they were typed."""
    return dict(click.get_current_context().meta.get(TYPED, {}))


def option(*names: str, stage: str = "Options", **attributes: Any) -> Callable[[Command], Command]:
    """A click option with its stage."""
    return click.option(*names, cls=StagedOption, stage=stage, **attributes)


def settings_options(record: type, stage: str, *, without: tuple[str, ...] = ()) -> Callable[[Command], Command]:
    """An option for each field of a settings record that has a help text."""

    def decorate(command: Command) -> Command:
        for field in reversed(fields(record)):
            if "help" in field.metadata and field.name not in without:
                command = _option_of(field, stage)(command)
        return command

    return decorate


def _option_of(field: Field[Any], stage: str) -> Callable[[Command], Command]:
    flag, *others = _flags(field)
    attributes: dict[str, Any] = {"stage": stage, "help": field.metadata["help"], "default": None}
    if field.name in COMPLETED:
        attributes["shell_complete"] = COMPLETED[field.name]
    if field.type == "bool":
        if field.default is True:
            flag = f"{flag}/--no-{flag[2:]}"
        return option(flag, field.name, is_flag=True, **attributes)
    if field.name in PARSED:
        attributes["type"] = PARSED[field.name]
    elif "choices" in field.metadata:
        attributes["type"] = click.Choice(field.metadata["choices"])
    elif "int" in str(field.type):
        attributes["type"] = int
    elif "float" in str(field.type):
        attributes["type"] = float
    if field.default is not MISSING and field.default not in (None, ()):
        shown = field.default if not isinstance(field.default, tuple) else ",".join(map(str, field.default))
        attributes["help"] += f"  [default: {shown}]"
    return option(flag, *others, field.name, **attributes)


def _flags(field: Field[Any]) -> tuple[str, ...]:
    """How the option of a settings record's field is spelled."""
    return tuple(field.metadata.get("flags", ("--" + field.name.replace("_", "-"),)))


def collected(record: type[Settings], options: dict[str, Any], **fixed: Any) -> Settings:
    """The settings record that the options amount to; those not given keep the record's defaults."""
    found = given(record, options)
    if "weighting" in options and record is FeatureSettings:
        found = dict(zip(("tf", "idf", "norm"), WEIGHTINGS[options["weighting"] or "counts"], strict=True)) | found
    return record(**(found | fixed))


def given(record: type, options: dict[str, Any]) -> dict[str, Any]:
    """The fields of a settings record that were given as options."""
    names = [field.name for field in fields(record) if "help" in field.metadata]
    return {name: options[name] for name in names if options.get(name) is not None}


def refuse_given(*records: type, options: dict[str, Any], because: str) -> None:
    """Raise SettingsError where an option of these records was given that cannot be obeyed."""
    for record in records:
        wanted = given(record, options)
        flags = [_flags(field)[0] for field in fields(record) if field.name in wanted]
        if record is FeatureSettings and options.get("weighting") is not None:
            flags.append("--weighting")
        for flag in flags:
            raise SettingsError(because, where=flag, hint="leave it out")


def refuse_for_matrix(options: dict[str, Any]) -> None:
    """Raise SettingsError where something was said of texts or of who counts them, and a matrix has the counts."""
    because = "the features of a matrix are made already"
    records = (FeatureSettings, ReadingSettings, ClusterSettings)
    refuse_given(*records, options=options | {"input_format": None}, because=because)

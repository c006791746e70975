"""Commands, their options and their help.

A command is a function with a list of parameters. The options that set the fields of a settings record are a `Stage`:
the function receives the record. `-h` prints the options that most people need, `--help` prints all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import click
from click.core import ParameterSource

from nbtext.cli.files import NAMED, FileType, check_files, named_outputs
from nbtext.errors import SettingsError
from nbtext.parallel import share_heap
from nbtext.records import dataclass

if TYPE_CHECKING:
    from nbtext.documents.read_ahead import ReadAhead
    from nbtext.documents.settings import InputSettings

TYPED = "nbtext.typed"  # the key under which click keeps the options as they were typed
AHEAD = "nbtext.ahead"  # the key under which click keeps the sources that are being read
MODEL_OPTION = "model_option"  # the parameter of -m, in commands that also accept MODEL as an argument
SOURCE_HELP = (
    "SOURCE is a directory (DIR/LABEL/**/FILE, or files without labels), a file (.jsonl, .json, .csv, .tsv, .txt, "
    ".mbox, .eml, each also compressed as .gz, .bz2, .xz or .zst; .parquet, .arrow, .db, or a matrix .npz), or - for "
    "standard input. A .txt file holds one text per line; --input-format files reads it as one text."
)
MODEL_SOURCE_HELP = " With a model, .txt files are read like those that the model was trained on."
SHORT_SOURCE_HELP = (
    "SOURCE is a directory with a folder per label, a .csv, .tsv, .jsonl, .txt or .mbox file, or - for standard input."
)


class Record(Protocol):
    """A settings record: a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


T = TypeVar("T", bound=Record)


class Option(click.Option):
    """An option with the heading of its group in the help.

    The values of a choice are listed in the help after its first sentence.
    """

    def __init__(self, *names: str, help: str, title: str = "Options", default_help: str = "", **attributes: Any):
        super().__init__(list(names), help=help, **attributes)
        self.title = title
        self.default_help = default_help  # default value, as the help shows it

    @property
    def flag(self) -> str:
        """The long name."""
        return max(self.opts, key=len)

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        if value is not None and ctx.get_parameter_source(self.name or "") is ParameterSource.COMMANDLINE:
            flag = self.flag if value is not False else self.secondary_opts[0]
            ctx.meta.setdefault(TYPED, {})[flag] = "" if isinstance(value, bool) else str(value)
        return super().process_value(ctx, value)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        default = "[required]" if self.required else f"[default: {self.default_help}]" if self.default_help else ""
        return self.names(ctx), " ".join(filter(None, (*self.sentences(), default)))

    def names(self, ctx: click.Context) -> str:
        """Return the names of the option, with a placeholder for its value."""
        names = ", ".join((*self.opts, *self.secondary_opts))
        return names if self.is_flag else f"{names} {self.make_metavar(ctx)}"

    def sentences(self) -> Iterator[str]:
        """Yield the sentences of the help; the first one lists the values of a choice."""
        first, *others = re.split(r"(?<=[.])\s+", self.help or "")
        if isinstance(self.type, click.Choice):
            first = f"{first.rstrip('.')}: {', '.join(self.type.choices)}."
        yield from (first, *others)


@dataclass(frozen=True)
class Stage(Generic[T]):
    """The options that make a settings record.

    name     parameter of the command that receives the record
    record   the settings record; an option has the name of the field that it sets
    options  one for each field that is set by an option
    build    makes the record from the given values; by default the constructor of the record
    """

    name: str
    record: type[T]
    options: tuple[Option, ...]
    build: Callable[[Mapping[str, Any]], T] | None = None

    def without(self, *names: str) -> Stage[T]:
        """Return the same stage without some options, whose fields keep their defaults."""
        return Stage(self.name, self.record, tuple(each for each in self.options if each.name not in names), self.build)

    def replace(self, option: Option) -> Stage[T]:
        """Return the same stage with another option for the same field."""
        options = tuple(option if each.name == option.name else each for each in self.options)
        return Stage(self.name, self.record, options, self.build)

    def settings(self, values: Mapping[str, Any]) -> T:
        """Return the record of the given values; other fields have their defaults."""
        return self.build(values) if self.build is not None else self.record(**values)


@dataclass(frozen=True)
class Deferred(Generic[T]):
    """A stage whose record depends on more than its own options: the command makes it.

    given   the values of the given options
    """

    stage: Stage[T]
    given: Mapping[str, Any]

    def settings(self, **others: Any) -> T:
        """Return the record of the given values and of `others`, which take precedence."""
        return self.stage.settings({**self.given, **others})


def stage(
    name: str, record: type[T], title: str, *options: Option, build: Callable[[Mapping[str, Any]], T] | None = None
) -> Stage[T]:
    """Return a stage whose options have a title in the help, and the defaults of the record's fields."""
    defaults = {field.name: field.default for field in fields(record)}
    for option in options:
        option.title = title
        default = defaults.get(option.name or "")
        if (
            not option.default_help
            and not option.is_flag
            and isinstance(default, str | int | float | tuple)
            and default
        ):
            option.default_help = ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
    return Stage(name, record, options, build)


class Command(click.Command):
    """A command of nbtext. It makes settings records of its options, and refuses to overwrite its inputs.

    example  a command line that works on the demo corpus
    notes    paragraphs at the end of the help, such as the memory that the command needs
    common   the options that -h shows
    """

    def __init__(
        self,
        function: Callable[..., None],
        *parts: click.Parameter | Stage[Any],
        example: str,
        notes: str,
        common: str,
        deferred: tuple[Stage[Any], ...],
    ) -> None:
        self.stages = [part for part in parts if isinstance(part, Stage)]
        self._deferred = {each.name for each in deferred}
        parameters = [each for part in parts for each in (part.options if isinstance(part, Stage) else (part,))]
        if any(isinstance(each.type, FileType) and each.type.is_output for each in parameters):
            parameters.append(
                Option(
                    "--force",
                    is_flag=True,
                    title="Running",
                    help="Overwrite a file of another kind. Without --force, a model never replaces a file that is "
                    "not a model, and another output never replaces a model.",
                )
            )
        parameters += [
            Option("-h", is_flag=True, is_eager=True, expose_value=False, callback=_print_short_help, title="Running",
                   help="Print the most common options."),
            Option("--help", is_flag=True, is_eager=True, expose_value=False, callback=_print_help, title="Running",
                   help="Print all options."),
        ]  # fmt: skip
        super().__init__(
            function.__name__, callback=function, params=parameters, help=function.__doc__, add_help_option=False
        )
        self.example, self.notes, self.common = example, notes, common.split()

    @property
    def takes_sources(self) -> bool:
        """Whether the command reads documents."""
        return any("SOURCE" in (each.metavar or "") for each in self.params if isinstance(each, click.Argument))

    @property
    def source_help(self) -> str:
        """What SOURCE may be; "" if the command reads no documents."""
        has_model = any("--model-file" in each.opts for each in self.params)
        return SOURCE_HELP + MODEL_SOURCE_HELP * has_model if self.takes_sources else ""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        found = super().get_params(ctx)
        if ctx.meta.get(MODEL_OPTION):  # given by -m: all arguments are sources
            return [each for each in found if not (isinstance(each, click.Argument) and each.name == "model")]
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        values, _, order = self.make_parser(ctx).parse_args(list(args))
        for parameter in order:
            takes_one = isinstance(parameter, Option) and not (parameter.multiple or parameter.is_flag)
            if takes_one and order.count(parameter) > 1:
                raise click.UsageError(f"{parameter.opts[0]} is given more than once; it takes one value", ctx)
        ctx.meta[MODEL_OPTION] = values.get(MODEL_OPTION) is not None
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            self._prepare(ctx)
            return super().invoke(ctx)
        except SettingsError as error:  # an error of the library names a field; the command line names its option
            flags = {each.name: each.flag for each in self.params if isinstance(each, Option)}
            error.where = flags.get(error.where, error.where)
            raise

    def _prepare(self, ctx: click.Context) -> None:
        """Check the files of the command, and make settings records of the option values."""
        check_files(ctx.meta.get(NAMED, []), is_forced=ctx.params.pop("force", False))
        if MODEL_OPTION in ctx.params:
            ctx.params["model"] = ctx.params.pop(MODEL_OPTION) or ctx.params.get("model")
            if ctx.params["model"] is None:
                raise click.UsageError("Missing argument 'MODEL'", ctx)
        for each in self.stages:
            values = {option.name or "": ctx.params.pop(option.name or "") for option in each.options}
            given = {name: value for name, value in values.items() if value not in (None, ())}
            ctx.params[each.name] = Deferred(each, given) if each.name in self._deferred else each.settings(given)
        if self.takes_sources and ctx.params["run"].jobs > 1:
            ctx.meta[AHEAD] = _read_ahead(ctx.params["sources"], ctx.params["input_settings"])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        pieces = [each.metavar or "" for each in self.params if isinstance(each, click.Argument)]
        return ["[OPTIONS]", *pieces]

    def option_groups(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """Return the names and the help of all options, by the title of their group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for option in self.params:
            if isinstance(option, Option):
                groups.setdefault(option.title, []).append(option.get_help_record(ctx))
        return groups

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the complete help: `--help`."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        _write_text(formatter, self.source_help)
        for title, records in self.option_groups(ctx).items():
            with formatter.section(title):
                formatter.write_dl(records)
        _write_text(formatter, self.notes)
        self._write_example(formatter)

    def format_short_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the most common options, with the first sentence of each: `-h`."""
        self.format_usage(ctx, formatter)
        _write_text(formatter, (self.help or "").partition("\n")[0])
        _write_text(formatter, SHORT_SOURCE_HELP if self.takes_sources else "")
        with formatter.section("Options"):
            formatter.write_dl(
                [(each.names(ctx), next(each.sentences())) for each in self.params
                 if isinstance(each, Option) and set(each.opts) & set(self.common)],
                col_max=26,
            )  # fmt: skip
        self._write_example(formatter)
        formatter.write(f"\n`{ctx.command_path} --help` shows all options.\n")

    def _write_example(self, formatter: click.HelpFormatter) -> None:
        with formatter.section("Example"):
            formatter.write(f"  {self.example}\n")


def command(
    *parts: click.Parameter | Stage[Any],
    example: str,
    common: str,
    notes: str = "",
    deferred: tuple[Stage[Any], ...] = (),
) -> Callable[[Callable[..., None]], Command]:
    """Make a command of a function, whose name and docstring become those of the command.

    parts     arguments, options and stages, in the order of the help
    deferred  stages that the function receives as `Deferred`
    """

    def decorate(function: Callable[..., None]) -> Command:
        return Command(function, *parts, example=example, notes=notes, common=common, deferred=deferred)

    return decorate


def typed_options() -> dict[str, str]:
    """Return the options of the running command, as they were typed."""
    return dict(click.get_current_context().meta.get(TYPED, {}))


def sources_ahead() -> ReadAhead | None:
    """Return the sources of the running command that are being read."""
    found: ReadAhead | None = click.get_current_context().meta.get(AHEAD)
    return found


def refuse(*stages: Stage[Any], because: str, but: tuple[str, ...] = ()) -> None:
    """Raise SettingsError if an option of these stages was given.

    because  the reason, for the message
    but      names of options that are allowed nevertheless
    """
    ctx = click.get_current_context()
    for option in (option for each in stages for option in each.options):
        source = ctx.get_parameter_source(option.name or "")
        if source is ParameterSource.COMMANDLINE and option.name not in but:
            raise SettingsError(because, where=option.flag, hint=f"leave out {option.flag}")


def _read_ahead(sources: tuple[str, ...], settings: InputSettings) -> ReadAhead:
    """Begin to read sources, which `open_documents` continues: a thread reads while this one imports NumPy."""
    from nbtext.documents.read_ahead import ReadAhead

    share_heap()
    return ReadAhead(sources, settings, named_outputs())


def _write_text(formatter: click.HelpFormatter, text: str) -> None:
    if text:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)


def _print_help(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not ctx.resilient_parsing:
        click.echo(ctx.get_help())
        ctx.exit()


def _print_short_help(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not ctx.resilient_parsing and isinstance(ctx.command, Command):
        formatter = ctx.make_formatter()
        ctx.command.format_short_help(ctx, formatter)
        click.echo(formatter.getvalue().rstrip("\n"))
        ctx.exit()

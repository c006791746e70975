"""Commands, their options and their help.

A command is a function with a settings record, of which the command line makes an instance. Each
field of the record is an option or an argument, or a record whose fields are options. `-h` prints
the options that most people need, `--help` prints all. Options and arguments that name files have a
type of their own, so that no output replaces an input.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import Field, fields, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from nbtext.errors import AssumptionWarning, NbtextError, SettingsError, hide_credentials
from nbtext.output import STANDARD_OUTPUT_PATHS, is_written_to
from nbtext.records import Strings, dataclass
from nbtext.registry import left_out, list_applications
from nbtext.settings import (
    KEY,
    Rule,
    Setting,
    SettingsPart,
    check_rules,
    check_settings,
    list_options,
    list_settings_parts,
    make_record,
    parse_value,
    refuse,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    ParamType = click.ParamType[Any]
else:  # before click 8.5 it takes no parameter
    ParamType = click.ParamType

TYPED = "nbtext.typed"  # the key under which click keeps the options as they were typed
MODEL_FORMAT = "joblib"  # of a model file, as `nbtext export --to` names it
# the parameter of -m, in commands that also accept MODEL as an argument
MODEL_OPTION = "model_option"
SOURCE_HELP = (
    "SOURCE is a directory (DIR/LABEL/**/FILE, or files without labels), a file (.jsonl, .json, .csv, .tsv, .txt, "
    ".mbox, .eml, each also compressed as .gz, .bz2, .xz or .zst; .parquet, .arrow, .db, or a matrix .npz), or - for "
    "standard input. A .txt file holds one text per line; --input-format files reads it as one text."
)
MODEL_SOURCE_HELP = " With a model, .txt files are read like those that the model was trained on."
SHORT_SOURCE_HELP = "SOURCE is a directory with a folder per label, a .csv, .tsv, .jsonl, .txt or .mbox file, or - for standard input."


NAMED = "nbtext.files"  # the key under which click keeps the files of the command line
STANDARD_INPUT_PATHS = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


@dataclass(eq=False, kw_only=True)
class Parsed(ParamType):
    """The type of an option or argument whose text is parsed.

    parse  raises ValueError for a wrong value
    """

    name = "text"

    parse: Callable[[str], Any] = str

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


@dataclass(eq=False, kw_only=True)
class FileType(Parsed):
    """The value of an option or argument that names a file; the command remembers it for
    `check_files`.

    is_output     whether the command writes it
    is_model      whether the command writes a model to it; None: if that is the format of --to, or
                  of its suffix
    is_rewritten  whether it is a model that the command reads and may replace
    not_files     values that are not files
    """

    name = "file"

    metavar: str = "FILE"
    is_output: bool = False
    is_model: bool | None = False
    is_rewritten: bool = False
    not_files: Strings = ()

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "|".join((*self.not_files, self.metavar))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if (
            isinstance(value, str)
            and ctx is not None
            and param is not None
            and value not in self.not_files
        ):
            option = (
                param.opts[0]
                if isinstance(param, click.Option)
                else (param.human_readable_name or "").rstrip(".")
            )
            if not value:
                kind = {"SOURCE": "file or directory", "DIR": "directory"}.get(
                    self.metavar.rstrip("."), "file"
                )
                raise SettingsError("the path is empty", where=option, hint=f"name a {kind}")
            ctx.meta.setdefault(NAMED, []).append(NamedFile(value, option, self))
        return super().convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


ROLES = {  # the types of options that name files, by the role of the file; see `Setting.file`
    "source": FileType(metavar="SOURCE"),
    "input": FileType(),
    "output": FileType(is_output=True),
    "model": FileType(metavar="MODEL"),
    "new model": FileType(is_output=True, is_model=True),
    "rewritten model": FileType(metavar="MODEL", is_rewritten=True),
    "directory": FileType(metavar="DIR"),
    "exported model": FileType(is_output=True, is_model=None),
}


class TopicOfHelp(NamedTuple):
    """A group of options that `nbtext help` prints.

    title    of the group
    command  the command whose options it shows
    """

    title: str
    command: str
    about: str


TOPICS = {
    "input": TopicOfHelp("Input", "train", "How documents, texts and labels are read from files."),
    "features": TopicOfHelp(
        "Features", "train", "How texts become features: words, n-grams, views, weights, selection."
    ),
    "model": TopicOfHelp(
        "Model", "train", "Which model is trained, and with which smoothing, prior and calibration."
    ),
    "output": TopicOfHelp("Output", "predict", "Where a result is written, and in which format."),
    "running": TopicOfHelp(
        "Running", "train", "Threads, messages, and files that may be replaced."
    ),
}  # of `nbtext help`


class NamedFile(NamedTuple):
    """A file that the command line names: as it was typed, and the option or argument that names
    it.
    """

    path: str
    option: str
    type: FileType


def named_files() -> list[NamedFile]:
    """Return the files that the running command names, by arguments and options."""
    found: list[NamedFile] = click.get_current_context().meta.get(NAMED, [])
    return found


def check_files(files: Sequence[NamedFile], *, is_forced: bool, output_format: str | None) -> None:
    """Refuse a command that would destroy a file.

    An output must not be an input, or a document in an input directory. Files are compared by
    identity, so links are recognized. A model must not replace a file of another kind, and other
    outputs must not replace a model. Sockets and block devices are refused.

    is_forced      whether --force was given: it allows the replacement of a file of another kind
    output_format  the one of --to
    raises         SettingsError, OutputError: the command is refused
    """
    inputs = [file for file in files if not file.type.is_output]
    outputs = [
        file for file in files if file.type.is_output and file.path not in STANDARD_OUTPUT_PATHS
    ]
    rewritten = (
        file for file in inputs if file.type.is_rewritten and file.path not in STANDARD_INPUT_PATHS
    )
    outputs = outputs or [
        NamedFile(file.path, file.option, ROLES["new model"]) for file in rewritten
    ]
    from_standard_input = [file.option for file in inputs if file.path in STANDARD_INPUT_PATHS]
    if len(from_standard_input) > 1:
        names = " and ".join(dict.fromkeys(from_standard_input))
        raise SettingsError(
            "standard input can be read only once", where=names, hint="name a file instead of -"
        )
    for output in outputs:
        is_written_to(output.path)  # or it is refused
        for each in inputs:
            if not (each.type.is_rewritten and output.type.is_model):
                _refuse_input(each, _status(output.path), output.option, output.path)
        _refuse_other_kind(output, is_forced, output_format)
    for each in inputs:
        _refuse_input(each, _descriptor_status(1), "standard output", "standard output")


def _refuse_input(file: NamedFile, output: os.stat_result | None, option: str, path: str) -> None:
    """Raise SettingsError if the output is this input or a document in it."""
    found = _status(file.path)
    if (
        output is None
        or found is None
        or not (stat.S_ISREG(output.st_mode) or stat.S_ISDIR(output.st_mode))
    ):
        return
    hint = "write to another file"
    if os.path.samestat(found, output):
        raise SettingsError(
            f"{path} is also an input ({file.option} {file.path})", where=option, hint=hint
        )
    if stat.S_ISDIR(found.st_mode) and stat.S_ISREG(output.st_mode) and output.st_size:
        from nbtext.documents.recognition import is_own_output

        if path != "standard output" and is_own_output(path):
            return  # it is not read as a document
        for inside in _files_in(file.path, output.st_ino):
            if os.path.samestat(inside, output):
                raise SettingsError(
                    f"{path} is an input, a document in {file.option} {file.path}",
                    where=option,
                    hint=hint,
                )


def _refuse_other_kind(output: NamedFile, is_forced: bool, output_format: str | None) -> None:
    """Raise SettingsError if a model would replace another kind of file, or another output a
    model.
    """
    found = _status(output.path)
    if is_forced or found is None or not stat.S_ISREG(found.st_mode) or not found.st_size:
        return
    from nbtext.documents.recognition import PICKLE_MAGICS

    is_model = False
    with suppress(OSError), open(output.path, "rb") as file:
        is_model = file.read(2) in PICKLE_MAGICS
    writes_model = output.type.is_model
    if writes_model is None:
        writes_model = (output_format or output.path.rpartition(".")[2].lower()) == MODEL_FORMAT
    if is_model != writes_model:
        what = (
            "is a model, and would be replaced"
            if is_model
            else "is not a model, and a model would replace it"
        )
        raise SettingsError(
            f"{output.path} {what}",
            where=output.option,
            hint="write to another file, or replace it with --force",
        )


def _status(path: str) -> os.stat_result | None:
    """Return the status of a file from the system; None if the file does not exist."""
    if path in STANDARD_INPUT_PATHS:
        return _descriptor_status(0)
    try:
        return os.stat(path)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return None


def _descriptor_status(descriptor: int) -> os.stat_result | None:
    """Return the status of standard input or output; None if it is closed or not a file."""
    try:
        found = os.fstat((sys.stdin if descriptor == 0 else sys.stdout).fileno())
    except (OSError, AttributeError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _files_in(folder: str, inode: int) -> Iterator[os.stat_result]:
    """Return the files below a folder that may be the file of this inode: those with it, and
    targets of links.
    """
    folders = [folder]
    known = set[tuple[int, int]]()
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.is_dir():
                    status = entry.stat()
                    if (status.st_dev, status.st_ino) not in known:
                        known.add((status.st_dev, status.st_ino))
                        folders.append(entry.path)
                elif entry.inode() == inode or entry.is_symlink():
                    yield entry.stat()
            except OSError:
                continue


def _type_of(record: type[Any], field: Field[Any], found: Setting) -> Any:
    """Return the type of the parameter of a setting, for click."""
    if found.file:
        role = ROLES[found.file]
        return replace(
            role,
            metavar=found.metavar or role.metavar,
            parse=found.parse or str,
            not_files=found.names,
        )
    if found.choices and found.parse is None:
        return click.Choice(found.choices)
    return Parsed(parse=partial(parse_value, record, field, found))


class Option(click.Option):
    """An option with the heading of its group in the help.

    The values of a choice are listed in the help after its first sentence.
    """

    def __init__(
        self,
        *names: str,
        help: str,
        title: str,
        default_help: str = "",
        **attributes: Any,
    ):
        super().__init__(list(names), help=help, **attributes)
        self.title = title
        self.default_help = default_help  # default value, as the help shows it

    @property
    def flag(self) -> str:
        """The long name."""
        return max(self.opts, key=len)

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        if (
            value is not None
            and ctx.get_parameter_source(self.name or "") is ParameterSource.COMMANDLINE
        ):
            flag = self.flag if value is not False else self.secondary_opts[0]
            text = "" if isinstance(value, bool) else hide_credentials(str(value), is_source=True)
            ctx.meta.setdefault(TYPED, {})[flag] = text
        return super().process_value(ctx, value)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        default = (
            "[required]"
            if self.required
            else f"[default: {self.default_help}]"
            if self.default_help
            else ""
        )
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


def _make_option(record: type[Any], field: Field[Any], found: Setting, name: str = "") -> Option:
    """Return the option of a setting of a record, in the group of the record."""
    flag = f"--{field.name.replace('_', '-')}"
    facts: dict[str, Any] = {
        "type": _type_of(record, field, found),
        "metavar": found.metavar or None,
    }
    if found.is_flag:
        flag = f"{flag}/--no-{flag[2:]}" if field.default in (True, None) else flag
        facts = {"is_flag": True, "default": None}
    default = field.default
    shown = ",".join(map(str, default)) if isinstance(default, tuple) else str(default or "")
    return Option(
        *(found.flags or (flag,)),
        name or field.name,
        help=found.help,
        title=found.title or getattr(record, "TITLE", "Options"),
        default_help=found.default_help
        or ("" if isinstance(default, bool) or found.is_required else shown),
        multiple=found.is_repeated,
        required=found.is_required and not name,
        **facts,
    )


def _list_parameters(record: type[Any]) -> Iterator[click.Parameter]:
    """Yield the arguments and the options of the settings of a record, in the order of its
    fields.
    """
    for field in fields(record):
        found = field.metadata.get(KEY)
        if isinstance(found, SettingsPart):
            for each, of_part in list_options(found):
                yield _make_option(found.record, each, of_part)
        elif not isinstance(found, Setting) or not found.is_offered:
            continue
        elif found.is_argument:
            yield click.Argument(
                [field.name],
                metavar=found.metavar,
                nargs=-1 if found.is_repeated else 1,
                required=found.is_required and not found.flags,
                type=_type_of(record, field, found),
            )
            if found.flags:  # the same value as an option
                yield _make_option(record, field, found, MODEL_OPTION)
        else:
            yield _make_option(record, field, found)


class Command(click.Command):
    """A command of nbtext. It makes the settings record of its options, and refuses to overwrite
    its inputs.

    function  gets the record; its name and docstring are those of the command
    record    the settings record of the command
    example   a command line that works on the demo corpus
    notes     paragraphs at the end of the help, such as the memory that the command needs
    common    the options that -h shows
    rules     settings of different parts that exclude or need each other
    referred  the groups of options that --help leaves to `nbtext help`: the uses that need them, by
              title
    """

    def __init__(
        self,
        function: Callable[[Any], int | None],
        record: type[Any],
        *,
        example: str,
        common: str,
        notes: str = "",
        rules: Iterable[Rule] = (),
        referred: Mapping[str, str] = {},
    ) -> None:
        self.record = record
        self.rules = tuple(rules)
        parameters = list(_list_parameters(record))
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
            Option(
                name,
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_print_help,
                title="Running",
                help=help,
            )
            for name, help in (
                ("-h", "Print the most common options."),
                ("--help", "Print all options."),
            )
        ]
        super().__init__(
            function.__name__,
            callback=function,
            params=parameters,
            help=function.__doc__,
            add_help_option=False,
        )
        self.example = example
        self.notes = notes
        self.common = common.split()
        self._is_complete = False  # whether it has the options of applications
        self.referred = referred

    def add_options(self) -> bool:
        """Add the options that applications have for this command; False: there are none, or they
        were added before.
        """
        if self._is_complete:
            return False
        self._is_complete = True
        n_own = len(self.params)
        for application in list_applications():
            if self.name in application.options:
                with left_out(application.package):
                    record = application.load(application.options[self.name or ""].record)
                    if "step" not in {each.name for each in fields(self.record)}:
                        raise NbtextError(
                            f"{self.name} takes no options of applications",
                            where=application.package,
                        )
                    options = list(_list_parameters(record))
                    known = {name for each in self.params for name in (each.name, *each.opts)}
                    for option in options:
                        if not known.isdisjoint((option.name, *option.opts)):
                            raise NbtextError(
                                f"{self.name} has another option {option.opts[0]}",
                                where=application.package,
                            )
                    self.params += options
                    self.rules += getattr(record, "RULES_OF_COMMAND", ())
        return len(self.params) > n_own

    def list_group(self, title: str) -> list[Option]:
        """Return the options of a group."""
        return [each for each in self.params if isinstance(each, Option) and each.title == title]

    @property
    def takes_sources(self) -> bool:
        """Whether the command reads documents."""
        return any(
            "SOURCE" in (each.metavar or "")
            for each in self.params
            if isinstance(each, click.Argument)
        )

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        found = super().get_params(ctx)
        if ctx.meta.get(MODEL_OPTION):  # given by -m: all arguments are sources
            return [
                each
                for each in found
                if not (isinstance(each, click.Argument) and each.name == "model")
            ]
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # for completion
            self.add_options()
        while True:
            try:
                values, _, order = self.make_parser(ctx).parse_args(list(args))
                break
            except click.NoSuchOption as error:
                if not self.add_options():
                    from difflib import get_close_matches

                    name = error.option_name  # click proposes what is hardly similar
                    alike = get_close_matches(name, error.possibilities or (), cutoff=0.8)
                    raise click.NoSuchOption(name, possibilities=alike, ctx=ctx) from None
        for parameter in order:
            takes_one = isinstance(parameter, Option) and not (
                parameter.multiple or parameter.is_flag
            )
            if takes_one and order.count(parameter) > 1:
                raise click.UsageError(
                    f"{parameter.opts[0]} is given more than once; it takes one value", ctx
                )
        ctx.meta[MODEL_OPTION] = values.get(MODEL_OPTION) is not None
        # Before the values are read, which can fail. With --exit-status, 1 is an answer, and errors
        # are higher
        for name in ("exit_status", "verbose"):
            if values.get(name) is not None and isinstance(ctx.obj, set):
                ctx.obj.add(name)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            assert self.callback is not None  # of each command
            return ctx.invoke(self.callback, self._make_record(ctx))
        except NbtextError as error:
            # an error of the library names a setting; the command line names its option
            flags = {each.name: each.flag for each in self.params if isinstance(each, Option)}
            for _, each in list_settings_parts(self.record):
                for short in getattr(each.record, "SHORTHANDS", ()):
                    flags |= dict.fromkeys(short.names, f"--{short.field.name}")

            def spell(setting: str) -> str:
                name, _, value = setting.partition("=")
                flag = flags.get(name, f"--{name.replace('_', '-')}")
                return f"{flag} {value}" if value else flag

            error.spell = spell
            if isinstance(error, SettingsError):
                error.where = flags.get(error.where, error.where)
            raise

    def _make_record(self, ctx: click.Context) -> Any:
        """Check the files of the command and its rules, and return the settings record of the
        option values.
        """
        if ctx.params.get("quiet") and isinstance(ctx.obj, set):
            ctx.obj.add("quiet")  # for the whole run, so that warnings stay away
        is_forced = ctx.params.pop("force", False)
        output_format = ctx.params.get("to")
        check_files(ctx.meta.get(NAMED, []), is_forced=is_forced, output_format=output_format)
        if MODEL_OPTION in ctx.params:
            ctx.params["model"] = ctx.params.pop(MODEL_OPTION) or ctx.params.get("model")
            if ctx.params["model"] is None:
                raise click.UsageError("Missing argument 'MODEL'", ctx)
        given = {name: value for name, value in ctx.params.items() if value not in (None, ())}
        names = {each.name or "" for each in self.params}
        of_parts = (
            getattr(each.record, "RULES", ()) for _, each in list_settings_parts(self.record)
        )
        check_rules((*self.rules, *chain.from_iterable(of_parts)), given, names)
        made = make_record(self.record, given)
        check_settings(made)
        if self._is_complete:
            from nbtext.model.training import find_step

            if step := find_step(self.name or "", given):
                made = replace(made, step=step)
        # print the log messages of the library
        if getattr(made, "run", None) is not None and made.run.verbose:
            import logging

            from nbtext.kernel import kernel_name

            logging.basicConfig(level=logging.INFO, format="nbtext: %(message)s")
            logging.getLogger("nbtext").info("kernel: %s", kernel_name())
        if {"stop_words", "vocabulary", "keywords"} & given.keys():
            from nbtext.features.word_lists import describe_unmatched

            features = made.features
            if made.input.separate_fields:
                features = replace(features, fields=made.input.text_field)
            words = chain.from_iterable(given.get("keywords", {}).values())
            for name, sentence in describe_unmatched(features, words).items():
                what = f"--{name.replace('_', '-')}: {sentence}"
                warnings.warn(what, AssumptionWarning, stacklevel=2)
        return made

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [
            "[OPTIONS]",
            *(each.metavar or "" for each in self.params if isinstance(each, click.Argument)),
        ]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the complete help: `--help`."""
        self.add_options()
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        if self.takes_sources:
            has_model = any("--model-file" in each.opts for each in self.params)
            format_text(formatter, SOURCE_HELP + MODEL_SOURCE_HELP * has_model)
        for title in dict.fromkeys(getattr(each, "title", "") for each in self.params):
            if title and title not in self.referred:
                with formatter.section(title):
                    formatter.write_dl(
                        [each.get_help_record(ctx) for each in self.list_group(title)]
                    )
        for use in dict.fromkeys(self.referred.values()):
            topics = [
                f"`nbtext help {name}`"
                for name, each in TOPICS.items()
                if self.referred.get(each.title) == use
            ]
            format_text(formatter, f"Only {use}: the options of {' and '.join(topics)}.")
        format_text(formatter, self.notes)
        self._write_example(formatter)

    def format_short_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the most common options, with the first sentence of each: `-h`."""
        self.format_usage(ctx, formatter)
        format_text(formatter, (self.help or "").partition("\n")[0])
        format_text(formatter, SHORT_SOURCE_HELP if self.takes_sources else "")
        with formatter.section("Options"):
            formatter.write_dl(
                [
                    (each.names(ctx), next(each.sentences()))
                    for each in self.params
                    if isinstance(each, Option) and set(each.opts) & set(self.common)
                ],
                col_max=26,
            )
        self._write_example(formatter)
        formatter.write(f"\n`{ctx.command_path} --help` shows all options.\n")

    def _write_example(self, formatter: click.HelpFormatter) -> None:
        with formatter.section("Example"):
            formatter.write(f"  {self.example}\n")


def command(record: type[Any], **facts: Any) -> Callable[[Callable[[Any], int | None]], Command]:
    """Make a command of a function of a settings record; `facts` are those of Command."""
    return lambda function: Command(function, record, **facts)


def typed_options() -> dict[str, str]:
    """Return the options of the running command, as they were typed, without credentials."""
    return dict(click.get_current_context().meta.get(TYPED, {}))


def typed_settings(*records: type[Any]) -> dict[str, Any]:
    """Return the values of the settings of some records that were typed, by name."""
    ctx = click.get_current_context()
    names = {field.name for record in records for field, _ in list_options(record)}
    typed = {
        name for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    return {name: value for name, value in ctx.params.items() if name in typed}


def refuse_settings(*records: type[Any], because: str, but: Strings = ()) -> None:
    """Raise SettingsError if a setting of these records was typed.

    because  the reason, a sentence
    but      names of settings that are allowed nevertheless
    """
    for name in typed_settings(*records):
        if name not in but:
            raise refuse(name, because)


def format_text(formatter: click.HelpFormatter, text: str) -> None:
    """Write a paragraph of help, indented."""
    if text:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)


def _print_help(ctx: click.Context, option: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not ctx.resilient_parsing and isinstance(ctx.command, Command):
        formatter = ctx.make_formatter()
        write = ctx.command.format_short_help if "-h" in option.opts else ctx.command.format_help
        write(ctx, formatter)
        click.echo(formatter.getvalue().rstrip("\n"))
        ctx.exit()

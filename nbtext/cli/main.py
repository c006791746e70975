"""The `nbtext` command: it finds the subcommand, and is the only place where errors are printed."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn, TextIO, cast

import click

from nbtext.errors import (
    AssumptionWarning,
    NbtextError,
    NbtextWarning,
    hide_credentials,
    is_out_of_memory,
    printable,
    reason_of,
)
from nbtext.interrupts import INTERRUPTED
from nbtext.registry import (
    check_kind,
    find_command,
    find_extension,
    group_commands,
    import_place,
    offer,
)

UNKNOWN = 2  # the lowest exit status of an error where 1 is an answer

# The commands of the core; those of applications are in the registry. group: command: the first
# line of its help. `nbtext --help` needs them without importing the commands.
CORE_COMMANDS = {
    "Train and predict": {
        "train": "Train a model on labeled documents, and save it.",
        "predict": "Predict the labels of documents, and print one record for each, in order.",
        "evaluate": "Evaluate a model on labeled documents: accuracy, F1, log-loss, calibration.",
        "vectorize": "Convert documents to a sparse matrix, and save it.",
    },
    "Inspect and compare": {
        "inspect": "Show the settings and the most important features of a model.",
        "explain": "Explain why documents get their labels, feature by feature.",
    },
    "Change a model": {
        "update": "Train a model further on new documents, which may have new words and labels.",
        "forget": "Remove documents from a model, as if it had not been trained on them.",
        "merge": "Merge models into one, as if trained on the documents of all of them.",
        "calibrate": "Refit smoothing and calibration of a model on labeled documents.",
    },
}
# the module of a command, if it has another name
MODULES = dict.fromkeys(CORE_COMMANDS["Change a model"], "growth")

HELP = "help"  # the command that prints the help of commands, and groups of their options

DEMO_EXAMPLE = offer("demo", "nbtext demo\n")
HELP_TEXT = f"""Train and use text classifiers: Naive Bayes and linear models.

\b
{DEMO_EXAMPLE}nbtext train    letters/train -o letters.joblib
nbtext predict  letters/test  -m letters.joblib
nbtext evaluate letters/test  -m letters.joblib

`nbtext COMMAND -h` shows the most common options of a command, `nbtext COMMAND --help` shows
all. `nbtext help` lists topics: groups of options that several commands share.
"""
COMPLETION = """\b
For completion with the Tab key, add this line to the start-up file of the shell:
bash  eval "$(_NBTEXT_COMPLETE=bash_source nbtext)"
zsh   eval "$(_NBTEXT_COMPLETE=zsh_source nbtext)"
fish  _NBTEXT_COMPLETE=fish_source nbtext | source
"""


@contextlib.contextmanager
def _without_empty_line() -> Iterator[None]:
    """Pass an interrupt to click as `Abort`, for which it does not print an empty line on standard
    error.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        raise click.Abort from error


class LazyGroup(click.Group):
    """The group of all commands; a command is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for commands in group_commands(CORE_COMMANDS).values() for name in commands]

    make_context = _without_empty_line()(click.Group.make_context)
    invoke = _without_empty_line()(click.Group.invoke)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == HELP:
            from nbtext.cli.help import help_command

            return help_command
        if not any(cmd_name in commands for commands in CORE_COMMANDS.values()):
            found: click.Command | None = find_command(cmd_name)
            if found is not None:
                check_kind(found, click.Command, cmd_name)
            return found
        place = f"nbtext.cli.{MODULES.get(cmd_name, cmd_name)}:{cmd_name}"
        return cast(click.Command, import_place(place))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            similar = get_close_matches(args[0], [*self.list_commands(ctx), HELP], n=1)
            if similar:
                raise click.UsageError(
                    f"No such command {args[0]!r}. Did you mean {similar[0]}?", ctx
                ) from error
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group, commands in group_commands(CORE_COMMANDS).items():
            with formatter.section(group):
                formatter.write_dl(list(commands.items()))


def _print_version(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if not is_wanted or ctx.resilient_parsing:
        return
    from nbtext import __version__
    from nbtext.kernel import kernel_name

    click.echo(f"nbtext {__version__}\nkernel: {kernel_name()}")
    ctx.exit()


@click.command(
    cls=LazyGroup,
    help=HELP_TEXT,
    epilog=COMPLETION,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version, and whether the compiled kernel (an extension module) is used.",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


class _Messages:
    """A stream of messages: those that cannot be written, because it is full or closed, are lost.

    The results matter more: a command whose last message fails has done its work.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()


def main() -> NoReturn:
    """Run the command line, and exit with its status."""
    if sys.stderr is not None:
        sys.stderr = cast(TextIO, _Messages(sys.stderr))
    # NumPy's BLAS would start a spinning thread for each core, but nothing here multiplies large
    # dense matrices
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    status = run_command(sys.argv[1:])
    if sys.stderr is not None:
        sys.stderr.flush()
    # A normal exit of Python would take a tenth of a short command's time to free its memory, would
    # wait for threads after Ctrl-C, and could end by a signal that arrived within exec().
    os._exit(status)


def run_command(arguments: list[str]) -> int:
    """Run one command, print at most one line about an error, and return the exit status."""
    given: set[str] = set()  # what options say about the whole run
    status, is_error = _run(arguments, given)
    return max(status, UNKNOWN) if is_error and "exit_status" in given else status


def _run(arguments: list[str], given: set[str]) -> tuple[int, bool]:
    """Run one command; return its exit status, and whether it is that of an error."""
    # standard output was closed at the start; writing results to it is an error
    if sys.stdout is None:
        sys.stdout = open(os.devnull, encoding="utf-8")  # noqa: SIM115  for as long as it runs
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    # print each kind of warning of nbtext once, as one line on standard error; what was assumed,
    # once for each file
    show_others = warnings.showwarning
    shown = set[object]()

    def show(message: Warning | str, category: type[Warning], *place: Any, **others: Any) -> None:
        key = str(message) if category is AssumptionWarning else category
        if not issubclass(category, NbtextWarning):
            show_others(message, category, *place, **others)
        elif key not in shown and "quiet" not in given:
            shown.add(key)
            _print_error(f"warning: {message}", 0)

    warnings.simplefilter("always", NbtextWarning)
    warnings.showwarning = show
    try:
        status = cli.main(arguments, prog_name="nbtext", standalone_mode=False, obj=given)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not type(sys.stdout).__name__.endswith(
            "PacifyFlushWrapper"
        ):
            raise  # otherwise click has raised it for a closed pipe
        # the reader of the output has closed it, so the rest of the buffer is dropped
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0, True
    except (KeyboardInterrupt, click.Abort):
        return _print_error("interrupted", INTERRUPTED), True
    except Exception as error:
        # during the creation of a class
        if any(isinstance(each, KeyboardInterrupt) for each in _list_causes(error)):
            return _print_error("interrupted", INTERRUPTED), True
        if "verbose" in given and not isinstance(error, NbtextError | click.ClickException):
            sys.excepthook(type(error), error, error.__traceback__)
        return _print_error(*_describe(error)), True
    return status if isinstance(status, int) else 0, False


def _describe(error: Exception) -> tuple[str, int]:
    """Return the message of an error, and the exit status."""
    if isinstance(error, NbtextError):
        return str(error), error.exit_code
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        advice = f"; try: {context.command_path} --help" if context is not None else ""
        sentence = " ".join(line.strip() for line in error.format_message().splitlines())
        return sentence.rstrip(".") + advice, error.exit_code
    if any(map(is_out_of_memory, _list_causes(error))):
        return "out of memory; use fewer --jobs, --hash-bits, or --min-df and --max-features", 1
    if isinstance(error, OSError):
        where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return f"{where}{reason_of(error)}", 1
    extension = find_extension(error)
    of, to = (f" of {extension}", " to its authors") if extension else ("", "")
    what = f"{type(error).__name__}: {error}"
    return f"internal error{of} ({what}); add --verbose to see where, and report it{to}", 1


def _list_causes(error: BaseException) -> list[BaseException]:
    """Return the error, and the errors during whose handling it was raised."""
    causes = [error]
    while (context := causes[-1].__context__) is not None:
        causes.append(context)
    return causes


def _print_error(sentence: str, status: int) -> int:
    """Print one line on standard error; characters that it cannot encode are escaped."""
    sys.stderr.write(f"nbtext: {printable(hide_credentials(sentence))}\n")
    sys.stderr.flush()
    return status

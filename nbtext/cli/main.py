"""The `nbtext` command: finds the subcommand, and is the one place where errors are printed."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
import warnings
from typing import Any, NoReturn

import click

from nbtext.errors import NbtextError, NbtextWarning, printable

INTERRUPTED = 130  # the exit status that shells give to what Ctrl-C ended

# of errors of other kinds; the last two are what Python says where it had no room left for its own MemoryError
NO_ROOM = (
    "failed to map segment",
    "can't start new thread",
    "Cannot allocate memory",
    "without exception set",
    "without setting an exception",
)

# group: command: (the first line of its help). Named here so that `nbtext --help` imports none of them.
COMMANDS = {
    "Do": {
        "vectorize": "Turn texts into a sparse matrix file.",
        "train": "Learn labels from texts, and save the model.",
        "predict": "Label texts with a model.",
        "evaluate": "Say how good a model is on labelled texts.",
    },
    "Look": {
        "sample": "Draw documents from a model.",
        "inspect": "Show what a model has learned.",
        "explain": "Show why each document got its label.",
        "compare": "Compare trained models, or models as they learn from more and more documents.",
        "diff": "Show what has changed from one model to another.",
    },
    "Grow": {
        "update": "Learn more texts, new words and new labels included.",
        "forget": "Take texts out of a model, as if it had never learned them.",
        "merge": "Join models into one that has learned what each of them has.",
        "calibrate": "Fit a model's smoothing and calibration to labelled texts.",
        "export": "Write a model for other programs: C, JavaScript, ONNX, scikit-learn, spreadsheets.",
    },
}


COMPLETION = """\b
Let Tab complete commands, options, labels and files, by this line in the shell's start-up file:
bash  eval "$(_NBTEXT_COMPLETE=bash_source nbtext)"
zsh   eval "$(_NBTEXT_COMPLETE=zsh_source nbtext)"
fish  _NBTEXT_COMPLETE=fish_source nbtext | source
"""


class LazyGroup(click.Group):
    """The group of all commands, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for commands in COMMANDS.values() for name in commands]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:  # else click would print an empty line, wherever standard error goes
            raise click.Abort from error

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = getattr(importlib.import_module(f"nbtext.cli.{cmd_name}"), cmd_name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if suggestion := _nearest(args[0], self.list_commands(ctx)):
                raise click.UsageError(f"No such command {args[0]!r}. Did you mean {suggestion}?", ctx) from error
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group, commands in COMMANDS.items():
            with formatter.section(group):
                formatter.write_dl(list(commands.items()))


def _nearest(word: str, words: list[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, words, n=1)), None)


def _print_version(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if not is_wanted or ctx.resilient_parsing:
        return
    from nbtext import __version__
    from nbtext.features.kernel import kernel_name

    click.echo(f"nbtext {__version__}\nkernel: {kernel_name()}")
    ctx.exit()


@click.command(
    cls=LazyGroup, no_args_is_help=False, epilog=COMPLETION, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version, and how words are counted: compiled, or in Python.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Classify texts by Naive Bayes and its linear siblings, at the speed of counting their words.

    \b
    nbtext train    corpora/letters/train -o model.joblib
    nbtext predict  corpora/letters/test  -m model.joblib
    nbtext evaluate corpora/letters/test  -m model.joblib
    """


def main() -> NoReturn:
    """Run the command line, and leave with its exit status."""
    # NumPy's BLAS would start a thread for each core and have them spin; nothing here multiplies large matrices
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(100_000, 50, 50)  # looking for garbage cycles took a tenth of the time of a short command
    status = run(sys.argv[1:])
    with contextlib.suppress(OSError, ValueError):  # standard error is closed or full
        sys.stderr.flush()
    # At once: Python would take a tenth of a short command's time to clear its memory up piece by piece, would wait for
    # threads after Ctrl-C, and might turn an exit into death by the signal where that met it inside of exec().
    os._exit(status)


def run(arguments: list[str]) -> int:
    """Run one command; print at most one line about an error, and give the exit status."""
    _replace_closed_streams()
    warnings.filterwarnings("ignore", category=UserWarning, module="joblib")  # that without semaphores it is slower
    _show_warnings(is_quiet=not {"-q", "--quiet"}.isdisjoint(arguments))
    try:
        status = cli.main(arguments, prog_name="nbtext", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            raise  # else click has made the one of the other
        # whoever read our output has seen enough; what is left in the buffer has nowhere to go
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, click.Abort):
        return _complain("interrupted", INTERRUPTED)
    except Exception as error:
        if "--debug" in arguments:
            raise
        return _complain(*_explained(error))
    return status if isinstance(status, int) else 0


def _show_warnings(*, is_quiet: bool) -> None:
    """Show each kind of nbtext's warnings once, in one line on standard error; other warnings as Python does."""
    show_others, shown = warnings.showwarning, set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **others: Any) -> None:
        if not issubclass(category, NbtextWarning):
            show_others(message, category, *place, **others)
        elif category not in shown and not is_quiet:
            shown.add(category)
            _complain(f"warning: {message}", 0)

    warnings.simplefilter("always", NbtextWarning)
    warnings.showwarning = show


def _replace_closed_streams() -> None:
    """Have something in the place of outputs that were closed from the start: writing results to it is an error."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, encoding="utf-8")  # noqa: SIM115  for as long as it runs
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _explained(error: Exception) -> tuple[str, int]:
    """What to say of an error, and the exit status."""
    if isinstance(error, NbtextError):
        return str(error), error.exit_code
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        advice = f"; try: {context.command_path} --help" if context is not None else ""
        sentence = " ".join(line.strip() for line in error.format_message().splitlines())
        return sentence.rstrip(".") + advice, error.exit_code
    if _is_out_of_memory(error):
        return "out of memory; use fewer --jobs, --hash-bits, or --min-df and --max-features", 1
    if isinstance(error, OSError):
        where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return f"{where}{error.strerror or error}", 1
    return f"this should not have happened ({type(error).__name__}: {error}); `nbtext --debug` shows where", 1


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Whether there was no more room for something, here or in what led here: data, a library, or a thread."""
    while error is not None:
        if isinstance(error, MemoryError) or any(sign in str(error) for sign in NO_ROOM):
            return True
        error = error.__context__
    return False


def _complain(sentence: str, status: int) -> int:
    """One line on standard error, whatever the sentence is made of."""
    with contextlib.suppress(OSError):  # standard error is closed: the exit status says it all
        sys.stderr.write(f"nbtext: {printable(sentence)}\n")
        sys.stderr.flush()
    return status

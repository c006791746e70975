"""Settings that several commands have: sources, models, results, and how a command runs."""

from __future__ import annotations

import sys
from typing import Any

from nbtext.bayes.settings import BEST, ModelSettings
from nbtext.documents.settings import InputSettings
from nbtext.errors import hide_credentials, printable
from nbtext.parallel import available_cpus
from nbtext.records import Strings, frozen
from nbtext.report.records import OUTPUT_FORMATS
from nbtext.settings import Settings, list_settings, parse_bytes, part, setting

MAX_JOBS = 4096


@frozen(kw_only=True)
class RunSettings(Settings):
    """How a command runs.

    jobs     number of threads
    quiet    whether to print only results and errors
    verbose  whether to log details, and the traceback of an error of the program
    """

    TITLE = "Running"

    jobs: int = setting(
        available_cpus(),
        "Number of threads.",
        flags=("-j", "--jobs"),
        low=1,
        high=MAX_JOBS,
        metavar="N",
        default_help="all cores",
    )
    quiet: bool = setting(False, "Print only results and errors.", flags=("-q", "--quiet"))
    verbose: bool = setting(
        False,
        "Log details: each skipped file, whether the compiled kernel is used, and where an internal error was raised.",
        flags=("-v", "--verbose"),
    )

    def say(self, *sentences: str) -> None:
        """Print a line for people on standard error for each sentence, unless only results and
        errors are wanted.
        """
        if not self.quiet:
            lines = (f"{printable(hide_credentials(each))}\n" for each in sentences)
            sys.stderr.write("".join(lines))


@frozen(kw_only=True)
class ResultSettings:
    """Where a result is written, and in which format.

    to  None: the suffix of the file, a table on a terminal, else TSV
    """

    TITLE = "Output"

    output: str = setting(
        "-",
        "File to write. Its suffix, such as .jsonl, implies the format.",
        flags=("-o", "--output"),
        file="output",
        default_help="standard output",
    )
    to: str | None = setting(
        None,
        "Output format.",
        choices=OUTPUT_FORMATS,
        metavar="FORMAT",
        default_help="table on a terminal, else tsv",
    )
    spreadsheet_safe: bool = setting(
        False,
        "Put an apostrophe before cells that a spreadsheet would evaluate as formulas. Only with --to csv.",
    )


MAX_MODEL_BYTES = 1 << 50
TO_PIPE = "standard output, unless it is a terminal"
# of commands in which each document counts once
NOT_WEIGHED = ("weight_field",)
NOT_FOR_COUNTS = ("label", "label_separator", "label_fields", "missing_labels")
LABEL_FIELD = "Column, JSON key or mail header of the label. The label is ignored, but its name helps to recognize the "


def sources(*, is_required: bool = True) -> Any:
    """Return the field of the argument SOURCE..."""
    return setting(
        (),
        metavar="SOURCE...",
        file="source",
        is_argument=True,
        is_required=is_required,
        is_repeated=True,
    )


def model_file() -> Any:
    """Return the field of -m."""
    return setting(
        "",
        "Model file, or its URL; - is standard input.",
        flags=("-m", "--model-file"),
        file="model",
        is_required=True,
    )


def model_argument(file: str = "model") -> Any:
    """Return the field of the argument MODEL, which may also be given as -m MODEL."""
    help = "Model file, instead of MODEL."
    return setting(
        "", help, metavar="MODEL", flags=("-m", "--model-file"), file=file, is_argument=True
    )


def new_model(
    help: str = "Model file to write.", default_help: str = TO_PIPE, file: str = "new model"
) -> Any:
    """Return the field of -o, for a model or another binary result."""
    return setting(None, help, flags=("-o", "--output"), file=file, default_help=default_help)


def max_model_bytes() -> Any:
    """Return the field of --max-model-bytes, of commands that write a model."""
    return setting(
        None,
        "Maximum size of the model file, such as 300KB or 2MB. A larger model keeps the features with the "
        "largest effect, with weights in 8 bits, and no counts: it cannot grow. Its probabilities are calibrated again, and "
        "its accuracy is estimated, on documents that are held out.",
        parse=parse_bytes,
        low=1,
        high=MAX_MODEL_BYTES,
        metavar="SIZE",
        default_help="any size",
        title="Model",
    )


def unlabeled_input(*without: str) -> Any:
    """Return the settings of input whose labels are ignored, but some."""
    return part(
        InputSettings,
        without=(
            *NOT_FOR_COUNTS,
            "label_level",
            "skip_unlabeled",
            "skip_empty",
            *without,
        ),
        label_field={"help": LABEL_FIELD + "header row of a table."},
    )


def trained_model(*without: str) -> Any:
    """Return the settings of a model that is trained or searched; the command gets the given values
    by name.
    """
    help = "`best` compares `auto` with `stacked`, with characters for short texts; of several labels, nbsvm and svm."
    model = next(found for field, found in list_settings(ModelSettings) if field.name == "model")
    facts = {"choices": (*model.choices, BEST), "help": f"{model.help} {help}"}
    return part(ModelSettings, without=without, is_open=True, model=facts)


def run(*without: str) -> Any:
    """Return the settings of how a command runs, but some."""
    return part(RunSettings, without=without)


def verbose_only() -> Any:
    """Return the settings of a command that uses one thread, and prints nothing but its result."""
    return run("jobs", "quiet")


def result(formats: Strings = OUTPUT_FORMATS, piped: str = "tsv", notes: str = "") -> Any:
    """Return the settings of a result.

    piped  the format by default if a program reads the result
    notes  further sentences of the help of the format
    """
    help = f"Output format. {notes}"
    default_help = f"table on a terminal, else {piped}"
    return part(ResultSettings, to={"choices": formats, "help": help, "default_help": default_help})


def report() -> Any:
    """Return the field of --report."""
    return setting(
        None,
        "Write an HTML page with charts, too. Needs the extra nbtext[report].",
        file="output",
    )


@frozen(kw_only=True)
class Change:
    """The settings of a command that changes a model with documents."""

    model: str = model_argument("rewritten model")
    sources: Strings = sources()
    output: str | None = new_model("File to write instead of MODEL; - is standard output.", "")
    input: InputSettings = part(InputSettings)
    run: RunSettings = run()

"""Options of several commands, in one stage for each settings record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli.command import MODEL_OPTION, Option, stage
from nbtext.cli.files import MODEL, MODEL_OUTPUT, OUTPUT, REWRITTEN_MODEL, SOURCE, FileType
from nbtext.cluster.settings import ClusterSettings
from nbtext.documents.formats import FORMAT_NAMES
from nbtext.documents.settings import InputSettings
from nbtext.errors import SettingsError
from nbtext.model.settings import DecaySettings, DecisionSettings
from nbtext.parallel import available_cpus
from nbtext.records import dataclass

if TYPE_CHECKING:
    from nbtext.model.settings import Costs

    ParamType = click.ParamType[Any]
else:  # before click 8.5 it takes no parameter
    ParamType = click.ParamType

MAX_JOBS = 4096
DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "y": 365.25}  # days of each unit of time


class Parsed(ParamType):
    """A parameter type whose function parses the typed text; it raises ValueError for invalid text."""

    def __init__(self, name: str, parse: Callable[[str], object]) -> None:
        self.name = name
        self.parse = parse

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _parse_costs(text: str) -> Costs:
    from nbtext.model.settings import read_costs

    return read_costs(text)


def parse_time(units: Mapping[str, float], default_unit: str, example: str) -> Callable[[str], float]:
    """Make a parser of a time, such as 5m, in the unit whose factor is 1."""

    def parse(text: str) -> float:
        number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, default_unit)
        try:
            return float(number) * units[unit]
        except ValueError:
            raise ValueError(f"{text!r} is not a time; write {example}") from None

    return parse


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names in a list that is separated by commas; ValueError if there is none."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError(f"{text!r} contains no name; separate several names with commas")
    return names


def _parse_label_share(text: str) -> tuple[str, float]:
    label, _, number = text.rpartition("=")
    try:
        share = float(number)
    except ValueError:
        share = nan
    if not label or not isfinite(share):
        raise ValueError(f"{text!r} is not LABEL=P, such as spam=0.99")
    return label, share


def _parse_threshold(text: str) -> tuple[str, float] | float | str:
    """Return the threshold of a label, or of all labels, or `auto`."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        return _parse_label_share(text)


def _make_decisions(values: Mapping[str, Any]) -> DecisionSettings:
    """Return the settings of decisions; `--threshold` sets the threshold of all labels, and those of single labels."""
    given = values.get("threshold", ())
    pairs = tuple(each for each in given if isinstance(each, tuple))
    of_all = [each for each in given if not isinstance(each, tuple)]
    if len(of_all) > 1:
        hint = "give one P or `auto`; LABEL=P may be repeated"
        raise SettingsError("the threshold of all labels is given twice", where="threshold", hint=hint)
    return DecisionSettings(**{**values, "threshold": pairs, "label_threshold": of_all[0] if of_all else None})


LABEL_SHARE = Parsed("LABEL=P", _parse_label_share)
DURATION = Parsed("TIME", parse_time(DAYS, "d", "30d, 12h or 4w"))

LABELED_INPUT_STAGE = stage(
    "input_settings", InputSettings, "Input",
    Option("--input-format", type=click.Choice(FORMAT_NAMES), metavar="NAME",
           help="Format of SOURCE. By default it is guessed from the name and the first bytes. A .txt file holds one "
           "text per line; `files` reads each file as one text."),
    Option("--encoding", metavar="NAME", help="Text encoding. A byte order mark takes precedence."),
    Option("--encoding-errors", type=click.Choice(["replace", "strict"]), metavar="NAME",
           help="How invalid bytes are handled. `replace` replaces each by U+FFFD, and the command prints their "
           "number. With `strict`, a document with invalid bytes is an error: training stops, and `predict` gives it "
           "no label."),
    Option("--text-field", type=Parsed("NAME[,NAME…]", parse_names),
           help="Column, JSON key or mail header of the text. Separate several names with commas. For a file without "
           "a header, give the number of the column, counted from 1."),
    Option("--label-field", metavar="NAME",
           help="Column, JSON key or mail header of the label. A list holds several labels of the document."),
    Option("--label-separator", metavar="TEXT",
           help="Separator between labels in the label field, such as '|'. By default, the whole field is one label."),
    Option("--label-fields", type=Parsed("NAME,NAME…", parse_names),
           help="Columns or JSON keys that hold 1 for each label of the document and 0 for the other labels. Their "
           "names are the labels."),
    Option("--single-label", is_flag=True, default=None, help="Stop with an error at a document with several labels."),
    Option("--label", metavar="LABEL", help="Label of all documents of SOURCE, whose own labels are ignored."),
    Option("--exclude", metavar="GLOB", multiple=True,
           help="Skip a file or folder of a directory if its name, or its path in the directory, matches a pattern "
           "such as '*.bak' or 'old/*'; may be repeated."),
    Option("--id-field", metavar="NAME", help="Column, JSON key or mail header of the document id."),
    Option("--query", metavar="SQL",
           help="Query whose rows are the documents of SOURCE: a SQLite file, or the URL of a database, such as "
           "postgresql://USER@HOST/NAME, which needs the extra nbtext[sql], or nbtext[adbc] for postgresql+adbc://. "
           "Nothing is written to the database."),
    Option("--separate-fields", is_flag=True, default=None,
           help="Make a separate feature `field:word` for each text field. By default, the texts are joined."),
    Option("--max-document-bytes", type=int, metavar="N",
           help="Maximum size of a document in bytes. A larger document is an error, as with "
           "--encoding-errors strict."),
)  # fmt: skip
INPUT_STAGE = LABELED_INPUT_STAGE.without("label", "label_separator", "label_fields", "single_label")
UNLABELED_INPUT_STAGE = INPUT_STAGE.replace(
    Option("--label-field", metavar="NAME", title="Input", default_help=InputSettings().label_field,
           help="Column, JSON key or mail header of the label. The label is ignored, but its name helps to recognize "
           "the header row of a table."),
)  # fmt: skip


DECISION_STAGE = stage(
    "decisions", DecisionSettings, "Predictions",
    Option("--min-probability", type=float, metavar="P", help="Predict no label if its probability is below P."),
    Option("--coverage", type=float, metavar="P",
           help="Add the smallest set of labels that contains the true label with probability P, such as 0.95 "
           "(conformal prediction). A document with an empty set gets no label. For a multi-label model, the sets "
           "contain a share P of the true labels."),
    Option("--cost", type=FileType(parse=_parse_costs),
           help="Predict the label with the lowest expected cost. The columns of FILE are true label, predicted "
           "label and cost. Other pairs cost 0 if the labels are equal, else 1."),
    Option("--threshold", type=Parsed("[LABEL=]P|auto", _parse_threshold), multiple=True,
           help="Predict LABEL if its probability is at least P, otherwise the most probable other label; may be "
           "repeated. Of several labels that reach their thresholds, the most probable one is predicted. A multi-label "
           "model predicts every label that reaches its threshold; there, P alone is the threshold of all labels, and "
           "`auto`, the default, stands for the thresholds of the model."),
    Option("--at-least-one", is_flag=True, default=None,
           help="Predict the most probable label if no label reaches its threshold. Only with a multi-label model."),
    Option("--top-k", type=int, metavar="K",
           help="Add the K most probable labels with their probabilities. In jsonl and json, `scores` holds only "
           "these."),
    Option("--explain", type=int, metavar="N",
           help="Add the N features with the largest contributions to each record. Needs --to jsonl or json."),
    build=_make_decisions,
)  # fmt: skip

CLUSTER_STAGE = stage(
    "cluster", ClusterSettings, "Cluster",
    Option("--cluster", metavar="ADDRESS",
           help="Run on a Dask cluster: a scheduler address such as tcp://HOST:8786, or `local`. Workers must see "
           "the same paths. Needs the extra nbtext[dask]."),
    Option("--shard-bytes", type=int, metavar="N",
           default_help="two shards for each thread of the workers, each of 16 to 512 MiB",
           help="Size in bytes of a shard, the part of SOURCE that a thread reads at once. Only with --cluster."),
)  # fmt: skip

DECAY_STAGE = stage(
    "decay", DecaySettings, "Decay",
    Option("--half-life", type=DURATION,
           help="Time after which the weight of an earlier document is halved, such as 30d or 12h. Needs --elapsed."),
    Option("--elapsed", type=DURATION,
           help="Time since the last training or update of the model, such as 7d. Needs --half-life."),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How a command runs.

    jobs         number of threads
    quiet        whether to print only results and errors
    no_progress  whether to show no progress bar
    """

    jobs: int = 0
    quiet: bool = False
    no_progress: bool = False

    def __post_init__(self) -> None:
        if not self.jobs:
            object.__setattr__(self, "jobs", available_cpus())


def _log_details(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    """Print the log messages of the library on standard error."""
    if is_wanted and not ctx.resilient_parsing:
        import logging

        from nbtext.features.kernel import kernel_name

        logging.basicConfig(level=logging.INFO, format="nbtext: %(message)s")
        logging.getLogger("nbtext").info("kernel: %s", kernel_name())


RUN_STAGE = stage(
    "run", RunSettings, "Running",
    Option("-j", "--jobs", type=click.IntRange(1, MAX_JOBS), metavar="N", default_help="all cores",
           help="Number of threads."),
    Option("-q", "--quiet", is_flag=True, default=None, help="Print only results and errors."),
    Option("--no-progress", is_flag=True, default=None, help="Show no progress bar."),
)  # fmt: skip
VERBOSE = Option("-v", "--verbose", is_flag=True, expose_value=False, callback=_log_details, title="Running",
                 help="Log details, such as whether the compiled kernel (extension modules) is used.")  # fmt: skip
DEBUG = Option("--debug", is_flag=True, expose_value=False, title="Running", help="Show the traceback of an error.")
RUN_PARTS = (RUN_STAGE, VERBOSE, DEBUG)

SOURCES = click.Argument(["sources"], metavar="SOURCE...", nargs=-1, required=True, type=SOURCE)
MODEL_FILE = Option("-m", "--model-file", "model", type=MODEL, required=True,
                    help="Model file; - is standard input.")  # fmt: skip


def model_parts(kind: FileType = MODEL) -> tuple[click.Argument, Option]:
    """Return the parameters for MODEL: the first argument, or -m."""
    argument = click.Argument(["model"], metavar="MODEL", type=kind, required=False)
    return argument, Option("-m", "--model-file", MODEL_OPTION, type=kind, help="Model file, instead of MODEL.")


MODEL_PARTS = model_parts()
REWRITTEN_MODEL_PARTS = model_parts(REWRITTEN_MODEL)
REWRITTEN_OUTPUT = Option("-o", "--output", type=MODEL_OUTPUT,
                          help="File to write instead of MODEL; - is standard output.")  # fmt: skip
TO_PIPE = "standard output, unless it is a terminal"
NEW_MODEL = Option("-o", "--output", type=MODEL_OUTPUT, default_help=TO_PIPE, help="Model file to write.")
BINARY_OUTPUT = Option("-o", "--output", type=OUTPUT, default_help=TO_PIPE, help="File to write.")
REPORT = Option("--report", type=OUTPUT,
                help="Write an HTML page with charts, too. Needs the extra nbtext[report].")  # fmt: skip


SPREADSHEET_SAFE = Option(
    "--spreadsheet-safe", is_flag=True, expose_value=False,
    help="Put an apostrophe before cells that a spreadsheet would evaluate as formulas. Only with --to csv.",
)  # fmt: skip


def result_options(formats: tuple[str, ...], piped: str = "tsv", notes: str = "") -> tuple[Option, Option, Option]:
    """Return the options for the output file, its format, and cells that are safe for spreadsheets.

    piped  the format by default if a program reads the result
    notes  further sentences of the help of the format
    """
    return (
        Option("-o", "--output", type=OUTPUT, default="-", default_help="standard output",
               help="File to write. Its suffix, such as .jsonl, implies the format."),
        Option("--to", "output_format", type=click.Choice(formats), metavar="FORMAT",
               default_help=f"table on a terminal, else {piped}", help=f"Output format. {notes}"),
        SPREADSHEET_SAFE,
    )  # fmt: skip

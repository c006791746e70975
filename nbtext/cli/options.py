"""The options that several commands share: their names, values and help, by the settings record that they set."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.settings import LINEAR_MODELS, LOSSES, METRICS, ModelSettings
from nbtext.cli import completion
from nbtext.cli.command import MODEL_OPTION, Option, Stage, refuse, stage
from nbtext.cli.files import MODEL, MODEL_OUTPUT, OUTPUT, REWRITTEN_MODEL, SOURCE, FileType
from nbtext.cluster.settings import ClusterSettings
from nbtext.documents.formats import FORMAT_NAMES
from nbtext.documents.settings import ReadingSettings
from nbtext.evaluation.settings import SEARCHES, CurveSettings, FoldSettings, SearchSettings, models_to_compare
from nbtext.features.formulas import INVERSE_DOCUMENT_FREQUENCIES, NORMS, TERM_FREQUENCIES, WEIGHTINGS
from nbtext.features.settings import FeatureSettings
from nbtext.model.settings import DecaySettings, DecisionSettings, UnlabeledSettings
from nbtext.parallel import available_cpus

if TYPE_CHECKING:
    from nbtext.model.settings import Costs

    ParamType = click.ParamType[Any]
else:  # before click 8.5 it takes no parameter
    ParamType = click.ParamType

MAX_JOBS = 4096
DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "y": 365.25}  # days of each unit of time
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Parsed(ParamType):
    """A value that a function reads from what was typed; ValueError says what is wrong with it."""

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


def _parse_ngrams(text: str) -> tuple[int, int]:
    shortest, _, longest = text.replace("-", ",").partition(",")
    if not (shortest.strip().isdecimal() and (longest or shortest).strip().isdecimal()):
        raise ValueError(f"{text!r} is not a range; write 1,2 for words and pairs of words")
    return int(shortest), int(longest or shortest)


def _parse_document_frequency(text: str) -> int | float:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a number of documents nor a share such as 0.5") from None


def _parse_number_or_auto(auto: str | None) -> Callable[[str], str | float | None]:
    """Make a parser of a number, or of `auto`, which stands for the given value."""

    def parse(text: str) -> str | float | None:
        try:
            return auto if text == "auto" else float(text)
        except ValueError:
            raise ValueError(f"{text!r} is neither a number nor auto") from None

    return parse


def _parse_prior(text: str) -> str | tuple[float, ...]:
    if text in ("empirical", "uniform"):
        return text
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{text!r} is neither empirical, uniform nor a list of numbers such as 1,3") from None


def _parse_selection(text: str) -> tuple[str, int]:
    criterion, _, number = text.partition(":")
    if criterion not in ("mi", "chi2") or not number.isdecimal():
        raise ValueError(f"{text!r} is neither mi:N nor chi2:N")
    return criterion, int(number)


def _parse_stop_words(text: str) -> tuple[str, ...]:
    from nbtext.features.stop_words import ENGLISH, read_words

    return tuple(sorted(ENGLISH if text == "english" else read_words(text)))


def _parse_vocabulary(text: str) -> tuple[str, ...]:
    from nbtext.features.stop_words import read_words

    return tuple(sorted(set(read_words(text))))


def _parse_costs(text: str) -> Costs:
    from nbtext.model.settings import read_costs

    return read_costs(text)


def _parse_time(units: Mapping[str, float], default_unit: str, example: str) -> Callable[[str], float]:
    """Make a parser of a time, such as 5m, in the unit whose factor is 1."""

    def parse(text: str) -> float:
        number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, default_unit)
        try:
            return float(number) * units[unit]
        except ValueError:
            raise ValueError(f"{text!r} is not a time; write {example}") from None

    return parse


def _parse_names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _parse_sizes(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise ValueError(f"{text!r} is not a list of numbers; write 50,100,200")
    return tuple(map(int, parts))


DURATION = Parsed("TIME", _parse_time(DAYS, "d", "30d, 12h or 4w"))
DOCUMENT_FREQUENCY = Parsed("N", _parse_document_frequency)

INPUT_STAGE = stage(
    "reading", ReadingSettings, "Input",
    Option("--input-format", type=click.Choice(FORMAT_NAMES), metavar="NAME",
           help="Format of SOURCE. By default it is guessed from the name and the first bytes. A .txt file holds one "
           "text per line; `files` reads each file as one text."),
    Option("--encoding", metavar="NAME", help="Text encoding. A byte order mark takes precedence."),
    Option("--encoding-errors", type=click.Choice(["replace", "strict"]), metavar="NAME",
           help="How invalid bytes are handled. `replace` replaces and counts them; `strict` rejects the document."),
    Option("--text-field", type=Parsed("NAME[,NAME…]", _parse_names),
           help="Column, JSON key or mail header of the text. Separate several names with commas. In a file without "
           "a header, a number counts the columns from 1."),
    Option("--label-field", metavar="NAME", help="Column, JSON key or mail header of the label."),
    Option("--id-field", metavar="NAME", help="Column, JSON key or mail header of the document id."),
    Option("--separate-fields", is_flag=True, default=None,
           help="Make a separate feature `field:word` for each text field. By default, the texts are joined."),
    Option("--max-document-bytes", type=int, metavar="N",
           help="Maximum size of a document in bytes. Larger documents are rejected."),
)  # fmt: skip


def _build_features(values: Mapping[str, Any]) -> FeatureSettings:
    """Feature settings; --weighting sets three of them, which --tf, --idf and --norm override."""
    scheme = dict(zip(("tf", "idf", "norm"), WEIGHTINGS[values.get("weighting", "counts")], strict=True))
    return FeatureSettings(**scheme | {name: value for name, value in values.items() if name != "weighting"})


FEATURE_STAGE = stage(
    "features", FeatureSettings, "Features",
    Option("--weighting", type=click.Choice(list(WEIGHTINGS)), metavar="NAME", default_help="counts",
           help="Weighting scheme. It sets --tf, --idf and --norm."),
    Option("--analyzer", type=click.Choice(["word", "char", "char_wb"]), metavar="NAME",
           help="Unit of features. `char_wb` forms character n-grams within words only."),
    Option("--ngrams", type=Parsed("N,N", _parse_ngrams),
           help="Minimum and maximum n-gram length, such as 1,2 for words and pairs of words."),
    Option("--token-pattern", metavar="REGEX", default_help=r"(?u)\b\w\w+\b", help="Regular expression of a token."),
    Option("--lowercase/--no-lowercase", default=None, default_help="--lowercase", help="Convert text to lower case."),
    Option("--strip-accents", type=click.Choice(["unicode", "ascii"]), metavar="NAME",
           help="Remove accents. `ascii` also removes all remaining characters that are not ASCII."),
    Option("--stop-words", type=FileType(parse=_parse_stop_words, not_files=("english",)),
           help="Words to ignore. `english` is a built-in list; a file has one word per line."),
    Option("--stem", metavar="LANGUAGE",
           help="Language of the Snowball stemmer, which reduces words to stems. Needs nbtext[stem]."),
    Option("--min-df", type=DOCUMENT_FREQUENCY,
           help="Minimum document frequency of a feature: a number of documents, or a proportion such as 0.01."),
    Option("--max-df", type=DOCUMENT_FREQUENCY,
           help="Maximum document frequency of a feature: a number of documents, or a proportion such as 0.5."),
    Option("--max-features", type=int, metavar="N",
           help="Maximum number of features: the N most frequent ones. Ties are broken by code point order."),
    Option("--vocabulary", type=FileType(parse=_parse_vocabulary),
           help="File with one feature per line. All other features are ignored."),
    Option("--hash-bits", type=int, metavar="N",
           help="Hash features into 2^N columns instead of storing a vocabulary; N is at most 30."),
    Option("--select", type=Parsed("mi:N|chi2:N", _parse_selection),
           help="Keep the N features with the highest score. The score is the mutual information (`mi`) or the "
           "chi-squared statistic (`chi2`) of the feature and the label."),
    Option("--tf", type=click.Choice(list(TERM_FREQUENCIES)), metavar="NAME",
           help="Term-frequency scaling. `relative` is count / document length; `log` is 1 + ln(count)."),
    Option("--idf", type=click.Choice(list(INVERSE_DOCUMENT_FREQUENCIES)), metavar="NAME",
           help="Inverse-document-frequency variant, for n documents of which df contain the feature. `plain` is "
           "ln(n/df); `plus-one` is ln(n/(df+1)); `smooth` is ln((n+1)/(df+1)) + 1."),
    Option("--norm", type=click.Choice(NORMS), metavar="NAME", help="Norm of a document vector that is scaled to 1."),
    build=_build_features,
)  # fmt: skip

MODEL_STAGE = stage(
    "modelling", ModelSettings, "Model",
    Option("--model", type=click.Choice([*EVENT_MODELS, *LINEAR_MODELS]), metavar="NAME", help="Model to train."),
    Option("--smoothing", type=Parsed("auto|N", _parse_number_or_auto(None)), default_help="auto",
           help="Naive Bayes: additive smoothing, the pseudo-count of each feature in each class. `auto` selects it "
           "by leave-one-out; 0 is no smoothing. gaussian: this proportion of the largest variance is added to all "
           "variances; `auto` is 1e-9."),
    Option("--prior", type=Parsed("empirical|uniform|N,N…", _parse_prior),
           default_help="empirical; uniform for complement",
           help="Naive Bayes: class prior. Give numbers as one weight for each label, in sorted order of the labels."),
    Option("--calibrate/--no-calibrate", default=None, default_help="--calibrate",
           help="Calibrate probabilities with leave-one-out scores."),
    Option("--optimize", type=click.Choice(METRICS), metavar="METRIC",
           help="Metric to optimize, on leave-one-out scores, by an offset for each label that is added to its "
           "log-probability. Only log_loss also changes the probabilities."),
    Option("--C", "C", type=Parsed("auto|N", _parse_number_or_auto("auto")),
           help="logistic, nbsvm: inverse regularization strength; `auto` selects it by cross-validation."),
    Option("--loss", type=click.Choice(LOSSES), metavar="NAME", help="nbsvm: loss function."),
    Option("--interpolation", "--beta", "interpolation", type=float, metavar="N",
           help="nbsvm: weight of the support vector machine, from 0 (log-count ratios only) to 1. Wang and Manning "
           "(2012) recommend 0.25."),
    Option("--ratio-smoothing", type=float, metavar="N", help="nbsvm: additive smoothing of the log-count ratios."),
    Option("--normalize-weights", is_flag=True, default=None,
           help="complement: divide the weights of each class by their sum (Rennie et al. 2003)."),
    Option("--values", type=int, metavar="N",
           help="categorical: number of categories of a feature. All counts from N - 1 upwards are one category."),
    Option("--keep-sample", type=int, metavar="N",
           help="Number of documents whose counts the model retains. With them, update, merge and forget refit "
           "smoothing and calibration."),
)  # fmt: skip

SEARCH_STAGE = stage(
    "searching", SearchSettings, "Model",
    Option("--budget", type=Parsed("TIME", _parse_time(SECONDS, "s", "30s or 5m")), default_help="2m",
           help="--model auto, best: time after which the search starts no further candidate, such as 5m."),
)  # fmt: skip

SEARCHED_MODEL = Option(
    "--model", type=click.Choice([*EVENT_MODELS, *LINEAR_MODELS, *SEARCHES]), metavar="NAME", title="Model",
    default_help=ModelSettings().model,
    help="Model to train. `auto` selects the most accurate counting model with its weighting and n-grams, `best` the "
    "most accurate of all models.",
)  # fmt: skip

SEARCHED_MODEL_STAGE = Stage(MODEL_STAGE.name, ModelSettings, (SEARCHED_MODEL, *MODEL_STAGE.options[1:]))

UNLABELED_STAGE = stage(
    "semi_supervised", UnlabeledSettings, "Unlabeled documents",
    Option("--em", type=int, metavar="N",
           help="Run at most N steps of expectation-maximization on the unlabeled documents. 10 is usual. The weight "
           "of the unlabeled documents, which may be 0, is selected on held-out labeled documents."),
    Option("--marginals", is_flag=True, default=None,
           help="Adjust the model to the word frequencies of unlabeled documents (Lucas and Downey 2013)."),
)  # fmt: skip

DECISION_STAGE = stage(
    "decisions", DecisionSettings, "Predictions",
    Option("--min-probability", type=float, metavar="P", help="Predict no label if its probability is below P."),
    Option("--coverage", type=float, metavar="P",
           help="Predict the smallest set of labels that contains the true one with probability P, such as 0.95."),
    Option("--cost", type=FileType(parse=_parse_costs),
           help="Predict the label with the lowest expected cost. The columns of FILE are true label, predicted "
           "label and cost. Other pairs cost 0 if the labels are equal, else 1."),
    Option("--explain", type=int, metavar="N",
           help="Add the N features with the largest contributions to each record. Needs --to jsonl or json."),
)  # fmt: skip

FOLD_STAGE = stage(
    "folding", FoldSettings, "Cross-validation",
    Option("--folds", type=int, metavar="N", help="Cross-validate on SOURCE with N folds, instead of using a model."),
    Option("--group-field", metavar="NAME",
           help="Column, JSON key or mail header of a group, such as the author. A group stays in one fold."),
    Option("--order-field", metavar="NAME",
           help="Split SOURCE by time, and predict each part with a model trained on all earlier parts. NAME is the "
           "column, JSON key or mail header of the time: a number, a date, or text. --folds is the number of parts, "
           "10 by default."),
    Option("--seed", type=int, metavar="N", help="Seed of the random assignment of documents to folds."),
)  # fmt: skip

CURVE_STAGE = stage(
    "curves", CurveSettings, "Learning curves",
    Option("--models", type=Parsed("MODEL,…", _parse_names), shell_complete=completion.names(models_to_compare),
           help="Models to train and compare: names of --model."),
    Option("--sizes", type=Parsed("N,N…", _parse_sizes), default_help="50, 100, 200 and so on, up to 70 %",
           help="Sizes of the training set, in documents. Each training set contains the smaller ones."),
    Option("--seeds", type=int, metavar="N", help="Number of random splits."),
)  # fmt: skip

CLUSTER_STAGE = stage(
    "cluster", ClusterSettings, "Cluster",
    Option("--cluster", metavar="ADDRESS",
           help="Run on a Dask cluster: a scheduler address such as tcp://HOST:8786, or `local`. Workers must see "
           "the same paths. Needs nbtext[dask]."),
    Option("--shard-bytes", type=int, metavar="N", default_help="two shards per thread, of 16 to 512 MiB",
           help="--cluster: size of a shard, the part of SOURCE that a worker reads at once."),
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
    """Print what the library logs on standard error."""
    if is_wanted and not ctx.resilient_parsing:
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
                 help="Log details, such as whether the compiled kernel is used.")  # fmt: skip
DEBUG = Option("--debug", is_flag=True, expose_value=False, title="Running", help="Show the traceback of an error.")

SOURCES = click.Argument(["sources"], metavar="SOURCE...", nargs=-1, required=True, type=SOURCE)
MODEL_FILE = Option("-m", "--model-file", "model", type=MODEL, required=True,
                    help="Model file; - is standard input.")  # fmt: skip


def model_parts(kind: FileType = MODEL) -> tuple[click.Argument, Option]:
    """MODEL as the first argument, or as -m."""
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
                help="Write an HTML page with charts, too. Needs nbtext[report].")  # fmt: skip


def refuse_for_matrix() -> None:
    """Raise SettingsError if options of texts, or of a cluster that counts them, were given for a matrix."""
    because = "SOURCE is a matrix, which has its features already"
    refuse(FEATURE_STAGE, INPUT_STAGE, CLUSTER_STAGE, because=because, but=("input_format",))


SPREADSHEET_SAFE = Option(
    "--spreadsheet-safe", is_flag=True, expose_value=False,
    help="--to csv: put an apostrophe before cells that a spreadsheet would evaluate as formulas.")  # fmt: skip


def result_options(formats: tuple[str, ...], piped: str = "tsv") -> tuple[Option, Option, Option]:
    """Where a result goes, its format, and whether its cells are safe for spreadsheets.

    piped  the format by default if a program reads the result
    """
    return (
        Option("-o", "--output", type=OUTPUT, default="-", default_help="standard output",
               help="File to write. Its suffix, such as .jsonl, implies the format."),
        Option("--to", "output_format", type=click.Choice(formats), metavar="FORMAT",
               default_help=f"table on a terminal, else {piped}", help="Output format."),
        SPREADSHEET_SAFE,
    )  # fmt: skip

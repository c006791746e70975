"""Options of commands that train models or count features, in one stage for each settings record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from nbtext.bayes.event_models import EVENT_MODELS, LINEAR_MODELS
from nbtext.bayes.settings import AUTO, LOSSES, METRICS, NEAR_DUPLICATES, ModelSettings
from nbtext.cli import completion
from nbtext.cli.command import Deferred, Option, refuse, stage
from nbtext.cli.files import FileType
from nbtext.cli.options import CLUSTER_STAGE, LABEL_SHARE, LABELED_INPUT_STAGE, Parsed, parse_names, parse_time
from nbtext.evaluation.settings import BEST, CurveSettings, FoldSettings, SearchSettings, models_to_compare
from nbtext.features.formulas import INVERSE_DOCUMENT_FREQUENCIES, NORMS, TERM_FREQUENCIES, WEIGHTINGS
from nbtext.features.settings import FeatureSettings
from nbtext.model.settings import UnlabeledSettings

if TYPE_CHECKING:
    from nbtext.documents.source import Source
    from nbtext.evaluation.candidates import Candidate

SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def _parse_ngrams(text: str) -> tuple[int, int]:
    shortest, _, longest = text.replace("-", ",").partition(",")
    if not (shortest.strip().isdecimal() and (longest or shortest).strip().isdecimal()):
        raise ValueError(f"{text!r} is not a range; write 1,2 for words and pairs of words")
    return int(shortest), int(longest or shortest)


def _parse_document_frequency(text: str) -> int | float:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a number of documents nor a proportion such as 0.5") from None


def _parse_number_or_auto(auto: str | None) -> Callable[[str], str | float | None]:
    """Make a parser of a number, or of `auto`, which becomes the given value."""

    def parse(text: str) -> str | float | None:
        try:
            return auto if text == "auto" else float(text)
        except ValueError:
            raise ValueError(f"{text!r} is neither a number nor `auto`") from None

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


def _parse_sizes(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise ValueError(f"{text!r} is not a list of numbers; write 50,100,200")
    return tuple(map(int, parts))


DOCUMENT_FREQUENCY = Parsed("N", _parse_document_frequency)


def _build_features(values: Mapping[str, Any]) -> FeatureSettings:
    """Return the feature settings; --tf, --idf and --norm override the three that --weighting sets."""
    scheme = dict(zip(("tf", "idf", "norm"), WEIGHTINGS[values.get("weighting", "counts")], strict=True))
    return FeatureSettings(**scheme | {name: value for name, value in values.items() if name != "weighting"})


FEATURE_STAGE = stage(
    "features", FeatureSettings, "Features",
    Option("--weighting", type=click.Choice(list(WEIGHTINGS)), metavar="NAME", default_help="counts",
           help="Weighting scheme, which sets --tf, --idf and --norm. The three kinds of tfidf differ in --tf "
           "(count, log, binary), with --idf smooth and --norm l2. `binary-l2` is --tf binary and --norm l2."),
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
           help="Language of the Snowball stemmer, which reduces words to stems. Needs the extra nbtext[stem]."),
    Option("--min-df", type=DOCUMENT_FREQUENCY,
           help="Minimum document frequency of a feature: a number of documents, or, with a decimal point, a "
           "proportion such as 0.01."),
    Option("--max-df", type=DOCUMENT_FREQUENCY,
           help="Maximum document frequency of a feature: a number of documents, or, with a decimal point, a "
           "proportion such as 0.5."),
    Option("--max-features", type=int, metavar="N",
           help="Maximum number of features: the N features with the most occurrences. Ties are broken by code point "
           "order."),
    Option("--vocabulary", type=FileType(parse=_parse_vocabulary),
           help="File with one feature per line. All other features are ignored."),
    Option("--hash-bits", type=int, metavar="N",
           help="Hash features into 2^N columns instead of storing a vocabulary; N is from 1 to 30."),
    Option("--select", type=Parsed("mi:N|chi2:N", _parse_selection),
           help="Keep the N features with the highest score. The score is the mutual information (`mi`) or the "
           "chi-squared statistic (`chi2`) of the feature and the label."),
    Option("--tf", type=click.Choice(list(TERM_FREQUENCIES)), metavar="NAME",
           help="Term-frequency scaling. `relative` is count / document length; `log` is 1 + ln(count)."),
    Option("--idf", type=click.Choice(list(INVERSE_DOCUMENT_FREQUENCIES)), metavar="NAME",
           help="Inverse-document-frequency variant, for n documents of which df contain the feature. `plain` is "
           "ln(n/df); `plus-one` is ln(n/(df+1)); `smooth` is ln((n+1)/(df+1)) + 1."),
    Option("--norm", type=click.Choice(NORMS), metavar="NAME", help="Norm by which each document vector is divided."),
    build=_build_features,
)  # fmt: skip

MODEL_STAGE = stage(
    "model_settings", ModelSettings, "Model",
    Option("--model", type=click.Choice([AUTO, *EVENT_MODELS, *LINEAR_MODELS]), metavar="NAME", help="Model to train."),
    Option("--smoothing", type=Parsed("auto|N", _parse_number_or_auto(None)), default_help="auto",
           help="Additive smoothing of Naive Bayes, the pseudo-count of each feature in each class. `auto` selects it "
           "by leave-one-out; 0 is maximum likelihood. With --model gaussian, N times the largest variance is added to "
           "all variances; `auto` is 1e-9."),
    Option("--prior", type=Parsed("empirical|uniform|N,N…", _parse_prior),
           default_help="empirical; uniform for complement",
           help="Class prior of Naive Bayes. N,N… is one weight for each label, in sorted order of the labels; only "
           "the proportions of the weights matter."),
    Option("--calibrate/--no-calibrate", default=None, default_help="--calibrate",
           help="Calibrate probabilities with leave-one-out scores, or those of cross-validation for linear models."),
    Option("--optimize", type=click.Choice(METRICS), metavar="METRIC",
           help="Metric to optimize on leave-one-out scores. For accuracy and macro_f1, an offset for each label is "
           "added to its log-probability before the label is chosen; reported probabilities do not change. log_loss "
           "adjusts the probabilities. For a multi-label model, macro_f1 selects a threshold for each label; by "
           "default, one threshold of all labels maximizes micro F1."),
    Option("--min-recall", type=LABEL_SHARE, multiple=True,
           help="Minimum recall of a label on new documents, such as ham=0.995; may be repeated. The threshold is "
           "chosen on leave-one-out scores."),
    Option("--min-precision", type=LABEL_SHARE, multiple=True,
           help="Minimum precision of a label on new documents, such as spam=0.99; may be repeated."),
    Option("--confidence", type=float, metavar="P",
           help="Confidence of each target of --min-recall and --min-precision: the probability that it is met on new "
           "documents, too."),
    Option("--C", "C", type=Parsed("auto|N", _parse_number_or_auto("auto")),
           help="Inverse regularization strength. `auto` selects it by cross-validation. Only with --model logistic, "
           "nbsvm or svm."),
    Option("--loss", type=click.Choice(LOSSES), metavar="NAME",
           help="Loss function. Only with --model nbsvm."),
    Option("--interpolation", "--beta", "interpolation", type=float, metavar="N",
           help="Weight of the support vector machine, from 0 (log-count ratios only) to 1. Wang and Manning (2012) "
           "recommend 0.25. Only with --model nbsvm."),
    Option("--ratio-smoothing", type=float, metavar="N",
           help="Additive smoothing of the log-count ratios. Only with --model nbsvm."),
    Option("--normalize-weights", is_flag=True, default=None,
           help="Divide the weights of each class by their sum (Rennie et al. 2003). Only with --model complement."),
    Option("--values", type=int, metavar="N",
           help="Number of categories of a feature. All counts from N - 1 upwards are one category. Only with --model "
           "categorical."),
    Option("--keep-sample", type=int, metavar="N",
           help="Number of documents, selected at random, whose counts the model retains; none by default. With them, "
           "update, merge and forget refit smoothing and calibration."),
    Option("--group", type=click.Choice([NEAR_DUPLICATES]), metavar="NAME",
           help="Groups that leave-one-out leaves out as a whole. Near-duplicates are documents whose sets of features "
           "have a Jaccard similarity of 0.8 or more. Equal documents are always left out together. Cross-validation "
           "keeps a group in one fold. Memory grows with the number of documents."),
)  # fmt: skip

SEARCH_STAGE = stage(
    "searching", SearchSettings, "Model",
    Option("--budget", type=Parsed("TIME", parse_time(SECONDS, "s", "30s or 5m")), default_help="2m",
           help="Time limit of a search for `best`, such as 30s or 5m. The default model is always fitted; nothing "
           "else is read or fitted that would exceed the limit."),
)  # fmt: skip

SEARCHED_MODEL = Option(
    "--model", type=click.Choice([AUTO, *EVENT_MODELS, *LINEAR_MODELS, BEST]), metavar="NAME", title="Model",
    default_help=ModelSettings().model,
    help="Model to train. `auto` selects multinomial or complement Naive Bayes, on counts or binary counts, by "
    "leave-one-out accuracy. `best` also tries pairs of words, character n-grams and linear models.",
)  # fmt: skip

SEARCHED_MODEL_STAGE = MODEL_STAGE.replace(SEARCHED_MODEL)

UNLABELED_STAGE = stage(
    "semi_supervised", UnlabeledSettings, "Unlabeled documents",
    Option("--em", type=int, metavar="N",
           help="Run at most N steps of expectation-maximization on the unlabeled documents. 10 is usual. The weight "
           "of the unlabeled documents, which may be 0, is selected on held-out labeled documents."),
    Option("--marginals", is_flag=True, default=None,
           help="Adjust the model to the word frequencies of unlabeled documents (Lucas and Downey 2013)."),
)  # fmt: skip

FOLD_STAGE = stage(
    "fold_settings", FoldSettings, "Cross-validation",
    Option("--folds", type=int, metavar="N", help="Cross-validate on SOURCE with N folds, instead of using a model."),
    Option("--group-field", metavar="NAME",
           help="Column, JSON key or mail header of a group, such as the author. A group stays in one fold."),
    Option("--order-field", metavar="NAME",
           help="Split SOURCE by time, and predict each part with a model trained on all earlier parts. NAME is the "
           "column, JSON key or mail header of the time: a number, a date, or text. --folds is the number of parts "
           "that are predicted, 10 by default; one more part, the earliest, is used for training only."),
    Option("--seed", type=int, metavar="N", help="Seed of the random assignment of documents to folds."),
)  # fmt: skip

CURVE_STAGE = stage(
    "curves", CurveSettings, "Models to train",
    Option("--models", type=Parsed("MODEL,…", parse_names),
           shell_complete=completion.names(models_to_compare, alone=BEST),
           default_help="those that `update` can extend",
           help="Models to train and compare, such as multinomial,svm (see `nbtext train`), or `best` alone for "
           "all candidates of `nbtext train --model best`."),
    Option("--sizes", type=Parsed("N,N…", _parse_sizes), default_help="50, 100, 200 and so on, up to 70 % of SOURCE",
           help="Sizes of the training set, in documents. Each training set contains the smaller ones."),
    Option("--seeds", type=int, metavar="N", help="Number of random splits."),
)  # fmt: skip


def is_search(model_settings: Deferred[ModelSettings]) -> bool:
    """Return whether the model is to be searched."""
    return model_settings.given.get("model") == BEST


def list_searched(
    features: Deferred[FeatureSettings], model_settings: Deferred[ModelSettings], source: Source
) -> list[Candidate]:
    """Return the candidates of a model search for the documents of a source."""
    from nbtext.evaluation.candidates import list_candidates

    return list_candidates(
        replace(features.settings(), fields=source.field_names),
        model_settings.settings(model=AUTO),
        {*features.given, *model_settings.given},
    )


def refuse_for_matrix() -> None:
    """Raise SettingsError if options of texts, or of a cluster that counts them, were given for a matrix."""
    because = "SOURCE is a matrix, whose features are already extracted"
    refuse(FEATURE_STAGE, LABELED_INPUT_STAGE, CLUSTER_STAGE, because=because, but=("input_format",))

"""Measure the accuracy and calibration of nbtext, and compare them with published figures.

    python tests/benchmarks/accuracy.py [--only WORD...]

Prints a Markdown table: a row for each corpus, protocol and model with nbtext's figure, what was
published, and the threshold. Accuracies are averages over the splits of a protocol (protocols.py):

    by date, own split   the halves that the corpus comes with
    10 folds             shuffled once; RT-2k by file name
    first 30 %           the first documents in the file's order against the rest
    random 70:30         ten seeds

Calibration is the expected calibration error of the most probable label over 15 bins of equal width
(Guo et al. 2017). Leave-one-out is the estimate of accuracy that training prints; its row shows the
difference from the test accuracy. Coverage is the share of sets of --coverage 0.9 with the true
label; its row shows the difference from 0.9. draws.py measures `--model best` and other options.

Published: "W&M" is Wang and Manning, Baselines and Bigrams, 2012; "A" is Almeida, Hidalgo and
Yamakami, 2011.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from protocols import (
    SMS_TRAINING_SHARE,
    Labeled,
    Protocol,
    Split,
    first_share,
    folds_by_name,
    halves,
    imdb,
    joined,
    long_reviews,
    mails,
    messages,
    newsgroups,
    random_splits,
    short_reviews,
    shuffled_folds,
)
from table import markdown

from nbtext.documents.batch import Batch
from nbtext.evaluation.evaluator import Evaluation, Evaluator
from nbtext.model.predictor import MOST_PROBABLE, Predictor
from nbtext.model.settings import DecisionSettings
from nbtext.text_classifier import TextClassifier

Options = dict[str, Any]

N_BINS = 15
WORDS: Options = {}
PAIRS: Options = {"ngrams": (1, 2)}
BINARY = {"tf": "binary"}
LOG_TFIDF = {"tf": "log", "idf": "smooth", "norm": "l2"}
NBSVM = {"model": "nbsvm"}

BY_DATE = Protocol("20 Newsgroups by date", lambda: halves(newsgroups))
IMDB = Protocol("IMDB, own split", lambda: halves(imdb))
SHORT_REVIEWS = Protocol("RT-s, 10 folds", lambda: shuffled_folds(short_reviews()))
LONG_REVIEWS = Protocol("RT-2k, 10 folds by name", lambda: folds_by_name(long_reviews()))
MESSAGES = Protocol("SMS spam, first 30 %", lambda: first_share(messages(), SMS_TRAINING_SHARE))


@dataclass(frozen=True)
class Case:
    """A model on a protocol, and what its accuracy should be."""

    protocol: Protocol
    model: str
    options: Options
    published: str = ""
    threshold: float | None = None


@dataclass(frozen=True)
class Row:
    """A line of the table. The threshold is a least accuracy, or a largest error where
    `is_error`.
    """

    what: str
    model: str
    value: float
    published: str = ""
    threshold: float | None = None
    is_error: bool = False

    def cells(self) -> tuple[str, ...]:
        is_met = self.threshold is None or (
            self.value <= self.threshold if self.is_error else self.value >= self.threshold
        )
        threshold = (
            "" if self.threshold is None else f"{'≤' if self.is_error else '≥'} {self.threshold:g}"
        )
        result = "" if self.threshold is None else "reached" if is_met else "**missed**"
        return (
            self.what,
            self.model,
            f"{self.value:.4f}",
            self.published,
            threshold,
            result,
        )


CASES = (
    Case(BY_DATE, "the default (auto)", {"model": "auto"}),
    Case(BY_DATE, "multinomial", WORDS),
    Case(BY_DATE, "nbsvm, log TF-IDF, pairs", NBSVM | LOG_TFIDF | PAIRS, "0.872 LIBLINEAR", 0.872),
    Case(IMDB, "the default (auto)", {"model": "auto"}, "0.8355 W&M"),
    Case(IMDB, "multinomial", WORDS, "0.8355 W&M"),
    Case(IMDB, "multinomial, binary, pairs", BINARY | PAIRS, "0.8659 W&M"),
    Case(SHORT_REVIEWS, "multinomial", WORDS, "0.7794 W&M"),
    Case(SHORT_REVIEWS, "multinomial, binary, pairs", BINARY | PAIRS, "0.7903 W&M", 0.79),
    Case(SHORT_REVIEWS, "nbsvm, binary, pairs", NBSVM | BINARY | PAIRS, "0.7941 W&M", 0.794),
    Case(LONG_REVIEWS, "multinomial", WORDS, "0.8345 W&M"),
    Case(LONG_REVIEWS, "multinomial, binary, pairs", BINARY | PAIRS, "0.8585 W&M"),
    Case(LONG_REVIEWS, "nbsvm, binary, pairs", NBSVM | BINARY | PAIRS, "0.8945 W&M", 0.894),
    Case(MESSAGES, "multinomial", WORDS, "0.9764 A", 0.98),
)


CORPORA: dict[str, Callable[[], Labeled]] = {
    "20 Newsgroups": lambda: joined(newsgroups),
    "IMDB": lambda: joined(imdb),
    "RT-s": short_reviews,
    "RT-2k": long_reviews,
    "SMS spam": messages,
    "SpamAssassin": mails,
}


def case_rows(case: Case) -> list[Row]:
    """The accuracy of one case, averaged over its splits."""
    splits = case.protocol.splits()
    value = float(np.mean([accuracy(train(split, case.options), split.test) for split in splits]))
    return [Row(case.protocol.name, case.model, value, case.published, case.threshold)]


def train(split: Split, options: Options) -> TextClassifier:
    """Train a classifier on the training documents."""
    return TextClassifier(**{"model": "multinomial", **options}).fit(*split.training)


def calibration_rows() -> Iterator[Row]:
    """The expected calibration error, as it is and as it would be uncalibrated."""
    random_split = Protocol(
        "20 Newsgroups, random 70:30", lambda: random_splits(joined(newsgroups))
    )
    for protocol, threshold, uncalibrated in (
        (BY_DATE, 0.04, "0.18"),
        (random_split, 0.015, "0.11"),
    ):
        splits = protocol.splits()
        what = f"{protocol.name}: calibration error"
        for model, options, limit in (
            ("default", {}, threshold),
            ("--no-calibrate", {"calibrate": False}, None),
        ):
            error = float(
                np.mean([calibration_error(train(split, options), split.test) for split in splits])
            )
            published = f"{uncalibrated} uncalibrated" if limit is None else ""
            yield Row(what, f"multinomial ({model})", error, published, limit, is_error=True)


def calibration_error(classifier: TextClassifier, test: Labeled) -> float:
    """How far the probability of the answer is from the share of right answers, over bins of equal
    width.
    """
    probabilities: NDArray[np.float64] = classifier.predict_proba(test.texts)
    best = probabilities.max(axis=1)
    right = classifier.classes_[probabilities.argmax(axis=1)] == np.array(test.labels)
    bins = np.minimum((best * N_BINS).astype(int), N_BINS - 1)
    return float(np.abs(np.bincount(bins, right - best, N_BINS)).sum() / len(best))


def leave_one_out_rows() -> Iterator[Row]:
    """Compare leave-one-out estimates with accuracy and coverage on the test documents of random
    splits.
    """
    for name, documents in CORPORA.items():
        figures = []
        for split in random_splits(documents()):
            classifier = train(split, WORDS)
            estimate = classifier.fitted_.estimate
            estimated = estimate.accuracy if estimate is not None else float("nan")
            figures.append((estimated, *evaluate_sets(classifier, split.test)))
        estimated, measured, coverage, size = np.mean(figures, axis=0).tolist()
        what = f"{name}, random 70:30: leave-one-out against test accuracy"
        shown = f"multinomial: estimated {estimated:.4f}, measured {measured:.4f}"
        yield Row(what, shown, abs(estimated - measured), threshold=0.01, is_error=True)
        shown = f"multinomial: coverage {coverage:.4f}, mean set size {size:.4f}"
        yield Row(
            f"{name}, random 70:30: coverage against 0.9",
            shown,
            abs(coverage - 0.9),
            threshold=0.01,
            is_error=True,
        )


def evaluate_sets(classifier: TextClassifier, test: Labeled) -> tuple[float, float, float]:
    """The accuracy, and the observed coverage and mean size of sets that are to hold nine labels of
    ten.
    """
    evaluation = evaluate(classifier, test, DecisionSettings(coverage=0.9))
    return tuple(evaluation.metrics[name] for name in ("accuracy", "coverage", "mean_set_size"))  # type: ignore[return-value]


def accuracy(classifier: TextClassifier, test: Labeled) -> float:
    """Return the accuracy of `nbtext evaluate`: a document without a known word has no label, and
    counts as wrong.
    """
    return evaluate(classifier, test).metrics["accuracy"]


def evaluate(
    classifier: TextClassifier, test: Labeled, decisions: DecisionSettings = MOST_PROBABLE
) -> Evaluation:
    """Evaluate a classifier on the test documents, as `nbtext evaluate` does."""
    evaluator = Evaluator()
    batch = Batch([""] * len(test.texts), (test.texts,), list(test.labels))
    evaluator.add(Predictor(classifier.fitted_).predict_batch(batch, decisions))
    return evaluator.evaluation()


def all_rows() -> Iterator[tuple[str, Callable[[], Iterable[Row]]]]:
    """What can be measured, by name, each measured when it is called."""
    for case in CASES:
        yield (
            f"{case.protocol.name}: {case.model}",
            partial(case_rows, case),
        )
    yield "calibration", calibration_rows
    yield "leave-one-out", leave_one_out_rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", metavar="WORD", help="rows whose name holds one of these words"
    )
    options = parser.parse_args()
    rows: list[Row] = []
    for name, measured in all_rows():
        if options.only is None or any(word.lower() in name.lower() for word in options.only):
            sys.stderr.write(f"{name}\n")
            rows += measured()
    head = (
        "corpus, protocol",
        "model",
        "nbtext",
        "published",
        "threshold",
        "",
    )
    sys.stdout.write(markdown(head, [row.cells() for row in rows]) + "\n")


if __name__ == "__main__":
    main()

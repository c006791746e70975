"""Measure the accuracy and calibration of nbtext, and compare them with published figures.

    python tests/benchmarks/accuracy.py [--only WORD...]

Prints a Markdown table: a row for each corpus, protocol and model with nbtext's figure, and what
was published. Accuracies are averages over the splits of a protocol:

    by date, own split   the halves that the corpus comes with
    10 folds             shuffled once; RT-2k by file name
    first 30 %           the first documents in the file's order against the rest
    random 70:30         ten seeds

Calibration is the expected calibration error of the most probable label over 15 bins of equal width
(Guo et al. 2017). Leave-one-out is the estimate of accuracy that training prints; its row shows the
difference from the test accuracy. Coverage is the share of sets of --coverage 0.9 with the true
label; its row shows the difference from 0.9.

Published: "W&M" is Wang and Manning, Baselines and Bigrams, 2012; "A" is Almeida, Hidalgo and
Yamakami, 2011.
"""

import argparse
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from material import (
    SEED,
    SPLITS,
    Labeled,
    Split,
    imdb,
    join_halves,
    long_reviews,
    mails,
    messages,
    newsgroups,
    random_split,
    short_reviews,
)
from measuring import parser_with, say_head, say_row

from nbtext.documents.batch import Batch
from nbtext.evaluation.evaluator import Evaluation, Evaluator
from nbtext.model.predictor import MOST_PROBABLE, Predictor
from nbtext.model.settings import DecisionSettings
from nbtext.text_classifier import TextClassifier

N_BINS = 15
N_FOLDS = 10
N_RANDOM = 10  # random splits

PAIRS = {"ngrams": (1, 2)}
BINARY_PAIRS = {"tf": "binary", "ngrams": (1, 2)}
LOG_TFIDF = {"weighting": "log-tfidf"}
COMPLEMENT = {"model": "complement"}


def split_into_folds(documents: Labeled, folds: Sequence[int]) -> list[Split]:
    splits = []
    for fold in range(N_FOLDS):
        training = [row for row, own in enumerate(folds) if own != fold]
        test = [row for row, own in enumerate(folds) if own == fold]
        splits.append(Split(documents.take(training), documents.take(test)))
    return splits


def fold_at_random() -> list[Split]:
    documents = short_reviews().shuffle(random.Random(SEED))
    return split_into_folds(documents, [row % N_FOLDS for row in range(len(documents.labels))])


def fold_by_name() -> list[Split]:
    """The folds of RT-2k: its files cv000 to cv099 of each label are fold 0, and so on."""
    documents = long_reviews()
    n_label = len(documents.labels) // 2
    folds = [row % n_label // 100 for row in range(len(documents.labels))]
    return split_into_folds(documents, folds)


def split_at_random(documents: Labeled) -> list[Split]:
    return [random_split(documents, seed) for seed in range(1, N_RANDOM + 1)]


NEWS = "20 Newsgroups by date"
IMDB = "IMDB, own split"
SHORT = "RT-s, 10 folds"
LONG = "RT-2k, 10 folds by name"
MESSAGES = "SMS spam, first 30 %"
PROTOCOLS: dict[str, Callable[[], list[Split]]] = {
    NEWS: lambda: [SPLITS["20news"]()],
    IMDB: lambda: [SPLITS["imdb"]()],
    SHORT: fold_at_random,
    LONG: fold_by_name,
    MESSAGES: lambda: [SPLITS["sms-spam"]()],
}
# protocol, model, its options, and what was published
CASES: list[tuple[str, str, dict[str, Any], str]] = [
    (NEWS, "the default (auto)", {"model": "auto"}, ""),
    (NEWS, "multinomial", {}, ""),
    (NEWS, "multinomial, binary", {"tf": "binary"}, ""),
    (NEWS, "multinomial, pairs", PAIRS, ""),
    (NEWS, "bernoulli", {"model": "bernoulli"}, ""),
    (NEWS, "complement", COMPLEMENT, ""),
    (NEWS, "complement, normalized", COMPLEMENT | {"normalize_weights": True}, ""),
    (NEWS, "categorical", {"model": "categorical"}, ""),
    (NEWS, "gaussian", {"model": "gaussian"}, ""),
    (NEWS, "complement, log TF-IDF", COMPLEMENT | LOG_TFIDF, ""),
    (NEWS, "complement, log TF-IDF, pairs", COMPLEMENT | LOG_TFIDF | PAIRS, ""),
    (NEWS, "nbsvm, log TF-IDF, pairs", {"model": "nbsvm"} | LOG_TFIDF | PAIRS, "0.872 LIBLINEAR"),
    (IMDB, "the default (auto)", {"model": "auto"}, "0.8355 W&M"),
    (IMDB, "multinomial", {}, "0.8355 W&M"),
    (IMDB, "multinomial, pairs", PAIRS, "0.8659 W&M"),
    (IMDB, "multinomial, binary, pairs", BINARY_PAIRS, "0.8659 W&M"),
    (IMDB, "bernoulli, pairs", {"model": "bernoulli"} | PAIRS, ""),
    (SHORT, "multinomial", {}, "0.7794 W&M"),
    (SHORT, "multinomial, binary, pairs", BINARY_PAIRS, "0.7903 W&M"),
    (SHORT, "nbsvm, binary, pairs", {"model": "nbsvm"} | BINARY_PAIRS, "0.7941 W&M"),
    (LONG, "multinomial", {}, "0.8345 W&M"),
    (LONG, "multinomial, binary, pairs", BINARY_PAIRS, "0.8585 W&M"),
    (LONG, "nbsvm, binary, pairs", {"model": "nbsvm"} | BINARY_PAIRS, "0.8945 W&M"),
    (MESSAGES, "multinomial", {}, "0.9764 A"),
]
CORPORA: dict[str, Callable[[], Labeled]] = {
    "20 Newsgroups": lambda: join_halves(newsgroups),
    "IMDB": lambda: join_halves(imdb),
    "RT-s": short_reviews,
    "RT-2k": long_reviews,
    "SMS spam": messages,
    "SpamAssassin": mails,
}


def train(split: Split, options: dict[str, Any]) -> TextClassifier:
    return TextClassifier(**{"model": "multinomial", **options}).fit(*split.training)


def evaluate(
    classifier: TextClassifier, test: Labeled, decisions: DecisionSettings = MOST_PROBABLE
) -> Evaluation:
    """Evaluate a classifier on the test documents, as `nbtext evaluate` does: a document without a
    known word has no label, and counts as wrong.
    """
    evaluator = Evaluator()
    batch = Batch([""] * len(test.texts), (test.texts,), list(test.labels))
    evaluator.add(Predictor(classifier.fitted_).predict_batch(batch, decisions))
    return evaluator.evaluation()


def measure_calibration(classifier: TextClassifier, test: Labeled) -> float:
    """How far the probability of the answer is from the share of right answers, over bins of equal
    width.
    """
    probabilities = classifier.predict_proba(test.texts)
    best = probabilities.max(axis=1)
    right = classifier.classes_[probabilities.argmax(axis=1)] == np.array(test.labels)
    bins = np.minimum((best * N_BINS).astype(int), N_BINS - 1)
    return float(np.abs(np.bincount(bins, right - best, N_BINS)).sum() / len(best))


def say_accuracies(given: argparse.Namespace) -> None:
    for protocol, model, options, published in CASES:
        if any(word in f"{protocol}: {model}" for word in given.only):
            splits = PROTOCOLS[protocol]()
            accuracies = [
                evaluate(train(split, options), split.test).metrics["accuracy"] for split in splits
            ]
            say_row([protocol, model, f"{np.mean(accuracies):.4f}", published])


def say_calibration() -> None:
    """The expected calibration error, as it is and as it would be uncalibrated."""
    at_random = split_at_random(join_halves(newsgroups))
    for name, splits in ((NEWS, PROTOCOLS[NEWS]()), ("20 Newsgroups, random 70:30", at_random)):
        for model, options in (
            ("multinomial", {}),
            ("multinomial (--no-calibrate)", {"calibrate": False}),
        ):
            errors = [measure_calibration(train(split, options), split.test) for split in splits]
            say_row([f"{name}: calibration error", model, f"{np.mean(errors):.4f}", ""])


def say_leave_one_out() -> None:
    """Compare leave-one-out estimates with accuracy and coverage on the test documents of random
    splits.
    """
    for name, documents in CORPORA.items():
        figures = []
        for split in split_at_random(documents()):
            classifier = train(split, {})
            estimate = classifier.fitted_.estimate
            assert estimate is not None
            found = evaluate(classifier, split.test, DecisionSettings(coverage=0.9)).metrics
            figures.append((estimate.accuracy, found["accuracy"], found["coverage"]))
        estimated, measured, coverage = np.mean(figures, axis=0)
        shown = f"multinomial: estimated {estimated:.4f}, measured {measured:.4f}"
        what = f"{name}, random 70:30: leave-one-out against test accuracy"
        say_row([what, shown, f"{abs(estimated - measured):.4f}", ""])
        what = f"{name}, random 70:30: coverage against 0.9"
        say_row([what, f"multinomial: {coverage:.4f}", f"{abs(coverage - 0.9):.4f}", ""])


def main() -> None:
    parser = parser_with(__doc__)
    parser.add_argument("--only", nargs="+", metavar="WORD", default=[""], help="of a row's name")
    given = parser.parse_args()
    say_head("corpus, protocol", "model", "nbtext", "published")
    say_accuracies(given)
    if any(word in "calibration" for word in given.only):
        say_calibration()
    if any(word in "leave-one-out" for word in given.only):
        say_leave_one_out()


if __name__ == "__main__":
    main()

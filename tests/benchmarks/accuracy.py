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
label; its row shows the difference from 0.9. Outliers are scored by log p(x) per token: the AUROC
of the corpus's own test half against foreign text.

Published: "W&M" is Wang and Manning, Baselines and Bigrams, 2012; "M" is Mesnil et al., 2015;
"A" is Almeida, Hidalgo and Yamakami, 2011.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from material import corpus
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
    lecture,
    long_reviews,
    mails,
    messages,
    newsgroups,
    other_languages,
    random_splits,
    short_reviews,
    shuffled,
    shuffled_folds,
    two_groups,
)
from table import markdown

from nbtext.bayes.scorer import Floats
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.evaluation.evaluator import Evaluation, Evaluator
from nbtext.evaluation.search import Search, list_candidates, search_model
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.predictor import MOST_PROBABLE, Predictor
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import count_source
from nbtext.model.training import sample_size, train_on_counts
from nbtext.text_classifier import TextClassifier

Options = dict[str, Any]

N_BINS = 15
MODELS = ("bernoulli", "complement", "categorical", "gaussian", "logistic", "nbsvm")
# what a description of a model means; the first word of another one is the model
OPTIONS: dict[str, Options] = {
    "the default (auto)": {"model": "auto"},
    "multinomial": {},
    **{model: {"model": model} for model in MODELS},
    "pairs": {"ngrams": (1, 2)},
    "triples": {"ngrams": (1, 3)},
    # the published figures count punctuation marks as words
    "marks": {"token_pattern": r"""\w+|[!?.,;:()"'-]"""},
    "seen twice": {"min_df": 2},
    "binary": {"tf": "binary"},
    "log TF-IDF": {"tf": "log", "idf": "smooth", "norm": "l2"},
    "normalized": {"normalize_weights": True},
    "C = 1e5": {"C": 1e5},
}

BY_DATE = Protocol("20 Newsgroups by date", lambda: halves(newsgroups))
IMDB = Protocol("IMDB, own split", lambda: halves(imdb))
MESSAGES = Protocol("SMS spam, first 30 %", lambda: first_share(messages(), SMS_TRAINING_SHARE))


def groups(name: str, one: str, other: str) -> Protocol:
    return Protocol(f"{name}, 10 folds, no headers", lambda: shuffled_folds(two_groups(one, other)))


PROTOCOLS = {
    each.name: each
    for each in (
        BY_DATE,
        Protocol("20 Newsgroups, the lecture's four", lambda: halves(lecture)),
        IMDB,
        Protocol("RT-s, 10 folds", lambda: shuffled_folds(short_reviews())),
        Protocol("RT-2k, 10 folds by name", lambda: folds_by_name(long_reviews())),
        MESSAGES,
        groups("AthR", "alt.atheism", "talk.religion.misc"),
        groups("XGraph", "comp.windows.x", "comp.graphics"),
        groups("BbCrypt", "rec.sport.baseball", "sci.crypt"),
    )
}


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


# a protocol and a model; what was published, and the threshold of the accuracy, if there are any
CASES = """
20 Newsgroups by date: the default (auto)
20 Newsgroups by date: multinomial
20 Newsgroups by date: multinomial, binary
20 Newsgroups by date: multinomial, pairs
20 Newsgroups by date: bernoulli
20 Newsgroups by date: complement
20 Newsgroups by date: complement, normalized
20 Newsgroups by date: categorical
20 Newsgroups by date: gaussian
20 Newsgroups by date: complement, log TF-IDF
20 Newsgroups by date: complement, log TF-IDF, pairs
IMDB, own split: the default (auto) => 0.8355 W&M
IMDB, own split: multinomial => 0.8355 W&M
IMDB, own split: multinomial, pairs => 0.8659 W&M
IMDB, own split: multinomial, binary, pairs => 0.8659 W&M
IMDB, own split: bernoulli, pairs
RT-s, 10 folds: multinomial => 0.7794 W&M
RT-s, 10 folds: multinomial, binary, pairs => 0.7903 W&M => 0.79
RT-s, 10 folds: multinomial, binary, pairs, marks => 0.7903 W&M => 0.79
RT-2k, 10 folds by name: multinomial => 0.8345 W&M
RT-2k, 10 folds by name: multinomial, binary, pairs => 0.8585 W&M
RT-2k, 10 folds by name: multinomial, binary, pairs, marks => 0.8585 W&M
AthR, 10 folds, no headers: multinomial, binary, pairs => 0.8513 W&M
XGraph, 10 folds, no headers: multinomial, binary, pairs => 0.9119 W&M
BbCrypt, 10 folds, no headers: multinomial, binary, pairs => 0.9940 W&M
SMS spam, first 30 %: multinomial => 0.9764 A => 0.98
20 Newsgroups by date: nbsvm, log TF-IDF, pairs => 0.872 LIBLINEAR => 0.872
20 Newsgroups, the lecture's four: logistic, binary, C = 1e5 =>  => 0.895
IMDB, own split: nbsvm, log TF-IDF, pairs, marks, seen twice => 0.9122 W&M => 0.917
IMDB, own split: nbsvm, log TF-IDF, triples, marks, seen twice => 0.9187 M => 0.921
RT-s, 10 folds: nbsvm, binary, pairs => 0.7941 W&M => 0.794
RT-s, 10 folds: nbsvm, binary, pairs, marks => 0.7941 W&M
RT-2k, 10 folds by name: nbsvm, binary, pairs => 0.8945 W&M => 0.894
RT-2k, 10 folds by name: nbsvm, binary, pairs, marks => 0.8945 W&M
AthR, 10 folds, no headers: nbsvm, binary, pairs => 0.8766 W&M
XGraph, 10 folds, no headers: nbsvm, binary, pairs => 0.9068 W&M
BbCrypt, 10 folds, no headers: nbsvm, binary, pairs => 0.9950 W&M
""".strip().splitlines()

# searched by the training documents alone: protocol, published, threshold
SEARCHES = (
    (BY_DATE, "0.872 LIBLINEAR", 0.875),
    (IMDB, "0.9122 W&M", 0.917),
    (MESSAGES, "0.984 character n-grams", 0.985),
)

CORPORA: dict[str, Callable[[], Labeled]] = {
    "20 Newsgroups": lambda: joined(newsgroups),
    "IMDB": lambda: joined(imdb),
    "RT-s": short_reviews,
    "RT-2k": long_reviews,
    "SMS spam": messages,
    "SpamAssassin": mails,
}


def case_rows(case: str) -> list[Row]:
    """The accuracy of one case, averaged over its splits."""
    named, published, threshold, *_ = [*case.split(" => "), "", ""]
    protocol, _, model = named.partition(": ")
    options: Options = {}
    for word in model.split(", "):
        options |= OPTIONS[word]
    splits = PROTOCOLS[protocol].splits()
    value = float(np.mean([accuracy(train(split, options), split.test) for split in splits]))
    return [Row(protocol, model, value, published, float(threshold) if threshold else None)]


def search_rows() -> Iterator[Row]:
    """`--model best`."""
    for protocol, published, threshold in SEARCHES:
        (split,) = protocol.splits()
        best = search(split).best.candidate
        classifier = TextClassifier.from_settings(best.features, best.model_settings).fit(
            *split.training
        )
        shown = f"{best.model_settings.model} {best.weighting} {best.feature_set}"
        yield Row(
            protocol.name,
            f"best: {shown}",
            accuracy(classifier, split.test),
            published,
            threshold,
        )


def search(split: Split) -> Search:
    """Search a model by the training documents."""

    def count(features: FeatureSettings) -> CorpusCounts:
        texts, labels = split.training
        counter = CorpusCounter(features, sample_size=None)
        counter.add(Batch([""] * len(texts), (texts,), list(labels)))
        return counter.finish()

    candidates = list_candidates(FeatureSettings(), ModelSettings(), ())
    return search_model(candidates, count, jobs=os.cpu_count() or 1)


def train(split: Split, options: Options) -> TextClassifier:
    """Train a classifier on the training documents."""
    return TextClassifier(**{"model": "multinomial", **options}).fit(*split.training)


def correlation_rows() -> list[Row]:
    """SMS spam again, by Matthews' correlation coefficient."""
    from sklearn.metrics import matthews_corrcoef

    (split,) = MESSAGES.splits()
    coefficient = matthews_corrcoef(split.test.labels, train(split, {}).predict(split.test.texts))
    return [Row(f"{MESSAGES.name}: Matthews' correlation", "multinomial", coefficient, "0.893 A")]


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
            classifier = train(split, {})
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


def outlier_rows() -> Iterator[Row]:
    """News against the same news with their letters shuffled, and against other languages."""
    from sklearn.metrics import roc_auc_score

    (split,) = BY_DATE.splits()
    classifier = train(split, {})
    own = likelihoods(classifier, split.test.texts)
    for name, texts in (
        ("other languages", other_languages()),
        ("shuffled letters", shuffled(split.test.texts)),
    ):
        foreign = likelihoods(classifier, texts)
        is_own = np.arange(len(own) + len(foreign)) < len(own)
        value = float(roc_auc_score(is_own, np.concatenate((own, foreign))))
        shown = f"multinomial, {len(texts):,} foreign texts"
        yield Row(f"20 Newsgroups by date: outliers, {name}", shown, value, "", 0.999)


def likelihoods(classifier: TextClassifier, texts: list[str]) -> Floats:
    batch = Batch([""] * len(texts), (texts,), [None] * len(texts))
    found = Predictor(classifier.fitted_).predict_batch(batch).likelihoods
    assert found is not None
    return found[~np.isnan(found)]


def cost_rows() -> list[Row]:
    """What everything after counting takes (choosing, calibrating, compiling), as a share of the
    counting of the same files, in as many threads as there are cores; the best of three.
    """
    shares = []
    for _ in range(3):
        classifier = TextClassifier()
        size = sample_size(classifier.feature_settings, classifier.model_settings)
        start = time.perf_counter()
        source = open_source([str(corpus("20news") / "train")], InputSettings())
        counts = count_source(
            source, classifier.feature_settings, jobs=os.cpu_count() or 1, sample_size=size
        )
        counted = time.perf_counter()
        train_on_counts(counts, classifier.feature_settings, classifier.model_settings)
        shares.append((time.perf_counter() - counted) / (counted - start))
    what = "20 Newsgroups: time to choose and calibrate, as a share of counting"
    return [Row(what, "multinomial", min(shares), threshold=0.5, is_error=True)]


def all_rows() -> Iterator[tuple[str, Callable[[], Iterable[Row]]]]:
    """What can be measured, by name, each measured when it is called."""
    for case in CASES:
        yield case.partition(" => ")[0], partial(case_rows, case)
    yield "searches: --model best", search_rows
    yield "correlation", correlation_rows
    yield "calibration", calibration_rows
    yield "leave-one-out", leave_one_out_rows
    yield "outliers", outlier_rows
    yield "cost", cost_rows


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

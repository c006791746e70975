"""What models of few documents say of themselves, beside what is true of other documents.

    python tests/benchmarks/honesty.py [--corpus NAME]... [--sizes 60,100] [--a-label] [--draws N]
    [--recall R] [PARAMETERS...]

PARAMETERS of TextClassifier are JSON: {} is the default, and others are '{"model": "best"}' or
'{"vectors": "TABLE"}'. A draw has so many random documents, or with --a-label so many of each
label. At most --test others are the test, with --a-label the same number of each label.

Prints a Markdown table of means: estimated and true accuracy, their difference with its standard
error; estimated, true and highest log-loss; the share of true labels in sets of 80 and 90 %. With
--recall R, each label in turn has to have this recall with 95 % confidence: how often it has it on
the test, of how many, how often training refused, and the mean.
"""

import argparse
import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from material import (
    Labeled,
    japanese_sentences,
    join_halves,
    messages,
    newsgroups,
    questions,
    short_reviews,
    thai_messages,
)
from measuring import parser_with, say_head, say_row

from nbtext import TextClassifier
from nbtext.bayes.conformal import own_nonconformity
from nbtext.errors import SettingsError

GROUPS = {
    "hardware": ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    "belief": ("alt.atheism", "soc.religion.christian"),
}
CORPORA = {
    "rt-s": short_reviews,
    "ja-chabsa": japanese_sentences,
    "sms-spam": messages,
    "banking77": lambda: join_halves(questions),
    "wisesight-th": lambda: join_halves(thai_messages),
    **dict.fromkeys(GROUPS, lambda: join_halves(newsgroups)),
}
FIGURES = ("estimate", "accuracy", "difference", "error", "estimated log-loss", "log-loss")
FIGURES += ("highest", "80 %", "90 %")


def take_some(documents: Labeled, rows: Sequence[int], size: int) -> tuple[list[int], list[int]]:
    """Return the first `size` rows of each label, and the others."""
    counted: Counter[str] = Counter()
    some: list[int] = []
    others: list[int] = []
    for row in rows:
        label = documents.labels[row]
        counted[label] += 1
        (some if counted[label] <= size else others).append(row)
    return some, others


def split(documents: Labeled, size: int, seed: int, given: argparse.Namespace) -> list[Labeled]:
    """Return drawn documents, and those of the test."""
    order = random.Random(seed).sample(range(len(documents.labels)), len(documents.labels))
    drawn = order[:size]
    others = order[size:]
    if given.a_label:
        drawn, others = take_some(documents, order, size)
        n_others = Counter(documents.labels[row] for row in others)
        most = min(given.test // len(n_others), *n_others.values())
        others, _ = take_some(documents, others, most)
    return [documents.take(drawn), documents.take(others[: given.test])]


def measure(drawn: Labeled, test: Labeled, parameters: dict[str, Any]) -> list[float]:
    """Return figures of one model."""
    classifier = TextClassifier(**parameters).fit(*drawn)
    estimate: Any = classifier.fitted_.estimate
    quantiles: Any = classifier.fitted_.calibration.nonconformity
    probabilities = classifier.predict_proba(test.texts)
    classes = np.searchsorted(classifier.classes_, test.labels)
    own = probabilities[np.arange(len(classes)), classes]
    scores = own_nonconformity(probabilities, classes)
    covered = [float((scores <= quantiles.upper_bound(each)).mean()) for each in (0.8, 0.9)]
    accuracy = float((probabilities.argmax(axis=1) == classes).mean())
    loss = float(-np.log(np.maximum(own, 1e-15)).mean())
    return [estimate.accuracy, accuracy, estimate.log_loss, loss, *covered]


def recall_of(label: str, drawn: Labeled, test: Labeled, parameters: dict[str, Any]) -> float:
    """Return the recall of a label on the test where it is a target; NaN where it is refused."""
    try:
        classifier = TextClassifier(**parameters).fit(*drawn)
    except SettingsError:
        return np.nan
    rows = [row for row, other in enumerate(test.labels) if other == label]
    found = classifier.predict(test.take(rows).texts)
    return float((np.array(found) == label).mean())


def main() -> None:
    parser = parser_with(__doc__)
    parser.add_argument("ways", nargs="*", default=["{}", '{"model": "best"}'])
    parser.add_argument("--corpus", action="append", choices=CORPORA)
    parser.add_argument("--sizes", default="60,100", help="separated by commas")
    parser.add_argument("--a-label", action="store_true")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--test", type=int, default=1500, help="test documents at most")
    parser.add_argument("--recall", type=float)
    given = parser.parse_args()
    figures = FIGURES if given.recall is None else ("met", "of", "refused", "mean recall")
    say_head("corpus", "documents", "parameters", *figures)
    for name in given.corpus or CORPORA:
        documents = CORPORA[name]()
        if name in GROUPS:
            labels = documents.labels
            documents = documents.take([k for k, each in enumerate(labels) if each in GROUPS[name]])
        for size in map(int, given.sizes.split(",")):
            splits = [split(documents, size, seed, given) for seed in range(given.draws)]
            for way in given.ways:
                own = json.loads(way)
                if given.recall is None:
                    found = np.array([measure(*each, own) for each in splits])
                    estimated, true, *others = found.mean(axis=0)
                    gaps = found[:, 0] - found[:, 1]
                    error = gaps.std(ddof=1) / len(gaps) ** 0.5
                    highest = found[:, 3].max()
                    cells = [estimated, true, gaps.mean(), error, *others[:2], highest, *others[2:]]
                else:
                    recalls = [
                        recall_of(label, *each, {**own, "min_recall": {label: given.recall}})
                        for each in splits
                        for label in sorted(set(documents.labels))
                    ]
                    known = [each for each in recalls if not math.isnan(each)]
                    n_met = sum(each >= given.recall for each in known)
                    cells = [n_met, len(known), len(recalls) - len(known), np.mean(known)]
                say_row([name, size, way, *(f"{each:.4g}" for each in cells)])


if __name__ == "__main__":
    main()

"""Models with and without word vectors, trained on few documents of each label and on all of them.

    python tests/benchmarks/vectors.py TABLE [--sizes 5,10,20,50,all] [--draws N]
    [--models NAME,...] [CORPUS...]

Each draw has as many random documents of each label of the training documents (see few.py); `all`
is one draw, of all of them. Its models are tested on the same 2,500 random test documents, with
`all` on all test documents. Prints a Markdown table: of each model without and with the table of
word vectors, the mean accuracy, log-loss and CPU seconds of training; and of the paired
differences, with vectors less without, the mean and the smallest and the largest one. The figures
of each draw go to standard error when it ends. The first training with vectors reads the table.
"""

import argparse
import random
import statistics
import sys
import time
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from few import SPLITS, draw
from protocols import Labeled
from search import print_head, print_row

from nbtext.text_classifier import TextClassifier

N_TEST = 2500
ALL = "all"
AUTO = "auto"
BEST = "best"
COLUMNS = ("accuracy", "with vectors", "difference", "smallest", "largest")
LOSSES = ("log-loss", *COLUMNS[1:])
TINY = 1e-12  # of the probability of a label, so that each has a finite logarithm


class Outcome(NamedTuple):
    accuracy: float
    log_loss: float
    seconds: float


def measure(training: Labeled, test: Labeled, model: str, vectors: str | None) -> Outcome:
    classifier = TextClassifier(model=model, vectors=vectors)
    start = time.process_time()
    classifier.fit(training.texts, training.labels)
    seconds = time.process_time() - start
    places = {label: place for place, label in enumerate(classifier.classes_.tolist())}
    classes = np.array([places[label] for label in test.labels])
    probabilities = classifier.predict_proba(test.texts)
    own = np.maximum(probabilities[np.arange(len(classes)), classes], TINY)
    is_right = probabilities.argmax(axis=1) == classes
    return Outcome(float(is_right.mean()), float(-np.log(own).mean()), seconds)


def compare(pairs: Sequence[tuple[float, float]]) -> list[str]:
    """The means without and with vectors, and the mean and the range of the differences."""
    without, own = map(statistics.fmean, zip(*pairs, strict=True))
    differences = [after - before for before, after in pairs]
    shown = statistics.fmean(differences), min(differences), max(differences)
    return [f"{without:.4f}", f"{own:.4f}", *(f"{each:+.4f}" for each in shown)]


def run(name: str, sizes: Sequence[str], n_draws: int, models: Sequence[str], table: str) -> None:
    training, test = SPLITS[name]()
    rows = random.Random(0).sample(range(len(test.texts)), min(N_TEST, len(test.texts)))
    for size in sizes:
        found: dict[str, list[tuple[Outcome, Outcome]]] = {model: [] for model in models}
        tested = test if size == ALL else test.taken(rows)
        for seed in range(1 if size == ALL else n_draws):
            documents = training if size == ALL else draw(training, int(size), seed)
            for model, outcomes in found.items():
                before, after = (measure(documents, tested, model, each) for each in (None, table))
                outcomes.append((before, after))
                figures = " ".join(f"{each:.4f}" for each in (*before, *after))
                sys.stderr.write(f"{name} {size} {seed} {model} {figures}\n")
        for model, outcomes in found.items():
            accuracies, losses, seconds = (
                [(before[place], after[place]) for before, after in outcomes] for place in range(3)
            )
            costs = [f"{statistics.fmean(each):.1f}" for each in zip(*seconds, strict=True)]
            print_row((name, size, model, *compare(accuracies), *compare(losses), *costs))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("table")
    parser.add_argument("corpora", nargs="*", default=list(SPLITS))
    parser.add_argument(
        "--sizes", type=lambda text: text.split(","), default=["5", "10", "20", "50"]
    )
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--models", type=lambda text: text.split(","), default=[AUTO, BEST])
    arguments = parser.parse_intermixed_args()
    warnings.simplefilter("ignore")  # of what the models assume
    print_head(("corpus", "a label", "model", *COLUMNS, *LOSSES, "seconds", "with vectors"))
    for name in arguments.corpora:
        run(name, arguments.sizes, arguments.draws, arguments.models, arguments.table)


if __name__ == "__main__":
    main()

"""How many labels `nbtext label` needs, beside random order, and how fast it answers a key.

The pool is the training half of 20 Newsgroups, and a simulated user gives each document its true
label. The model is the one that `nbtext train labels.jsonl` trains; its accuracy is that on the
test half, which is later by date. The number of labels is interpolated between models of 50 labels
more. Means are over three seeds, of the random order and of the ranking's samples of candidates.
Milliseconds are of the processor, for an answer and the choice of the next document.

python tests/benchmarks/label.py
"""

import os
import time
from dataclasses import replace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from material import newsgroups
from measuring import say, say_head, say_row
from review import count

from nbtext.applications.label.ranking import Ranking
from nbtext.bayes.class_statistics import count_classes
from nbtext.text_classifier import TextClassifier

GOALS = (0.50, 0.60, 0.70)
STEP = 50
MAX_LABELS = 900
SEEDS = range(3)


def rank(seed: int, n_labels: int, classes: np.ndarray) -> tuple[list[int], list[float]]:
    """The documents that the ranking chooses, and the milliseconds of each."""
    documents, n_features = count(newsgroups("train").texts)
    ranking = Ranking(documents, n_features, seed=seed)
    is_open = np.ones(len(documents), dtype=bool)
    chosen: list[int] = []
    milliseconds = []
    while len(chosen) < n_labels:
        start = time.process_time()
        known, numbers = np.unique(classes[chosen], return_inverse=True)
        labeled = documents.take(np.array(chosen, dtype=np.int64))
        labeled = replace(labeled, classes=numbers.astype(np.int32))
        row = ranking.choose(is_open, count_classes(labeled, n_features, len(known)))
        assert row is not None
        is_open[row] = False
        chosen.append(row)
        ranking.add([row])
        milliseconds.append(1000 * (time.process_time() - start))
    return chosen, milliseconds


def labels_to_reach(order: list[int]) -> list[float]:
    """How many labels reach each accuracy; infinite if none does."""
    sizes = range(0, len(order) + 1, STEP)
    accuracies = [0.0]
    for n in sizes[1:]:
        training = newsgroups("train").take(order[:n])
        accuracies.append(TextClassifier().fit(*training).score(*newsgroups("test")))
    highest = np.maximum.accumulate(accuracies)
    return np.interp(GOALS, highest, sizes, right=np.inf).tolist()


def main() -> None:
    names = newsgroups("train").labels
    classes = np.unique(names, return_inverse=True)[1]
    random_needs, needs, milliseconds = [], [], []
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(len(names))
        random_needs.append(labels_to_reach(order[:MAX_LABELS].tolist()))
        chosen, times = rank(seed, MAX_LABELS, classes)
        needs.append(labels_to_reach(chosen))
        milliseconds += times
    say_head("order", *(f"labels for {goal:.2f}" for goal in GOALS))
    usual, own = (np.mean(found, axis=0) for found in (random_needs, needs))
    for name, numbers in (("random", usual), ("nbtext label", own)):
        say_row([name, *(f"{number:.0f}" for number in numbers)])
    say_row(["ratio", *(f"{ratio:.2f}" for ratio in own / usual)])
    middle, highest = np.quantile(milliseconds, (0.5, 0.99))
    say(f"\n{middle:.0f} milliseconds for a key; 99 % of the keys take at most {highest:.0f}")


if __name__ == "__main__":
    main()

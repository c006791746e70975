"""Measure the estimated share of each of several labels on Reuters-90: error, and coverage of the
intervals.

    python tests/benchmarks/label_shares.py

All documents are shuffled and halved, five times: a model is trained on one half, and 80 samples of
500 documents are drawn from the other. `unchanged` samples are drawn as they are; in a sample of
`one label`, the share of a random label with 100 documents is drawn uniformly, and only this label
counts. Figures are means over the labels with ten training documents. No document is twice in a
sample, so some samples are smaller: copies vary less than documents do.

    error      mean absolute error of the shares
    naive      the same of counted predictions
    coverage   how many of the 95 % intervals cover the share in the sample
"""

import json
import os
import random
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import material
import numpy as np
from numpy.typing import NDArray
from table import markdown

from nbtext.applications.prevalence.shares import MIN_DOCUMENTS, PosteriorSums
from nbtext.text_classifier import TextClassifier

# a smaller pool has only small samples
SPLITS = 5
SAMPLES = 80
SIZE = 500
MIN_POOL = 100


def measure(seed: int) -> dict[str, list[tuple[float, ...]]]:
    """Error, naive error and coverage, for each label of each sample."""
    folder = material.corpus("reuters-90")
    rows = [
        json.loads(line) for name in ("train", "test") for line in (folder / f"{name}.jsonl").open()
    ]
    random.Random(seed).shuffle(rows)
    training = rows[: len(rows) // 2]
    test = rows[len(rows) // 2 :]
    classifier = TextClassifier().fit(
        [row["text"] for row in training], [row["labels"] for row in training]
    )
    fit = classifier.fitted_.task.fit
    labels = classifier.fitted_.labels
    assert fit is not None
    assert fit.posteriors is not None
    probabilities = classifier.predict_proba([row["text"] for row in test])
    is_predicted = probabilities >= fit.thresholds
    has_label = np.array([[label in row["labels"] for label in labels] for row in test])
    known = fit.posteriors
    rng = np.random.default_rng(seed)
    is_counted = known.documents[:, 1] >= MIN_DOCUMENTS
    pools = np.flatnonzero(has_label.sum(axis=0) >= MIN_POOL)

    def judge(drawn: NDArray[np.int64], chosen: NDArray[np.int64]) -> list[tuple[float, ...]]:
        sums = PosteriorSums(len(labels))
        sums.add(probabilities[drawn])
        found = sums.estimate_labels(known)
        true = has_label[drawn].mean(axis=0)
        is_covered = (found.low <= true + 1e-12) & (true <= found.high + 1e-12)
        columns = (
            np.abs(found.shares - true),
            np.abs(is_predicted[drawn].mean(axis=0) - true),
            is_covered,
        )
        return [tuple(float(column[k]) for column in columns) for k in chosen.tolist()]

    results: dict[str, list[tuple[float, ...]]] = {"unchanged": [], "one label": []}
    for _ in range(SAMPLES):
        drawn = rng.choice(len(test), SIZE, replace=False)
        results["unchanged"] += judge(drawn, np.flatnonzero(is_counted))
        k = rng.choice(pools)
        share = rng.random()
        without, with_label = (np.flatnonzero(has_label[:, k] == value) for value in (False, True))
        size = int(min(SIZE, len(with_label) / share))
        n = min(len(with_label), rng.binomial(size, share))
        parts = [
            rng.choice(pool, n_drawn, replace=False)
            for pool, n_drawn in ((without, size - n), (with_label, n))
        ]
        results["one label"] += judge(np.concatenate(parts), np.array([k]))
    return results


def main() -> None:
    """Print the table."""
    splits = [measure(seed) for seed in range(SPLITS)]
    rows = []
    for name in splits[0]:
        error, naive, coverage = np.mean([each for split in splits for each in split[name]], axis=0)
        rows.append((name, f"{error:.4f}", f"{naive:.4f}", f"{coverage:.1%}"))
    sys.stdout.write(markdown(("shares", "error", "naive", "coverage"), rows) + "\n")


if __name__ == "__main__":
    main()

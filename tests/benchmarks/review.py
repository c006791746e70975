"""How well `nbtext review` finds wrong labels of documents with several labels, and what it costs.

A tenth of the pairs of a document and a label of Reuters-90 are removed, and every second one of
these is replaced by another label, with a fixed seed. The average precision is that of ranking all
pairs by the probability that they are wrong; the peer is a 5-fold logistic regression of each label
against the rest, which ranks by the probability of what is given. Seconds are of the processor, on
one thread.

python tests/benchmarks/review.py [--without-peer]
"""

import json
import os
import resource
import sys
from collections.abc import Sequence
from dataclasses import replace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import material
import numpy as np
from numpy.typing import NDArray

from nbtext.applications.review.label_noise import estimate_pair_noise
from nbtext.bayes.class_statistics import LabelSets
from nbtext.documents.batch import Batch
from nbtext.features.document_table import DocumentTable
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter

SEED = 0
N_FOLDS = 5
FLAGGED = 0.5  # a pair that is wrong with a higher probability is a finding


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def count(texts: Sequence[str], ngrams: tuple[int, int]) -> tuple[DocumentTable, int]:
    """The counts of the documents in their order, and the number of features."""
    counter = CorpusCounter(FeatureSettings(ngrams=ngrams), sample_size=None)
    for start in range(0, len(texts), 1000):
        part = list(texts[start : start + 1000])
        places = [str(start + row) for row in range(len(part))]
        numbers = range(start, start + len(part))
        counter.add(Batch(places, (part,), [""] * len(part), row_numbers=numbers))
    counts = counter.finish()
    return counts.sample.in_source_order(), counts.statistics.n_features


def topics() -> tuple[list[str], NDArray[np.bool_]]:
    """The training documents of Reuters-90, and which labels each has."""
    rows = [
        json.loads(line)
        for line in (material.corpus("reuters-90") / "train.jsonl").read_text().splitlines()
    ]
    labels = sorted({label for row in rows for label in row["labels"]})
    return [row["text"] for row in rows], np.array(
        [[label in row["labels"] for label in labels] for row in rows]
    )


def flip_pairs(true: NDArray[np.bool_], share: float) -> NDArray[np.bool_]:
    """The labels with a share of the pairs removed, of which every second one is replaced by a
    wrong label.
    """
    random = np.random.default_rng(SEED)
    given = true.copy()
    pairs = np.argwhere(true)
    for place, number in enumerate(
        random.choice(len(pairs), round(share * len(pairs)), replace=False)
    ):
        row, label = pairs[number]
        given[row, label] = False
        if place % 2:
            given[row, random.choice(np.flatnonzero(~true[row]))] = True
    return given


def judge_pairs_by_nbtext(
    texts: Sequence[str], given: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], float]:
    """How probably each pair is wrong, and the processor's seconds."""
    before = processor_seconds()
    documents, n_features = count(texts, (1, 1))
    distinct, classes = np.unique(given, axis=0, return_inverse=True)
    names = [f"{label:04}" for label in range(given.shape[1])]
    sets = LabelSets.of([[names[k] for k in np.flatnonzero(row)] for row in distinct], names)
    documents = replace(documents, classes=classes.ravel().astype(np.int32))
    noise = estimate_pair_noise(documents, sets, n_features, len(names), minimum=-1)
    wrong = np.zeros(given.shape)
    wrong[noise.rows, np.maximum(noise.given, noise.likely)] = noise.wrong
    return wrong, processor_seconds() - before


def judge_pairs_by_peer(
    texts: Sequence[str], given: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], float]:
    """The same of a logistic regression of each label against the rest."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import KFold, cross_val_predict
    from sklearn.multiclass import OneVsRestClassifier

    before = processor_seconds()
    rows = TfidfVectorizer().fit_transform(texts)
    model = OneVsRestClassifier(LogisticRegression(solver="liblinear"))
    folds = KFold(N_FOLDS, shuffle=True, random_state=0)
    probabilities = cross_val_predict(
        model, rows, given.astype(int), cv=folds, method="predict_proba"
    )
    return np.where(given, 1 - probabilities, probabilities), processor_seconds() - before


def pairs_row(share: float, *, with_peer: bool) -> str:
    """One row of the table of several labels."""
    from sklearn.metrics import average_precision_score

    texts, true = topics()
    given = flip_pairs(true, share)
    is_wrong = true != given
    wrong, seconds = judge_pairs_by_nbtext(texts, given)

    def measure(found: NDArray[np.float64]) -> str:
        return (
            f"{average_precision_score(is_wrong.ravel(), found.ravel()):.3f}"
            if is_wrong.any()
            else ""
        )

    cells = [
        f"{is_wrong.sum():,}",
        measure(wrong),
        f"{(wrong > FLAGGED).sum():,}",
        f"{seconds:.1f}",
    ]
    if with_peer and is_wrong.any():
        found, peers_seconds = judge_pairs_by_peer(texts, given)
        cells += [measure(found), f"{peers_seconds:.1f}"]
    else:
        cells += ["", ""]
    return f"| Reuters-90 | {share:.0%} | {' | '.join(cells)} |"


def say(line: str) -> None:
    """Print a line as soon as it is known."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Print the table, row by row."""
    with_peer = "--without-peer" not in sys.argv[1:]
    say(
        "| corpus | pairs flipped | wrong pairs | average precision | findings | seconds | peer | peer's seconds |"
    )
    say("|---|---|---|---|---|---|---|---|")
    for share in (0.0, 0.1):
        say(pairs_row(share, with_peer=with_peer))


if __name__ == "__main__":
    main()

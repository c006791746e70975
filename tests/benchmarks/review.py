"""How well `nbtext review` finds wrong labels of documents with several labels, and what it costs.

A tenth of the pairs of a document and a label of Reuters-90 are removed, and every second one of
these is replaced by another label, with a fixed seed. The average precision is that of ranking all
pairs by the probability that they are wrong; the peer is a 5-fold logistic regression of each label
against the rest, which ranks by the probability of what is given. Seconds are of the processor, on
one thread.

python tests/benchmarks/review.py
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from material import corpus
from measuring import say_head, say_row
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

from nbtext.applications.review.label_noise import estimate_pair_noise
from nbtext.bayes.class_statistics import LabelSets
from nbtext.documents.batch import Batch
from nbtext.features.document_table import DocumentTable
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter

SEED = 0
N_FOLDS = 5
FLAGGED = 0.5  # a pair that is wrong with a higher probability is a finding


def count(texts: Sequence[str]) -> tuple[DocumentTable, int]:
    """The counts of the documents in their order, and the number of features."""
    counter = CorpusCounter(FeatureSettings(), sample_size=None)
    for start in range(0, len(texts), 1000):
        part = list(texts[start : start + 1000])
        places = [str(start + row) for row in range(len(part))]
        numbers = range(start, start + len(part))
        counter.add(Batch(places, (part,), [""] * len(part), row_numbers=numbers))
    counts = counter.finish()
    return counts.sample.in_source_order(), counts.statistics.n_features


def flip_pairs(true: np.ndarray, share: float) -> np.ndarray:
    """The labels with a share of the pairs removed, of which every second one is replaced by a
    wrong label.
    """
    random = np.random.default_rng(SEED)
    given = true.copy()
    pairs = np.argwhere(true)
    chosen = random.choice(len(pairs), round(share * len(pairs)), replace=False)
    for place, (row, label) in enumerate(pairs[chosen]):
        given[row, label] = False
        if place % 2:
            given[row, random.choice(np.flatnonzero(~true[row]))] = True
    return given


def judge_pairs_by_nbtext(texts: Sequence[str], given: np.ndarray) -> np.ndarray:
    """How probably each pair is wrong."""
    documents, n_features = count(texts)
    distinct, classes = np.unique(given, axis=0, return_inverse=True)
    names = [f"{label:04}" for label in range(given.shape[1])]
    sets = LabelSets.of([[names[k] for k in np.flatnonzero(row)] for row in distinct], names)
    documents = replace(documents, classes=classes.ravel().astype(np.int32))
    noise = estimate_pair_noise(documents, sets, n_features, len(names), minimum=-1)
    wrong = np.zeros(given.shape)
    wrong[noise.rows, np.maximum(noise.given, noise.likely)] = noise.wrong
    return wrong


def judge_pairs_by_peer(texts: Sequence[str], given: np.ndarray) -> np.ndarray:
    """The same of a logistic regression of each label against the rest."""
    rows = TfidfVectorizer().fit_transform(texts)
    model = OneVsRestClassifier(LogisticRegression(solver="liblinear"))
    folds = KFold(N_FOLDS, shuffle=True, random_state=0)
    probabilities = cross_val_predict(
        model, rows, given.astype(int), cv=folds, method="predict_proba"
    )
    return np.where(given, 1 - probabilities, probabilities)


JUDGES: dict[str, Callable[[Sequence[str], np.ndarray], np.ndarray]] = {
    "nbtext": judge_pairs_by_nbtext,
    "peer": judge_pairs_by_peer,
}


def main() -> None:
    """Print the table, row by row."""
    lines = (corpus("reuters-90") / "train.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    texts = [record["text"] for record in records]
    true = MultiLabelBinarizer().fit_transform([record["labels"] for record in records])
    head = "pairs flipped", "wrong pairs", "average precision", "findings", "seconds"
    say_head("corpus", "program", *head)
    for share in (0.0, 0.1):
        given = flip_pairs(true.astype(bool), share)
        is_wrong = (true != given).ravel()
        for name, judge in JUDGES.items():
            if name == "peer" and not share:
                continue
            start = time.process_time()
            wrong = judge(texts, given)
            seconds = time.process_time() - start
            precision = f"{average_precision_score(is_wrong, wrong.ravel()):.3f}" if share else ""
            counts = f"{is_wrong.sum():,}", precision, f"{(wrong > FLAGGED).sum():,}"
            say_row(["Reuters-90", name, f"{share:.0%}", *counts, f"{seconds:.1f}"])


if __name__ == "__main__":
    main()

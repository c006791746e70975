"""Measure the estimated shares of labels: error, coverage of the intervals, and log-loss after adapting.

    python tests/benchmarks/prevalence.py [CORPUS...]

The artificial prevalence protocol of QuaPy: shares are drawn uniformly (Dirichlet), and 500 test documents are drawn
with exactly these shares, 200 times. Each corpus is shuffled and halved, as often as SPLITS says: a model is trained on
one half, and the samples are drawn from the other. The figures are means over all samples of all splits.

    error      mean absolute error of the shares
    naive      the same of counted predictions
    coverage   how many of the 95 % intervals cover the share in the sample
    log-loss   of the documents, with the probabilities of the model, and adapted to the estimated shares
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from material import MissingCorpusError
from protocols import Labeled, imdb, joined, mails, messages, newsgroups
from table import markdown

from nbtext.bayes.prevalence import PosteriorSums
from nbtext.bayes.scorer import log_posterior
from nbtext.model.prevalence import Prevalence, adapt_prior
from nbtext.text_classifier import TextClassifier

SAMPLES, SIZE = 200, 500
CORPORA: dict[str, tuple[Callable[[], Labeled], int, float]] = {  # documents, number of splits, largest error
    "sms-spam": (messages, 5, 0.012),
    "spamassassin": (mails, 5, 0.007),
    "20 Newsgroups": (lambda: joined(newsgroups), 1, 0.005),
    "IMDB": (lambda: joined(imdb), 1, 0.02),
}


def measure(documents: Labeled, seed: int) -> list[tuple[float, ...]]:
    """Return error, naive error, coverage, and log-loss before and after, of each sample of one split."""
    rows = list(range(len(documents.texts)))
    random.Random(seed).shuffle(rows)
    training, test = documents.taken(rows[: len(rows) // 2]), documents.taken(rows[len(rows) // 2 :])
    fitted = TextClassifier().fit(training.texts, training.labels).fitted_
    known, labels = fitted.calibration.mean_posteriors, fitted.labels
    assert known is not None
    classifier = TextClassifier().fit(training.texts, training.labels)
    posteriors = classifier.predict_proba(test.texts)
    decided = fitted.calibration.decide(np.log(posteriors))
    classes = np.array([labels.index(label) for label in test.labels])
    pools = [np.flatnonzero(classes == k) for k in range(len(labels))]
    rng, found = np.random.default_rng(seed), []
    for _ in range(SAMPLES):
        counts = rng.multinomial(SIZE, rng.dirichlet(np.ones(len(labels))))
        drawn = np.concatenate(
            [rng.choice(pool, n, replace=n > len(pool)) for pool, n in zip(pools, counts, strict=True)]
        )
        sums, shares = PosteriorSums(len(labels)), counts / SIZE
        sums.add(posteriors[drawn])
        estimate = sums.estimate(known)
        predicted = np.bincount(decided[drawn], minlength=len(labels))
        adapted = adapt_prior(fitted, Prevalence(labels, SIZE, estimate, predicted, ())).calibration.prior_adjustment
        before = fitted.calibration.prior_adjustment
        change = adapted - (0.0 if before is None else before)
        own = np.arange(SIZE), classes[drawn]
        logs = np.log(posteriors[drawn])
        found.append(
            (
                np.abs(estimate.shares - shares).mean(),
                np.abs(predicted / SIZE - shares).mean(),
                ((estimate.low <= shares) & (shares <= estimate.high)).mean(),
                -logs[own].mean(),
                -log_posterior(logs + change)[own].mean(),
            )
        )
    return found


def main(*names: str) -> None:
    """Print a row for each corpus."""
    rows = []
    for name in names or CORPORA:
        read, n_splits, maximum = CORPORA[name]
        try:
            documents = read()
        except MissingCorpusError as error:
            sys.stderr.write(f"{error}\n")
            continue
        figures = np.mean([each for seed in range(n_splits) for each in measure(documents, seed)], axis=0)
        error, naive, coverage, before, after = (f"{figure:.4f}" for figure in figures)
        rows.append([name, error, f"{maximum:g}", naive, coverage, f"{before} → {after}"])
    headers = ["corpus", "error", "at most", "naive", "coverage", "log-loss"]
    sys.stdout.write(markdown(headers, rows) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

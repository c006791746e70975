"""Measure the estimated shares of labels: error, coverage of the intervals, and log-loss after adapting.

    python tests/benchmarks/prevalence.py [--unchanged] [CORPUS...]

The artificial prevalence protocol of QuaPy: shares are drawn uniformly (Dirichlet), and 500 test documents are drawn
with exactly these shares, 200 times. Each corpus is shuffled and halved, as often as SPLITS says: a model is trained on
one half, and the samples are drawn from the other. The figures are means over all samples of all splits. With
--unchanged, samples of 20, 100 and 500 documents have the shares of the corpus, so that adapting can only harm.

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
from protocols import Labeled, imdb, joined, long_reviews, mails, messages, newsgroups, short_reviews, thai_messages
from table import markdown

from nbtext.bayes.prevalence import PosteriorSums
from nbtext.bayes.scorer import log_posterior
from nbtext.model.prevalence import Prevalence, adapt_prior
from nbtext.text_classifier import TextClassifier

SAMPLES, SIZE = 200, 500
UNCHANGED_SIZES = (20, 100, 500)
CORPORA: dict[str, tuple[Callable[[], Labeled], int, float | None]] = {  # documents, number of splits, largest error
    "sms-spam": (messages, 5, 0.012),
    "spamassassin": (mails, 5, 0.007),
    "20 Newsgroups": (lambda: joined(newsgroups), 1, 0.005),
    "IMDB": (lambda: joined(imdb), 1, 0.02),
    "RT-s": (short_reviews, 5, None),
    "RT-2k": (long_reviews, 5, None),
    "Wisesight": (thai_messages, 1, None),
}


def measure(documents: Labeled, seed: int, sizes: tuple[int, ...] = ()) -> list[tuple[float, ...]]:
    """Return error, naive error, coverage, and log-loss before and after, of each sample of one split.

    sizes  of samples whose shares are unchanged, one after the other; without sizes, shares are drawn
    """
    rows = list(range(len(documents.texts)))
    random.Random(seed).shuffle(rows)
    training, test = documents.taken(rows[: len(rows) // 2]), documents.taken(rows[len(rows) // 2 :])
    classifier = TextClassifier().fit(training.texts, training.labels)
    fitted, labels = classifier.fitted_, classifier.fitted_.labels
    known = fitted.calibration.mean_posteriors
    assert known is not None
    posteriors = classifier.predict_proba(test.texts)
    decided = fitted.calibration.decide(np.log(posteriors))
    classes = np.array([labels.index(label) for label in test.labels])
    pools = [np.flatnonzero(classes == k) for k in range(len(labels))]
    rng, found = np.random.default_rng(seed), []
    for place in range(SAMPLES * max(1, len(sizes))):
        if sizes:
            size = sizes[place % len(sizes)]
            drawn = rng.choice(len(classes), size, replace=False)
        else:
            size, counts = SIZE, rng.multinomial(SIZE, rng.dirichlet(np.ones(len(labels))))
            drawn = np.concatenate(
                [rng.choice(pool, n, replace=n > len(pool)) for pool, n in zip(pools, counts, strict=True)]
            )
        sums, shares = PosteriorSums(len(labels)), np.bincount(classes[drawn], minlength=len(labels)) / size
        sums.add(posteriors[drawn])
        estimate = sums.estimate(known)
        predicted = np.bincount(decided[drawn], minlength=len(labels))
        adapted = adapt_prior(fitted, Prevalence(labels, size, estimate, predicted, ())).calibration.prior_adjustment
        before = fitted.calibration.prior_adjustment
        change = adapted - (0.0 if before is None else before)
        own = np.arange(size), classes[drawn]
        logs = np.log(posteriors[drawn])
        found.append(
            (
                np.abs(estimate.shares - shares).mean(),
                np.abs(predicted / size - shares).mean(),
                ((estimate.low <= shares) & (shares <= estimate.high)).mean(),
                -logs[own].mean(),
                -log_posterior(logs + change)[own].mean(),
            )
        )
    return found


def main(*names: str) -> None:
    """Print a row for each corpus."""
    is_unchanged, names = "--unchanged" in names, tuple(name for name in names if name != "--unchanged")
    headers = ["corpus", "error", "at most", "naive", "coverage", "log-loss"]
    if is_unchanged:
        headers = ["corpus", *(f"{size} documents" for size in UNCHANGED_SIZES)]
    rows = []
    for name in names or CORPORA:
        read, n_splits, maximum = CORPORA[name]
        try:
            documents = read()
        except MissingCorpusError as error:
            sys.stderr.write(f"{error}\n")
            continue
        sizes = UNCHANGED_SIZES if is_unchanged else ()
        found = np.array([each for seed in range(n_splits) for each in measure(documents, seed, sizes)])
        if is_unchanged:
            losses = found[:, 3:].reshape(-1, len(sizes), 2).mean(axis=0)
            rows.append([name, *(f"{before:.4f} → {after:.4f}" for before, after in losses)])
            continue
        error, naive, coverage, before, after = (f"{figure:.4f}" for figure in found.mean(axis=0))
        rows.append([name, error, f"{maximum:g}" if maximum else "", naive, coverage, f"{before} → {after}"])
    sys.stdout.write(markdown(headers, rows) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The choice with few documents, by log-losses that are those of models of the other folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from corpora_by_hand import MODELS, sample_of, statistics_of

from nbtext.bayes.calibration import fit_temperature
from nbtext.bayes.class_statistics import log_prior
from nbtext.bayes.few_documents import (
    N_SMOOTHING_FOLDS,
    find_better,
    is_few,
    list_losses,
    make_folds,
    score_held_out,
)
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.leave_one_out import LeaveOneOut


def corpus_of(counts: Any, classes: Any, n_classes: int, name: str = "multinomial") -> LeaveOneOut:
    """All documents, in a vocabulary that is learned."""
    sample = sample_of(counts, classes)
    statistics = statistics_of(counts, classes, n_classes)
    return LeaveOneOut(statistics, sample, np.zeros(len(counts)), MODELS[name], "empirical")


@pytest.mark.parametrize("name", ["multinomial", "complement", "dirichlet"])
def test_losses_are_those_of_refits(name: str) -> None:
    """A document is scored by a model of the other folds, without words that these lack."""
    random = np.random.default_rng(5)
    classes = np.arange(30) % 3
    counts = random.poisson(random.gamma(0.2, 2, (3, 40))[classes])
    counts[:, 39] = 0
    counts[7, 39] = 4  # of no other document
    corpus = corpus_of(counts, classes, 3, name)
    folds = np.arange(30) // 3 % N_SMOOTHING_FOLDS
    found = score_held_out(corpus, [0.5], folds, 30)
    scores = np.zeros((30, 3))
    lengths = np.zeros(30)
    for i in range(30):
        others = folds != folds[i]
        statistics = statistics_of(counts[others], classes[others], 3)
        known = np.where(counts[others].any(axis=0), counts[[i]], 0)
        alone = sample_of(known, classes[[i]])
        lengths[i] = known.sum()
        prior = log_prior(statistics.class_documents, "empirical")
        scorer = MODELS[name].compile(statistics, smoothing=0.5).with_prior(prior)
        scores[i] = scorer.scores(alone.indptr, alone.indices, alone.counts)[0]
    judged = np.flatnonzero(lengths)
    own = JudgedDocuments(scores, lengths, classes).take(judged)
    np.testing.assert_array_equal(found.contents, corpus.contents[judged])
    (losses,) = list_losses(found)
    expected = -own.calibrate(fit_temperature(own).log_posterior).own
    np.testing.assert_allclose(losses, expected, rtol=1e-9)


def test_only_a_clear_difference_counts() -> None:
    """A model is not better than itself; where nothing can be held out, none is."""
    random = np.random.default_rng(2)
    classes = np.arange(40) % 4
    counts = random.poisson(random.gamma(0.2, 2, (4, 30))[classes])
    corpus = corpus_of(counts, classes, 4)
    assert find_better(corpus, 1.0, [corpus], [1.0]) is None
    assert find_better(corpus, 1e6, [corpus, corpus], [1e6, 0.3]) == (0, 0.3)
    single = corpus_of(np.eye(3, dtype=int), np.arange(3), 3)
    assert find_better(single, 1.0, [single], [0.1]) is None


def test_the_lowest_log_loss_wins() -> None:
    """The pair of a model and a smoothing whose documents, scored for it alone, have the lowest
    mean.
    """
    found = set()
    smoothings = [0.02, 0.3, 3.0, 30.0]
    for seed in range(12):
        random = np.random.default_rng(seed)
        classes = np.arange(40) % 4
        counts = random.poisson(random.gamma(0.02 + seed / 40, 2, (4, 30))[classes])
        corpora = [corpus_of(counts, classes, 4, name) for name in ("multinomial", "complement")]
        losses = {
            (number, smoothing): list_losses(
                score_held_out(corpus, [smoothing], make_folds(corpora[0]), 40)
            )[0].mean()
            for number, corpus in enumerate(corpora)
            for smoothing in smoothings
        }
        best = min(losses, key=lambda pair: losses[pair])
        assert find_better(corpora[0], 1e6, corpora, smoothings) == best
        found.add(best)
    assert len(found) >= 3


def test_chance_seldom_decides() -> None:
    """Where labels are random, heavier smoothing has the lower log-loss by chance alone, and is
    seldom taken.
    """
    n_taken = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        classes = np.arange(40) % 4
        counts = random.poisson(random.gamma(0.2, 2, (4, 30))[random.permutation(classes)])
        corpus = corpus_of(counts, classes, 4)
        n_taken += find_better(corpus, 1.0, [corpus], [0.3, 3.0]) is not None
    assert n_taken <= 20  # 39 if any difference counts


def test_what_few_are() -> None:
    """On average over the labels, up to 25; with one label, there is nothing to choose."""
    for n_documents, n_classes, expected in (
        (50, 2, True),
        (51, 2, False),
        (75, 3, True),
        (5, 1, False),
    ):
        classes = np.arange(n_documents) % n_classes
        assert (
            is_few(statistics_of(np.ones((n_documents, 1), dtype=int), classes, n_classes))
            == expected
        )

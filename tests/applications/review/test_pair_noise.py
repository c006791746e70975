"""How probably a pair of a document and a label is wrong, with labels that are wrong at known
rates.
"""

import numpy as np
import pytest
from corpora_by_hand import sample_of

from nbtext.applications.review.label_noise import (
    LabelNoise,
    estimate_pair_noise,
    fit_noise_rates,
)
from nbtext.bayes.class_statistics import LabelSets
from nbtext.numerics import sigmoid

N = 70_000
N_LABELS = 4


@pytest.mark.parametrize(("missing", "added"), [(0.1, 0.01), (0.3, 0.001), (0.02, 0.05)])
def test_rates_are_found(missing: float, added: float) -> None:
    """Of labels that are true with the probability of their log-odds, and given with errors; also
    from probabilities whose slope and intercept are wrong.
    """
    rng = np.random.default_rng(0)
    log_odds = rng.normal(-4, 4, 40_000)
    true = rng.random(len(log_odds)) < sigmoid(log_odds)
    given = np.where(true, rng.random(len(true)) >= missing, rng.random(len(true)) < added)
    for slope, shift in ((1.0, 0.0), (0.5, 1.0)):
        rates = fit_noise_rates(
            given.astype(float), np.ones(len(given)), sigmoid(slope * log_odds + shift)
        )
        assert rates.missing == pytest.approx(missing, abs=0.02)
        assert rates.added == pytest.approx(added, abs=0.003)
        assert rates.slope == pytest.approx(1 / slope, rel=0.15)


def judge(minimum: float = 0.5) -> tuple[LabelNoise, np.ndarray, np.ndarray]:
    """The noise of random documents with words of their labels, and their true and given labels.
    The documents are judged in two parts; the first two are copies.
    """
    rng = np.random.default_rng(0)
    true = rng.random((N, N_LABELS)) < 0.35
    counts = rng.poisson(0.6, (N, 12 * N_LABELS + 20))
    counts[:, : 12 * N_LABELS] *= np.repeat(true, 12, axis=1)
    counts[:, -1] += 1
    counts[1] = counts[0]
    true[1] = true[0]
    given = true ^ (rng.random(true.shape) < 0.04)
    names = [f"l{k}" for k in range(N_LABELS)]
    sets, classes = np.unique(given, axis=0, return_inverse=True)
    label_sets = LabelSets.of([[names[k] for k in np.flatnonzero(row)] for row in sets], names)
    documents = sample_of(counts, classes.ravel())
    documents.hashes[1] = documents.hashes[0]
    noise = estimate_pair_noise(documents, label_sets, counts.shape[1], N_LABELS, minimum=minimum)
    return noise, true, given


def labels_of(noise: LabelNoise) -> np.ndarray:
    """The label of each pair."""
    return np.maximum(noise.given, noise.likely)


def test_wrong_pairs_are_found() -> None:
    noise, true, given = judge()
    is_wrong = true != given
    assert (given[noise.rows, labels_of(noise)] == (noise.given >= 0)).all()
    assert is_wrong[noise.rows, labels_of(noise)].mean() > 0.95
    assert len(noise.wrong) > 0.85 * is_wrong.sum()
    assert noise.n_missing is not None
    assert noise.n_wrong + noise.n_missing == pytest.approx(is_wrong.sum(), rel=0.2)
    assert noise.n_judged == given.sum()


def test_all_pairs() -> None:
    """With a minimum below 0, each pair is there once."""
    noise, _, _ = judge(-1.0)
    pairs = noise.rows * N_LABELS + labels_of(noise)
    assert np.array_equal(np.sort(pairs), np.arange(N * N_LABELS))
    assert not np.isnan(noise.wrong).any()

"""How probably a pair of a document and a label is wrong, with labels that are wrong at known
rates.
"""

from dataclasses import replace

import numpy as np
import pytest

from nbtext.applications.review.label_noise import (
    LabelNoise,
    estimate_pair_noise,
    fit_noise_rates,
)
from nbtext.bayes.class_statistics import LabelSets
from nbtext.bayes.label_calibration import Cells, sigmoid
from nbtext.documents.batch import Batch
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter

N = 400
N_LABELS = 4


def random_cells(missing: float, added: float) -> tuple[Cells, np.ndarray]:
    """Pairs whose labels are true with the probability of their log-odds, and then given with
    errors.
    """
    rng = np.random.default_rng(0)
    log_odds = rng.normal(-4, 4, 40_000)
    true = rng.random(len(log_odds)) < sigmoid(log_odds)
    given = np.where(true, rng.random(len(true)) >= missing, rng.random(len(true)) < added)
    zeros = np.zeros(len(log_odds), dtype=np.int64)
    cells = Cells(
        np.arange(len(log_odds)),
        zeros,
        given.astype(float),
        np.ones(len(given)),
        (log_odds,),
        np.zeros(1),
        zeros + 10.0,
        np.array([N]),
        N,
    )
    return cells, np.asarray(sigmoid(log_odds))


@pytest.mark.parametrize(("missing", "added"), [(0.1, 0.01), (0.3, 0.001), (0.02, 0.05)])
def test_rates_are_found(missing: float, added: float) -> None:
    """Also from probabilities whose slope and intercept are wrong."""
    cells, true = random_cells(missing, added)
    for slope, shift in ((1.0, 0.0), (0.5, 1.0)):
        rates = fit_noise_rates(
            cells.positives,
            cells.documents,
            sigmoid(slope * (np.log(true) - np.log1p(-true)) + shift),
        )
        assert rates.missing == pytest.approx(missing, abs=0.02)
        assert rates.added == pytest.approx(added, abs=0.003)
        assert rates.slope == pytest.approx(1 / slope, rel=0.15)


def noisy_corpus() -> tuple[DocumentCounts, LabelSets, np.ndarray, np.ndarray, int]:
    """Documents of random topics; counts, the given label sets, the true and the given labels."""
    rng = np.random.default_rng(0)
    true = rng.random((N, N_LABELS)) < 0.35
    texts = [
        " ".join(
            [
                f"topic{k}word{word}"
                for k in np.flatnonzero(row)
                for word in rng.integers(12, size=8)
            ]
            + [f"common{word}" for word in rng.integers(20, size=8)]
        )
        for row in true
    ]
    # copies
    texts[1] = texts[0]
    true[1] = true[0]
    given = true.copy()
    flipped = rng.choice(N * N_LABELS, 60, replace=False)
    given.ravel()[flipped] ^= True
    counter = CorpusCounter(FeatureSettings(), sample_size=None)
    places = list(map(str, range(N)))
    counter.add(Batch(places, (texts,), [""] * N, groups=places))
    counts = counter.finish()
    assert counts.sample.groups is not None
    rows = counts.sample.take(np.argsort(counts.sample.groups.astype(np.int64)))
    sets, classes = np.unique(given, axis=0, return_inverse=True)
    names = [f"l{k}" for k in range(N_LABELS)]
    label_sets = LabelSets.of([[names[k] for k in np.flatnonzero(row)] for row in sets], names)
    documents = replace(rows, classes=classes.ravel().astype(np.int32), groups=None)
    return documents, label_sets, true, given, counts.statistics.n_features


def judge(minimum: float = 0.5) -> tuple[LabelNoise, np.ndarray, np.ndarray]:
    documents, sets, true, given, n_features = noisy_corpus()
    return estimate_pair_noise(documents, sets, n_features, N_LABELS, minimum=minimum), true, given


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


def test_all_pairs_and_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a minimum below 0 each pair is there once; the size of the parts changes only the fit of
    the rates.
    """
    noise, _, _ = judge(-1.0)
    pairs = noise.rows * N_LABELS + labels_of(noise)
    assert sorted(pairs.tolist()) == list(range(N * N_LABELS))
    assert not np.isnan(noise.wrong).any()
    cells, true = random_cells(0.05, 0.01)
    rates = fit_noise_rates(cells.positives, cells.documents, true)
    found = []
    for size in (1 << 16, 50):
        monkeypatch.setattr(
            "nbtext.applications.review.label_noise.fit_noise_rates", lambda *_: rates
        )
        monkeypatch.setattr("nbtext.applications.review.label_noise.MAX_AT_ONCE", size)
        found.append(judge()[0])
    assert found[0].rows.tolist() == found[1].rows.tolist()
    np.testing.assert_array_equal(found[0].wrong, found[1].wrong)
    assert found[0].n_missing == pytest.approx(found[1].n_missing)

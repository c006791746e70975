"""Prediction sets contain the true label as often as the coverage that is asked for."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.bayes.conformal import MAX_POINTS, Quantiles, nonconformity, own_nonconformity


def drawn(n: int, *, sureness: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities of five labels, and true labels that are drawn by slightly different
    probabilities.
    """
    random = np.random.default_rng(seed)
    scores = random.normal(0, sureness, (n, 5))
    honest = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    classes = (random.random((n, 1)) > honest.cumsum(axis=1)[:, :-1]).sum(axis=1)
    said = np.exp(2 * scores)
    return said / said.sum(axis=1, keepdims=True), classes


def test_by_hand() -> None:
    """The nonconformity score of a label is the sum of the probabilities of more probable labels.

    For the most probable label it is log(1 - p).
    """
    found = nonconformity(np.array([[0.5, 0.2, 0.3], [0.25, 0.5, 0.25]]))
    np.testing.assert_allclose(found, [[math.log(0.5), 0.8, 0.5], [0.5, math.log(0.5), 0.5]])


@given(
    st.lists(
        st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any), min_size=1, max_size=9
    ),
    st.data(),
)
def test_the_column_of_the_true_label(rows: list[list[int]], data: st.DataObject) -> None:
    """What is computed for the true label alone is its column of the whole, ties and zeros
    included.
    """
    weights = np.array(rows, dtype=np.float64)
    probabilities = weights / weights.sum(axis=1, keepdims=True)
    classes = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    )
    whole = nonconformity(probabilities)[np.arange(len(rows)), classes]
    np.testing.assert_allclose(own_nonconformity(probabilities, classes), whole, atol=1e-12)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("sureness", [0.3, 2.0, 8.0])
def test_coverage(share: float, sureness: float) -> None:
    """Sets built from 5,000 documents hold the label of 20,000 others as often as asked, be the
    model sure or not.
    """
    known, classes = drawn(5000, sureness=sureness, seed=1)
    quantiles = Quantiles.of(own_nonconformity(known, classes))
    assert quantiles is not None
    asked, truth = drawn(20_000, sureness=sureness, seed=2)
    belongs = nonconformity(asked) <= quantiles.upper_bound(share)
    assert belongs[np.arange(len(truth)), truth].mean() == pytest.approx(share, abs=0.015)


def test_sets_of_few_documents_hold_every_label() -> None:
    """With nine documents, no bound has more than 90 % coverage, so a set of 95 % contains every
    label.
    """
    quantiles = Quantiles.of(np.arange(9.0))
    assert quantiles is not None
    assert quantiles.upper_bound(0.9) == 8.0
    assert quantiles.upper_bound(0.5) == 4.0
    assert quantiles.upper_bound(0.95) == math.inf


def test_quantiles_of_many_numbers() -> None:
    """A thousand and one points give any quantile of a hundred thousand numbers to a thousandth of
    the ranks.
    """
    quantiles = Quantiles.of(np.random.default_rng(1).permutation(100_000))
    assert quantiles is not None
    assert len(quantiles.points) == MAX_POINTS
    for share in (0.001, 0.1, 0.95, 0.9999):
        assert quantiles.upper_bound(share) == pytest.approx(share * 100_000, abs=1)


def test_documents_that_are_the_only_ones_of_their_label() -> None:
    """A tenth of them cannot be covered without every label, so sets of 95 % have every label, and
    those of 80 % fewer.

    Leave-one-out cannot score these documents: their label has no other document.
    """
    repeated = [
        (f"w{number % 4} x{number % 4} y{number}", f"label {number % 4}") for number in range(90)
    ]
    alone = [(f"a{number} b{number}", f"alone {number}") for number in range(10)]
    texts, labels = zip(*repeated, *alone, strict=True)
    quantiles = (
        TextClassifier().fit(list(texts), list(labels)).fitted_.task.calibration.nonconformity
    )
    assert quantiles is not None
    assert quantiles.upper_bound(0.95) >= 1  # the nonconformity score of any label is at most 1
    assert quantiles.upper_bound(0.8) < 1

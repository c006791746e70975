"""Curves of a label are scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from nbtext.evaluation.curves import N_POINTS, Ranking, compute_label_curve

documents = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 0.9, 1.0]), st.booleans()),
    min_size=2,
    max_size=40,
).filter(lambda rows: 0 < sum(own for _, own in rows) < len(rows))


@given(documents)
def test_like_scikit_learn(rows: list[tuple[float, bool]]) -> None:
    """Every threshold's precision, recall and false alarms, ties included, and the areas under both
    curves.
    """
    probabilities = np.array([p for p, _ in rows])
    own = np.array([is_own for _, is_own in rows])
    ranking = Ranking.of(probabilities, own)
    precision, recall, thresholds = precision_recall_curve(own, probabilities)
    assert ranking.thresholds[::-1] == pytest.approx(thresholds)
    assert ranking.precision[::-1] == pytest.approx(precision[:-1], abs=1e-12)
    assert ranking.recall[::-1] == pytest.approx(recall[:-1], abs=1e-12)
    rate, found, _ = roc_curve(own, probabilities, drop_intermediate=False)
    assert np.append(0, ranking.false_positive_rate) == pytest.approx(rate, abs=1e-12)
    assert np.append(0, ranking.recall) == pytest.approx(found, abs=1e-12)
    curve = compute_label_curve("a", probabilities, own)
    assert curve.average_precision == pytest.approx(
        average_precision_score(own, probabilities), abs=1e-12
    )
    assert curve.auroc == pytest.approx(roc_auc_score(own, probabilities), abs=1e-12)


def test_points_to_draw() -> None:
    """A curve of very many documents is drawn in few points, from its first threshold to its
    last.
    """
    random = np.random.default_rng(1)
    own = random.random(5000) < 0.3
    probabilities = np.clip(random.normal(0.4 + 0.2 * own, 0.15), 0, 1)
    points = compute_label_curve("a", probabilities, own).points
    assert 20 < len(points) <= N_POINTS + 2
    assert (
        points[0].threshold == probabilities.max() and points[-1].threshold == probabilities.min()
    )
    assert points[-1].recall == points[-1].false_positive_rate == 1
    ranking = Ranking.of(probabilities, own)
    for point in points:
        place = ranking.thresholds.tolist().index(point.threshold)
        assert (point.precision, point.recall) == (ranking.precision[place], ranking.recall[place])


@pytest.mark.parametrize("own", [[True, True], [False, False]])
def test_where_there_is_nothing_to_tell(own: list[bool]) -> None:
    """Without documents of the label, or of others, there is no area."""
    curve = compute_label_curve("a", np.array([0.2, 0.3]), np.array(own))
    assert curve.auroc is None
    assert (curve.average_precision is None) == (not any(own))


def test_without_documents() -> None:
    """No document, no curve."""
    assert compute_label_curve("a", np.zeros(0), np.zeros(0, dtype=bool)).points == ()

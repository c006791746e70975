"""Prediction sets cover the true label as often as asked."""

from itertools import pairwise

import numpy as np
import pytest
from outcomes_by_chance import probabilities_of

from nbtext.bayes.conformal import Quantiles, own_nonconformity
from nbtext.evaluation.curves import COVERAGES, measure_set_sizes


def test_promises_are_kept_on_documents_of_the_same_kind() -> None:
    """Each coverage is about what was asked for; larger ones need larger sets."""
    learned, classes = probabilities_of(4000, 5, 1)
    known = Quantiles.of(own_nonconformity(learned, np.array(classes)))
    probabilities, own = probabilities_of(4000, 5, 2)
    sizes = measure_set_sizes(probabilities, np.array(own), known)
    assert [size.asked for size in sizes] == list(COVERAGES)
    assert all(size.coverage == pytest.approx(size.asked, abs=0.025) for size in sizes)
    assert all(a.mean_size <= b.mean_size for a, b in pairwise(sizes))
    assert sizes[-1].mean_size <= 5


def test_sets_without_nonconformity_scores() -> None:
    """Without nonconformity scores, quantiles of the same documents give at least the coverage that
    is asked for.
    """
    probabilities, own = probabilities_of(500, 4, 3)
    assert all(
        size.coverage >= size.asked
        for size in measure_set_sizes(probabilities, np.array(own), None)
    )


def test_a_label_that_the_model_does_not_know() -> None:
    """No set of labels holds it."""
    probabilities, _ = probabilities_of(10, 3, 4)
    known = Quantiles.of(np.linspace(0, 0.5, 1000))
    assert {size.coverage for size in measure_set_sizes(probabilities, np.full(10, -1), known)} == {
        0.0
    }


def test_a_label_that_the_model_does_not_know_is_in_no_set_of_all_labels() -> None:
    """Where the sets need every label of the model, they still do not cover a document of another
    label.
    """
    probabilities, own = probabilities_of(100, 3, 5)
    true = np.array(own)
    true[::4] = -1
    # one number: sets of 90 % and more hold every label
    without_bound = Quantiles.of(np.array([0.1]))
    sizes = {size.asked: size for size in measure_set_sizes(probabilities, true, without_bound)}
    assert sizes[0.95].mean_size == 3
    assert sizes[0.95].coverage == pytest.approx(0.75)
    of_these = {size.asked: size for size in measure_set_sizes(probabilities, true, None)}
    assert of_these[0.95].mean_size == 3
    assert of_these[0.95].coverage == pytest.approx(0.75)


def test_without_documents() -> None:
    """No document, no sizes."""
    assert measure_set_sizes(np.zeros((0, 3)), np.zeros(0, dtype=np.int64), None) == ()

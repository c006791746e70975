"""Thresholds of the probability, and the accuracy and coverage that they give."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from outcomes_by_chance import outcomes_of

from nbtext.evaluation.curves import TradeOff, shortest_between
from nbtext.evaluation.outcomes import Outcomes


def at(outcomes: Outcomes, threshold: float) -> tuple[int, int]:
    """How many answers there are from this threshold on, and how many of them are right."""
    is_given = outcomes.is_answerable & (outcomes.best >= threshold)
    return int(is_given.sum()), int((is_given & outcomes.is_chosen_right).sum())


@pytest.mark.parametrize("wanted", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_the_threshold_of_an_accuracy(wanted: float) -> None:
    """From it on so many answers are right; with any other threshold that keeps this, fewer are
    answered.
    """
    outcomes = outcomes_of(700, 4)
    part = TradeOff.of(outcomes).at_accuracy(wanted)
    assert part is not None
    answered, right = at(outcomes, part.threshold)
    assert (part.documents, part.accuracy) == (answered, right / answered)
    assert part.answered == answered / 700
    assert right >= wanted * answered
    others = [at(outcomes, threshold) for threshold in np.unique(outcomes.best).tolist()]
    assert max(n for n, n_right in others if n_right >= wanted * n) == answered


def test_an_accuracy_that_no_threshold_reaches() -> None:
    """Random predictions reach no high accuracy at any threshold."""
    outcomes = outcomes_of(50, 3)
    wrong = replace(outcomes, is_chosen_right=np.zeros(50, dtype=bool))
    assert TradeOff.of(wrong).at_accuracy(0.95) is None
    assert (
        TradeOff.of(replace(outcomes, is_answerable=np.zeros(50, dtype=bool))).at_accuracy(0.5)
        is None
    )


def test_what_cannot_be_answered_counts_as_unanswered() -> None:
    """A document that holds no word is not an answer at any threshold."""
    outcomes = outcomes_of(100, 3)
    is_answerable = np.arange(100) % 2 == 0
    parts = TradeOff.of(replace(outcomes, is_answerable=is_answerable)).parts(500)
    assert (parts[-1].documents, parts[-1].answered) == (50, 0.5)


def test_parts_run_from_the_surest_to_all() -> None:
    """By falling threshold, at most so many, each as it is when counted."""
    outcomes = outcomes_of(900, 3)
    parts = TradeOff.of(outcomes).parts(40)
    assert 20 < len(parts) <= 40
    assert [part.threshold for part in parts] == sorted(
        (part.threshold for part in parts), reverse=True
    )
    assert parts[-1].documents == 900
    for part in parts:
        answered, right = at(outcomes, part.threshold)
        assert (part.documents, part.accuracy) == (answered, right / answered)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_number_between_two(one: float, other: float) -> None:
    """The threshold is above the lower probability, and at most the higher one."""
    low, high = sorted((one, other))
    if low < high:
        assert low < shortest_between(low, high) <= high


def test_thresholds_have_few_digits() -> None:
    """The threshold has as few digits as possible: 0.8, not 0.8123."""
    assert shortest_between(0.7, 0.8123) == 0.8
    assert shortest_between(0.81, 0.8123) == 0.812
    assert shortest_between(0.0, 1.0) == 1.0

"""The time limit of a model search: what is read and fitted, and what is not."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from searched_texts import LABELS, TEXTS, Clock, counting, found, made_corpus, raced, usual

from nbtext.bayes.settings import ModelSettings
from nbtext.evaluation import search as model_search
from nbtext.evaluation.search import Budget, Candidate, bound_reading_seconds, search_model
from nbtext.features.settings import FeatureSettings
from nbtext.features.weighting import Weighting
from nbtext.linear.one_vs_rest import OneVsRest
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.training import train_on_counts


@pytest.mark.exhaustive
def test_the_budget_is_kept() -> None:
    """Whatever it is: fits that take time in proportion to their size end in time, and the rest is
    not started.

    The clock moves by 1 µs for each entry of a matrix that is weighted, which is what a fit costs
    here.
    """
    texts, labels = made_corpus(2400, 30)
    clock = Clock(step=0.0)
    original = Weighting.weights

    def weights(self: Weighting, *arrays: object) -> object:
        clock.now += len(arrays[1]) * 1e-6  # type: ignore[arg-type]
        return original(self, *arrays)  # type: ignore[arg-type]

    everything = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Weighting, "weights", weights)
        for seconds in (1e9, 0.0, 0.04, 0.1, 0.3, 1.0):
            clock.now = 0.0
            _, search = search_model(raced(), counting(texts, labels), Budget(seconds, clock))
            if everything is None:
                everything = search
                assert not search.untried
                assert search.seconds > 0.3
            else:
                assert search.seconds <= 1.1 * seconds
                tried = [each.candidate for each in search.results]
                assert set(raced()) <= {*tried, *search.untried}
                assert len(set(tried) | set(search.untried)) == len(tried) + len(search.untried)
            if seconds < everything.seconds / 2:
                assert search.untried or min(each.n_documents for each in search.results) < 2400
        assert len(everything.results) == 5  # three Naive Bayes models, and two linear ones


def test_words_are_read_first_if_pairs_may_take_too_long() -> None:
    """The text is read once more then, for pairs if there is time. The model and the results are
    the same.
    """
    texts, labels = made_corpus(60, 10)
    readings: list[FeatureSettings] = []
    count = counting(texts, labels, readings)
    budget = Budget(1e9, Clock())
    trained, search = search_model(raced(), count, budget, reading_seconds=1e12)
    assert [each.ngrams for each in readings] == [(1, 1), (1, 2), (1, 5), (1, 3)]
    once, usual_search = found(texts, labels, candidates=raced())
    np.testing.assert_array_equal(trained.fitted.scorer.deltas, once.fitted.scorer.deltas)
    for ours, theirs in zip(search.results, usual_search.results, strict=True):
        assert replace(ours, seconds=0) == replace(theirs, seconds=0)


@pytest.mark.parametrize("optimize", [None, "macro_f1"])
def test_the_budget_bounds_readings_and_fits(optimize: str | None) -> None:
    """Words are read in 10 s, pairs in 30, more in 60 and 90; each fit takes 2 s. The default needs
    12 s, or 14 s.

    The budget is kept to within 10 % unless it is shorter than that. Then nothing is read or fitted
    but the default. Nothing is read without time for fits: a few linear models of words are better
    than pairs that are not used.
    """
    texts, labels = made_corpus(150, 6)
    candidates = raced(model=ModelSettings(optimize=optimize))
    clock = Clock(step=0.0)
    fits = 0
    original = model_search.fit_model

    def fit_model(*arguments: Any, **more: Any) -> Any:
        nonlocal fits
        fits = fits + 1
        clock.now = clock.now + 2
        return original(*arguments, **more)

    readings: list[FeatureSettings] = []

    def count(features: FeatureSettings) -> CorpusCounts:
        clock.now += {1: 10, 2: 30, 3: 60, 5: 90}[features.ngrams[1]]
        return counting(texts, labels, readings)(features)

    default = 12 if optimize is None else 14
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nbtext.evaluation.search.fit_model", fit_model)
        for seconds in (0, 5, 11, 20, 30, 60, 70, 80, 100, 150, 300, 1000):
            clock.now = 0.0
            fits = 0
            readings.clear()
            _, search = search_model(
                candidates, count, Budget(seconds, clock), reading_seconds=100.0
            )
            assert clock.now <= max(1.1 * seconds, default), seconds
            assert search.results[0].candidate == candidates[0]
            tried = {each.candidate.feature_set for each in search.results}
            assert len(readings) <= len(tried), seconds
            if seconds < default:
                assert (len(readings), fits, len(search.results)) == (
                    1,
                    1 + (optimize is not None),
                    1,
                )
            assert (not search.untried) == (seconds == 1000), seconds
    assert len(readings) == 3


def test_the_time_of_a_reading_is_unknown_without_a_size() -> None:
    assert bound_reading_seconds(None, "bytes") == math.inf
    assert bound_reading_seconds(None, "files") == math.inf
    for unit in ("bytes", "files"):
        assert bound_reading_seconds(1000, unit) == pytest.approx(
            10 * bound_reading_seconds(100, unit)
        )


@pytest.mark.parametrize(
    ("candidates", "n_readings"), [(raced(), 3), (usual(), 2)], ids=["others", "stack"]
)
def test_nothing_is_started_after_the_budget_ended(
    candidates: list[Candidate], n_readings: int
) -> None:
    """Time runs out during one of the readings or fits. The model is that of the best fit so
    far.
    """
    texts, labels = made_corpus(150, 6)
    clock = Clock(step=0.0)
    steps = 0
    last = 0
    reading_steps = set[int]()

    def count_step() -> None:
        nonlocal steps
        steps += 1
        clock.now = 1e9 if steps == last else clock.now

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            count_step()
            return function(*arguments, **more)

        return call

    def count(features: FeatureSettings) -> CorpusCounts:
        count_step()
        reading_steps.add(steps)
        return counting(texts, labels)(features)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nbtext.evaluation.search.fit_model", wrap(model_search.fit_model))
        search_model(candidates, count, Budget(1e6, clock))
        n_steps = steps
        assert len(reading_steps) == n_readings < n_steps
        for last in range(1, n_steps + 1):
            clock.now = 0.0
            steps = 0
            trained, search = search_model(candidates, count, Budget(1e6, clock))
            assert steps == max(2, last)  # the default model is fitted whatever the budget is
            assert (search.reading_seconds > 0) == (last in reading_steps)
            chosen = search.best.candidate
            again = train_on_counts(
                counting(texts, labels)(chosen.features), chosen.features, chosen.model_settings
            )
            np.testing.assert_array_equal(again.fitted.scorer.deltas, trained.fitted.scorer.deltas)
            assert search.untried  # at least what was fitted when the time ended
            assert not {each.candidate for each in search.results} & set(search.untried)


def test_a_fit_that_takes_longer_than_predicted_is_given_up() -> None:
    """Linear models of all documents take a hundred times longer here than those of subsets say."""
    texts, labels = made_corpus(2400, 30)
    clock = Clock(step=0.0)
    original = OneVsRest._solve

    def solve(self: OneVsRest, *arguments: object, **more: object) -> object:
        clock.now += 100.0 if len(self._data) == 2400 else 1.0
        return original(self, *arguments, **more)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OneVsRest, "_solve", solve)
        trained, search = search_model(
            raced("ngrams"), counting(texts, labels), Budget(350.0, clock)
        )
    assert search.seconds < 350.0 + 101.0
    assert not search.best.candidate.is_linear
    assert trained.fitted.estimate is not None
    rough = [
        result
        for result in search.results
        if result.candidate.is_linear and result.n_documents < 2400
    ]
    assert {result.candidate.is_stacked for result in rough} == {False}


def test_a_budget_of_nothing_trains_the_default_model() -> None:
    """The text is read once, for words alone, and nothing else is tried."""
    readings: list[FeatureSettings] = []
    trained, search = search_model(usual(), counting(TEXTS, LABELS, readings), Budget(0.0, Clock()))
    assert [each.candidate for each in search.results] == usual()[:1]
    assert len(search.untried) > 3
    assert readings == [FeatureSettings()]
    assert trained.fitted.feature_settings.ngrams == (1, 1)


def test_a_fit_begins_with_a_third_more_time_than_it_should_take() -> None:
    """Predicted times err, and a fit that does not end in time is lost: 13 s must be left for one
    of 10 s.
    """
    for left, is_allowed in ((13.1, True), (12.9, False)):
        assert Budget(left, lambda: 0.0).allows(10.0) is is_allowed

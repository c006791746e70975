"""Model search by the training documents alone: the candidates, the race, its budget, and the model that it returns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.documents.batch import Batch
from nbtext.errors import InputError
from nbtext.evaluation import search as model_search
from nbtext.evaluation.candidates import (
    CHARACTERS,
    GIVEN,
    PAIRS,
    TRIPLES,
    WORDS,
    Budget,
    Candidate,
    bound_reading_seconds,
    find_promising,
    list_candidates,
    select_words,
)
from nbtext.evaluation.search import Search, search_model
from nbtext.features.settings import FeatureSettings
from nbtext.features.weighting import Weighting
from nbtext.linear.one_vs_rest import OneVsRest
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.fitting import train_on_counts

MARKS = r"\w+|[^\w\s]"
TEXTS = [f"{'red' if i % 2 else 'blue'} {'apple pie' if i % 3 else 'berry jam'} number{i % 7}" for i in range(40)]
LABELS = ["red" if i % 2 else "blue" for i in range(40)]
COUNT = Callable[[FeatureSettings], CorpusCounts]


def counting(texts: list[str], labels: list[str], readings: list[FeatureSettings] | None = None) -> COUNT:
    """A function that counts these documents; it lists what it was asked to count."""

    def count(features: FeatureSettings) -> CorpusCounts:
        if readings is not None:
            readings.append(features)
        counter = CorpusCounter(features, sample_size=None)
        counter.add(Batch(list(map(str, range(len(texts)))), (texts,), list(labels)))
        return counter.finish()

    return count


def usual(*given: str, features: FeatureSettings | None = None, model: ModelSettings | None = None) -> list[Candidate]:
    return list_candidates(features or FeatureSettings(), model or ModelSettings(), given)


class Clock:
    """A clock that a search moves: each look at it takes a second."""

    def __init__(self, step: float = 1.0) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def found(texts: list[str], labels: list[str], *, jobs: int = 1) -> tuple[TrainedModel, Search]:
    return search_model(usual(), counting(texts, labels), Budget(1e9, Clock()), jobs=jobs)


def made_corpus(n: int, n_words: int, seed: int = 1) -> tuple[list[str], list[str]]:
    """Documents of words whose frequencies depend on the label."""
    random, labels = Random(seed), [f"class {i % 3}" for i in range(n)]
    vocabulary = [f"word{k}" for k in range(300)]
    weights = {label: [random.random() ** 4 for _ in vocabulary] for label in set(labels)}
    return [" ".join(random.choices(vocabulary, weights[label], k=n_words)) for label in labels], labels


def test_the_default_model_comes_first_and_linear_models_are_there() -> None:
    """What linear models try stands in their records; it may be nothing."""
    listed = usual()
    assert (listed[0].features, listed[0].model_settings.model) == (FeatureSettings(), AUTO)
    assert {each.model_settings.model for each in listed} == {
        AUTO,
        *(name for name, record in LINEAR_MODELS.items() if record.searched and not record.is_tried_last),
    }
    assert {"nbsvm", "logistic"} < {each.model_settings.model for each in listed}
    assert {each.feature_set for each in listed} == {WORDS, PAIRS, TRIPLES, CHARACTERS}
    assert len(set(listed)) == len(listed)


@pytest.mark.parametrize(
    ("features", "given"),
    [
        (FeatureSettings(ngrams=(1, 3)), "ngrams"),
        (FeatureSettings(analyzer="char", ngrams=(3, 3)), "analyzer"),
        (FeatureSettings(hash_bits=10), "hash_bits"),
        (FeatureSettings(token_pattern=r"\S+ ?"), "token_pattern"),
        (FeatureSettings(vocabulary=("apple", "berry")), "vocabulary"),
    ],
)
def test_given_features_are_kept(features: FeatureSettings, given: str) -> None:
    """Only models and weightings are tried, and the corpus is read once."""
    listed = usual(given, features=features)
    assert {each.feature_set for each in listed} == {GIVEN}
    assert {replace(each.features, tf="count", idf="none", norm="none") for each in listed} == {features}
    readings: list[FeatureSettings] = []
    search_model(listed, counting(TEXTS, LABELS, readings), Budget(1e9, Clock()))
    assert len(readings) == 1


def test_given_settings_are_kept() -> None:
    """A weighting; and with a smoothing or a prior only the models that have one."""
    weighted = usual("tf", features=FeatureSettings(tf="log"))
    assert {each.features.tf for each in weighted} == {"log"}
    for settings_ in (ModelSettings(smoothing=0.5), ModelSettings(prior="uniform")):
        assert {each.model_settings.model for each in usual(model=settings_)} == {AUTO}
    stemmed = usual(features=FeatureSettings(stop_words=("the",)))
    assert {each.features.token_pattern for each in stemmed} == {None}


@settings(max_examples=30, deadline=None)
@given(
    texts=st.lists(st.text("ab é!?漢_ .", max_size=12), min_size=1, max_size=8),
    fields=st.sampled_from([(), ("body",), ("b", "ab", "a b")]),
)
def test_words_are_columns_of_pairs(texts: list[str], fields: tuple[str, ...]) -> None:
    """Counts, hashes and order are those of reading the texts for words only."""
    counts = []
    for features in (
        FeatureSettings(fields=fields), FeatureSettings(fields=fields, ngrams=(1, 2), token_pattern=MARKS),
    ):  # fmt: skip
        counter = CorpusCounter(features, sample_size=None)
        columns = tuple(texts[::-1] if k % 2 else texts for k in range(max(1, len(fields))))
        counter.add(Batch(list(map(str, range(len(texts)))), columns, ["a", "b", *["a"] * len(texts)][: len(texts)]))
        counts.append(counter.finish())
    alone, pairs = counts
    words = select_words(pairs, FeatureSettings(fields=fields))
    assert alone.vocabulary is not None
    assert words.vocabulary is not None
    assert words.vocabulary.terms == alone.vocabulary.terms
    for ours, theirs in zip(words.statistics.entries, alone.statistics.entries, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for name in ("indptr", "indices", "counts", "classes", "hashes"):
        np.testing.assert_array_equal(getattr(words.sample, name), getattr(alone.sample, name))


def test_long_texts_are_read_once() -> None:
    """And short ones again, for triples and character n-grams."""
    for n_words, n_readings in ((60, 1), (10, 3)):
        readings: list[FeatureSettings] = []
        search_model(usual(), counting(*made_corpus(60, n_words), readings), Budget(1e9, Clock()))
        assert len(readings) == n_readings


def test_character_ngrams_win_where_words_are_not_separated() -> None:
    """Long texts of two made-up words each, among noise, in Thai letters without a space."""
    random = Random(5)
    letters = "กขคงจฉชซ"
    keys = {"a": "กขคง", "b": "จฉชซ"}
    labels = ["a" if i % 2 else "b" for i in range(120)]
    texts = [
        "".join(random.choice([*letters, keys[label]]) for _ in range(30)) + f" {i}" for i, label in enumerate(labels)
    ]
    texts = [" ".join([text] * 30) for text in texts]  # so many words that only the script tells
    pairs = counting(texts, labels)(FeatureSettings(ngrams=(1, 2), token_pattern=MARKS))
    assert find_promising(pairs, FeatureSettings()) == (CHARACTERS,)
    trained, search = found(texts, labels)
    assert search.best.candidate.feature_set == CHARACTERS
    assert trained.fitted.feature_settings.analyzer == "char_wb"


def test_the_model_is_that_of_training_with_the_chosen_settings() -> None:
    """The same weights, calibration and retained documents as without a search."""
    for texts, labels in ((TEXTS, LABELS), made_corpus(200, 40)):
        trained, search = found(texts, labels)
        chosen = search.best.candidate
        counts = counting(texts, labels)(chosen.features)
        alone = train_on_counts(counts, chosen.features, chosen.model_settings)
        assert alone.fitted.feature_settings == trained.fitted.feature_settings
        assert alone.fitted.model_settings == trained.fitted.model_settings
        np.testing.assert_array_equal(alone.fitted.scorer.deltas, trained.fitted.scorer.deltas)
        assert repr(alone.fitted.calibration) == repr(trained.fitted.calibration)
        np.testing.assert_array_equal(counts.sample.hashes, trained.counts.sample.hashes)


@pytest.mark.parametrize("seed", range(4))
def test_the_default_is_replaced_only_by_what_is_clearly_better(seed: int) -> None:
    """Of random labels, some candidate of many is always better by chance: it must be so by 1.6 standard errors."""
    random = Random(seed)
    texts = [" ".join(random.choices([f"w{k}" for k in range(40)], k=8)) for _ in range(60)]
    _, search = found(texts, [random.choice("abc") for _ in texts])
    default, best = search.results[0], search.best
    margin = (1 + 5 / 60**0.5) * (2 * default.accuracy * (1 - default.accuracy) / 60) ** 0.5
    assert best is default or best.accuracy > default.accuracy + 0.99 * margin


ODD = {
    "labels with one document": [*["a"] * 20, *["b"] * 20, *"cdefghij"],
    "one document in a hundred": ["rare" if i % 100 == 7 else "usual" for i in range(400)],
    "fifty labels with five documents": [f"label {i % 50}" for i in range(250)],
}


@pytest.mark.exhaustive(plain=3)
@pytest.mark.parametrize("labels", ODD.values(), ids=ODD)
def test_odd_corpora_are_searched(labels: list[str]) -> None:
    """With empty documents and duplicates, too: the result is no less accurate than the default by its estimate."""
    random = Random(1)
    texts = ["" if i % 9 == 0 else f"{label} I? w{random.randrange(30)}" for i, label in enumerate(labels)]
    texts, labels = texts + texts[:10], labels + labels[:10]
    trained, search = found(texts, labels)
    assert set(trained.fitted.labels) == set(labels)
    assert search.best.accuracy >= search.results[0].accuracy
    assert not search.untried


def test_goals_are_met_by_the_winner() -> None:
    """Decision offsets are fitted to the chosen model only."""
    candidates = usual(model=ModelSettings(optimize="macro_f1"))
    texts, labels = made_corpus(120, 5)
    trained, _ = search_model(candidates, counting(texts, labels[60:] + labels[1:61]), Budget(1e9, Clock()))
    assert trained.fitted.model_settings.optimize == "macro_f1"
    assert trained.fitted.estimate is not None
    assert trained.fitted.estimate.optimized is not None


@pytest.mark.exhaustive
def test_the_result_does_not_depend_on_threads_or_time() -> None:
    """The results and the model are the same each time, whatever the fits take."""
    texts, labels = made_corpus(700, 30)
    (one, search), (other, again) = found(texts, labels), found(texts, labels, jobs=3)
    slow, also = search_model(usual(), counting(texts, labels), Budget(1e12, Clock(step=77.0)))
    for model, results in ((other, again), (slow, also)):
        np.testing.assert_array_equal(one.fitted.scorer.deltas, model.fitted.scorer.deltas)
        assert [replace(each, seconds=0) for each in search.results] == [
            replace(each, seconds=0) for each in results.results
        ]


@pytest.mark.exhaustive
def test_the_budget_is_kept() -> None:
    """Whatever it is: fits that take time in proportion to their size end in time, and the rest is not started.

    The clock moves by the entries of each matrix that is weighted, which is what a fit costs here.
    """
    texts, labels = made_corpus(2400, 30)
    clock = Clock(step=0.0)
    original = Weighting.weights

    def weights(self: Weighting, *arrays: object) -> object:
        clock.now += len(arrays[1]) * 1e-3  # type: ignore[arg-type]
        return original(self, *arrays)  # type: ignore[arg-type]

    everything = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Weighting, "weights", weights)
        for seconds in (1e9, 0.0, 40.0, 100.0, 300.0, 1000.0):
            clock.now = 0.0
            _, search = search_model(usual(), counting(texts, labels), Budget(seconds, clock))
            if everything is None:
                everything = search
                assert not search.untried
                assert search.seconds > 300
            else:
                assert search.seconds <= 1.1 * seconds
                tried = [each.candidate for each in search.results]
                assert set(usual()) <= {*tried, *search.untried}
                assert len(set(tried) | set(search.untried)) == len(tried) + len(search.untried)
            if seconds < everything.seconds / 2:
                assert search.untried or min(each.n_documents for each in search.results) < 2400
        assert len(everything.results) == len(usual()) + 1  # and the linear SVM


def test_words_are_read_first_if_pairs_may_take_too_long() -> None:
    """The text is read once more then, for pairs if there is time. The model and the results are the same."""
    texts, labels = made_corpus(60, 10)
    readings: list[FeatureSettings] = []
    count, budget = counting(texts, labels, readings), Budget(1e9, Clock())
    trained, search = search_model(usual(), count, budget, reading_seconds=1e12)
    assert [each.ngrams for each in readings] == [(1, 1), (1, 2), (1, 5), (1, 3)]
    once, usual_search = found(texts, labels)
    np.testing.assert_array_equal(trained.fitted.scorer.deltas, once.fitted.scorer.deltas)
    for ours, theirs in zip(search.results, usual_search.results, strict=True):
        assert replace(ours, seconds=0) == replace(theirs, seconds=0)


@pytest.mark.parametrize("optimize", [None, "macro_f1"])
def test_the_budget_bounds_readings_and_fits(optimize: str | None) -> None:
    """Words are read in 10 s, pairs in 30, more in 60 and 90; each fit takes 2 s. The default needs 12 s, or 14 s.

    The budget is kept to within 10 % unless it is shorter than that. Then nothing is read or fitted but the default.
    """
    texts, labels = made_corpus(150, 6)
    candidates = usual(model=ModelSettings(optimize=optimize))
    clock, fits = Clock(step=0.0), 0
    original = model_search.fit_model

    def fit_model(*arguments: Any, **more: Any) -> Any:
        nonlocal fits
        fits, clock.now = fits + 1, clock.now + 2
        return original(*arguments, **more)

    readings: list[FeatureSettings] = []

    def count(features: FeatureSettings) -> CorpusCounts:
        clock.now += {1: 10, 2: 30, 3: 60, 5: 90}[features.ngrams[1]]
        return counting(texts, labels, readings)(features)

    default = 12 if optimize is None else 14
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nbtext.evaluation.search.fit_model", fit_model)
        for seconds in (0, 5, 11, 20, 30, 60, 70, 80, 100, 150, 300, 1000):
            clock.now, fits = 0.0, 0
            readings.clear()
            _, search = search_model(candidates, count, Budget(seconds, clock), reading_seconds=100.0)
            assert clock.now <= max(1.1 * seconds, default), seconds
            assert search.results[0].candidate == candidates[0]
            if seconds < default:
                assert (len(readings), fits, len(search.results)) == (1, 1 + (optimize is not None), 1)
            assert bool(search.untried) == (seconds < 200), seconds
    assert len(readings) == 3


def test_the_time_of_a_reading_is_unknown_without_a_size() -> None:
    assert bound_reading_seconds(None, "bytes") == math.inf
    assert bound_reading_seconds(None, "files") == math.inf
    for unit in ("bytes", "files"):
        assert bound_reading_seconds(1000, unit) == pytest.approx(10 * bound_reading_seconds(100, unit))


def test_nothing_is_started_after_the_budget_ended() -> None:
    """Time runs out during one of the readings or fits. The model is that of the best fit so far."""
    texts, labels = made_corpus(150, 6)
    clock, steps, last, reading_steps = Clock(step=0.0), 0, 0, set[int]()

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
        for name in ("fit_model", "cross_validate"):
            patch.setattr(f"nbtext.evaluation.search.{name}", wrap(getattr(model_search, name)))
        search_model(usual(), count, Budget(1e6, clock))
        n_steps = steps
        assert len(reading_steps) == 3 < n_steps
        for last in range(1, n_steps + 1):
            clock.now, steps = 0.0, 0
            trained, search = search_model(usual(), count, Budget(1e6, clock))
            assert steps == max(2, last)  # the default model is fitted whatever the budget is
            assert (search.reading_seconds > 0) == (last in reading_steps)
            chosen = search.best.candidate
            again = train_on_counts(counting(texts, labels)(chosen.features), chosen.features, chosen.model_settings)
            np.testing.assert_array_equal(again.fitted.scorer.deltas, trained.fitted.scorer.deltas)
            assert search.untried  # at least what was fitted when the time ended
            assert not {each.candidate for each in search.results} & set(search.untried)


@pytest.mark.exhaustive(plain=2)
@pytest.mark.parametrize("has_one_clear_word", [True, False])
def test_the_linear_svm_is_tried_with_the_features_of_the_best_linear_model(has_one_clear_word: bool) -> None:
    """It takes no place in the race, in which NB-SVM compares features, and wins where its estimate is higher."""
    random, labels = Random(7), ["ab"[i % 2] for i in range(600)]
    # one word decides, among words that are frequent in one class by chance: log-count ratios do more harm than good
    texts = [f"{'yes' if label == 'a' else 'no'} {random.choices('pqrstu', k=1)[0] * 2}" for label in labels]
    _, search = found(*((texts, labels) if has_one_clear_word else made_corpus(700, 30)))
    results = {each.candidate: each for each in search.results}
    svm = [each for each in results if each.model_settings.model == "svm"]
    assert len(svm) == 1
    others = [each for each in results if each.is_linear and each not in svm and results[each].n_documents >= 600]
    assert (svm[0].features, svm[0].weighting) in {(each.features, each.weighting) for each in others}
    if search.best.candidate == svm[0]:
        assert search.best.accuracy >= max(results[each].accuracy for each in others)


def test_a_fit_that_takes_longer_than_predicted_is_given_up() -> None:
    """Linear models of all documents take a hundred times longer here than those of subsets say."""
    texts, labels = made_corpus(2400, 30)
    clock, original = Clock(step=0.0), OneVsRest._solve

    def solve(self: OneVsRest, *arguments: object, **more: object) -> object:
        clock.now += 100.0 if len(self._data) == 2400 else 1.0
        return original(self, *arguments, **more)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OneVsRest, "_solve", solve)
        trained, search = search_model(usual("ngrams"), counting(texts, labels), Budget(350.0, clock))
    assert search.seconds < 350.0 + 101.0
    assert not search.best.candidate.is_linear
    assert trained.fitted.estimate is not None
    assert any(each.is_linear for each in [result.candidate for result in search.results if result.n_documents < 2400])


def test_a_budget_of_nothing_trains_the_default_model() -> None:
    """The text is read once, for words alone, and nothing else is tried."""
    readings: list[FeatureSettings] = []
    trained, search = search_model(usual(), counting(TEXTS, LABELS, readings), Budget(0.0, Clock()))
    assert [each.candidate for each in search.results] == usual()[:1]
    assert len(search.untried) > 3
    assert readings == [FeatureSettings()]
    assert trained.fitted.feature_settings.ngrams == (1, 1)


def test_wide_linear_models_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their weights would need more memory than the guide promises."""
    monkeypatch.setattr("nbtext.evaluation.candidates.MAX_WEIGHTS", 10)
    _, search = found(TEXTS, LABELS)
    assert {each.candidate.is_linear for each in search.results} == {False}
    assert {each.is_linear for each in search.untried} == {True}


def test_one_of_each_label() -> None:
    """Nothing can be left out, so the default model is trained."""
    texts, labels = ["red", "blue", "green", "black", "white"], list("abcde")
    trained, search = found(texts, labels)
    assert trained.fitted.estimate is None
    assert trained.fitted.feature_settings == FeatureSettings()
    assert not search.best.candidate.is_linear


def test_too_few_documents() -> None:
    """There is nothing to choose by."""
    with pytest.raises(InputError, match="needs at least 5 documents; found 3 documents; name a model with --model"):
        found(TEXTS[:3], LABELS[:3])


def test_documents_with_several_labels_are_refused() -> None:
    """A search estimates one label for each document."""
    batch = Batch(list(map(str, range(40))), (TEXTS,), [None] * 40)
    batch.label_lists = [("red", "fruit") if i % 2 else ("blue",) for i in range(40)]

    def count(features: FeatureSettings) -> CorpusCounts:
        counter = CorpusCounter(features, sample_size=None)
        counter.add(batch)
        return counter.finish()

    with pytest.raises(InputError, match="needs documents with one label each"):
        search_model(usual(), count, Budget(1e9, Clock()))

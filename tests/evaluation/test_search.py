"""Looking for the most accurate model by the training documents alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch
from nbtext.errors import InputError
from nbtext.evaluation.search import WORD_PAIRS, Result, Search, _Corpora, list_candidates, search_settings
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.fitting import fit_model

TEXTS = [f"{'red' if i % 2 else 'blue'} {'apple pie' if i % 3 else 'berry jam'} number{i % 7}" for i in range(40)]
LABELS: list[str | None] = ["red" if i % 2 else "blue" for i in range(40)]
USUAL = FeatureSettings(), ModelSettings()


def counted(features: FeatureSettings, sample_size: int | None = None) -> CorpusCounts:
    builder = CorpusCounter(features, sample_size=sample_size)
    builder.add(Batch(list(map(str, range(40))), (TEXTS,), list(LABELS)))
    return builder.finish()


def found(*, budget: int = 1000, with_linear: bool = False) -> Search:
    listed = list_candidates(*USUAL, given=(), with_linear=with_linear)
    trials = iter(range(budget))
    return search_settings(listed, counted, has_time=lambda: next(trials, None) is not None)


def test_cheap_candidates_come_first() -> None:
    """Words before pairs, counting models before linear ones, parts of words last and only among all."""
    listed = list_candidates(*USUAL, given=(), with_linear=True)
    assert [listed[0].model_settings.model, listed[0].features.ngrams] == ["multinomial", (1, 1)]
    assert listed[-1].features.analyzer == "char_wb"
    models = [candidate.model_settings.model for candidate in listed]
    assert not {"nbsvm", "logistic"} & set(models[: models.index("nbsvm")])
    counting = list_candidates(*USUAL, given=(), with_linear=False)
    assert [candidate.features.ngrams for candidate in counting] == [(1, 1)] * 6 + [WORD_PAIRS] * 6


@pytest.mark.parametrize(
    ("features", "given"),
    [
        (FeatureSettings(ngrams=(1, 3)), {"ngrams"}),
        (FeatureSettings(analyzer="char", ngrams=(3, 3)), {"analyzer"}),
        (FeatureSettings(hash_bits=10), {"hash_bits"}),
        (FeatureSettings(token_pattern=r"\S+ ?"), {"token_pattern"}),
    ],
)
def test_what_is_given_is_kept(features: FeatureSettings, given: set[str]) -> None:
    """N-grams are tried only where words can be told from pairs, and where the user named none."""
    listed = list_candidates(features, ModelSettings(smoothing=0.5), given=given, with_linear=False)
    assert {candidate.features.ngrams for candidate in listed} == {features.ngrams}
    assert {candidate.model_settings.smoothing for candidate in listed} == {0.5}
    weighted = list_candidates(FeatureSettings(tf="log"), ModelSettings(), given={"tf"}, with_linear=False)
    assert {candidate.features.tf for candidate in weighted} == {"log"}


def test_words_are_picked_out_of_pairs() -> None:
    """One reading of the text serves both: the word counts equal those of counting words only."""
    listed = list_candidates(*USUAL, given=(), with_linear=False)
    words = _Corpora(listed, counted).get(listed[0].features)
    alone = counted(FeatureSettings())
    assert words.vocabulary is not None
    assert alone.vocabulary is not None
    assert words.vocabulary.terms == alone.vocabulary.terms
    for ours, theirs in zip(words.statistics.entries, alone.statistics.entries, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_sample_stands_for_a_large_corpus() -> None:
    """Trials look at its documents alone."""
    listed = list_candidates(*USUAL, given=(), with_linear=False)
    corpus = _Corpora(listed, lambda features: counted(features, sample_size=12)).get(listed[-1].features)
    assert corpus.statistics.n_documents == len(corpus.sample) == 12
    assert (np.diff(corpus.statistics.indptr) > 0).all()


def test_all_candidates_are_estimated_alike() -> None:
    """By the same folds if one of them has no exact leave-one-out; the choice is the same each time."""
    one, two = found(), found()
    assert repr(one) == repr(two)
    assert (one.n_untried, one.estimate) == (0, "5-fold cross-validation")
    for result in one.results:
        assert (result.accuracy, -result.log_loss) <= (one.best.accuracy, -one.best.log_loss)
    assert one.best.accuracy == 1.0


def test_leave_one_out_where_all_have_it() -> None:
    """Settings of counts alone need no folds."""
    features = FeatureSettings(tf="binary")
    listed = list_candidates(features, ModelSettings(), given={"tf"}, with_linear=False)
    one = search_settings(listed, counted, has_time=lambda: True)
    assert one.estimate == "leave-one-out"
    best = fit_model(
        counted(one.best.candidate.features), one.best.candidate.features, one.best.candidate.model_settings
    )
    assert best.estimate is not None
    assert one.best.accuracy == best.estimate.accuracy


def test_the_budget_ends_the_search() -> None:
    """The first candidate is tried in any case; what there was no time for is counted."""
    assert [len(found(budget=n).results) for n in (0, 3)] == [1, 4]
    assert found(budget=0).n_untried == 11


def test_of_equally_accurate_ones_the_one_with_less_loss() -> None:
    """Accuracy first."""
    result = Result(list_candidates(*USUAL, given=(), with_linear=False)[0], 0.9, 0.5)
    better, surer = replace(result, accuracy=0.91, log_loss=2.0), replace(result, log_loss=0.4)
    assert Search((result, surer), 0, 40, "").best is surer
    assert Search((result, surer, better), 0, 40, "").best is better


def test_linear_models_are_tried_with_their_own_penalties() -> None:
    """Each chosen by folds."""
    trials = found(with_linear=True).results
    assert {trial.candidate.model_settings.C for trial in trials if trial.candidate.model_settings.is_linear} == {
        "auto"
    }


def test_too_few_documents() -> None:
    """There is nothing to choose by."""
    listed = list_candidates(*USUAL, given=(), with_linear=False)
    with pytest.raises(InputError, match="needs at least 5 documents; found 3 documents; name a model with --model"):
        search_settings(listed, lambda features: counted(features, sample_size=3), has_time=lambda: True)

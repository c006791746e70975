"""The most accurate model for a corpus: event model, weighting, n-grams and smoothing tried together.

Each trial is judged by the training documents alone, without looking at a test half: by leave-one-out where that is
exact, else by folds. As leave-one-out leaves more to learn from than folds do, the best by it is judged by the same
folds again before it is held against the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import count_classes
from nbtext.bayes.leave_one_out import Run, one_by_one
from nbtext.bayes.settings import AUTO, LINEAR_MODELS, ModelSettings
from nbtext.errors import InputError, number_of
from nbtext.evaluation.cross_validation import cross_validate
from nbtext.evaluation.metrics import Judge
from nbtext.evaluation.splits import stratified_folds
from nbtext.features.rows import running_sums
from nbtext.features.settings import WEIGHTINGS, FeatureSettings
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitting import read, sample_size

FOLDS = 5
SEED = 1
SPACE = ord(" ")
PAIRS = (1, 2)
LOG_TFIDF = ("log", "smooth", "l2")
# the weightings that are tried with each model: of counts, those that pay; linear models see weights of one length
COUNTING = (
    ("multinomial", "counts"), ("multinomial", "binary"), ("bernoulli", "counts"), ("complement", "counts"),
    ("complement", "log-tfidf"), ("multinomial", "log-tfidf"),
)  # fmt: skip
LINEAR = (("nbsvm", "log-tfidf"), ("logistic", "log-tfidf"))
OF_PARTS = (("multinomial", "binary"), ("nbsvm", "binary"), ("nbsvm", "log-tfidf"))
PARTS_OF_WORDS = (2, 5)  # characters, for `best`: short texts are spelled in many ways
TRIPLE = dict(WEIGHTINGS) | {"log-tfidf": LOG_TFIDF}


@dataclass(frozen=True, slots=True)
class Candidate:
    """Settings to try; `weighting` is their name for what they do to counts."""

    features: FeatureSettings
    modelling: ModelSettings
    weighting: str


@dataclass(frozen=True, slots=True)
class Trial:
    """What a candidate is worth on documents that it has not seen."""

    candidate: Candidate
    accuracy: float
    log_loss: float
    is_left_out: bool  # judged by leave-one-out, else by folds


@dataclass(frozen=True, slots=True)
class Search:
    """The trials in their order, and how many candidates there was no time for."""

    trials: tuple[Trial, ...]
    n_untried: int
    n_documents: int  # that the trials looked at

    @property
    def best(self) -> Trial:
        """The most accurate one by folds, or by leave-one-out where none was judged by folds."""
        return best_of([trial for trial in self.trials if not trial.is_left_out] or self.trials)


def best_of(trials: Sequence[Trial]) -> Trial:
    """The most accurate one; of equals the one with less loss."""
    return max(trials, key=lambda trial: (trial.accuracy, -trial.log_loss))


def candidates(
    features: FeatureSettings, modelling: ModelSettings, *, given: Collection[str], has_linear: bool
) -> list[Candidate]:
    """What is tried, cheap ones first.

    features, modelling  what holds for all of them
    given                names of settings that the user has given, which are kept as they are
    has_linear           whether the discriminative models are tried, and parts of words
    """
    is_weighted = not {"tf", "idf", "norm", "weighting"}.isdisjoint(given)
    ngrams = [features.ngrams] if has_own_ngrams(features, given) else [(1, 1), PAIRS]
    listed = [(each, pair) for each in ngrams for pair in COUNTING]
    if has_linear:
        listed += [(each, pair) for each in ngrams for pair in LINEAR]
    found = [
        _candidate(replace(features, ngrams=each), modelling, *pair, is_weighted=is_weighted) for each, pair in listed
    ]
    if has_linear and not {"analyzer", "ngrams"} & set(given) and not has_own_ngrams(features, given):
        parts = replace(features, analyzer="char_wb", ngrams=PARTS_OF_WORDS)
        found += [_candidate(parts, modelling, *pair, is_weighted=is_weighted) for pair in OF_PARTS]
    return list(dict.fromkeys(found))


def has_own_ngrams(features: FeatureSettings, given: Collection[str]) -> bool:
    """Whether n-grams are not to be tried: they were given, or words cannot be told from pairs of words."""
    return (
        "ngrams" in given
        or features.analyzer != "word"
        or features.hash_bits is not None
        or features.token_pattern is not None
        or features.vocabulary is not None
    )


def _candidate(
    features: FeatureSettings, modelling: ModelSettings, model: str, weighting: str, *, is_weighted: bool
) -> Candidate:
    if model in LINEAR_MODELS:  # which have no such settings
        C = AUTO if modelling.C == ModelSettings().C else modelling.C
        settings = replace(modelling, model=model, smoothing=None, prior=None, C=C)
    else:
        settings = replace(modelling, model=model)
    if is_weighted:
        return Candidate(features, settings, "given")
    tf, idf, norm = TRIPLE[weighting]
    return Candidate(replace(features, tf=tf, idf=idf, norm=norm), settings, weighting)


def search(
    listed: Sequence[Candidate],
    tally_of: Callable[[FeatureSettings], CorpusCounts],
    *,
    has_time: Callable[[], bool],
    run: Run[Any] = one_by_one,
    jobs: int = 1,
) -> Search:
    """Try candidates in their order while there is time; the first one in any case.

    tally_of  counts (a sample of) the documents with these settings; is asked again only for other features
    has_time  whether another trial may begin
    raises    InputError: there are too few documents
    """
    trials: list[Trial] = []
    corpora = _Tallies(listed, tally_of)
    for candidate in listed:
        if trials and not has_time():
            break
        trials.append(_tried(candidate, corpora.of(candidate), run=run, jobs=jobs))
    n_untried = len(listed) - len(trials)
    left_out = [trial for trial in trials if trial.is_left_out]
    if 0 < len(left_out) < len(trials):
        best = best_of(left_out)
        trials[trials.index(best)] = _folded(best.candidate, corpora.of(best.candidate), jobs=jobs)
    return Search(tuple(trials), n_untried, corpora.n_documents)


class _Tallies:
    """The documents as each candidate counts them: words are picked out of words and pairs."""

    def __init__(self, listed: Sequence[Candidate], tally_of: Callable[[FeatureSettings], CorpusCounts]) -> None:
        of_words = [candidate.features.ngrams for candidate in listed if candidate.features.analyzer == "word"]
        self._widest = max(of_words, default=(1, 1))
        self._tally_of = tally_of
        self._tallies: dict[tuple[str, tuple[int, int]], CorpusCounts] = {}
        self.n_documents = 0

    def of(self, candidate: Candidate) -> CorpusCounts:
        features = candidate.features
        is_part = features.analyzer == "word" and features.ngrams != self._widest
        wide = replace(features, ngrams=self._widest) if is_part else features
        key, wide_key = (features.analyzer, features.ngrams), (wide.analyzer, wide.ngrams)
        if wide_key not in self._tallies:
            self._tallies[wide_key] = self._counted(wide)
        if key not in self._tallies:
            self._tallies[key] = self._tallies[wide_key].restricted(_words(self._tallies[wide_key]))
        return self._tallies[key]

    def _counted(self, features: FeatureSettings) -> CorpusCounts:
        tally = _of_sample(self._tally_of(features))
        self.n_documents = len(tally.sample)
        if self.n_documents < FOLDS:
            hint = "name one with --model"
            said = number_of(self.n_documents, "document")
            raise InputError(f"too few to choose a model by: {said}", hint=hint)
        return tally


def _of_sample(tally: CorpusCounts) -> CorpusCounts:
    """The tally of the documents in its sample alone, which may be all."""
    sample = tally.sample
    if len(sample) == tally.statistics.n_documents:
        return replace(tally, sample_size=None)
    statistics = count_classes(sample, tally.statistics.n_features, len(tally.labels))
    alone = replace(tally, statistics=statistics, sample_size=None)
    alone = alone.without(np.zeros(len(sample), dtype=np.bool_))  # labels without a document vanish
    return alone.restricted(np.flatnonzero(np.diff(alone.statistics.indptr)))


def _words(tally: CorpusCounts) -> NDArray[np.int64]:
    """The columns of single words, which hold no space."""
    assert tally.vocabulary is not None  # for the types: hashed features have no pairs to tell
    spaces = running_sums(tally.vocabulary.blob == SPACE)[tally.vocabulary.offsets]
    return np.flatnonzero(np.diff(spaces) == 0)


def _tried(candidate: Candidate, tally: CorpusCounts, *, run: Run[Any], jobs: int) -> Trial:
    """By leave-one-out where that is exact, else by folds."""
    features, modelling = candidate.features, candidate.modelling
    if sample_size(features, modelling) is not None:
        expected = read(tally, features, modelling, run=run).choice.expectation
        if expected is not None:
            return Trial(candidate, expected.accuracy, expected.log_loss, True)
    return _folded(candidate, tally, jobs=jobs)


def _folded(candidate: Candidate, tally: CorpusCounts, *, jobs: int) -> Trial:
    judge = Judge()
    folds = stratified_folds(tally.sample.classes, FOLDS, seed=SEED)
    features, modelling = candidate.features, candidate.modelling
    for predictions in cross_validate(tally, folds, features=features, modelling=modelling, jobs=jobs):
        judge.add(predictions)
    evaluation = judge.evaluation()
    return Trial(candidate, evaluation.accuracy, evaluation.log_loss, False)

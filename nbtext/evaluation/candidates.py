"""The candidates of a model search, and the corpus counted for each feature set, as far as the budget allows.

The feature sets are words, pairs and triples of words and punctuation marks, and character n-grams.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.settings import AUTO, CONFIDENCE, ModelSettings
from nbtext.errors import InputError, number_of
from nbtext.features.analyzer import MARKS_PATTERN
from nbtext.features.csr import running_sums
from nbtext.features.formulas import WEIGHTINGS
from nbtext.features.hashing import document_hashes, vocabulary_hashes
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import UNSPACED, compute_unspaced_share, find_first_words
from nbtext.kernel import HAS_KERNEL
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.training import sample_size
from nbtext.records import dataclass

WORDS, PAIRS, TRIPLES, CHARACTERS, GIVEN = "words", "pairs", "triples", "characters", "given"
OWN_FEATURES = ("ngrams", "analyzer", "token_pattern", "vocabulary", "hash_bits")  # options that say what a feature is
MAX_WEIGHTS = 1 << 26  # features times classes of a linear model: 0.5 GB
SHORT = 48.0  # mean number of words and marks in a document, up to which n-grams of higher order are tried
N_FOLDS = 5  # of finalists
SAFETY = 1.3  # a fit is started if this multiple of its predicted time is left
PREPARATION = 0.5  # time from the reading of pairs to the next fit, in units of this reading
SECOND_READING = 8.0  # time of reading n-grams of higher order and fitting them, in units of the reading before
PAIRS_RATES = {"bytes": 2e-7, "files": 1e-3}  # seconds for reading pairs and preparing them: several times the usual


@dataclass(frozen=True, slots=True)
class Candidate:
    """Settings to try; `feature_set` and `weighting` are their names, "given" if the user chose them."""

    features: FeatureSettings
    model_settings: ModelSettings
    feature_set: str
    weighting: str

    @property
    def is_linear(self) -> bool:
        return self.model_settings.is_linear

    @property
    def goalless_settings(self) -> ModelSettings:
        """The settings of the estimate: calibrated, and without decision offsets."""
        return replace(
            self.model_settings, calibrate=True, optimize=None, min_recall=(), min_precision=(), confidence=CONFIDENCE
        )

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks that it can be trained for."""
        is_of_one = self.is_linear and LINEAR_MODELS[self.model_settings.model].one_vs_rest is None
        return ("one",) if is_of_one else ("one", "several")

    def retain(self, corpus: CorpusCounts) -> CorpusCounts:
        """Return the counts as training with these settings retains them."""
        size = sample_size(self.features, self.model_settings)
        return replace(corpus, sample=corpus.sample.smallest(size), sample_size=size)

    def compute_work(self, corpus: CorpusCounts) -> float:
        """Return what the time of a fit is about proportional to: entries, for linear models times classes."""
        entries = float(len(corpus.sample.indices) + 1)
        return entries * max(1, len(corpus.labels)) if self.is_linear else entries

    def is_small(self, corpus: CorpusCounts) -> bool:
        """Return whether the weights of a linear model fit into memory: MAX_WEIGHTS at most."""
        return corpus.statistics.n_features * len(corpus.labels) <= MAX_WEIGHTS


def list_candidates(
    features: FeatureSettings, model_settings: ModelSettings, given: Collection[str]
) -> list[Candidate]:
    """List the candidates of a search: Naive Bayes models, the default model first, and then linear ones.

    Parameters
    ----------
    features, model_settings : FeatureSettings, ModelSettings
        Settings that all candidates share.
    given : collection of str
        Names of the settings that the user gave; they are kept. Linear models have no smoothing and no prior: if one is
        given, they are not tried.
    """
    has_weighting = not {"tf", "idf", "norm", "weighting"}.isdisjoint(given)
    sets = list_feature_sets(features, given)

    def candidate(name: str, weighting: str, settings: ModelSettings) -> Candidate:
        name = name if name in sets else GIVEN
        if has_weighting:
            return Candidate(sets[name], settings, name, GIVEN)
        tf, idf, norm = WEIGHTINGS[weighting]
        return Candidate(replace(sets[name], tf=tf, idf=idf, norm=norm), settings, name, weighting)

    found = [candidate(name, "counts", replace(model_settings, model=AUTO)) for name in sets if name != TRIPLES]
    if (model_settings.smoothing, model_settings.prior, model_settings.class_weight) == (None, None, None):
        for own_set in sets:
            for model in LINEAR_MODELS:
                for name, weighting, C in LINEAR_MODELS[model].searched:
                    if own_set in (name, GIVEN):
                        found.append(candidate(name, weighting, replace(model_settings, model=model, C=C)))
    return list(dict.fromkeys(found))


def list_last_candidates(candidate: Candidate) -> list[Candidate]:
    """Return the linear models that are compared on the features and the weighting of the best of the others."""
    names = [name for name, record in LINEAR_MODELS.items() if record.is_tried_last]
    return [replace(candidate, model_settings=replace(candidate.model_settings, model=name)) for name in names]


def list_feature_sets(features: FeatureSettings, given: Collection[str]) -> dict[str, FeatureSettings]:
    """Return the settings of each feature set by name; only `GIVEN` if the user set an option of OWN_FEATURES.

    With stop words or stems, tokens are those of the default pattern, for which lists and stemmers are made.
    """
    if not set(OWN_FEATURES).isdisjoint(given):
        return {GIVEN: features}
    pattern = None if features.stop_words or features.stem is not None else MARKS_PATTERN
    sets = {
        WORDS: features,
        PAIRS: replace(features, ngrams=(1, 2), token_pattern=pattern),
        TRIPLES: replace(features, ngrams=(1, 3), token_pattern=pattern),
    }
    if pattern is not None:
        sets[CHARACTERS] = replace(features, analyzer="char_wb", ngrams=(1, 5))
    return sets


def find_promising(pairs: CorpusCounts, features: FeatureSettings) -> tuple[str, ...]:
    """Return the feature sets that are worth a second reading, from the words and pairs of a corpus.

    Triples and character n-grams need many times the memory of words, and help where a document has few words, or where
    the words are not separated.

    features : the settings of the words and pairs
    """
    assert pairs.vocabulary is not None  # for the types: features are hashed only if the user chose them
    _, n_spaces = find_first_words(pairs.vocabulary, features.fields)
    counts = pairs.statistics.feature_occurrences * (n_spaces == 0)
    if counts.sum() <= SHORT * pairs.statistics.n_documents:
        return TRIPLES, CHARACTERS
    share = compute_unspaced_share(pairs.vocabulary, counts, features.fields)
    return (CHARACTERS,) if share >= UNSPACED else ()


def select_words(pairs: CorpusCounts, words: FeatureSettings) -> CorpusCounts:
    """Return the counts of single words, which are some of the columns of words and pairs.

    They equal the counts of reading the texts with the settings `words`, the hashes of the documents included. The
    default pattern omits words of one letter, and marks.
    """
    assert pairs.vocabulary is not None  # for the types: see find_promising
    starts, n_spaces = find_first_words(pairs.vocabulary, words.fields)
    characters = running_sums(pairs.vocabulary.blob & 0xC0 != 0x80)
    n_characters = characters[pairs.vocabulary.offsets[1:]] - characters[starts]
    counts = pairs.restrict(np.flatnonzero((n_spaces == 0) & (n_characters > 1)))
    assert counts.vocabulary is not None
    hashes = document_hashes(counts.sample, vocabulary_hashes(counts.vocabulary)[counts.sample.indices])
    return replace(counts, sample=replace(counts.sample, hashes=hashes).with_empty_last().smallest(None))


def take_documents(corpus: CorpusCounts, size: int) -> CorpusCounts:
    """Return a stratified subset of the documents, which are in random order, with the features that it has."""
    by_class = np.argsort(corpus.sample.classes, kind="stable")
    rows = np.sort(by_class[np.linspace(0, len(by_class) - 1, size).astype(np.int64)])
    sample = corpus.sample.take(rows)
    part = replace(corpus, statistics=corpus.count(sample), sample=sample, sample_size=None)
    return part.without(np.zeros(len(sample), dtype=np.bool_)).drop_unused_features()


class OutOfTime(Exception):
    """A fit did not finish within the budget."""


class Budget:
    """The time that a search may take, from the creation of this object on; `clock` returns seconds."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._seconds, self._clock, self._start = seconds, clock, clock()

    @property
    def elapsed(self) -> float:
        return self._clock() - self._start

    def allows(self, seconds: float) -> bool:
        """Return whether work that is predicted to take this long will finish in time."""
        return self.elapsed + SAFETY * seconds < self._seconds

    def check(self) -> None:
        """Raise OutOfTime if the time is over."""
        if self.elapsed > self._seconds:
            raise OutOfTime


def bound_reading_seconds(size: int | None, unit: str) -> float:
    """Return a time in which words and pairs of a source are surely read; infinity if its size is unknown."""
    return PAIRS_RATES[unit] * size if HAS_KERNEL and size is not None else math.inf


class Corpora:
    """The corpus, counted for each feature set when a candidate needs it."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        count: Callable[[FeatureSettings], CorpusCounts],
        budget: Budget,
        reading_seconds: float,
    ) -> None:
        self._count, self._budget = count, budget
        self._corpora: dict[str, CorpusCounts] = {}
        self._seconds: dict[str, float] = {}  # of each reading
        self._more: tuple[str, ...] = TRIPLES, CHARACTERS  # the promising feature sets; all, until pairs are read
        default = candidates[0]
        pairs = next((each for each in candidates if each.feature_set == PAIRS), None)
        first = pairs if pairs is not None and budget.allows(reading_seconds) else default
        corpus = self._read(first)
        self.n_documents = len(corpus.sample)
        if self.n_documents < N_FOLDS:
            found = number_of(self.n_documents, "document")
            hint = "name a model with --model"
            raise InputError(f"a model search needs at least {N_FOLDS} documents; found {found}", hint=hint)
        self.task = corpus.task
        if first is not default:
            self._corpora[WORDS] = select_words(corpus, default.features)

    @property
    def seconds(self) -> float:
        """The time of all readings."""
        return sum(self._seconds.values())

    def is_promising(self, candidate: Candidate) -> bool:
        """Return whether a candidate is for these documents, and its features seem to be worth their time."""
        if self.task not in candidate.tasks:
            return False
        return candidate.feature_set not in (TRIPLES, CHARACTERS) or candidate.feature_set in self._more

    def get(self, candidate: Candidate) -> CorpusCounts | None:
        """Return the corpus of a candidate; None if it is not promising, or there is no time to read it."""
        name = candidate.feature_set
        before = self._seconds.get(WORDS if name == PAIRS else PAIRS)  # only pairs tell what larger sets are worth
        is_open = name not in self._corpora and self.is_promising(candidate)
        if is_open and before is not None and self._budget.allows(SECOND_READING * before):
            self._read(candidate)
        return self._corpora.get(name)

    def _read(self, candidate: Candidate) -> CorpusCounts:
        name, before = candidate.feature_set, self._budget.elapsed
        self._corpora[name] = corpus = self._count(candidate.features)
        self._seconds[name] = self._budget.elapsed - before
        if name == PAIRS and self._budget.allows(PREPARATION * self._seconds[name]):
            self._more = find_promising(corpus, candidate.features)
        return corpus

    def take(self, candidate: Candidate) -> CorpusCounts:
        """Return the corpus of a candidate, and free the others."""
        corpus = self._corpora[candidate.feature_set]
        self._corpora.clear()
        return corpus

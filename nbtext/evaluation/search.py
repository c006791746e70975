"""Model search: compare candidates, and return the most accurate one, fitted to all documents.

A candidate is a feature set, a weighting and a model. The text is read once for words and pairs of
words; single words are some of the columns. Short texts and texts without spaces are read again,
for triples and character n-grams. The feature sets are words, pairs and triples of words and
punctuation marks, and character n-grams.

If each document has one label, the default model is compared with a stack of Naive Bayes and linear
models over words, pairs and, of short texts and small corpora, characters (`linear/stacking.py`).

If documents have several labels, or each stack is too large, the default model is compared with
Naive Bayes models of other features, which are estimated by leave-one-out, and with two linear
models, which are estimated by cross-validation. With one label, they are the two with most
features; with several labels, the most accurate two on a stratified subset of the documents.

What is tried depends on the documents alone, so that a search gives the same bytes on every machine
and under any load. A linear model is left out if it has more than MAX_SEARCHED_WEIGHTS weights, or
more than MAX_STACK_WORK entries times labels.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nbtext.bayes.conformal import MIN_SUM_PROBABILITY
from nbtext.bayes.decision_offsets import find_goals
from nbtext.bayes.diagnostics import Interval, LeaveOneOutEstimate, Part
from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.settings import (
    AUTO,
    CONFIDENCE,
    MAX_WITH_LENGTHS,
    VECTOR_WORDS,
    ModelSettings,
    check_label_count,
)
from nbtext.bayes.smoothing import judge
from nbtext.documents.source import Source
from nbtext.errors import ConvergenceWarning, InputError, ModelError, SettingsError, number_of
from nbtext.evaluation.cross_validation import (
    CountFeatures,
    CrossValidation,
    cross_validate_search,
)
from nbtext.evaluation.settings import GIVEN, MAX_SIZES, SAMPLE_SIZES, SHOWN, FoldSettings
from nbtext.features.analyzer import MARKS_PATTERN
from nbtext.features.formulas import WEIGHTINGS
from nbtext.features.hashing import document_hashes, vocabulary_hashes
from nbtext.features.selection import is_selective
from nbtext.features.settings import OF_WEIGHTING, FeatureSettings
from nbtext.features.vocabulary import UNSPACED, compute_unspaced_share, find_first_words
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import FittedModel, TrainedModel
from nbtext.model.fitting import fit_model
from nbtext.model.source_counting import CountingTask, OnBatch, count_in_threads
from nbtext.model.tasks import TASKS
from nbtext.model.training import (
    Training,
    can_be_blocked,
    check_features,
    sample_size,
    train_on_source,
)
from nbtext.model.word_vectors import check_table
from nbtext.numerics import log
from nbtext.output import note_phase
from nbtext.parallel import return_memory
from nbtext.records import Strings, frozen

# feature sets
WORDS = "words"
PAIRS = "pairs"
TRIPLES = "triples"
CHARACTERS = "characters"
# in two views; the second for long documents
BOTH = "pairs, characters"
BOTH_LONG = "pairs, 4-5 characters"
MORE = (TRIPLES, CHARACTERS, BOTH, BOTH_LONG)  # those that take more time than pairs
# options that define the features; if one of them is given, the search tries no other features
OWN_FEATURES = str.split("ngrams analyzer view token_pattern vocabulary hash_bits")
MAX_SEARCHED_WEIGHTS = 1 << 26  # features times classes of a linear model: 0.5 GB
# Entries of the matrix times classes of a linear model, which its time follows: a stack takes about
# 0.15 s for a million (18 s of one core for 20 Newsgroups, 20 s for BANKING77), so about two
# minutes with folds and reading; nothing measures the time, so that the result is the same anywhere
MAX_STACK_WORK = 1 << 29
# mean number of words and marks in a document, up to which n-grams of higher order are tried
MAX_SHORT_TOKENS = 48.0
# Words in all documents up to which characters are counted beside words where documents are long,
# from a thousand on. Of 100 messages of 20 Newsgroups, a stack with characters was trained that was
# 0.0017 less accurate than the default.
FEW_WORDS = 1 << 21
# Documents on which a stack of counts, on a logarithmic scale, is compared with one of binary
# counts, and the share of its log-loss that is clearly lower. It is 0.88 on Reuters, where the test
# accuracy is 0.01 higher, and 1.00 to 1.05 on 20 Newsgroups, IMDB and long reviews, where binary
# counts are as accurate, or more. Short texts hardly repeat words.
WEIGHTING_SIZE = 1024
MAX_LOG_LOSS_SHARE = 0.95
# the first bytes of characters of 2, 3 and 4 bytes in UTF-8
LEADING = np.array([0xC0, 0xE0, 0xF0], np.uint8)
N_FINALIST_FOLDS = 5  # of finalists
# with which linear models are compared
SUBSET_FOLDS = 3
SUBSET_SIZE = 1024
# With at most so many documents of one label each, what the search says of itself is measured by
# searches on folds: the best of several estimates is too high. See `validate`.
MIN_VALIDATED = 20
MAX_VALIDATED = 256
N_VALIDATION_FOLDS = 5
MIN_SUBSET_SIZE = 256  # with fewer documents, the weighting of a stack is not compared
# By how much the log-loss of a candidate must be lower, as a share times √n; of a more accurate one
# by half of this, less the gain in accuracy. Of 50 documents, stacks of equal accuracy were less
# accurate whose log-loss was lower by up to 0.06 (Reuters) or 0.29 of itself (messages): 0.31 is
# 2.2 / √50. Of 200 documents of 20 Newsgroups and 500 of Reuters, two more accurate ones whose gain
# and share had the sums 0.67 / √n and 1.06 / √n were less accurate by 0.03.
FEW = 2.2
FINALISTS = 2  # linear models that are fitted to all documents


@frozen
class Candidate:
    """Settings to try; `feature_set` and `weighting` are their names, "given" if the user chose
    them.
    """

    features: FeatureSettings
    model_settings: ModelSettings
    feature_set: str
    weighting: str

    @property
    def is_linear(self) -> bool:
        return self.model_settings.is_linear

    @property
    def is_stacked(self) -> bool:
        return self.is_linear and self.model_settings.linear_model.is_stacked

    @property
    def goalless_settings(self) -> ModelSettings:
        """The settings of the estimate: calibrated, and without decision offsets."""
        return replace(
            self.model_settings,
            calibrate=True,
            optimize=None,
            min_recall=(),
            min_precision=(),
            confidence=CONFIDENCE,
        )


def list_searched(
    features: FeatureSettings, settings: ModelSettings, source: Source, given: Collection[str]
) -> list[Candidate]:
    """Return the candidates of a search for the documents of a source; see `list_candidates`."""
    if source.first_matrix() is not None:
        raise SettingsError(
            "best needs texts, but SOURCE is a matrix",
            where="model",
            hint="give texts, or choose one model",
        )
    return list_candidates(replace(features, fields=source.field_names), settings, given)


def list_candidates(
    features: FeatureSettings, model_settings: ModelSettings, given: Collection[str]
) -> list[Candidate]:
    """List the candidates of a search: Naive Bayes models, the default model first, and then linear
    ones.

    Parameters
    ----------
    features, model_settings : FeatureSettings, ModelSettings
        Settings that all candidates share.
    given : collection of str
        Names of the settings that the user gave; they are kept. Linear models have no smoothing and
        no prior: if one is given, they are not tried.
    """
    has_weighting = not {"weighting", *OF_WEIGHTING}.isdisjoint(given)
    sets = {GIVEN: features}
    if set(OWN_FEATURES).isdisjoint(given):
        # with stop words or stems, tokens are those of the default pattern, for which lists and
        # stemmers are made
        pattern = None if features.stop_words or features.stem is not None else MARKS_PATTERN
        of_words = replace(features, token_pattern=pattern)
        sets = {
            WORDS: features,
            PAIRS: replace(of_words, ngrams=(1, 2)),
            TRIPLES: replace(of_words, ngrams=(1, 3)),
        }
        if pattern is not None:
            sets[CHARACTERS] = replace(features, analyzer="char_wb", ngrams=(1, 5))
            sets[BOTH] = replace(of_words, view=("word:1,2", "char_wb:1,5"))
            sets[BOTH_LONG] = replace(of_words, view=("word:1,2", "char_wb:4,5"))

    def candidate(name: str, weighting: str, settings: ModelSettings) -> Candidate:
        name = name if name in sets else GIVEN
        if has_weighting:
            return Candidate(sets[name], settings, name, GIVEN)
        tf, idf, norm = WEIGHTINGS[weighting]
        return Candidate(replace(sets[name], tf=tf, idf=idf, norm=norm), settings, name, weighting)

    check_features(features, model_settings)
    first = next(iter(sets))  # words, or those that are given
    plain = replace(
        model_settings, model=AUTO, vectors=None, vector_words=VECTOR_WORDS, more_words=(), names=()
    )
    found = [candidate(first, "counts", replace(model_settings, model=AUTO))]
    found += [
        candidate(name, "counts", plain)
        for name in sets
        if name in (WORDS, PAIRS, CHARACTERS, GIVEN)
    ]
    if (model_settings.smoothing, model_settings.prior, model_settings.class_weight) == (
        None,
        None,
        None,
    ):
        for own_set in sets:
            for model, record in LINEAR_MODELS.items():
                shared = model_settings if record.is_stacked else plain
                for name, weighting, C in record.searched:
                    if own_set in (name, GIVEN):
                        found.append(candidate(name, weighting, replace(shared, model=model, C=C)))
    return list(dict.fromkeys(found))


def find_promising(pairs: CorpusCounts, features: FeatureSettings) -> Strings:
    """Return the feature sets that are worth a second reading, from the words and pairs of a
    corpus.

    Triples and character n-grams need many times the memory of words, and help where a document has
    few words, or where the words are not separated.

    features : the settings of the words and pairs
    """
    # for the types: features are hashed only if the user chose them
    assert pairs.vocabulary is not None
    _, n_spaces = find_first_words(pairs.vocabulary, features.fields)
    counts = pairs.statistics.feature_sums(pairs.statistics.occurrences) * (n_spaces == 0)
    if counts.sum() <= MAX_SHORT_TOKENS * pairs.statistics.n_documents:
        return TRIPLES, CHARACTERS, BOTH
    if compute_unspaced_share(pairs.vocabulary, counts, features.fields) >= UNSPACED:
        return CHARACTERS, BOTH
    return (
        (BOTH_LONG,)
        if pairs.statistics.n_documents >= SUBSET_SIZE and counts.sum() <= FEW_WORDS
        else ()
    )


def select_words(pairs: CorpusCounts, words: FeatureSettings) -> CorpusCounts:
    """Return the counts of single words, which are some of the columns of words and pairs.

    They equal the counts of reading the texts with the settings `words`, the hashes of the
    documents included. The default pattern omits words of one letter, and marks.
    """
    assert pairs.vocabulary is not None  # for the types: see find_promising
    starts, n_spaces = find_first_words(pairs.vocabulary, words.fields)
    # of the first character
    first_length = 1 + np.searchsorted(LEADING, pairs.vocabulary.blob[starts], "right")
    has_several = pairs.vocabulary.offsets[1:] - starts > first_length
    counts = pairs.restrict(np.flatnonzero((n_spaces == 0) & has_several))
    assert counts.vocabulary is not None
    hashes = document_hashes(
        counts.sample, vocabulary_hashes(counts.vocabulary)[counts.sample.indices]
    )
    return replace(
        counts, sample=replace(counts.sample, hashes=hashes).with_empty_last().smallest(None)
    )


@frozen
class CandidateResult:
    """The estimate of how well a candidate predicts new documents.

    Attributes
    ----------
    metric : str
        `accuracy`, or `micro_f1` of several labels.
    accuracy, log_loss : float
        The value of this metric, and the log-loss in nats. NaN if no label has two documents, so
        that none can be left out.
    n_documents : int
        Number of documents that the candidate was fitted to: those of the last round that it
        reached.
    n_scored : int
        Number of documents that were predicted by a model without them.
    estimate : str
        How it was estimated.
    parts : tuple of Part
        The models that a stack adds up, with their weights.
    interval : tuple of float, optional
        The bounds of the accuracy; None of the micro F1.
    """

    candidate: Candidate
    metric: str
    accuracy: float
    log_loss: float
    n_documents: int
    n_scored: int
    estimate: str
    parts: tuple[Part, ...] = ()
    interval: Interval = None


@frozen
class Search:
    """The results of a search of a corpus of `n_documents`, in the order of the candidates.

    Attributes
    ----------
    model : TrainedModel
        The best candidate, trained on all documents.
    untried : tuple of Candidate
        Those that are too large for this corpus.
    """

    model: TrainedModel
    results: tuple[CandidateResult, ...]
    best: CandidateResult
    untried: tuple[Candidate, ...]
    n_documents: int


class FittedCandidate(NamedTuple):
    """A candidate that is fitted to documents, and its result."""

    result: CandidateResult
    fitted: FittedModel


class Searching:
    """The corpus, counted for each feature set when a candidate needs it, and the results of the
    candidates that were fitted to it.

    Pairs are read first, because their counts are those of words, too, and tell what larger sets
    are worth.

    n_documents   of the corpus
    kind          the task of its labels
    has_accuracy  whether each document has one label
    results       of the candidates that were fitted
    too_large     those that were not
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        count: CountFeatures,
        jobs: int,
    ) -> None:
        self._count = count
        self._jobs = jobs
        self.results: dict[Candidate, CandidateResult] = {}
        self.too_large: list[Candidate] = []
        default = candidates[0]
        first = next((each for each in candidates if each.feature_set == PAIRS), default)
        corpus = count(first.features)
        check_label_count(len(corpus.labels), "best", "model")
        self._corpora = {first.feature_set: corpus}
        self.n_documents = len(corpus.sample)
        if self.n_documents < N_FINALIST_FOLDS:
            found = number_of(self.n_documents, "document")
            raise InputError(
                f"a model search needs at least {N_FINALIST_FOLDS} documents; found {found}",
                hint="name a model with ‹model›",
            )
        self.kind = TASKS[corpus.task]
        evaluator = self.kind.load("evaluator")
        self._metric = evaluator.main
        self.has_accuracy = evaluator.has_accuracy
        self._is_selective = is_selective(default.features)
        more = find_promising(corpus, first.features) if first.feature_set == PAIRS else ()
        left_out = set(MORE).difference(more)
        self.candidates = [
            each
            for each in candidates
            if each.feature_set not in left_out
            and (
                self.kind.has_one_label
                or not each.is_linear
                or each.model_settings.linear_model.is_one_vs_rest
            )
        ]

    def get(self, candidate: Candidate) -> CorpusCounts:
        """Return the corpus of a candidate that is promising."""
        name = candidate.feature_set
        if name == WORDS and name not in self._corpora and PAIRS in self._corpora:
            self._corpora[name] = select_words(
                self._corpora[PAIRS].with_class_sums(), candidate.features
            )
        elif name not in self._corpora:
            self._corpora[name] = self._count(candidate.features)
        if not candidate.is_stacked:
            self._corpora[name] = self._corpora[name].with_class_sums()
        return self._corpora[name]

    def take(self, candidate: Candidate) -> CorpusCounts:
        """Return the corpus of a candidate, and free the others."""
        corpus = self.get(candidate)
        self._corpora.clear()
        return corpus

    def is_small(self, candidate: Candidate) -> bool:
        """Return whether a linear model of the corpus is worth its memory and its time."""
        corpus = self.get(candidate)
        n_labels = len(corpus.labels)
        n_weights = corpus.statistics.n_features * n_labels
        work = len(corpus.sample.indices) * n_labels
        if n_weights <= MAX_SEARCHED_WEIGHTS and work <= MAX_STACK_WORK:
            return True
        self.too_large.append(candidate)
        return False

    def fit(
        self, candidate: Candidate, size: int | None = None, *, folds: int = N_FINALIST_FOLDS
    ) -> FittedCandidate | None:
        """Fit a candidate to the corpus, or to `size` of its documents; None if that fails, or
        gives no estimate although others do.
        """
        corpus = self.get(candidate)
        if size is not None:
            # a stratified subset of the documents, which are in random order, and its features
            by_class = np.argsort(corpus.sample.classes, kind="stable")
            rows = np.sort(by_class[np.linspace(0, len(by_class) - 1, size).astype(np.int64)])
            corpus = replace(corpus.take(rows), sample_size=None).drop_unused_features()
        settings = candidate.goalless_settings
        if candidate.is_linear:
            settings = replace(settings, folds=folds)
        note_phase("model %d: %s", len(self.results) + 1, settings.model)
        return_memory()  # of earlier fits
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fitted = fit_model(corpus, candidate.features, settings, jobs=self._jobs)
        except ModelError:
            if not self.results:
                raise
            return None  # such as a subset without any feature that is frequent enough
        if fitted.estimate is None and self.results:
            return None
        estimate = fitted.estimate or LeaveOneOutEstimate(0, np.nan, np.nan)
        result = self.results[candidate] = CandidateResult(
            candidate,
            self._metric,
            estimate.metric,
            estimate.log_loss,
            len(corpus.sample),
            estimate.documents,
            fitted.estimated_by,
            fitted.hyperparameters.parts,
            estimate.interval,
        )
        return FittedCandidate(result, fitted)

    def is_better(self, one: CandidateResult, other: CandidateResult) -> bool:
        """Return whether a fit replaces another one.

        If each document has one label, it is as accurate, or more, and has a lower log-loss. With
        few documents, the accuracy of either is known to some hundredths only. The log-loss varies
        less. The smaller the gain in accuracy, the more the log-loss must fall; see FEW.

        If documents have several labels, it has a higher micro F1; log-loss decides where the table
        shows equal ones. Of 100, 300 and 700 training documents of Reuters, and of questions and
        newsgroups whose labels are the parts of their names, the chosen models have a mean micro F1
        of 0.667 on others of these, with the rule for one label 0.655, and if log-loss decides
        within 0.25, 0.5, 1 or 2 standard errors 0.666, 0.664, 0.660 and 0.658.
        """
        if not self.has_accuracy:
            a, b = (round(each.accuracy, SHOWN) for each in (one, other))
            return (a, -one.log_loss) > (b, -other.log_loss)
        gain = one.accuracy - other.accuracy
        share = FEW / math.sqrt(self.n_documents)
        share = max(0.0, share / 2 - gain) if gain else share
        return gain >= 0 and one.log_loss < (1 - share) * other.log_loss

    def fit_stack(self) -> FittedCandidate | None:
        """Return the fit of the last stack, of most features, that is not too large."""
        stacks = [each for each in self.candidates if each.is_stacked]
        for each in stacks:
            self.get(each)
        # free what a stack does not need, and what can be counted again
        if PAIRS in self._corpora:
            self._corpora.pop(WORDS, None)
        if self.has_accuracy and not self._is_selective:
            self._corpora = {
                name: corpus.without_class_sums() for name, corpus in self._corpora.items()
            }
        for feature_set in dict.fromkeys(each.feature_set for each in reversed(stacks)):
            own = [
                each for each in stacks if each.feature_set == feature_set and self.is_small(each)
            ]
            # the second of the same features if its log-loss on a subset is clearly lower
            size = min(WEIGHTING_SIZE, self.n_documents // 2)
            if len(own) > 1 and size >= MIN_SUBSET_SIZE:
                one, other = (self.fit(each, size) for each in own[:2])
                if (
                    one
                    and other
                    and other.result.log_loss < MAX_LOG_LOSS_SHARE * one.result.log_loss
                ):
                    del own[0]
            if own and (fit := self.fit(own[0])):
                return fit
        return None

    def fit_others(self) -> list[FittedCandidate]:
        """Return fits of Naive Bayes models of other features than the default one, and of the best
        linear models.
        """
        others = [each for each in self.candidates if not each.is_stacked]
        for each in others:
            self.get(each)
        counting = [each for each in others[1:] if not each.is_linear]
        linear = [each for each in others if each.is_linear and self.is_small(each)]
        # whether the candidates can be fitted to a part of the documents first
        has_subset = self.n_documents > 2 * SUBSET_SIZE
        if self.has_accuracy:  # more features are better, and subsets do not show it
            sets = list(dict.fromkeys(each.feature_set for each in linear))
            linear.sort(key=lambda each: sets.index(each.feature_set), reverse=True)
        elif has_subset:
            fits = [self.fit(each, SUBSET_SIZE, folds=SUBSET_FOLDS) for each in linear]
            known = [fit.result for fit in fits if fit is not None]
            known.sort(key=lambda result: (result.accuracy, -result.log_loss), reverse=True)
            linear = [result.candidate for result in known]
        if has_subset:
            linear = linear[:FINALISTS]
        return [fit for fit in map(self.fit, counting + linear) if fit is not None]


def search_model(
    candidates: Sequence[Candidate],
    count: CountFeatures,
    *,
    jobs: int = 1,
) -> Search:
    """Train the most accurate candidate on all documents.

    The result depends on the documents alone.

    Parameters
    ----------
    candidates : sequence of Candidate
        Those of `list_candidates`.
    count : callable
        Reads the corpus, and retains the counts of all documents. It is called once for each
        reading.
    jobs : int
        Number of threads.

    Raises
    ------
    InputError
        There are fewer documents than folds.
    """
    search = Searching(candidates, count, jobs)
    default = candidates[0]
    if default.model_settings.vectors:
        check_table(search.get(default), default.features, default.model_settings)
    # with word vectors; of many documents only the last stack has them
    if default.is_linear and not (
        search.n_documents <= MAX_WITH_LENGTHS and search.is_small(default)
    ):
        default = candidates[1]
    best = search.fit(default)
    assert best is not None  # the first fit raises an error, or has a result
    if best.fitted.estimate is not None:  # else there is nothing to choose by
        stack = search.fit_stack()
        for fit in [stack] if stack else search.fit_others():
            if search.is_better(fit.result, best.result):
                best = fit
    chosen = best.result.candidate
    fitted = best.fitted
    counts = search.take(chosen)
    size = sample_size(chosen.features, chosen.model_settings)
    if size is not None:
        counts = replace(counts, sample=counts.sample.smallest(size), sample_size=size)
    if chosen.model_settings != chosen.goalless_settings:
        fitted = fit_model(counts, chosen.features, chosen.model_settings, jobs=jobs)
    return Search(
        TrainedModel(fitted, counts.with_class_sums),
        tuple(search.results[each] for each in candidates if each in search.results),
        best.result,
        tuple(search.too_large),
        search.n_documents,
    )


def validate(
    fitted: FittedModel, settings: ModelSettings, validated: CrossValidation
) -> FittedModel:
    """Return the model that a search found, with an estimate, prediction sets and targets by
    searches that have not seen the documents.

    A search chooses a candidate, its smoothing and its weights by the documents that estimate how
    good it is. In nested cross-validation, the documents of a fold have no part in that (Varma and
    Simon, Bias in error estimation when using cross-validation for model selection, 2006).

    settings   of the candidate, with its targets
    validated  the documents, predicted by what is found without their fold
    """
    labels = fitted.labels
    sample = validated.corpus.sample
    assert sample.rows is not None  # of the marks
    order = np.argsort(sample.rows)
    parts = []
    for found in validated.predictions:
        predicted = found.predictions
        columns = [labels.index(label) for label in predicted.classes]
        scores = np.full((len(predicted), len(labels)), MIN_SUM_PROBABILITY)
        scores[:, columns] += predicted.probabilities
        rows = order[np.searchsorted(sample.rows, np.array(found.places), sorter=order)]
        judged = JudgedDocuments.of(sample, log(scores), None, rows)
        parts.append(judged.take(np.isin(judged.classes, columns)))
    judged = JudgedDocuments.join(parts)
    n_unjudged = len(sample) - len(judged)
    goals = find_goals(settings, labels)
    selection = judge(fitted.hyperparameters, judged, n_unjudged=n_unjudged, goals=goals)
    old = fitted.calibration
    calibration = replace(
        selection.calibration,
        temperature=old.temperature,
        prior_adjustment=old.prior_adjustment,
        label_scales=old.label_scales,
        likelihoods=old.likelihoods,
        outlier_threshold=old.outlier_threshold,
    )
    assert fitted.estimate is not None  # for the types
    assert selection.estimate is not None
    estimate = replace(
        selection.estimate, duplicates=fitted.estimate.duplicates, folds=N_VALIDATION_FOLDS
    )
    selection = selection._replace(calibration=calibration, estimate=estimate)
    return replace(fitted, task=fitted.task.with_selection(selection))


def train_best(given: Training, source: Source, on_batch: OnBatch | None) -> TrainedModel:
    """Train the most accurate model on all documents of a source; of many documents, it is searched
    on a sample.
    """
    share = 1.0
    if source.is_read_again and (source.size or 0) > MAX_SIZES[source.unit]:
        share = SAMPLE_SIZES[source.unit] / (source.size or 1)
    candidates = list_searched(given.features, given.settings, source, given.given)
    is_sampled = share < 1
    searched = source
    if is_sampled:  # of so many that not all are in memory
        searched = source.sample(share)
        candidates = [
            each for each in candidates if not each.is_linear or can_be_blocked(each.model_settings)
        ]
    searched.keep_documents()
    first = iter([None if is_sampled else on_batch])

    def count(features: FeatureSettings) -> CorpusCounts:
        return count_in_threads(
            searched, CountingTask(features, None), given.jobs, next(first, None)
        )

    found = search_model(candidates, count, jobs=given.jobs)
    given.show(found)
    if is_sampled:
        what = f"searched on a sample of {number_of(found.n_documents, 'document')}, without models that need all documents in memory"
        given.say(f"{what}; training the best one on all documents")
        best = found.best.candidate
        chosen = replace(given, features=best.features, settings=best.model_settings)
        return train_on_source(chosen, source, on_batch)
    fitted = found.model.fitted
    own = found.best.candidate.model_settings
    if (
        MIN_VALIDATED <= found.n_documents <= MAX_VALIDATED
        and fitted.kind.has_one_label
        and fitted.estimate is not None
        and own.calibrate
        and own.optimize is None
    ):
        plain = [replace(each, model_settings=each.goalless_settings) for each in candidates]
        validated = cross_validate_search(
            searched,
            FoldSettings(folds=N_VALIDATION_FOLDS),
            plain[0].features,
            lambda count: search_model(plain, count, jobs=given.jobs).model,
            jobs=given.jobs,
        )
        if validated.corpus.sample.times is None:
            fitted = validate(fitted, own, validated)
    return replace(found.model, fitted=replace(fitted, input=source.model_input))

"""Training on unlabeled documents and keywords of each label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category

import numpy as np

from nbtext.arrays import Integers, Mask
from nbtext.bayes.class_statistics import ClassStatistics, log_prior
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.event_model import ROWS_SCORED_AT_ONCE
from nbtext.bayes.scorer import LinearScorer, log_posterior
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.bayes.smoothing import Selection
from nbtext.errors import InputError, SettingsError
from nbtext.features.analyzer import Analyzer
from nbtext.features.document_table import DocumentTable, concatenate
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import TrainedModel, make_trained_model
from nbtext.model.fitting import fit_model
from nbtext.model.growth import calibrate_model
from nbtext.model.posteriors import NEGLIGIBLE_PROBABILITY, compute_posteriors
from nbtext.numerics import exp, log
from nbtext.records import Strings, frozen_object

if TYPE_CHECKING:
    from scipy.sparse import csr_array

KEYWORD_MODEL = "multinomial"
KEYWORD_SMOOTHING = 0.1
NOT_ALLOWED = str.split("optimize min_recall min_precision keep_sample class_weight")
MAX_KEYWORD_NGRAM = 4  # of the n-grams of a keyword, with features of characters
# each label has n / (PSEUDO_SHARE · K) pseudo-documents, of n documents and K labels
PSEUDO_SHARE = 5


def extend_ngrams(keywords: Mapping[str, Strings], features: FeatureSettings) -> FeatureSettings:
    """Return the settings with n-grams that are long enough for all phrases.

    Features of characters have n-grams of at most MAX_KEYWORD_NGRAM, unless the settings have
    longer ones.

    raises  SettingsError: the features cannot be compared with keywords; InputError: keywords of
            two labels become the same feature
    """
    wrong = {
        "hash_bits": features.hash_bits,
        "separate_fields": features.fields,
        "view": features.view,
        "weighting": not features.is_counting,
    }
    _refuse([name for name, is_given in wrong.items() if is_given])
    sizes = [len(_read(word, features)) for words in keywords.values() for word in words]
    shortest = min(sizes)
    longest = max(sizes)
    if features.analyzer == "word":
        shortest = 1
    else:
        longest = min(longest, MAX_KEYWORD_NGRAM)
    shortest = max(1, min(shortest, features.ngrams[0]))
    longest = max(longest, features.ngrams[1])
    features = replace(features, ngrams=(shortest, longest))
    owners: dict[frozenset[str], tuple[str, str]] = {}
    for label, words in keywords.items():
        for word in words:
            terms = frozenset(_find_terms(word, features))
            other, owner = owners.setdefault(terms, (word, label))
            if owner != label and terms != {""}:  # nothing of a stop word is left, so it is missing
                what = f"the keyword {other!r} of {owner!r} and {word!r} of {label!r} are read as the same feature"
                raise InputError(what, where="--keywords", hint="keep it for one of the labels")
    return features


def _refuse(names: list[str]) -> None:
    """Raise SettingsError if there are settings, by name, that keywords do not allow."""
    if names:
        what = "cannot be combined with --keywords"
        raise SettingsError(what, where=names[0], hint="leave out this option")


def _read(word: str, features: FeatureSettings) -> list[str]:
    """Return the words of a keyword, or its characters, as the documents are read."""
    analyzer = "word" if features.analyzer == "word" else "char"
    return list(Analyzer(replace(features, analyzer=analyzer, ngrams=(1, 1)))(word))


def _find_terms(word: str, features: FeatureSettings) -> list[str]:
    """Return the features that a text with a keyword has: the phrase, or the longest n-grams of its
    characters.
    """
    parts = _read(word, features)
    if features.analyzer == "word":
        return [" ".join(parts)]
    size = min(len(parts), features.ngrams[1])
    return ["".join(parts[start : start + size]) for start in range(len(parts) - size + 1)]


class KeywordColumns(NamedTuple):
    """The keywords that occur, sorted by column.

    columns  (n_columns,), the features of all keywords, sorted
    members  (n_columns, n_keywords), whether a keyword has a feature; a text contains it if it has
             all of its features
    classes  (n_keywords,), the label of each
    missing  keywords that occur in no document
    cut      keywords of which only some characters are features, with these
    """

    columns: Integers
    members: Mask
    classes: Integers
    missing: Strings = ()
    cut: tuple[tuple[str, str], ...] = ()

    def select(self, chosen: Integers) -> KeywordColumns:
        """Return some of the keywords."""
        members = self.members[:, chosen]
        is_used = members.any(axis=1)
        return KeywordColumns(self.columns[is_used], members[is_used], self.classes[chosen])


def find_keyword_columns(
    keywords: Mapping[str, Strings], features: FeatureSettings, vocabulary: Vocabulary
) -> KeywordColumns:
    """Return the features of keywords; `keywords` is sorted by label.

    raises  InputError: no keyword of a label occurs in the documents
    """
    places = {term: column for column, term in enumerate(vocabulary.terms)}
    found: dict[tuple[int, ...], int] = {}
    missing: list[str] = []
    cut: list[tuple[str, str]] = []
    for k, (label, words) in enumerate(keywords.items()):
        n_missing = len(missing)
        for word in words:
            terms = _find_terms(word, features)
            if any(term not in places for term in terms):
                missing.append(word)
                continue
            found[tuple(sorted({places[term] for term in terms}))] = k
            is_whole = features.analyzer == "word" and features.stem is None
            if is_whole and _count_letters(terms[0]) < _count_letters(word):
                cut.append((word, terms[0]))
        if len(missing) - n_missing == len(words):
            hint = "give words that the documents contain; keywords are read like the documents"
            raise InputError(
                f"no keyword of {label!r} occurs in the documents", where="--keywords", hint=hint
            )
    groups = sorted(found)
    used = np.array(sorted({column for group in groups for column in group}), dtype=np.int64)
    members = np.zeros((len(used), len(groups)), dtype=bool)
    for number, group in enumerate(groups):
        members[np.searchsorted(used, group), number] = True
    return KeywordColumns(
        used, members, np.array([found[group] for group in groups]), tuple(missing), tuple(cut)
    )


def _count_letters(text: str) -> int:
    """Return the number of letters, digits and marks, such as the vowel signs of Thai."""
    return sum(category(character)[0] in "LMN" for character in text)


class KeywordFit(NamedTuple):
    """A model that is trained by keywords, and how.

    n_matched  documents that contain a keyword
    missing    keywords that occur in no document
    cut        keywords of which only some characters are features, with these
    agreement  the share of documents with hidden keywords that are predicted as the keywords'
               label, before and after the steps of expectation-maximization; None without steps, or
               if no keyword can be hidden
    """

    model: TrainedModel
    n_matched: int
    missing: Strings
    cut: tuple[tuple[str, str], ...]
    agreement: tuple[float, float] | None


def train_with_keywords(
    keywords: Mapping[str, Strings],
    unlabeled: CorpusCounts,
    features: FeatureSettings,
    model_settings: ModelSettings,
    *,
    labeled: CorpusCounts | None = None,
    steps: int = 0,
    jobs: int = 1,
) -> KeywordFit:
    """Train on unlabeled documents and the keywords of each label.

    A document has the probabilities softmax(s), where s_k is the sum of the idf of the keywords of
    label k that it contains; a document without keywords weighs 0. The counts of each class are the
    sums of its documents' counts, weighted by these probabilities, and of pseudo-documents of each
    label, which contain all of its keywords. Labeled documents are added with weight 1, and
    calibrate the model.

    Parameters
    ----------
    keywords : sorted by label
    unlabeled : retains all of its documents; its labels are ignored
    steps : of expectation-maximization on all unlabeled documents

    Raises
    ------
    InputError
        No keyword of a label occurs.
    SettingsError
        The model cannot be trained by keywords.
    """
    if model_settings.model not in (AUTO, KEYWORD_MODEL):
        hint = f"use --model {KEYWORD_MODEL}"
        raise SettingsError(
            f"{model_settings.model} cannot be trained by keywords", where="model", hint=hint
        )
    default = ModelSettings()
    wrong = [
        name for name in NOT_ALLOWED if getattr(model_settings, name) != getattr(default, name)
    ]
    _refuse(wrong + ["smoothing"] * (model_settings.smoothing == 0))
    if model_settings.model == AUTO and features.tf == "count":
        features = replace(features, tf="binary")
    smoothing = model_settings.smoothing or KEYWORD_SMOOTHING
    model_settings = replace(
        model_settings,
        model=KEYWORD_MODEL,
        smoothing=smoothing,
        prior=model_settings.prior or "uniform",
    )
    assert unlabeled.vocabulary is not None  # see `extend_ngrams`
    found = find_keyword_columns(keywords, features, unlabeled.vocabulary)
    learner = _KeywordLearner(
        unlabeled.sample,
        unlabeled.statistics.n_features,
        len(keywords),
        features.tf == "binary",
        model_settings,
    )
    matched = _posteriors_of_keywords(unlabeled.sample, found, learner)
    statistics = learner.learn(matched, found, steps, jobs)
    counts = CorpusCounts(tuple(keywords), unlabeled.vocabulary, statistics, concatenate(()), 0)
    selection = Selection(Hyperparameters(smoothing))
    if labeled is not None:
        if unknown := sorted(set(labeled.labels) - set(keywords)):
            raise InputError(
                f"the label {unknown[0]!r} has no keywords",
                where="--keywords",
                hint="add keywords of it, or leave out its documents",
            )
        alone = make_trained_model(
            fit_model(counts, features, model_settings, selection=selection), counts
        )
        calibrated = calibrate_model(alone, labeled, jobs=jobs).fitted
        selection = Selection(
            calibrated.hyperparameters, calibrated.calibration, calibrated.estimate
        )
        counts = counts + replace(labeled, sample=concatenate(()), sample_size=0)
    fitted = fit_model(counts, features, model_settings, jobs=jobs, selection=selection)
    n_matched = int((np.diff(matched.indptr) > 0).sum())
    agreement = _measure_agreement(learner, found, steps, jobs) if steps else None
    return KeywordFit(
        make_trained_model(fitted, counts), n_matched, found.missing, found.cut, agreement
    )


def _posteriors_of_keywords(
    documents: DocumentTable, found: KeywordColumns, learner: _KeywordLearner
) -> csr_array:
    """Return the probabilities of labels by keywords, (n_documents, n_classes); no entries without
    a keyword.
    """
    from scipy.sparse import csr_array, vstack

    only = documents.restrict(found.columns, learner.n_features).binarize()
    members = csr_array(found.members.astype(np.int64))
    n_keywords = len(found.classes)
    occurrences = (
        csr_array((only.counts, only.indices, only.indptr), shape=(len(only), len(found.columns)))
        @ members
    )
    occurrences.sort_indices()
    occurrences.data = (occurrences.data == found.members.sum(axis=0)[occurrences.indices]).astype(
        np.float64
    )
    occurrences.eliminate_zeros()
    idf = log(
        len(documents) / np.maximum(1, np.bincount(occurrences.indices, minlength=n_keywords))
    )
    weights = csr_array(
        (idf, found.classes, np.arange(n_keywords + 1)), shape=(n_keywords, learner.n_classes)
    )
    parts = []
    for start in range(0, len(documents), ROWS_SCORED_AT_ONCE):
        scores = (occurrences[start : start + ROWS_SCORED_AT_ONCE] @ weights).toarray()
        shares = exp(log_posterior(scores))
        shares[shares < NEGLIGIBLE_PROBABILITY] = 0
        shares[scores.max(axis=1) <= 0] = 0
        parts.append(csr_array(shares))
    return vstack(parts, format="csr")


@frozen_object
class _KeywordLearner:
    """Class statistics of documents whose labels are probabilities.

    documents  the unlabeled documents
    is_binary  whether a document counts each of its features once
    """

    documents: DocumentTable
    n_features: int
    n_classes: int
    is_binary: bool
    settings: ModelSettings

    def learn(
        self, posteriors: csr_array, found: KeywordColumns, steps: int, jobs: int
    ) -> ClassStatistics:
        """Return the statistics of the probabilities by keywords, or after some steps of
        expectation-maximization.
        """
        # pseudo-documents of each label, with all of its keywords
        share = len(self.documents) / (PSEUDO_SHARE * self.n_classes)
        columns, classes = np.nonzero(
            found.members @ np.eye(self.n_classes, dtype=bool)[found.classes]
        )
        indptr = np.searchsorted(found.columns[columns], np.arange(self.n_features + 1)).astype(
            np.int64
        )
        values = np.full(len(columns), share)
        keywords = ClassStatistics(
            np.full(self.n_classes, share), indptr, classes.astype(np.int32), values, values
        )
        rows = self.documents.binarize() if self.is_binary else self.documents
        statistics = self._count(posteriors) + keywords
        for _ in range(steps):
            posteriors, _ = compute_posteriors(self.compile(statistics), rows, jobs)
            statistics = self._count(posteriors) + keywords
        return statistics

    def compile(self, statistics: ClassStatistics) -> LinearScorer:
        """Return the scorer of some statistics."""
        counted = statistics.binarize() if self.is_binary else statistics
        scorer = self.settings.event_model.compile(
            counted, smoothing=self.settings.smoothing or KEYWORD_SMOOTHING
        )
        return scorer.with_prior(log_prior(counted.class_documents, self.settings.effective_prior))

    def _count(self, posteriors: csr_array) -> ClassStatistics:
        """Return the expected counts: those of each document, weighted by the probabilities of its
        labels.
        """
        sums = [
            each.expect(posteriors, self.n_features)
            for each in (self.documents.binarize(), self.documents)
        ]
        indptr = sums[0].indptr.astype(np.int64)
        classes = sums[0].indices.astype(np.int32)
        return ClassStatistics(
            posteriors.sum(axis=0), indptr, classes, *(each.data.astype(float) for each in sums)
        )


def _measure_agreement(
    learner: _KeywordLearner, found: KeywordColumns, steps: int, jobs: int
) -> tuple[float, float] | None:
    """Return the share of the documents with a hidden keyword that are predicted as its label,
    before and after the steps.

    Half of the keywords of each label are hidden: they are removed from the documents. None: no
    label has two.
    """
    order = np.argsort(found.classes, kind="stable")
    classes = found.classes[order]
    hidden = np.sort(order[(np.arange(len(order)) - np.searchsorted(classes, classes)) % 2 == 1])
    if not len(hidden):
        return None
    left = found.select(np.setdiff1d(order, hidden))
    hidden_only = found.select(hidden)
    is_hidden = np.zeros(learner.n_features, dtype=bool)
    is_hidden[hidden_only.columns] = True
    truth = _posteriors_of_keywords(learner.documents, hidden_only, learner)
    rows = np.flatnonzero(np.diff(truth.indptr) > 0)
    expected = truth[rows].toarray().argmax(axis=1)
    masked = learner.documents.filter_entries(~is_hidden[learner.documents.indices])
    other = replace(learner, documents=masked)
    matched = _posteriors_of_keywords(masked, left, other)
    judged = (masked.binarize() if learner.is_binary else masked).take(rows)
    shares = []
    for n in (0, steps):
        scores = other.compile(other.learn(matched, left, n, jobs)).scores(
            judged.indptr, judged.indices, judged.counts
        )
        shares.append(float((scores.argmax(axis=1) == expected).mean()))
    return shares[0], shares[1]

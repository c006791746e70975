"""Training on unlabeled documents and keywords of each label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics, log_prior
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.expectation_maximization import NEGLIGIBLE, ExpectationMaximization
from nbtext.bayes.leave_one_out import AT_ONCE
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.bayes.smoothing import Selection
from nbtext.documents.batch import check_label
from nbtext.documents.recognition import HEAD_BYTES, name_binary, recognize
from nbtext.errors import InputError, SettingsError
from nbtext.features.analyzer import Analyzer
from nbtext.features.document_counts import DocumentCounts, concatenate
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import TrainedModel, make_trained_model
from nbtext.model.fitting import fit_model
from nbtext.model.growth import calibrate

if TYPE_CHECKING:
    from scipy.sparse import csr_array

KEYWORD_MODEL = "multinomial"
SMOOTHING = 0.1
PSEUDO_SHARE = 5  # each label has n / (PSEUDO_SHARE · K) pseudo-documents, of n documents and K labels
HINT = 'write TOML (spam = ["free", "prize money"]), or CSV: a label, then its words'


def read_keywords(path: str) -> dict[str, tuple[str, ...]]:
    """Return the words and phrases of each label in a TOML file (.toml), or in a CSV file.

    A line of CSV is a label and its words. Several lines may have the same label. A first line `label,words` is a
    header.

    raises  InputError: the file cannot be read, a line is wrong, a word has two labels, or there is only one label
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except UnicodeDecodeError:
        raise _refuse_bytes(path) from None
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read: {what}", where=path, hint="check the path") from None
    found = _read_toml(text, path) if path.lower().endswith(".toml") else _read_csv(text, path)
    labels: dict[str, str] = {}
    for label, words in found.items():
        check_label(label, where=path)
        for word in words:
            if labels.setdefault(word.lower(), label) != label:
                what = f"{word!r} is a keyword of {labels[word.lower()]!r} and of {label!r}"
                raise InputError(what, where=path, hint="keep it for one of them")
    if len(found) < 2:
        raise InputError(f"keywords of two labels or more are needed; found {len(found)}", where=path, hint=HINT)
    return {label: tuple(dict.fromkeys(words)) for label, words in sorted(found.items())}


def _refuse_bytes(path: str) -> InputError:
    """Return the error for a file of keywords that is not UTF-8: a program or an image, or text in another encoding."""
    with open(path, "rb") as file:
        head = file.read(HEAD_BYTES)
    kind = recognize(head) or (name_binary(head) if b"\0" in head else None)
    return InputError("is not UTF-8", where=path, hint="save it as UTF-8") if kind is None else kind.refuse(path)


def _read_toml(text: str, path: str) -> dict[str, list[str]]:
    import tomllib

    try:
        found = tomllib.loads(text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"is not valid TOML: {error}", where=path, hint=HINT) from None
    for label, words in found.items():
        is_list = isinstance(words, list) and words and all(isinstance(word, str) and word.strip() for word in words)
        if not is_list:
            raise InputError(f"{label!r} should be a list of words", where=path, hint=HINT)
    return found


def _read_csv(text: str, path: str) -> dict[str, list[str]]:
    import csv

    found: dict[str, list[str]] = {}
    rows = csv.reader(text.splitlines(), strict=True)
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            if not any(cells) or (rows.line_num == 1 and [cell.lower() for cell in cells] == ["label", "words"]):
                continue
            if not cells[0] or not any(cells[1:]):
                raise InputError("expected a label and its words", where=f"{path}:{rows.line_num}", hint=HINT)
            found.setdefault(cells[0], []).extend(filter(None, cells[1:]))
    except csv.Error as error:
        raise InputError(f"is not valid CSV: {error}", where=f"{path}:{rows.line_num}", hint=HINT) from None
    return found


def extend_ngrams(keywords: Mapping[str, tuple[str, ...]], features: FeatureSettings) -> FeatureSettings:
    """Return the settings with n-grams that are long enough for all phrases.

    raises  SettingsError: the features are not words that can be compared with keywords
    """
    for name, is_wrong in (
        ("analyzer", features.analyzer != "word"),
        ("hash_bits", features.hash_bits is not None),
        ("separate_fields", bool(features.fields)),
    ):
        if is_wrong:
            raise SettingsError("keywords need features of words", where=name, hint="leave out this option")
    if not features.is_counting:
        raise SettingsError("keywords need counts", where="weighting", hint="leave out --weighting, --idf and --norm")
    read = Analyzer(replace(features, ngrams=(1, 1)))
    longest = max(len(read(word)) for words in keywords.values() for word in words)
    shortest = min(1, features.ngrams[0])
    return replace(features, ngrams=(shortest, max(longest, features.ngrams[1])))


class KeywordColumns(NamedTuple):
    """The keywords that occur, sorted by column.

    columns  (n_keywords,), the feature of each
    classes  (n_keywords,), the label of each
    missing  keywords that occur in no document
    """

    columns: NDArray[np.int64]
    classes: NDArray[np.int64]
    missing: tuple[str, ...]


def find_columns(
    keywords: Mapping[str, tuple[str, ...]], features: FeatureSettings, vocabulary: Vocabulary
) -> KeywordColumns:
    """Return the features of keywords; `keywords` is sorted by label.

    raises  InputError: no keyword of a label occurs in the documents
    """
    read, places = (
        Analyzer(replace(features, ngrams=(1, 1))),
        {term: column for column, term in enumerate(vocabulary.terms)},
    )
    found: dict[int, int] = {}
    missing = []
    for k, (label, words) in enumerate(keywords.items()):
        own = {word: places.get(" ".join(read(word))) for word in words}
        missing += [word for word, column in own.items() if column is None]
        found.update({column: k for column in own.values() if column is not None})
        if all(column is None for column in own.values()):
            hint = "give words that the documents contain; keywords are read like the documents, as words"
            raise InputError(f"no keyword of {label!r} occurs in the documents", where="--keywords", hint=hint)
    columns = np.array(sorted(found), dtype=np.int64)
    return KeywordColumns(columns, np.array([found[j] for j in columns.tolist()]), tuple(missing))


class KeywordFit(NamedTuple):
    """A model that is trained by keywords, and how.

    n_matched  documents that contain a keyword
    missing    keywords that occur in no document
    agreement  the share of documents with hidden keywords that are predicted as the keywords' label, before and after
               the steps of expectation-maximization; None without steps, or if no keyword can be hidden
    """

    model: TrainedModel
    n_matched: int
    missing: tuple[str, ...]
    agreement: tuple[float, float] | None


def train_with_keywords(
    keywords: Mapping[str, tuple[str, ...]],
    unlabeled: CorpusCounts,
    features: FeatureSettings,
    model_settings: ModelSettings,
    *,
    labeled: CorpusCounts | None = None,
    steps: int = 0,
    jobs: int = 1,
) -> KeywordFit:
    """Train on unlabeled documents and the keywords of each label.

    A document has the probabilities softmax(s), where s_k is the sum of the idf of the keywords of label k that it
    contains; a document without keywords weighs 0. The counts of each class are the sums of its documents' counts,
    weighted by these probabilities, and of pseudo-documents of each label, which contain all of its keywords. Labeled
    documents are added with weight 1, and calibrate the model.

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
    features, model_settings = _resolve(features, model_settings)
    if unlabeled.vocabulary is None:
        raise SettingsError("keywords need a vocabulary", where="hash_bits", hint="leave out this option")
    found = find_columns(keywords, features, unlabeled.vocabulary)
    learner = _Learner(
        unlabeled.sample, unlabeled.statistics.n_features, len(keywords), features.tf == "binary", model_settings
    )
    matched = _posteriors_of_keywords(unlabeled.sample, found, learner)
    statistics = learner.learn(matched, found, steps, jobs)
    counts = CorpusCounts(tuple(keywords), unlabeled.vocabulary, statistics, concatenate(()), 0)
    selection = Selection(Hyperparameters(model_settings.smoothing or SMOOTHING))
    if labeled is not None:
        if unknown := sorted(set(labeled.labels) - set(keywords)):
            hint = "add keywords of it, or leave out its documents"
            raise InputError(f"the label {unknown[0]!r} has no keywords", where="--keywords", hint=hint)
        alone = make_trained_model(fit_model(counts, features, model_settings, selection=selection), counts)
        calibrated = calibrate(alone, labeled, jobs=jobs).fitted
        selection = Selection(calibrated.hyperparameters, calibrated.calibration, calibrated.estimate)
        counts = counts + replace(labeled, sample=concatenate(()), sample_size=0)
    fitted = fit_model(counts, features, model_settings, jobs=jobs, selection=selection)
    n_matched = int((np.diff(matched.indptr) > 0).sum())
    agreement = _measure_agreement(learner, found, steps, jobs) if steps else None
    return KeywordFit(make_trained_model(fitted, counts), n_matched, found.missing, agreement)


def _resolve(features: FeatureSettings, settings: ModelSettings) -> tuple[FeatureSettings, ModelSettings]:
    """Return the settings of the multinomial model by which keywords train; `auto` takes binary counts.

    raises  SettingsError: the model or an option needs labeled documents
    """
    if settings.model not in (AUTO, KEYWORD_MODEL):
        hint = f"use --model {KEYWORD_MODEL}"
        raise SettingsError(f"{settings.model} cannot be trained by keywords", where="model", hint=hint)
    for name, is_given in (
        ("optimize", settings.optimize is not None),
        ("min_recall", bool(settings.min_recall)),
        ("min_precision", bool(settings.min_precision)),
        ("keep_sample", settings.keep_sample is not None),
        ("class_weight", settings.class_weight is not None),
        ("group", settings.group is not None),
    ):
        if is_given:
            raise SettingsError(
                "this option cannot be combined with --keywords", where=name, hint="leave out this option"
            )
    if settings.smoothing == 0:
        raise SettingsError("keywords need a smoothing above 0", where="smoothing", hint="leave out --smoothing")
    if settings.model == AUTO and features.tf == "count":
        features = replace(features, tf="binary")
    smoothing, prior = settings.smoothing or SMOOTHING, settings.prior or "uniform"
    return features, replace(settings, model=KEYWORD_MODEL, smoothing=smoothing, prior=prior)


def _posteriors_of_keywords(documents: DocumentCounts, found: KeywordColumns, learner: _Learner) -> csr_array:
    """Return the probabilities of labels by keywords, (n_documents, n_classes); no entries without a keyword."""
    from scipy.sparse import csr_array, vstack

    only = documents.restrict(found.columns, learner.n_features).binarize()
    n_keywords = len(found.columns)
    frequencies = np.bincount(only.indices, minlength=n_keywords)
    idf = np.log(len(documents) / np.maximum(1, frequencies))
    weights = csr_array((idf, found.classes, np.arange(n_keywords + 1)), shape=(n_keywords, learner.n_classes))
    parts = []
    for part in only.split(AT_ONCE):
        counts = csr_array((part.counts, part.indices, part.indptr), shape=(len(part), n_keywords))
        scores = (counts @ weights).toarray()
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        shares[shares < NEGLIGIBLE] = 0
        shares[scores.max(axis=1) <= 0] = 0
        parts.append(csr_array(shares))
    return vstack(parts, format="csr")


@dataclass(frozen=True, eq=False)
class _Learner:
    """Class statistics of documents whose labels are probabilities.

    documents  the unlabeled documents
    is_binary  whether a document counts each of its features once
    """

    documents: DocumentCounts
    n_features: int
    n_classes: int
    is_binary: bool
    settings: ModelSettings

    def learn(self, posteriors: csr_array, found: KeywordColumns, steps: int, jobs: int) -> ClassStatistics:
        """Return the statistics of the probabilities by keywords, or after some steps of expectation-maximization."""
        keywords = self._count_keywords(found)
        statistics = self._count(posteriors) + keywords
        if steps:
            maximization = self._maximization(steps)
            for _ in range(steps):
                posteriors, _ = maximization.compute_posteriors(self.compile(statistics), jobs)
                statistics = self._count(posteriors) + keywords
        return statistics

    def compile(self, statistics: ClassStatistics) -> LinearScorer:
        """Return the scorer of some statistics."""
        counted = statistics.binarize() if self.is_binary else statistics
        scorer = self.settings.event_model.compile(counted, smoothing=self.settings.smoothing or SMOOTHING)
        return scorer.with_prior(log_prior(counted.class_documents, self.settings.effective_prior))

    def _maximization(self, steps: int) -> ExpectationMaximization:
        rows = self.documents.binarize() if self.is_binary else self.documents
        smoothing = self.settings.smoothing or SMOOTHING
        return ExpectationMaximization(
            rows, self.settings.event_model, smoothing, self.settings.effective_prior, 1.0, steps
        )

    def _count(self, posteriors: csr_array) -> ClassStatistics:
        """Return the expected counts: those of each document, weighted by the probabilities of its labels."""
        sums = [each.transpose(self.n_features) @ posteriors for each in (self.documents.binarize(), self.documents)]
        for each in sums:
            each.sort_indices()
        indptr, classes = sums[0].indptr.astype(np.int64), sums[0].indices.astype(np.int32)
        return ClassStatistics(posteriors.sum(axis=0), indptr, classes, *(each.data.astype(float) for each in sums))

    def _count_keywords(self, found: KeywordColumns) -> ClassStatistics:
        """Return the statistics of n / (PSEUDO_SHARE · K) pseudo-documents of each label, with all of its keywords."""
        share = len(self.documents) / (PSEUDO_SHARE * self.n_classes)
        indptr = np.searchsorted(found.columns, np.arange(self.n_features + 1)).astype(np.int64)
        values = np.full(len(found.columns), share)
        of_class = np.full(self.n_classes, share)
        return ClassStatistics(of_class, indptr, found.classes.astype(np.int32), values, values)


def _measure_agreement(learner: _Learner, found: KeywordColumns, steps: int, jobs: int) -> tuple[float, float] | None:
    """Return the share of the documents with a hidden keyword that are predicted as its label, before and after the
    steps.

    Half of the keywords of each label are hidden: they are removed from the documents. None: no label has two.
    """
    order = np.argsort(found.classes, kind="stable")
    classes = found.classes[order]
    hidden = np.sort(order[(np.arange(len(order)) - np.searchsorted(classes, classes)) % 2 == 1])
    if not len(hidden):
        return None
    is_hidden = np.zeros(learner.n_features, dtype=bool)
    is_hidden[found.columns[hidden]] = True
    shown = np.setdiff1d(np.arange(len(found.columns)), hidden)
    left = KeywordColumns(found.columns[shown], found.classes[shown], ())
    hidden_only = KeywordColumns(found.columns[hidden], found.classes[hidden], ())
    truth = _posteriors_of_keywords(learner.documents, hidden_only, learner)
    rows = np.flatnonzero(np.diff(truth.indptr) > 0)
    expected = truth[rows].toarray().argmax(axis=1)
    masked = learner.documents.filter_entries(~is_hidden[learner.documents.indices])
    other = replace(learner, documents=masked)
    matched = _posteriors_of_keywords(masked, left, other)
    judged = (masked.binarize() if learner.is_binary else masked).take(rows)
    shares = []
    for n in (0, steps):
        scores = other.compile(other.learn(matched, left, n, jobs)).scores(judged.indptr, judged.indices, judged.counts)
        shares.append(float((scores.argmax(axis=1) == expected).mean()))
    return shares[0], shares[1]

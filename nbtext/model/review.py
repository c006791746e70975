"""Review of a corpus: probable label errors, duplicates, leaks, outliers, and documents that are
not text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes import label_noise
from nbtext.bayes.class_statistics import LabelSets, count_label_sets
from nbtext.bayes.conformal import (
    QUANTILE,
    Quantiles,
    log_likelihood_per_token,
    typicality,
    with_unknown_tokens,
)
from nbtext.bayes.smoothing import BLOCK_SCORES
from nbtext.documents.batch import ONE_HINT, Batch
from nbtext.documents.text_kind import describe_non_text
from nbtext.errors import InputError, ModelError
from nbtext.features.csr import Floats, Integers, entries_of, running_sums, select_class
from nbtext.features.document_counts import DocumentCounts, concatenate, number_contents
from nbtext.features.matrix_counter import require_counts
from nbtext.features.near_duplicates import NearDuplicates, find_near_duplicates
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.model.corpus_counts import ALL_HASHES, CorpusCounts, LabelSet, align_documents
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.fitting import count_unseen, leave_out_labels, make_left_out, select_features
from nbtext.model.growth import check_growth, check_undecayed
from nbtext.model.settings import FINDINGS
from nbtext.model.source_counting import CountingTask, OnBatch, ThreadExecutor
from nbtext.model.training import needs_all_documents

if TYPE_CHECKING:
    from nbtext.documents.source import Source

MAX_ROWS = 1 << 32  # documents of a block
MAX_BLOCKS = 1 << 30  # blocks of a source


@dataclass(frozen=True, slots=True)
class ReviewedDocument:
    """A document of a review.

    id        its id
    file      the file that holds it; for a file that is one document, the id
    line      its first line, or its row in a table; None if the document is a whole file
    labels    its labels; None if they are not known
    is_other  whether it belongs to the source that is compared, not to the one that is reviewed
    problem   why it is not text, such as encoded data; None for a text
    """

    id: str
    file: str
    line: int | None
    labels: tuple[str, ...] | None
    is_other: bool = False
    problem: str | None = None


@dataclass(frozen=True, eq=False)
class ReviewedCorpus:
    """The documents of one or two sources.

    documents   in the order of the sources
    unreadable  documents that could not be read
    counts      (n_documents,), the counts of `documents`, in the same order, without labels
    n_features  number of features
    vocabulary  the feature of each column; None if features are hashed
    """

    documents: list[ReviewedDocument]
    unreadable: list[ReviewedDocument]
    counts: DocumentCounts
    n_features: int
    vocabulary: Vocabulary | None


def describe_document(batch: Batch, row: int, *, is_other: bool = False) -> ReviewedDocument:
    """Return the id, the place and the labels of a document, and why it is not text."""
    labels = batch.labels_of(row)
    place = batch.place(row)
    file, _, line = place.rpartition(":")
    is_line = line.isdecimal() and (bool(file) or batch.line_numbers is not None)
    if batch.are_files or not is_line:
        file = place
        line = ""
    problem = batch.problems[row].what if row in batch.problems else None
    if problem is None and batch.matrix is None:
        problem = describe_non_text("\n".join(texts[row] for texts in batch.columns))
    number = int(line) if line.isdecimal() else None
    return ReviewedDocument(batch.ids[row], file, number, labels, is_other, problem)


def _check_counts(batch: Batch) -> Batch:
    if batch.matrix is not None:
        require_counts(batch.features, "the review")
    return batch


class ReviewReader:
    """Reads the documents of one or two sources for a review.

    features  how they are counted
    jobs      number of threads
    """

    def __init__(self, features: FeatureSettings, jobs: int = 1) -> None:
        self._task = CountingTask(features, None, is_labeled=False)
        self._executor = ThreadExecutor(jobs)
        self._described: dict[int, list[ReviewedDocument]] = {}  # by the number of their block
        self._parts: list[CorpusCounts] = []

    def read(self, source: Source, on_batch: OnBatch | None = None) -> None:
        """Count the documents of a source: first of the one that is reviewed, then of the one that
        is compared.
        """
        numbered = enumerate(
            (block.map(_check_counts) for block in source.blocks()), len(self._parts) * MAX_BLOCKS
        )
        blocks = (block.map(partial(self._describe, number)) for number, block in numbered)
        self._parts.append(self._executor.count_blocks(blocks, self._task, on_batch))

    def _describe(self, number: int, batch: Batch) -> Batch:
        """Describe the documents of a block; return those that can be read, without labels, in
        groups of one.
        """
        is_other = number >= MAX_BLOCKS
        self._described[number] = [
            describe_document(batch, row, is_other=is_other) for row in range(len(batch))
        ]
        readable = [row for row in range(len(batch)) if row not in batch.problems]
        return replace(
            batch.drop(batch.problems),
            labels=[None] * len(readable),
            label_lists=None,
            groups=[str(number * MAX_ROWS + row) for row in readable],
            line_numbers=None,
            rows=None,
        )

    def finish(self) -> ReviewedCorpus:
        """Return all documents that were read, in order."""
        counts = reduce(add, self._parts)
        numbers = np.array([], dtype=np.int64)
        if counts.sample.groups is not None:
            numbers = counts.sample.groups.astype(np.int64)
        order = np.argsort(numbers)
        readable = set(numbers.tolist())
        documents: list[ReviewedDocument] = []
        unread: list[ReviewedDocument] = []
        for number in sorted(self._described):
            for row, document in enumerate(self._described[number]):
                (documents if number * MAX_ROWS + row in readable else unread).append(document)
        rows = replace(counts.sample.take(order), groups=None)
        return ReviewedCorpus(
            documents, unread, rows, counts.statistics.n_features, counts.vocabulary
        )


@dataclass(frozen=True, eq=False)
class Judgment:
    """How probable the labels of documents are, if each has one label.

    labels        that `noise` numbers
    noise         the label noise; its rows are those of the corpus
    likelihoods   (n_documents,), log p(x) per token in nats; NaN if it is not known
    distribution  of log p(x) per token of left-out documents; None if it is not known
    """

    labels: Sequence[str]
    noise: label_noise.LabelNoise
    likelihoods: Floats
    distribution: Quantiles | None


def judge_by_others(
    corpus: ReviewedCorpus, given: Sequence[str | None], *, jobs: int = 1
) -> Judgment:
    """Judge each document with a label by all others; without any label, only the likelihoods are
    computed.

    given  (n_documents,), the label of each document; None: it has none that can be judged
    """
    labels = sorted({label for label in given if label is not None})
    classes = _number(given, labels)
    rows = np.flatnonzero(classes >= 0) if labels else np.arange(len(classes))
    counts = replace(corpus.counts.take(rows), classes=np.maximum(classes[rows], 0))
    noise = label_noise.estimate_label_noise(
        counts,
        corpus.n_features,
        max(1, len(labels)),
        is_vocabulary=corpus.vocabulary is not None,
        jobs=jobs,
    )
    likelihoods = np.full(len(classes), np.nan)
    likelihoods[rows[noise.rows]] = noise.log_likelihoods
    distribution = Quantiles.of(likelihoods[np.isfinite(likelihoods)])
    return Judgment(labels, replace(noise, rows=rows[noise.rows]), likelihoods, distribution)


def _number(given: Sequence[str | None], labels: Sequence[str]) -> NDArray[np.int32]:
    """Return the number of each label; -1 for None, and for a label that is not among `labels`."""
    numbers = {label: number for number, label in enumerate(labels)}
    return np.array(
        [-1 if label is None else numbers.get(label, -1) for label in given], dtype=np.int32
    )


@dataclass(frozen=True, eq=False)
class ModelJudge:
    """Judges the documents of a review by a model; see the module.

    model   a single-label or multi-label model of Naive Bayes
    jobs    number of threads
    """

    model: TrainedModel
    jobs: int = 1

    def __post_init__(self) -> None:
        """Raise ModelError if documents cannot be left out of the model."""
        settings = self.model.fitted.model_settings
        if settings.is_linear:
            what = f"a document cannot be left out of {settings.model} models"
            raise ModelError(what, where="-m", hint="give a Naive Bayes model, or leave out -m")
        check_growth(self.model)
        check_undecayed(self.model)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the model, sorted."""
        return self.model.fitted.labels

    def judge(self, corpus: ReviewedCorpus, given: Sequence[str | None]) -> Judgment:
        """Judge the documents of a review by a single-label model.

        given  (n_documents,), the label of each document; None: it has none that can be judged
        """
        fitted = self.model.fitted
        n_classes = len(self.labels)
        documents = align_documents(corpus.counts, corpus.vocabulary, fitted.vocabulary)
        classes = _number(given, self.labels)
        trained = self._find_trained(
            corpus, [None if label is None else (label,) for label in given]
        )
        left_out = make_left_out(fitted, trained, jobs=self.jobs)
        left_out = left_out.take(
            np.flatnonzero(np.isin(left_out.documents.hashes, documents.hashes))
        )
        is_trained = np.isin(documents.hashes, left_out.documents.hashes)
        left_out = left_out.drop_single_documents()
        is_judged = ~is_trained | np.isin(documents.hashes, left_out.documents.hashes)
        temperature = fitted.calibration.temperature
        smoothing = fitted.hyperparameters.smoothing
        if temperature is not None:
            temperature = replace(temperature, noise=0.0)
        calibration = replace(fitted.calibration, temperature=temperature)
        likelihoods = np.full(len(documents), np.nan)
        kept = []
        rows = []
        for part in _split(len(documents), n_classes):
            new = documents.take(part)
            scores = fitted.evidence(new)[0]
            n_known = new.lengths.copy()
            n_tokens = corpus.counts.totals[part]
            complete = scores.copy()
            if calibration.likelihoods is not None:
                complete = with_unknown_tokens(scores, fitted.scorer.default, n_tokens - n_known)
            places, old = _match(new.hashes, left_out.documents.hashes)
            if len(places):
                own = left_out.take(old)
                (own_scores,) = own.scores(smoothing)
                owners = np.searchsorted(own.documents.hashes, new.hashes[places])
                complete[places] = own_scores[owners]
                scores[places] = own.ignore_hapaxes(own_scores, smoothing)[owners]
                n_known[places] = own.n_known[owners]
                n_tokens[places] = own.documents.lengths[owners]
            if calibration.likelihoods is not None:
                likelihoods[part] = log_likelihood_per_token(complete, n_tokens)
            is_labeled = is_judged[part] & (classes[part] >= 0)
            rows.append(part[is_labeled])
            posterior = np.exp(calibration.log_posterior(scores[is_labeled], n_known[is_labeled]))
            kept.append(label_noise.keep_best(posterior, classes[rows[-1]]))
        likelihoods[~is_judged] = np.nan
        judged = np.concatenate(rows)
        noise = label_noise.judge_none(n_classes)
        if len(judged) and n_classes > 1:
            labels, posteriors = (np.concatenate(each) for each in zip(*kept, strict=True))
            found = label_noise.estimate_noise(posteriors, labels, classes[judged], n_classes)
            noise = label_noise.LabelNoise(judged, *found, n_classes, likelihoods[judged])
        return Judgment(self.labels, noise, likelihoods, calibration.likelihoods)

    def judge_pairs(
        self, corpus: ReviewedCorpus, given: Sequence[tuple[str, ...] | None]
    ) -> label_noise.PairNoise:
        """Judge each label of the documents of a review by a multi-label model; labels are those of
        the model.

        given  (n_documents,), the labels of each document; None: they are not known
        """
        fitted = self.model.fitted
        n_labels = len(self.labels)
        task: Any = fitted.task
        smoothing, combination = task.fit.naive_bayes
        documents = align_documents(corpus.counts, corpus.vocabulary, fitted.vocabulary)
        trained, _ = select_features(self._find_trained(corpus, given), fitted.feature_settings)
        n_hapax, _ = count_unseen(trained, fitted.feature_settings)
        left_out = leave_out_labels(trained, fitted.weighting, n_hapax)
        numbers = {label: k for k, label in enumerate(self.labels)}
        n_documents = left_out.counts.statistics.class_documents
        found = []
        for part in _split(len(documents), n_labels):
            new = documents.take(part)
            probabilities = combination.probabilities(
                task.split(fitted.evidence(new)[0]), new.lengths
            )
            others = np.tile(n_documents, (len(part), 1))
            is_given = np.zeros((len(part), n_labels), dtype=bool)
            n_known = new.lengths.copy()
            is_labeled = np.zeros(len(part), dtype=bool)
            places, old = _match(new.hashes, left_out.documents.hashes)
            if len(places):
                own = left_out.take(old)
                score = own.scores_of(smoothing)
                of_blocks = [
                    (
                        combination.probabilities(score(each), own.lengths[each.start : each.stop]),
                        each.positives,
                    )
                    for each in own.blocks
                ]
                own_probabilities, positives = (
                    np.concatenate(each) for each in zip(*of_blocks, strict=True)
                )
                contents = own.contents[np.searchsorted(own.documents.hashes, new.hashes[places])]
                probabilities[places] = own_probabilities[contents]
                others[places] -= positives.astype(np.int64)[contents]
                n_known[places] = own.lengths[contents]
            for place, row in enumerate(part.tolist()):
                is_labeled[place] = given[row] is not None
                is_given[
                    place, [numbers[label] for label in given[row] or () if label in numbers]
                ] = True
            n_kept = min(label_noise.MAX_LABELS, n_labels)
            least = np.partition(probabilities, -n_kept, axis=1)[:, -n_kept]
            rows, labels = np.nonzero((probabilities >= least[:, None]) | is_given)
            is_judged = (
                is_labeled[rows]
                & (n_known[rows] > 0)
                & (others[rows, labels] >= label_noise.MIN_DOCUMENTS)
            )
            rows = rows[is_judged]
            labels = labels[is_judged]
            found.append((part[rows], labels, is_given[rows, labels], probabilities[rows, labels]))
        rows, labels, of_given, of_pairs = (
            np.concatenate(each) for each in zip(*found, strict=True)
        )
        return label_noise.find_wrong_pairs(rows, labels, of_given, of_pairs)

    def _find_trained(
        self, corpus: ReviewedCorpus, given: Sequence[LabelSet | None]
    ) -> CorpusCounts:
        """Return the counts of the model; retained are the training documents among those of the
        review.

        If the model needs the counts of all documents, all are retained.
        """
        fitted = self.model.fitted
        counts = self.model.counts
        if needs_all_documents(fitted.feature_settings, fitted.model_settings):
            return counts
        bound = (
            ALL_HASHES
            if counts.has_all_documents
            else min(counts.below, int(counts.sample.hashes.max(initial=0)))
        )
        # all documents of the model with these hashes are known
        settled = counts.sample.below(bound)
        settled = settled.filter(np.isin(settled.hashes, corpus.counts.hashes))
        documents = align_documents(corpus.counts, corpus.vocabulary, counts.vocabulary)
        # all features are known
        is_possible = np.diff(documents.indptr) == np.diff(corpus.counts.indptr)
        is_possible &= ~(documents.hashes < np.uint64(min(bound, ALL_HASHES - 1))) & (
            bound < ALL_HASHES
        )
        names = frozenset(self.labels)
        is_possible &= np.array(
            [labels is not None and names.issuperset(labels) for labels in given], dtype=bool
        )
        earlier = counts.sets
        rows = np.flatnonzero(is_possible)
        own = [tuple(sorted(set(given[row] or ()))) for row in rows.tolist()]
        sets = sorted({*earlier, *own})
        numbers = {each: number for number, each in enumerate(sets)}
        classes = np.array([numbers[each] for each in earlier], dtype=np.int32)
        settled = replace(settled, classes=classes[settled.classes])
        others = replace(
            documents.take(rows), classes=np.array([numbers[each] for each in own], dtype=np.int32)
        )
        others = _keep_possible(others, LabelSets.of(sets, counts.labels), counts)
        sample = concatenate((settled, others))
        sample = sample.take(sample.order(sample.classes))
        return replace(
            counts, sample=sample, label_sets=None if counts.label_sets is None else tuple(sets)
        )


def _keep_possible(
    documents: DocumentCounts, sets: LabelSets, counts: CorpusCounts
) -> DocumentCounts:
    """Return the documents without copies that the counts cannot contain; their classes number
    `sets`.
    """
    # one label that all have
    everything = LabelSets(np.arange(len(sets) + 1), np.zeros(len(sets), dtype=np.int32))
    for statistics, labels in ((counts.statistics, sets), (counts.statistics.pooled, everything)):
        own = labels.take(documents.classes)
        rows = own.entry_sets
        classes = own.classes
        possible = statistics.count_possible(replace(documents.take(rows), classes=classes))
        keys = number_contents(documents)[rows] * statistics.n_classes + classes
        order = np.argsort(keys, kind="stable")
        ranks = np.empty(len(keys), dtype=np.int64)
        ranks[order] = np.arange(len(keys)) - np.searchsorted(keys[order], keys[order])
        documents = documents.filter(
            np.bincount(rows, weights=ranks >= possible, minlength=len(documents)) == 0
        )
    return (
        documents
        if counts.label_sets is None
        else documents.filter(_fits_complements(documents, sets, counts))
    )


def _fits_complements(
    documents: DocumentCounts, sets: LabelSets, counts: CorpusCounts
) -> NDArray[np.bool_]:
    """Return whether the documents of the counts without a label may be those of each document that
    lack the label.

    A document is left out together with its copies: if one may not be in the counts, none is. Only
    labels that have almost all occurrences of a feature are looked at.
    """
    statistics = counts.statistics
    contents = number_contents(documents)
    own = sets.take(documents.classes)
    labeled, n_labeled = np.unique(
        contents[own.entry_sets] * statistics.n_classes + own.classes, return_counts=True
    )
    n_copies = np.bincount(contents)[contents]
    owners = documents.entry_documents
    most = np.zeros(statistics.n_features)
    np.maximum.at(most, documents.indices, documents.counts * n_copies[owners])
    # others are not judged
    features = statistics.entry_features
    is_known = np.diff(documents.indptr) > 0
    rest = rest_documents = statistics.feature_occurrences[features] - statistics.occurrences
    if statistics.knows_documents:
        rest_documents = statistics.document_frequencies[features] - statistics.documents
    is_few = np.minimum(rest, rest_documents) < most[features]
    bounds, places = entries_of(running_sums(is_few)[statistics.indptr], documents.indices)
    rows, needed = (np.repeat(each, np.diff(bounds)) for each in (owners, documents.counts))
    keys = contents[rows] * statistics.n_classes + statistics.classes[is_few][places]
    found = np.searchsorted(labeled, keys)
    n_lacking = n_copies[rows] - np.where(
        np.append(labeled, -1)[found] == keys, np.append(n_labeled, 0)[found], 0
    )
    is_wrong = (rest[is_few][places] < needed * n_lacking) | (
        rest_documents[is_few][places] < n_lacking
    )
    return np.asarray(
        is_known & (np.bincount(rows, weights=is_wrong, minlength=len(documents)) == 0)
    )


def _split(n_documents: int, n_classes: int) -> list[Integers]:
    """Return the numbers of documents in parts whose scores fit into memory; at least one part."""
    size = max(1, BLOCK_SCORES // max(1, n_classes))
    return np.split(np.arange(n_documents), range(size, n_documents, size))


def _match(hashes: NDArray[np.uint64], trained: NDArray[np.uint64]) -> tuple[Integers, Integers]:
    """Return which documents are training documents, and which training documents are among them,
    by their hashes.
    """
    return np.flatnonzero(np.isin(hashes, trained)), np.flatnonzero(np.isin(trained, hashes))


LABEL_ERROR, CONFLICTING, DUPLICATE, NEAR_DUPLICATE, LEAK, OUTLIER, NOT_TEXT = FINDINGS
DIGITS = 6  # of a certainty; findings are sorted by it
MIN_CONFUSED = 2.0  # expected documents of a pair of labels that is reported
MIN_SHARE = 0.02  # of the documents of a label
MAX_CONFUSED = 5  # pairs of labels that are reported
MIN_LIKELIHOODS = 100  # with fewer documents, there is no 1 % quantile, so no outlier


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about one or several documents that a person should look at.

    finding       one of FINDINGS
    certainty     from 0 to 1: of a label error the probability that the label is wrong, of near
                  duplicates their Jaccard similarity, of an outlier 1 minus its typicality
    documents     the document; of duplicates all of them, each content once for near duplicates
    label         label_error: the given label; with several labels, the one to remove, or None
    likely_label  label_error: the most probable label; with several labels, the one to add, or None
    reason        not_text: what the document is instead
    """

    finding: str
    certainty: float
    documents: tuple[ReviewedDocument, ...]
    label: str | None = None
    likely_label: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ConfusedLabels:
    """A label that is often given to documents of another one.

    documents  expected number of such documents
    share      of the documents with the given label
    """

    label: str
    true_label: str
    documents: float
    share: float


@dataclass(frozen=True, slots=True)
class Review:
    """The result of a review.

    n_documents  documents of the source, read or not
    n_judged     documents whose label was judged; with several labels, labels of documents that
                 were judged
    error_rate   estimated share of wrong labels among these; None if none was judged
    confused     labels that are often given to documents of other ones, most documents first
    findings     most certain first, then by kind and place
    n_missing    with several labels: expected number of labels that documents lack; None: documents
                 have one label
    unknown_labels  labels of documents that the model lacks
    """

    n_documents: int
    n_judged: int
    error_rate: float | None
    confused: tuple[ConfusedLabels, ...]
    findings: tuple[Finding, ...]
    n_missing: float | None = None
    unknown_labels: tuple[str, ...] = ()


def review_corpus(
    corpus: ReviewedCorpus, judge: ModelJudge | None = None, *, jobs: int = 1
) -> Review:
    """Return the findings about the documents of a source. Nothing is changed.

    Parameters
    ----------
    corpus : documents of the source, and of the source that it is compared with, if there is one
    judge : the model that judges the labels; None: each document is judged by all others
    jobs : number of threads

    Raises
    ------
    InputError : the model gives each document one label, and some documents have several, or none
    """
    is_own = np.array([not document.is_other for document in corpus.documents], dtype=bool)
    own = replace(
        corpus, documents=corpus.documents[: is_own.sum()], counts=corpus.counts.filter(is_own)
    )
    known = known_labels(own.documents)
    judgment = None
    pairs = None
    has_several = (
        has_several_labels(own.documents)
        if judge is None
        else not judge.model.fitted.task.is_exclusive
    )
    if not has_several:
        given = list(map(single_label, own.documents))
        if judge is not None and has_several_labels(own.documents):
            what = (
                "the model gives each document one label, and some documents have several, or none"
            )
            hint = ONE_HINT
            raise InputError(what, hint=hint)
        judgment = (
            judge_by_others(own, given, jobs=jobs) if judge is None else judge.judge(own, given)
        )
    elif judge is None:
        pairs = judge_pairs(own)
        judgment = judge_by_others(own, main_labels(own.documents), jobs=jobs)
    else:
        pairs = judge.judge_pairs(own, [document.labels for document in own.documents])
    labels = known if judge is None else judge.labels
    near = find_near_duplicates(corpus.counts, corpus.n_features)
    findings = [
        *(_find_pair_errors(own, pairs, labels) if pairs is not None else ()),
        *(_find_label_errors(own, judgment) if judgment is not None and pairs is None else ()),
        *_find_duplicates(corpus, number_contents(corpus.counts), near),
        *(_find_outliers(own, judgment) if judgment is not None else ()),
        *_find_non_texts(corpus),
    ]
    places = {
        document: place for place, document in enumerate((*corpus.documents, *corpus.unreadable))
    }
    findings.sort(
        key=lambda each: (
            -each.certainty,
            FINDINGS.index(each.finding),
            places[each.documents[0]],
            each.label or "",
            each.likely_label or "",
        )
    )
    n_documents = len(own.documents) + sum(not document.is_other for document in corpus.unreadable)
    unknown = tuple(sorted(set(known).difference(labels)))
    if pairs is not None or judgment is None:
        assert pairs is not None  # documents are judged in one of two ways
        rate = pairs.n_wrong / pairs.n_given if pairs.n_given else None
        return Review(
            n_documents, pairs.n_given, rate, (), tuple(findings), pairs.n_missing, unknown
        )
    n_judged = len(judgment.noise.rows) if len(labels) > 1 else 0
    return Review(
        n_documents,
        n_judged,
        judgment.noise.error_rate if n_judged else None,
        tuple(_find_confused(judgment)),
        tuple(findings),
        unknown_labels=unknown,
    )


def single_label(document: ReviewedDocument) -> str | None:
    """Return the label of a document, which can be judged; None if it is not known, or if there are
    several.
    """
    return document.labels[0] if document.labels is not None and len(document.labels) == 1 else None


def has_several_labels(documents: Sequence[ReviewedDocument]) -> bool:
    """Return whether a document has several labels, or none."""
    return any(document.labels is not None and len(document.labels) != 1 for document in documents)


def known_labels(documents: Sequence[ReviewedDocument]) -> list[str]:
    """Return the labels of documents, sorted."""
    return sorted({label for document in documents for label in document.labels or ()})


def main_labels(documents: Sequence[ReviewedDocument]) -> list[str | None]:
    """Return the most frequent label of each document, "" if it has none; None if its labels are
    not known.
    """
    frequency = Counter(label for document in documents for label in document.labels or ())
    return [
        None
        if each.labels is None
        else max(each.labels, key=lambda label: (frequency[label], label), default="")
        for each in documents
    ]


def judge_pairs(corpus: ReviewedCorpus) -> label_noise.PairNoise:
    """Return which pairs of a document and a label are probably wrong; labels are numbered as in
    `known_labels`.
    """
    labels = known_labels(corpus.documents)
    rows, counts, sets = _label_documents(
        corpus, [document.labels for document in corpus.documents], labels
    )
    is_vocabulary = corpus.vocabulary is not None
    noise = label_noise.estimate_pair_noise(
        counts, sets, corpus.n_features, len(labels), is_vocabulary=is_vocabulary
    )
    return replace(noise, documents=rows[noise.documents])


def _label_documents(
    corpus: ReviewedCorpus, given: Sequence[LabelSet | None], labels: Sequence[str]
) -> tuple[Integers, DocumentCounts, LabelSets]:
    """Return the rows of the documents whose labels are known, and their counts, whose classes
    number label sets.

    given  (n_documents,), the labels of each document; None: they are not known
    """
    numbers: dict[LabelSet, int] = {}
    rows = np.array([row for row, each in enumerate(given) if each is not None], dtype=np.int64)
    own = [tuple(sorted(set(given[row] or ()))) for row in rows.tolist()]
    classes = np.array([numbers.setdefault(each, len(numbers)) for each in own], dtype=np.int32)
    return (
        rows,
        replace(corpus.counts.take(rows), classes=classes),
        LabelSets.of(list(numbers), labels),
    )


def _find_pair_errors(
    corpus: ReviewedCorpus, noise: label_noise.PairNoise, labels: Sequence[str]
) -> Iterator[Finding]:
    """Yield each label of a document that should probably be removed, or added."""
    columns = (noise.documents, noise.labels, noise.is_given, noise.wrong)
    for row, k, is_given, wrong in zip(*(column.tolist() for column in columns), strict=True):
        document = corpus.documents[row]
        names = (labels[k], None) if is_given else (None, labels[k])
        yield Finding(LABEL_ERROR, round(wrong, DIGITS), (document,), *names)


def _find_label_errors(corpus: ReviewedCorpus, judgment: Judgment) -> Iterator[Finding]:
    """Yield the documents of which another label is more probable than the given one."""
    noise = judgment.noise
    labels = judgment.labels
    columns = (noise.rows, noise.likely, noise.given_probability)
    for row, k, probability in zip(*(column.tolist() for column in columns), strict=True):
        label = single_label(corpus.documents[row])
        if label is not None and labels[k] != label:
            yield Finding(
                LABEL_ERROR,
                round(1 - probability, DIGITS),
                (corpus.documents[row],),
                label,
                labels[k],
            )


def _find_confused(judgment: Judgment) -> Iterator[ConfusedLabels]:
    """Yield the pairs of labels of which one is often given to documents of the other one."""
    noise = judgment.noise
    labels = judgment.labels
    shares = noise.expected / np.maximum(
        noise.given_documents[noise.given], np.finfo(np.float64).tiny
    )
    is_reported = (
        (noise.true != noise.given) & (noise.expected >= MIN_CONFUSED) & (shares >= MIN_SHARE)
    )
    places = np.flatnonzero(is_reported)
    for place in places[np.argsort(-noise.expected[places], kind="stable")[:MAX_CONFUSED]].tolist():
        given = labels[int(noise.given[place])]
        true = labels[int(noise.true[place])]
        yield ConfusedLabels(given, true, float(noise.expected[place]), float(shares[place]))


def _find_duplicates(
    corpus: ReviewedCorpus, contents: Integers, near: NearDuplicates
) -> Iterator[Finding]:
    """Yield groups of duplicates and near duplicates within the source, and those that the other
    source shares.
    """
    similarities: dict[int, float] = {}  # the lowest one of each group
    for (one, _), similarity in zip(near.pairs.tolist(), near.similarities.tolist(), strict=True):
        group = int(near.groups[one])
        similarities[group] = min(similarity, similarities.get(group, 1.0))
    for rows in _group(near.groups, np.diff(corpus.counts.indptr) > 0):
        by_content: defaultdict[int, list[ReviewedDocument]] = defaultdict(list)
        for row in rows:
            by_content[int(contents[row])].append(corpus.documents[row])
        for copies in by_content.values():
            yield from _describe_copies(copies)
        certainty = round(similarities.get(int(near.groups[rows[0]]), 1.0), DIGITS)
        own = [copies[0] for copies in by_content.values() if not copies[0].is_other]
        if len(own) > 1:
            yield Finding(NEAR_DUPLICATE, certainty, tuple(own))
        unmatched = [
            copies[0]
            for copies in by_content.values()
            if not copies[0].is_other and not copies[-1].is_other
        ]
        others = [copies[-1] for copies in by_content.values() if copies[-1].is_other]
        if unmatched and others:
            yield Finding(LEAK, certainty, (*unmatched, *others))


def _describe_copies(copies: list[ReviewedDocument]) -> Iterator[Finding]:
    """Yield what documents of equal content are: duplicates in the source, or also documents of the
    other one.
    """
    own = tuple(document for document in copies if not document.is_other)
    if len(own) > 1:
        is_conflict = len({frozenset(each.labels) for each in own if each.labels is not None}) > 1
        yield Finding(CONFLICTING if is_conflict else DUPLICATE, 1.0, own)
    if own and len(own) < len(copies):
        yield Finding(LEAK, 1.0, tuple(copies))


def _group(groups: Integers, is_kept: NDArray[np.bool_]) -> Iterator[list[int]]:
    """Yield the rows of each group with at least two of the kept documents, ascending."""
    members: defaultdict[int, list[int]] = defaultdict(list)
    kept = np.flatnonzero(is_kept)
    is_shared = (
        np.bincount(groups[kept], minlength=int(groups.max(initial=0)) + 1)[groups[kept]] > 1
    )
    for row in kept[is_shared].tolist():
        members[int(groups[row])].append(row)
    yield from members.values()


def _find_outliers(corpus: ReviewedCorpus, judgment: Judgment) -> Iterator[Finding]:
    """Yield documents whose likelihood per token is below the 1 % quantile."""
    if judgment.distribution is None or judgment.distribution.numbers < MIN_LIKELIHOODS:
        return
    values = typicality(judgment.likelihoods, judgment.distribution)
    for row in np.flatnonzero(values < QUANTILE).tolist():
        yield Finding(OUTLIER, round(1 - float(values[row]), DIGITS), (corpus.documents[row],))


def _find_non_texts(corpus: ReviewedCorpus) -> Iterator[Finding]:
    """Yield documents that are not text, or that could not be read."""
    sizes = np.append(np.diff(corpus.counts.indptr), np.ones(len(corpus.unreadable)))
    for document, size in zip((*corpus.documents, *corpus.unreadable), sizes.tolist(), strict=True):
        reason = document.problem or ("no word" if size == 0 else None)
        if reason is not None and not document.is_other:
            yield Finding(NOT_TEXT, 1.0, (document,), reason=reason)


HALF = 0.5  # added to each count, so that no logarithm is infinite


class TextCollector:
    """Collects the texts of some documents in a second pass over their sources; see `OnBatch`."""

    def __init__(self, wanted: frozenset[ReviewedDocument]) -> None:
        self.texts: dict[ReviewedDocument, str] = {}
        self._wanted = wanted
        self._ids = {each.id for each in wanted}

    def add(self, batch: Batch, *, is_other: bool) -> None:
        """Keep the texts of the wanted documents of a batch."""
        for row, identity in enumerate(batch.ids):
            if identity in self._ids:
                document = describe_document(batch, row, is_other=is_other)
                if document in self._wanted:
                    self.texts[document] = "\n".join(column[row] for column in batch.columns)


def weigh_words(
    corpus: ReviewedCorpus, findings: Sequence[Finding], judge: ModelJudge | None = None
) -> Iterator[dict[str, float] | None]:
    """Yield, for each label error, the log-odds of each word of the document: of the likely label
    against the given one.

    They are ratios of the shares of the documents with the word, without the document itself. With
    several labels, they compare the documents with the label and those without it. None for other
    findings, and if features are hashed.

    judge  the model whose documents are counted; None: those of the review are
    """
    weigher = _WordWeigher(corpus, judge)
    for finding in findings:
        yield (
            weigher.weigh(finding)
            if finding.finding == LABEL_ERROR and corpus.vocabulary is not None
            else None
        )


class _WordWeigher:
    def __init__(self, corpus: ReviewedCorpus, judge: ModelJudge | None) -> None:
        self._places = {document: row for row, document in enumerate(corpus.documents)}
        self._is_of_model = judge is not None
        if judge is not None:
            counts = judge.model.counts
            self._statistics = counts.statistics
            self._vocabulary = counts.vocabulary
            self._numbers = {label: number for number, label in enumerate(counts.labels)}
            self._documents = align_documents(corpus.counts, corpus.vocabulary, counts.vocabulary)
            return
        self._documents = corpus.counts
        self._vocabulary = corpus.vocabulary
        is_several = has_several_labels([each for each in corpus.documents if not each.is_other])
        documents = [
            () if is_several and each.is_other else each.labels for each in corpus.documents
        ]
        if not is_several:
            documents = [
                each if each is not None and len(each) == 1 else None for each in documents
            ]
        names = sorted({label for labels in documents for label in labels or ()})
        self._numbers = {label: number for number, label in enumerate(names)}
        _, labeled, sets = _label_documents(corpus, documents, names)
        self._statistics = count_label_sets(
            labeled, sets, n_features=corpus.n_features, n_labels=len(names)
        )

    def weigh(self, finding: Finding) -> dict[str, float]:
        """Return the log-odds of each word of the document of a label error."""
        row = self._places[finding.documents[0]]
        columns = self._documents.slice(row, row + 1).indices.astype(np.int64)
        n_own = 1  # how often the document itself is counted
        if self._is_of_model:  # a document of the model has no word that its label lacks
            n_own = int(self._count(finding.label, columns)[0].min(initial=1) > 0)
        likely = self._share(finding.likely_label, finding.label, columns, 0)
        given = self._share(finding.label, finding.likely_label, columns, n_own)
        assert self._vocabulary is not None  # else no word is weighed
        log_odds = (np.log(likely) - np.log(given)).tolist()
        return {
            self._vocabulary.term(int(j)): value for j, value in zip(columns, log_odds, strict=True)
        }

    def _count(self, label: str | None, columns: Integers) -> tuple[Floats, float]:
        """Return how many documents of a label (None: of all) have each word, and how many
        documents it has.
        """
        each = self._statistics
        if not label:
            return each.document_frequencies[columns].astype(np.float64), float(each.n_documents)
        number = self._numbers[label]
        with_word = select_class(each.indptr, each.classes, each.documents, columns, number)
        return np.asarray(with_word, dtype=np.float64), float(each.class_documents[number])

    def _share(self, label: str | None, other: str | None, columns: Integers, n_own: int) -> Floats:
        """Return the share of the documents of a label with each word, without `n_own` times the
        document itself.

        other  if there is no label: the label of which the share of all other documents is returned
        """
        with_word, size = self._count(label or other, columns)
        if label is None:
            with_total, total = self._count(None, columns)
            with_word = with_total - with_word
            size = total - size
        return np.asarray((with_word - n_own + HALF) / (size - n_own + 2 * HALF))

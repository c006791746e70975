"""Review of a corpus: probable label errors, duplicates, leaks, outliers, and documents that are
not text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial, reduce
from itertools import zip_longest
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from nbtext.applications.review import label_noise
from nbtext.applications.review.near_duplicates import NearDuplicates, find_near_duplicates
from nbtext.applications.review.settings import FINDINGS
from nbtext.applications.review.text_kind import describe_non_text
from nbtext.arrays import Floats, Integers, Mask
from nbtext.bayes.class_statistics import LabelSets
from nbtext.bayes.conformal import (
    QUANTILE,
    Quantiles,
    typicality,
)
from nbtext.documents.batch import Batch
from nbtext.features.document_counts import DocumentCounts, number_contents
from nbtext.features.matrix_counter import require_counts
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.model.corpus_counts import CorpusCounts, LabelSet
from nbtext.model.source_counting import CountingTask, OnBatch, ThreadExecutor, source_features
from nbtext.records import frozen

if TYPE_CHECKING:
    from nbtext.documents.source import Source

MAX_ROWS = 1 << 32  # documents of a block
MAX_BLOCKS = 1 << 30  # blocks of a source


@frozen
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


@frozen(eq=False)
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

    @property
    def own(self) -> ReviewedCorpus:
        """The documents of the source that is reviewed, which are the first ones."""
        own = [document for document in self.documents if not document.is_other]
        return replace(self, documents=own, counts=self.counts.slice(0, len(own)))


def describe_document(batch: Batch, row: int, *, is_other: bool = False) -> ReviewedDocument:
    """Return the id, the place and the labels of a document, and why it is not text."""
    labels = batch.list_labels()[row]
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
        self.features = features
        self._executor = ThreadExecutor(jobs)
        # by the numbers of their blocks and rows
        self._documents: dict[int, ReviewedDocument] = {}
        self._parts: list[CorpusCounts] = []

    def read(self, source: Source, on_batch: OnBatch | None = None) -> None:
        """Count the documents of a source: first of the one that is reviewed, then of the one that
        is compared.
        """
        if not self._parts:
            self.features = source_features(source, self.features)
        task = CountingTask(self.features, None, is_labeled=False)
        first = len(self._parts) * MAX_BLOCKS
        blocks = (
            block.map(_check_counts).map(partial(self._describe, number))
            for number, block in enumerate(source.blocks(), first)
        )
        self._parts.append(self._executor.count_blocks(blocks, task, on_batch))

    def _describe(self, block: int, batch: Batch) -> Batch:
        """Describe the documents of a block; return those that can be read, without labels, in
        groups of one.
        """
        groups = []
        for row in range(len(batch)):
            number = block * MAX_ROWS + row
            is_other = block >= MAX_BLOCKS
            self._documents[number] = describe_document(batch, row, is_other=is_other)
            if row not in batch.problems:
                groups.append(str(number))
        return replace(
            batch.drop(batch.problems),
            labels=[None] * len(groups),
            groups=groups,
            line_numbers=None,
            rows=None,
        )

    def finish(self) -> ReviewedCorpus:
        """Return all documents, in order."""
        counts = reduce(add, self._parts)
        rows = counts.sample
        groups = rows.groups if rows.groups is not None else np.zeros(0)
        numbers = groups.astype(np.int64)
        order = np.argsort(numbers)
        rows = replace(rows.take(order), groups=None)
        read = [self._documents.pop(number) for number in numbers[order].tolist()]
        unread = [self._documents[number] for number in sorted(self._documents)]
        return ReviewedCorpus(read, unread, rows, counts.statistics.n_features, counts.vocabulary)


@frozen(eq=False)
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
    numbers = {label: number for number, label in enumerate(labels)}
    classes = np.array([-1 if each is None else numbers[each] for each in given], dtype=np.int32)
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
    return Judgment(labels, noise._replace(rows=rows[noise.rows]), likelihoods, distribution)


LABEL_ERROR, CONFLICTING, DUPLICATE, NEAR_DUPLICATE, LEAK, OUTLIER, NOT_TEXT = FINDINGS
DIGITS = 6  # of a certainty; findings are sorted by it
MIN_CONFUSED = 2.0  # expected documents of a pair of labels that is reported
MIN_SHARE = 0.02  # of the documents of a label
MAX_CONFUSED = 5  # pairs of labels that are reported
MIN_LIKELIHOODS = 100  # with fewer documents, there is no 1 % quantile, so no outlier


@frozen
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


@frozen
class ConfusedLabels:
    """A label that is often given to documents of another one.

    documents  expected number of such documents
    share      of the documents with the given label
    """

    label: str
    true_label: str
    documents: float
    share: float


@frozen
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
    """

    n_documents: int
    n_judged: int
    error_rate: float | None
    confused: tuple[ConfusedLabels, ...]
    findings: tuple[Finding, ...]
    n_missing: float | None = None


def review_corpus(corpus: ReviewedCorpus, *, jobs: int = 1) -> Review:
    """Return the findings about the documents of a source. Nothing is changed.

    corpus  documents of the source, and of the source that it is compared with, if there is one
    jobs    number of threads
    """
    own = corpus.own
    pairs = judge_pairs(own) if has_several_labels(own.documents) else None
    given = list(map(single_label, own.documents)) if pairs is None else main_labels(own.documents)
    judgment = judge_by_others(own, given, jobs=jobs)
    near = find_near_duplicates(corpus.counts, corpus.n_features)
    findings = [
        *(_find_label_errors(own, judgment) if pairs is None else _find_pair_errors(own, pairs)),
        *_find_duplicates(corpus, number_contents(corpus.counts), near),
        *_find_outliers(own, judgment),
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
    if pairs is not None:
        rate = pairs.n_wrong / pairs.n_given if pairs.n_given else None
        return Review(n_documents, pairs.n_given, rate, (), tuple(findings), pairs.n_missing)
    n_judged = len(judgment.noise.rows) if len(judgment.labels) > 1 else 0
    rate = judgment.noise.error_rate if n_judged else None
    return Review(n_documents, n_judged, rate, tuple(find_confused(judgment)), tuple(findings))


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
    rows, counts, sets = _label_documents(corpus)
    is_vocabulary = corpus.vocabulary is not None
    noise = label_noise.estimate_pair_noise(
        counts, sets, corpus.n_features, len(labels), is_vocabulary=is_vocabulary
    )
    return noise._replace(documents=rows[noise.documents])


def _label_documents(corpus: ReviewedCorpus) -> tuple[Integers, DocumentCounts, LabelSets]:
    """Return the rows of the documents whose labels are known, and their counts, whose classes
    number label sets.
    """
    numbers: dict[LabelSet, int] = {}
    known = {
        row: each.labels for row, each in enumerate(corpus.documents) if each.labels is not None
    }
    classes = [
        numbers.setdefault(tuple(sorted(set(labels))), len(numbers)) for labels in known.values()
    ]
    rows = np.array(list(known), dtype=np.int64)
    counts = replace(corpus.counts.take(rows), classes=np.array(classes, dtype=np.int32))
    return rows, counts, LabelSets.of(list(numbers), known_labels(corpus.documents))


def _find_pair_errors(corpus: ReviewedCorpus, noise: label_noise.PairNoise) -> Iterator[Finding]:
    """Yield each label of a document that should probably be removed, or added."""
    labels = known_labels(corpus.documents)
    columns = (noise.documents, noise.labels, noise.is_given, noise.wrong)
    for row, k, is_given, wrong in zip(*(column.tolist() for column in columns), strict=True):
        names = (labels[k], None) if is_given else (None, labels[k])
        yield Finding(LABEL_ERROR, round(wrong, DIGITS), (corpus.documents[row],), *names)


def _find_label_errors(corpus: ReviewedCorpus, judgment: Judgment) -> Iterator[Finding]:
    """Yield the documents of which another label is more probable than the given one."""
    noise = judgment.noise
    columns = (noise.rows, noise.likely, 1 - noise.given_probability)
    for row, k, wrong in zip(*(column.tolist() for column in columns), strict=True):
        document = corpus.documents[row]
        label = single_label(document)
        if label is not None and judgment.labels[k] != label:
            names = (label, judgment.labels[k])
            yield Finding(LABEL_ERROR, round(wrong, DIGITS), (document,), *names)


def find_confused(judgment: Judgment) -> Iterator[ConfusedLabels]:
    """Yield the pairs of labels of which one is often given to documents of the other one."""
    noise = judgment.noise
    labels = judgment.labels
    n_given = np.bincount(noise.given, noise.expected)[noise.given]
    shares = noise.expected / np.maximum(n_given, np.finfo(np.float64).tiny)
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
    lowest = np.ones(len(near.groups))  # similarity of each group
    np.minimum.at(lowest, near.groups[near.pairs[:, 0]], near.similarities)
    members: defaultdict[int, list[int]] = defaultdict(list)
    for row in np.flatnonzero(np.diff(corpus.counts.indptr)).tolist():
        members[int(near.groups[row])].append(row)
    for group, rows in members.items():
        by_content: defaultdict[int, list[ReviewedDocument]] = defaultdict(list)
        for row in rows:
            by_content[int(contents[row])].append(corpus.documents[row])
        for copies in by_content.values():
            yield from _describe_copies(copies)
        certainty = round(float(lowest[group]), DIGITS)
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


def _find_outliers(corpus: ReviewedCorpus, judgment: Judgment) -> Iterator[Finding]:
    """Yield documents whose likelihood per token is below the 1 % quantile."""
    if judgment.distribution is None or judgment.distribution.numbers < MIN_LIKELIHOODS:
        return
    values = typicality(judgment.likelihoods, judgment.distribution)
    for row in np.flatnonzero(values < QUANTILE).tolist():
        yield Finding(OUTLIER, round(1 - float(values[row]), DIGITS), (corpus.documents[row],))


def _find_non_texts(corpus: ReviewedCorpus) -> Iterator[Finding]:
    """Yield documents that are not text, or that could not be read."""
    sizes = np.diff(corpus.counts.indptr).tolist()
    for document, size in zip_longest((*corpus.documents, *corpus.unreadable), sizes):
        reason = document.problem or ("no word" if size == 0 else None)
        if reason is not None and not document.is_other:
            yield Finding(NOT_TEXT, 1.0, (document,), reason=reason)


HALF = 0.5  # added to each count, so that no logarithm is infinite


def find_texts(
    batch: Batch, wanted: Mapping[str, Collection[ReviewedDocument]], *, is_other: bool
) -> Iterator[tuple[ReviewedDocument, str]]:
    """Yield the wanted documents of a batch, and their texts.

    wanted  by their ids
    """
    for row, identity in enumerate(batch.ids):
        if identity in wanted:
            document = describe_document(batch, row, is_other=is_other)
            if document in wanted[identity]:
                yield document, "\n".join(column[row] for column in batch.columns)


def weigh_words(
    corpus: ReviewedCorpus, findings: Sequence[Finding]
) -> Iterator[dict[str, float] | None]:
    """Yield, for each label error, the log-odds of each word of the document: of the likely label
    against the given one.

    They are ratios of the shares of the documents of the source with the word, without the document
    itself. With several labels, they compare the documents with the label and those without it.
    None for other findings, and if features are hashed.
    """
    own = corpus.own
    places = {document: row for row, document in enumerate(own.documents)}
    has_word = own.counts.binarize().matrix(own.n_features).tocsc()
    is_labeled = np.array([document.labels is not None for document in own.documents])

    @cache
    def has(label: str) -> Mask:
        return np.array([label in (document.labels or ()) for document in own.documents])

    for finding in findings:
        if finding.finding != LABEL_ERROR or own.vocabulary is None:
            yield None
            continue
        row = places[finding.documents[0]]
        columns = own.counts.slice(row, row + 1).indices
        shares = []
        for label, other in (
            (finding.likely_label, finding.label),
            (finding.label, finding.likely_label),
        ):
            # the documents with the label, or those without the other one
            is_compared = is_labeled & (has(label) if label is not None else ~has(other or ""))
            is_compared[row] = False
            n_with_word = is_compared.astype(np.int64) @ has_word[:, columns]
            shares.append((n_with_word + HALF) / (is_compared.sum() + 2 * HALF))
        terms = map(own.vocabulary.term, columns.tolist())
        yield dict(zip(terms, np.log(shares[0] / shares[1]).tolist(), strict=True))

"""Review of a corpus: probable label errors, duplicates, leaks, outliers, and documents that are
not text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import cache, partial, reduce
from operator import add

import numpy as np

from nbtext.applications.review import label_noise
from nbtext.applications.review.near_duplicates import NearDuplicates, find_near_duplicates
from nbtext.applications.review.settings import FINDINGS
from nbtext.applications.review.text_kind import describe_non_text
from nbtext.arrays import Floats, Integers, Mask
from nbtext.bayes.class_statistics import LabelSets
from nbtext.bayes.conformal import QUANTILE, Quantiles, typicality
from nbtext.documents.batch import Batch, ReadCount
from nbtext.documents.source import Source
from nbtext.errors import InputError
from nbtext.features.document_table import DocumentTable, number_contents
from nbtext.features.matrix_counter import require_counts
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.model.corpus_counts import CorpusCounts, LabelSet
from nbtext.model.source_counting import CountingTask, OnBatch, count_blocks, source_features
from nbtext.numerics import log
from nbtext.records import Strings, frozen, frozen_object

MAX_BLOCK_ROWS = 1 << 32  # documents of a block
MAX_BLOCKS = 1 << 30  # blocks of a source
MAX_SHOWN_TEXT = 40  # of a text that are kept to be shown


@frozen
class ReviewedDocument:
    """A document of a review.

    number   its place in the order of the sources: that of its row, and of its block times
             MAX_BLOCK_ROWS
    id       its id
    place    FILE:LINE, or the file that it is
    labels   its labels; None if they are not known
    problem  why it is not text, such as encoded data; None for a text
    text     its first MAX_SHOWN_TEXT; empty if it could not be read, or is a row of a matrix
    """

    number: int
    id: str
    place: str
    labels: Strings | None
    problem: str | None = None
    text: str = ""

    @property
    def is_other(self) -> bool:
        """Whether it belongs to the source that is compared, not to the one that is reviewed."""
        return self.number >= MAX_BLOCKS * MAX_BLOCK_ROWS


@frozen_object
class ReviewedCorpus:
    """The documents of one or two sources.

    documents   in the order of the sources
    counts      (n_documents,), the counts of `documents`, in the same order, without labels
    n_features  number of features
    vocabulary  the feature of each column; None if features are hashed
    """

    documents: list[ReviewedDocument]
    counts: DocumentTable
    n_features: int
    vocabulary: Vocabulary | None

    @property
    def own(self) -> ReviewedCorpus:
        """The documents of the source that is reviewed, which are the first ones."""
        own = [document for document in self.documents if not document.is_other]
        return replace(self, documents=own, counts=self.counts.slice(0, len(own)))


class ReviewReader:
    """Reads the documents of one or two sources for a review.

    features  how they are counted
    jobs      number of threads
    """

    def __init__(self, features: FeatureSettings, jobs: int = 1) -> None:
        self.features = features
        self._jobs = jobs
        self._documents: dict[int, ReviewedDocument] = {}  # by their numbers
        self._parts: list[CorpusCounts] = []
        # of the documents of one source that cannot be read, by their numbers
        self._problems: dict[int, InputError] = {}

    def read(self, source: Source, on_batch: OnBatch | None = None) -> None:
        """Count the documents of a source: first of the one that is reviewed, then of the one that
        is compared.
        """
        if not self._parts:
            self.features = source_features(source, self.features)
        task = CountingTask(self.features, None, is_labeled=False)
        first = len(self._parts) * MAX_BLOCKS
        n_before = len(self._documents)
        self._problems = {}
        blocks = (
            block.map(partial(self._describe, number))
            for number, block in enumerate(source.blocks(), first)
        )
        self._parts.append(count_blocks(blocks, task, self._jobs, on_batch))
        n_documents = len(self._documents) - n_before
        first_problem = self._problems.get(min(self._problems, default=0))
        ReadCount(n_documents, len(self._problems), first_problem).check()

    def _describe(self, block: int, batch: Batch) -> Batch:
        """Describe the documents of a block; return them without labels, in groups of one. One that
        cannot be read has no words.
        """
        if batch.matrix is not None:
            require_counts(batch.features, "the review")
        numbers = range(block * MAX_BLOCK_ROWS, block * MAX_BLOCK_ROWS + len(batch))
        known = batch.list_labels()
        for row, number in enumerate(numbers):
            labels = known[row]
            problem = None
            text = ""
            if row in batch.problems:
                labels = None
                problem = batch.problems[row].what
                self._problems[number] = batch.problems[row]
            elif batch.matrix is None:
                text = "\n".join(texts[row] for texts in batch.columns)
                problem = describe_non_text(text)
            self._documents[number] = ReviewedDocument(
                number, batch.ids[row], batch.place(row), labels, problem, text[:MAX_SHOWN_TEXT]
            )
        return replace(
            batch,
            problems={},
            row_numbers=numbers,
            line_numbers=None,
            rows=None,
        )

    def finish(self) -> ReviewedCorpus:
        """Return all documents, in order."""
        counts = reduce(add, self._parts)
        rows = counts.sample
        if rows.rows is not None:
            rows = rows.in_source_order()
        documents = [self._documents[number] for number in sorted(self._documents)]
        return ReviewedCorpus(documents, rows, counts.statistics.n_features, counts.vocabulary)


LABEL_ERROR, CONFLICTING, DUPLICATE, NEAR_DUPLICATE, LEAK, OUTLIER, NOT_TEXT = FINDINGS
CERTAINTY_DIGITS = 6  # of a certainty; findings are sorted by it
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
class ReviewResult:
    """The result of a review.

    n_documents  documents of the source, read or not
    n_judged     labels of documents that were judged
    n_wrong      estimated number of these that are wrong
    n_missing    with several labels: expected number of labels that documents lack; None: documents
                 have one label
    findings     most certain first, then by kind and place
    """

    n_documents: int
    n_judged: int
    n_wrong: float
    n_missing: float | None
    findings: tuple[Finding, ...]


def review_corpus(corpus: ReviewedCorpus, *, jobs: int = 1) -> ReviewResult:
    """Return the findings about the documents of a source. Nothing is changed.

    corpus  documents of the source, and of the source that it is compared with, if there is one
    jobs    number of threads
    """
    own = corpus.own
    labels, noise, likelihoods = judge_main_labels(own, jobs)
    # a document has several labels, or none
    if any(each.labels is not None and len(each.labels) != 1 for each in own.documents):
        labels, noise = judge_pairs(own)
    near = find_near_duplicates(corpus.counts, corpus.n_features)
    findings = [
        *_find_label_errors(own, labels, noise),
        *_find_duplicates(corpus, number_contents(corpus.counts), near),
        *_find_outliers(own, likelihoods),
    ]
    for document, size in zip(own.documents, np.diff(own.counts.indptr), strict=True):
        if reason := document.problem or ("" if size else "no word"):
            findings.append(Finding(NOT_TEXT, 1.0, (document,), reason=reason))
    findings.sort(
        key=lambda each: (
            -each.certainty,
            FINDINGS.index(each.finding),
            each.documents[0].number,
        )
    )
    return ReviewResult(
        len(own.documents), noise.n_judged, noise.n_wrong, noise.n_missing, tuple(findings)
    )


def judge_main_labels(
    corpus: ReviewedCorpus, jobs: int = 1
) -> tuple[list[str], label_noise.LabelNoise, Floats]:
    """Judge the most frequent label of each document by all others ("" if it has none); without any
    label, only the likelihoods are computed.

    Returns the labels; how probably those of the documents are wrong; and log p(x) of each document
    per token in nats, NaN if it is not known.
    """
    frequency = Counter(label for each in corpus.documents for label in each.labels or ())
    given = {
        row: max(each.labels, key=lambda label: (frequency[label], label), default="")
        for row, each in enumerate(corpus.documents)
        if each.labels is not None
    }
    labels = sorted(set(given.values()))
    numbers = {label: number for number, label in enumerate(labels)}
    rows = np.array(list(given) if labels else range(len(corpus.documents)), dtype=np.int64)
    classes = np.array([numbers[label] for label in given.values()] or [0] * len(rows))
    counts = replace(corpus.counts.take(rows), classes=classes.astype(np.int32))
    noise, found = label_noise.estimate_label_noise(
        counts,
        corpus.n_features,
        max(1, len(labels)),
        is_vocabulary=corpus.vocabulary is not None,
        jobs=jobs,
    )
    noise = noise._replace(rows=rows[noise.rows])
    likelihoods = np.full(len(corpus.documents), np.nan)
    likelihoods[noise.rows] = found
    return labels, noise, likelihoods


def judge_pairs(corpus: ReviewedCorpus) -> tuple[list[str], label_noise.LabelNoise]:
    """Return the labels, and which pairs of a document and a label are probably wrong."""
    labels = sorted({label for each in corpus.documents for label in each.labels or ()})
    numbers: dict[LabelSet, int] = {}
    classes = {
        row: numbers.setdefault(tuple(sorted(set(each.labels))), len(numbers))
        for row, each in enumerate(corpus.documents)
        if each.labels is not None
    }
    rows = np.array(list(classes), dtype=np.int64)
    noise = label_noise.estimate_pair_noise(
        replace(corpus.counts.take(rows), classes=np.array(list(classes.values()), dtype=np.int32)),
        LabelSets.of(list(numbers), labels),
        corpus.n_features,
        len(labels),
        is_vocabulary=corpus.vocabulary is not None,
    )
    return labels, noise._replace(rows=rows[noise.rows])


def _find_label_errors(
    corpus: ReviewedCorpus, labels: list[str], noise: label_noise.LabelNoise
) -> Iterator[Finding]:
    """Yield the documents of which another label is more probable than the given one, or one label
    should probably be removed, or added.
    """
    names = dict(enumerate(labels))
    columns = (noise.rows, noise.given, noise.likely, noise.wrong)
    for row, given, likely, wrong in zip(*(column.tolist() for column in columns), strict=True):
        if given != likely:
            documents = (corpus.documents[row],)
            certainty = round(wrong, CERTAINTY_DIGITS)
            yield Finding(LABEL_ERROR, certainty, documents, names.get(given), names.get(likely))


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
            own = tuple(document for document in copies if not document.is_other)
            if len(own) > 1:
                known = {frozenset(each.labels) for each in own if each.labels is not None}
                yield Finding(CONFLICTING if len(known) > 1 else DUPLICATE, 1.0, own)
            if own and len(own) < len(copies):  # it is also there
                yield Finding(LEAK, 1.0, tuple(copies))
        # documents of the source precede those of the other one
        first = tuple(copies[0] for copies in by_content.values() if not copies[0].is_other)
        unmatched = [copies[0] for copies in by_content.values() if not copies[-1].is_other]
        others = [copies[-1] for copies in by_content.values() if copies[-1].is_other]
        certainty = round(float(lowest[group]), CERTAINTY_DIGITS)
        if len(first) > 1:
            yield Finding(NEAR_DUPLICATE, certainty, first)
        if unmatched and others:
            yield Finding(LEAK, certainty, (*unmatched, *others))


def _find_outliers(corpus: ReviewedCorpus, likelihoods: Floats) -> Iterator[Finding]:
    """Yield documents whose likelihood per token is below the 1 % quantile."""
    distribution = Quantiles.of(likelihoods[np.isfinite(likelihoods)])
    if distribution is None or distribution.numbers < MIN_LIKELIHOODS:
        return
    values = typicality(likelihoods, distribution)
    for row in np.flatnonzero(values < QUANTILE).tolist():
        yield Finding(
            OUTLIER, round(1 - float(values[row]), CERTAINTY_DIGITS), (corpus.documents[row],)
        )


COUNT_CORRECTION = 0.5  # added to each count, so that no logarithm is infinite


def find_texts(source: Source, number: int, wanted: Set[int]) -> Iterator[tuple[int, str]]:
    """Yield the numbers of the wanted documents of a source, and their texts.

    number  0 for the source that is reviewed, 1 for the one that is compared
    """
    for block, batch in enumerate(source.batches(), number * MAX_BLOCKS):
        for row in range(len(batch)):
            place = block * MAX_BLOCK_ROWS + row
            if place in wanted:
                yield place, "\n".join(texts[row] for texts in batch.columns)


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
    places = {document.number: row for row, document in enumerate(own.documents)}
    has_word = own.counts.binarize().matrix(own.n_features).tocsc()
    is_labeled = np.array([document.labels is not None for document in own.documents])

    @cache
    def has(label: str) -> Mask:
        return np.array([label in (document.labels or ()) for document in own.documents])

    for finding in findings:
        if finding.finding != LABEL_ERROR or own.vocabulary is None:
            yield None
            continue
        row = places[finding.documents[0].number]
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
            shares.append(
                (n_with_word + COUNT_CORRECTION) / (is_compared.sum() + 2 * COUNT_CORRECTION)
            )
        terms = map(own.vocabulary.term, columns.tolist())
        yield dict(zip(terms, log(shares[0] / shares[1]).tolist(), strict=True))

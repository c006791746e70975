"""Review of a corpus: probable label errors, duplicates, leaks, outliers, and documents that are not text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.label_sets import LabelSets
from nbtext.bayes.outliers import QUANTILE, typicality
from nbtext.bayes.pair_noise import PairNoise, estimate_pair_noise
from nbtext.documents.batch import ONE_HINT
from nbtext.errors import InputError
from nbtext.features.document_counts import number_contents
from nbtext.features.near_duplicates import NearDuplicates, find_near_duplicates
from nbtext.model.review_judgment import Judgment, ModelJudge, judge_by_others
from nbtext.model.review_reading import ReviewedCorpus, ReviewedDocument
from nbtext.model.settings import FINDINGS

LABEL_ERROR, CONFLICTING, DUPLICATE, NEAR_DUPLICATE, LEAK, OUTLIER, NOT_TEXT = FINDINGS
DIGITS = 6  # of a certainty; findings are sorted by it
MIN_CONFUSED = 2.0  # expected documents of a pair of labels that is reported
MIN_SHARE = 0.02  # of the documents of a label
MAX_CONFUSED = 5  # pairs of labels that are reported
MIN_DOCUMENTS = 100  # with fewer documents, there is no 1 % quantile, so no outlier


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about one or several documents that a person should look at.

    finding       one of FINDINGS
    certainty     from 0 to 1: of a label error the probability that the label is wrong, of near duplicates their
                  Jaccard similarity, of an outlier 1 minus its typicality
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
    n_judged     documents whose label was judged; with several labels, labels of documents that were judged
    error_rate   estimated share of wrong labels among these; None if none was judged
    confused     labels that are often given to documents of other ones, most documents first
    findings     most certain first, then by kind and place
    n_missing    with several labels: expected number of labels that documents lack; None: documents have one label
    unknown_labels  labels of documents that the model lacks
    """

    n_documents: int
    n_judged: int
    error_rate: float | None
    confused: tuple[ConfusedLabels, ...]
    findings: tuple[Finding, ...]
    n_missing: float | None = None
    unknown_labels: tuple[str, ...] = ()


def review_corpus(corpus: ReviewedCorpus, judge: ModelJudge | None = None, *, jobs: int = 1) -> Review:
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
    own = replace(corpus, documents=corpus.documents[: is_own.sum()], counts=corpus.counts.filter(is_own))
    known, judgment, pairs = known_labels(own.documents), None, None
    has_several = has_several_labels(own.documents) if judge is None else judge.is_multilabel
    if not has_several:
        given = list(map(single_label, own.documents))
        if judge is not None and has_several_labels(own.documents):
            what, hint = "the model gives each document one label, and some documents have several, or none", ONE_HINT
            raise InputError(what, hint=hint)
        judgment = judge_by_others(own, given, jobs=jobs) if judge is None else judge.judge(own, given)
    elif judge is None:
        pairs, judgment = judge_pairs(own), judge_by_others(own, main_labels(own.documents), jobs=jobs)
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
    places = {document: place for place, document in enumerate((*corpus.documents, *corpus.unreadable))}
    findings.sort(
        key=lambda each: (
            -each.certainty, FINDINGS.index(each.finding), places[each.documents[0]], each.label or "",
            each.likely_label or "",
        )
    )  # fmt: skip
    n_unread = sum(not document.is_other for document in corpus.unreadable)
    n_documents = len(own.documents) + n_unread
    unknown = tuple(sorted(set(known).difference(labels)))
    if pairs is not None or judgment is None:
        assert pairs is not None  # documents are judged in one of two ways
        rate = pairs.n_wrong / pairs.n_given if pairs.n_given else None
        return Review(n_documents, pairs.n_given, rate, (), tuple(findings), pairs.n_missing, unknown)
    n_judged = len(judgment.noise.rows) if len(labels) > 1 else 0
    return Review(
        n_documents, n_judged, judgment.noise.error_rate if n_judged else None, tuple(_find_confused(judgment)),
        tuple(findings), unknown_labels=unknown,
    )  # fmt: skip


def single_label(document: ReviewedDocument) -> str | None:
    """Return the label of a document, which can be judged; None if it is not known, or if there are several."""
    return document.labels[0] if document.labels is not None and len(document.labels) == 1 else None


def has_several_labels(documents: Sequence[ReviewedDocument]) -> bool:
    """Return whether a document has several labels, or none."""
    return any(document.labels is not None and len(document.labels) != 1 for document in documents)


def known_labels(documents: Sequence[ReviewedDocument]) -> list[str]:
    """Return the labels of documents, sorted."""
    return sorted({label for document in documents for label in document.labels or ()})


def main_labels(documents: Sequence[ReviewedDocument]) -> list[str | None]:
    """Return the most frequent label of each document, "" if it has none; None if its labels are not known."""
    frequency = Counter(label for document in documents for label in document.labels or ())
    return [
        None if each.labels is None else max(each.labels, key=lambda label: (frequency[label], label), default="")
        for each in documents
    ]


def judge_pairs(corpus: ReviewedCorpus) -> PairNoise:
    """Return which pairs of a document and a label are probably wrong; labels are numbered as in `known_labels`."""
    labels, numbers = known_labels(corpus.documents), dict[tuple[str, ...], int]()
    rows = [row for row, document in enumerate(corpus.documents) if document.labels is not None]
    given = [tuple(sorted(set(corpus.documents[row].labels or ()))) for row in rows]
    classes = np.array([numbers.setdefault(each, len(numbers)) for each in given], dtype=np.int32)
    counts = replace(corpus.counts.take(np.array(rows, dtype=np.int64)), classes=classes)
    noise = estimate_pair_noise(
        counts, LabelSets.of(list(numbers), labels), corpus.n_features, len(labels),
        is_vocabulary=corpus.vocabulary is not None,
    )  # fmt: skip
    return replace(noise, documents=np.array(rows, dtype=np.int64)[noise.documents])


def _find_pair_errors(corpus: ReviewedCorpus, noise: PairNoise, labels: Sequence[str]) -> Iterator[Finding]:
    """Yield each label of a document that should probably be removed, or added."""
    for row, k, is_given, wrong in zip(
        noise.documents.tolist(), noise.labels.tolist(), noise.is_given.tolist(), noise.wrong.tolist(), strict=True
    ):
        document, names = corpus.documents[row], (labels[k], None) if is_given else (None, labels[k])
        yield Finding(LABEL_ERROR, round(wrong, DIGITS), (document,), *names)


def _find_label_errors(corpus: ReviewedCorpus, judgment: Judgment) -> Iterator[Finding]:
    """Yield the documents of which another label is more probable than the given one."""
    noise, labels = judgment.noise, judgment.labels
    for row, k, probability in zip(
        noise.rows.tolist(), noise.likely.tolist(), noise.given_probability.tolist(), strict=True
    ):
        label = single_label(corpus.documents[row])
        if label is not None and labels[k] != label:
            yield Finding(LABEL_ERROR, round(1 - probability, DIGITS), (corpus.documents[row],), label, labels[k])


def _find_confused(judgment: Judgment) -> Iterator[ConfusedLabels]:
    """Yield the pairs of labels of which one is often given to documents of the other one."""
    noise, labels = judgment.noise, judgment.labels
    shares = noise.expected / np.maximum(noise.given_documents[noise.given], np.finfo(np.float64).tiny)
    is_reported = (noise.true != noise.given) & (noise.expected >= MIN_CONFUSED) & (shares >= MIN_SHARE)
    places = np.flatnonzero(is_reported)
    for place in places[np.argsort(-noise.expected[places], kind="stable")[:MAX_CONFUSED]].tolist():
        given, true = labels[int(noise.given[place])], labels[int(noise.true[place])]
        yield ConfusedLabels(given, true, float(noise.expected[place]), float(shares[place]))


def _find_duplicates(corpus: ReviewedCorpus, contents: NDArray[np.int64], near: NearDuplicates) -> Iterator[Finding]:
    """Yield groups of duplicates and near duplicates within the source, and those that the other source shares."""
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
        unmatched = [copies[0] for copies in by_content.values() if not copies[0].is_other and not copies[-1].is_other]
        others = [copies[-1] for copies in by_content.values() if copies[-1].is_other]
        if unmatched and others:
            yield Finding(LEAK, certainty, (*unmatched, *others))


def _describe_copies(copies: list[ReviewedDocument]) -> Iterator[Finding]:
    """Yield what documents of equal content are: duplicates in the source, or also documents of the other one."""
    own = tuple(document for document in copies if not document.is_other)
    if len(own) > 1:
        is_conflict = len({frozenset(each.labels) for each in own if each.labels is not None}) > 1
        yield Finding(CONFLICTING if is_conflict else DUPLICATE, 1.0, own)
    if own and len(own) < len(copies):
        yield Finding(LEAK, 1.0, tuple(copies))


def _group(groups: NDArray[np.int64], is_kept: NDArray[np.bool_]) -> Iterator[list[int]]:
    """Yield the rows of each group with at least two of the kept documents, ascending."""
    members: defaultdict[int, list[int]] = defaultdict(list)
    kept = np.flatnonzero(is_kept)
    is_shared = np.bincount(groups[kept], minlength=int(groups.max(initial=0)) + 1)[groups[kept]] > 1
    for row in kept[is_shared].tolist():
        members[int(groups[row])].append(row)
    yield from members.values()


def _find_outliers(corpus: ReviewedCorpus, judgment: Judgment) -> Iterator[Finding]:
    """Yield documents whose likelihood per token is below the 1 % quantile."""
    if judgment.distribution is None or judgment.distribution.numbers < MIN_DOCUMENTS:
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

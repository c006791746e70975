"""Leave-one-out scores of a corpus that several steps need: each document is scored once with each smoothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.bayes.scorer import Floats
from nbtext.features.document_counts import EMPTY_HASH, DocumentCounts, concatenate
from nbtext.parallel import parallel_calls


class ScoredCorpus:
    """The documents of a corpus that can be left out, each scored at most once with each smoothing.

    corpus        the documents whose labels have other documents too, and that share a word with another document
    unanswered    those that share none, so that a model of the others gives them no label; None: none
    n_unjudged    number of documents that are the only ones of their label
    n_duplicates  number of documents that repeat another one
    """

    def __init__(
        self, corpus: LeaveOneOut, unanswered: LeaveOneOut | None = None, *, n_unjudged: int = 0, n_duplicates: int = 0
    ) -> None:
        self.corpus = corpus
        self.unanswered = corpus.slice(0, 0) if unanswered is None else unanswered
        self.n_unjudged = n_unjudged
        self.n_duplicates = n_duplicates
        self._scores: dict[float, list[Floats]] = {}

    @classmethod
    def of(cls, corpus: LeaveOneOut, size: int | None = None) -> ScoredCorpus:
        """Return about the first `size` documents of a corpus; None: all."""
        complete, is_told = corpus.complete(), corpus.empty is not None and corpus.empty.any() and corpus.is_new is None
        if is_told:  # then the documents without a token, which are the last ones, are added below
            complete = complete.slice(0, int(np.searchsorted(complete.documents.hashes, np.uint64(EMPTY_HASH))))
        first = complete if size is None else complete.first(size)
        judged = first.drop_single_documents()
        n_unjudged, n_duplicates = len(first.documents) - len(judged.documents), first.n_duplicates
        unanswered, is_known = None, judged.is_known
        if not is_known.all():
            judged, unanswered = (judged.take(np.flatnonzero(each)) for each in (is_known, ~is_known))
        if is_told:
            empty, n_last = _represent_empty(corpus, len(first.documents))
            n_unjudged, n_duplicates = n_unjudged + n_last, n_duplicates + max(0, len(empty.documents) + n_last - 1)
            unanswered = empty if unanswered is None else _join(unanswered, empty)
        return cls(judged, unanswered, n_unjudged=n_unjudged, n_duplicates=n_duplicates)

    def __len__(self) -> int:
        return len(self.corpus.documents)

    def scores(self, size: int, *smoothings: float) -> list[Floats]:
        """Return the leave-one-out scores of about the first `size` documents, (n, n_classes) for each smoothing."""
        score_first([self], size, [smoothings], jobs=self.corpus.jobs)
        stop = len(self.corpus.first(size).documents)
        return [self._joined(smoothing)[:stop] for smoothing in smoothings]

    def _joined(self, smoothing: float) -> Floats:
        parts = self._scores[smoothing]
        if len(parts) > 1:
            parts[:] = [np.concatenate(parts)]
        return parts[0]

    def missing(self, size: int, smoothings: Sequence[float]) -> Iterator[tuple[LeaveOneOut, list[float]]]:
        """Yield those of about the first `size` documents, with the smoothings, for which there are no scores yet."""
        stop = len(self.corpus.first(size).documents)
        starts = [sum(map(len, self._scores.setdefault(smoothing, []))) for smoothing in smoothings]
        for start in sorted(set(starts)):
            if start < stop:
                own = [smoothing for smoothing, known in zip(smoothings, starts, strict=True) if known == start]
                yield self.corpus.slice(start, stop), own

    def keep(self, *smoothings: float) -> None:
        """Release the memory of all scores but those with these smoothings."""
        self._scores = {smoothing: self._scores[smoothing] for smoothing in smoothings}

    def add(self, smoothings: Sequence[float], scores: Floats) -> None:
        """Add the scores of the next documents, (n_smoothings, n, n_classes)."""
        for smoothing, found in zip(smoothings, scores, strict=True):
            self._scores[smoothing].append(found)


def _represent_empty(corpus: LeaveOneOut, n_others: int) -> tuple[LeaveOneOut, int]:
    """Return as large a share of the documents without a token as `n_others` are of the other documents.

    All of them have the same hash, so that a sample of documents may hold none of them. Those of a label that no other
    document has cannot be judged, and are only counted.
    """
    documents, statistics, empty = corpus.documents, corpus.statistics, corpus.empty
    assert empty is not None
    n_all = statistics.n_documents - int(empty.sum())
    numbers = np.rint(empty * n_others / n_all).astype(np.int64) if n_all else empty
    is_judged = statistics.class_documents > empty
    classes = np.repeat(np.arange(len(empty), dtype=np.int32), numbers * is_judged)
    zeros = np.zeros(len(classes))
    represented = DocumentCounts(
        np.zeros(len(classes) + 1, dtype=np.int64), documents.indices[:0], documents.counts[:0], classes,
        np.full(len(classes), EMPTY_HASH, dtype=np.uint64),
        token_lengths=None if documents.token_lengths is None else zeros,
    )  # fmt: skip
    n_hapax, n_features = (None if each is None else zeros for each in (corpus.n_hapax, corpus.n_hapax_features))
    found = replace(corpus, documents=represented, n_hapax=n_hapax, n_hapax_features=n_features)
    return found, int(numbers[~is_judged].sum())


def _join(one: LeaveOneOut, other: LeaveOneOut) -> LeaveOneOut:
    """Return the documents of both parts of a corpus; the hashes of the second part are larger."""
    columns = ((one.n_hapax, other.n_hapax), (one.n_hapax_features, other.n_hapax_features))
    n_hapax, n_features = (None if a is None or b is None else np.concatenate((a, b)) for a, b in columns)
    documents = concatenate((replace(one.documents, groups=None), other.documents))
    return replace(one, documents=documents, n_hapax=n_hapax, n_hapax_features=n_features)


def score_first(
    corpora: Sequence[ScoredCorpus], size: int, smoothings: Sequence[Sequence[float]], *, jobs: int
) -> None:
    """Score about the first `size` documents of some corpora, each with its own smoothings, in `jobs` threads."""
    number = jobs // math.gcd(jobs, len(corpora))  # of parts of each corpus, so that all threads have the same work
    parts = [
        (corpus, own, part)
        for corpus, each in zip(corpora, smoothings, strict=True)
        for missing, own in corpus.missing(size, each)
        for part in missing.cut(number)
    ]
    found = parallel_calls([partial(part.scores, *own) for _, own, part in parts], jobs=jobs)
    for (corpus, own, _), scores in zip(parts, found, strict=True):
        corpus.add(own, scores)

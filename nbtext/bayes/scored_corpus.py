"""Leave-one-out scores of a corpus that several steps need: each document is scored once with each smoothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.bayes.scorer import Floats
from nbtext.parallel import parallel_calls


class ScoredCorpus:
    """The documents of a corpus that can be left out, each scored at most once with each smoothing.

    corpus        the documents whose labels have other documents too
    n_unjudged    number of the other ones
    n_duplicates  number of documents that repeat another one
    """

    def __init__(self, corpus: LeaveOneOut, *, n_unjudged: int = 0, n_duplicates: int = 0) -> None:
        self.corpus = corpus
        self.n_unjudged = n_unjudged
        self.n_duplicates = n_duplicates
        self._scores: dict[float, list[Floats]] = {}

    @classmethod
    def of(cls, corpus: LeaveOneOut, size: int | None = None) -> ScoredCorpus:
        """Return about the first `size` documents of a corpus; None: all."""
        first = corpus.complete() if size is None else corpus.complete().first(size)
        judged = first.drop_single_documents()
        n_unjudged = len(first.documents) - len(judged.documents)
        return cls(judged, n_unjudged=n_unjudged, n_duplicates=first.n_duplicates)

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

"""Exact leave-one-out scores: the scores of each training document under the model of all others,
in one pass.

Documents with equal content are left out together, each from its own class. Otherwise a document's
duplicates would predict it, and the estimate for new texts would be too high. Where texts repeat by
nature, such as short phrases, a second estimate leaves out each document alone (`alone`): it is for
texts that repeat as they do here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, cast

import numpy as np

from nbtext.arrays import Array, Floats, Integers, Integers32, Mask
from nbtext.bayes.class_statistics import ClassStatistics, Prior, count_classes, log_priors
from nbtext.bayes.diagnostics import error_of
from nbtext.bayes.event_model import EventModel, LeftOut, sum_unseen
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.features.csr import entries_of, run_starts
from nbtext.features.document_table import (
    EMPTY_HASH,
    DocumentTable,
    concatenate,
    number_contents,
)
from nbtext.records import LazyProperty, Strings, frozen_object

SCORE_ROUNDING = 1e-9  # of a score, in nats


class LeftOutDocuments:
    """Some documents of a corpus, in the order of their hashes, which are left out of it with their
    duplicates.

    statistics   of the corpus
    documents    of the corpus
    n_hapax      (n_documents,), number of tokens of each document whose feature occurs only in it
                 and its duplicates; None: the vocabulary is hashed or given, so no feature is out
                 of vocabulary
    is_new       (n_documents,), which documents are not part of the corpus; None: none
    """

    COLUMNS: ClassVar[Strings] = ("n_hapax",)  # fields with a value for each document

    statistics: ClassStatistics
    documents: DocumentTable
    n_hapax: Array | None
    is_new: Mask | None = None

    @property
    def is_old(self) -> Mask:
        """Whether each document is part of the corpus, (n_documents,)."""
        return np.ones(len(self.documents), bool) if self.is_new is None else ~self.is_new

    @LazyProperty
    def contents(self) -> Integers:
        """A number for the content of each document, (n_documents,)."""
        return number_contents(self.documents)

    def leave_out(
        self,
        documents: DocumentTable,
        contents: Integers,
        members: tuple[Integers, Integers32],
    ) -> LeftOut:
        """Return what is left out with each of some documents.

        contents  (n,), the number of the content of each document; one that no document of the
                  corpus has: nothing is left out
        members   pairs of a document of the corpus and one of its classes: the documents, and the
                  classes
        """
        n_classes = max(1, self.statistics.n_classes)
        owners, classes = members
        keys = self.contents[owners] * n_classes + classes
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        starts = run_starts(keys)
        of_pairs, own = np.divmod(keys[starts], n_classes)
        bounds = np.searchsorted(of_pairs, np.arange(len(self.documents) + 2))
        indptr, pairs = entries_of(bounds, contents)
        all_copies = np.append(self._copies_of_contents, 0)[contents]
        multiplicities = self.documents.multiplicities[owners][order]
        copies = np.add.reduceat(multiplicities, starts) if len(starts) else multiplicities
        own_classes = own[pairs].astype(np.int32)
        ignores_unseen = self.n_hapax is not None
        return LeftOut(documents, all_copies, indptr, own_classes, copies[pairs], ignores_unseen)

    @LazyProperty
    def _copies_of_contents(self) -> Array:
        """The number of documents of the corpus with each content, (n_documents,)."""
        return count_copies(self.documents, self.contents, self.is_old)

    @LazyProperty
    def copies(self) -> Array:
        """The number of documents of the corpus with the content of each document, (n_documents,);
        0 for a new one.
        """
        return self._copies_of_contents[self.contents] * self.is_old

    @property
    def alone(self) -> Self:
        """The same documents, each of which is left out without its duplicates: no two have the
        same hash.

        The features of a document that has a duplicate stay in the vocabulary.
        """
        hashes = np.arange(len(self.documents), dtype=np.uint64)
        is_single = self.copies <= 1
        return self._change(
            replace(self.documents, hashes=hashes), lambda column: column * is_single
        )

    def estimate_other(self, share: float, measure: Callable[[Integers], float]) -> float | None:
        """Return an estimate for which each document is left out without its duplicates; None if it
        differs from the one without all of them by no more than its error.

        share    the estimate without all duplicates, a share of the documents
        measure  returns the other estimate; its argument is the documents that have duplicates
        """
        error = error_of(share, len(self.documents))
        repeated = np.flatnonzero((self.copies > 1) & (np.diff(self.documents.indptr) > 0))
        # the parts of a soft label cannot be told from duplicates
        is_weighed = self.documents.weights is not None
        if is_weighed or self.is_new is not None or len(repeated) <= error * len(self.documents):
            return None
        other = measure(repeated)
        return other if abs(other - share) > error else None

    def take(self, documents: Integers) -> Self:
        """Return only these documents; they must include all duplicates of each."""
        return self._change(self.documents.take(documents), lambda column: column[documents])

    def slice(self, start: int, stop: int) -> Self:
        """Return only the documents from `start` up to `stop`, whose counts are not copied; see
        `take`.
        """
        return self._change(self.documents.slice(start, stop), lambda column: column[start:stop])

    def _change(self, documents: DocumentTable, change: Callable[[Array], Array]) -> Self:
        """Return other documents, with another array in place of each of COLUMNS."""
        changed = {
            name: change(column)
            for name in self.COLUMNS
            if (column := getattr(self, name)) is not None
        }
        found: Self = replace(cast(Any, self), documents=documents, **changed)
        return found

    def first(self, size: int) -> Self:
        """Return about the first `size` documents, up to the end of a group of duplicates."""
        return (
            self
            if size >= len(self.documents)
            else self.slice(0, len(self.documents.first(max(1, size))))
        )

    def split(self, size: int, start: int = 0) -> Iterator[Self]:
        """Yield the documents from `start` on in parts of about `size`, each up to the end of a
        group of duplicates.
        """
        hashes = self.documents.hashes
        while start < len(hashes):
            last = hashes[min(start + size, len(hashes)) - 1]
            stop = int(np.searchsorted(hashes, last, "right"))
            yield self.slice(start, stop)
            start = stop


@frozen_object
class LeaveOneOut(LeftOutDocuments):
    """The documents of a corpus, for leave-one-out scores with one event model and prior.

    A feature that occurs only in a document and its duplicates is out of vocabulary when they are
    left out. It is ignored for the label, and used only for the likelihood of the document.

    statistics  sufficient statistics of the corpus for the event model
    documents   of the corpus, in the order of their hashes
    n_hapax     (n_documents,), number of tokens of each document whose feature occurs only in it
                and its duplicates; None: the vocabulary is hashed or given, so no feature is out of
                vocabulary
    is_new      (n_documents,), which documents are not part of the corpus; None: none
    empty       (n_classes,), documents of each class of the corpus without a token; None: those
                among the documents
    hapax_sums  (n_documents,), the sum of the counts or weights of the features that `n_hapax`
                counts, in `documents`; None: `n_hapax`
    """

    COLUMNS: ClassVar[Strings] = ("n_hapax", "is_new", "hapax_sums")

    statistics: ClassStatistics
    documents: DocumentTable
    n_hapax: Array | None
    model: EventModel
    prior: Prior
    jobs: int = 1
    is_new: Mask | None = None
    empty: Array | None = None
    hapax_sums: Array | None = None

    @LazyProperty
    def left_out(self) -> LeftOut:
        """What is left out with each document; nothing with a new one."""
        old = np.flatnonzero(self.is_old)
        contents = np.where(self.is_old, self.contents, len(self.documents))
        return self.leave_out(self.documents, contents, (old, self.documents.classes[old]))

    @property
    def n_duplicates(self) -> int:
        """The number of documents of the corpus that repeat another one: all minus the distinct
        ones.
        """
        copies = self._copies_of_contents
        return round(float((copies - 1)[copies > 1].sum()))

    def complete(self) -> LeaveOneOut:
        """Return a sample without its last group of duplicates if that may be incomplete, because
        the sample ends there.

        The group is complete if one of its features occurs in no other document.
        """
        hashes = self.documents.hashes
        if (
            self.is_new is not None
            or self.documents.n_documents >= self.statistics.n_documents
            or len(hashes) == 0
        ):
            return self
        start = int(np.searchsorted(hashes, hashes[-1]))
        last = self.documents.slice(start, len(hashes))
        features = last.indices[last.indptr[-2] :]
        frequencies = self.statistics.document_frequencies[features]
        return (
            self
            if len(features) > 0 and frequencies.min() <= last.n_documents
            else self.slice(0, start)
        )

    def drop_single_documents(self) -> LeaveOneOut:
        """Return only the documents whose labels have other documents too."""
        left_out = self.left_out
        alone = left_out.rows[left_out.copies >= self.statistics.class_documents[left_out.classes]]
        return self.take(np.delete(np.arange(len(left_out)), alone)) if len(alone) else self

    def scores(self, *smoothings: float) -> Floats:
        """Return the scores of each document under the model of all documents with other content.

        The scores of counts equal those of refitted models to 1e-9, those of weights up to the
        rounding of their sums. The vocabulary, the labels, the idf and the ε of a gaussian model
        are those of the whole corpus. A class without another document has score −∞, unless the
        prior does not depend on the documents.

        Returns
        -------
        (n_smoothings, n_documents, n_classes), log P(document, class) where the model is generative
        """
        left_out = replace(self.left_out, jobs=self.jobs)
        scores = self.model.leave_one_out(self.statistics, left_out, smoothings=smoothings)
        return scores + self.log_priors()

    @property
    def n_known(self) -> Array:
        """The number of tokens of each document that are in the vocabulary of the others, shape
        (n_documents,).
        """
        return self.documents.lengths - (0 if self.n_hapax is None else self.n_hapax)

    @property
    def lengths(self) -> Array | None:
        """The same; None if lengths are not known, as in a matrix of weights."""
        return self.n_known if self.documents.has_lengths else None

    def log_priors(self) -> Floats:
        """Return the log-probabilities of labels for each document.

        They are those of all documents: without a document, its own label would be the less
        probable one, and where labels have few documents, that alone would decide. Shape
        (n_documents, n_classes); −∞ of a class without another document.
        """
        n_documents = self.statistics.class_documents
        remaining = self.left_out.subtract(n_documents, np.ones(len(self.left_out), np.int64))
        return log_priors(n_documents * (remaining > 0), self.prior)

    def scores_without(self, rows: Integers, smoothing: float) -> Floats:
        """Return the scores of the other documents, each under the model of all documents but it
        and these rows, (n_others, n_classes), without the priors of the labels.
        """
        statistics = self.statistics
        gone = count_classes(self.documents.take(rows), statistics.n_features, statistics.n_classes)
        others = self.take(np.delete(np.arange(len(self.documents)), rows))
        left_out = replace(others.left_out, jobs=self.jobs)
        found: Floats = self.model.leave_one_out(
            statistics - gone, left_out, smoothings=[smoothing]
        )[0]
        return found

    def judge(self, scores: Floats, smoothing: float) -> JudgedDocuments:
        """Return the documents with these scores, without features that are out of vocabulary."""
        known = self.ignore_hapaxes(scores, smoothing)
        documents = self.documents
        return JudgedDocuments(
            known, self.lengths, documents.classes, documents.times, self.contents
        )

    def ignore_hapaxes(self, scores: Floats, smoothing: float) -> Floats:
        """Return the scores (n_documents, n_classes) without features that are out of
        vocabulary.
        """
        weigh = self.model.out_of_vocabulary
        if weigh is None or self.n_hapax is None or not self.n_hapax.any():
            return scores
        counts = self.n_hapax if self.hapax_sums is None else self.hapax_sums
        weights = weigh(self.statistics, self.left_out, smoothing=smoothing)
        known = scores - counts[:, None] * weights
        # what is left of documents without a known word may be rounding errors alone, which depend
        # on the label, and would decide between equal priors
        rows = np.flatnonzero(self.n_known <= 0)
        if len(rows):
            priors = self.take(rows).log_priors()
            is_prior = np.isclose(known[rows], priors, rtol=0, atol=SCORE_ROUNDING)
            known[rows] = np.where(is_prior, priors, known[rows])
        return known


def count_hapaxes(
    statistics: ClassStatistics, documents: DocumentTable, is_new: Mask | None = None
) -> Floats:
    """Return the sum of the counts (or weights) of the features that occur only in each document
    and its duplicates, (n_documents,).

    is_new  (n_documents,), which documents are not part of the statistics; they have none; None:
            all are part of them
    """
    contents = number_contents(documents)
    is_old = np.ones(len(documents), bool) if is_new is None else ~is_new
    copies = count_copies(documents, contents, is_old)[contents] * is_old
    return sum_unseen(documents, copies, statistics.document_frequencies)


def count_copies(documents: DocumentTable, contents: Integers, is_old: Mask) -> Array:
    """Return how many documents there are of each content, (n_documents,).

    contents  (n_documents,), a number for the content of each
    is_old    (n_documents,), which of them are counted
    """
    if documents.weights is None:
        return np.bincount(contents[is_old], minlength=len(documents))
    multiplicities = documents.multiplicities * is_old
    copies = np.zeros(len(documents), multiplicities.dtype)
    np.add.at(copies, contents, multiplicities)
    return copies


class ScoredCorpus:
    """The documents of a corpus that can be left out, each scored at most once with each smoothing.

    corpus        the documents whose labels have other documents too
    n_unjudged    number of documents that are the only ones of their label
    n_duplicates  number of documents that repeat another one
    """

    def __init__(self, corpus: LeaveOneOut, *, n_unjudged: int = 0, n_duplicates: int = 0) -> None:
        self.corpus = corpus
        self.n_unjudged = n_unjudged
        self.n_duplicates = n_duplicates
        self._scores: dict[float, Floats] = {}

    @classmethod
    def of(cls, corpus: LeaveOneOut, size: int | None = None) -> ScoredCorpus:
        """Return about the first `size` documents of a corpus; None: all."""
        complete = corpus.complete()
        is_told = corpus.empty is not None and corpus.empty.any() and corpus.is_new is None
        if is_told:  # then the documents without a token, which are the last ones, are added below
            complete = complete.slice(
                0, int(np.searchsorted(complete.documents.hashes, np.uint64(EMPTY_HASH)))
            )
        first = complete if size is None else complete.first(size)
        judged = first.drop_single_documents()
        n_unjudged = len(first.documents) - len(judged.documents)
        n_duplicates = first.n_duplicates
        if is_told:
            empty, n_last = _represent_empty(corpus, len(first.documents))
            n_unjudged += n_last
            n_duplicates += max(0, len(empty.documents) + n_last - 1)
            judged = _join(judged, empty)
        return cls(judged, n_unjudged=n_unjudged, n_duplicates=n_duplicates)

    def __len__(self) -> int:
        return len(self.corpus.documents)

    def scores(self, size: int, *smoothings: float) -> list[Floats]:
        """Return the leave-one-out scores of about the first `size` documents, (n, n_classes) for
        each smoothing.
        """
        stop = len(self.corpus.first(size).documents)
        known = {smoothing: len(self._scores.get(smoothing, ())) for smoothing in smoothings}
        for start in sorted(set(known.values())):
            own = [smoothing for smoothing in smoothings if known[smoothing] == start]
            if start < stop:
                self.add(own, self.corpus.slice(start, stop).scores(*own))
        return [self._scores[smoothing][:stop] for smoothing in smoothings]

    def keep(self, *smoothings: float) -> None:
        """Release the memory of all scores but those with these smoothings."""
        self._scores = {smoothing: self._scores[smoothing] for smoothing in smoothings}

    def add(self, smoothings: Sequence[float], scores: Floats) -> None:
        """Add the scores of the next documents, (n_smoothings, n, n_classes)."""
        for smoothing, found in zip(smoothings, scores, strict=True):
            known = self._scores.get(smoothing)
            self._scores[smoothing] = found if known is None else np.concatenate((known, found))


def _represent_empty(corpus: LeaveOneOut, n_others: int) -> tuple[LeaveOneOut, int]:
    """Return as large a share of the documents without a token as `n_others` are of the other
    documents.

    All of them have the same hash, so that a sample of documents may hold none of them. Those of a
    label that no other document has cannot be judged, and are only counted.
    """
    documents = corpus.documents
    statistics = corpus.statistics
    empty = corpus.empty
    assert empty is not None
    n_all = statistics.n_documents - int(empty.sum())
    numbers = np.rint(empty * n_others / n_all).astype(np.int64) if n_all else empty
    is_judged = statistics.class_documents > empty
    classes = np.repeat(np.arange(len(empty), dtype=np.int32), numbers * is_judged)
    zeros = np.zeros(len(classes))
    represented = DocumentTable(
        np.zeros(len(classes) + 1, np.int64),
        documents.indices[:0],
        documents.counts[:0],
        classes,
        np.full(len(classes), EMPTY_HASH, np.uint64),
        token_lengths=None if documents.token_lengths is None else zeros,
    )
    n_hapax = None if corpus.n_hapax is None else zeros
    found = replace(corpus, documents=represented, n_hapax=n_hapax, hapax_sums=n_hapax)
    return found, int(numbers[~is_judged].sum())


def _join(one: LeaveOneOut, other: LeaveOneOut) -> LeaveOneOut:
    """Return the documents of both parts of a corpus; the hashes of the second part are larger."""
    columns: dict[str, Any] = {
        name: np.concatenate((column, getattr(other, name)))
        for name in one.COLUMNS
        if (column := getattr(one, name)) is not None
    }
    documents = concatenate(
        [replace(part.documents, rows=None, groups=None) for part in (one, other)]
    )
    return replace(one, documents=documents, **columns)

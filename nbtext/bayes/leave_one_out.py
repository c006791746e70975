"""Exact leave-one-out scores: the scores of each training document under the model of all others, in one pass.

Documents with equal content are left out together, each from its own class. Otherwise a document's duplicates would
predict it, and the estimate for new texts would be too high. Where texts repeat by nature, such as short phrases, a
document can be left out alone instead (`is_separate`): then the estimate is for texts that repeat as they do here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics, Prior, WeightedPrior, log_prior, log_priors
from nbtext.bayes.event_model import EventModel, LeftOut
from nbtext.bayes.scorer import Floats
from nbtext.features.csr import run_starts
from nbtext.features.document_counts import DocumentCounts, count_copies, number_contents
from nbtext.parallel import parallel_calls
from nbtext.records import dataclass

AT_ONCE = 4096  # rows that one thread scores at once


@dataclass(frozen=True, eq=False)
class DuplicateGroups:
    """Documents grouped by content.

    groups      (n_documents,), the group of each document
    rows        (n_documents,), its row in `left_out`
    left_out    one row for each distinct pair of content and class
    row_groups  (n_rows,), the group of each row, ascending
    """

    groups: NDArray[np.int64]
    rows: NDArray[np.int64]
    left_out: LeftOut
    row_groups: NDArray[np.int64]

    def spread(self, scores: Floats) -> Floats:
        """Return the scores (..., n_rows, n_classes) for each document, shape (..., n_documents, n_classes).

        A row's own class is scored without its copies. If its content is in other classes too, the scores of those
        classes come from the rows that belong to them.
        """
        classes = self.left_out.documents.classes
        is_mixed = self.left_out.copies < self.left_out.all_copies
        if is_mixed.any():
            scores = scores.copy()
            mixed = self.row_groups[is_mixed]
            for group in mixed[run_starts(mixed)].tolist():
                rows = np.arange(*np.searchsorted(self.row_groups, [group, group + 1]))
                scores[..., rows[:, None], classes[rows][None, :]] = scores[..., rows, classes[rows]][..., None, :]
        return scores if len(self.rows) == scores.shape[-2] and not self.has_duplicates else scores[..., self.rows, :]

    def slice(self, start: int, stop: int) -> DuplicateGroups:
        """Return the groups of the documents from `start` up to `stop`, which are in the order of their groups."""
        groups = self.groups[start:stop]
        if not len(groups):
            return DuplicateGroups(groups, self.rows[:0], self.left_out.slice(0, 0), self.row_groups[:0])
        first, last = np.searchsorted(self.row_groups, [groups[0], groups[-1] + 1]).tolist()
        row_groups = self.row_groups[first:last] - groups[0]
        left_out = self.left_out.slice(first, last)
        return DuplicateGroups(groups - groups[0], self.rows[start:stop] - first, left_out, row_groups)

    @property
    def has_duplicates(self) -> bool:
        return len(self.left_out) < len(self.groups) or bool((self.rows != np.arange(len(self.rows))).any())


def group_duplicates(documents: DocumentCounts, *, is_separate: bool = False) -> DuplicateGroups:
    """Group documents of equal content; `is_separate`: each document is a group of its own."""
    n = len(documents)
    if is_separate or (documents.hashes[1:] > documents.hashes[:-1]).all():  # all differ, as in most samples
        rows, copies = np.arange(n), np.ones(n, dtype=np.int64)
        return DuplicateGroups(rows, rows, LeftOut(documents, copies, copies), rows)
    groups = number_contents(documents)
    order = np.lexsort((documents.classes, groups))
    of_group, classes = groups[order], documents.classes[order]
    is_new_row = np.ones(n, dtype=bool)
    is_new_row[1:] = (of_group[1:] != of_group[:-1]) | (classes[1:] != classes[:-1])
    row_of = np.cumsum(is_new_row) - 1
    rows = np.empty(n, dtype=np.int64)
    rows[order] = row_of
    first, row_groups = order[is_new_row], of_group[is_new_row]
    distinct = documents if len(first) == n and (first == np.arange(n)).all() else documents.take(first)
    copies, all_copies = np.bincount(row_of, minlength=len(first)), np.bincount(groups)
    return DuplicateGroups(groups, rows, LeftOut(distinct, copies, all_copies[row_groups]), row_groups)


def score_new(
    statistics: ClassStatistics,
    documents: DocumentCounts,
    *,
    model: EventModel,
    smoothings: Sequence[float],
    prior: Prior = "empirical",
) -> Floats:
    """Return the scores of documents that are not in the statistics, shape (n_smoothings, n_documents, n_classes)."""
    scorers = [model.compile(statistics, smoothing=smoothing) for smoothing in smoothings]
    scores = [scorer.scores(documents.indptr, documents.indices, documents.counts) for scorer in scorers]
    return np.stack(scores) + log_prior(statistics.class_documents, prior)


def leave_one_out(
    statistics: ClassStatistics,
    documents: DocumentCounts,
    *,
    model: EventModel,
    smoothings: Sequence[float],
    prior: Prior = "empirical",
    jobs: int = 1,
    duplicates: DuplicateGroups | None = None,
) -> Floats:
    """Return the scores of each document under the model of all documents with other content.

    The scores of counts equal those of refitted models to 1e-9, those of weights up to the rounding of their sums. The
    vocabulary, the labels, the idf and the ε of a gaussian model are those of the whole corpus. A class without another
    document has score −∞, unless the prior does not depend on the documents.

    Parameters
    ----------
    statistics : of the whole corpus
    documents : some of its documents, with all of their duplicates, over the same features
    smoothings : one model for each
    jobs : number of threads
    duplicates : of the documents, if they are known

    Returns
    -------
    (n_smoothings, n_documents, n_classes), log P(document, class) where the model is generative
    """
    duplicates = duplicates or group_duplicates(documents)
    left_out = duplicates.left_out
    parts = left_out.split(min(AT_ONCE, len(left_out) // jobs + 1))
    counted = model.leave_one_out_counts
    is_counted = documents.is_counted and min(smoothings) > 0
    if counted is not None and is_counted:
        calls = [partial(counted, statistics, part, smoothings=smoothings) for part in parts]
        scores = np.concatenate(parallel_calls(calls, jobs=jobs), axis=1)
    else:
        scores = np.stack([_score_by_scorer(model, statistics, parts, smoothing, jobs) for smoothing in smoothings])
    scores += log_prior(statistics.class_documents, prior)
    if prior == "empirical" or isinstance(prior, WeightedPrior):
        weights = np.array(prior.weights) if isinstance(prior, WeightedPrior) else np.ones(statistics.n_classes)
        own = left_out.documents.classes
        n, of_class = weights @ statistics.class_documents, statistics.class_documents[own]
        gone = np.bincount(duplicates.row_groups, weights=left_out.copies * weights[own])[duplicates.row_groups]
        with np.errstate(divide="ignore"):  # a class that loses all of its documents has log 0
            scores += np.log(n / np.maximum(weights.min(), n - gone))[:, None]
            scores[:, *left_out.own] += np.log((of_class - left_out.copies) / of_class)
    return duplicates.spread(scores)


def _score_by_scorer(
    model: EventModel, statistics: ClassStatistics, parts: Sequence[LeftOut], smoothing: float, jobs: int
) -> Floats:
    """Return leave-one-out scores without the prior, computed from the scores of the model of all documents."""
    scorer = model.compile(statistics, smoothing=smoothing)

    def of_part(part: LeftOut) -> Floats:
        documents = part.documents
        scores = scorer.scores(documents.indptr, documents.indices, documents.counts)
        return model.leave_one_out(statistics, part, scores, smoothing=smoothing)

    return np.concatenate(parallel_calls([partial(of_part, part) for part in parts], jobs=jobs))


class LeftOutDocuments:
    """Some documents of a corpus, in the order of their hashes, which are left out of it with their duplicates.

    documents    of the corpus
    is_separate  whether each document is left out alone, without its duplicates
    """

    documents: DocumentCounts
    is_separate: bool

    @cached_property
    def contents(self) -> NDArray[np.int64]:
        """A number for what is left out with each document: its content, or only itself, (n_documents,)."""
        return np.arange(len(self.documents)) if self.is_separate else number_contents(self.documents)

    def slice(self, start: int, stop: int) -> Self:
        """Return only the documents from `start` up to `stop`, with all duplicates of each."""
        raise NotImplementedError

    def first(self, size: int) -> Self:
        """Return about the first `size` documents, up to the end of a group of duplicates."""
        return self if size >= len(self.documents) else self.slice(0, len(self.documents.first(max(1, size))))

    def split(self, size: int, start: int = 0) -> Iterator[Self]:
        """Yield the documents from `start` on in parts of about `size`, each up to the end of a group of duplicates."""
        hashes = self.documents.hashes
        while start < len(hashes):
            last = hashes[min(start + size, len(hashes)) - 1]
            stop = int(np.searchsorted(hashes, last, side="right"))
            yield self.slice(start, stop)
            start = stop


@dataclass(frozen=True, eq=False)
class LeaveOneOut(LeftOutDocuments):
    """The documents of a corpus, for leave-one-out scores with one event model and prior.

    A feature that occurs only in a document and its duplicates is out of vocabulary when they are left out. It is
    ignored for the label, and used only for the likelihood of the document. A document without any other feature has no
    known word, and is unanswered, as it is by a model of the other documents that is fitted anew.

    statistics  sufficient statistics of the corpus for the event model
    documents   of the corpus, in the order of their hashes
    n_hapax     (n_documents,), number of tokens of each document whose feature occurs only in it and its duplicates;
                None: the vocabulary is hashed or given, so no feature is out of vocabulary
    is_new      (n_documents,), which documents are not part of the corpus; None: none
    n_hapax_features  (n_documents,), number of these features in each document; None: counted if it is needed
    empty       (n_classes,), documents of each class of the corpus without a token; None: those among the documents
    is_separate  whether each document is left out alone, without its duplicates; then the features of a document that
                 has some remain in the vocabulary, and those that `n_hapax` counts are ignored
    """

    statistics: ClassStatistics
    documents: DocumentCounts
    n_hapax: NDArray[Any] | None
    model: EventModel
    prior: Prior
    jobs: int = 1
    is_new: NDArray[np.bool_] | None = None
    n_hapax_features: NDArray[Any] | None = None
    empty: NDArray[Any] | None = None
    is_separate: bool = False

    @cached_property
    def duplicates(self) -> DuplicateGroups:
        """The documents of the corpus that are left out together; new documents are not left out."""
        documents = self.documents if self.is_new is None else self.documents.filter(~self.is_new)
        return group_duplicates(documents, is_separate=self.is_separate)

    @cached_property
    def copies(self) -> NDArray[np.int64]:
        """The number of documents of the corpus with the content of each document, (n_documents,); 0 for a new one."""
        is_old = np.ones(len(self.documents), dtype=bool) if self.is_new is None else ~self.is_new
        copies = np.zeros(len(is_old), dtype=np.int64)
        copies[is_old] = count_copies(self.documents.filter(is_old))
        return copies

    @property
    def n_duplicates(self) -> int:
        """The number of documents of the corpus that repeat another one: all minus the distinct ones."""
        old = self.copies[self.copies > 0]
        return len(old) - round(float((1 / old).sum()))

    def take(self, documents: NDArray[np.int64]) -> LeaveOneOut:
        """Return only these documents; they must include all duplicates of each."""
        return self._select(documents, self.documents.take(documents))

    def slice(self, start: int, stop: int) -> LeaveOneOut:
        """Return only the documents from `start` up to `stop`, whose counts are not copied; see `take`."""
        selected = self._select(slice(start, stop), self.documents.slice(start, stop))
        if self.is_new is None and not self.is_separate and "duplicates" in self.__dict__:
            selected.__dict__["duplicates"] = self.duplicates.slice(start, stop)
        return selected

    def _select(self, rows: Any, documents: DocumentCounts) -> LeaveOneOut:
        columns = (self.n_hapax, self.is_new, self.n_hapax_features)
        n_hapax, is_new, n_features = (None if column is None else column[rows] for column in columns)
        selected = replace(self, documents=documents, n_hapax=n_hapax, is_new=is_new, n_hapax_features=n_features)
        if self.is_separate:
            selected.__dict__["copies"] = self.copies[rows]
        return selected

    def cut(self, number: int) -> list[LeaveOneOut]:
        """Return about `number` parts, each to be scored by one thread."""
        return list(replace(self, jobs=1).split(-(-len(self.documents) // number)))

    def complete(self) -> LeaveOneOut:
        """Return a sample without its last group of duplicates if that may be incomplete, because the sample ends
        there.

        The group is complete if one of its features occurs in no other document.
        """
        hashes = self.documents.hashes
        if self.is_new is not None or len(hashes) >= self.statistics.n_documents or len(hashes) == 0:
            return self
        start = int(np.searchsorted(hashes, hashes[-1]))
        features = self.documents.slice(len(hashes) - 1, len(hashes)).indices
        frequencies = self.statistics.document_frequencies[features]
        is_complete = len(features) > 0 and frequencies.min() <= len(hashes) - start
        return self if is_complete else self.slice(0, start)

    def drop_single_documents(self) -> LeaveOneOut:
        """Return only the documents whose labels have other documents too."""
        duplicates, left_out = self.duplicates, self.duplicates.left_out
        is_last = left_out.copies >= self.statistics.class_documents[left_out.documents.classes]
        is_judged = np.ones(len(self.documents), dtype=bool)
        is_old = slice(None) if self.is_new is None else ~self.is_new
        is_judged[is_old] = ~np.isin(duplicates.groups, duplicates.row_groups[is_last])
        return self if is_judged.all() else self.take(np.flatnonzero(is_judged))

    def scores(self, *smoothings: float) -> Floats:
        """Return leave-one-out scores, shape (n_smoothings, n_documents, n_classes)."""
        old, new = self.documents, None
        if self.is_new is not None:
            old, new = old.filter(~self.is_new), old.filter(self.is_new)
        scores = np.zeros((len(smoothings), 0, self.statistics.n_classes))
        if len(old):
            scores = leave_one_out(
                self.statistics, old, model=self.model, smoothings=smoothings, prior=self.prior, jobs=self.jobs,
                duplicates=self.duplicates,
            )  # fmt: skip
        if new is None or self.is_new is None or not len(new):
            return scores
        joint = np.empty((len(smoothings), len(self.documents), self.statistics.n_classes))
        joint[:, ~self.is_new] = scores
        joint[:, self.is_new] = score_new(
            self.statistics, new, model=self.model, smoothings=smoothings, prior=self.prior
        )
        return joint

    @property
    def n_known(self) -> NDArray[Any]:
        """The number of tokens of each document that are in the vocabulary of the others, shape (n_documents,)."""
        return np.asarray(self.documents.lengths - (0 if self.n_hapax is None else self._unseen(self.n_hapax)))

    def _unseen(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Return the counts of features that are out of vocabulary when a document is left out; see `is_separate`."""
        return np.where(self.copies > 1, 0, counts) if self.is_separate else counts

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Whether each document has a word in the vocabulary of the others, shape (n_documents,)."""
        return np.asarray((np.diff(self.documents.indptr) > 0) & (self.n_known > 0))

    def unanswered_log_posterior(self) -> Floats:
        """Return the log-probabilities of documents without a known word: the prior without each, and its duplicates.

        Shape (n_documents, n_classes); −∞ of a class without another document.
        """
        classes, groups = self.documents.classes, np.full(len(self.documents), -1)
        is_old = slice(None) if self.is_new is None else ~self.is_new
        groups[is_old] = self.duplicates.groups
        return self._log_priors_without(groups, groups[is_old], classes[is_old])

    def _log_priors_without(
        self, groups: NDArray[np.int64], member_groups: NDArray[np.int64], member_classes: NDArray[np.int32]
    ) -> Floats:
        """Return the log prior of the corpus without the members of each document's group, (n_documents, n_classes)."""
        found, rows = np.unique(groups, return_inverse=True)
        is_member = np.isin(member_groups, found)
        left_out = np.zeros((len(found), self.statistics.n_classes))
        np.add.at(left_out, (np.searchsorted(found, member_groups[is_member]), member_classes[is_member]), 1)
        return log_priors(self.statistics.class_documents - left_out, self.prior)[rows]

    def ignore_hapaxes(self, scores: Floats, smoothing: float) -> Floats:
        """Return the scores (n_documents, n_classes) without features that are out of vocabulary."""
        unseen = self.model.out_of_vocabulary
        if unseen is None or not self.documents.is_counted or self.n_hapax is None or not self.n_hapax.any():
            return scores
        counts = self._unseen(self.n_hapax if self._has_plain_counts else self._n_hapax_features)
        weights = self.duplicates.spread(unseen(self.statistics, self.duplicates.left_out, smoothing=smoothing))
        if self.is_new is None:
            return np.asarray(scores - counts[:, None] * weights)
        scores = scores.copy()
        scores[~self.is_new] -= counts[~self.is_new, None] * weights
        return scores

    @property
    def _has_plain_counts(self) -> bool:
        """Whether the model uses the counts of the tokens; otherwise each feature counts once."""
        return self.documents.token_lengths is None and not self.model.is_of_counts

    @cached_property
    def _n_hapax_features(self) -> NDArray[Any]:
        if self.n_hapax_features is not None:
            return self.n_hapax_features
        return count_hapaxes(self.statistics, self.documents, self.is_new).features


class Hapaxes(NamedTuple):
    """The features that occur only in a document and its duplicates.

    tokens    (n_documents,), the sum of their counts (or weights) in each document
    features  (n_documents,), their number in each document
    """

    tokens: Floats
    features: Floats


def count_hapaxes(
    statistics: ClassStatistics, documents: DocumentCounts, is_new: NDArray[np.bool_] | None = None
) -> Hapaxes:
    """Count the features that occur only in a document and its duplicates.

    is_new  (n_documents,), which documents are not part of the statistics; they have none; None: all are part of them
    """
    if is_new is not None:
        hapaxes = Hapaxes(np.zeros(len(documents)), np.zeros(len(documents)))
        for target, found in zip(hapaxes, count_hapaxes(statistics, documents.filter(~is_new)), strict=True):
            target[~is_new] = found
        return hapaxes
    contents = number_contents(documents)
    copies = np.bincount(contents)[contents]
    maximum = copies[np.diff(documents.indptr) > 0].max(initial=0)
    frequencies = statistics.document_frequencies
    entries = np.flatnonzero((frequencies <= maximum)[documents.indices])
    owners = np.repeat(np.arange(len(documents)), np.diff(np.searchsorted(entries, documents.indptr)))
    is_hapax = frequencies[documents.indices[entries]] == copies[owners]
    entries, owners = entries[is_hapax], owners[is_hapax]
    tokens = np.bincount(owners, weights=documents.counts[entries], minlength=len(documents)).astype(np.float64)
    return Hapaxes(tokens, np.bincount(owners, minlength=len(documents)).astype(np.float64))

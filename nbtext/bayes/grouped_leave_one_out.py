"""Leave-one-out scores of documents whose whole group is left out with them, such as a thread or an author's texts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import count_classes, log_priors
from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.bayes.left_out_groups import LeftOutGroups, count_group_hapaxes, split_groups
from nbtext.bayes.scorer import Floats
from nbtext.features.document_counts import DocumentCounts
from nbtext.parallel import parallel_calls
from nbtext.records import dataclass

AT_ONCE = 1 << 18  # entries of class statistics that a part meets, so that memory is bounded


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupedLeaveOneOut(LeaveOneOut):
    """The documents of a corpus in groups. Each document is scored by the model of all documents of other groups.

    A feature that occurs only within a group is out of vocabulary when the group is left out.

    documents      that are scored, in the order of their hashes, so that the first ones are of many groups
    members        all documents of their groups, over the same features, group by group
    member_groups  (n_members,), the group of each, ascending
    rows           (n_documents,), the place of each scored document among the members
    """

    members: DocumentCounts
    member_groups: NDArray[np.int64]
    rows: NDArray[np.int64]

    @property
    def groups(self) -> NDArray[np.int64]:
        """The group of each scored document, (n_documents,)."""
        return self.member_groups[self.rows]

    @property
    def n_duplicates(self) -> int:
        """0: whole groups are left out, and duplicates only with their group."""
        return 0

    @property
    def copies(self) -> NDArray[np.int64]:
        """1 for each document: duplicates are left out only with their group."""
        return np.ones(len(self.documents), dtype=np.int64)

    def take(self, documents: NDArray[np.int64]) -> GroupedLeaveOneOut:
        """Return only these documents; their groups stay complete."""
        n_hapax = self.n_hapax[documents] if self.n_hapax is not None else None
        rows = self.rows[documents]
        return replace(self, documents=self.documents.take(documents), n_hapax=n_hapax, rows=rows)

    def slice(self, start: int, stop: int) -> GroupedLeaveOneOut:
        """Return only the documents from `start` up to `stop`; their groups stay complete."""
        n_hapax = self.n_hapax[start:stop] if self.n_hapax is not None else None
        return replace(self, documents=self.documents.slice(start, stop), n_hapax=n_hapax, rows=self.rows[start:stop])

    def first(self, size: int) -> GroupedLeaveOneOut:
        """Return the first `size` documents."""
        return self if size >= len(self.documents) else self.slice(0, size)

    def cut(self, number: int) -> list[LeaveOneOut]:
        """Return all documents as one part, because parts would share groups; more than one thread may score it."""
        return [self if number > 1 else replace(self, jobs=1)]

    def complete(self) -> GroupedLeaveOneOut:
        """Return the same documents, because all groups are complete."""
        return self

    def drop_single_documents(self) -> GroupedLeaveOneOut:
        """Return the documents without those of groups that hold all documents of a label."""
        n_classes = self.statistics.n_classes
        keys, numbers = np.unique(self.member_groups * n_classes + self.members.classes, return_counts=True)
        is_last = numbers >= self.statistics.class_documents[keys % n_classes]
        is_judged = ~np.isin(self.groups, keys[is_last] // n_classes)
        return self if is_judged.all() else self.take(np.flatnonzero(is_judged))

    def scores(self, *smoothings: float) -> Floats:
        """Return the scores of the documents without their groups, shape (n_smoothings, n_documents, n_classes)."""
        parts = self._split()
        calls = [partial(self._score_part, part, smoothings) for _, part in parts]
        scores = np.zeros((len(smoothings), len(self.documents), self.statistics.n_classes))
        for (rows, _), found in zip(parts, parallel_calls(calls, jobs=self.jobs), strict=True):
            scores[:, rows] = found
        return scores

    def _split(self) -> list[tuple[NDArray[np.int64], LeftOutGroups]]:
        """Return parts of the documents, and the rows of each part."""
        width = self.statistics.width
        n_classes = np.diff(self.statistics.indptr)[::width]
        costs = self.members.sum_entries(width * n_classes[self.members.indices].astype(np.float64))
        return split_groups(
            self.documents, self.groups, self.members, self.member_groups,
            costs=costs, most=AT_ONCE, n_classes=self.statistics.n_classes,
        )  # fmt: skip

    def _score_part(self, part: LeftOutGroups, smoothings: tuple[float, ...]) -> Floats:
        leave_out = self.model.leave_groups_out
        if leave_out is None:
            scores = self._refit(part, smoothings)
        else:
            scores = leave_out(self.statistics, part, smoothings=smoothings)
        priors = log_priors(self.statistics.class_documents - part.class_documents, self.prior)
        return np.asarray(scores + priors[part.groups])

    def unanswered_log_posterior(self) -> Floats:
        return self._log_priors_without(self.groups, self.member_groups, self.members.classes)

    def _refit(self, part: LeftOutGroups, smoothings: tuple[float, ...]) -> Floats:
        """Return the scores by models that are fitted without each group, and without the prior."""
        statistics, documents = self.statistics, part.documents
        scores = np.zeros((len(smoothings), len(documents), statistics.n_classes))
        for group in range(part.n_groups):
            members = part.members.take(np.flatnonzero(part.member_groups == group))
            others = statistics - count_classes(members, statistics.n_features, statistics.n_classes)
            rows = np.flatnonzero(part.groups == group)
            own = documents.take(rows)
            for number, smoothing in enumerate(smoothings):
                scorer = self.model.compile(others, smoothing=smoothing)
                scores[number, rows] = scorer.scores(own.indptr, own.indices, own.counts)
        return scores

    def ignore_hapaxes(self, scores: Floats, smoothing: float) -> Floats:
        """Return the scores (n_documents, n_classes) without features that are out of vocabulary."""
        unseen = self.model.unseen_in_groups
        if unseen is None or not self.documents.is_counted or self.n_hapax is None or not self.n_hapax.any():
            return scores
        n_hapax = count_group_hapaxes(
            self.statistics, self.members, self.member_groups, is_binary=self.model.is_of_counts
        )[self.rows]
        scores = scores.copy()
        for rows, part in self._split():
            weights = unseen(self.statistics, part, smoothing=smoothing)
            scores[rows] -= n_hapax[rows, None] * weights[part.groups]
        return scores


def group_leave_one_out(
    corpus: LeaveOneOut, groups: NDArray[np.int64], scored: NDArray[np.int64]
) -> GroupedLeaveOneOut:
    """Return the corpus for leave-one-out by group.

    Parameters
    ----------
    corpus : with all documents
    groups : (n_documents,), the group of each document
    scored : the documents to score
    """
    members = np.flatnonzero(np.isin(groups, groups[scored]))
    members = members[np.argsort(groups[members], kind="stable")]
    places = np.zeros(len(groups), dtype=np.int64)
    places[members] = np.arange(len(members))
    n_hapax = corpus.n_hapax[scored] if corpus.n_hapax is not None else None
    return GroupedLeaveOneOut(
        corpus.statistics, corpus.documents.take(scored), n_hapax, corpus.model, corpus.prior, corpus.jobs,
        members=corpus.documents.take(members), member_groups=groups[members], rows=places[scored],
    )  # fmt: skip

"""Groups of training documents that are left out together: near duplicates, or those of a thread or an author."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.grouped_leave_one_out import group_leave_one_out
from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.bayes.settings import NEAR_DUPLICATES, ModelSettings
from nbtext.bayes.smoothing import Selection
from nbtext.errors import InputError, ModelError, SettingsError, number_of
from nbtext.features.near_duplicates import find_near_duplicates
from nbtext.model.corpus_counts import SAMPLE_SIZE, CorpusCounts


def find_groups(counts: CorpusCounts, settings: ModelSettings) -> NDArray[np.int64] | None:
    """Return the group of each retained document, from 0 on, shape (n_sampled,); None if documents are not grouped.

    counts  over all features; they retain all documents, because a group is left out as a whole
    raises  SettingsError: documents have several labels, or no groups; ModelError: some are not retained
    """
    if settings.group is None:
        return None
    if counts.is_multilabel:
        what = "documents with several labels cannot be left out in groups"
        raise SettingsError(what, where="group", hint="leave out this option")
    if not counts.has_all_documents:
        what = "leaving out groups needs the counts of each document, which SOURCE does not hold"
        raise ModelError(what, where="--group", hint="train on the texts")
    if settings.group == NEAR_DUPLICATES:
        return find_near_duplicates(counts.sample, counts.statistics.n_features).groups
    if counts.sample.groups is None:
        raise SettingsError("the documents have no groups", where="group", hint="give the group of each document")
    return np.asarray(np.unique(counts.sample.groups, return_inverse=True)[1], dtype=np.int64)


def group_corpus(corpus: LeaveOneOut, groups: NDArray[np.int64] | None) -> LeaveOneOut:
    """Return the corpus for leave-one-out by group; the documents that are scored are those of leave-one-out.

    groups  of all documents of the corpus, which are in the order of their hashes; None: the corpus stays as it is
    """
    return corpus if groups is None else group_leave_one_out(corpus, groups, np.arange(len(groups))[:SAMPLE_SIZE])


def count_groups(selection: Selection, groups: NDArray[np.int64] | None) -> Selection:
    """Return the selection with the number of groups in its estimate; duplicates are left out only with their group."""
    if groups is None or selection.estimate is None:
        return selection
    n_groups = int(groups.max(initial=-1)) + 1
    return selection._replace(estimate=replace(selection.estimate, duplicates=0, groups=n_groups))


def name_groups(counts: CorpusCounts, groups: Iterable[Any], rows: NDArray[np.int64]) -> CorpusCounts:
    """Return counts with the group of each retained document.

    groups  of all texts, any values
    rows    (n_sampled,), the index of the text of each retained document
    raises  InputError: there are not as many groups as texts
    """
    names = np.array(list(map(str, groups)), dtype=object)
    if len(names) != len(rows):
        raise InputError(f"{number_of(len(rows), 'text')} and {number_of(len(names), 'group')} differ in number")
    return replace(counts, sample=replace(counts.sample, groups=names[rows]))

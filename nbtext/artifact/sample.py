"""The retained sample of a model in its record: counts, classes and label sets of documents, and no text."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from nbtext.artifact import audit
from nbtext.artifact.record import narrow_integers
from nbtext.bayes.label_sets import LabelSets
from nbtext.errors import ModelError
from nbtext.features.document_counts import DocumentCounts
from nbtext.model.corpus_counts import CorpusCounts, LabelSet
from nbtext.model.reservoir import ALL_HASHES

Record = dict[str, Any]


def write_sample(counts: CorpusCounts, keep_sample: int | None) -> Record | None:
    """Return the retained sample: counts and classes of documents, and no text."""
    if keep_sample is None:
        return None
    counts = replace(counts, sample=counts.sample.smallest(keep_sample)).drop_unused_sets()
    sample, sets = counts.sample, {}
    if counts.label_sets is not None:
        found = LabelSets.of(counts.label_sets, counts.labels)
        sets = {"label_sets": {"indptr": found.indptr, "labels": narrow_integers(found.classes)}}
    return {
        "indptr": narrow_integers(sample.indptr),
        "indices": narrow_integers(sample.indices),
        "counts": narrow_integers(sample.counts),
        "classes": narrow_integers(sample.classes),
        "hashes": sample.hashes,
        "below": None if counts.below == ALL_HASHES else counts.below,
        **sets,
    }


def read_sample(record: Record, counts: CorpusCounts) -> CorpusCounts:
    """Return the counts with the retained sample, and the bound of hashes below which it is complete.

    ArtifactError if the class statistics do not include its documents.
    """
    statistics, names = counts.statistics, ("indptr", "indices", "counts", "classes", "hashes", "below")
    audit.read_section(record, "sample", (*names, "label_sets") if counts.label_sets is not None else names)
    if counts.label_sets is not None:
        counts = replace(counts, label_sets=_read_label_sets(record, counts.labels))
    hashes = audit.read_array(record, "sample.hashes", "uint64", shape=(None,))
    classes = audit.read_integers(record, "sample.classes", len(hashes))
    indptr = audit.read_integers(record, "sample.indptr", len(hashes) + 1)
    indices = audit.read_integers(record, "sample.indices")
    numbers = audit.read_integers(record, "sample.counts", len(indices))
    audit.check_ascending("sample.hashes", hashes)
    audit.check_rows("sample.indices", indptr, indices, n_columns=statistics.n_features)
    n_classes = statistics.n_classes if counts.label_sets is None else len(counts.label_sets)
    audit.check_within("sample.classes", classes, 0, n_classes - 1)
    audit.check_within("sample.counts", numbers, 1, 2**31 - 1)
    if counts.label_sets is not None and len(np.unique(classes)) < n_classes:
        raise audit.invalid_value("sample.label_sets", "should be those of the documents")
    sample = DocumentCounts(
        indptr, indices.astype(np.int32), numbers.astype(np.int32), classes.astype(np.int32), hashes
    )
    if len(hashes) and hashes[0] == 0:  # a file of an earlier version, in which documents without a token are the first
        sample = sample.with_empty_last().smallest(None)
    try:
        statistics - counts.count(sample)
    except ModelError:
        raise audit.invalid_value("sample", "should hold documents that the statistics count") from None
    below = ALL_HASHES
    if record["sample"]["below"] is not None:
        below = audit.read_integer(record, "sample.below", maximum=ALL_HASHES - 1)
    return replace(counts, sample=sample, below=below)


def _read_label_sets(record: Record, labels: tuple[str, ...]) -> tuple[LabelSet, ...]:
    """Return the label sets of the retained sample, sorted."""
    key = "sample.label_sets"
    audit.read_section(record, key, ("indptr", "labels"))
    indptr, numbers = audit.read_integers(record, f"{key}.indptr"), audit.read_integers(record, f"{key}.labels")
    audit.check_rows(f"{key}.labels", indptr, numbers, n_columns=len(labels))
    names = [labels[k] for k in numbers.tolist()]
    sets = tuple(tuple(names[start:stop]) for start, stop in pairwise(indptr.tolist()))
    if any(one >= other for one, other in pairwise(sets)):
        raise audit.invalid_value(key, "should ascend")
    return sets

"""The documents that a model keeps on demand, as part of its record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.artifact import audit
from nbtext.artifact.record import narrowed
from nbtext.bayes.class_statistics import ClassStatistics, count_classes
from nbtext.errors import ModelError
from nbtext.features.document_counts import DocumentCounts
from nbtext.model.reservoir import ALL_HASHES

if TYPE_CHECKING:
    from nbtext.model.corpus_counts import CorpusCounts

Record = dict[str, Any]


def sample_record(tally: CorpusCounts, keep_sample: int | None) -> Record | None:
    """What is kept of a tally's sample: its documents' counts and classes, none of their texts."""
    if keep_sample is None:
        return None
    sample = tally.sample.smallest(keep_sample)
    return {
        "indptr": narrowed(sample.indptr),
        "indices": narrowed(sample.indices),
        "counts": narrowed(sample.counts),
        "classes": narrowed(sample.classes),
        "hashes": sample.hashes,
        "below": None if tally.below == ALL_HASHES else tally.below,
    }


def sample_of(record: Record, statistics: ClassStatistics) -> tuple[DocumentCounts, int]:
    """The sample in the record, and the bound of hashes below which it is complete.

    raises  ArtifactError: it is not of documents that the statistics count
    """
    audit.section(record, "sample", ("indptr", "indices", "counts", "classes", "hashes", "below"))
    hashes = audit.array(record, "sample.hashes", "uint64", shape=(None,))
    classes = audit.whole_numbers(record, "sample.classes", len(hashes))
    indptr = audit.whole_numbers(record, "sample.indptr", len(hashes) + 1)
    indices = audit.whole_numbers(record, "sample.indices")
    counts = audit.whole_numbers(record, "sample.counts", len(indices))
    audit.check_ascending("sample.hashes", hashes)
    audit.check_rows("sample.indices", indptr, indices, n_columns=statistics.n_features)
    audit.check_within("sample.classes", classes, 0, statistics.n_classes - 1)
    audit.check_within("sample.counts", counts, 1, 2**31 - 1)
    sample = DocumentCounts(indptr, indices.astype(np.int32), counts.astype(np.int32), classes.astype(np.int32), hashes)
    try:
        statistics - count_classes(sample, statistics.n_features, statistics.n_classes)
    except ModelError:
        raise audit.wrong("sample", "should hold documents that the statistics count") from None
    if record["sample"]["below"] is None:
        return sample, ALL_HASHES
    return sample, audit.whole_number(record, "sample.below", most=ALL_HASHES - 1)

"""The documents that a model keeps on demand, as part of its record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.artifact import audit
from nbtext.bayes.sample import Sample
from nbtext.classifier.reservoir import ALL_HASHES
from nbtext.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.bayes.statistics import Statistics
    from nbtext.classifier.tally import Tally

Record = dict[str, Any]


def sample_record(tally: Tally, keep_sample: int | None) -> Record | None:
    """What is kept of a tally's sample: its documents' counts and classes, none of their texts."""
    if keep_sample is None:
        return None
    sample = tally.sample.smallest(keep_sample)
    return {
        "indptr": _narrowed(sample.indptr),
        "indices": _narrowed(sample.indices),
        "counts": _narrowed(sample.counts),
        "classes": _narrowed(sample.classes),
        "hashes": sample.hashes,
        "below": None if tally.below == ALL_HASHES else tally.below,
    }


def sample_of(record: Record, statistics: Statistics) -> tuple[Sample, int]:
    """The sample in the record, and the bound of hashes below which it is complete.

    raises  ArtifactError: it is not of documents that the statistics count
    """
    audit.section(record, "sample", ("indptr", "indices", "counts", "classes", "hashes", "below"))
    hashes = audit.array(record, "sample.hashes", "uint64", shape=(None,))
    classes = _whole(record, "sample.classes", shape=(len(hashes),))
    indptr = _whole(record, "sample.indptr", shape=(len(hashes) + 1,))
    indices = _whole(record, "sample.indices", shape=(None,))
    counts = _whole(record, "sample.counts", shape=(len(indices),))
    audit.check_ascending("sample.hashes", hashes)
    audit.check_rows("sample.indices", indptr, indices, n_columns=statistics.n_features)
    audit.check_within("sample.classes", classes, 0, statistics.n_classes - 1)
    audit.check_within("sample.counts", counts, 1, 2**31 - 1)
    sample = Sample(indptr, indices.astype(np.int32), counts.astype(np.int32), classes.astype(np.int32), hashes)
    try:
        statistics - sample.statistics(statistics.n_features, statistics.n_classes)
    except ModelError:
        raise audit.wrong("sample", "should hold documents that the statistics count") from None
    if record["sample"]["below"] is None:
        return sample, ALL_HASHES
    return sample, audit.whole_number(record, "sample.below", most=ALL_HASHES - 1)


def _narrowed(numbers: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers, none of them negative, in the smallest type that holds them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def _whole(record: Record, key: str, *, shape: tuple[int | None, ...]) -> NDArray[np.int64]:
    numbers = audit.array(record, key, *audit.WHOLE_NUMBERS, shape=shape)
    audit.check_within(key, numbers, 0, 2**62)
    return numbers.astype(np.int64)

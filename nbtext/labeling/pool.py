"""The pool: the documents among which a person labels, with their texts and counts."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import count
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from nbtext.documents.batch import Batch
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts

AT_ONCE = 512  # documents that are counted together


class PoolDocument(NamedTuple):
    """A document to label: its id, and the text of each field."""

    id: str
    texts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Pool:
    """Documents to label.

    documents  in the order of the source
    n_left_out how many more documents the source has
    counts     of all documents, without labels; document i is retained in row i
    """

    documents: list[PoolDocument]
    n_left_out: int
    counts: CorpusCounts


def read_pool(batches: Iterable[Batch], features: FeatureSettings, size: int) -> Pool:
    """Return at most `size` documents, and their counts; documents that cannot be read are left out.

    If there are more, these are the ones whose ids and texts have the smallest hashes: a random sample, which is the
    same in each run.
    """
    found = (
        PoolDocument(identity, tuple(column[row] for column in batch.columns))
        for batch in batches
        for row, identity in enumerate(batch.ids)
        if row not in batch.problems
    )
    places = count()
    kept = heapq.nsmallest(size, ((_hash(document), next(places), document) for document in found))
    documents = [document for _, _, document in sorted(kept, key=itemgetter(1))]
    return Pool(documents, next(places) - len(documents), count_documents(documents, features))


def count_documents(documents: list[PoolDocument], features: FeatureSettings) -> CorpusCounts:
    """Return the counts of documents, all of which are retained, in order, without labels."""
    counter = CorpusCounter(features, sample_size=None)
    for start in range(0, len(documents), AT_ONCE):
        part = documents[start : start + AT_ONCE]
        places = [str(start + row) for row in range(len(part))]  # as groups, by which the rows are put in order
        columns = tuple(map(list, zip(*(document.texts for document in part), strict=True)))
        counter.add(Batch(places, columns, [""] * len(part), groups=places))
    counts = counter.finish()
    if counts.sample.groups is None:
        return counts
    rows = counts.sample.take(np.argsort(counts.sample.groups.astype(np.int64)))
    return replace(counts, sample=replace(rows, groups=None))


def _hash(document: PoolDocument) -> int:
    digest = blake2b("\0".join((document.id, *document.texts)).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big")

"""Near duplicates: documents whose sets of features are almost equal, found without comparing all
pairs. Candidates are those with equal minimum hashes of their features.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from nbtext.arrays import Floats, Hashes, Integers, Integers32
from nbtext.features.csr import entries_of, entry_rows
from nbtext.features.document_table import DocumentTable, number_contents

# minimum Jaccard similarity of two near duplicates, and so the minimum ratio of their sizes
SIMILAR = 0.8
# distances, in the order of their sizes, of the documents of a bucket that are compared
NEIGHBORS = (1, 2)
VERIFIED = 1 << 14  # pairs that are verified together
HALVINGS = 30  # of an interval, by which an equation is solved
# pairs of minimum hashes by which candidates are found: with fewer, groups of short messages and of
# 20 Newsgroups fall apart
N_BANDS = 8
# for an estimate of how many there are, which allows for those that are not found
N_ESTIMATE_BANDS = 2


class NearDuplicates(NamedTuple):
    """Near duplicates among documents.

    pairs         (n_pairs, 2), the first document of each of two contents that are near duplicates;
                  first < second
    similarities  (n_pairs,), Jaccard similarity of the sets of features of each pair, SIMILAR or
                  more
    groups        (n_documents,), a number for each group: documents that a chain of duplicates or
                  pairs connects
    """

    pairs: Integers
    similarities: Floats
    groups: Integers


def find_near_duplicates(documents: DocumentTable, n_features: int) -> NearDuplicates:
    """Find pairs of documents whose sets of features have a Jaccard similarity of SIMILAR or more,
    and their groups.

    Documents with equal minimum hashes of their features are compared with those next in size, in
    time in proportion to the number of features of all documents. A pair may be missed; a group
    only if all of its links are missed.

    Source: Broder, On the Resemblance and Containment of Documents, 1997.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    _, first, numbers = np.unique(
        number_contents(documents), return_index=True, return_inverse=True
    )
    distinct = documents.take(np.sort(first))
    candidates = link_buckets(distinct, N_BANDS)
    pairs, similarities = verify_pairs(distinct, candidates, n_features)
    graph = coo_array(
        (np.ones(len(pairs), dtype=bool), (pairs[:, 0], pairs[:, 1])), shape=(len(distinct),) * 2
    )
    components = connected_components(graph, directed=False)[1]
    # the row of each document's content in `distinct`
    rows = np.argsort(np.argsort(first))[numbers]
    return NearDuplicates(np.sort(first)[pairs], similarities, components.astype(np.int64)[rows])


def estimate_near_duplicates(documents: DocumentTable, n_features: int, share: float) -> float:
    """Return about which share of the texts of a corpus are near duplicates of another text; equal
    texts are one.

    A text counts by 1/p, where p is the probability that it is found, so that the sum is unbiased
    (Horvitz and Thompson, A Generalization of Sampling Without Replacement, 1952). A minimum hash
    of two sets is equal with the probability s, their Jaccard similarity (Broder 1997, section 3),
    both of a band with s², and those of one of b bands, which are independent, with p = 1 − (1 −
    s²)^b. A text with several near duplicates has the p of the most similar one that was found; it
    is found more often, and so counts up to a tenth too much if s is SIMILAR.

    A text whose near duplicates are not in the sample counts, too: as many as there are if each has
    t others, of which the sample has those that it has.

    documents  a random sample of the documents
    share      the share of the documents that the sample has
    """
    _, first = np.unique(number_contents(documents), return_index=True)
    distinct = documents.take(np.sort(first))
    candidates = link_buckets(distinct, N_ESTIMATE_BANDS)
    pairs, similarities = verify_pairs(distinct, candidates, n_features)
    if not len(pairs):
        return 0.0
    weights = 1 / (1 - (1 - similarities**2) ** N_ESTIMATE_BANDS)
    least = np.full(len(distinct), np.inf)  # of a text that is found
    np.minimum.at(least, pairs, weights[:, None])
    n_found = least[least < np.inf].sum()
    n_others = _solve_others(2 * weights.sum() / n_found, share)
    return min(1.0, float(n_found / len(distinct) / (1 - (1 - share) ** n_others)))


def _solve_others(mean: float, share: float) -> float:
    """Return the t >= 1 of which so many are in the sample on average, if any are: t · share / (1 −
    (1 − share)^t).
    """
    if share >= 1:
        return max(1.0, mean)
    low = 1.0
    high = max(1.0, mean / share)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_low = middle * share / (1 - (1 - share) ** middle) < mean
        low, high = (middle, high) if is_low else (low, middle)
    return low


def verify_pairs(
    documents: DocumentTable, candidates: Iterable[Integers], n_features: int
) -> tuple[Integers, Floats]:
    """Return the pairs that are similar enough, (n_pairs, 2), and their similarities."""
    n = max(1, len(documents))
    sizes = np.diff(documents.indptr)
    joined = np.concatenate([np.zeros((0, 2), dtype=np.int64), *candidates])
    pairs = np.stack(np.divmod(np.unique(joined[:, 0] * n + joined[:, 1]), n), axis=1)
    shared = np.zeros(len(pairs))
    for start in range(0, len(pairs), VERIFIED):
        compared = pairs[start : start + VERIFIED]
        keys = np.sort(
            np.concatenate([_number_entries(documents, rows, n_features) for rows in compared.T])
        )
        # a document has each feature once, and the other one has it, too
        is_shared = keys[1:] == keys[:-1]
        shared[start : start + VERIFIED] = np.bincount(
            keys[1:][is_shared] // n_features, minlength=len(compared)
        )
    similarities = shared / np.maximum(1, sizes[pairs].sum(axis=1) - shared)
    is_similar = similarities >= SIMILAR
    return pairs[is_similar], similarities[is_similar]


def _number_entries(documents: DocumentTable, rows: Integers, n_features: int) -> Integers:
    """Return a number of each entry of some documents, made of its position among `rows` and its
    feature.
    """
    bounds, places = entries_of(documents.indptr, rows)
    return entry_rows(bounds) * n_features + documents.indices[places]


def link_buckets(documents: DocumentTable, n_bands: int) -> Iterator[Integers]:
    """Yield pairs of documents with two equal minimum hashes, and of about the same size,
    (n_pairs, 2).
    """
    sizes = np.diff(documents.indptr)
    rows = np.flatnonzero(sizes)
    if len(rows) < 2:
        return
    starts = documents.indptr[rows]
    features = documents.indices
    places: slice | Integers32 = slice(None)
    if features.max() < len(features):  # each feature is hashed once
        places = features
        features = np.arange(features.max() + 1, dtype=features.dtype)
    for band in range(n_bands):
        keys = [
            np.minimum.reduceat(_hash(features, 2 * band + part)[places], starts)
            for part in range(2)
        ]
        order = np.lexsort((rows, sizes[rows], keys[1], keys[0]))
        for distance in NEIGHBORS:
            one = order[:-distance]
            other = order[distance:]
            is_equal = (keys[0][one] == keys[0][other]) & (keys[1][one] == keys[1][other])
            pairs = np.sort(np.stack((rows[one], rows[other]), axis=1)[is_equal], axis=1)
            compared = sizes[pairs]
            yield pairs[compared.min(axis=1) >= SIMILAR * compared.max(axis=1)]


def _hash(features: Integers32, seed: int) -> Hashes:
    """Return a hash of each feature's number: the finalizer of SplitMix64 (Steele, Lea, Flood,
    2014).
    """
    hashes = features.astype(np.uint64) + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        hashes ^= hashes >> np.uint64(shift)
        hashes *= np.uint64(factor)
    hashes ^= hashes >> np.uint64(31)
    return hashes

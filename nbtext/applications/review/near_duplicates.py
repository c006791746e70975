"""Near duplicates: documents whose sets of features are almost equal, found without comparing all
pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nbtext.arrays import Floats, Integers
from nbtext.documents.blocks import cut
from nbtext.features.csr import running_sums
from nbtext.features.document_counts import DocumentCounts, number_contents
from nbtext.features.near_duplicates import keep_similar_sizes, link_buckets, verify_pairs

MAX_RARE = 20  # documents that have a rare feature; at least two have it
# minimum share of the rare features of the smaller document that two candidates have in common
SHARED = 0.3
N_BANDS = 4  # pairs of minimum hashes by which documents without common rare features are found
PRODUCTS = 1 << 22  # pairs of documents that are computed together, so that memory is bounded


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


def find_near_duplicates(documents: DocumentCounts, n_features: int) -> NearDuplicates:
    """Find pairs of documents whose sets of features have a Jaccard similarity of SIMILAR or more,
    and their groups.

    Candidates share many of their rare features. Groups of more than MAX_RARE documents share
    features that are not rare; for these, the documents with equal minimum hashes of their features
    are compared with those next in size. Both take time in proportion to the number of features of
    all documents. A pair may be missed if its documents differ in their rare features; a group only
    if all of its links are missed.

    Sources: the number of shared features as a sparse product: Elsayed, Lin, Oard, Pairwise
    Document Similarity in Large Collections with MapReduce, 2008; minimum hashes: Broder, On the
    Resemblance and Containment of Documents, 1997.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    _, first, numbers = np.unique(
        number_contents(documents), return_index=True, return_inverse=True
    )
    distinct = documents.take(np.sort(first))
    sizes = np.diff(distinct.indptr)
    found = [
        *_share_rare_features(distinct, n_features, sizes),
        *link_buckets(distinct, sizes, N_BANDS),
    ]
    pairs, similarities = verify_pairs(distinct, found, n_features)
    graph = coo_array(
        (np.ones(len(pairs), dtype=bool), (pairs[:, 0], pairs[:, 1])), shape=(len(distinct),) * 2
    )
    components = connected_components(graph, directed=False)[1]
    # the row of each document's content in `distinct`
    rows = np.argsort(np.argsort(first))[numbers]
    return NearDuplicates(np.sort(first)[pairs], similarities, components.astype(np.int64)[rows])


def _share_rare_features(
    documents: DocumentCounts, n_features: int, sizes: Integers
) -> Iterator[Integers]:
    """Yield pairs of documents that share at least SHARED of the rare features of the smaller
    one.
    """
    frequencies = np.bincount(documents.indices, minlength=n_features)
    is_rare = (frequencies >= 2) & (frequencies <= MAX_RARE)
    rare = documents.filter_entries(is_rare[documents.indices])
    n_rare = np.diff(rare.indptr)
    matrix = rare.binarize().matrix(n_features)
    transposed = matrix.T.tocsr()
    n_products = running_sums(frequencies[rare.indices])[rare.indptr[1:]]
    for start, stop in cut(n_products, len(documents), PRODUCTS):
        product = (matrix[start:stop] @ transposed).tocoo()
        one = product.row.astype(np.int64) + start
        other = product.col.astype(np.int64)
        shared = product.data
        is_candidate = (one < other) & (shared >= SHARED * np.minimum(n_rare[one], n_rare[other]))
        yield keep_similar_sizes(one[is_candidate], other[is_candidate], sizes)

"""Near duplicates: documents whose sets of features are almost equal, found without comparing all
pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbtext.arrays import Floats, Integers
from nbtext.features.document_counts import DocumentCounts, number_contents
from nbtext.features.near_duplicates import link_buckets, verify_pairs

# pairs of minimum hashes by which candidates are found: with fewer, groups of short messages and of
# 20 Newsgroups fall apart
N_BANDS = 8


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

"""The probabilities of the labels of unlabeled documents."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from nbtext.bayes.event_model import ROWS_SCORED_AT_ONCE
from nbtext.bayes.scorer import LinearScorer
from nbtext.features.document_table import DocumentTable
from nbtext.numerics import exp, log
from nbtext.parallel import parallel_calls

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NEGLIGIBLE_PROBABILITY = 1e-12  # smaller probabilities of a label are set to 0


def compute_posteriors(
    scorer: LinearScorer, documents: DocumentTable, jobs: int
) -> tuple[csr_array, float]:
    """Return the probabilities of the labels of documents, negligible ones as 0, and the documents'
    log-likelihood.
    """
    from scipy.sparse import csr_array, vstack

    def compute(part: DocumentTable) -> tuple[csr_array, float]:
        scores = scorer.scores(part.indptr, part.indices, part.counts)
        highest = scores.max(axis=1, keepdims=True)
        shares = exp(scores - highest)
        sums = shares.sum(axis=1, keepdims=True)
        shares /= sums
        shares[shares < NEGLIGIBLE_PROBABILITY] = 0
        return csr_array(shares), float((highest + log(sums)).sum())

    calls = [partial(compute, part) for part in documents.split(ROWS_SCORED_AT_ONCE)]
    posteriors, marginals = zip(*parallel_calls(calls, jobs=jobs), strict=True)
    return vstack(posteriors, format="csr"), sum(marginals)

"""Bernoulli Naive Bayes: a class tosses a coin for each feature, and what is absent tells as well."""

from __future__ import annotations

import numpy as np

from nbtext.bayes.probability import log_share
from nbtext.bayes.sample import Sample
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.bayes.statistics import Statistics


def bernoulli(statistics: Statistics, *, smoothing: float) -> LinearScorer:
    """Weigh each feature by the log-odds that a document of the class holds it.

    With p_kj = (d_kj + α) / (n_k + 2α), the weight is log(p / (1 − p)), and Σ_j log(1 − p_kj), the score of a
    document that holds nothing, is the bias. Documents are read as presence (0 or 1).

    statistics  counts of K classes and V features
    smoothing   α >= 0; 0 is maximum likelihood, clipped
    returns     the scorer of log P(document | class), without the prior
    source      Manning, Raghavan, Schütze, Introduction to Information Retrieval, 2008, section 13.3
    """
    documents = statistics.class_documents
    totals = documents + 2 * smoothing
    nowhere = np.zeros(statistics.n_classes)
    default_absent = log_share(documents, totals, smoothing)
    default = log_share(nowhere, totals, smoothing) - default_absent

    of_class = statistics.classes
    absent = log_share(documents[of_class] - statistics.documents, totals, smoothing, of=of_class)
    present = log_share(statistics.documents, totals, smoothing, of=of_class)
    bias = statistics.n_features * default_absent + statistics.class_sums(absent - default_absent[of_class])
    return LinearScorer(bias, default, statistics.indptr, of_class, present - absent - default[of_class])


def bernoulli_left_out(statistics: Statistics, sample: Sample, scores: Floats, *, smoothing: float) -> Floats:
    """The scores of documents under the model of all documents but themselves.

    Only a document's own class has learned from it: there it leaves the counts of its features, and the number of
    documents of the class, which the absent features feel too.

    statistics  of the whole corpus, the sample's documents included
    scores      (n_documents, n_classes), what the scorer of `statistics` says
    returns     the same with each document's own class scored anew
    """
    positions = sample.own_entries(statistics)
    others = statistics.class_documents - 1
    totals = others + 2 * smoothing
    nobody_has = log_share(others, totals, smoothing)

    of_class = statistics.classes
    lacking = others[of_class] - statistics.documents  # -1: every document of the class has it, so each one left out
    without = log_share(np.maximum(lacking, 0), totals, smoothing, of=of_class)
    empty_document = statistics.n_features * nobody_has + statistics.class_sums(without - nobody_has[of_class])

    has = statistics.documents[positions] - 1
    present = log_share(has, totals, smoothing, of=statistics.classes[positions])
    left_out = scores.copy()
    left_out[np.arange(len(sample)), sample.classes] = empty_document[sample.classes] + sample.document_sums(
        present - without[positions]
    )
    return left_out

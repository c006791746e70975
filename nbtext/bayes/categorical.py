"""Categorical Naive Bayes: a class draws a value for each feature, how often the word occurs up to a bound."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.derivation import Values, check_columns, derive
from nbtext.bayes.probability import log_share
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.features.document_counts import DocumentCounts


@dataclass(frozen=True, eq=False)
class ValueCounts(ClassStatistics):
    """ClassStatistics over the values of features: `documents` are those of class k where feature j has value v, n_kjv.

    Each feature and class that meet have an entry for every value but 0, which is what is left of the class.

    present   (n_entries,) int64, documents of the class that hold the entry's feature, whatever its value: d_kj
    n_values  m, so that feature j has the columns from j(m − 1) on
    """

    present: NDArray[np.int64]
    n_values: int

    @property
    def document_frequencies(self) -> NDArray[np.int64]:
        """Documents that hold each feature, whatever its value: shape (V,)."""
        return self.feature_sums(self.present)[:: self.n_values - 1]


def value_counts(statistics: ClassStatistics, sample: DocumentCounts, *, n_values: int) -> ValueCounts:
    """Count the values that each feature has in each class.

    statistics  of the sample's documents, which are all that there are
    n_values    m: counts of m − 1 and more are one value
    raises      ModelError: there are too many features
    """
    derivation = Values(n_values)
    check_columns(statistics.n_features, derivation)
    meetings = statistics.restricted(np.repeat(np.arange(statistics.n_features), derivation.width))
    entries = meetings.locate(derive(sample, derivation))
    documents = np.bincount(entries, minlength=len(meetings.classes)).astype(np.int64)
    return ValueCounts(
        meetings.class_documents, meetings.indptr, meetings.classes, documents, documents, meetings.documents, n_values
    )


def categorical(statistics: ClassStatistics, *, smoothing: float) -> LinearScorer:
    """Weigh each value of each feature by how much likelier it is than the feature's absence.

    With p_kjv = (n_kjv + α) / (n_k + mα), the weight of value v is log(p_kjv / p_kj0), and Σ_j log p_kj0, the score
    of a document that holds nothing, is the bias.

    statistics  ValueCounts of K classes; plain ClassStatistics are two values, absent and present
    smoothing   α >= 0; 0 is maximum likelihood, clipped
    returns     the scorer of log P(document | class), without the prior, over the columns of the values
    source      scikit-learn 1.9, CategoricalNB with min_categories=m on min(counts, m − 1)
    """
    present, n_values = _presence(statistics)
    width = n_values - 1
    documents = statistics.class_documents
    totals = documents + n_values * smoothing
    default_absent = log_share(documents, totals, smoothing)
    default = log_share(np.zeros(statistics.n_classes), totals, smoothing) - default_absent

    of_class = statistics.classes
    absent = log_share(documents[of_class] - present, totals, smoothing, of=of_class)
    valued = log_share(statistics.documents, totals, smoothing, of=of_class)
    bias = statistics.n_features // width * default_absent
    bias = bias + statistics.class_sums(absent - default_absent[of_class]) / width
    scorer = LinearScorer(bias, default, statistics.indptr, of_class, valued - absent - default[of_class])
    return replace(scorer, derivation=Values(n_values)) if isinstance(statistics, ValueCounts) else scorer


def categorical_left_out(
    statistics: ClassStatistics, sample: DocumentCounts, scores: Floats, *, smoothing: float
) -> Floats:
    """The scores of documents under the model of all documents but themselves.

    Only a document's own class has learned from it: there it leaves the counts of its values, and the number of
    documents of the class, which the absent features feel too.

    statistics  of the whole corpus, the sample's documents included
    scores      (n_documents, n_classes), what the scorer of `statistics` says
    returns     the same with each document's own class scored anew
    """
    present, n_values = _presence(statistics)
    valued = derive(sample, Values(n_values)) if isinstance(statistics, ValueCounts) else sample
    positions = statistics.locate(valued)
    others = statistics.class_documents - 1
    totals = others + n_values * smoothing
    nobody_has = log_share(others, totals, smoothing)

    of_class = statistics.classes
    lacking = others[of_class] - present  # -1: every document of the class has it, so each one left out
    without = log_share(np.maximum(lacking, 0), totals, smoothing, of=of_class)
    empty_document = statistics.n_features // (n_values - 1) * nobody_has
    empty_document = empty_document + statistics.class_sums(without - nobody_has[of_class]) / (n_values - 1)

    has = statistics.documents[positions] - 1
    value = log_share(has, totals, smoothing, of=of_class[positions])
    left_out = scores.copy()
    left_out[np.arange(len(sample)), sample.classes] = empty_document[sample.classes] + sample.sum_entries(
        value - without[positions]
    )
    return left_out


def categorical_unseen(statistics: ClassStatistics, sample: DocumentCounts, *, smoothing: float) -> Floats:
    """The weight that a feature has for a document under the model of all others, none of which holds it.

    returns  (n_documents, n_classes)
    """
    _, n_values = _presence(statistics)
    documents = np.tile(statistics.class_documents, (len(sample), 1))
    documents[np.arange(len(sample)), sample.classes] -= 1
    totals = documents + n_values * smoothing
    return log_share(np.zeros(1), totals, smoothing) - log_share(documents, totals, smoothing)


def _presence(statistics: ClassStatistics) -> tuple[NDArray[np.int64], int]:
    """The documents that hold each entry's feature, and how many values a feature has."""
    if isinstance(statistics, ValueCounts):
        return statistics.present, statistics.n_values
    return statistics.documents, 2

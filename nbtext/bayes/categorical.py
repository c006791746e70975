"""Categorical and Bernoulli Naive Bayes: a class draws a value for each feature, its count up to a
bound.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np

from nbtext.arrays import Array, Floats, Integers, Integers32
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.event_model import EventModel, FeatureIds, LeftOut, leave_out_own
from nbtext.bayes.scorer import Csr, LinearScorer, check_derived_columns, derive, log_share
from nbtext.features.document_table import DocumentTable
from nbtext.numerics import exp
from nbtext.records import Strings, frozen, frozen_object


@frozen
class Values:
    """An indicator for each value of a feature except 0: value v of feature j is a 1 in column j(m
    − 1) + v − 1.

    n_values  m >= 2: values are 0 to m − 1; higher counts are m − 1
    """

    n_values: int
    height: ClassVar[int] = 1

    @property
    def width(self) -> int:
        return self.n_values - 1

    def rows(self, indptr: Integers, indices: Integers32, values: Array) -> Csr:
        capped = np.minimum(values, self.width).astype(np.int32)
        return (
            indptr,
            indices * np.int32(self.width) + capped - np.int32(1),
            np.ones(len(indices), np.int32),
        )


@frozen_object
class ValueCounts(ClassStatistics):
    """ClassStatistics over the values of features: `documents` is n_kjv, documents of class k with
    feature j = v.

    Each pair of a feature and a class that occurs has an entry for every value except 0.

    present   (n_entries,) int64, documents of the class that have the entry's feature, whatever its
              value: d_kj
    n_values  m; feature j has m − 1 columns from j(m − 1) on
    """

    ABSENCE: ClassVar[Strings] = ("present",)

    present: Integers
    n_values: int

    @property
    def document_frequencies(self) -> Integers:
        """The number of documents that have each feature, with any value: shape (V,)."""
        return self.feature_sums(self.present)[:: self.n_values - 1]


def count_values(
    statistics: ClassStatistics, documents: DocumentTable, *, n_values: int
) -> ValueCounts:
    """Count the values of each feature in each class.

    statistics  of these documents
    n_values    m: counts of m − 1 and more are one value
    raises      ModelError: there are too many features
    """
    derivation = Values(n_values)
    check_derived_columns(statistics.n_features, derivation)
    repeated = statistics.restrict(np.repeat(np.arange(statistics.n_features), derivation.width))
    valued = derive(documents, derivation)
    times = documents.multiplicities
    counts = np.zeros(len(repeated.classes), times.dtype)
    np.add.at(counts, repeated.locate(valued), times[valued.entry_documents])
    return ValueCounts(
        repeated.class_documents,
        repeated.indptr,
        repeated.classes,
        counts,
        counts,
        repeated.documents,
        n_values,
    )


def compile_categorical(statistics: ClassStatistics, *, smoothing: float) -> LinearScorer:
    """Weigh each value of each feature by log(p_kjv / p_kj0), with p_kjv = (n_kjv + α) / (n_k +
    mα).

    The bias is Σ_j log p_kj0, the score of a document without features. ClassStatistics of binary
    counts are the case m = 2, Bernoulli Naive Bayes: with p_kj = (d_kj + α) / (n_k + 2α), weights
    are log(p / (1 − p)).

    Parameters
    ----------
    statistics : ValueCounts of K classes, or ClassStatistics of binary counts
    smoothing : pseudo-counts α >= 0 of each value; 0 is maximum likelihood, clipped

    Returns
    -------
    The scorer of log P(document | class), without the prior, over the columns of the values.

    Sources: scikit-learn 1.9, CategoricalNB with min_categories=m on min(counts, m − 1); Manning,
    Raghavan, Schütze, Introduction to Information Retrieval, 2008, section 13.3.
    """
    present, n_values = _count_present(statistics)
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
    scorer = LinearScorer(
        bias, default, statistics.indptr, of_class, valued - absent - default[of_class]
    )
    return (
        replace(scorer, derivation=Values(n_values))
        if isinstance(statistics, ValueCounts)
        else scorer
    )


def _score_own(statistics: ClassStatistics, left_out: LeftOut, *, smoothing: float) -> Floats:
    """Return the leave-one-out scores of the pairs.

    A class loses the document's values and one document, which changes the probability of absent
    features too, and so the score of an empty document.
    """
    present, n_values = _count_present(statistics)
    pairs = left_out.pairs
    valued = derive(pairs, Values(n_values)) if isinstance(statistics, ValueCounts) else pairs
    positions = statistics.locate(valued)
    empty_document = np.zeros(len(pairs))
    for copies, rows, entries, numbers in left_out.group_entries(statistics):
        others = np.maximum(statistics.class_documents - copies, 0)
        totals = others + n_values * smoothing
        all_absent = log_share(others, totals, smoothing)
        of_class = statistics.classes[entries]
        # negative for a feature that the left-out documents must have
        lacking = np.maximum(others[of_class] - present[entries], 0)
        absent = log_share(lacking, totals, smoothing, of=of_class)
        values = numbers * (absent - all_absent[of_class])
        sums = np.bincount(of_class, values, statistics.n_classes)
        empty = statistics.n_features // (n_values - 1) * all_absent + sums / (n_values - 1)
        empty_document[rows] = empty[pairs.classes[rows]]
    of_pair = pairs.entry_documents
    others = np.maximum(statistics.class_documents[pairs.classes] - left_out.copies, 0)
    totals = others + n_values * smoothing
    lacking = np.maximum(others[of_pair] - present[positions], 0)
    absent = log_share(lacking, totals, smoothing, of=of_pair)
    remaining = statistics.documents[positions] - left_out.copies[of_pair]
    value = log_share(remaining, totals, smoothing, of=of_pair)
    return empty_document + pairs.sum_entries(value - absent)


def weigh_unseen_categorical(
    statistics: ClassStatistics, left_out: LeftOut, *, smoothing: float
) -> Floats:
    """Return the weight of a feature that no remaining document has, shape (n, n_classes)."""
    _, n_values = _count_present(statistics)
    documents = left_out.subtract(statistics.class_documents, np.ones(len(left_out), np.int64))
    totals = documents + n_values * smoothing
    return log_share(np.zeros(1), totals, smoothing) - log_share(documents, totals, smoothing)


def _count_present(statistics: ClassStatistics) -> tuple[Integers, int]:
    """Return the number of documents that have each entry's feature, and the number of values of a
    feature.
    """
    if isinstance(statistics, ValueCounts):
        return statistics.present, statistics.n_values
    return statistics.documents, 2


def draw_binary(weights: Floats, random: np.random.Generator, length: int) -> FeatureIds:
    """Draw for each feature whether it occurs; weights (V,) are log-odds. `length` is ignored."""
    with np.errstate(over="ignore"):  # exp(710) is infinite, and the probability 0
        return np.flatnonzero(random.random(len(weights)) < 1 / (1 + exp(-weights)))


BERNOULLI = EventModel(
    compile=compile_categorical,
    leave_one_out=partial(leave_out_own, compile=compile_categorical, own=_score_own),
    out_of_vocabulary=weigh_unseen_categorical,
    generate=draw_binary,
    cells="binary",
    sklearn="BernoulliNB",
)
CATEGORICAL = replace(  # Bernoulli's over the values of each feature
    BERNOULLI,
    sufficient_statistics=count_values,
    derivation=Values,
    generate=None,
    cells="values",
    sklearn=None,
    options=("smoothing", "prior", "values"),
)

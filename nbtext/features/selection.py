"""Feature selection: limits of document frequency, the most frequent features, and association with
the label.
"""

from __future__ import annotations

import numpy as np

from nbtext.arrays import Array, Floats, Integers
from nbtext.errors import ModelError, SettingsError, number_of
from nbtext.features.csr import row_sums
from nbtext.features.document_table import ClassCounts
from nbtext.features.settings import FeatureSettings
from nbtext.numerics import log

# settings that decide whether a text has a feature
REMOVING = str.split("vocabulary token_pattern stop_words analyzer ngrams view")


def no_token(settings: FeatureSettings) -> ModelError:
    """Return the error for documents of which none contains a feature."""
    default = FeatureSettings()
    given = [f"‹{name}›" for name in REMOVING if getattr(settings, name) != getattr(default, name)]
    hint = "by default a token has at least two characters; see ‹token_pattern›"
    if given:
        hint = f"change {' or '.join(given)}, or name the column of the text with ‹text_field›"
    return ModelError("no document contains a token that is a feature", hint=hint)


def is_selective(settings: FeatureSettings) -> bool:
    """Return whether these settings can remove a feature that occurs."""
    has_lower_limit = not 0 <= settings.min_df <= (1 if isinstance(settings.min_df, int) else 0)
    has_upper_limit = isinstance(settings.max_df, int) or settings.max_df != 1
    return (
        has_lower_limit
        or has_upper_limit
        or settings.max_features is not None
        or settings.select is not None
    )


def select_columns(
    counts: ClassCounts, class_documents: Integers, settings: FeatureSettings
) -> Integers:
    """Return the columns to keep, ascending, after the limits of document frequency, max_features
    and select.

    Ties go to the first columns, which are the first names. With tf `binary`, the frequency of a
    feature is its document frequency, and chi-squared uses it.

    class_documents  (n_classes,), documents of each class, those without any feature included
    raises           SettingsError: contradictory limits; ModelError: no feature is left
    source           scikit-learn 1.9, CountVectorizer._limit_features (which breaks ties
                     arbitrarily)
    """
    if len(counts.indptr) == 1:
        raise no_token(settings)
    frequencies = row_sums(counts.indptr, counts.documents)
    low, high = document_frequency_limits(settings, int(class_documents.sum()))
    columns = np.flatnonzero((low <= frequencies) & (frequencies <= high))
    if len(columns) == 0:
        has_upper_limit = isinstance(settings.max_df, int) or settings.max_df != 1
        hint = "lower ‹min_df› or raise ‹max_df›" if has_upper_limit else "lower ‹min_df›"
        raise ModelError("no feature is left after the limits of document frequency", hint=hint)
    occurrences = counts.documents if settings.tf == "binary" else counts.occurrences
    if settings.max_features is not None:
        columns = _best(columns, row_sums(counts.indptr, occurrences), settings.max_features)
    if settings.select is not None:
        criterion, n_best = settings.select
        if len(class_documents) < 2:
            what = f"{criterion} needs documents of at least two labels"
            raise ModelError(what, where="‹select›")
        if criterion == "mi":
            scores = mutual_information(counts, class_documents)
        elif criterion == "chi2":
            scores = chi_squared(counts, occurrences, class_documents)
        else:
            raise SettingsError(
                f"unknown criterion {criterion}", where="select", hint="write mi:N or chi2:N"
            )
        columns = _best(columns, scores, n_best)
    return columns


def document_frequency_limits(settings: FeatureSettings, n_documents: int) -> tuple[float, float]:
    """Return the minimum and maximum document frequency; a share of the documents is not rounded.

    raises  SettingsError: the minimum is above the maximum
    """
    limits = (settings.min_df, settings.max_df)
    low, high = (limit if isinstance(limit, int) else limit * n_documents for limit in limits)
    if high < low and low > n_documents:
        raise SettingsError(
            f"{settings.min_df:,} is more than the number of documents, {n_documents:,}",
            where="min_df",
        )
    if high < low:
        what = f"{settings.max_df} allows {number_of(high, 'document')} of {n_documents:,}"
        what += f", but ‹min_df› {settings.min_df} needs {low:,g}"
        raise SettingsError(what, where="max_df", hint="raise ‹max_df›, or lower ‹min_df›")
    return low, high


def _best(columns: Integers, scores: Floats, n_best: int) -> Integers:
    """Return the columns with the n_best highest scores, ascending; of equal ones the first."""
    # 40 significant bits, so that rounding errors of logarithms do not break ties
    mantissas, exponents = np.frexp(scores[columns])
    rounded = np.ldexp(np.round(mantissas * 2.0**40), exponents)
    return np.sort(columns[np.argsort(-rounded, kind="stable")[:n_best]])


def mutual_information(counts: ClassCounts, class_documents: Integers) -> Floats:
    """Return the mutual information of each feature's binary count and the label, in nats.

    I = Σ P(feature, class) · ln(P(feature, class) / (P(feature) P(class))), maximum-likelihood
    estimates.

    returns  (n_features,), each >= 0
    source   Manning, Raghavan, Schütze, Introduction to Information Retrieval, 2008, equation 13.17
             (there in bits)
    """
    n_documents = float(class_documents.sum())
    in_class = class_documents[counts.classes].astype(np.float64)
    holding = row_sums(counts.indptr, counts.documents)
    spread = np.repeat(holding, np.diff(counts.indptr))
    entries = _share_of_information(counts.documents, spread, in_class, n_documents)
    entries += _share_of_information(
        in_class - counts.documents, n_documents - spread, in_class, n_documents
    )
    # if no document has the feature
    in_other_classes = n_documents - row_sums(counts.indptr, in_class)
    others = _share_of_information(
        in_other_classes, n_documents - holding, in_other_classes, n_documents
    )
    return np.maximum(row_sums(counts.indptr, entries) + others, 0.0)


def _share_of_information(both: Array, one: Floats, other: Floats, n_documents: float) -> Floats:
    """Return P(a, b) ln(P(a, b) / (P(a) P(b))) from numbers of documents; 0 for no documents."""
    share = np.zeros(len(both))
    some = both > 0
    joint = both[some] / n_documents
    # logarithms of the numbers apart: a product of tiny numbers (sums of probabilities) would be 0
    share[some] = joint * (log(both[some]) - log(one[some]) - log(other[some]) + log(n_documents))
    return share


def chi_squared(counts: ClassCounts, occurrences: Array, class_documents: Integers) -> Floats:
    """Return the chi-squared statistic of each feature's occurrences and the label.

    χ² = Σ (observed - expected)² / expected over the classes; a class without the feature adds the
    expected number.

    occurrences  (n_entries,), counts, binary counts or weights >= 0 for each feature and class
    returns      (n_features,)
    source       scikit-learn 1.9, feature_selection.chi2
    """
    totals = row_sums(counts.indptr, occurrences)
    expected = (class_documents / class_documents.sum())[counts.classes]
    # shares of the occurrences, because squares of tiny numbers (sums of probabilities) would be 0
    observed = occurrences / np.repeat(totals, np.diff(counts.indptr))
    return totals * (1 + row_sums(counts.indptr, (observed - expected) ** 2 / expected - expected))

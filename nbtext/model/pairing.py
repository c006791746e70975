"""Labelled and unlabeled documents, as one model looks at both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.errors import ModelError
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.selection import is_selective, selected_columns
from nbtext.features.settings import FeatureSettings
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts, united
from nbtext.model.fitting import over_vocabulary

if TYPE_CHECKING:
    from nbtext.bayes.settings import ModelSettings


@dataclass(frozen=True, eq=False)
class Pair:
    """Labelled and unlabeled documents, counted over the features of both.

    tally       the labelled documents, over all features
    columns     those of them that the settings choose; None: all
    weighting   how their counts are read: as they are, or as presence
    statistics  of the labelled documents, as the model reads them: over the chosen features
    sample      labelled documents, likewise
    others      the unlabeled documents, likewise, if they were kept
    everywhere  (n_chosen,), occurrences of each feature in all documents, likewise
    n_others    the unlabeled documents that there are
    is_alone    (2, n_chosen), which of these features only one labelled document holds, and which only one of all
    lengths     (n_sampled,), tokens of each labelled document of the sample
    """

    tally: CorpusCounts
    columns: NDArray[np.int64] | None
    weighting: Weighting
    statistics: ClassStatistics
    sample: DocumentCounts
    others: DocumentCounts
    everywhere: NDArray[np.int64]
    n_others: int
    is_alone: NDArray[np.bool_]
    lengths: NDArray[np.float64]


def paired(
    labelled: CorpusCounts, unlabeled: CorpusCounts, features: FeatureSettings, modelling: ModelSettings
) -> Pair:
    """Two corpora by the same settings; the limits of document frequency look at both, `select` at labels.

    unlabeled  all of its documents in its sample, or none; the labels are not looked at
    raises      ModelError: no feature is left
    """
    tally, others, both = _united(over_vocabulary(labelled, features), over_vocabulary(unlabeled, features))
    if both.n_features == 0:
        raise ModelError("the documents hold no feature", hint="a word has two letters at least, see --token-pattern")
    is_alone = np.stack([each.document_frequencies == 1 for each in (tally.statistics, both)])
    if tally.vocabulary is None or features.vocabulary is not None:
        is_alone[:] = False
    columns = None
    if tally.vocabulary is not None and is_selective(features):
        columns = _columns(tally.statistics, both, features)
        others, is_alone = others.restrict(columns, both.n_features), is_alone[:, columns]
    read = tally if columns is None else tally.restricted(columns)
    lengths, statistics, sample = read.sample.lengths, read.statistics, read.sample
    sees_presence = modelling.model == "bernoulli" or features.tf == "binary"
    if sees_presence:
        statistics, sample, others = statistics.binarize(), sample.binarize(), others.binarize()
    everywhere = both.feature_sums(both.documents if sees_presence else both.occurrences)
    if columns is not None:
        everywhere = everywhere[columns]
    weighting, n_others = Weighting("binary" if sees_presence else "count"), unlabeled.statistics.n_documents
    return Pair(tally, columns, weighting, statistics, sample, others, everywhere, n_others, is_alone, lengths)


def _united(labelled: CorpusCounts, unlabeled: CorpusCounts) -> tuple[CorpusCounts, DocumentCounts, ClassStatistics]:
    """The labelled documents over all features, the others, and the counts of all, those in a class of their own."""
    vocabulary, mine, theirs = united(labelled, unlabeled)
    n_features = len(vocabulary) if vocabulary is not None else labelled.statistics.n_features
    n_labels = len(labelled.labels)
    labels, rest = np.arange(n_labels, dtype=np.int32), np.full(len(unlabeled.labels), n_labels, dtype=np.int32)
    statistics = labelled.statistics.aligned(mine, n_features, classes=labels, n_classes=n_labels)
    tally = replace(
        labelled, vocabulary=vocabulary, statistics=statistics, sample=labelled.sample.renumber(mine, labels)
    )
    both = labelled.statistics.aligned(mine, n_features, classes=labels, n_classes=n_labels + 1)
    both += unlabeled.statistics.aligned(theirs, n_features, classes=rest, n_classes=n_labels + 1)
    return tally, unlabeled.sample.renumber(theirs, rest), both


def _columns(labelled: ClassStatistics, both: ClassStatistics, features: FeatureSettings) -> NDArray[np.int64]:
    """The columns that the settings choose."""
    columns = selected_columns(both, both.class_documents, replace(features, select=None))
    if features.select is None:
        return columns
    told = labelled.restricted(columns)
    only = replace(features, min_df=1, max_df=1.0, max_features=None)
    return columns[selected_columns(told, told.class_documents, only)]

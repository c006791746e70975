"""The model that learns each answer at once: the counts of a document are added to it, or subtracted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nbtext.bayes.calibration import Calibration
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.label_selection import MultilabelFit, default_multilabel_fit
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.bayes.smoothing import Selection
from nbtext.documents.batch import Batch
from nbtext.features.document_counts import concatenate
from nbtext.features.settings import FeatureSettings
from nbtext.labeling.pool import PoolDocument
from nbtext.labeling.ranking import SMOOTHING, length_temperature
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts, unite_vocabularies
from nbtext.model.explanation import Explainer, Explanation
from nbtext.model.fitted_model import FittedModel, TrainedModel
from nbtext.model.fitting import fit_model
from nbtext.model.growth import check_growth
from nbtext.model.predictions import Labels


class Learner:
    """A model that documents are added to, one by one.

    It is the model of the counts of all documents, as if it had been trained on them, with the settings, the smoothing
    and the calibration of the existing model. Without one, it is a complement model of binary counts.

    Parameters
    ----------
    features
        Features of a model that starts without counts.
    trained
        The existing model; None: there is none.
    has_lists
        Whether the answers are lists of labels.

    Raises
    ------
    ModelError
        The existing model cannot be updated.
    """

    def __init__(self, features: FeatureSettings, trained: TrainedModel | None, *, has_lists: bool) -> None:
        self.features, self._has_lists = features, has_lists
        self._earlier = trained.fitted if trained is not None else None
        self._counts: CorpusCounts | None = None
        self._added: list[tuple[PoolDocument, Labels]] = []
        self._fitted: FittedModel | None = None
        if trained is not None:
            check_growth(trained)
            self.features = trained.fitted.feature_settings
            self._counts = replace(trained.counts, sample=concatenate(()), sample_size=0).drop_unused_sets()
        self._initial = self._counts

    @property
    def labels(self) -> Labels:
        """The labels of the documents, without those that have no document."""
        return () if self._counts is None else self._counts.labels

    def add(self, documents: Sequence[tuple[PoolDocument, Labels]]) -> None:
        """Add labeled documents."""
        if documents:
            counts = self._count(documents)
            self._counts = counts if self._counts is None else self._counts + counts
            self._added += documents
            self._fitted = None

    def remove(self, document: PoolDocument, labels: Labels) -> None:
        """Subtract a document that was added."""
        assert self._counts is not None  # something was added
        self._added.remove((document, labels))
        if self._counts.statistics.is_decayed:  # differences of fractions are rounded
            added, self._added, self._counts = self._added, [], self._initial
            self.add(added)
        else:
            counts = self._counts - self._count([(document, labels)])
            self._counts = counts if counts.statistics.n_documents else None
        self._fitted = None

    def explain(self, document: PoolDocument) -> list[Explanation]:
        """Return the explanation of the predicted label; of several, that of each. Empty without labeled documents."""
        fitted = self.fit()
        if fitted is None:
            return []
        columns = tuple([text] for text in document.texts)
        return Explainer(fitted).explain_batch(Batch([document.id], columns, [None]))

    def fit(self) -> FittedModel | None:
        """Return the model of all documents; None without labels or features."""
        if self._fitted is None and self.labels and self._counts is not None and self._counts.statistics.n_features:
            features, settings, selection = self._plan()
            self._fitted = fit_model(self._counts, features, settings, selection=selection)
        return self._fitted

    def statistics_over(self, pool: CorpusCounts) -> tuple[Labels, ClassStatistics] | None:
        """Return the labels, and the statistics of their documents over the features of the pool.

        A document counts once for each of its labels.
        """
        if self._counts is None:
            return None
        counts, statistics = self._counts, replace(self._counts.statistics, totals=None)
        _, mine, theirs = unite_vocabularies(counts, pool)
        n_united = int(max(mine.max(initial=-1), theirs.max(initial=-1))) + 1
        classes = np.arange(statistics.n_classes)
        united = statistics.align(mine, n_united, classes=classes, n_classes=len(classes))
        return self.labels, united.restrict(theirs.astype(np.int64))

    def _count(self, documents: Sequence[tuple[PoolDocument, Labels]]) -> CorpusCounts:
        counter = CorpusCounter(self.features, sample_size=0)
        columns = tuple(map(list, zip(*(document.texts for document, _ in documents), strict=True)))
        batch = Batch([document.id for document, _ in documents], columns, [None] * len(documents))
        batch.set_labels([labels if self._has_lists else labels[0] for _, labels in documents])
        counter.add(batch)
        return counter.finish()

    def _plan(self) -> tuple[FeatureSettings, ModelSettings, Selection | MultilabelFit]:
        """Return the settings of a model, and what is not fitted to so few documents."""
        if self._earlier is not None:
            fit = self._earlier.task.transfer(self.labels, self._earlier.hyperparameters)
            return self._earlier.feature_settings, self._earlier.model_settings, fit
        n_labels = len(self.labels)
        if self._has_lists:
            return self.features, ModelSettings(model=AUTO), default_multilabel_fit(n_labels)
        # of two labels, the complement of one is the other
        name = "complement" if n_labels > 2 else "multinomial"
        features = replace(self.features, tf="binary") if self.features.is_counting else self.features
        selection = Selection(Hyperparameters(SMOOTHING), Calibration(temperature=length_temperature(n_labels)))
        return features, ModelSettings(model=name, smoothing=SMOOTHING, prior="uniform"), selection

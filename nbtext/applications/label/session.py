"""A labeling session: which document is shown, what an answer changes, and the model that learns it
at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from nbtext.applications.label.pool import Answer, AnswerFile, Pool, PoolDocument, batch_of
from nbtext.applications.label.ranking import (
    RANKING_SMOOTHING,
    Ranking,
    length_temperature,
    measure_uncertainty,
)
from nbtext.arrays import Floats32, Mask
from nbtext.bayes.calibration import Calibration
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.label_calibration import MultilabelFit, default_multilabel_fit
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.bayes.smoothing import Selection
from nbtext.features.document_table import concatenate
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts, unite_vocabularies
from nbtext.model.explanation import Explainer, Explanation
from nbtext.model.fitted_model import FittedModel, TrainedModel
from nbtext.model.fitting import fit_model
from nbtext.model.predictions import Labels
from nbtext.model.predictor import Predictor
from nbtext.model.word_vectors import split_name

# Answers for each name, from which on the model learns them. Accuracy on held-out training
# documents of the names alone (N), and with 20, 50, 100 and 200 random answers: 20 newsgroups
# N 0.41, 0.36, 0.49, 0.51, 0.66; 77 short questions N 0.56, 0.52, 0.55, 0.58, 0.62.
ANSWERS_A_NAME = 2


class Learner:
    """A model that documents are added to, one by one.

    It is the model of the counts of all documents, as if it had been trained on them, with the
    settings, the smoothing and the calibration of the existing model. Without one, it is a
    complement model of binary counts.

    Parameters
    ----------
    features
        Features of the existing model, or of one that starts without counts.
    trained
        The existing model, which can be updated (`check_growth`); None: there is none.
    has_lists
        Whether the answers are lists of labels.
    of_vectors
        Settings with word vectors and the words of all documents, for two labels and more; None:
        there are none.
    by_names
        The model of the names of labels alone; None: there is none.
    """

    def __init__(
        self,
        features: FeatureSettings,
        trained: TrainedModel | None,
        *,
        has_lists: bool,
        of_vectors: ModelSettings | None = None,
        by_names: FittedModel | None = None,
    ) -> None:
        self.features = features
        self._has_lists = has_lists
        self._of_vectors = of_vectors
        self._by_names = by_names
        self._earlier = trained.fitted if trained is not None else None
        self._initial: CorpusCounts | None = None
        if trained is not None:
            self._initial = replace(
                trained.counts, sample=concatenate(()), sample_size=0
            ).drop_unused_sets()
        self.restart()

    def restart(self) -> None:
        """Forget the documents that were added."""
        self.counts = self._initial

    @property
    def labels(self) -> Labels:
        """The labels of the documents, without those that have no document."""
        return () if self.counts is None else self.counts.labels

    @property
    def by_names(self) -> FittedModel | None:
        """The model of the names alone; None once there are enough answers."""
        if self._by_names is None or self.counts is None:
            return self._by_names
        n_names = len(self._by_names.task.labels)
        is_few = self.counts.statistics.n_documents < ANSWERS_A_NAME * n_names
        return self._by_names if is_few else None

    def add(self, answers: Sequence[Answer]) -> None:
        """Add labeled documents."""
        if answers:
            counts = self._count(answers)
            self.counts = counts if self.counts is None else self.counts + counts

    def _count(self, answers: Sequence[Answer]) -> CorpusCounts:
        counter = CorpusCounter(self.features, sample_size=None if self._of_vectors else 0)
        batch = batch_of([answer.document for answer in answers])
        batch.labels = [
            answer.labels if self._has_lists else answer.labels[0] for answer in answers
        ]
        counter.add(batch)
        return counter.finish()

    def explain(self, document: PoolDocument) -> list[Explanation]:
        """Return the explanation of the predicted label; of several, that of each. Empty without
        labeled documents.
        """
        fitted = self.fit()
        return [] if fitted is None else Explainer(fitted).explain_batch(batch_of([document]))

    def fit(self) -> FittedModel | None:
        """Return the model of all documents; None without labels or features."""
        counts = self.counts
        if self.by_names is not None:
            return self.by_names
        if counts is None or not counts.labels or not counts.statistics.n_features:
            return None
        if self._of_vectors is not None and len(counts.labels) > 1:
            descriptions = [  # each stands for an answer of a label that has none
                Answer(PoolDocument("", (text or split_name(label),)), (label,), b"")
                for label, text in self._of_vectors.names
                if label not in counts.labels
            ]
            if descriptions:
                counts += self._count(descriptions)
            return fit_model(counts, self.features, self._of_vectors)
        features, settings, selection = self._plan()
        return fit_model(counts, features, settings, selection=selection)

    def statistics_over(self, pool: CorpusCounts) -> ClassStatistics | None:
        """Return the statistics of the documents over the features of the pool; None without
        documents.

        A document counts once for each of its labels.
        """
        if self.counts is None:
            return None
        statistics = replace(self.counts.statistics, totals=None)
        _, mine, theirs = unite_vocabularies(self.counts, pool)
        n_united = int(max(mine.max(initial=-1), theirs.max(initial=-1))) + 1
        classes = np.arange(statistics.n_classes)
        united = statistics.align(mine, n_united, classes=classes, n_classes=len(classes))
        return united.restrict(theirs.astype(np.int64))

    def _plan(self) -> tuple[FeatureSettings, ModelSettings, Selection | MultilabelFit]:
        """Return the settings of a model, and what is not fitted to so few documents."""
        if self._earlier is not None:
            fit = self._earlier.task.transfer(self.labels, self._earlier.hyperparameters)
            return self._earlier.feature_settings, self._earlier.model_settings, fit
        n_labels = len(self.labels)
        if self._has_lists:
            return self.features, ModelSettings(model=AUTO), default_multilabel_fit(n_labels)
        features = replace(self.features, tf="binary")
        settings = ModelSettings(model="complement", smoothing=RANKING_SMOOTHING, prior="uniform")
        calibration = Calibration(temperature=length_temperature(n_labels))
        return features, settings, Selection(Hyperparameters(RANKING_SMOOTHING), calibration)


class Session:
    """Labels the documents of a pool, one after the other.

    Each answer is on the disk before anything else changes. Then the model and the ranking learn
    it, and the next document is chosen. Documents with an answer in the file, with the same id and
    text, are not shown again.

    Parameters
    ----------
    pool
        The documents.
    file
        The answers, with those of earlier sessions.
    learner
        The model.
    labels
        Labels that the person can choose from the start, beside those of the model and of the file.

    Attributes
    ----------
    current : PoolDocument or None
        The document to label; None: no document is left.
    labels : list of str
        The labels that the person can choose, in the order of their keys, which the file keeps;
        new ones come last.
    """

    def __init__(self, pool: Pool, file: AnswerFile, learner: Learner, labels: Labels = ()) -> None:
        self.file = file
        self.learner = learner
        self.pool = pool
        self.labels = list(dict.fromkeys((*file.order_labels(), *labels, *learner.labels)))
        self._rows: dict[PoolDocument, list[int]] = defaultdict(list)
        for row, document in enumerate(pool.documents):
            self._rows[document].append(row)
        self._is_left = np.ones(len(pool.documents), dtype=bool)  # has no answer
        self._is_found = self._is_left.copy()  # by the search
        # each with the number of answers that precede it
        self._skipped: list[tuple[PoolDocument, int]] = []
        self._ranking = Ranking(pool.counts.sample, pool.counts.statistics.n_features)
        self._learn(file.answers)
        self.current: PoolDocument | None = None
        self._show_next()

    @property
    def n_left(self) -> int:
        """Number of documents without an answer that the search finds, those that were skipped
        included.
        """
        return int((self._is_left & self._is_found).sum())

    def answer(self, labels: Labels) -> None:
        """Give the current document its labels, and show the next one; NbtextError if they cannot
        be written.
        """
        if self.current is not None:
            self.file.append(self.current, labels, self.labels)
            self._learn(self.file.answers[-1:])
            self._show_next()

    def skip(self) -> None:
        """Leave the current document without an answer. It comes again when all others are answered
        or skipped.
        """
        if self.current is not None:
            self._skipped.append((self.current, len(self.file.answers)))
            self._show_next()

    def undo(self) -> None:
        """Undo the last skip or answer, also an answer of an earlier session, and show its
        document.
        """
        n_answers = len(self.file.answers)
        if self._skipped and self._skipped[-1][1] == n_answers:
            self.current, _ = self._skipped.pop()
        elif n_answers:
            self.current = self.file.remove_last().document
            self.learner.restart()
            self._ranking.restart()
            self._is_left[:] = True
            self._learn(self.file.answers)

    def search(self, words: str) -> int:
        """Show only documents that contain the words, from now on; "": all. Return how many there
        are.

        Upper and lower case are equal. If no document matches, the previous search is kept.
        """
        wanted = words.casefold()
        is_found = np.array(
            [wanted in "\n".join(document.texts).casefold() for document in self.pool.documents],
            dtype=bool,
        )
        n_found = int((is_found & self._is_open()).sum())
        if n_found:
            self._is_found = is_found
            self._show_next()
        return n_found

    def _is_open(self) -> Mask:
        """Return which documents have no answer, and were not skipped."""
        is_open = self._is_left.copy()
        for document, _ in self._skipped:
            is_open[self._rows[document]] = False
        return is_open

    @cached_property
    def _uncertainty_by_names(self) -> Floats32:
        assert self.learner.by_names is not None
        documents = [self.pool.documents[row] for row in self._ranking.compared]
        found = Predictor(self.learner.by_names).predict_batch(batch_of(documents))
        return measure_uncertainty(found.probabilities)

    def _show_next(self) -> None:
        is_open = self._is_open()
        if not is_open.any():
            self._skipped.clear()
            is_open = self._is_left
        if not (is_open & self._is_found).any():
            self._is_found[:] = True
        statistics = self.learner.statistics_over(self.pool.counts)
        uncertainty = None if self.learner.by_names is None else self._uncertainty_by_names
        row = self._ranking.choose(is_open & self._is_found, statistics, uncertainty)
        self.current = None if row is None else self.pool.documents[row]

    def _learn(self, answers: Sequence[Answer]) -> None:
        """Add answers to the model and to the ranking; all copies of a document have its answer."""
        self.learner.add(answers)
        rows = [row for answer in answers for row in self._rows[answer.document]]
        self._is_left[rows] = False
        self._ranking.add(rows)

"""A labeling session: which document is shown, what an answer changes, and the model that learns it
at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from nbtext.applications.label.pool import AnswerFile, Pool, PoolDocument
from nbtext.applications.label.ranking import SMOOTHING, Ranking, length_temperature
from nbtext.arrays import Mask
from nbtext.bayes.calibration import Calibration
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.label_calibration import MultilabelFit, default_multilabel_fit
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.bayes.smoothing import Selection
from nbtext.documents.batch import Batch, check_label
from nbtext.errors import InputError
from nbtext.features.document_counts import concatenate
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts, unite_vocabularies
from nbtext.model.explanation import Explainer, Explanation
from nbtext.model.fitted_model import FittedModel, TrainedModel
from nbtext.model.fitting import fit_model
from nbtext.model.growth import check_growth
from nbtext.model.predictions import Labels


class Learner:
    """A model that documents are added to, one by one.

    It is the model of the counts of all documents, as if it had been trained on them, with the
    settings, the smoothing and the calibration of the existing model. Without one, it is a
    complement model of binary counts.

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

    def __init__(
        self, features: FeatureSettings, trained: TrainedModel | None, *, has_lists: bool
    ) -> None:
        self.features = features
        self._has_lists = has_lists
        self._earlier = trained.fitted if trained is not None else None
        self._counts: CorpusCounts | None = None
        self._added: list[tuple[PoolDocument, Labels]] = []
        self._fitted: FittedModel | None = None
        if trained is not None:
            check_growth(trained)
            self.features = trained.fitted.feature_settings
            self._counts = replace(
                trained.counts, sample=concatenate(()), sample_size=0
            ).drop_unused_sets()
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
        """Take back a document that was added: the others are counted again."""
        added = self._added
        added.remove((document, labels))
        self._added = []
        self._counts = self._initial
        self._fitted = None
        self.add(added)

    def explain(self, document: PoolDocument) -> list[Explanation]:
        """Return the explanation of the predicted label; of several, that of each. Empty without
        labeled documents.
        """
        fitted = self.fit()
        if fitted is None:
            return []
        return Explainer(fitted).explain_batch(
            Batch([document.id], tuple([text] for text in document.texts), [None])
        )

    def fit(self) -> FittedModel | None:
        """Return the model of all documents; None without labels or features."""
        if (
            self._fitted is None
            and self.labels
            and self._counts is not None
            and self._counts.statistics.n_features
        ):
            features, settings, selection = self._plan()
            self._fitted = fit_model(self._counts, features, settings, selection=selection)
        return self._fitted

    def statistics_over(self, pool: CorpusCounts) -> tuple[Labels, ClassStatistics] | None:
        """Return the labels, and the statistics of their documents over the features of the pool.

        A document counts once for each of its labels.
        """
        if self._counts is None:
            return None
        counts = self._counts
        statistics = replace(self._counts.statistics, totals=None)
        _, mine, theirs = unite_vocabularies(counts, pool)
        n_united = int(max(mine.max(initial=-1), theirs.max(initial=-1))) + 1
        classes = np.arange(statistics.n_classes)
        united = statistics.align(mine, n_united, classes=classes, n_classes=len(classes))
        return self.labels, united.restrict(theirs.astype(np.int64))

    def _count(self, documents: Sequence[tuple[PoolDocument, Labels]]) -> CorpusCounts:
        counter = CorpusCounter(self.features, sample_size=0)
        columns = tuple(map(list, zip(*(document.texts for document, _ in documents), strict=True)))
        batch = Batch([document.id for document, _ in documents], columns, [None] * len(documents))
        batch.labels = [labels if self._has_lists else labels[0] for _, labels in documents]
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
        features = (
            replace(self.features, tf="binary") if self.features.is_counting else self.features
        )
        selection = Selection(
            Hyperparameters(SMOOTHING), Calibration(temperature=length_temperature(n_labels))
        )
        return features, ModelSettings(model=name, smoothing=SMOOTHING, prior="uniform"), selection


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
        The labels that the person can choose, in a constant order; new ones come last.
    is_again : bool
        Whether the last step ran out of documents, so that skipped ones come again.
    """

    def __init__(self, pool: Pool, file: AnswerFile, learner: Learner, labels: Labels = ()) -> None:
        self.file = file
        self.learner = learner
        self.pool = pool
        self.labels = list(dict.fromkeys((*labels, *learner.labels)))
        self._search: Mask | None = None
        self._rows: dict[PoolDocument, list[int]] = defaultdict(list)
        for row, document in enumerate(pool.documents):
            self._rows[document].append(row)
        self._skipped: set[int] = set()
        self._last_skipped: list[PoolDocument] = []  # since the last answer
        self._is_open = np.ones(len(pool.documents), dtype=bool)
        names, statistics = learner.statistics_over(pool.counts) or ((), None)
        self._classes = {label: k for k, label in enumerate(names)}  # of the ranking
        self._ranking = Ranking(pool.counts.sample, pool.counts.statistics.n_features, statistics)
        for answer in file.answers:
            self._close(answer.document, answer.labels)
            self.labels = list(dict.fromkeys((*self.labels, *answer.labels)))
        learner.add([(answer.document, answer.labels) for answer in file.answers])
        self.current: PoolDocument | None = None
        self.is_again = False
        self._show_next()

    @property
    def n_left(self) -> int:
        """Number of documents without an answer, those that were skipped included."""
        return int(self._is_open.sum()) + len(self._skipped)

    @property
    def n_found(self) -> int | None:
        """Number of documents without an answer that the search finds; None without a search."""
        return None if self._search is None else int((self._search & self._is_open).sum())

    def explain(self) -> list[Explanation]:
        """Return the explanations of the predictions for the current document; empty if there is no
        model yet.
        """
        return self.learner.explain(self.current) if self.current is not None else []

    def answer(self, labels: Labels) -> None:
        """Give the current document its labels, and show the next one; OutputError if they cannot
        be written.
        """
        if self.current is None:
            return
        document = self.current
        self._last_skipped.clear()
        self.file.append(document, labels)
        self.learner.add([(document, labels)])
        self._close(document, labels)
        self._show_next()

    def skip(self) -> None:
        """Leave the current document without an answer. It comes again when all others are answered
        or skipped.
        """
        if self.current is None:
            return
        self._last_skipped.append(self.current)
        for row in self._rows.get(self.current, ()):
            self._is_open[row] = False
            self._skipped.add(row)
        self._show_next()

    def undo(self) -> str:
        """Undo the last skip or answer, also an answer of an earlier session, and show its
        document.

        Return what was undone: "skip", "answer", or "" if there is nothing to undo.
        """
        if self._last_skipped:
            self.current = self._last_skipped.pop()
            self._reopen(self._rows.get(self.current, ()))
            return "skip"
        if not self.file.answers:
            return ""
        answer = self.file.remove_last()
        self.learner.remove(answer.document, answer.labels)
        for place, row in enumerate(self._rows.get(answer.document, ())):
            self._ranking.remove(row, self._number(answer.labels) if place == 0 else [])
            self._is_open[row] = True
        self.current = answer.document
        return "answer"

    def search(self, words: str) -> int:
        """Show only documents that contain the words, from now on; "": all. Return how many there
        are.

        Upper and lower case are equal. If no document matches, the previous search is kept.
        """
        if not words:
            self._search = None
            self._show_next()
            return int(self._is_open.sum())
        wanted = words.casefold()
        found = np.array(
            [
                any(wanted in text.casefold() for text in document.texts)
                for document in self.pool.documents
            ],
            dtype=bool,
        )
        n_found = int((found & self._is_open).sum())
        if n_found:
            self._search = found
            self._show_next()
        return n_found

    def add_label(self, label: str) -> str:
        """Add a label that the person can choose, and return it; InputError if it cannot be a
        label.
        """
        label = label.strip()
        if not label:
            raise InputError("a label needs a character that is not white space")
        check_label(label)
        if label not in self.labels:
            self.labels.append(label)
        return label

    def _show_next(self) -> None:
        is_open = self._is_open if self._search is None else self._is_open & self._search
        row = self._ranking.choose(is_open)
        if row is None and self._search is not None:  # all that the search finds are answered
            self._search = None
            row = self._ranking.choose(self._is_open)
        self.is_again = row is None and bool(self._skipped)
        if self.is_again:
            self._reopen(self._skipped)
            row = self._ranking.choose(self._is_open)
        self.current = None if row is None else self.pool.documents[row]

    def _reopen(self, rows: Iterable[int]) -> None:
        """Show skipped documents again."""
        for row in list(rows):
            self._is_open[row] = True
            self._skipped.discard(row)

    def _close(self, document: PoolDocument, labels: Labels) -> None:
        """Take all copies of a document from the pool, and have the ranking learn its labels
        once.
        """
        for place, row in enumerate(self._rows.get(document, ())):
            self._ranking.add(row, self._number(labels) if place == 0 else [])
            self._is_open[row] = False
            self._skipped.discard(row)

    def _number(self, labels: Labels) -> list[int]:
        return [self._classes.setdefault(label, len(self._classes)) for label in labels]

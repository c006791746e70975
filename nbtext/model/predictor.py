"""Predictions for batches of documents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from threading import Lock
from typing import NamedTuple

import numpy as np

from nbtext.arrays import Array, Floats, Integers
from nbtext.bayes.conformal import log_likelihood_per_token, typicality
from nbtext.documents.batch import Batch, text_lengths
from nbtext.features.analyzer import TOO_LONG, refuse_long_texts
from nbtext.features.counting import Counter, counter
from nbtext.features.document_table import DocumentTable
from nbtext.features.matrix import Matrix
from nbtext.features.matrix_counter import MatrixCounter, known_tokens
from nbtext.model.fitted_model import Evidence, FittedModel
from nbtext.model.predictions import Labels, Predictions
from nbtext.model.settings import DecisionSettings
from nbtext.model.task import Task
from nbtext.model.word_pieces import Pieces, take_part

MOST_PROBABLE = DecisionSettings()
MAX_FEW = 64  # texts that are looked at, to find out whether they are short
# Of a vocabulary for each character, from which looking up the words of the texts takes less time
# than preparing it: with 1.1 million words and pairs, a text of 2,000 characters is predicted in
# half of the time.
FEATURES_PER_CHARACTER = 8


class Scores(NamedTuple):
    """The scores of some documents, before calibration.

    scores    (n_documents, n_classes), log P(document, class) of a generative model
    n_tokens  (n_documents,), tokens
    n_known   (n_documents,), tokens that the model's vocabulary holds
    """

    scores: Floats
    n_tokens: Integers
    n_known: Integers

    @property
    def evidence(self) -> Evidence:
        """The scores, and the lengths of the documents: the parameters of a task."""
        return self.scores, self.n_known

    @property
    def known(self) -> Floats:
        """The share of each document's tokens that the model knows, (n_documents,); 0 without
        tokens.
        """
        return self.n_known / np.maximum(self.n_tokens, 1)


class Predictor:
    """Predicts with a fitted model; several threads may share it.

    is_brief  whether a few texts may be all: if the first ones are, a large vocabulary is not
              prepared for them
    """

    def __init__(self, model: FittedModel, *, is_brief: bool = False) -> None:
        self.model = model
        self._is_first = is_brief
        self._lock = Lock()
        self._n_too_long = 0
        if not is_brief and model.longest_piece is None:
            self._counter  # noqa: B018 - prepared before threads share it

    @cached_property
    def _counter(self) -> Counter:
        return counter(self.model.feature_settings, self.model.vocabulary)

    @cached_property
    def _matrix_counter(self) -> MatrixCounter:
        model = self.model
        return MatrixCounter(model.feature_settings, model.vocabulary, model.input.matrix_columns)

    def score(self, columns: Sequence[Sequence[str]] | Matrix) -> Scores:
        """Return the scores of texts, given as one list for each text field, or of the rows of a
        matrix.
        """
        scorer = self.model.scorer
        weighting = self.model.weighting
        if self.model.longest_piece is not None and not isinstance(columns, Matrix):
            return self._score_part(columns)
        if (
            isinstance(columns, Matrix)
            or scorer.derivation is not None
            or not weighting.is_compiled
        ):
            return self.score_rows(self.count(columns))[0]
        self.model.check_takes_texts()
        with self._lock:
            is_first = self._is_first
            self._is_first = False
            counting = None if is_first and self._are_few(columns) else self._counter
        if counting is None:
            return self._score_part(columns)
        return Scores(*counting.scores(columns, weighting, scorer))

    def _are_few(self, columns: Sequence[Sequence[str]]) -> bool:
        vocabulary = self.model.vocabulary
        if vocabulary is None or sum(map(len, columns)) > MAX_FEW:
            return False
        return FEATURES_PER_CHARACTER * sum(map(sum, map(text_lengths, columns))) < len(vocabulary)

    def take_part(self, columns: Sequence[Sequence[str]]) -> Predictor:
        """Return the predictor of the part of the model that has the features of some texts."""
        growing = counter(self.model.feature_settings)
        growing.rows(columns)
        with self._lock:
            pieces = self._pieces if self.model.longest_piece is not None else None
        return Predictor(take_part(self.model, growing.vocabulary()[0], pieces))

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces(self.model)

    def _score_part(self, columns: Sequence[Sequence[str]]) -> Scores:
        self.model.check_takes_texts()
        part = self.take_part(columns)
        scores = part.score(columns)
        with self._lock:
            self._n_too_long += part._counter.take_too_long()
        return scores

    def count(self, columns: Sequence[Sequence[str]] | Matrix) -> DocumentTable:
        """Return the counts of texts, or of the rows of a matrix, over the features of the
        model.
        """
        if not isinstance(columns, Matrix):
            self.model.check_takes_texts()
            return self._counter.rows(columns)
        return self._matrix_counter.rows(columns)

    def score_rows(self, rows: DocumentTable) -> tuple[Scores, Array]:
        """Return the scores of counted texts, and the weight of each entry."""
        weights = self.model.weigh(rows.indptr, rows.indices, rows.counts)
        scores = self.model.scorer.scores(rows.indptr, rows.indices, weights)
        return Scores(scores, np.asarray(rows.n_tokens), known_tokens(rows)), weights

    def note_too_long(self, batch: Batch) -> None:
        """Add to the notes of a batch how many tokens were too long."""
        with self._lock:
            n_too_long = self._n_too_long
            self._n_too_long = 0
        if "_counter" in self.__dict__:
            n_too_long += self._counter.take_too_long()
        batch.note(TOO_LONG, n_too_long)

    def predict_batch(
        self,
        batch: Batch,
        decisions: DecisionSettings = MOST_PROBABLE,
        scores: Scores | None = None,
    ) -> Predictions:
        """Return one prediction for each document of a batch, in order.

        Parameters
        ----------
        scores
            The batch's scores, if the caller has computed them already.
        """
        if scores is None:
            # texts that are too long for a token pattern become problems of the batch
            refuse_long_texts(batch, self.model.feature_settings)
            scores = self.score(batch.features)
        self.note_too_long(batch)
        task = self.model.task
        predictions = judge_documents(
            task, scores.evidence, scores.known, decisions, batch.ids, batch.list_labels()
        )
        for row, reason in (batch.problems | batch.left_out).items():
            predictions.probabilities[row] = np.nan
            predictions.reasons[row] = str(reason)
        predictions.separator = self.model.input.label_separator or self.model.kind.form.separator
        predictions.rows = batch.rows
        if task.calibration.likelihoods is not None:
            predictions.measure = partial(self._measure, scores)
        return task.decide(predictions, decisions)

    def _measure(self, scores: Scores, predictions: Predictions) -> None:
        """Add the typicality of documents to their predictions, and which are outliers."""
        calibration = self.model.task.calibration
        assert calibration.likelihoods is not None  # see predict_batch
        # an unknown token has the weight of a feature that no class has
        unknown = (scores.n_tokens - scores.n_known)[:, None] * self.model.scorer.default
        found = log_likelihood_per_token(scores.scores + unknown, scores.n_tokens)
        predictions.typicality = typicality(found, calibration.likelihoods)
        if calibration.outlier_threshold is not None:
            are_outliers = (found < calibration.outlier_threshold).astype(object)
            are_outliers[np.isnan(found)] = None
            predictions.outliers = are_outliers.tolist()


def predict_counts(
    model: FittedModel,
    documents: DocumentTable,
    n_tokens: Array,
    true_labels: list[Labels | None],
    decisions: DecisionSettings,
) -> Predictions:
    """Return the predictions for documents over the features of a model; they have no ids.

    n_tokens     (n_documents,), also of features that the model lacks
    true_labels  (n_documents,)
    """
    known = known_tokens(documents) / np.maximum(n_tokens, 1)
    found = decide(model.task, model.evidence(documents), known, decisions, true_labels)
    found.weights = documents.times
    found.texts = documents.rows
    return found


def decide(
    task: Task,
    evidence: Evidence,
    known: Floats,
    decisions: DecisionSettings = MOST_PROBABLE,
    true_labels: list[Labels | None] | None = None,
) -> Predictions:
    """Return the predictions for documents without ids; `true_labels` are None if not known. See
    `judge_documents` for the other parameters.
    """
    n = len(known)
    predictions = judge_documents(
        task, evidence, known, decisions, [""] * n, true_labels or [None] * n
    )
    return task.decide(predictions, decisions)


def judge_documents(
    task: Task,
    evidence: Evidence,
    known: Floats,
    decisions: DecisionSettings,
    ids: Sequence[str],
    true_labels: list[Labels | None],
) -> Predictions:
    """Return the probabilities of documents, without labels, and why a document gets none: too
    small a share of its tokens is known.

    evidence  the scores of the documents, and their lengths
    known     (n_documents,), the share of the tokens that the model knows
    """
    probabilities, decided = task.judge(*evidence)
    n = len(known)
    reasons: list[str | None] = [None] * n
    minimum = decisions.min_known
    if minimum is not None:
        for row in np.flatnonzero(known < minimum).tolist():
            reasons[row] = f"the share {known[row]:.6f} of the tokens is known, below {minimum:g}"
    return Predictions(
        task.name,
        task.labels,
        ids,
        [()] * n,
        probabilities,
        known,
        reasons,
        true_labels,
        decided,
    )

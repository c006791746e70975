"""Predictions for batches of documents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.calibration import Calibration
from nbtext.bayes.outliers import log_likelihood_per_token, typicality, with_unknown_tokens
from nbtext.bayes.prediction_sets import nonconformity
from nbtext.bayes.scorer import Floats, log_posterior
from nbtext.documents.batch import Batch, Rows
from nbtext.errors import SettingsError
from nbtext.features.analyzer import TOO_LONG
from nbtext.features.counting import counter
from nbtext.features.csr import running_sums
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.regex_timeout import refuse_long_texts
from nbtext.model.fitted_model import FittedModel
from nbtext.model.settings import DEFAULT_ERROR_COST, Costs, DecisionSettings
from nbtext.records import dataclass

NO_TOKEN, NO_KNOWN_WORD = "the document holds no token", "the document holds no known word"
MOST_PROBABLE = DecisionSettings()
FEW_CLASSES = 256  # so many are sorted at once
TIE = 1e-12  # expected costs that differ by less are equal


@dataclass(slots=True, eq=False)
class Predictions:
    """The predictions for some documents, in order, as columns of the same length.

    A document without a label has a reason: it could not be read, it has no token, the model knows none of its tokens,
    or the model abstains.

    Attributes
    ----------
    classes : tuple of str
        The labels of the model, sorted.
    probabilities : (n_documents, n_classes)
        Rows sum to 1; NaN for a document that could not be read.
    known : (n_documents,)
        The share of the document's tokens that are in the vocabulary; 0 without tokens.
    outliers
        Whether each document is unlike the training documents; None if it is not known.
    true_labels
        The labels that the source gives, if any.
    decided : (n_documents,) or None
        The class of each decision; None: the most probable.
    likelihoods : (n_documents,) or None
        log p(x) per token in nats; NaN without tokens.
    typicality : (n_documents,) or None
        The conformal p-value of the document: about the share of left-out training documents that are less likely.
    label_sets
        Prediction sets, each by decreasing probability; None if they are not requested.
    explanations
        The strongest features of each document with their log-odds, strongest first.
    rows
        The documents as the file has them, if the source keeps them.
    """

    ids: Sequence[str]
    labels: list[str | None]
    classes: tuple[str, ...]
    probabilities: NDArray[np.float64]
    known: NDArray[np.float64]
    outliers: list[bool | None]
    reasons: list[str | None]
    true_labels: list[str | None]
    decided: NDArray[np.int64] | None = None
    likelihoods: NDArray[np.float64] | None = None
    typicality: NDArray[np.float64] | None = None
    label_sets: list[tuple[str, ...]] | None = None
    explanations: list[tuple[tuple[str, float], ...]] | None = None
    rows: Rows | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def label_classes(self) -> NDArray[np.int64]:
        """The class of each document's label, or of the label it would have if the model did not abstain."""
        if self.decided is not None:
            return self.decided
        return self.probabilities.argmax(axis=1) if len(self) else np.zeros(0, dtype=np.int64)

    @property
    def best(self) -> NDArray[np.float64]:
        """The probability of each document's label."""
        return self.probabilities[np.arange(len(self)), self.label_classes] if len(self) else np.zeros(0)

    def most_probable(self, k: int) -> list[list[int]]:
        """Return the k most probable classes of each document, the most probable first.

        Ties are in the order of the labels. A document that could not be read has none.
        """
        return most_probable(self.probabilities, k)


def most_probable(probabilities: Floats, k: int) -> list[list[int]]:
    """Return the k most probable classes of each row, (n_documents, n_classes); none of a row of NaN.

    Ties are in the order of the classes.
    """
    n_classes = probabilities.shape[1]
    if k == 1 and n_classes:
        order = probabilities.argmax(axis=1)[:, None].tolist()
    elif len(probabilities) == 0 or k >= n_classes or n_classes < FEW_CLASSES:
        order = np.argsort(-probabilities, axis=1, kind="stable")[:, :k].tolist()
    else:
        lowest = np.partition(probabilities, n_classes - k, axis=1)[:, n_classes - k]
        order = []
        for row, minimum in zip(probabilities, lowest.tolist(), strict=True):
            found = np.flatnonzero(row >= minimum)
            order.append(found[np.argsort(-row[found], kind="stable")][:k].tolist())
    is_unread = np.asarray(np.isnan(probabilities[:, :1]).any(axis=1))
    return [[] if is_unread[row] else classes for row, classes in enumerate(order)]


class Scores(NamedTuple):
    """The scores of some documents, before calibration.

    scores    (n_documents, n_classes), log P(document, class) of a generative model
    n_tokens  (n_documents,), tokens
    n_known   (n_documents,), tokens that the model's vocabulary holds
    """

    scores: Floats
    n_tokens: NDArray[np.int64]
    n_known: NDArray[np.int64]


class Predictor:
    """Predicts with a fitted model; several threads may share it."""

    def __init__(self, model: FittedModel) -> None:
        self.model = model
        self._counter = counter(model.feature_settings, model.vocabulary)

    def score(self, columns: Sequence[Sequence[str]]) -> Scores:
        """Return the scores of texts, given as one list for each text field."""
        scorer, weighting = self.model.scorer, self.model.weighting
        if scorer.derivation is None and weighting.term_frequency.is_compiled:
            return Scores(*self._counter.scores(columns, weighting, scorer))
        return self.score_rows(self.count(columns))[0]

    def count(self, columns: Sequence[Sequence[str]]) -> DocumentCounts:
        """Return the counts of texts over the features of the model."""
        return self._counter.rows(columns)

    def score_rows(self, rows: DocumentCounts) -> tuple[Scores, NDArray[Any]]:
        """Return the scores of counted texts, and the weight of each entry."""
        weights = self.model.weighting.weights(rows.indptr, rows.indices, rows.counts)
        n_known = np.diff(running_sums(rows.counts)[rows.indptr])
        scores = self.model.scorer.scores(rows.indptr, rows.indices, weights)
        return Scores(scores, np.asarray(rows.n_tokens), n_known), weights

    def note_too_long(self, batch: Batch) -> None:
        """Add to the notes of a batch how many tokens were too long."""
        batch.note(TOO_LONG, self._counter.take_too_long())

    def score_batch(self, batch: Batch) -> Scores:
        """Return the scores of a batch; texts that are too long for a token pattern become problems of the batch."""
        refuse_long_texts(batch, self.model.feature_settings)
        return self.score(batch.columns)

    def log_posterior(self, scores: Scores) -> Floats:
        """Return calibrated log-probabilities, shape (n_documents, n_classes); of several labels, of each alone."""
        fit = self.model.multilabel
        if fit is not None:
            from nbtext.bayes.binary_relevance import split_scores

            labels = split_scores(scores.scores, self.model.scorer, len(self.model.labels))
            return np.log(fit.combination.probabilities(labels, scores.n_known))
        return self.model.log_posterior(scores.scores, scores.n_known, scores.n_known > 0)

    def predict_batch(
        self, batch: Batch, decisions: DecisionSettings = MOST_PROBABLE, scores: Scores | None = None
    ) -> Predictions:
        """Return one prediction for each document of a batch, in order.

        Parameters
        ----------
        scores
            The batch's scores, if the caller has computed them already.
        """
        self.model.check_single("predict one label for each document")
        scores = self.score_batch(batch) if scores is None else scores
        self.note_too_long(batch)
        model, n_tokens, n_known = self.model, scores.n_tokens, scores.n_known
        log_posterior = self.log_posterior(scores)
        probabilities, classes = np.exp(log_posterior), model.calibration.decide(log_posterior)
        labels: list[str | None] = [model.labels[k] for k in classes.tolist()]
        reasons = unanswered_reasons(n_tokens, n_known)
        for row in np.flatnonzero(n_known == 0).tolist():
            labels[row] = None
        for row, problem in batch.problems.items():
            labels[row], reasons[row] = None, str(problem)
            probabilities[row] = np.nan
        known = np.divide(n_known, n_tokens, out=np.zeros(len(batch)), where=n_tokens > 0)
        unflagged: list[bool | None] = [None] * len(batch)
        predictions = Predictions(
            batch.ids, labels, model.labels, probabilities, known, unflagged, reasons, batch.labels, classes
        )
        predictions.rows = batch.rows
        self._add_likelihoods(predictions, scores)
        return apply_decisions(predictions, model.calibration, decisions)

    def _add_likelihoods(self, predictions: Predictions, scores: Scores) -> None:
        """Add each document's likelihood, its typicality, and whether it is an outlier."""
        calibration = self.model.calibration
        if calibration.likelihoods is None:
            return
        n_unknown = scores.n_tokens - scores.n_known
        complete = with_unknown_tokens(scores.scores, self.model.scorer.default, n_unknown)
        likelihoods = log_likelihood_per_token(complete, scores.n_tokens)
        predictions.likelihoods, predictions.typicality = likelihoods, typicality(likelihoods, calibration.likelihoods)
        threshold = calibration.outlier_threshold
        if threshold is not None:
            predictions.outliers = [None if math.isnan(each) else each < threshold for each in likelihoods.tolist()]


def unanswered_reasons(n_tokens: NDArray[Any], n_known: NDArray[Any]) -> list[str | None]:
    """Return why each document gets no label; None if it gets one: it has a word that the model knows."""
    reasons: list[str | None] = [None] * len(n_known)
    for row in np.flatnonzero(n_known == 0).tolist():
        reasons[row] = NO_KNOWN_WORD if n_tokens[row] else NO_TOKEN
    return reasons


def apply_decisions(
    predictions: Predictions, calibration: Calibration | None, settings: DecisionSettings
) -> Predictions:
    """Return the predictions with prediction sets, lowest-cost labels and abstentions, as the settings ask.

    Parameters
    ----------
    calibration
        The calibration of the model that made the predictions; None if it is not known.

    Raises
    ------
    SettingsError
        `coverage` is set, and the model has no nonconformity scores.
    """
    if settings.cost is not None:
        predictions = _minimize_cost(predictions, settings.cost)
    if settings.label_thresholds:
        predictions = _apply_thresholds(predictions, settings.label_thresholds)
    if settings.coverage is not None:
        predictions = _add_sets(predictions, calibration, settings.coverage)
    if settings.min_probability is not None:
        best, minimum = predictions.best, settings.min_probability
        reasons = {
            row: f"the label {predictions.labels[row]} has probability {best[row]:.6f}, below {minimum:g}"
            for row in np.flatnonzero(best < minimum).tolist()
        }
        predictions = _abstain(predictions, reasons)
    return predictions


def _abstain(predictions: Predictions, new_reasons: dict[int, str]) -> Predictions:
    """Return the predictions without the labels of these rows; a row without a label keeps its reason."""
    labels, reasons = list(predictions.labels), list(predictions.reasons)
    for row, reason in new_reasons.items():
        if labels[row] is not None:
            labels[row], reasons[row] = None, reason
    return replace(predictions, labels=labels, reasons=reasons)


def _minimize_cost(predictions: Predictions, costs: Costs) -> Predictions:
    """Return the predictions with the labels of the lowest expected cost; ties go to the more probable label.

    A document for which abstaining costs less than every label gets no label.
    """
    if len(predictions) == 0:
        return predictions
    probabilities, classes = predictions.probabilities, predictions.classes
    expected, abstaining = _expected_costs(probabilities, classes, costs)
    lowest = expected.min(axis=1)
    decided = np.where(expected <= lowest[:, None] + TIE, probabilities, -1.0).argmax(axis=1)
    labels = [
        None if label is None else classes[k] for label, k in zip(predictions.labels, decided.tolist(), strict=True)
    ]
    reasons = {
        row: f"no label costs less than abstaining: expected cost {abstaining[row]:.6g}, "
        f"and {lowest[row]:.6g} of the label {classes[decided[row]]}"
        for row in np.flatnonzero(abstaining < lowest - TIE).tolist()
        if costs.has_abstention
    }
    return _abstain(replace(predictions, labels=labels, decided=decided), reasons)


def _expected_costs(probabilities: Floats, labels: Sequence[str], costs: Costs) -> tuple[Floats, Floats]:
    """Return the expected cost of each label, shape (n_documents, n_classes), and of abstaining, (n_documents,)."""
    places = {label: place for place, label in enumerate(labels)}
    expected = 1 - probabilities  # every error costs 1, unless the file lists another cost
    abstaining = np.full(len(probabilities), DEFAULT_ERROR_COST)
    for (true, predicted), cost in costs.pairs.items():
        if true in places and predicted in places:
            default = DEFAULT_ERROR_COST * (true != predicted)
            expected[:, places[predicted]] += (cost - default) * probabilities[:, places[true]]
        elif true in places and predicted == "":
            abstaining += (cost - DEFAULT_ERROR_COST) * probabilities[:, places[true]]
    return expected, abstaining


class Unpredicted(NamedTuple):
    """A label that costs rule out, because no probability of the model is high enough.

    label     the label
    needed    the probability from which its cost is the lowest; infinity if it never is
    highest   the highest probability that the model can give it
    """

    label: str
    needed: float
    highest: float


def find_unpredicted(model: FittedModel, costs: Costs) -> list[Unpredicted]:
    """Return the labels that the model can never predict with these costs.

    The label-noise rate bounds calibrated probabilities: a label has at most 1 − noise + noise / K, and each other
    label at least noise / K. A label is listed if another one, or abstaining, costs less even at this bound.
    """
    temperature, labels = model.calibration.temperature, model.labels
    if temperature is None or temperature.noise == 0 or len(labels) < 2:
        return []
    found = []
    for predicted in sorted({predicted for _, predicted in costs.pairs if predicted in labels}):
        own = labels.index(predicted)
        best = np.full(len(labels), temperature.noise / len(labels))
        best[own] += 1 - temperature.noise
        adjustment = model.calibration.prior_adjustment
        probabilities = best if adjustment is None else np.exp(log_posterior(np.log(best)[None, :] + adjustment))[0]
        expected, abstaining = _expected_costs(probabilities[None, :], labels, costs)
        others = expected[0].copy()
        others[own] = abstaining[0] if costs.has_abstention else np.inf
        if expected[0, own] <= others.min() + TIE:
            continue
        best_other = int(others.argmin())
        rest = probabilities.copy()
        rest[own] = 0.0
        rest /= rest.sum()
        # the expected cost is linear between the sure label and the other labels as they are
        expected, abstaining = _expected_costs(np.stack((np.arange(len(labels)) == own, rest)) * 1.0, labels, costs)
        sure, never = expected[:, own] - (abstaining if best_other == own else expected[:, best_other])
        needed = float(never / (never - sure)) if sure < 0 else math.inf
        found.append(Unpredicted(predicted, needed, float(probabilities[own])))
    return found


def _apply_thresholds(predictions: Predictions, minimums: Mapping[str, float]) -> Predictions:
    """Return the predictions with the most probable label that reaches its threshold.

    If no label reaches one, it is the most probable label without a threshold; if all labels have one, there is none.
    """
    if len(predictions) == 0:
        return predictions
    probabilities = predictions.probabilities
    needed = np.array([minimums.get(label, np.inf) for label in predictions.classes])
    is_free = np.isinf(needed)
    reached = np.where(probabilities >= needed, probabilities, -1.0)
    free = np.where(is_free, probabilities, -1.0)
    has_reached = (reached >= 0).any(axis=1)
    decided = np.where(has_reached, reached.argmax(axis=1), (free if is_free.any() else probabilities).argmax(axis=1))
    labels = [
        None if label is None else predictions.classes[k]
        for label, k in zip(predictions.labels, decided.tolist(), strict=True)
    ]
    reasons = {}
    if not is_free.any():
        reasons = dict.fromkeys(np.flatnonzero(~has_reached).tolist(), "no label reaches its threshold")
    return _abstain(replace(predictions, labels=labels, decided=decided), reasons)


def _add_sets(predictions: Predictions, calibration: Calibration | None, coverage: float) -> Predictions:
    """Return the predictions with prediction sets; a document that could not be read has an empty set.

    A set holds the labels whose nonconformity is at most the quantile that covers the true label with this frequency.
    If the set is empty, the model abstains.
    """
    if calibration is None or calibration.nonconformity is None:
        hint = "train it on at least two documents of each label"
        raise SettingsError(
            "prediction sets need nonconformity scores of left-out documents, which the model does not store",
            where="coverage",
            hint=hint,
        )
    if len(predictions) == 0:
        return replace(predictions, label_sets=[])
    is_read = ~np.isnan(predictions.probabilities[:, 0])
    probabilities = np.where(is_read[:, None], predictions.probabilities, 1.0)
    belongs = (nonconformity(probabilities) <= calibration.nonconformity.upper_bound(coverage)) & is_read[:, None]
    order = np.argsort(-probabilities, axis=1, kind="stable")
    kept = np.take_along_axis(belongs, order, axis=1)
    rows = zip(order.tolist(), kept.tolist(), strict=True)
    sets = [tuple(predictions.classes[k] for k, is_in in zip(*row, strict=True) if is_in) for row in rows]
    reasons = {
        row: f"the prediction set is empty: no label is probable enough at coverage {coverage:g}"
        for row, each in enumerate(sets)
        if not each
    }
    return _abstain(replace(predictions, label_sets=sets), reasons)

"""Calibration: temperature scaling that depends on the document length, and a label-noise rate."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

import numpy as np

from nbtext.arrays import (
    FOR_EACH_LABEL,
    N_LABELS,
    Array,
    Floats,
    Integers,
    Limits,
    Mask,
)
from nbtext.bayes.conformal import Quantiles
from nbtext.bayes.decision_offsets import MAX_LABEL_SCALE, MIN_LABEL_SCALE, WITHHELD
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.newton import minimize
from nbtext.bayes.prevalence import MeanPosteriors
from nbtext.bayes.scorer import log_posterior, subtract_maxima
from nbtext.errors import ModelError
from nbtext.numerics import dot, exp, log, log1p, power, sigmoid, softplus
from nbtext.records import frozen, frozen_object

# The prior of (log a, b, logit noise), as means and standard deviations. A document of one word has
# temperature 1, a longer one a higher temperature, and few labels are noise. The prior matters if
# there are few documents, or if all of them have about the same length: documents of 60 words do
# not determine the temperature of documents of 5 words.
PRIOR_MEAN = np.array([0.0, 0.3, -6.0])
PARAMETER_DEVIATIONS = np.array([1.0, 0.5, 2.0])
# scores of up to 1e109, which a model file may have, stay finite when they are divided
MAX_TEMPERATURE = 1e100
# of |log a|, |b| and |logit noise|; with larger values, probabilities are 0 or 1
MAX_CALIBRATION_PARAMETER = 30.0


@frozen
class TemperatureScaling:
    """T(L) = a · L^b: the scores of a document of L known tokens are divided by T(L) before they
    are normalized.

    Naive Bayes treats tokens as independent, so its log-odds grow too fast with the length of a
    document. Dividing by a power of the length corrects this. Some documents have a label that
    their words do not support, such as an error or a mail posted to two groups. For this share,
    `noise`, all labels are equally probable. Without it, a few such documents would raise the
    temperature of all others. The most probable label stays the same.
    """

    a: Annotated[float, Limits(1e-100, 1e100)]  # it has the unit of the scores
    b: Annotated[float, Limits(-MAX_CALIBRATION_PARAMETER, MAX_CALIBRATION_PARAMETER)]
    noise: Annotated[float, Limits(0, sigmoid(MAX_CALIBRATION_PARAMETER))] = 0.0

    def temperature(self, lengths: Array) -> Floats:
        """Return T of documents with these numbers of known tokens; 0 tokens count as 1."""
        temperatures = self.a * power(np.maximum(lengths, 1), self.b)
        return np.asarray(np.clip(temperatures, 1 / MAX_TEMPERATURE, MAX_TEMPERATURE))

    def divide(self, scores: Floats, lengths: Array | None) -> Floats:
        """Return scores divided by T, (n_documents, n_classes); see `log_posterior`."""
        return scores / (self.a if lengths is None else self.temperature(lengths)[:, None])

    def log_posterior(self, scores: Floats, lengths: Array | None) -> Floats:
        """Return calibrated log-probabilities, shape (n_documents, n_classes).

        lengths  (n_documents,), known tokens; None is allowed if b is 0
        """
        scaled = log_posterior(self.divide(scores, lengths))
        if self.noise == 0:
            return scaled
        probabilities = exp(scaled)
        probabilities *= 1 - self.noise
        probabilities += self.noise / scores.shape[1]
        return log(probabilities)


@frozen_object
class Calibration:
    """Parameters that turn scores into probabilities and decisions. They are fitted to
    leave-one-out scores.

    label_scales       (n_classes,), by which the scores of each label are multiplied, after their
                       mean over the labels is subtracted; None: by 1
    temperature        None: scores are normalized without scaling
    prior_adjustment   (n_classes,), added to log-probabilities, which are normalized again
    decision_offsets   (n_classes,), added to log-probabilities for the decision only
    min_probabilities  (n_classes,), a class that is decided on with a smaller probability is
                       withheld, so that the document has no label
    nonconformity      distribution of the nonconformity of the true labels of left-out documents,
                       for prediction sets
    likelihoods        distribution of log p(x) per token of left-out documents, in nats, to find
                       outliers
    outlier_threshold  the log p(x) per token below which a document is an outlier
    mean_posteriors    mean probabilities on the left-out documents of each class, to estimate class
                       shares; None: there are too many classes
    """

    temperature: TemperatureScaling | None = None
    prior_adjustment: Annotated[Floats | None, FOR_EACH_LABEL] = None
    decision_offsets: Annotated[Floats | None, FOR_EACH_LABEL] = None
    min_probabilities: Annotated[Floats | None, Limits(0, 1, (N_LABELS,))] = None
    nonconformity: Quantiles | None = None
    likelihoods: Quantiles | None = None
    outlier_threshold: float | None = None
    mean_posteriors: MeanPosteriors | None = None
    label_scales: Annotated[
        Floats | None, Limits(MIN_LABEL_SCALE, MAX_LABEL_SCALE, (N_LABELS,))
    ] = None

    def scale(self, scores: Floats) -> Floats:
        """Return scores times the scales of the labels, (…, n_classes)."""
        return scores if self.label_scales is None else center(scores) * self.label_scales

    def log_posterior(self, scores: Floats, lengths: Array | None) -> Floats:
        """Return log-probabilities of documents with these numbers of known tokens, shape
        (n_documents, n_classes).
        """
        scores = self.scale(scores)
        scaled = (
            log_posterior(scores)
            if self.temperature is None
            else self.temperature.log_posterior(scores, lengths)
        )
        return (
            scaled
            if self.prior_adjustment is None
            else log_posterior(scaled + self.prior_adjustment)
        )

    def decide(self, log_posterior: Floats) -> Integers:
        """Return the class to predict for each document: the most probable one after adding the
        decision offsets.
        """
        values = (
            log_posterior
            if self.decision_offsets is None
            else log_posterior + self.decision_offsets
        )
        return values.argmax(axis=1) if len(values) else np.zeros(0, dtype=np.int64)

    def are_withheld(self, probabilities: Floats, classes: Integers) -> Mask:
        """Return whether each document gets no label, because the class that was decided on is not
        probable enough, (n_documents,).
        """
        if self.min_probabilities is None:
            return np.zeros(len(classes), dtype=np.bool_)
        own = probabilities[np.arange(len(classes)), classes]
        return np.asarray(own < self.min_probabilities[classes])

    def answer(self, log_posterior: Floats) -> Integers:
        """Return the class that each document gets; WITHHELD of one without a label."""
        classes = self.decide(log_posterior)
        return np.where(self.are_withheld(exp(log_posterior), classes), WITHHELD, classes)


def center(scores: Floats) -> Floats:
    """Return scores minus their mean over the labels, (…, n_documents, n_classes)."""
    means: Floats = np.einsum("...k->...", scores)[..., None] / scores.shape[-1]
    return scores - means


def fit_temperature(
    judged: JudgedDocuments,
    *,
    near: TemperatureScaling | None = None,
    offsets: Floats | None = None,
) -> TemperatureScaling:
    """Fit the temperature and the label-noise rate by log-loss on documents that the model has not
    seen.

    The loss is that of (1 − noise) · softmax(scores / T) + noise / K, with a weak prior of (log a,
    b, logit noise): the estimate is the maximum a posteriori. First the temperature is fitted
    without noise, then all three parameters. If the fit of the noise began at a temperature that is
    much too low, every wrong label would look like noise.

    Parameters
    ----------
    judged : with finite scores, left out or held out; if the lengths are not known, b is 0
    near : the result for similar scores, from which the search starts
    offsets : (n_classes,), added to the scores that are divided by the temperature; None: 0

    Raises
    ------
    ModelError : scores are not finite, or too large

    Source of temperature scaling: Guo, Pleiss, Sun, Weinberger, On Calibration of Modern Neural
    Networks, 2017, section 4.2. That the temperature depends on the length is our own.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centered = subtract_maxima(judged.scores)
    if not np.isfinite(centered).all():
        raise ModelError(
            "the scores are not finite, so they cannot be calibrated", hint="scale the weights down"
        )
    lengths = judged.lengths
    design = np.ones((1 if lengths is None else 2, len(judged)))
    if lengths is not None:
        design[1] = log(np.maximum(lengths, 1).astype(np.float64))
    evaluate = partial(
        _evaluate, judged=judged.with_scores(centered), design=design, offsets=offsets
    )
    if near is None:
        without_noise, _ = minimize(
            evaluate, np.zeros(len(design)), bound=MAX_CALIBRATION_PARAMETER
        )
        start = np.append(without_noise, PRIOR_MEAN[2])
    else:
        temperature = [log(near.a), near.b][: len(design)]
        start = np.array([*temperature, log(near.noise) - log1p(-near.noise)])
    at, _ = minimize(evaluate, start, bound=MAX_CALIBRATION_PARAMETER)
    return TemperatureScaling(
        float(exp(at[0])), 0.0 if lengths is None else float(at[1]), float(sigmoid(at[-1]))
    )


def fit_scaled_temperature(
    judged: JudgedDocuments,
    *,
    near: TemperatureScaling | None = None,
    offsets: Floats | None = None,
) -> TemperatureScaling:
    """Fit the calibration of scores that are not in nats; see `fit_temperature`.

    They are first divided by their mean difference between the highest and the mean score of a
    document, per token (per document if lengths are not known), because the prior of the
    temperature is in nats.
    """
    scores = judged.scores
    lengths = judged.lengths
    evidence = scores.max(axis=1) - scores.mean(axis=1)
    unit = float(evidence.sum() / max(1, len(scores) if lengths is None else lengths.sum())) or 1.0
    near = replace(near, a=near.a / unit) if near is not None else None
    fitted = fit_temperature(judged.with_scores(scores / unit), near=near, offsets=offsets)
    return replace(fitted, a=fitted.a * unit)


def _evaluate(
    at: Floats, *, judged: JudgedDocuments, design: Floats, offsets: Floats | None
) -> tuple[float, Floats, Floats]:
    """Return the mean of the log-loss and the prior at (log a, b) or (log a, b, logit noise), its
    gradient and Hessian.

    judged  their highest scores are 0
    design  (2, n_documents), ones and the logarithms of the lengths; (1, n_documents) if these are
            not known: without b
    """
    n = judged.n_documents
    weighed = judged.weigh(design)
    m = len(design)
    log_temperature = sum(parameter * column for parameter, column in zip(at, design, strict=False))
    scaled = judged.scores * exp(-log_temperature)[:, None]
    shifted = scaled if offsets is None else subtract_maxima(scaled + offsets)
    exponentials = exp(shifted)
    totals = np.einsum("ij->i", exponentials)  # unlike `sum`, it is fast for short rows
    mean = np.einsum("ij,ij->i", exponentials, scaled) / totals
    exponentials *= scaled
    square = np.einsum("ij,ij->i", exponentials, scaled) / totals
    # each document's loss has the first derivative `slope` and the second derivative `curvature` by
    # log T
    own = np.arange(len(judged)), judged.classes
    slope = scaled[own] - mean
    curvature = square - mean * mean - slope
    losses = log(totals) - shifted[own]
    if len(at) == m:
        gradient = np.einsum("ij,j->i", weighed, slope)
        hessian = np.einsum("ij,kj->ik", weighed * curvature, design)
    else:
        # With w the probability that a document's label is not noise, and v = 1 − w, the loss has
        # the derivatives w · slope by log T and noise − v by logit noise.
        noise = float(sigmoid(at[-1]))
        log_label = log1p(-noise) - losses
        log_noise = log(noise / judged.n_classes)
        losses = -log_noise - softplus(log_label - log_noise)
        w = exp(log_label + losses)
        v = 1 - w
        by_noise = judged.weigh(noise - v).sum()
        gradient = np.append(np.einsum("ij,j->i", weighed, w * slope), by_noise)
        hessian = np.empty((m + 1, m + 1))
        curvature = w * curvature - w * v * slope * slope
        hessian[:m, :m] = np.einsum("ij,kj->ik", weighed * curvature, design)
        hessian[m, :m] = hessian[:m, m] = (weighed * -(w * v * slope)).sum(axis=1)
        hessian[m, m] = judged.weigh(noise * (1 - noise) - v * w).sum()
    used = [*range(m), 2][: len(at)]
    distance = (at - PRIOR_MEAN[used]) / PARAMETER_DEVIATIONS[used]
    loss = judged.mean(losses) + dot(distance, distance) / (2 * n)
    precisions = 1 / PARAMETER_DEVIATIONS[used] ** 2
    return (
        loss,
        (gradient + distance / PARAMETER_DEVIATIONS[used]) / n,
        (hessian + np.diag(precisions)) / n,
    )

"""Combinations: the weighted sum of the scores of several models, over one view of a document or
several.

The weights are fitted to leave-one-out scores of the parts, which are exact and cost one pass, so
that no document is held out. A weighted sum of linear scores is a linear score: a combination
compiles to one scorer, and is an event model like the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nbtext.arrays import Floats, Integers
from nbtext.bayes.calibration import (
    PARAMETER_DEVIATIONS,
    PRIOR_MEAN,
    center,
    fit_scaled_temperature,
)
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.corrections import Correction, fit_correction
from nbtext.bayes.decision_offsets import (
    LabelLines,
    fit_label_lines,
    fit_prior_adjustment,
    need_scales,
)
from nbtext.bayes.diagnostics import Part
from nbtext.bayes.event_model import EventModel, LeftOut
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.leave_one_out import LeaveOneOut, ScoredCorpus
from nbtext.bayes.newton import minimize
from nbtext.bayes.scorer import LinearScorer, log_posterior
from nbtext.features.csr import split_columns
from nbtext.numerics import dot, exp, log
from nbtext.parallel import parallel_calls

# The models of each view, and their smoothing: no search selects it. Leave-one-out prefers less
# where documents quote one another or have one subject, and heavier smoothing is better on others.
# Accuracy on held-out training documents (those of other films, of later mails, or drawn at random)
# with the multinomial model's 0.03, 0.1, 0.3 and 1 beside complement's 1: 77 short questions 0.888,
# 0.891, 0.886, 0.877; 20 newsgroups 0.879, 0.879, 0.880, 0.883; Thai messages 0.669, 0.676, 0.675.
# With two labels, where both models are the same, and 0.3, 1 and 3: films 0.849, 0.859, 0.865; long
# reviews 0.852, 0.868, 0.862; sentences 0.794, 0.796, 0.796; Japanese sentences 0.915, 0.926,
# 0.918.
PART_SMOOTHINGS = {"multinomial": 0.1, "complement": 1.0}
MAX_WEIGHTED_SCORES = 1 << 22  # documents times labels times parts, to which weights are fitted
# documents that a thread scores at once, so that it needs little memory
DOCUMENTS_SCORED_AT_ONCE = 1024
SCORES_WEIGHTED_AT_ONCE = 1 << 15  # of one part, while weights are fitted, so that arrays are small
FIT_ROUNDS = 2  # of fitting the weights, and the offsets of the labels; one more has their scales
WEIGHT_TOLERANCE = 1e-6  # of the loss, in nats: weights are exact to about three digits
# Tried on 17 corpora: a lead of the best part in the mean, mixtures with it, parts added by gains.
# Means gain at most 0.0008 of accuracy and 1 % of log-loss. With 3/4 of the mean, the worst
# excess of log-loss over that part falls from 8 to 3 % (new draws: 15 to 5 %), the worst deficit of
# accuracy from 0.013 to 0.010 (0.025 to 0.030), and where the sum is best, up to 0.012 is lost.
DEVIATION = 1.0  # of the prior of a weight, relative to its mean
TIE_TOLERANCE = 1e-12  # of the largest score; scores that differ by less are equal
# Share of the documents in which a part has to tell labels apart; else it is left out. With 0.02,
# 0.05, 0.1 and 0.2, the log-losses of 100 to 1,000 training documents, in views of one to three
# words, on others of these differ by less than 0.003: Japanese, Thai and English sentences,
# questions and messages.
MIN_INFORMED = 0.02


class Placed(NamedTuple):
    """One view of a combination: its columns, and its parts."""

    start: int
    stop: int | None  # None: the last column
    parts: Sequence[Part]


Places = tuple[Placed, ...]
# the statistics, the left-out documents and the parts of one
CountedView = tuple[ClassStatistics, LeftOut, Sequence[Part]]


def list_parts(views: Sequence[str], n_classes: int) -> tuple[Part, ...]:
    """Return the parts of the model `combined`, of equal weight.

    With two labels, complement Naive Bayes is the multinomial model, because the rest of a class is
    the other one.

    views  the names of the views; empty: there is only one
    """
    names = tuple(PART_SMOOTHINGS) if n_classes > 2 else ("complement",)
    found = [Part(view, name, PART_SMOOTHINGS[name]) for view in views or ("",) for name in names]
    return tuple(replace(part, weight=1 / len(found)) for part in found)


def combine(
    parts: Sequence[Part],
    views: Sequence[str],
    bounds: Integers | None,
    correction: Correction | None = None,
) -> EventModel:
    """Return the event model that adds up the weighted scores of parts.

    Its smoothing multiplies those of the parts.

    views       the names of the views; empty: there is only one
    bounds      (n_views + 1,), of the columns of the views; None: there is only one
    correction  what is added to the weights of some columns; None: nothing
    """
    places = place_parts([part for part in parts if part.weight > 0], views, bounds)
    return EventModel(
        compile=partial(compile_combination, places=places, correction=correction),
        leave_one_out=partial(leave_out_combined, places=places, correction=correction),
        prior="uniform",
        smoothing=1.0,
        has_pseudo_counts=False,  # not the same in all parts
        scores="numbers",
    )


def place_parts(parts: Sequence[Part], views: Sequence[str], bounds: Integers | None) -> Places:
    """Return the columns and the parts of each view; see `combine`. A view without features has no
    parts.
    """
    ranges = [(0, None)] if bounds is None else list(pairwise(bounds.tolist()))
    return tuple(
        Placed(start, stop, tuple(part for part in parts if part.view == view and start != stop))
        for view, (start, stop) in zip(views or ("",), ranges, strict=True)
    )


def compile_combination(
    statistics: ClassStatistics,
    *,
    smoothing: float,
    places: Places,
    correction: Correction | None,
) -> LinearScorer:
    """Return the scorer of the weighted sum of all parts, and the correction."""
    n_classes = statistics.n_classes
    n_features = statistics.n_features
    defaults = np.zeros((len(places), n_classes))
    deltas = np.zeros(len(statistics.classes))
    base = np.zeros(n_features)
    for view, (start, stop, parts) in enumerate(places):
        own = statistics.slice(start, stop)
        columns = slice(start, stop)
        entries = slice(*statistics.indptr[[start, n_features if stop is None else stop]].tolist())
        for part in parts:
            scorer = EVENT_MODELS[part.model].compile(own, smoothing=smoothing * part.smoothing)
            defaults[view] += part.weight * scorer.default
            deltas[entries] += np.multiply(scorer.deltas, part.weight, out=scorer.deltas)
            if scorer.base is not None:  # the same for all classes: the scale of each is 1
                base[columns] += np.multiply(scorer.base, part.weight, out=scorer.base)
            del scorer  # before the next part is compiled
    if correction is not None:
        correction.add_to(deltas, statistics)
    bounds = np.array([place.start for place in places] + [n_features]) if len(places) > 1 else None
    weights = statistics.indptr, statistics.classes, deltas, base, np.ones(n_classes)
    return LinearScorer(np.zeros(n_classes), defaults.ravel(), *weights, bounds)


def _score(
    part: Part, statistics: ClassStatistics, left_out: LeftOut, factor: float, n_unseen: Floats
) -> Floats:
    """Return the leave-one-out scores of a part, (n, n_classes).

    n_unseen  (n, 1), the counts of features that no remaining document has
    """
    record = EVENT_MODELS[part.model]
    smoothing = factor * part.smoothing
    scores: Floats = record.leave_one_out(statistics, left_out, smoothings=[smoothing])[0]
    unseen = record.out_of_vocabulary
    if not left_out.ignores_unseen or unseen is None or not n_unseen.any():
        return scores
    # without a word, the score is 0, and not what rounding leaves
    is_known = left_out.documents.totals[:, None] > n_unseen
    weights = unseen(statistics, left_out, smoothing=smoothing)
    return np.where(is_known, scores - n_unseen * weights, 0.0)


def _split(statistics: ClassStatistics, left_out: LeftOut, places: Places) -> Iterator[CountedView]:
    """Yield the statistics, the left-out documents and the parts of each view."""
    if len(places) == 1:
        yield statistics, left_out, places[0].parts
        return
    documents = left_out.documents
    bounds = np.array([place.start for place in places] + [statistics.n_features])
    rows = split_columns(documents.indptr, documents.indices, bounds)
    for (start, stop, parts), (entries, indptr, indices) in zip(places, rows, strict=True):
        counts = documents.counts[entries]
        own = replace(
            left_out, documents=replace(documents, indptr=indptr, indices=indices, counts=counts)
        )
        yield statistics.slice(start, stop), own, parts


def score_parts(
    statistics: ClassStatistics, left_out: LeftOut, factor: float, places: Places
) -> Iterator[tuple[Part, Floats]]:
    """Yield each part, and its leave-one-out scores, (n, n_classes), of the words that remain."""
    for own, rows, parts in _split(statistics, left_out, places):
        n_unseen = rows.count_unseen(own.document_frequencies)[:, None]
        for part in parts:
            yield part, _score(part, own, rows, factor, n_unseen)


def leave_out_combined(
    statistics: ClassStatistics,
    left_out: LeftOut,
    *,
    smoothings: Sequence[float],
    places: Places,
    correction: Correction | None,
) -> Floats:
    """Return leave-one-out scores for several smoothings: the weighted sum of those of the parts,
    and the correction, which stays the same.
    """

    def score(rows: LeftOut) -> Floats:
        total = np.zeros((len(smoothings), len(rows), statistics.n_classes))
        for number, smoothing in enumerate(smoothings):
            for part, scores in score_parts(statistics, rows, smoothing, places):
                total[number] += part.weight * scores
        if correction is not None:
            total += correction.score(rows.documents, statistics.n_features)
        return total

    return left_out.map(score)


# before the parts are known
COMBINED_VIEWS = combine(list_parts((), n_classes=3), (), None)


def fit_parts(
    corpus: ScoredCorpus,
    parts: Sequence[Part],
    views: Sequence[str],
    bounds: Integers | None,
    smoothing: float | None,
    *,
    has_scales: bool,
    has_correction: bool,
) -> tuple[tuple[Part, ...], Correction | None, ScoredCorpus]:
    """Fit the weights of parts, and the correction, to documents of a corpus; return both, and the
    documents scored by them.

    The scores of documents that these were fitted to are held out from the fit: what is fitted to
    one half of the documents scores the other half.

    smoothing       by which those of the parts are multiplied; None: by that of the model
    has_scales      whether the calibration can have scales of the labels
    has_correction  whether weights of features can be corrected
    """
    judged = corpus.corpus
    factor = (judged.model.smoothing or 1.0) if smoothing is None else smoothing
    first = judged.first(
        max(1, MAX_WEIGHTED_SCORES // max(1, judged.statistics.n_classes * len(parts)))
    )
    places = place_parts(parts, views, bounds)
    correction = None
    if len(first.documents):

        def score(block: LeaveOneOut) -> Floats:
            parts = score_parts(block.statistics, block.left_out, factor, places)
            return np.stack([scores for _, scores in parts])

        calls = [partial(score, block) for block in first.split(DOCUMENTS_SCORED_AT_ONCE)]
        scores = np.concatenate(parallel_calls(calls, jobs=judged.jobs), axis=1)
        scored = JudgedDocuments.of(first.documents, scores, first.lengths)
        weights, held_out, informed = fit_weights(scored, has_scales=has_scales)
        placed = [part for place in places for part in place.parts]
        found = zip(placed, weights.tolist(), informed.tolist(), strict=True)
        parts = [replace(part, weight=weight, informed=share) for part, weight, share in found]
        if has_correction:
            plain = replace(first, model=combine(parts, views, bounds))
            correction, held_out = fit_correction(plain, held_out, factor)
    model = combine(parts, views, bounds, correction)
    corpus_scored = ScoredCorpus(
        replace(judged, model=model),
        n_unjudged=corpus.n_unjudged,
        n_duplicates=corpus.n_duplicates,
    )
    if len(first.documents):
        corpus_scored.add([factor], (held_out + first.log_priors())[None])
    return tuple(parts), correction, corpus_scored


class Weights(NamedTuple):
    """Weights of parts.

    weights   (n_parts,), their sum is 1
    held_out  (n, n_classes), the weighted sums of scores, of which each half of the documents has
              the weights that were fitted to the other half
    informed  (n_parts,), the share of the documents in which the scores of each part tell labels
              apart
    """

    weights: Floats
    held_out: Floats
    informed: Floats


def fit_weights(
    judged: JudgedDocuments,
    *,
    has_scales: bool = False,
    expected: Floats | float = 1.0,
    deviation: float = DEVIATION,
) -> Weights:
    """Fit weights >= 0 by log-loss; return them, and sums of scores that are held out from the fit.

    The loss is that of softmax(scales · Σ_m w_m · scores_m / L^b + offsets), with a weak prior of
    the weights and of b. The scales of the labels are fitted only if `need_scales` finds that they
    differ, else they are 1; they are not returned. The expected weights are in units of the mean
    absolute score of each part, over the documents in which it tells labels apart. If these
    are fewer than MIN_INFORMED of all, they say too little about the weight, which is 0. Scores are
    rounded first: without features that another document has, they differ by rounding errors alone,
    which depend on the label.

    A document counts with the probability that its label is not noise, at the noise rate of
    `fit_temperature` (expectation-maximization: Dempster, Laird and Rubin 1977); else a few wrong
    labels would take the weight from parts with large scores. Only the weights are kept: the
    temperature, the label noise and the offsets are fitted to the sums again, as for other models.

    Parameters
    ----------
    judged : with scores of each part, (n_parts, n, n_classes), ordered by their contents; without
    these, the sums are not held out
    has_scales : whether scales of labels are tried
    expected : (n_parts,), means of the priors of the weights, up to a common factor; a number: all
    are equal
    deviation : standard deviation of the prior of a weight, relative to its mean
    """
    scores = judged.scores
    lengths = judged.lengths
    n_classes = judged.n_classes
    centered = center(scores)
    resolution = TIE_TOLERANCE * np.abs(scores).max() or 1.0
    centered = np.round(centered / resolution) * resolution
    n_told = (centered != 0).any(axis=2).sum(axis=1)
    kept = np.flatnonzero(n_told >= min(MIN_INFORMED * len(judged), n_told.max()))
    units = np.einsum("mnk->m", np.abs(centered[kept])) / (np.maximum(n_told[kept], 1) * n_classes)
    units[units == 0] = 1.0  # no part tells labels apart
    scaled = judged.with_scores(centered[kept] / units[:, None, None])
    shares = np.broadcast_to(expected, len(scores))[kept]
    logs = (
        np.zeros(len(judged)) if lengths is None else log(np.maximum(lengths, 1).astype(np.float64))
    )
    middle = logs.mean()
    logs -= middle

    def fit(rows: slice) -> Floats:
        own = scaled.take(rows)
        own_logs = logs[rows]
        sums = own.with_scores(np.einsum("mnk,m->nk", own.scores, shares))
        near = fit_scaled_temperature(sums)
        at = start = np.append(shares / (near.a * exp(near.b * middle)), near.b)
        lower = np.append(np.zeros(len(kept)), -np.inf)
        lines = LabelLines(np.zeros(n_classes), np.ones(n_classes))
        scaling = replace(near, a=1.0, b=0.0)  # of the sums, which are scaled by it
        right = np.ones(0)
        for number in range(FIT_ROUNDS + has_scales):
            weighted = np.einsum("mnk,m->nk", own.scores, at[:-1])
            sums = replace(own, scores=weighted * exp(-at[-1] * own_logs)[:, None], lengths=None)
            if number < FIT_ROUNDS:
                plain = sums.with_scores(log_posterior(sums.scores))
                lines = lines._replace(offsets=fit_prior_adjustment(plain, start=lines.offsets))
                scaling = fit_scaled_temperature(sums, near=scaling)
                adjusted = sums.with_scores(log_posterior(sums.scores + lines.offsets))
                p_right = (1 - scaling.noise) * exp(adjusted.own)
                right = p_right / (p_right + scaling.noise / n_classes)
                if own.weights is not None:
                    right *= own.weights * (len(own) / own.n_documents)
            elif need_scales(sums, lines.offsets):
                lines = fit_label_lines(sums, lines)
            else:
                break
            evaluate = partial(
                _evaluate,
                judged=own,
                logs=own_logs,
                right=right,
                lines=lines,
                expected=start,
                deviation=deviation,
            )
            at, _ = minimize(evaluate, at, lower=lower, tolerance=WEIGHT_TOLERANCE)
        weights = np.zeros(len(scores))
        weights[kept] = at[:-1] * lines.scales.mean() / units
        return weights

    weights = fit(slice(None))
    total = weights.sum() or 1.0
    held_out = np.einsum("mnk,m->nk", centered, weights / total)
    halves = judged.halves()
    for fitted, other in zip(halves, halves[::-1], strict=True):
        held_out[other] = np.einsum("mnk,m->nk", centered[:, other], fit(fitted) / total)
    return Weights(weights / total, held_out, n_told / len(judged))


def _evaluate(
    at: Floats,
    *,
    judged: JudgedDocuments,
    logs: Floats,
    right: Floats,
    lines: LabelLines,
    expected: Floats,
    deviation: float = DEVIATION,
) -> tuple[float, Floats, Floats]:
    """Return the loss of `fit_weights` at (weights, b), its gradient and its expected Hessian.

    right  (n,), the probability that the label of each document is not noise, by which its loss is
           weighted

    A weight of 0 whose decrease would lower the loss stays 0: its gradient is 0 here (Bertsekas,
    Projected Newton Methods for Optimization Problems with Simple Constraints, 1982).
    """
    m, n, n_classes = judged.scores.shape
    deviations = np.append(deviation * expected[:-1], PARAMETER_DEVIATIONS[1])
    distances = (at - np.append(expected[:-1], PRIOR_MEAN[1])) / deviations
    loss = dot(distances, distances) / 2
    gradient = distances / deviations
    hessian = np.diag(1 / deviations**2)
    size = max(1, SCORES_WEIGHTED_AT_ONCE // n_classes)
    for start in range(0, n, size):
        rows = slice(start, start + size)
        scores = judged.scores[:, rows]
        slopes = np.empty((m + 1, *scores.shape[1:]))  # of the sums
        factors = exp(-at[-1] * logs[rows])[:, None] * lines.scales
        np.multiply(scores, factors, out=slopes[:m])
        sums = np.einsum("mnk,m->nk", slopes[:m], at[:-1])
        slopes[m] = -logs[rows, None] * sums
        log_p = log_posterior(sums + lines.offsets)
        own = np.arange(len(log_p)), judged.classes[rows]
        loss -= dot(right[rows], log_p[own])
        weighted = slopes * exp(log_p)
        means = np.einsum("mnk->mn", weighted)
        gradient += np.einsum("mn,n->m", means - slopes[:, *own], right[rows])
        weighted *= right[rows, None]
        hessian += np.einsum("ik,jk->ij", weighted.reshape(m + 1, -1), slopes.reshape(m + 1, -1))
        hessian -= np.einsum("ik,jk->ij", means * right[rows], means)
    is_free = (at > 0) | (gradient < 0) | (np.arange(m + 1) == m)
    hessian = np.where(np.outer(is_free, is_free), hessian / n, np.eye(m + 1))
    return loss / n, gradient / n * is_free, hessian

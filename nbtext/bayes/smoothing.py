"""Selection of the smoothing, its calibration and the estimate for new documents, from
leave-one-out scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from nbtext.arrays import Array, Floats, Integers
from nbtext.bayes import conformal
from nbtext.bayes.calibration import (
    Calibration,
    TemperatureScaling,
    center,
    fit_scaled_temperature,
    fit_temperature,
)
from nbtext.bayes.decision_offsets import (
    Goals,
    LabelLines,
    adjust_prior,
    fit_decision_offsets,
    fit_label_lines,
    fit_prior_adjustment,
    fit_targets,
    need_scales,
    refuse_targets,
)
from nbtext.bayes.diagnostics import (
    Hyperparameters,
    LeaveOneOutEstimate,
    Proportion,
    count_confusions,
)
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.leave_one_out import LeaveOneOut, ScoredCorpus
from nbtext.bayes.prevalence import fit_mean_posteriors
from nbtext.bayes.settings import DECISION_METRICS
from nbtext.numerics import exp
from nbtext.parallel import parallel_calls

LABEL_ROUNDS = 2  # of fitting the temperature, and the offsets and scales of the labels
LAPLACE = 1.0  # if no document can be left out to select a smoothing
# The search covers 10^-2 to 10^1. If documents quote one another, leave-one-out prefers smaller
# values, which are worse on new documents (20 Newsgroups by date: accuracy 0.804 at 10^-2, 0.801 at
# 10^-3, 0.791 at 10^-6).
DECADES = (-2, 1)
STARTS = (-1.5, -0.5, 0.5)  # exponents that are tried first, also by the comparison of event models
SMOOTHING_STEPS = (0.5, 0.25)  # in decades; each is taken around the best value so far
# Documents times labels that are scored at once: with more than 1,024 labels, the calibration is
# fitted to fewer documents, and the estimate for new documents is computed in blocks.
SCORES_AT_ONCE = 1 << 24
# Documents times labels that are scored in all, with more than 4,096 labels: about 4 s
MAX_JUDGED = 1 << 26
MANY_LABELS = 1 << 12
BLOCK_SCORES = 1 << 21  # of each further block: small arrays are allocated faster
NO_GOALS = Goals()
RACE_SIZE = 512  # documents that all event models are compared on
COMPARISON_SIZE = 2048  # documents that those are compared on which are not clearly less accurate
# Standard deviations from which a lower log-loss outweighs a higher accuracy that is within the
# noise. Of 13 choices on the usual corpora, the largest is 2.2, by chance (the other model is as
# good in 10 folds). On tables of repeated texts with several labels each, complement has 4 to 5.5,
# and in 10 folds a log-loss of 2.8 where multinomial has 2.0.
CLEAR = 3.0
# The label-noise rate is at least this, divided by 2 more than there are documents: a few documents
# without an error do not show that there are none (Laplace's rule of succession, of two labels).
# The mean log-loss over draws of 5 and 10 documents a label, and the highest: 0.63 and 0.94 become
# 0.51 and 0.60, 0.50 and 1.05 become 0.41 and 0.62 (messages, with word vectors); 0.87 and 2.67
# become 0.71 and 1.10, 0.65 and 1.09 become 0.63 and 0.75 (two newsgroups, the default model).
NOISE_OF_FEW = 2
# the second search for label noise starts at the found temperature divided by this
LOW_TEMPERATURE = 4.0
MIN_NOISE = 0.001
# documents that the search scores; more of them hardly move the minimum of the log-loss
SMOOTHING_SEARCH_SIZE = 1024


class Selection(NamedTuple):
    """Hyperparameters, and what was fitted to left-out (or held-out) documents with them."""

    hyperparameters: Hyperparameters
    calibration: Calibration = Calibration()
    estimate: LeaveOneOutEstimate | None = None  # None: no document could be left out


# how often each document is predicted correctly, (n_documents,), and the smoothing
Correctness = tuple[Array, float]
Together = Integers  # (n_documents,), equal for documents that are left out together


def judge(
    hyperparameters: Hyperparameters,
    first: JudgedDocuments,
    temperature: TemperatureScaling | None = None,
    *,
    n_unjudged: int = 0,
    goals: Goals = NO_GOALS,
    others: Iterable[JudgedDocuments] = (),
) -> Selection:
    """Fit decision offsets and nonconformity scores to left-out documents, and estimate how good
    predictions are.

    Parameters
    ----------
    first : the documents that decision offsets are fitted to; of equal contents, one counts for the
    targets
    temperature : None: scores are probabilities of labels as they are
    n_unjudged : documents that are the only ones of their label; for prediction sets their labels
    conform least
    goals : what the decision offsets have to achieve
    others : more documents for the estimate and the nonconformity scores, block by block

    Raises
    ------
    SettingsError : a target cannot be met
    """
    temperature = temperature and _limit_noise(temperature, first)
    calibration = Calibration(temperature)
    optimized: tuple[float, float] | None = None
    proportions: tuple[Proportion, ...] = ()
    if goals.has_scales and temperature is not None:
        calibration = adjust_labels(first, temperature)
    elif goals.adjusts_prior:
        is_linear = hyperparameters.C is not None
        adjustment = adjust_prior(first.calibrate(calibration.log_posterior), is_linear=is_linear)
        calibration = replace(calibration, prior_adjustment=adjustment)
    if goals.optimize is not None:
        offsets, before, after = fit_decision_offsets(
            first.calibrate(calibration.log_posterior), goals.optimize
        )
        optimized = before, after
        if goals.optimize in DECISION_METRICS:
            calibration = replace(calibration, decision_offsets=offsets)
        else:  # it is a log-loss
            calibration = replace(calibration, prior_adjustment=offsets)
    judged = first.calibrate(calibration.log_posterior)
    if goals.targets:
        offsets, minimums, proportions = fit_targets(judged, goals.targets)
        calibration = replace(calibration, decision_offsets=offsets, min_probabilities=minimums)
    mean_posteriors = fit_mean_posteriors(judged)
    figures: list[tuple[Array, ...]] = []
    kept: list[JudgedDocuments] = []  # with the log-probability of the true class only
    for part in chain([judged], (part.calibrate(calibration.log_posterior) for part in others)):
        nonconformity = conformal.own_nonconformity(exp(part.scores), part.classes)
        figures.append((calibration.answer(part.scores), nonconformity))
        kept.append(part.with_scores(part.own[:, None]))
    predicted, nonconformity = map(np.concatenate, zip(*figures, strict=True))
    whole = JudgedDocuments.join(kept)
    weights = None if whole.weights is None else np.append(whole.weights, np.ones(n_unjudged))
    nonconformity = np.append(nonconformity, np.full(n_unjudged, conformal.MAX_NONCONFORMITY))
    return Selection(
        hyperparameters,
        replace(
            calibration,
            nonconformity=conformal.Quantiles.of(nonconformity, weights),
            mean_posteriors=mean_posteriors,
        ),
        LeaveOneOutEstimate(
            round(whole.n_documents),
            whole.mean(predicted == whole.classes),
            -whole.mean(whole.scores[:, 0]),
            count_confusions(whole, predicted),
            unjudged=n_unjudged,
            optimized=optimized,
            targets=proportions,
        ),
    )


def _limit_noise(temperature: TemperatureScaling, judged: JudgedDocuments) -> TemperatureScaling:
    """Return the temperature with as much label noise as so few documents leave possible."""
    least = NOISE_OF_FEW / (judged.n_documents + 2)
    return replace(temperature, noise=max(temperature.noise, least))


def adjust_labels(judged: JudgedDocuments, temperature: TemperatureScaling) -> Calibration:
    """Return the calibration with offsets and scales of the labels, as far as those that are fitted
    to one half of the documents lower the log-loss of the other half.

    The temperature is fitted again with them, because without them it is that of other scores.

    judged       with scores that are not in nats, in random order
    temperature  that of the scores alone

    Source: Guo, Pleiss, Sun, Weinberger, On Calibration of Modern Neural Networks, 2017, section
    4.2 (vector scaling).
    """

    def measure(part: JudgedDocuments, calibration: Calibration) -> float:
        return -float(part.weigh(part.calibrate(calibration.log_posterior).own).sum())

    best = whole = Calibration(temperature)
    least = measure(judged, best)
    middle = len(judged) // 2
    halves = judged.take(slice(middle)), judged.take(slice(middle, None))
    for is_scaled in (False, True)[: 2 * min(middle, 1)]:
        if is_scaled and not need_scales(_divide(judged, whole), whole.prior_adjustment):
            break
        for _ in range(LABEL_ROUNDS):
            whole = _fit_labels(judged, whole, is_scaled=is_scaled)
        loss = 0.0
        for half, other in (halves, halves[::-1]):
            own = _fit_labels(half, whole, is_scaled=is_scaled, keeps_temperature=True)
            loss += measure(other, own)
        if loss < least:
            best = whole
            least = loss
    return best


def _divide(judged: JudgedDocuments, calibration: Calibration) -> JudgedDocuments:
    """Return the documents with centered scores, divided by the temperature."""
    assert calibration.temperature is not None  # for the types
    centered = judged.with_scores(center(judged.scores))
    return centered.calibrate(calibration.temperature.divide)


def _fit_labels(
    judged: JudgedDocuments,
    known: Calibration,
    *,
    is_scaled: bool,
    keeps_temperature: bool = False,
) -> Calibration:
    """Return the calibration with a temperature, scales and offsets that are fitted in turn, from
    known ones on.
    """
    temperature = known.temperature
    assert temperature is not None  # for the types
    offsets = known.prior_adjustment
    if offsets is not None and not keeps_temperature:
        scaled = judged.with_scores(known.scale(judged.scores))
        temperature = fit_scaled_temperature(scaled, near=temperature, offsets=offsets)
        temperature = _limit_noise(temperature, judged)
    found = Calibration(temperature)
    if is_scaled:
        assert offsets is not None  # they were fitted without scales before
        scales = np.ones(len(offsets)) if known.label_scales is None else known.label_scales
        lines = fit_label_lines(_divide(judged, found), LabelLines(offsets, scales))
        offsets = lines.offsets
        found = replace(found, label_scales=lines.scales)
    offsets = fit_prior_adjustment(judged.calibrate(found.log_posterior), start=offsets)
    return replace(found, prior_adjustment=offsets)


def add_likelihoods(selection: Selection, likelihoods: Floats) -> Selection:
    """Return the selection with the distribution of log p(x) per token of left-out documents,
    (n_documents,).
    """
    found = conformal.typical(likelihoods)
    if found is None:
        return selection
    calibration = replace(
        selection.calibration, likelihoods=found, outlier_threshold=conformal.threshold(found)
    )
    return selection._replace(calibration=calibration)


def compare_event_models(corpora: Sequence[ScoredCorpus], smoothing: float | None) -> int:
    """Return the index of the event model with the highest leave-one-out accuracy; ties are broken
    by log-loss.

    The estimates are exact. The first documents select the smoothing of each event model in STARTS,
    and show which event models are significantly less accurate than the best one. The others are
    compared on more documents. If one of them has a clearly lower calibrated log-loss than the most
    accurate one, and its accuracy is not significantly lower, it is selected: where the same text
    has several labels, accuracy hardly tells models apart.

    Parameters
    ----------
    corpora : the same documents, weighted for each event model
    smoothing : the only smoothing to use; None: it is selected later

    Returns
    -------
    The index of the event model in `corpora`; 0 if no document can be left out.
    """
    if len(corpora) == 1 or any(len(corpus) == 0 for corpus in corpora):
        return 0
    # the scores of all event models are in memory
    size = min(COMPARISON_SIZE, max(1, count_at_once(corpora[0].corpus) // len(corpora)))
    starts = [10.0**exponent for exponent in STARTS] if smoothing is None else [smoothing]
    first = min(RACE_SIZE, max(1, size // len(starts)))
    together = corpora[0].corpus.first(size).contents
    left = list(range(len(corpora)))
    smoothings = [starts] * len(left)
    for number in (first, size):
        found = dict(
            zip(left, _answer([corpora[i] for i in left], number, smoothings), strict=True)
        )
        # those that are not significantly less accurate than the best one; without duplicates, it
        # is McNemar's test: Dietterich, Approximate Statistical Tests for Comparing Supervised
        # Classification Learning Algorithms, 1998, section 3.1
        most_correct, _ = max(found.values(), key=lambda answer: answer[0].sum())
        left = [
            i
            for i, (is_correct, _) in found.items()
            if deviations(most_correct.astype(np.float64) - is_correct, together) <= CLEAR
        ]
        if len(left) == 1:
            return left[0]
        smoothings = [[found[i][1]] for i in left]
    losses = {}
    for i in left:
        (scores,) = corpora[i].scores(size, found[i][1])
        losses[i], _ = _calibrated_losses(corpora[i].corpus.first(size), scores, found[i][1], None)
    best = max(left, key=lambda i: (found[i][0].sum(), -losses[i].mean()))
    lowest = min(left, key=lambda i: float(losses[i].mean()))
    return lowest if deviations(losses[best] - losses[lowest], together) > CLEAR else best


def _answer(
    corpora: Sequence[ScoredCorpus], size: int, smoothings: Sequence[Sequence[float]]
) -> list[Correctness]:
    """Return which documents are predicted correctly if they are left out, with the smoothing that
    is best for them.
    """
    answers = []
    for corpus, own in zip(corpora, smoothings, strict=True):
        first = corpus.corpus.first(size)
        known = map(first.ignore_hapaxes, corpus.scores(size, *own), own)
        times = first.documents.multiplicities
        is_correct = [
            times * (scores.argmax(axis=1) == first.documents.classes) for scores in known
        ]
        answers.append(max(zip(is_correct, own, strict=True), key=lambda each: each[0].sum()))
    return answers


def deviations(differences: Floats, together: Together) -> float:
    """Return the sum of the differences of documents in its standard deviations; 0 without a
    difference.

    Documents that are left out together are right or wrong together, so they are one observation.
    """
    sums = np.bincount(together[: len(differences)], differences)
    deviation = float((sums**2).sum()) ** 0.5
    return float(sums.sum()) / deviation if deviation else 0.0


def count_at_once(corpus: LeaveOneOut) -> int:
    """Return how many documents are scored at once."""
    return max(1, SCORES_AT_ONCE // max(1, corpus.statistics.n_classes))


def limit_judged(size: int, n_labels: int) -> int:
    """Return how many of `size` documents are judged: with very many labels fewer, so that the time
    does not grow with documents times labels.
    """
    return size if n_labels <= MANY_LABELS else min(size, MAX_JUDGED // n_labels)


def choose_documents(corpus: LeaveOneOut, goals: Goals, size: int | None) -> ScoredCorpus:
    """Return the documents that select the smoothing and fit the calibration: about the first
    `size`; None: all.

    If decisions have to achieve something, it is achieved on documents that are scored at once.
    Targets need as many of them as possible: with four times as many documents, a bound is twice as
    near to what is measured.
    """
    if goals.optimize is not None or goals.targets:
        at_once = count_at_once(corpus)
        size = at_once if size is None or goals.targets else min(at_once, size)
    size = len(corpus.documents) if size is None else size
    return ScoredCorpus.of(corpus, limit_judged(size, corpus.statistics.n_classes))


def select_smoothing(
    corpus: ScoredCorpus, smoothing: float | None, *, calibrate: bool, goals: Goals = NO_GOALS
) -> Selection:
    """Return the smoothing with the lowest calibrated log-loss (or the given one), its calibration
    and estimate.

    Without calibration, log-loss depends more on overconfidence than on the order of the labels,
    and would select too much smoothing. With very many labels, only the first documents are scored
    at once: everything is fitted to them, and the others count for the estimate, block by block.

    corpus  see `choose_documents`
    """
    judged = corpus.corpus
    smoothing = judged.model.smoothing if smoothing is None else smoothing
    n_classes = judged.statistics.n_classes
    if len(corpus) == 0 or n_classes < 2:
        refuse_targets(goals.targets)
        return Selection(Hyperparameters(LAPLACE if smoothing is None else smoothing))
    best, near = search_smoothing(corpus) if smoothing is None else (smoothing, None)
    at_once = count_at_once(judged)
    first = judged.first(at_once)
    blocks = judged.split(
        min(at_once, max(1, BLOCK_SCORES // n_classes)), start=len(first.documents)
    )
    is_likelihood = judged.model.scores == "likelihoods" and judged.documents.is_counted
    likelihoods: list[Floats] = []

    def score(block: LeaveOneOut, scores: Floats) -> JudgedDocuments:
        if is_likelihood:
            likelihoods.append(conformal.log_likelihood_per_token(scores, block.documents.lengths))
        return block.judge(scores, best)

    scored = score(first, *corpus.scores(at_once, best))
    corpus.keep()
    temperature = _calibrate(judged, scored, near) if calibrate else None
    n_new = 0 if judged.is_new is None else int(judged.is_new.sum())
    selection = judge(
        Hyperparameters(best),
        scored,
        temperature,
        n_unjudged=corpus.n_unjudged,
        goals=goals,
        others=(score(block, *block.scores(best)) for block in blocks),
    )
    if selection.estimate is not None:
        other = _estimate_other(judged, selection, selection.estimate)
        estimate = replace(
            selection.estimate, duplicates=corpus.n_duplicates, held_out=n_new, other=other
        )
        selection = selection._replace(estimate=estimate)
    return add_likelihoods(selection, np.concatenate(likelihoods)) if is_likelihood else selection


def _estimate_other(
    corpus: LeaveOneOut, selection: Selection, estimate: LeaveOneOutEstimate
) -> float | None:
    """Return the accuracy of the model if each document is left out without its duplicates; see
    LeaveOneOutEstimate.

    Only the documents that have duplicates are scored again.
    """
    calibration = selection.calibration
    smoothing = selection.hyperparameters.smoothing

    def measure(repeated: Integers) -> float:
        change = 0
        for block in corpus.take(repeated).split(count_at_once(corpus)):
            for each, sign in ((block, -1), (block.alone, 1)):
                (scores,) = each.scores(smoothing)
                judged = each.judge(scores, smoothing).calibrate(calibration.log_posterior)
                predicted = calibration.answer(judged.scores)
                change += sign * int((predicted == judged.classes).sum())
        return estimate.accuracy + change / estimate.documents

    return corpus.estimate_other(estimate.accuracy, measure)


def is_clearly_better(one: LeaveOneOut, other: LeaveOneOut) -> bool:
    """Return whether the calibrated log-loss of one model is lower than that of another one on the
    same documents by more than chance explains.
    """
    size = min(SMOOTHING_SEARCH_SIZE, count_at_once(one))
    losses = []
    for corpus in (one, other):
        judged = ScoredCorpus.of(corpus, size).corpus
        if len(judged.documents) == 0 or judged.statistics.n_classes < 2:
            return False
        smoothing = judged.model.smoothing or LAPLACE
        (scores,) = judged.scores(smoothing)
        losses.append(_calibrated_losses(judged, scores, smoothing, None)[0])
    return deviations(losses[1] - losses[0], judged.contents) > CLEAR


def calibrate_with_noise(corpus: LeaveOneOut) -> tuple[float, TemperatureScaling]:
    """Return the smoothing and the calibration with the lowest log-loss, also if many labels are
    wrong.

    A high temperature and a high label-noise rate can both explain wrong labels: the log-loss has a
    minimum for each. The search for the second one starts at a low temperature, and at the error
    rate as the label-noise rate.
    """
    smoothing, near = search_smoothing(ScoredCorpus(corpus))
    (scores,) = corpus.scores(smoothing)
    judged = corpus.judge(scores, smoothing)
    n_classes = judged.n_classes
    is_wrong = judged.scores.argmax(axis=1) != judged.classes
    wrong = float(is_wrong.mean()) * n_classes / max(1, n_classes - 1)
    noisy = replace(
        near, a=near.a / LOW_TEMPERATURE, noise=min(max(wrong, MIN_NOISE), 1 - MIN_NOISE)
    )
    found = [_calibrate(corpus, judged, start) for start in (near, noisy)]
    return smoothing, min(
        found, key=lambda each: float(judged.calibrate(each.log_posterior).losses().mean())
    )


def search_smoothing(corpus: ScoredCorpus) -> tuple[float, TemperatureScaling]:
    """Return the smoothing with the lowest calibrated log-loss on about SMOOTHING_SEARCH_SIZE
    documents, and that calibration.
    """
    size = min(SMOOTHING_SEARCH_SIZE, count_at_once(corpus.corpus))
    jobs = corpus.corpus.jobs
    searched = corpus.corpus.first(size)
    losses: dict[float, tuple[float, TemperatureScaling]] = {}
    best = 0.0
    near = None
    for step in (None, *SMOOTHING_STEPS):
        around = STARTS if step is None else (best - step, best + step)
        exponents = [exponent for exponent in around if DECADES[0] <= exponent <= DECADES[1]]
        smoothings = [10.0**exponent for exponent in exponents]
        calls = [
            partial(_calibrated_losses, searched, *each, near)
            for each in zip(corpus.scores(size, *smoothings), smoothings, strict=True)
        ]
        found = parallel_calls(calls, jobs=jobs)
        losses.update(
            (key, (float(each.mean()), fit))
            for key, (each, fit) in zip(exponents, found, strict=True)
        )
        best = min(losses, key=lambda exponent: (losses[exponent][0], -exponent))
        near = losses[best][1]
        corpus.keep(10.0**best)
    return 10.0**best, losses[best][1]


def _calibrated_losses(
    corpus: LeaveOneOut, scores: Floats, smoothing: float, near: TemperatureScaling | None
) -> tuple[Floats, TemperatureScaling]:
    """Return −log P of the label of each document by its calibrated leave-one-out scores, and the
    calibration.
    """
    judged = corpus.judge(scores, smoothing)
    calibration = _calibrate(corpus, judged, near)
    return judged.calibrate(calibration.log_posterior).losses(), calibration


def _calibrate(
    corpus: LeaveOneOut, judged: JudgedDocuments, near: TemperatureScaling | None
) -> TemperatureScaling:
    """Fit the calibration; scores that are not in nats are scaled first (see
    `fit_scaled_temperature`).
    """
    fit = fit_scaled_temperature if corpus.model.scores == "numbers" else fit_temperature
    return fit(judged, near=near)

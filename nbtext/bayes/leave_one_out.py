"""What the model of all documents but one says of that one, for every training document at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.event_models import EVENT_MODELS, EventModel
from nbtext.bayes.priors import Prior, log_prior
from nbtext.bayes.scorer import Floats
from nbtext.features.document_counts import DocumentCounts

Part = TypeVar("Part")
Run = Callable[[Sequence[Callable[[], Part]]], list[Part]]
AT_ONCE = 4096  # documents of a part that one thread works on


def one_by_one(calls: Sequence[Callable[[], Part]]) -> list[Part]:
    """The results of some calls, made in this thread; its like may use several."""
    return [call() for call in calls]


def scores_of_new(
    statistics: ClassStatistics,
    sample: DocumentCounts,
    *,
    model: str,
    smoothings: Sequence[float],
    prior: Prior = "empirical",
) -> Floats:
    """The scores of documents that the statistics do not hold, shape (n_smoothings, n_documents, n_classes)."""
    scorers = [EVENT_MODELS[model].compile(statistics, smoothing=smoothing) for smoothing in smoothings]
    scores = [scorer.scores(sample.indptr, sample.indices, sample.counts) for scorer in scorers]
    return np.stack(scores) + log_prior(statistics.class_documents, prior)


def leave_one_out(
    statistics: ClassStatistics,
    sample: DocumentCounts,
    *,
    model: str,
    smoothings: Sequence[float],
    prior: Prior = "empirical",
    run: Run[Floats] = one_by_one,
) -> Floats:
    """The scores of each document under the model of all others, as n separate refits would give them.

    The vocabulary and the labels are kept as they are: a label's only document leaves a class of which nothing is
    known, whose score is −∞ under the empirical prior. So are the idf of weights, and the floor of a gaussian model's
    variances. With these it is exact to 1e-9 for whole counts, and to the rounding of their sums for weights.

    statistics  of the whole corpus
    sample      documents of that corpus, over the same features
    smoothings  a model for each
    run         what makes the calls that the work is cut into
    returns     (n_smoothings, n_documents, n_classes), log P(document, class) where the model is generative
    """
    event_model = EVENT_MODELS[model]
    parts = sample.split(min(AT_ONCE, len(sample) // 2 + 1))
    if event_model.counts_left_out is not None and sample.counts.dtype.kind == "i" and min(smoothings) > 0:
        calls = [partial(event_model.counts_left_out, statistics, part, smoothings=smoothings) for part in parts]
        left_out = np.concatenate(run(calls), axis=1)
    else:
        left_out = np.stack([_by_scorer(event_model, statistics, parts, smoothing, run) for smoothing in smoothings])
    left_out += log_prior(statistics.class_documents, prior)
    if prior == "empirical":
        n = statistics.n_documents
        own = statistics.class_documents[sample.classes]
        with np.errstate(divide="ignore"):  # the only document of its class leaves none: log 0 is meant
            left_out += np.log(n / max(1, n - 1))
            left_out[:, np.arange(len(sample)), sample.classes] += np.log((own - 1) / own)
    return left_out


def _by_scorer(
    event_model: EventModel,
    statistics: ClassStatistics,
    parts: Sequence[DocumentCounts],
    smoothing: float,
    run: Run[Floats],
) -> Floats:
    """The scores by way of the scorer of all documents, without the prior."""
    scorer = event_model.compile(statistics, smoothing=smoothing)

    def of_part(part: DocumentCounts) -> Floats:
        scores = scorer.scores(part.indptr, part.indices, part.counts)
        return event_model.left_out(statistics, part, scores, smoothing=smoothing)

    return np.concatenate(run([partial(of_part, part) for part in parts]))

"""The event models by their names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from nbtext.bayes.bernoulli import bernoulli
from nbtext.bayes.categorical import categorical, categorical_left_out, categorical_unseen, value_counts
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.complement import complement, complement_left_out, complement_unseen
from nbtext.bayes.derivation import Derivation, Powers, Values
from nbtext.bayes.gaussian import FLOOR, gaussian, gaussian_left_out, moments
from nbtext.bayes.multinomial import (
    multinomial,
    multinomial_counts_left_out,
    multinomial_left_out,
    multinomial_unseen,
)
from nbtext.bayes.scorer import Floats, LinearScorer


class EventModel(NamedTuple):
    """One way to read statistics.

    compile        (statistics, *, smoothing) -> the scorer of log P(document | class)
    left_out       (statistics, sample, scores, *, smoothing) -> the sample's scores without themselves
    counts_left_out (statistics, sample, *, smoothings) -> the same for several smoothings at once, where counts are
                   whole and smoothings > 0; None where there is no such short way
    reads_presence whether it reads counts as presence (0 or 1)
    is_generative  whether its scores are log P(document | class), so that log P(document) can be had
    gather         (statistics, sample, *, n_values) -> the statistics that it reads instead of the ordinary ones, for
                   which every document is looked at
    reads_counts   whether it reads counts (or presence) only, and no other weights
    smoothing      what is taken where none is given; None: what leave-one-out finds best
    unseen         (statistics, sample, *, smoothing) -> the weight that a feature has for each document of the sample
                   where no other document holds it; None: such features are not told from others
    is_in_nats     whether scores are sums of logarithms, a word's share of them being what it tells
    """

    compile: Callable[..., LinearScorer]
    left_out: Callable[..., Floats]
    counts_left_out: Callable[..., Floats] | None = None
    reads_presence: bool = False
    is_generative: bool = True
    gather: Callable[..., ClassStatistics] | None = None
    reads_counts: bool = False
    smoothing: float | None = None
    unseen: Callable[..., Floats] | None = None
    is_in_nats: bool = True


EVENT_MODELS = {
    "multinomial": EventModel(
        multinomial, multinomial_left_out, multinomial_counts_left_out, unseen=multinomial_unseen
    ),
    "bernoulli": EventModel(bernoulli, categorical_left_out, reads_presence=True, unseen=categorical_unseen),
    "complement": EventModel(complement, complement_left_out, is_generative=False, unseen=complement_unseen),
    "normalized complement": EventModel(
        partial(complement, normalize_weights=True),
        partial(complement_left_out, normalize_weights=True),
        is_generative=False,
        is_in_nats=False,
    ),
    "categorical": EventModel(
        categorical, categorical_left_out, gather=value_counts, reads_counts=True, unseen=categorical_unseen
    ),
    "gaussian": EventModel(
        gaussian,
        gaussian_left_out,
        is_generative=False,  # of densities, which outliers are not judged by
        gather=lambda statistics, sample, n_values: moments(statistics, sample),
        smoothing=FLOOR,
        is_in_nats=False,
    ),
}


def derivation_of(model: str, *, n_values: int) -> Derivation | None:
    """What makes the columns of an event model's scorer out of features; None where they are the features."""
    derivations: dict[str, Derivation] = {"categorical": Values(n_values), "gaussian": Powers()}
    return derivations.get(model)

"""The event models by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nbtext.bayes.bernoulli import bernoulli, bernoulli_left_out
from nbtext.bayes.complement import complement, complement_left_out
from nbtext.bayes.multinomial import multinomial, multinomial_left_out
from nbtext.bayes.scorer import Floats, LinearScorer


class EventModel(NamedTuple):
    """One way to read statistics.

    compile        (statistics, *, smoothing) -> the scorer of log P(document | class)
    left_out       (statistics, sample, scores, *, smoothing) -> the sample's scores without themselves
    reads_presence whether it reads counts as presence (0 or 1)
    is_generative  whether its scores are log P(document | class), so that log P(document) can be had
    """

    compile: Callable[..., LinearScorer]
    left_out: Callable[..., Floats]
    reads_presence: bool = False
    is_generative: bool = True


EVENT_MODELS = {
    "multinomial": EventModel(multinomial, multinomial_left_out),
    "bernoulli": EventModel(bernoulli, bernoulli_left_out, reads_presence=True),
    "complement": EventModel(complement, complement_left_out, is_generative=False),
}

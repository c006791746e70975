"""Documents drawn from a model, by its own story of how they come about."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats

Columns = NDArray[np.int64]  # the features of a document, each as often as it occurs


class Story(NamedTuple):
    """How an event model thinks that a class writes a document.

    draw       (the class's weights in the scorer, random numbers, length) -> the document's features
    has_length whether a document's length is given; else it comes about by itself, and `length` is passed over
    """

    draw: Callable[[Floats, np.random.Generator, int], Columns]
    has_length: bool


def draw_words(weights: Floats, random: np.random.Generator, length: int) -> Columns:
    """Word by word from the class's bag, with replacement.

    weights  (V,), log P(feature | class)
    """
    running = np.cumsum(np.exp(weights))
    found = np.searchsorted(running, random.random(length) * running[-1], side="right")
    return np.asarray(np.minimum(found, len(weights) - 1), dtype=np.int64)


def toss_coins(weights: Floats, random: np.random.Generator, _: int) -> Columns:
    """A coin for each feature.

    weights  (V,), the log-odds that a document of the class holds the feature
    """
    with np.errstate(over="ignore"):  # exp(710) is infinite, and the probability 0
        return np.flatnonzero(random.random(len(weights)) < 1 / (1 + np.exp(-weights)))


def draw_values(weights: Floats, random: np.random.Generator, _: int) -> Columns:
    """A value for each feature; the highest stands for all above it, and occurs as often as it says.

    weights  (V, m − 1), how much likelier each value is than 0, as a logarithm
    """
    ratios = np.cumsum(np.exp(weights), axis=1) + 1  # of a value up to this one to 0
    ratios = np.concatenate((np.ones((len(ratios), 1)), ratios), axis=1)
    drawn = random.random((len(ratios), 1)) * ratios[:, -1:]
    return np.repeat(np.arange(len(ratios)), (drawn >= ratios[:, :-1]).sum(axis=1))


STORIES = {
    "multinomial": Story(draw_words, has_length=True),
    "bernoulli": Story(toss_coins, has_length=False),
    "categorical": Story(draw_values, has_length=False),
}

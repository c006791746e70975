"""Generated documents: drawn from the distribution that an event model defines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from nbtext.bayes.event_model import FeatureIds, Generate
from nbtext.bayes.scorer import ClassWeights
from nbtext.errors import ModelError, SettingsError
from nbtext.features.vocabulary import Vocabulary
from nbtext.model.fitted_model import TrainedModel
from nbtext.numerics import exp

MAX_MEAN_LENGTH = 1_000_000  # tokens of a generated document whose length is not given
CACHED = 32  # labels whose weights are cached


class GeneratedDocument(NamedTuple):
    """A generated text, or one for each text field; the order of its words is arbitrary."""

    label: str
    texts: tuple[str, ...]


def generate_documents(
    model: TrainedModel,
    n_documents: int,
    *,
    label: str | None = None,
    length: int | None = None,
    seed: int = 1,
) -> Iterator[GeneratedDocument]:
    """Yield documents drawn from a model's distribution; for one seed, the first documents do not
    depend on the number.

    label    of all documents; None draws each document's label from the prior
    length   words of each document; None: the average of its label's training documents, at
             most MAX_MEAN_LENGTH
    seed     0 or more; the same seed gives the same documents
    raises   ModelError: the model cannot generate documents; SettingsError: the model lacks the
             label, or the model determines the length itself
    """
    fitted = model.fitted
    fitted.check_one_label("generate documents")
    settings = fitted.model_settings
    features = fitted.feature_settings
    event_model = None if settings.is_linear else settings.event_model
    vocabulary = fitted.vocabulary
    if (
        event_model is None
        or event_model.generate is None
        or vocabulary is None
        or fitted.weighting.tf != ("binary" if event_model.is_binary else "count")
        or not fitted.weighting.is_counting
        or (features.view, features.analyzer, features.ngrams) != ((), "word", (1, 1))
    ):
        raise ModelError(
            f"this {settings.model} model cannot generate documents",
            hint="train with --model multinomial, dirichlet or bernoulli, on counts of single words",
        )
    if length is not None and not event_model.has_length:
        what = f"the length of {settings.model} documents cannot be set"
        raise SettingsError(what, where="length", hint="leave out this option")
    only = None if label is None else fitted.class_of(label)
    draws = _draw_documents(
        model, event_model.generate, only=only, length=length, random=np.random.default_rng(seed)
    )
    drawn = ((fitted.labels[k], columns) for k, columns in islice(draws, n_documents))
    return (
        GeneratedDocument(label, _texts(columns, vocabulary, features.fields))
        for label, columns in drawn
    )


def _draw_documents(
    model: TrainedModel,
    generate: Generate,
    *,
    only: int | None,
    length: int | None,
    random: np.random.Generator,
) -> Iterator[tuple[int, FeatureIds]]:
    """Yield the class and the columns of endlessly many documents; `only`, if given, is the class
    of each.
    """
    statistics = model.counts.statistics
    shares = np.cumsum(exp(model.fitted.log_prior))
    means = np.rint(statistics.class_occurrences / np.maximum(statistics.class_documents, 1))
    means = np.clip(means, 1, MAX_MEAN_LENGTH).astype(int)
    weights = lru_cache(CACHED)(ClassWeights(model.fitted.scorer).row)
    while True:
        k = (
            int(np.searchsorted(shares[:-1], random.random(), side="right"))
            if only is None
            else only
        )
        yield k, generate(weights(k), random, int(means[k]) if length is None else length)


def _texts(columns: FeatureIds, vocabulary: Vocabulary, fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of these columns, joined by spaces; one text for each field, without the
    field's name.
    """
    words = [vocabulary.term(column) for column in columns.tolist()]
    if not fields:
        return (" ".join(words),)
    prefixes = [f"{name}:" for name in fields]
    return tuple(" ".join(word[len(p) :] for word in words if word.startswith(p)) for p in prefixes)

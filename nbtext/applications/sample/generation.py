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
    length   words of each document; None: the average of its label's training documents
    seed     0 or more; the same seed gives the same documents
    raises   ModelError: the model cannot generate documents; SettingsError: the model lacks the
             label, or the model determines the length itself
    """
    fitted = model.fitted
    fitted.check_one_label("generate documents")
    name = fitted.model_settings.model
    features = fitted.feature_settings
    weighting = fitted.weighting
    hint = "train with --model multinomial, dirichlet or bernoulli, on word counts"
    event_model = None if fitted.model_settings.is_linear else fitted.model_settings.event_model
    if event_model is None or event_model.generate is None:
        raise ModelError(f"{name} models cannot generate documents", hint=hint)
    if (
        weighting.tf != ("binary" if event_model.is_binary else "count")
        or not weighting.is_counting
    ):
        raise ModelError(f"{name} models of weights cannot generate documents", hint=hint)
    if fitted.vocabulary is None:
        raise ModelError(
            "hashed features have no names to generate texts from", hint="train without --hash-bits"
        )
    if features.view or features.analyzer != "word" or features.ngrams != (1, 1):
        raise ModelError(
            "a model of n-grams cannot generate documents, because n-grams overlap", hint=hint
        )
    generate = event_model.generate
    has_length = event_model.has_length
    vocabulary = fitted.vocabulary
    if length is not None and not has_length:
        what = f"the length of {name} documents cannot be set"
        raise SettingsError(what, where="length", hint="leave out this option")
    only = None if label is None else fitted.class_of(label)
    draws = _draw_documents(
        model, generate, only=only, length=length, random=np.random.default_rng(seed)
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
    shares = np.cumsum(np.exp(model.fitted.log_prior))
    means = np.rint(
        statistics.class_occurrences / np.maximum(statistics.class_documents, 1)
    ).astype(int)

    weights = lru_cache(CACHED)(ClassWeights(model.fitted.scorer).row)
    if length is None and means.max(initial=0) > MAX_MEAN_LENGTH:
        what = f"documents of the model have up to {means.max():,} words on average; the maximum is {MAX_MEAN_LENGTH:,}"
        raise ModelError(what, hint="choose a length with --length")
    while True:
        k = (
            int(np.searchsorted(shares[:-1], random.random(), side="right"))
            if only is None
            else only
        )
        yield k, generate(weights(k), random, max(1, int(means[k])) if length is None else length)


def _texts(columns: FeatureIds, vocabulary: Vocabulary, fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of these columns, joined by spaces; one text for each field, without the
    field's name.
    """
    words = [vocabulary.term(column) for column in columns.tolist()]
    if not fields:
        return (" ".join(words),)
    prefixes = [f"{name}:" for name in fields]
    return tuple(" ".join(word[len(p) :] for word in words if word.startswith(p)) for p in prefixes)

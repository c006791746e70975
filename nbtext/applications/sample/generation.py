"""Generated documents: drawn from the distribution that an event model defines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nbtext.bayes.scorer import ClassWeights
from nbtext.errors import ModelError, SettingsError
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
    generate = event_model.generate
    only = None if label is None else fitted.class_of(label)

    def draw() -> Iterator[GeneratedDocument]:
        random = np.random.default_rng(seed)
        statistics = model.counts.statistics
        shares = np.cumsum(exp(fitted.log_prior))
        means = np.rint(statistics.class_occurrences / np.maximum(statistics.class_documents, 1))
        means = np.clip(means, 1, MAX_MEAN_LENGTH).astype(int)
        weights = lru_cache(CACHED)(ClassWeights(fitted.scorer).row)
        prefixes = [f"{name}:" for name in features.fields] or [""]
        for _ in range(n_documents):
            k = only
            if k is None:
                k = int(np.searchsorted(shares[:-1], random.random(), side="right"))
            columns = generate(weights(k), random, int(means[k]) if length is None else length)
            words = [vocabulary.term(column) for column in columns.tolist()]
            texts = (
                " ".join(word[len(each) :] for word in words if word.startswith(each))
                for each in prefixes
            )
            yield GeneratedDocument(fitted.labels[k], tuple(texts))

    return draw()

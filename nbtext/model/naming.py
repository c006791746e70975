"""The words behind hashed features, which a model does not keep: the same texts, hashed again, show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbtext.errors import SettingsError
from nbtext.features.counting import counter
from nbtext.features.hashing import buckets
from nbtext.features.regex_timeout import refuse_long_texts
from nbtext.features.vocabulary import Vocabulary
from nbtext.model.folding import OnBatch, check_fields

if TYPE_CHECKING:
    from nbtext.documents.source import Source
    from nbtext.model.text_classifier import TextClassifier

MOST_WORDS = 3
Names = Mapping[int, str]


def words_behind(classifier: TextClassifier, source: Source, *, on_batch: OnBatch | None = None) -> Names:
    """Of each hashed column that a source's documents use, its number and its most frequent words.

    A model keeps none of them: they would take the memory that hashing is to save, and what is forgotten would leave
    words behind. But a word is always hashed to the same column, so any texts will do; those that the model learned
    from name every column that it knows.

    raises  SettingsError: the model's features are not hashed
    """
    settings = classifier.features
    if settings.hash_bits is None:
        raise SettingsError("the model knows its words", where="--words-from", hint="leave it out")
    check_fields(settings.fields, source.field_names)
    counting = counter(replace(settings, hash_bits=None))
    for chunk in source.chunks():
        batch = chunk.batch()
        refuse_long_texts(batch, settings)
        counting.tally(batch.columns, np.zeros(len(batch), dtype=np.int32), 0)
        if on_batch is not None:
            on_batch(chunk, batch)
    vocabulary, _ = counting.vocabulary()
    return _names(vocabulary, counting.class_counts().occurrences.tolist(), settings.hash_bits)


def _names(vocabulary: Vocabulary, occurrences: list[int], bits: int) -> Names:
    found: dict[int, list[tuple[int, str]]] = {}
    terms = vocabulary.terms
    for column, term, number in zip(buckets(terms, bits).tolist(), terms, occurrences, strict=True):
        found.setdefault(column, []).append((-number, term))
    return {column: named(column, [term for _, term in sorted(words)]) for column, words in found.items()}


def named(column: int, words: list[str]) -> str:
    """A hashed column with some of its words."""
    shown = [*words[:MOST_WORDS], *("…" for _ in words[MOST_WORDS : MOST_WORDS + 1])]
    return f"#{column} {', '.join(shown)}" if words else f"#{column}"

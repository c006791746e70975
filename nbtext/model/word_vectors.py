"""The words that a model gets from a table of word vectors, beside those of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nbtext.arrays import Integers
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import InputError, SettingsError
from nbtext.features.analyzer import Analyzer
from nbtext.features.counting import merge_sorted
from nbtext.features.settings import VIEW_END, FeatureSettings
from nbtext.features.vocabulary import Vocabulary, find_views
from nbtext.linear.data import WordVectors
from nbtext.registry import load_method


def add_words(
    vocabulary: Vocabulary | None,
    words: Integers | None,
    features: FeatureSettings,
    settings: ModelSettings,
) -> tuple[Vocabulary, WordVectors]:
    """Return a vocabulary with further words, and the vectors of all of its words.

    words     (n_words,), the features that are single words
    settings  with the name of the table of word vectors, and which words are added
    raises  SettingsError: no feature is a word; InputError: the table cannot be read
    """
    if vocabulary is None or words is None or settings.vectors is None:
        raise SettingsError(
            "needs features that are words", where="vectors", hint="use --analyzer word"
        )
    if any(own.idf != "none" for own in features.of_views):
        hint = "leave it out: the parts of the model that need it have their own"
        raise SettingsError("does not apply with word vectors", where="idf", hint=hint)
    terms = vocabulary.terms
    prefixes = [
        (view + VIEW_END if view else "") + (f"{field}:" if field else "")
        for view, own in zip(features.view or ("",), features.of_views, strict=True)
        if own.analyzer == "word" and own.ngrams[0] == 1
        for field in features.fields or ("",)
    ]
    words_of = [_remove_prefix(terms[column], prefixes) for column in words.tolist()]
    asked = [*words_of, *settings.more_words]
    table = read_table(settings.vectors, asked, settings.vector_words)
    further = [*settings.more_words, *table.further]
    further_rows = np.concatenate((table.rows[len(words_of) :], table.further_rows))
    find = Analyzer(replace(features, view=(), fields=(), analyzer="word", ngrams=(1, 1)))
    known = set(terms)
    added: dict[str, int] = {}
    for place, word in enumerate(further):
        if len(added) >= settings.vector_words:
            break
        if further_rows[place].any() and find(word) == [word]:
            added |= {prefix + word: place for prefix in prefixes if prefix + word not in known}
    names = sorted(added)
    others = Vocabulary.from_sorted(names)
    blob, offsets, *columns = merge_sorted(
        vocabulary.blob, vocabulary.offsets, others.blob, others.offsets
    )
    union = Vocabulary(blob, offsets)
    bounds = tuple(find_views(union, features.view).tolist()) if features.view else None
    places = np.array([added[name] for name in names], dtype=np.int64)
    rows = np.concatenate((table.rows[: len(words_of)], further_rows[places]))
    vectors = WordVectors(words.astype(np.int32), rows, np.concatenate(columns), bounds)
    return union, vectors


def read_table(source: str, words: Sequence[str], n_further: int) -> Any:
    """Return the vectors of words of the documents, and of further words; see `Table` in the
    application.

    raises  InputError: the table cannot be read, or has none of the words
    """
    table = load_method("read_vectors")(source, words, n_further)
    if not table.rows.any():
        hint = "give a table of the language of the documents"
        raise InputError("has no word of the documents", where=source, hint=hint)
    return table


def _remove_prefix(term: str, prefixes: list[str]) -> str:
    """Return a word without the names of its view and field."""
    return term[max(len(each) for each in prefixes if term.startswith(each)) :]

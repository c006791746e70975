"""The words that a model gets from a table of word vectors, beside those of its documents."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nbtext.arrays import Floats, Integers
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import AssumptionWarning, InputError, SettingsError, list_some, require_label
from nbtext.features.analyzer import Analyzer
from nbtext.features.counting import merge_sorted
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary, find_views, find_words
from nbtext.linear.data import WordVectors
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.word_pieces import BLANK, list_prefixes, remove_prefix
from nbtext.numerics import log
from nbtext.registry import load_method

MIN_KNOWN = 0.5  # share of the words of the documents; a table of fewer may be of another language

N_SHOWN = 5  # words of a table
TINY = 1e-9  # length of a vector that is rounding alone


def add_words(
    vocabulary: Vocabulary | None,
    features: FeatureSettings,
    settings: ModelSettings,
    labels: Sequence[str],
) -> tuple[Vocabulary, WordVectors]:
    """Return a vocabulary with further words, and the vectors of all of its words.

    settings  with the names of the tables of word vectors, which words are added, and what the
              labels mean
    raises  SettingsError: no feature is a word; InputError: a table cannot be read
    """
    words, words_of, prefixes = _find_words(vocabulary, features)
    assert vocabulary is not None  # they are of it
    find = Analyzer(replace(features, view=(), fields=(), analyzer="word", ngrams=(1, 1)))
    means = dict(settings.names)
    spoken = [Counter(find(means.get(label) or split_name(label))) for label in labels]
    of_names = [word for words in spoken for word in words]
    asked = [*words_of, *settings.more_words, *of_names]
    table = load_method("read_vectors")(settings.vectors, asked, settings.vector_words)
    further = [*asked[len(words_of) :], *table.further]
    known = set(vocabulary.terms)
    added: dict[str, int] = {}
    for place in np.flatnonzero(table.rows[len(words_of) :].any(axis=1)).tolist():
        word = further[place]
        if word.startswith(BLANK) or find(word) == [word]:
            added |= {prefix + word: place for prefix in prefixes if prefix + word not in known}
    names = sorted(added)
    others = Vocabulary.from_sorted(names)
    blob, offsets, *columns = merge_sorted(
        vocabulary.blob, vocabulary.offsets, others.blob, others.offsets
    )
    union = Vocabulary(blob, offsets)
    bounds = tuple(find_views(union, features.view).tolist()) if features.view else None
    places = np.array([added[name] for name in names], np.int64)
    used = np.append(np.arange(len(words_of)), len(words_of) + places)
    own = table.rows[len(asked) - len(of_names) : len(asked)]
    directions = _compare_names(spoken, own.astype(np.float64))
    placed = np.concatenate(columns)
    ranks = None
    if table.is_joined:
        ranks = np.zeros(len(union), np.int32)
        ranks[placed[len(vocabulary) :]] = places  # of words, it is not read
    return union, WordVectors(
        words.astype(np.int32),
        table.rows[used],
        table.norms[used],
        placed,
        bounds,
        directions,
        ranks,
        max((len(word) - 2 for word in further if word.startswith(BLANK)), default=None),
    )


def split_name(label: str) -> str:
    """Return the words of the name of a label, such as card_arrival, cardArrival or sci.space."""
    return re.sub(r"[_\-./:]+|(?<=[a-z])(?=[A-Z])", " ", label)


def _compare_names(spoken: Sequence[Counter[str]], rows: Floats) -> Floats:
    """Return the unit vector of the words of each label, less the mean of all labels.

    rows  of all of these words, one after the other
    """
    found = np.zeros((len(spoken), rows.shape[1]))
    start = 0
    for label, words in enumerate(spoken):
        values = 1 + log(np.array(list(words.values()), np.float64))
        own = rows[start : start + len(words)]
        start += len(words)
        found[label] = np.einsum("j,jd->d", values, own)
    found = _divide_by_lengths(found)
    is_known = found.any(axis=1)
    found[is_known] -= found[is_known].sum(axis=0) / max(1, is_known.sum())
    return _divide_by_lengths(found)


def _divide_by_lengths(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > TINY, lengths, np.inf)


def check_table(counts: CorpusCounts, features: FeatureSettings, settings: ModelSettings) -> None:
    """Warn of each table that has fewer than half of the words of all documents.

    What a fit to the documents needs of the tables is read with their words, so that they are read
    once.

    raises  InputError: a table cannot be read, or has none of them
            SettingsError: no feature is a word, or a name is of no label
    """
    for label, _ in settings.names:
        require_label(label, counts.labels, "names")
    words, names, _ = _find_words(counts.vocabulary, features)
    asked = [*names, *settings.more_words]
    n_further = max(N_SHOWN, settings.vector_words)
    read = load_method("read_vectors")
    sources = settings.vectors or ()
    if len(sources) > 1:  # all of them are kept, not the last one
        read(sources, asked, n_further)
    occurrences = counts.statistics.feature_occurrences[words]
    for source in sources:
        table = read((source,), asked, n_further)
        is_known = table.rows[: len(names)].any(axis=1)
        share = float(occurrences[is_known].sum() / max(1, occurrences.sum()))
        hint = "use a table of their language"
        if table.further:
            hint += f", of words as they stand in texts (here {list_some(table.further, N_SHOWN)})"
        if not share:
            raise InputError(
                "has no vector but 0 for any word of the documents", where=source, hint=hint
            )
        if share < MIN_KNOWN:
            what = f"{source} has only {share:.1%} of the words of the documents; {hint}"
            warnings.warn(what, AssumptionWarning, stacklevel=2)


def _find_words(
    vocabulary: Vocabulary | None, features: FeatureSettings
) -> tuple[Integers, list[str], list[str]]:
    """Return the features that are words, the words, and what stands before words in names of
    features: each view with each field.
    """
    words = find_words(vocabulary, features)
    if vocabulary is None or words is None:
        raise SettingsError(
            "needs features that are words", where="vectors", hint="use ‹analyzer=word›"
        )
    terms = vocabulary.terms
    prefixes = list_prefixes(features)
    names = [remove_prefix(terms[column], prefixes) for column in words.tolist()]
    if all(map(str.isdecimal, names)):
        raise SettingsError("needs words, and the features are numbers", where="vectors")
    return words, names, prefixes

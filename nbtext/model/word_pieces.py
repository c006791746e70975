"""The part of a model that has the features of some texts, also of words that the model lacks: the
weight of such a word is the sum of those of its pieces, which come from a table of word vectors.

Pieces are features whose names begin with a blank, which no word has: ` no-` begins a word, and
` -ly` continues one. A word is divided as the tokenizer of the table does it: by byte-pair encoding
(Sennrich, Haddow and Birch, 2016) if the pieces have ranks, else from its start, each piece being
the longest one that fits (WordPiece; Devlin et al., BERT, 2019).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np

from nbtext.arrays import Integers32
from nbtext.documents.names import find_terms
from nbtext.errors import AssumptionWarning
from nbtext.features.csr import running_sums
from nbtext.features.settings import VIEW_END, FeatureSettings
from nbtext.features.vocabulary import Vocabulary, find_words
from nbtext.model.fitted_model import MAX_PIECE_WORD, FittedModel

BLANK = " "  # before the name of a piece


def name_piece(piece: str, *, is_start: bool) -> str:
    """Return the name of the feature of a piece, without its view and field."""
    return f"{BLANK}{piece}-" if is_start else f"{BLANK}-{piece}"


def list_prefixes(features: FeatureSettings) -> list[str]:
    """Return what stands before words in names of features: each view with each field."""
    return [
        (view + VIEW_END if view else "") + (f"{field}:" if field else "")
        for view, own in zip(features.view or ("",), features.of_views, strict=True)
        if own.analyzer == "word" and own.ngrams[0] == 1
        for field in features.fields or ("",)
    ]


def remove_prefix(term: str, prefixes: list[str]) -> str:
    """Return a word without the names of its view and field."""
    return term[max(len(each) for each in prefixes if term.startswith(each)) :]


def take_part(model: FittedModel, found: Vocabulary) -> FittedModel:
    """Return the part of a model that has these features, those of some texts.

    Words that the model lacks are features of the part, too, if it has their pieces.
    """
    vocabulary = model.vocabulary
    assert vocabulary is not None  # hashed features are not looked up
    places = find_terms(vocabulary.blob, vocabulary.offsets, found.blob, found.offsets)
    if model.longest_piece is None:
        columns = places[places >= 0]
        part = replace(
            model,
            weighting=model.weighting.restrict(columns),
            scorer=model.scorer.restrict(columns),
        )
        return replace(part, vocabulary=found.restrict(np.flatnonzero(places >= 0)))
    added = {}
    prefixes = list_prefixes(model.feature_settings)
    words = find_words(found, model.feature_settings)
    assert words is not None  # of which the table is
    for column in words[places[words] < 0].tolist():
        term = found.term(column)
        word = remove_prefix(term, prefixes)
        prefix = term[: len(term) - len(word)]
        if pieces := _divide(word.lower(), prefix, vocabulary.columns, model):
            added[column] = pieces
    kept = sorted({*np.flatnonzero(places >= 0).tolist(), *added})
    parts = [added.get(column) or [int(places[column])] for column in kept]
    bounds = running_sums(np.array(list(map(len, parts)), dtype=np.int64))
    columns = np.array([column for part in parts for column in part], dtype=np.int64)
    scorer = model.scorer.add_up(bounds, columns)
    is_untrained = model.are_untrained(columns[bounds[:-1]])
    return replace(
        model,
        vocabulary=found.restrict(np.array(kept, dtype=np.int64)),
        weighting=model.weighting.with_bounds(scorer.bounds),
        scorer=scorer,
        untrained=np.packbits(is_untrained),
        longest_piece=None,
        piece_ranks=None,
    )


def _divide(word: str, prefix: str, columns: dict[str, int], model: FittedModel) -> list[int]:
    """Return the columns of the pieces of a word; what no piece fits is left out."""
    ranks = model.piece_ranks
    longest = model.longest_piece or 1
    found = []
    start = 0
    if len(word) > MAX_PIECE_WORD:
        return []
    if ranks is not None:
        parts = _join(word, prefix, columns, ranks)
        names = (prefix + name_piece(part, is_start=i == 0) for i, part in enumerate(parts))
        return [columns[name] for name in names if name in columns]
    while start < len(word):
        for stop in range(min(len(word), start + longest), start, -1):
            name = name_piece(word[start:stop], is_start=start == 0)
            if (column := columns.get(prefix + name)) is not None:
                found.append(column)
                start = stop
                break
        else:
            start += 1
    return found


def _join(word: str, prefix: str, columns: dict[str, int], ranks: Integers32) -> list[str]:
    """Return the parts of a word: of its characters, the two neighbors whose joined piece has the
    lowest rank are joined, again and again.
    """
    parts = list(word)

    def rank(place: int) -> float:
        name = name_piece(parts[place] + parts[place + 1], is_start=place == 0)
        column = columns.get(prefix + name)
        return math.inf if column is None else int(ranks[column])

    found = [rank(place) for place in range(len(parts) - 1)]
    while (best := min(found, default=math.inf)) < math.inf:
        place = found.index(best)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
        del found[place]
        for other in (place - 1, place):
            if 0 <= other < len(found):
                found[other] = rank(other)
    return parts


def leave_out_pieces(model: FittedModel) -> FittedModel:
    """Return a model without pieces, for other programs, with a warning."""
    warn_of_pieces(model, "the exported model ignores them")
    return drop_pieces(model)


def warn_of_pieces(model: FittedModel, what: str) -> None:
    """Warn of what happens to words that a model lacks, if it has pieces of them."""
    if model.longest_piece is not None:
        first = "words that the model lacks weigh what their pieces do, if nbtext predicts texts; "
        warnings.warn(first + what, AssumptionWarning, stacklevel=2)


def drop_pieces(model: FittedModel) -> FittedModel:
    """Return a model without pieces, for what cannot divide words, or has room for some features
    only.
    """
    vocabulary = model.vocabulary
    if model.longest_piece is None or vocabulary is None:
        return model
    starts = tuple(prefix + BLANK for prefix in list_prefixes(model.feature_settings))
    columns = np.flatnonzero([not term.startswith(starts) for term in vocabulary.terms])
    return replace(
        model,
        vocabulary=vocabulary.restrict(columns),
        weighting=model.weighting.restrict(columns),
        scorer=model.scorer.restrict(columns),
        untrained=np.packbits(model.are_untrained(columns)),
        longest_piece=None,
        piece_ranks=None,
    )

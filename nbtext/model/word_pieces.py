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

from nbtext.documents.names import find_terms
from nbtext.errors import AssumptionWarning
from nbtext.features.csr import running_sums
from nbtext.features.settings import VIEW_END, FeatureSettings
from nbtext.features.vocabulary import Vocabulary, find_words
from nbtext.model.fitted_model import MAX_PIECE_WORD, FittedModel

BLANK = " "  # before the name of a piece
MAX_DIVIDED = 1 << 17  # words that are remembered


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


def can_divide(model: FittedModel) -> bool:
    """Return whether a model is of a form that may have pieces: what `take_part` needs."""
    scorer = model.scorer
    is_plain = scorer.base is None and scorer.derivation is None
    is_plain = is_plain and all(view.weighting.idf is None for view in model.views)
    has_words = model.vocabulary is not None and bool(list_prefixes(model.feature_settings))
    return is_plain and has_words


class Pieces:
    """The pieces of a model, which divide words; words that were divided are remembered."""

    def __init__(self, model: FittedModel) -> None:
        assert model.vocabulary is not None  # pieces have names
        self.prefixes = list_prefixes(model.feature_settings)
        self._ranks = None if model.piece_ranks is None else model.piece_ranks.tolist()
        self._longest = model.longest_piece or 1
        self._divided: dict[str, list[int]] = {}
        # of each view and field, the columns of the pieces that begin words, and that continue them
        self._columns: dict[str, tuple[dict[str, int], dict[str, int]]] = {
            prefix: ({}, {}) for prefix in self.prefixes
        }
        starts = tuple(prefix + BLANK for prefix in self.prefixes)
        for column, term in enumerate(model.vocabulary.terms):
            if term.startswith(starts):
                name = remove_prefix(term, self.prefixes)
                is_start = name.endswith("-")
                piece = name[1:-1] if is_start else name[2:]
                self._columns[term.removesuffix(name)][not is_start][piece] = column

    def divide(self, term: str) -> list[int]:
        """Return the columns of the pieces of a word; what no piece fits is left out."""
        found = self._divided.get(term)
        if found is None:
            word = remove_prefix(term, self.prefixes)
            columns = self._columns[term[: len(term) - len(word)]]
            word = word.lower()
            if len(word) > MAX_PIECE_WORD:
                found = []
            elif self._ranks is None:
                found = self._take_longest(word, *columns)
            else:
                found = self._join(word, *columns, self._ranks)
            if len(self._divided) >= MAX_DIVIDED:
                self._divided = {}
            self._divided[term] = found
        return found

    def _take_longest(self, word: str, starts: dict[str, int], others: dict[str, int]) -> list[int]:
        found = []
        start = 0
        while start < len(word):
            columns = others if start else starts
            for stop in range(min(len(word), start + self._longest), start, -1):
                if (column := columns.get(word[start:stop])) is not None:
                    found.append(column)
                    start = stop
                    break
            else:
                start += 1
        return found

    def _join(
        self, word: str, starts: dict[str, int], others: dict[str, int], ranks: list[int]
    ) -> list[int]:
        """Of the characters of a word, join the two neighbors whose joined piece has the lowest
        rank, again and again.
        """
        parts = list(word)

        def rank(place: int) -> float:
            column = (others if place else starts).get(parts[place] + parts[place + 1])
            return math.inf if column is None else ranks[column]

        found = [rank(place) for place in range(len(parts) - 1)]
        while (best := min(found, default=math.inf)) < math.inf:
            place = found.index(best)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
            del found[place]
            for other in (place - 1, place):
                if 0 <= other < len(found):
                    found[other] = rank(other)
        columns = [starts.get(parts[0]), *map(others.get, parts[1:])]
        return [column for column in columns if column is not None]


def take_part(model: FittedModel, found: Vocabulary, pieces: Pieces | None = None) -> FittedModel:
    """Return the part of a model that has these features, those of some texts.

    Words that the model lacks are features of the part, too, if it has their pieces.

    pieces  of the model; None: they are looked up, if it has some
    """
    vocabulary = model.vocabulary
    assert vocabulary is not None  # hashed features are not looked up
    if model.longest_piece is None:
        places = find_terms(vocabulary.blob, vocabulary.offsets, found.blob, found.offsets)
        columns = places[places >= 0]
        return replace(
            model,
            vocabulary=found.restrict(np.flatnonzero(places >= 0)),
            weighting=model.weighting.restrict(columns),
            scorer=model.scorer.restrict(columns),
        )
    pieces = pieces or Pieces(model)
    terms = found.terms
    parts = [[] if column is None else [column] for column in map(vocabulary.columns.get, terms)]
    words = find_words(found, model.feature_settings)
    assert words is not None  # of which the table is
    for column in words.tolist():
        if not parts[column]:
            parts[column] = pieces.divide(terms[column])
    kept = [column for column, own in enumerate(parts) if own]
    bounds = running_sums(np.array([len(parts[column]) for column in kept], np.int64))
    columns = np.array([each for column in kept for each in parts[column]], np.int64)
    scorer = model.scorer.add_up(bounds, columns)
    return replace(
        model,
        vocabulary=found.restrict(np.array(kept, np.int64)),
        weighting=model.weighting.with_bounds(scorer.bounds),
        scorer=scorer,
        untrained=np.packbits(model.are_untrained(columns[bounds[:-1]])),
        longest_piece=None,
        piece_ranks=None,
    )


def leave_out_pieces(model: FittedModel) -> FittedModel:
    """Return a model without pieces, for other programs, with a warning."""
    warn_of_pieces(model, "the exported model ignores such words")
    return drop_pieces(model)


def warn_of_pieces(model: FittedModel, what: str) -> None:
    """Warn of what happens to words that a model lacks, if it has pieces of them."""
    if model.longest_piece is not None:
        first = "nbtext gives words that the model lacks the weights of their pieces; "
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

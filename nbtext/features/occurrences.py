"""The positions of features in a text, so that a text can be shown with highlighted features."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from nbtext.features.analyzer import ACCENTS, WHITE_SPACE, Analyzer, compile_token_pattern, is_too_long
from nbtext.features.settings import FeatureSettings

Span = tuple[int, int]  # start and end of a part of a text
NOT_SPACE = re.compile(r"\S+")


class Occurrence(NamedTuple):
    """One occurrence of a feature in a text, and the spans of the text that it consists of."""

    feature: str
    spans: tuple[Span, ...]


class Locator:
    """Finds the features of a text as Analyzer does, in the same order, with their positions.

    A position refers to the original text, before lowercasing, accent stripping and stemming.
    """

    def __init__(self, settings: FeatureSettings) -> None:
        self._ngrams = settings.ngrams
        self._lowercase = settings.lowercase
        self._strip_accents = ACCENTS[settings.strip_accents]
        self._pattern = compile_token_pattern(settings)
        self._normalizer = Analyzer(settings).normalizer
        self._find: Callable[[str, list[int]], Iterator[Occurrence]] = {
            "word": self._word_features,
            "char": self._character_ngrams,
            "char_wb": self._bounded_ngrams,
        }[settings.analyzer]

    def __call__(self, text: str) -> list[Occurrence]:
        """Return the features of one text."""
        return list(self._find(*self._normalize(text)))

    def _normalize(self, text: str) -> tuple[str, list[int]]:
        """Return the normalized text, and the original position of each of its characters."""
        origins = list(range(len(text)))
        for change in (str.lower if self._lowercase else None, self._strip_accents):
            if change is None:
                continue
            changed = change(text)
            if not (text.isascii() and len(changed) == len(text)):
                # a character may become several or none, independently of its neighbors; only the lowercase of sigma
                # depends on its position, and it is one letter in any case
                origins = [origin for origin, c in zip(origins, text, strict=True) for _ in change(c)]
            text = changed
        return text, origins

    def _word_features(self, text: str, origins: list[int]) -> Iterator[Occurrence]:
        tokens = list(self._tokens(text, origins))
        shortest, longest = self._ngrams
        for n in range(shortest, min(longest, len(tokens)) + 1):
            for start in range(len(tokens) - n + 1):
                run = tokens[start : start + n]
                yield Occurrence(" ".join(word for word, _ in run), tuple(span for _, span in run))

    def _tokens(self, text: str, origins: list[int]) -> Iterator[tuple[str, Span]]:
        """Yield the tokens that are not stop words, with their positions."""
        for match in self._pattern.finditer(text):
            group = min(self._pattern.groups, 1)
            token: str = match[group] or ""
            if is_too_long(token):
                continue
            word = self._normalizer[token] if self._normalizer is not None else token
            if word is not None:
                yield word, _span(origins, *match.span(group))

    def _character_ngrams(self, text: str, origins: list[int]) -> Iterator[Occurrence]:
        kept = [True] * len(text)
        for match in WHITE_SPACE.finditer(text):
            kept[match.start() + 1 : match.end()] = [False] * (match.end() - match.start() - 1)
        origins = [origin for origin, is_kept in zip(origins, kept, strict=True) if is_kept]
        text = WHITE_SPACE.sub(" ", text)
        shortest, longest = self._ngrams
        for n in range(shortest, min(longest, len(text)) + 1):
            for start in range(len(text) - n + 1):
                yield Occurrence(text[start : start + n], (_span(origins, start, start + n),))

    def _bounded_ngrams(self, text: str, origins: list[int]) -> Iterator[Occurrence]:
        shortest, longest = self._ngrams
        for match in NOT_SPACE.finditer(text):
            first, last = match.span()
            word = f" {match[0]} "
            for n in range(shortest, longest + 1):
                n_starts = max(1, len(word) - n + 1)
                for start in range(n_starts):
                    # the padding is not part of the text
                    span = max(first, first + start - 1), min(last, first + start - 1 + n)
                    yield Occurrence(word[start : start + n], (_span(origins, *span),))
                if len(word) <= n:
                    break


def _span(origins: list[int], start: int, end: int) -> Span:
    """Return the span of these characters in the original text; (0, 0) if there are none."""
    return (origins[start], origins[end - 1] + 1) if 0 <= start < end else (0, 0)

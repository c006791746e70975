"""Vocabulary: the names of the features, in the order of the columns."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from unicodedata import category, normalize

import numpy as np

from nbtext.arrays import Bytes, Integers, Integers32
from nbtext.documents.names import pack_names, unpack_names
from nbtext.errors import ModelError
from nbtext.features import csr
from nbtext.features.settings import VIEW_END, FeatureSettings
from nbtext.records import Strings

TERMS_RENAMED_AT_ONCE = 1 << 16  # terms that get or lose the name of their view at once
WORDS = "word:1"  # the view of single words
# share of the words in scripts without spaces, from which character n-grams are worth trying
UNSPACED = 0.2
# Share of marks, from which words are cut at them. Of the Universal Declaration of Human Rights,
# Indic languages have 0.34 to 0.43; Thai 0.20; Lingala with tones 0.14; Yoruba and Yiddish 0.12;
# others at most 0.08.
MARKED = 0.2
# scripts without spaces that have marks, as the names of their characters begin
MARKED_WITHOUT_SPACES = ("THAI", "LAO", "TIBETAN", "MYANMAR", "KHMER")
# Scripts without spaces: the range of the first two UTF-8 bytes, and the least length in bytes of a
# token that counts as a run of several words. The default pattern splits Thai, Lao, Tibetan,
# Myanmar and Khmer at vowel signs, so tokens of any length count. A Chinese or Japanese token of
# five characters is usually a run: segmented words are rarely so long.
UNSPACED_SCRIPTS = (
    (0xE0B8, 0xE0BF, 0),
    (0xE180, 0xE182, 0),
    (0xE19E, 0xE19F, 0),
    (0xE2BA, 0xE9BF, 15),
    (0xF0A0, 0xF0B3, 20),
)


class Vocabulary:
    """Sorted, distinct terms, stored as one UTF-8 blob with offsets.

    Terms are sorted by code point, which is also the order of their UTF-8 bytes. Lone surrogates
    are allowed (`surrogatepass`), so every Python string can be a term.

    blob     (n_bytes,) uint8, the terms one after the other
    offsets  (n_features + 1,) int64, the start of each term
    """

    __slots__ = ("__dict__", "blob", "offsets")

    def __init__(self, blob: Bytes, offsets: Integers) -> None:
        self.blob = blob
        self.offsets = offsets

    @classmethod
    def of_numbers(cls, n: int) -> Vocabulary:
        """Return the numbers from 0 to n - 1, with zeros before them so that they are sorted."""
        width = len(str(max(0, n - 1)))
        blob = np.empty((n, width), np.uint8)
        numbers = np.arange(n)
        for place in reversed(range(width)):
            blob[:, place] = numbers % 10 + ord("0")
            numbers //= 10
        return cls(blob.ravel(), np.arange(n + 1, dtype=np.int64) * width)

    @classmethod
    def from_terms(cls, terms: Iterable[str]) -> Vocabulary:
        """Return the vocabulary of these terms, sorted and without repetitions."""
        return cls.from_sorted(sorted(set(terms)))

    @classmethod
    def from_sorted(cls, terms: Iterable[str]) -> Vocabulary:
        """Return the vocabulary of terms, which must be sorted and distinct."""
        return cls(*pack_names(terms))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.terms)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.blob, other.blob)

    __hash__ = None  # type: ignore[assignment]

    def term(self, column: int) -> str:
        """Return the name of one feature."""
        return (
            self.blob[self.offsets[column] : self.offsets[column + 1]]
            .tobytes()
            .decode("utf-8", "surrogatepass")
        )

    @cached_property
    def terms(self) -> list[str]:
        """All names, in the order of the columns."""
        return unpack_names(self.blob, self.offsets)

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of each term."""
        return {term: column for column, term in enumerate(self.terms)}

    def columns_of(self, terms: Sequence[str]) -> Integers32:
        """Return the column of each of these terms, which must all be in the vocabulary."""
        return np.fromiter(map(self.columns.__getitem__, terms), np.int32, count=len(terms))

    def restrict(self, columns: Integers) -> Vocabulary:
        """Return the vocabulary of these columns only; `columns` is ascending."""
        offsets, (blob,) = csr.take_rows(self.offsets, (self.blob,), columns)
        return Vocabulary(blob, offsets)


def find_views(vocabulary: Vocabulary, names: Sequence[str]) -> Integers:
    """Return the bounds of the columns of each view, (n_views + 1,); view i has the columns
    bounds[i]:bounds[i + 1].

    names   of the views, in the order of their features
    raises  ModelError: a feature is not of one of the views
    """
    bounds = [0]
    for name in names:
        after = name + chr(ord(VIEW_END) + 1)
        bounds_of = partial(bisect_left, range(len(vocabulary)), key=vocabulary.term)
        start = bounds_of(name + VIEW_END)
        stop = bounds_of(after)
        if start != bounds[-1]:
            break
        bounds.append(stop)
    if len(bounds) <= len(names) or bounds[-1] != len(vocabulary):
        raise ModelError("the names of the features do not begin with the names of the views")
    return np.array(bounds, np.int64)


def split_views(vocabulary: Vocabulary, names: Sequence[str]) -> list[Vocabulary]:
    """Return the features of each view, without the name of the view; see `find_views`. Without
    views, return all.
    """
    return [take_view(vocabulary, names, view) for view in range(max(1, len(names)))]


def take_view(vocabulary: Vocabulary, names: Sequence[str], view: int) -> Vocabulary:
    """Return the features of one view; see `split_views`."""
    if not names:
        return vocabulary
    start, stop = find_views(vocabulary, names)[view : view + 2]
    own = vocabulary.offsets[start : stop + 1]
    # a row for the name of the view, and one for the term, in turn
    bounds = np.repeat(own - own[0], 2)[:-1]
    bounds[1::2] += len(names[view] + VIEW_END)
    letters = vocabulary.blob[own[0] : own[-1]]
    offsets, (blob,) = csr.take_rows(bounds, (letters,), np.arange(1, len(bounds) - 1, 2))
    return Vocabulary(blob, offsets)


def join_views(names: Sequence[str], parts: Sequence[Vocabulary]) -> Vocabulary:
    """Return the features of all views, each with the name of its view before it; the opposite of
    `split_views`.
    """
    prefixes = [np.frombuffer((name + VIEW_END).encode(), np.uint8) for name in names]
    lengths = [
        np.diff(part.offsets) + len(prefix) for part, prefix in zip(parts, prefixes, strict=True)
    ]
    offsets = csr.running_sums(np.concatenate(lengths))
    del lengths
    blob = np.empty(offsets[-1], np.uint8)
    done = 0
    for prefix, part in zip(prefixes, parts, strict=True):
        for first in range(0, len(part), TERMS_RENAMED_AT_ONCE):
            given = part.offsets[first : first + TERMS_RENAMED_AT_ONCE + 1]
            letters = np.concatenate((prefix, part.blob[given[0] : given[-1]]))
            rows = np.zeros(2 * len(given) - 2, np.int64)  # the prefix before each term
            rows[1::2] = np.arange(1, len(given))
            bounds = np.append(0, given - given[0] + len(prefix))
            _, (renamed,) = csr.take_rows(bounds, (letters,), rows)
            blob[done : done + len(renamed)] = renamed
            done += len(renamed)
    return Vocabulary(blob, offsets)


def find_first_words(vocabulary: Vocabulary, fields: Strings) -> tuple[Integers, Integers]:
    """Return where the first word of each feature begins, after the name of its field, and how many
    words follow it.
    """
    blob = vocabulary.blob
    offsets = vocabulary.offsets
    starts = offsets[:-1].copy()
    for name in sorted(fields, key=len):  # one name may begin another
        prefix = np.frombuffer(f"{name}:".encode("utf-8", "surrogatepass"), np.uint8)
        rows = np.flatnonzero(np.diff(offsets) > len(prefix))
        windows = blob[offsets[rows][:, None] + np.arange(len(prefix))]
        rows = rows[(windows == prefix).all(axis=1)]
        starts[rows] = offsets[rows] + len(prefix)
    spaces = np.flatnonzero(blob == ord(" "))
    return starts, np.searchsorted(spaces, offsets[1:]) - np.searchsorted(spaces, starts)


def compute_unspaced_share(vocabulary: Vocabulary, counts: Integers, fields: Strings) -> float:
    """Return the share of the words that are runs of a script without spaces, such as Chinese,
    Japanese and Thai.

    counts  (n_features,), the occurrences of each word; 0 for features of several words
    """
    starts, _ = find_first_words(vocabulary, fields)
    blob = np.concatenate((vocabulary.blob, np.zeros(2, np.uint8)))
    leading = blob[starts].astype(np.int64) << 8 | blob[starts + 1]
    lengths = vocabulary.offsets[1:] - starts
    is_unspaced = np.zeros(len(vocabulary), np.bool_)
    for first, last, length in UNSPACED_SCRIPTS:
        is_unspaced |= (leading >= first) & (leading <= last) & (lengths >= length)
    return float(counts[is_unspaced].sum() / max(1, counts.sum()))


def compute_mark_share(text: str) -> float:
    """Return the share of marks among letters and marks: vowel signs, but no accents that NFC
    composes.
    """
    kinds = Counter[str]()
    for character, number in Counter(normalize("NFC", text)).items():
        kinds[category(character)[0]] += number
    return kinds["M"] / max(1, kinds["L"] + kinds["M"])


def make_pattern_of_marks(text: str) -> str:
    """Return a token pattern of letters and the marks of the scripts whose marks a text has; "" if
    these scripts have no spaces between words, so that it would match sentences.
    """
    marks = {character for character in text if category(character)[0] == "M"}
    if any(unicodedata.name(mark, "").startswith(MARKED_WITHOUT_SPACES) for mark in marks):
        return ""
    ranges = []
    for block in sorted({ord(mark) >> 8 for mark in marks}):
        # runs of marks, with letters and what is not assigned between them
        kinds = "".join(
            "M" if category(each)[0] == "M" else "L" if category(each)[0] in "LNC" else " "
            for each in map(chr, range(block << 8, (block + 1) << 8))
        )
        for run in re.finditer("M(?:[ML]*M)?", kinds):
            first, last = (
                f"\\U{(block << 8) + place:08x}" for place in (run.start(), run.end() - 1)
            )
            ranges.append(f"{first}-{last}".replace("\\U0000", "\\u"))
    return rf"[\w{''.join(ranges)}\u200c\u200d]{{2,}}"


def find_words(vocabulary: Vocabulary | None, settings: FeatureSettings) -> Integers | None:
    """Return the features that are single words, in all views; None if there are none, or features
    are hashed.
    """
    if vocabulary is None:
        return None
    found = []
    starts = find_views(vocabulary, settings.view) if settings.view else [0]
    for view, own in enumerate(settings.of_views):
        if own.analyzer == "word" and own.ngrams[0] == 1:
            words = take_view(vocabulary, settings.view, view)
            _, n_further = find_first_words(words, settings.fields)
            found.append(starts[view] + np.flatnonzero(n_further == 0))
    return np.concatenate(found) if found else None

"""The types of `_counting.pyx`, the compiled counter of features.

It counts what `plain.PlainCounter` counts. Only the provisional numbers of a growing counter may differ: after
`rows.arrange(rank)` all is equal.
"""

from collections.abc import Callable, Sequence

from nbtext.features import counting
from nbtext.features.vocabulary import Vocabulary

def Counter(  # noqa: N802  a class, whose constructor this is
    *,
    analyzer: str = "word",
    marks: bool = False,
    ngrams: tuple[int, int] = (1, 1),
    lowercase: bool = True,
    fields: Sequence[str] = (),
    normalize: Callable[[str], str | None] | None = None,
    strip_accents: Callable[[str], str] | None = None,
    hash_bits: int | None = None,
    vocabulary: Vocabulary | None = None,
) -> counting.Counter:
    """Counts the features of texts: tokens by one of two patterns, or windows of characters.

    A given vocabulary stays fixed. Otherwise it grows, unless `hash_bits` replaces it by 2**hash_bits buckets.

    analyzer       word, char or char_wb
    marks          whether one-letter words and punctuation marks are tokens: the pattern \\w+|[^\\w\\s]
    fields         the names of the columns, whose features begin with `name:`; () for one column without a name.
                   No `name:` may begin another one's (fields "a" and "a:b", or "a" twice): ValueError
    normalize      returns the normal form of a word (lowercased, without accents), or None to remove it. Called at
                   most once for each distinct word (and thread); not used for characters. A result that holds a
                   character up to U+0020, or a colon where there are fields, is a ValueError
    strip_accents  applied to whole texts that are not ASCII, after lowercasing
    raises         ValueError: a setting is invalid, or supported by plain Python only
    """

"""The compiled kernel equals its pure-Python version: all of Unicode, all settings, many classes,
and threads.
"""

import collections
import json
import re
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.features.analyzer import MARKS_PATTERN, TOKEN_PATTERN, Analyzer
from nbtext.features.counting import Counter as PlainCounter
from nbtext.features.counting import counter as best_counter
from nbtext.features.csr import SparseWeights
from nbtext.features.document_table import DocumentTable
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.kernel import HAS_KERNEL

kernel = pytest.importorskip("nbtext._kernel", reason="the kernel is not compiled")
pytestmark = pytest.mark.skipif(not HAS_KERNEL, reason="the kernel is switched off")

ALL = 2**64
# characters whose lower case depends on their neighbors, or is two characters
SPECIAL = ["\u03a3", "\u0130"]
# letters with every trait that matters: of one to four bytes, in upper case, digits and marks that
# are not letters, lower cases longer and shorter than they, white space of all kinds, lone
# surrogates
TRICKY = "aAbB_1 .\t\x00\x1c\x85\xa0\xad²ªßéÉÿŸıſΣσςİ\u0307ȺⱥKÅẞﬁ٣中あ\u2028\ud800\udfff𝟙𐐀𐐨😀"
ANY_CHARACTER = st.characters(exclude_categories=())
TEXT = (
    st.text(ANY_CHARACTER, max_size=40)
    | st.text(TRICKY, max_size=40)
    | st.text("aBé \t", max_size=200)
)
FIELDS = st.sampled_from(
    [(), ("body",), ("subject", "body"), ("b", "ab", "a b"), ("é", "\ud800\t")]
)
SETTINGS = st.one_of(
    st.builds(
        FeatureSettings,
        analyzer=st.sampled_from(["word", "char", "char_wb"]),
        ngrams=st.tuples(st.integers(1, 3), st.integers(0, 3)).map(
            lambda pair: (pair[0], pair[0] + pair[1])
        ),
        lowercase=st.booleans(),
        strip_accents=st.sampled_from([None, "unicode", "ascii"]),
        fields=FIELDS,
        hash_bits=st.sampled_from([None, None, 1, 9, 30]),
    ),
    st.builds(
        FeatureSettings,
        token_pattern=st.just(MARKS_PATTERN),
        ngrams=st.sampled_from([(1, 1), (1, 2), (2, 3)]),
        lowercase=st.booleans(),
        strip_accents=st.sampled_from([None, "unicode"]),
        fields=FIELDS,
        hash_bits=st.sampled_from([None, 9]),
    ),
    st.builds(
        FeatureSettings,
        ngrams=st.sampled_from([(1, 1), (1, 2), (2, 3)]),
        stop_words=st.sampled_from([(), ("aa", "bb", "aab")]),
        stem=st.sampled_from([None, "english", "german"]),
        fields=st.sampled_from([(), ("subject", "body")]),
        hash_bits=st.sampled_from([None, 9]),
    ),
)


def both(
    settings: FeatureSettings, vocabulary: Vocabulary | None = None
) -> tuple[Any, PlainCounter]:
    """The compiled counter for these settings, and the plain one."""
    compiled = best_counter(settings, vocabulary)
    assert isinstance(compiled, kernel.Counter)
    return compiled, PlainCounter(settings, vocabulary)


def columns_of(settings: FeatureSettings, texts: list[str]) -> list[list[str]]:
    """The texts as columns: those of the second field are the same, backwards, and so on."""
    return [texts[::-1] if field % 2 else texts for field in range(max(1, len(settings.fields)))]


def assert_same(one: Any, other: Any) -> None:
    """Assert that tuples of arrays are equal in types and bits."""
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def arrays_of(rows: DocumentTable) -> list[Any]:
    """The arrays that a counter fills."""
    arrays = (rows.indptr, rows.indices, rows.counts, rows.classes, rows.hashes, rows.n_tokens)
    return [array for array in arrays if array is not None]


def found(counting: Any, columns: list[list[str]]) -> list[collections.Counter[str]]:
    """Return the features of each document by name, as a growing counter finds them."""
    rows = counting.rows(columns)
    vocabulary, rank = counting.vocabulary()
    names = [vocabulary.terms[j] for j in rank[rows.indices]]
    return [
        collections.Counter(
            dict(zip(names[start:stop], rows.counts[start:stop].tolist(), strict=True))
        )
        for start, stop in pairwise(rows.indptr.tolist())
    ]


@given(text=TEXT, is_lowered=st.booleans(), has_marks=st.booleans())
def test_words_are_those_of_the_regular_expression(
    text: str, is_lowered: bool, has_marks: bool
) -> None:
    """For every string, words are those of lower-casing and of the documented regular
    expression.
    """
    pattern = MARKS_PATTERN if has_marks else TOKEN_PATTERN
    expected = collections.Counter(re.findall(pattern, text.lower() if is_lowered else text))
    assert found(kernel.Counter(marks=has_marks, lowercase=is_lowered), [[text]]) == [expected]


def test_many_marks_and_long_words() -> None:
    """More marks than are looked up at once, and words as long as a token can be, and longer."""
    texts = [
        "!" * 1000,
        "a" * 65535 + "?" + "b" * 65536,
        "é" * 200 + "漢" * 300 + "x",
        "\u2028" * 70 + "...",
    ]
    counting = kernel.Counter(marks=True)
    expected = [
        collections.Counter(word for word in re.findall(MARKS_PATTERN, text) if len(word) < 65536)
        for text in texts
    ]
    assert found(counting, [texts]) == expected
    assert counting.take_too_long() == 1


def every_character() -> Iterable[str]:
    """All code points, 64 by 64; those that need Python's own lower case apart from the others."""
    yield from SPECIAL
    points = [chr(point) for point in range(sys.maxunicode + 1) if chr(point) not in SPECIAL]
    for start in range(0, len(points), 64):
        yield "".join(points[start : start + 64])


@pytest.mark.exhaustive
@pytest.mark.parametrize("is_lowered", [True, False])
def test_every_character_is_a_letter_or_not_as_in_python(is_lowered: bool) -> None:
    """Each code point alone, doubled, and between letters."""
    texts = [" ".join(f"{c} {c}{c} x{c}y" for c in characters) for characters in every_character()]
    expected = [
        collections.Counter(re.findall(r"\w\w+", text.lower() if is_lowered else text))
        for text in texts
    ]
    assert found(kernel.Counter(lowercase=is_lowered), [texts]) == expected


@pytest.mark.exhaustive
@pytest.mark.parametrize("analyzer", ["char", "char_wb"])
def test_every_character_is_white_space_or_not_as_in_python(analyzer: str) -> None:
    """Each code point doubled, where white space is one space, and between letters, where it ends a
    word.
    """
    analyze = Analyzer(FeatureSettings(analyzer=analyzer))
    texts = ["".join(f"x{c}y{c}{c}" for c in characters) for characters in every_character()]
    assert found(kernel.Counter(analyzer=analyzer), [texts]) == [
        collections.Counter(analyze(text)) for text in texts
    ]


@given(texts=st.lists(TEXT, max_size=6), more=st.lists(TEXT, max_size=6), settings=SETTINGS)
def test_rows_are_those_of_the_reference(
    texts: list[str], more: list[str], settings: FeatureSettings
) -> None:
    """Over a growing or hashed vocabulary; the vocabulary too is the same."""
    compiled, plain = both(settings)
    parts = [
        [counting.rows(columns_of(settings, part)) for part in (texts, more)]
        for counting in (compiled, plain)
    ]
    if settings.hash_bits != 30:
        vocabulary, rank = compiled.vocabulary()
        plain_vocabulary, plain_rank = plain.vocabulary()
        assert vocabulary == plain_vocabulary
        parts = [
            [arrays_of(rows.arrange(rank)) for rows in parts[0]],
            [arrays_of(rows.arrange(plain_rank)) for rows in parts[1]],
        ]
    else:
        parts = [list(map(arrays_of, rows)) for rows in parts]
    for rows, plain_rows in zip(*parts, strict=True):
        assert_same(rows, plain_rows)


@given(
    texts=st.lists(TEXT, max_size=8),
    classes=st.lists(st.integers(-1, 3), min_size=16, max_size=16),
    settings=SETTINGS,
    keep_below=st.sampled_from([0, 2**62, 2**63, ALL]),
)
def test_counts_equal_those_of_the_plain_version(
    texts: list[str], classes: list[int], settings: FeatureSettings, keep_below: int
) -> None:
    """Class counts and kept documents, over two batches."""
    if settings.hash_bits == 30:
        settings = FeatureSettings(hash_bits=12)
    compiled, plain = both(settings)
    columns = columns_of(settings, texts)
    for part in (classes[: len(texts)], classes[-len(texts) :] if texts else []):
        labels = np.array(part, dtype=np.int32)
        kept = compiled.count(columns, labels, keep_below)
        plainly_kept = plain.count(columns, labels, keep_below)
        _, rank = compiled.vocabulary()
        _, plain_rank = plain.vocabulary()
        assert_same(arrays_of(kept.arrange(rank)), arrays_of(plainly_kept.arrange(plain_rank)))
    assert_same(compiled.class_counts(), plain.class_counts())


@given(
    texts=st.lists(TEXT, max_size=6),
    terms=st.lists(TEXT, max_size=12),
    settings=SETTINGS,
    known=st.sets(st.integers(0, 40)),
)
def test_a_fixed_vocabulary_may_hold_any_terms(
    texts: list[str], terms: list[str], settings: FeatureSettings, known: set[int]
) -> None:
    """Parts of what occurs, without the words that n-grams are made of, and strings that can never
    occur.
    """
    if settings.hash_bits is not None:
        return
    columns = columns_of(settings, texts)
    growing = PlainCounter(settings)
    growing.rows(columns)
    occurring = growing.vocabulary()[0].terms
    prefixes = [f"{name}:" for name in settings.fields] or [""]
    chosen = (
        [occurring[i] for i in known if i < len(occurring)]
        + [f"{p}{t}" for p in prefixes for t in terms]
        + terms
    )
    compiled, plain = both(settings, Vocabulary.from_terms(chosen))
    assert_same(arrays_of(compiled.rows(columns)), arrays_of(plain.rows(columns)))


@pytest.mark.parametrize(
    "settings",
    [
        FeatureSettings(ngrams=(1, 2)),
        FeatureSettings(ngrams=(1, 3), lowercase=False),
        FeatureSettings(analyzer="char", ngrams=(1, 2)),
        FeatureSettings(analyzer="char_wb", ngrams=(2, 3)),
        FeatureSettings(strip_accents="unicode"),
    ],
    ids=["pairs", "triples with case", "char", "char_wb", "without accents"],
)
def test_the_worlds_languages_are_counted_as_by_the_reference(
    settings: FeatureSettings, corpora: Callable[[str], Path]
) -> None:
    """The declaration of human rights in every eighth language, and the naughty strings."""
    texts = [path.read_text("utf-8")[:4000] for path in sorted(corpora("udhr2").glob("*.txt"))[::8]]
    texts += json.loads((corpora("blns") / "blns.json").read_text("utf-8"))
    compiled, plain = both(settings)
    labels = np.arange(len(texts), dtype=np.int32) % 7
    kept = compiled.count([texts], labels, ALL)
    plainly_kept = plain.count([texts], labels, ALL)
    vocabulary, rank = compiled.vocabulary()
    plain_vocabulary, plain_rank = plain.vocabulary()
    assert vocabulary == plain_vocabulary
    assert_same(arrays_of(kept.arrange(rank)), arrays_of(plainly_kept.arrange(plain_rank)))
    assert_same(compiled.class_counts(), plain.class_counts())


def test_thousands_of_classes_are_counted_apart() -> None:
    """Words that one class uses, or a few, or all of 3,000; in an order that jumps from class to
    class.
    """
    random = np.random.default_rng(3)
    classes = random.permutation(np.repeat(np.arange(3000, dtype=np.int32), 2))
    texts = [
        f"everybody class{label} tenth{label % 300} {'half ' * (label % 2)}"
        for label in classes.tolist()
    ]
    counting = kernel.Counter()
    for start in range(0, len(texts), 500):
        counting.count([texts[start : start + 500]], classes[start : start + 500], 0)
    counts = counting.class_counts()
    columns = counting.vocabulary()[0].columns
    shares = {
        word: slice(*counts.indptr[columns[word] : columns[word] + 2])
        for word in ("everybody", "class7", "tenth7", "half")
    }
    assert counts.classes[shares["everybody"]].tolist() == list(range(3000))
    assert counts.classes[shares["class7"]].tolist() == [7]
    assert counts.classes[shares["tenth7"]].tolist() == list(range(7, 3000, 300))
    assert counts.classes[shares["half"]].tolist() == list(range(1, 3000, 2))
    assert set(counts.documents.tolist()) == set(counts.occurrences.tolist()) == {2}


def test_the_normal_form_of_a_word_is_asked_for_once() -> None:
    """The normal form of a word is computed once, however often the word occurs."""
    asked: list[str] = []

    def normalize(word: str) -> str | None:
        asked.append(word)
        return None if word == "the" else word[:3]

    counting = kernel.Counter(fields=("subject", "body"), normalize=normalize)
    columns = [["The cats", "the cats"], ["cat cat the", "catalog"]]
    for _ in range(2):
        assert found(counting, columns)[0] == {"subject:cat": 1, "body:cat": 2}
    assert sorted(asked) == ["cat", "catalog", "cats", "the"]


def test_a_normal_form_that_would_be_ambiguous_is_refused() -> None:
    """A normal form has to be a string without white space, and without a colon if there are
    fields.
    """
    for normal, settings in (("a b", {}), ("a\tb", {}), ("a:b", {"fields": ["a"]})):
        with pytest.raises(ValueError, match="a normal form with white space or a colon"):
            kernel.Counter(normalize=lambda _, normal=normal: normal, **settings).rows([["word"]])
    with pytest.raises(TypeError):
        kernel.Counter(normalize=lambda _: 7).rows([["word"]])


def test_a_counter_works_on_after_an_error() -> None:
    """An exception of Python's function comes through; what was counted before is still right."""

    def normalize(word: str) -> str:
        if word == "bomb":
            raise ZeroDivisionError
        return word

    counting = kernel.Counter(normalize=normalize, ngrams=(1, 2))
    assert found(counting, [["one two one"]]) == [{"one": 2, "two": 1, "one two": 1, "two one": 1}]
    with pytest.raises(ZeroDivisionError):
        counting.rows([["two two bomb"]])
    assert found(counting, [["one two one"]]) == [{"one": 2, "two": 1, "one two": 1, "two one": 1}]


@pytest.mark.parametrize("normalize", [None, str.title], ids=["as it is", "normalized"])
@pytest.mark.parametrize("bits", [None, 10])
def test_threads_share_a_fixed_or_hashed_counter(
    normalize: Callable[[str], str] | None, bits: int | None
) -> None:
    """Each gets what one alone would get."""
    texts = [" ".join(f"w{(i * k) % 97}" for k in range(60)) for i in range(200)]
    terms = Vocabulary.from_terms(f"{letter}{i}" for i in range(50) for letter in "wW")
    counting = kernel.Counter(
        ngrams=(1, 2),
        normalize=normalize,
        hash_bits=bits,
        vocabulary=terms if bits is None else None,
    )
    batches = [texts[start : start + 20] for start in range(0, 200, 20)] * 8
    expected = [counting.rows([batch]) for batch in batches]
    with ThreadPoolExecutor(8) as pool:
        for rows, wanted in zip(
            pool.map(lambda batch: counting.rows([batch]), batches), expected, strict=True
        ):
            assert_same(arrays_of(rows), arrays_of(wanted))


@pytest.mark.parametrize("share", [0.02, 0.4, 1.0], ids=["sparse", "dense", "full"])
@pytest.mark.parametrize("weighting", [("count", "none"), ("log", "l2")])
def test_scores_are_those_of_the_reference_to_the_last_bit(
    share: float, weighting: tuple[str, str]
) -> None:
    """Both add up the same numbers in the same order, however the kernel keeps them; the rows'
    scores are close.
    """
    random = np.random.default_rng(5)
    texts = [" ".join(f"w{k}" for k in random.zipf(1.3, size=40).clip(max=300)) for _ in range(50)]
    settings = FeatureSettings(ngrams=(1, 2))
    terms = Vocabulary.from_terms([f"w{i}" for i in range(180)] + [f"w1 w{i}" for i in range(20)])
    used = random.random((200, 4)) < share
    bias, default, base, base_scale = (random.normal(size=size) for size in (4, 4, 200, 4))
    indptr = np.concatenate(([0], np.cumsum(used.sum(axis=1))))
    classes = np.nonzero(used)[1].astype(np.int32)
    scorer = SparseWeights(
        bias, default, indptr, classes, random.normal(size=used.sum()), base, base_scale
    )
    weighing = Weighting(*weighting)
    counting = kernel.Counter(ngrams=(1, 2), vocabulary=terms)
    for _ in range(2):  # the second time, the weights are there already
        found = counting.scores([texts], weighing, scorer)
        expected = PlainCounter(settings, terms).scores([texts], weighing, scorer)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    rows = counting.rows([texts])
    weights = weighing.weights(rows.indptr, rows.indices, rows.counts)
    np.testing.assert_allclose(
        found[0], kernel.score_rows(rows.indptr, rows.indices, weights, scorer), rtol=1e-12
    )


def test_a_document_of_a_million_words_is_counted() -> None:
    """Its counts have more than 16 bits, and its text more bytes than the strips that it is read
    in.
    """
    text = "the quick brown été " * 250_000
    assert found(kernel.Counter(), [[text]]) == [
        dict.fromkeys(["the", "quick", "brown", "été"], 250_000)
    ]

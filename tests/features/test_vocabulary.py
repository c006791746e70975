"""The names of the features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.features.vocabulary import Vocabulary, compute_unspaced_share, find_first_words


@given(st.lists(st.text()))
def test_terms_are_sorted_by_code_point_and_distinct(terms: list[str]) -> None:
    """Every Python string is a term, lone surrogates and the empty one included; each knows its
    column.
    """
    vocabulary = Vocabulary.from_terms(terms)
    assert vocabulary.terms == list(vocabulary) == sorted(set(terms))
    assert [vocabulary.term(column) for column in range(len(vocabulary))] == vocabulary.terms
    assert vocabulary.columns_of(terms).tolist() == [vocabulary.terms.index(term) for term in terms]


@given(st.sets(st.text(max_size=5)), st.data())
def test_a_restricted_vocabulary_has_those_terms(terms: set[str], data: st.DataObject) -> None:
    """In the same order."""
    vocabulary = Vocabulary.from_terms(terms)
    kept = sorted(data.draw(st.sets(st.sampled_from(range(len(terms)))))) if terms else []
    restricted = vocabulary.restrict(np.array(kept, dtype=np.int64))
    assert restricted == Vocabulary.from_terms(vocabulary.terms[column] for column in kept)


def test_the_first_word_follows_the_longest_name_of_a_field() -> None:
    """One name may begin another one, with a colon."""
    terms = ["a:b:one two", "a:one", "a:one two three", "b:other"]
    starts, n_more = find_first_words(Vocabulary.from_terms(terms), ("a:b", "a"))
    offsets = np.cumsum([0, *map(len, terms)])[:-1]
    assert (starts - offsets).tolist() == [4, 2, 2, 0]
    assert n_more.tolist() == [1, 0, 2, 0]


@pytest.mark.parametrize(
    ("term", "is_unspaced"),
    [
        ("word", False),
        ("ก", True),
        ("ກ", True),
        ("ක", False),
        ("က", True),
        ("ក", True),
        ("五个汉字的", True),
        ("四个汉字", False),
        ("五個漢字か", True),
        ("한국어입니다", False),
        ("𠀀𠀁𠀂𠀃𠀄", True),
        ("𠀀𠀁𠀂𠀃", False),
    ],
)
def test_words_of_scripts_without_spaces(term: str, is_unspaced: bool) -> None:
    """Thai, Lao, Myanmar and Khmer words of any length, Chinese and Japanese ones of five
    characters.
    """
    share = compute_unspaced_share(Vocabulary.from_terms(["and", term]), np.array([1, 3]), ())
    assert share == (0.75 if is_unspaced else 0)
    share = compute_unspaced_share(
        Vocabulary.from_terms(["t:and", f"t:{term}"]), np.array([3, 1]), ("t",)
    )
    assert share == (0.25 if is_unspaced else 0)

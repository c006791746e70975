"""The names of the features."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.features.vocabulary import Vocabulary


@given(st.lists(st.text()))
def test_terms_are_sorted_by_code_point_and_distinct(terms: list[str]) -> None:
    """Every Python string is a term, lone surrogates and the empty one included; each knows its column."""
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

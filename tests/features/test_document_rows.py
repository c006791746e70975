"""Rows of counts, and their sums by class."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.features.document_table import DocumentTable, concatenate, take_smallest

DOCUMENTS = st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 5), max_size=6), max_size=12)


def rows_of(documents: list[dict[int, int]]) -> DocumentTable:
    """Rows with the entries of each document as they come."""
    return DocumentTable.from_texts(
        np.cumsum([0, *map(len, documents)], dtype=np.int64),
        np.array([j for document in documents for j in document], dtype=np.int32),
        np.array([n for document in documents for n in document.values()], dtype=np.int32),
        np.array([sum(document.values()) for document in documents], dtype=np.int64),
    )


def documents_of(rows: DocumentTable) -> list[list[tuple[int, int]]]:
    """What is in each row, in order."""
    pairs = list(zip(rows.indices.tolist(), rows.counts.tolist(), strict=True))
    return [
        pairs[start:stop] for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]


@given(DOCUMENTS, st.data())
def test_taken_rows_are_those_documents(
    documents: list[dict[int, int]], data: st.DataObject
) -> None:
    """Any documents can be taken, in any order, more than once."""
    chosen = data.draw(st.lists(st.sampled_from(range(len(documents))))) if documents else []
    taken = rows_of(documents).take(np.array(chosen, dtype=np.int64))
    assert documents_of(taken) == [list(documents[i].items()) for i in chosen]
    assert taken.n_tokens is not None
    assert taken.n_tokens.tolist() == [sum(documents[i].values()) for i in chosen]


@given(DOCUMENTS, DOCUMENTS)
def test_joined_rows_follow_each_other(
    first: list[dict[int, int]], second: list[dict[int, int]]
) -> None:
    """Joined rows equal rows that are counted together."""
    both = concatenate([rows_of(first), rows_of(second)])
    assert documents_of(both) == documents_of(rows_of(first + second))


@given(DOCUMENTS, DOCUMENTS, st.data())
def test_the_smallest_of_several_parts_are_those_of_all(
    first: list[dict[int, int]], second: list[dict[int, int]], data: st.DataObject
) -> None:
    """They are the first documents of the joined parts, sorted by hash and by the place of the
    class.
    """
    parts = []
    for documents in (first, second):
        number = st.lists(st.integers(0, 2), min_size=len(documents), max_size=len(documents))
        hashes = np.array(data.draw(number), dtype=np.uint64)
        classes = np.array(data.draw(number), dtype=np.int32)
        parts.append(replace(rows_of(documents), hashes=hashes, classes=classes))
    places = np.array([2, 0, 1], dtype=np.int32)
    size = data.draw(st.integers(0, 5) | st.none())
    joined = concatenate(parts)
    expected = joined.take(np.lexsort((places[joined.classes], joined.hashes))[:size])
    found = take_smallest(parts, size, places=places)
    assert documents_of(found) == documents_of(expected)
    assert found.hashes.tolist() == expected.hashes.tolist()
    assert found.classes.tolist() == expected.classes.tolist()


def test_no_rows_join_to_none() -> None:
    """Joining no rows gives empty arrays of the right types."""
    nothing = concatenate([])
    assert len(nothing) == 0
    assert [part.dtype for part in (nothing.indptr, nothing.indices, nothing.counts)] == [
        np.int64,
        np.int32,
        np.int32,
    ]


def test_columns_that_only_some_parts_have() -> None:
    """They are not joined to a column that is shorter than the documents; parts without documents
    do not matter.
    """
    part = rows_of([{0: 1}, {1: 2}])
    grouped = replace(part, groups=np.array(["a", "b"], dtype=object))
    assert concatenate([concatenate([]), grouped]).groups.tolist() == ["a", "b"]
    assert concatenate([part, part]).groups is None
    with pytest.raises(ValueError, match="1 of 2 parts"):
        concatenate([part, grouped])

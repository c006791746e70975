"""Each check accepts valid values, and raises an error of one line for others."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from nbtext.artifact import audit
from nbtext.artifact.audit import check_terms
from nbtext.errors import ArtifactError
from nbtext.features.vocabulary import Vocabulary

RECORD: dict[str, Any] = {
    "text": "multinomial",
    "number": 0.5,
    "whole": 3,
    "truth": True,
    "none": None,
    "list": ["a", "b"],
    "mixed": ["a", 1],
    "twice": ("a", "a"),
    "infinite": float("inf"),
    "nan": float("nan"),
    "huge": 10**400,
    "scorer": {"base": np.zeros(3), "classes": np.zeros((2, 3), dtype=np.int32)},
}


def refused(check: Any, *arguments: Any, **options: Any) -> str:
    """The message of a check that fails."""
    with pytest.raises(ArtifactError) as caught:
        check(*arguments, **options)
    return str(caught.value)


def test_values_are_found_by_their_path() -> None:
    """What is there, of the right type, is returned."""
    assert audit.read_value(RECORD, "text", str) == "multinomial"
    assert audit.read_value(RECORD, "scorer.base", np.ndarray) is RECORD["scorer"]["base"]
    assert audit.read_value(RECORD, "truth", bool) is True
    assert audit.read_value(RECORD, "whole", float) == 3.0
    assert audit.read_optional(RECORD, "none", str) is None
    assert audit.read_optional(RECORD, "whole", int) == 3
    assert audit.read_number(RECORD, "number", minimum=0, maximum=1) == 0.5
    assert audit.read_integer(RECORD, "whole") == 3
    assert audit.read_choice(RECORD, "text", ("bernoulli", "multinomial")) == "multinomial"
    assert audit.read_texts(RECORD, "list", distinct=True) == ["a", "b"]
    assert audit.read_texts(RECORD, "twice") == ["a", "a"]
    assert audit.read_section(RECORD, "scorer", ("base", "classes")) is RECORD["scorer"]
    assert audit.read_array(RECORD, "scorer.classes", "int32", shape=(None, 3)).shape == (2, 3)


@pytest.mark.parametrize(
    ("check", "key", "arguments", "options", "message"),
    [
        (audit.read_value, "missing", (str,), {}, '"missing" is missing'),
        (audit.read_value, "scorer.weights", (str,), {}, '"scorer.weights" is missing'),
        (audit.read_value, "text.length", (int,), {}, '"text.length" is missing'),
        (audit.read_value, "text", (int,), {}, '"text" should be an integer, and is a text'),
        (audit.read_value, "truth", (int,), {}, "should be an integer, and is true or false"),
        (audit.read_value, "truth", (float,), {}, "should be a number, and is true or false"),
        (audit.read_value, "none", (str,), {}, "should be a text, and is nothing"),
        (audit.read_value, "infinite", (float,), {}, "should be finite, and is inf"),
        (audit.read_value, "nan", (float,), {}, "should be finite, and is nan"),
        (audit.read_value, "huge", (float,), {}, "is too large"),
        (audit.read_optional, "text", (int,), {}, "should be an integer"),
        (audit.read_optional, "missing", (int,), {}, "is missing"),
        (audit.read_number, "number", (), {"minimum": 1, "maximum": 2}, "should be from 1 to 2, and is 0.5"),
        (audit.read_integer, "whole", (), {"maximum": 2}, "should be from 0 to 2, and is 3"),
        (audit.read_integer, "huge", (), {}, "should be from 0 to 9,223,372,036,854,775,807"),
        (audit.read_choice, "text", (("a", "b"),), {}, "should be one of a, b, and is multinomial"),
        (audit.read_texts, "mixed", (), {}, "should hold texts only"),
        (audit.read_texts, "text", (), {}, "should be a list, and is a text"),
        (audit.read_texts, "twice", (), {"distinct": True}, "holds a text twice"),
        (audit.read_section, "scorer", (("base",),), {}, 'does not know its entry "scorer.classes"'),
        (audit.read_section, "scorer", (("base", "classes", "bias"),), {}, '"scorer.bias" is missing'),
        (audit.read_section, "text", (("a",),), {}, "should be a section, and is a text"),
        (audit.read_array, "list", ("int32",), {"shape": (3,)}, "should be an array, and is a list"),
        (
            audit.read_array,
            "scorer.base",
            ("int32", "int64"),
            {"shape": (3,)},
            "should hold int32 or int64, and holds float64",
        ),
        (audit.read_array, "scorer.base", ("float64",), {"shape": (4,)}, "should have the shape 4, and has 3"),
        (audit.read_array, "scorer.base", ("float64",), {"shape": (3, 1)}, "should have the shape 3 × 1, and has 3"),
        (
            audit.read_array,
            "scorer.base",
            ("float64",),
            {"shape": ()},
            "should have the shape of one number, and has 3",
        ),
        (
            audit.read_array,
            "scorer.classes",
            ("int32",),
            {"shape": (None, 4)},
            "should have the shape any × 4, and has 2 × 3",
        ),
    ],
)
def test_what_is_wrong_is_said(check: Any, key: str, arguments: Any, options: Any, message: str) -> None:
    """The message names the key, the expected value and the actual one."""
    assert message in refused(check, RECORD, key, *arguments, **options)


def test_the_keys_of_the_record_itself() -> None:
    """The empty key stands for the record."""
    assert audit.read_section({"a": 1}, "", ("a",)) == {"a": 1}
    assert '"b" is missing' in refused(audit.read_section, {"a": 1}, "", ("a", "b"))
    assert 'does not know its entry "a"' in refused(audit.read_section, {"a": 1}, "", ())


def test_numbers_in_arrays() -> None:
    """Arrays are checked for finite values, bounds and order."""
    audit.check_within("a", np.array([0, 4]), 0, 4)
    audit.check_within("a", np.array([], dtype=np.int32), 0, 4)
    assert "should be from 0 to 3, and is from 0 to 4" in refused(audit.check_within, "a", np.array([0, 4]), 0, 3)
    assert "should be from 0" in refused(audit.check_within, "a", np.array([0.0, np.nan]), 0, 3)
    audit.check_ascending("a", np.array([1, 1, 2]))
    audit.check_ascending("a", np.array([1, 2, 2**63 + 1], dtype=np.uint64))
    assert "ascend" in refused(audit.check_ascending, "a", np.array([2, 1]))
    assert "ascend" in refused(audit.check_ascending, "a", np.array([1.0, np.nan]))


@given(
    indptr=arrays.arrays(np.int64, st.integers(0, 6), elements=st.integers(-1, 7)),
    columns=arrays.arrays(np.int32, st.integers(0, 6), elements=st.integers(-1, 4)),
)
@settings(max_examples=500)
def test_sparse_rows(indptr: Any, columns: Any) -> None:
    """A sparse matrix is accepted exactly if each of its rows is valid by itself."""
    check_sparse_rows(indptr, columns)


@pytest.mark.parametrize("lengths", [(2,), (3, 2), (1, 3), (0, 2, 0, 1)])
def test_items_of_sparse_rows_ascend(lengths: tuple[int, ...]) -> None:
    """Rows that fit together, with their items in every order: an item descends only in a new row."""
    indptr = np.cumsum([0, *lengths])
    for columns in product(range(3), repeat=sum(lengths)):
        check_sparse_rows(indptr, np.array(columns, dtype=np.int32))


def check_sparse_rows(indptr: Any, columns: Any) -> None:
    bounds, items = indptr.tolist(), columns.tolist()
    is_right = bounds[:1] == [0] and bounds[-1] == len(items) and bounds == sorted(bounds)
    rows = [items[start:stop] for start, stop in pairwise(bounds)] if is_right else []
    is_right = is_right and all(row == sorted(set(row)) and all(0 <= item < 4 for item in row) for row in rows)
    try:
        audit.check_rows("a", indptr, columns, n_columns=4)
    except ArtifactError:
        assert not is_right
    else:
        assert is_right


def blob_and_offsets(terms: list[bytes]) -> tuple[Any, Any]:
    return np.frombuffer(b"".join(terms), dtype=np.uint8), np.cumsum([0, *map(len, terms)], dtype=np.int64)


similar_terms = st.lists(
    st.text("ab\0é\U0001f600\ud800", max_size=20) | st.text("a\0", min_size=40, max_size=60) | st.text(max_size=4),
    max_size=8,
)


@given(terms=similar_terms)
@settings(max_examples=1000)
def test_terms_ascend(terms: list[str]) -> None:
    """A vocabulary is accepted exactly if its terms are sorted and distinct, also if their common prefix is long."""
    encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
    for order in (encoded, sorted(set(encoded)), sorted(encoded)):
        try:
            check_terms("terms", *blob_and_offsets(order))
        except ArtifactError as error:
            assert "each term once, in sorted order" in str(error)
            assert order != sorted(set(order))
        else:
            assert order == sorted(set(order))


@given(terms=st.lists(st.text(max_size=12), max_size=12))
def test_every_vocabulary_passes(terms: list[str]) -> None:
    """What the features' vocabulary makes is right."""
    vocabulary = Vocabulary.from_terms(terms)
    check_terms("terms", vocabulary.blob, vocabulary.offsets)


@given(terms=st.lists(st.binary(max_size=4), max_size=4))
@settings(max_examples=500)
def test_terms_are_utf8(terms: list[bytes]) -> None:
    """A vocabulary whose terms ascend passes exactly when each of them decodes by itself."""
    ordered = sorted(set(terms))

    def decodes(term: bytes) -> bool:
        try:
            return bool(term.decode("utf-8", "surrogatepass")) or True
        except UnicodeDecodeError:
            return False

    try:
        check_terms("terms", *blob_and_offsets(ordered))
    except ArtifactError as error:
        assert "should be UTF-8" in str(error)
        assert not all(map(decodes, ordered))
    else:
        assert all(map(decodes, ordered))


def test_terms_cut_in_a_character() -> None:
    """A blob that is valid UTF-8 as a whole, but not term by term, is refused, also at the borders of the decoded
    pieces.
    """
    data = "é".encode()
    assert "UTF-8" in refused(check_terms, "t", np.frombuffer(data, dtype=np.uint8), np.array([0, 1, 2]))
    long = [b"a" * ((1 << 20) - 1) + "é".encode(), b"b"]
    check_terms("t", *blob_and_offsets(long))


def test_long_terms_that_agree() -> None:
    """Terms of several megabytes that differ in the last byte only are compared quickly."""
    long = b"a" * 3_000_000
    check_terms("t", *blob_and_offsets([long + b"a", long + b"b"]))
    assert "sorted" in refused(check_terms, "t", *blob_and_offsets([long + b"b", long + b"a"]))
    assert "sorted" in refused(check_terms, "t", *blob_and_offsets([long, long]))


def test_offsets_fit_the_blob() -> None:
    """Offsets that descend, start late or end elsewhere are refused before they are used."""
    blob = np.frombuffer(b"abc", dtype=np.uint8)
    for offsets in ([0, 2], [1, 3], [0, 2, 1, 3], [0, 5, 3], [0, -1, 3], [], [0, 4]):
        refused(check_terms, "t", blob, np.array(offsets, dtype=np.int64))

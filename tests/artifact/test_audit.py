"""Each check accepts valid values, and raises an error of one line for others."""

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from typing_extensions import TypeAliasType, TypeVar

from nbtext.artifact import audit
from nbtext.artifact.record import Reader, fields_of, write
from nbtext.errors import ArtifactError
from nbtext.features.vocabulary import Vocabulary
from nbtext.records import frozen


def refused(check: Any, *arguments: Any, **options: Any) -> str:
    """The message of a check that fails."""
    with pytest.raises(ArtifactError) as caught:
        check(*arguments, **options)
    return str(caught.value)


@frozen
class Piece:
    count: int
    share: float = 0.5


class Pair(NamedTuple):
    one: float
    other: float | None


@frozen(eq=False)
class Example:
    text: str
    truth: bool
    number: float
    mixed: int | float
    optional: str | None
    words: tuple[str, ...]
    triple: tuple[int, str, float]
    numbers: tuple[float, ...] | None
    sets: tuple[tuple[str, ...], ...]
    either: str | tuple[tuple[str, float], ...] | None
    weights: NDArray[np.float64]
    classes: NDArray[np.int32]
    counts: NDArray[Any]
    vocabulary: Vocabulary | None
    part: Piece
    parts: tuple[Piece, ...]
    pair: Pair | Piece
    totals: Mapping[str | tuple[str, ...], int]
    later: int = 7
    none: int | None = None


EXAMPLE = Example(
    "é\udcff",
    True,
    0.1,
    3,
    None,
    ("a", "b"),
    (1, "x", 2.5),
    (1.0, -2.5),
    (("a",), (), ("a", "b")),
    (("a", 0.5),),
    np.array([0.5, -1e100]),
    np.array([0, 2**31 - 1], dtype=np.int32),
    np.array([3, 4]),
    Vocabulary.from_terms(("green", "red")),
    Piece(3),
    (Piece(1), Piece(2, 0.25)),
    Pair(1.0, None),
    {"a": 1, ("a", "b"): 2},
)


def written(**changes: Any) -> dict[str, Any]:
    """The plain data of the example, with some entries changed."""
    return write(EXAMPLE) | changes


def is_same(a: Any, b: Any) -> bool:
    """Equal in every type and value."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if type(a) is not type(b):
        return False
    if known := fields_of(type(a)):
        return all(is_same(getattr(a, name), getattr(b, name)) for name in known)
    return bool(a == b)


def test_a_record_is_read_as_it_was_written() -> None:
    """Equal in every type and value; through a file, too, in which tuples are lists."""
    assert is_same(Reader().read_record(Example, written(), "x"), EXAMPLE)
    listed = written(
        words=["a", "b"], triple=[1, "x", 2.5], sets=[["a"], [], ["a", "b"]], either=[["a", 0.5]]
    )
    assert is_same(Reader().read_record(Example, listed, "x"), EXAMPLE)


def test_an_alias_of_an_array_type() -> None:
    """NumPy 2.5 declares NDArray so on Python 3.12 and later."""
    item = TypeVar("item", bound=np.generic)
    array = np.ndarray[tuple[Any, ...], np.dtype[item]]  # type: ignore[valid-type]
    alias = TypeAliasType("alias", array, type_params=(item,))
    numbers = np.arange(3.0)
    found = Reader().read(alias[np.float64], numbers, "numbers")
    assert np.array_equal(found, numbers)


def test_long_tuples_are_arrays() -> None:
    """More than a thousand texts or numbers are not values of the header, and are read as the same
    tuples.
    """
    words = tuple(f"{number:06}é\udcff" for number in range(2000))
    long = replace(
        EXAMPLE,
        words=words,
        numbers=tuple(map(float, range(2000))),
        sets=tuple((word, "z") for word in words),
        totals={word: number for number, word in enumerate(words)},
    )
    plain = write(long)
    assert len(json.dumps(plain, default=lambda array: None)) < 1000
    assert is_same(Reader().read_record(Example, plain, "x"), long)


def test_what_is_missing_has_its_default() -> None:
    """A field that is None by default is left out; a field without a default is required."""
    plain = written()
    assert "none" not in plain and plain["later"] == 7
    del plain["later"]
    assert Reader().read_record(Example, plain, "x").later == 7
    del plain["text"]
    assert '"x.text" is missing' in refused(Reader().read_record, Example, plain, "x")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("text", 3, '"x.text" should be a text, and is an integer'),
        ("text", None, "should be a text, and is nothing"),
        ("truth", 1, "should be true or false, and is an integer"),
        ("number", True, "should be a number, and is true or false"),
        ("number", float("inf"), "should be from -1e+100 to 1e+100, and is inf"),
        ("number", 10**400, "should be a number, and is an integer"),
        ("number", 2e100, "should be from -1e+100 to 1e+100"),
        ("mixed", True, "should be an integer, and is true or false"),
        ("later", -1, "should be from 0 to 18,446,744,073,709,551,615, and is -1"),
        ("later", 2**64, "should be from 0 to"),
        ("later", 1.0, "should be an integer, and is a number"),
        ("words", "ab", "should be a list, and is a text"),
        ("words", ["a", 1], "should be a text, and is an integer"),
        ("words", {"blob": np.zeros(1, dtype=np.uint8)}, '"x.words.offsets" is missing'),
        (
            "words",
            {"blob": np.zeros(1), "offsets": np.array([0, 1])},
            "should hold uint8, and holds float64",
        ),
        (
            "words",
            {"blob": np.zeros(3, dtype=np.uint8), "offsets": np.array([0, 2])},
            "should ascend from 0 to 3",
        ),
        (
            "words",
            {"blob": np.array([0xC3], dtype=np.uint8), "offsets": np.array([0, 1])},
            "should be UTF-8",
        ),
        (
            "words",
            {"bounds": np.array([0, 2]), "items": ["a"]},
            "should ascend from 0 to 1 in its bounds",
        ),
        ("triple", [1, "x"], "should have 3 values, and has 2"),
        ("triple", [1, 2, 3], "should be a text, and is an integer"),
        ("numbers", np.array([1.0, np.nan]), "and is from nan to nan"),
        ("sets", [["a"], "b"], "should be a list, and is a text"),
        ("either", 3, "should be a text, and is an integer"),
        ("either", [["a"]], "should have 2 values, and has 1"),
        ("weights", [0.5], "should be an array, and is a list"),
        ("weights", np.zeros((2, 1)), "should have the shape any, and has 2 × 1"),
        ("weights", np.zeros(2, dtype=np.int32), "should hold float64, and holds int32"),
        ("weights", np.array([np.inf]), "and is from inf to inf"),
        ("classes", np.array([0.0]), "should hold int32, and holds float64"),
        ("classes", np.array([2**31]), "should be from 0 to 2.14748e+09"),
        ("counts", np.array([-1]), "should be from 0 to 4.61169e+18, and is from -1 to -1"),
        (
            "vocabulary",
            {"blob": np.array([98, 97], dtype=np.uint8), "offsets": np.array([0, 1, 2])},
            "sorted order",
        ),
        ("part", [3], "should be a section, and is a list"),
        ("part", {}, '"x.part.count" is missing'),
        (
            "part",
            {"count": 1, "more": 1},
            'newer nbtext: this one does not know its entry "x.part.more"',
        ),
        ("parts", [{"count": -1}], '"x.parts.count" should be from 0'),
        ("pair", {"more": 1}, 'does not know its entry "x.pair.more"'),
        ("totals", {"a": 1}, "should have keys and values"),
        ("totals", {"keys": ["a", "b"], "values": [1]}, "one value for each key"),
        ("totals", {"keys": ["a", "a"], "values": [1, 2]}, "one value for each key"),
        ("surprise", 1, 'does not know its entry "x.surprise"'),
    ],
)
def test_what_is_wrong_is_said(name: str, value: Any, message: str) -> None:
    """The message names the key, the expected value and the actual one."""
    assert message in refused(Reader().read_record, Example, written(**{name: value}), "x")


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
    """Rows that fit together, with their items in every order: an item descends only in a new
    row.
    """
    indptr = np.cumsum([0, *lengths])
    for columns in product(range(3), repeat=sum(lengths)):
        check_sparse_rows(indptr, np.array(columns, dtype=np.int32))


def check_sparse_rows(indptr: Any, columns: Any) -> None:
    bounds = indptr.tolist()
    items = columns.tolist()
    is_right = bounds[:1] == [0] and bounds[-1] == len(items) and bounds == sorted(bounds)
    rows = [items[start:stop] for start, stop in pairwise(bounds)] if is_right else []
    is_right = is_right and all(
        row == sorted(set(row)) and all(0 <= item < 4 for item in row) for row in rows
    )
    try:
        audit.check_rows("a", indptr, columns, n_columns=4)
    except ArtifactError:
        assert not is_right
    else:
        assert is_right


def check_terms(key: str, blob: Any, offsets: Any) -> None:
    Reader().read(Vocabulary, {"blob": blob, "offsets": offsets}, key)


def blob_and_offsets(terms: list[bytes]) -> tuple[Any, Any]:
    return np.frombuffer(b"".join(terms), dtype=np.uint8), np.cumsum(
        [0, *map(len, terms)], dtype=np.int64
    )


similar_terms = st.lists(
    st.text("ab\0é\U0001f600\ud800", max_size=20)
    | st.text("a\0", min_size=40, max_size=60)
    | st.text(max_size=4),
    max_size=8,
)


@given(terms=similar_terms)
@settings(max_examples=1000)
def test_terms_ascend(terms: list[str]) -> None:
    """A vocabulary is accepted exactly if its terms are sorted and distinct, also if their common
    prefix is long.
    """
    encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
    for order in (encoded, sorted(set(encoded)), sorted(encoded)):
        try:
            check_terms("terms", *blob_and_offsets(order))
        except ArtifactError as error:
            assert "each term once, in sorted order" in str(error)
            assert order != sorted(set(order))
        else:
            assert order == sorted(set(order))


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
    """A blob that is valid UTF-8 as a whole, but not term by term, is refused, also at the borders
    of the decoded pieces.
    """
    data = "é".encode()
    assert "UTF-8" in refused(
        check_terms, "t", np.frombuffer(data, dtype=np.uint8), np.array([0, 1, 2])
    )
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

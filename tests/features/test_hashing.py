"""Hashes: the same numbers everywhere, for good, because samples and hashed models rest on them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from nbtext.features.document_table import DocumentTable
from nbtext.features.hashing import (
    bucket_hashes,
    buckets,
    document_hashes,
    mix64,
    murmur3,
    vocabulary_hashes,
)
from nbtext.features.vocabulary import Vocabulary


@pytest.mark.parametrize(
    ("term", "value"),
    [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C), ("foobar", 0x85944171F73967E8)],
)
def test_fnv1a_gives_the_published_values(term: str, value: int) -> None:
    """The test vectors of Fowler, Noll and Vo, mixed."""
    expected = mix64(np.array([value], dtype=np.uint64))
    assert vocabulary_hashes(Vocabulary.from_terms([term])).tolist() == expected.tolist()
    several = vocabulary_hashes(Vocabulary.from_sorted(["x" * 9, term, "yy"]))
    assert several[1] == expected[0]


@given(st.binary(max_size=70))
def test_murmur3_is_that_of_scikit_learn(data: bytes) -> None:
    """For every string of bytes."""
    assert murmur3(data) == murmurhash3_32(data, seed=0, positive=True)


def test_mix64_gives_the_values_of_murmurhash() -> None:
    """fmix64 of 0, 1 and the largest number, worked out by the definition with unbounded
    integers.
    """

    def mixed(value: int) -> int:
        value = ((value ^ value >> 33) * 0xFF51AFD7ED558CCD) % 2**64
        value = ((value ^ value >> 33) * 0xC4CEB9FE1A85EC53) % 2**64
        return value ^ value >> 33

    values = [0, 1, 2**64 - 1, 0x0123456789ABCDEF]
    assert mix64(np.array(values, dtype=np.uint64)).tolist() == [mixed(value) for value in values]
    assert mixed(1) == 0xB456BCFC34C2CB2C


@given(st.lists(st.text()), st.integers(1, 30))
def test_a_bucket_is_the_hash_without_its_sign(terms: list[str], bits: int) -> None:
    """|hash| modulo the number of buckets, as scikit-learn's FeatureHasher takes it."""
    texts = [term for term in terms if not any(0xD800 <= ord(c) < 0xE000 for c in term)]
    expected = [abs(murmurhash3_32(term.encode(), seed=0)) % 2**bits for term in texts]
    assert buckets(texts, bits).tolist() == expected


def test_a_document_hash_is_the_mixed_sum_of_its_terms() -> None:
    """mix64(Σ count · H(term) mod 2**64), of no term for an empty document; order and columns do
    not matter.
    """
    hashes = vocabulary_hashes(Vocabulary.from_sorted(["free", "call"]))
    rows = DocumentTable.from_texts(
        np.array([0, 2, 2, 4]),
        np.array([0, 1, 0, 1], np.int32),
        np.array([2, 1, 2, 1], np.int32),
        np.zeros(3, int),
    )
    entry_hashes = np.concatenate((hashes, hashes))
    total = (2 * int(hashes[0]) + int(hashes[1])) % 2**64
    expected = mix64(np.array([total, 0, total], dtype=np.uint64))
    assert document_hashes(rows, entry_hashes).tolist() == expected.tolist()


def test_bucket_hashes_are_of_the_bucket_plus_one() -> None:
    """So that bucket 0 counts too."""
    numbers = np.array([0, 41], dtype=np.int32)
    assert bucket_hashes(numbers).tolist() == mix64(np.array([1, 42], dtype=np.uint64)).tolist()

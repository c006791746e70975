"""Near duplicates, compared with all pairs."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from nbtext.applications.review.near_duplicates import (
    SIMILAR,
    estimate_near_duplicates,
    find_near_duplicates,
)
from nbtext.features.document_table import DocumentTable
from nbtext.features.vectorizer import Vectorizer


def counts_of(texts: Sequence[str]) -> tuple[DocumentTable, int]:
    """The counts of texts, equal rows with equal hashes."""
    matrix = Vectorizer(token_pattern=r"\S+").fit_transform(texts)
    rows = [
        (*matrix.indices[a:b].tolist(), -1, *matrix.data[a:b].tolist())
        for a, b in pairs_of(matrix.indptr)
    ]
    numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
    hashes = np.array([numbers[row] for row in rows], dtype=np.uint64)
    classes = np.zeros(len(texts), dtype=np.int32)
    counts = DocumentTable(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data,
        classes,
        hashes,
    )
    return counts, matrix.shape[1]


def pairs_of(bounds: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def exact_join(texts: Sequence[str]) -> dict[tuple[int, int], float]:
    """All pairs with a Jaccard similarity of SIMILAR or more, by a dense product of blocks of
    rows.
    """
    counts, n_features = counts_of(texts)
    ones = np.ones(len(counts.indices), dtype=np.float32)
    matrix = csr_array((ones, counts.indices, counts.indptr), shape=(len(counts), n_features))
    sizes = np.diff(counts.indptr)
    found = {}
    for start in range(0, len(counts), 500):
        shared = (matrix[start : start + 500] @ matrix.T).toarray()
        union = sizes[start : start + 500, None] + sizes[None, :] - shared
        similarity = shared / np.maximum(union, 1)
        for row, other in np.argwhere(similarity >= SIMILAR - 1e-9).tolist():
            if start + row < other:
                found[start + row, other] = float(similarity[row, other])
    return found


def test_pairs_and_groups() -> None:
    """A pair has its similarity; a chain of pairs is one group; copies belong to the group of the
    first of them.
    """
    base = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
    texts = [
        " ".join(base),
        " ".join([*base, "k"]),
        " ".join([*base, "k", "l"]),
        " ".join([*base, "k", "l", "m"]),
        "something else entirely",
        " ".join(base),
    ]
    found = find_near_duplicates(*counts_of(texts))
    similarities = zip(map(tuple, found.pairs.tolist()), found.similarities.tolist(), strict=True)
    assert dict(similarities) == pytest.approx(exact_join(texts[:5]))
    assert (
        found.groups[0] == found.groups[1] == found.groups[2] == found.groups[3] == found.groups[5]
    )
    assert found.groups[4] != found.groups[0]


@settings(max_examples=60)
@given(
    st.lists(
        st.lists(st.sampled_from([f"w{n}" for n in range(30)]), min_size=1, max_size=25),
        min_size=2,
        max_size=12,
    )
)
def test_reports_only_pairs_that_are_similar(documents: list[list[str]]) -> None:
    """Every pair that is found is one of the exact join, with its similarity."""
    texts = [" ".join(words) for words in documents]
    found = find_near_duplicates(*counts_of(texts))
    expected = exact_join(texts)
    for pair, similarity in zip(found.pairs.tolist(), found.similarities.tolist(), strict=True):
        assert similarity == pytest.approx(expected[tuple(pair)], abs=1e-12)


def test_a_large_group_is_found_although_its_words_are_not_rare() -> None:
    """300 letters from one template share words that 300 documents have; all are in one group."""
    chance = random.Random(1)
    template = [f"word{n}" for n in range(40)]
    letters = [
        " ".join([*template, f"name{n}", f"code{chance.randrange(10**9)}"]) for n in range(300)
    ]
    others = [" ".join(chance.sample([f"other{n}" for n in range(400)], 40)) for _ in range(300)]
    texts = letters + others
    found = find_near_duplicates(*counts_of(texts))
    assert len(set(found.groups[:300].tolist())) == 1
    assert len(set(found.groups.tolist())) == 301


def test_the_least_similarity_is_one_of_near_duplicates() -> None:
    """Four of five words; with three of four, there is no pair."""
    found = find_near_duplicates(*counts_of(["a b c d", "a b c d e", "p q r", "p q r s"]))
    assert (found.pairs.tolist(), found.similarities.tolist()) == ([[0, 1]], [SIMILAR])


def test_a_bucket_of_two_groups() -> None:
    """Two groups of equal sizes that share most words, in turns: neighbors at distance two keep
    each together.
    """
    chance = random.Random(6)  # every minimum hash is that of a word of both groups
    names = [f"{chance.randrange(10**6):06}" for _ in range(102)]
    own = names[80:91], names[91:]
    texts = [" ".join([*names[:80], *own[number % 2], f"own{number:03}"]) for number in range(60)]
    groups = find_near_duplicates(*counts_of(texts)).groups
    assert groups.tolist() == [groups[0], groups[1]] * 30
    assert groups[0] != groups[1]


def test_no_documents_and_empty_documents() -> None:
    """Documents without features stay in a group of their own."""
    counts, n_features = counts_of(["a b c", "", "a b c d", ""])
    found = find_near_duplicates(counts, n_features)
    assert found.pairs.tolist() == []
    assert found.groups[1] == found.groups[3] != found.groups[0]
    none = find_near_duplicates(counts.take(np.zeros(0, dtype=np.int64)), n_features)
    assert (len(none.pairs), len(none.groups)) == (0, 0)


def test_finds_the_groups_of_the_exact_join(corpora: Any) -> None:
    """Short messages that are similar are in one group, but for 2 %."""
    lines = (corpora("sms-spam") / "SMSSpamCollection").read_text(encoding="utf-8").splitlines()
    sets = (set(line.partition("\t")[2].lower().split()) for line in lines)
    texts = sorted({" ".join(sorted(words)) for words in sets})
    found = find_near_duplicates(*counts_of(texts))
    expected = exact_join(texts)
    assert len(expected) > 10
    assert expected.keys() >= {tuple(pair) for pair in found.pairs.tolist()}
    n_apart = sum(found.groups[one] != found.groups[other] for one, other in expected)
    assert n_apart <= 0.02 * len(expected)


@pytest.mark.parametrize("n_changed", [1, 2, 3, 4])  # similarities of 0.95, 0.90, 0.86, 0.82
@pytest.mark.parametrize(("n_texts", "excess"), [(2, 0.0), (3, 0.06), (40, 0.1)])
def test_the_estimated_share_is_that_of_planted_texts(
    n_changed: int, n_texts: int, excess: float
) -> None:
    """A fifth of the texts are there again but some words: as pairs, and in larger groups, whose
    texts are found more often, so that the share may be too high by a tenth of itself.
    """
    chance = random.Random(n_changed)
    n_others = 4000

    def draw(size: int, *, of: int) -> list[str]:
        return [f"w{number}" for number in chance.sample(range(of), size)]

    texts = [" ".join(draw(40, of=3000)) for _ in range(n_others)]
    for _ in range(n_others // 4 // n_texts):
        words = draw(40 - n_changed, of=3000)
        texts += [" ".join(words + draw(n_changed, of=10**9)) for _ in range(n_texts)]
    chance.shuffle(texts)
    true = 1 - n_others / len(texts)
    counts, n_features = counts_of(texts)
    found = estimate_near_duplicates(counts, n_features, 1.0)
    assert -0.05 < found / true - 1 < 0.05 + excess
    half = counts.take(np.arange(0, len(texts), 2))
    # of a quarter of the pairs
    assert estimate_near_duplicates(half, n_features, 0.5) == pytest.approx(true, rel=0.25)

"""The counters: growing, fixed and hashed, with the kernel and without."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from nbtext.features import counting as room
from nbtext.features.analyzer import Analyzer
from nbtext.features.counting import counter, why_plain
from nbtext.features.csr import SparseWeights
from nbtext.features.document_table import DocumentTable
from nbtext.features.hashing import buckets
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting

ALL = 2**64
WORDS = st.lists(
    st.sampled_from(["free", "call", "me", "now", "été", "ΟΔΟΣ", "a", "B2", "naïve!"]), max_size=8
)
TEXTS = st.lists(WORDS.map(" ".join) | st.text(max_size=12), max_size=8)
SETTINGS = st.builds(
    FeatureSettings,
    analyzer=st.sampled_from(["word", "char", "char_wb"]),
    ngrams=st.sampled_from([(1, 1), (1, 2), (2, 2), (2, 3), (3, 3)]),
    lowercase=st.booleans(),
    strip_accents=st.sampled_from([None, "unicode", "ascii"]),
) | st.builds(
    FeatureSettings,
    ngrams=st.sampled_from([(1, 1), (1, 2), (2, 2)]),
    stop_words=st.sampled_from([(), ("me", "ete", "été")]),
    stem=st.sampled_from([None, "english"]),
)


def named(rows: DocumentTable, names: list[str]) -> list[dict[str, int]]:
    """What each row counts, by the names of its columns."""
    counts = [
        (names[j], n) for j, n in zip(rows.indices.tolist(), rows.counts.tolist(), strict=True)
    ]
    return [
        dict(counts[start:stop])
        for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]


def is_ascending(rows: DocumentTable) -> bool:
    """Whether the columns ascend within each row."""
    keys = np.repeat(np.arange(len(rows)) << 32, np.diff(rows.indptr)) + rows.indices
    return bool((np.diff(keys) > 0).all())


@given(texts=TEXTS, more=TEXTS, settings=SETTINGS)
def test_growing_rows_count_what_the_analyzer_finds(
    counting_kernel: str, texts: list[str], more: list[str], settings: FeatureSettings
) -> None:
    """Batches are counted with a growing vocabulary, which is sorted and has exactly the features
    that occur.
    """
    growing = counter(settings)
    batches = [growing.rows([texts]), growing.rows([more])]
    vocabulary, rank = growing.vocabulary()
    expected = [Counter(Analyzer(settings)(text)) for text in texts + more]
    arranged = [rows.arrange(rank) for rows in batches]
    assert [row for rows in arranged for row in named(rows, vocabulary.terms)] == expected
    assert [n for rows in batches for n in rows.n_tokens] == [
        document.total() for document in expected
    ]
    assert vocabulary.terms == sorted(set().union(*expected))
    assert all(map(is_ascending, [*batches, *arranged]))


@given(texts=TEXTS, known=TEXTS, settings=SETTINGS)
def test_fixed_rows_count_only_what_is_known(
    counting_kernel: str, texts: list[str], known: list[str], settings: FeatureSettings
) -> None:
    """Unknown features only count in n_tokens."""
    analyze = Analyzer(settings)
    vocabulary = Vocabulary.from_terms(feature for text in known for feature in analyze(text))
    rows = counter(settings, vocabulary).rows([texts])
    expected = [Counter(analyze(text)) for text in texts]
    assert named(rows, vocabulary.terms) == [
        {feature: n for feature, n in document.items() if feature in vocabulary.columns}
        for document in expected
    ]
    assert rows.n_tokens.tolist() == [document.total() for document in expected]
    assert is_ascending(rows)


@given(texts=TEXTS, settings=SETTINGS, bits=st.sampled_from([1, 3, 12]))
def test_hashed_rows_add_up_what_falls_together(
    counting_kernel: str, texts: list[str], settings: FeatureSettings, bits: int
) -> None:
    """Each feature is counted in its bucket."""
    hashed = counter(FeatureSettings(**{**vars_of(settings), "hash_bits": bits}))
    rows = hashed.rows([texts])
    expected = [Counter(buckets(Analyzer(settings)(text), bits).tolist()) for text in texts]
    assert named(rows, list(range(2**bits))) == expected
    assert is_ascending(rows)
    assert rows.n_tokens.tolist() == [document.total() for document in expected]
    nameless, same = hashed.vocabulary()
    assert (len(nameless), same.tolist()) == (0, list(range(2**bits)))


def vars_of(settings: FeatureSettings) -> dict[str, object]:
    return {name: getattr(settings, name) for name in settings.__dataclass_fields__}


@given(
    data=st.data(),
    texts=TEXTS,
    settings=SETTINGS,
    bits=st.sampled_from([None, 2, 7]),
    pending=st.sampled_from([0, 1_000_000]),
)
def test_a_corpus_adds_up_documents_by_class(
    counting_kernel: str,
    data: st.DataObject,
    texts: list[str],
    settings: FeatureSettings,
    bits: int | None,
    pending: int,
) -> None:
    """Documents and occurrences of each feature and class, also where entries are added to the sums
    at once; a document of class -1 leaves no trace.
    """
    classes = data.draw(st.lists(st.integers(-1, 3), min_size=len(texts), max_size=len(texts)))
    counting = counter(FeatureSettings(**{**vars_of(settings), "hash_bits": bits}))
    half = len(texts) // 2
    for part in (slice(0, half), slice(half, None)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(room, "MAX_PENDING_ENTRIES", pending)
            kept = counting.count([texts[part]], np.array(classes[part], dtype=np.int32), ALL)
        assert kept.classes.tolist() == [label for label in classes[part] if label >= 0]
        assert kept.rows is not None
        assert kept.rows.tolist() == [i for i, label in enumerate(classes[part]) if label >= 0]
    analyze = Analyzer(settings)
    documents: Counter[tuple[int | str, int]] = Counter()
    occurrences: Counter[tuple[int | str, int]] = Counter()
    for text, label in zip(texts, classes, strict=True):
        features: list[int | str] = [
            *(analyze(text) if bits is None else buckets(analyze(text), bits).tolist())
        ]
        if label >= 0:
            documents.update((feature, label) for feature in set(features))
            occurrences.update((feature, label) for feature in features)
    names = counting.vocabulary()[0].terms if bits is None else list(range(2**bits))
    counts = counting.class_counts()
    assert len(counts.indptr) == len(names) + 1
    entries = [
        (names[j], int(counts.classes[e]))
        for j in range(len(names))
        for e in range(*counts.indptr[j : j + 2])
    ]
    assert entries == sorted(documents)
    assert counts.documents.tolist() == [documents[entry] for entry in entries]
    assert counts.occurrences.tolist() == [occurrences[entry] for entry in entries]
    assert [part.dtype for part in counts] == [np.int64, np.int32, np.int64, np.int64]
    if bits is None:
        assert names == sorted({feature for feature, _ in documents})


@pytest.mark.parametrize("bits", [None, 10])
def test_a_corpus_keeps_the_documents_below_the_bound(
    counting_kernel: str, bits: int | None
) -> None:
    """All below 2**64, none below 0, and no others in between; their rows are theirs."""
    texts = [f"word{i} call me {i}" for i in range(50)]
    settings = FeatureSettings(hash_bits=bits)
    classes = np.arange(50, dtype=np.int32) % 3 - 1
    everything = counter(settings).count([texts], classes, ALL)
    assert len(counter(settings).count([texts], classes, 0)) == 0
    bound = int(np.median(everything.hashes))
    growing = counter(settings)
    kept = growing.count([texts], classes, bound)
    below = everything.hashes < bound
    assert everything.rows is not None
    assert kept.rows is not None
    assert kept.rows.tolist() == everything.rows[below].tolist()
    assert kept.classes.tolist() == classes[kept.rows].tolist()
    assert kept.hashes.tolist() == everything.hashes[below].tolist()
    names = growing.vocabulary() if bits is None else None
    rows = kept.arrange(names[1]) if names else kept
    alone = counter(settings, names[0] if names else None).rows([[texts[i] for i in kept.rows]])
    assert [part.tolist() for part in (rows.indptr, rows.indices, rows.counts)] == [
        part.tolist() for part in (alone.indptr, alone.indices, alone.counts)
    ]


def test_fields_are_counted_apart(counting_kernel: str) -> None:
    """The same word in two fields is two features."""
    growing = counter(FeatureSettings(fields=("subject", "body"), ngrams=(1, 2)))
    rows = growing.rows([["free money", ""], ["call", "free"]])
    vocabulary, rank = growing.vocabulary()
    assert vocabulary.terms == [
        "body:call",
        "body:free",
        "subject:free",
        "subject:free money",
        "subject:money",
    ]
    assert rows.arrange(rank).indices.tolist() == [0, 2, 3, 4, 1]


@pytest.mark.parametrize(
    ("tf", "norm", "has_idf"),
    [
        ("count", "none", False),
        ("binary", "none", False),
        ("log", "l2", True),
        ("relative", "l1", True),
    ],
)
@pytest.mark.parametrize("bits", [None, 4])
def test_scores_are_those_of_the_weighted_rows(
    counting_kernel: str, tf: str, norm: str, has_idf: bool, bits: int | None
) -> None:
    """Counting, weighing and scoring at once is the same as one after the other; tokens and known
    ones are told.
    """
    texts = ["free call me me", "", "call unknown words", "nothing that is known", "me " * 30]
    settings = FeatureSettings(hash_bits=bits)
    vocabulary = Vocabulary.from_terms(["call", "free", "me", "never"]) if bits is None else None
    n_features = 4 if bits is None else 2**bits
    random = np.random.default_rng(2)
    deltas = random.normal(size=(n_features, 3)) * (random.random((n_features, 3)) < 0.5)
    features, classes = deltas.nonzero()
    bias, default, base_scale = random.normal(size=(3, 3))
    base = random.normal(size=n_features)
    idf = random.random(n_features) + 0.5 if has_idf else None
    starts = np.searchsorted(features, np.arange(n_features + 1)).astype(np.int64)
    scorer = SparseWeights(
        bias, default, starts, classes.astype(np.int32), deltas[features, classes], base, base_scale
    )
    weighting = Weighting(tf, norm, idf)
    scores, n_tokens, n_known = counter(settings, vocabulary).scores([texts], weighting, scorer)
    rows = counter(settings, vocabulary).rows([texts])
    weighted = csr_array(
        (weighting.weights(rows.indptr, rows.indices, rows.counts), rows.indices, rows.indptr),
        shape=(len(texts), n_features),
    )
    weights = default[:, None] + np.outer(base_scale, base) + deltas.T
    np.testing.assert_allclose(scores, weighted @ weights.T + bias, rtol=1e-12, atol=1e-12)
    assert n_tokens.tolist() == rows.n_tokens.tolist()
    assert n_known.tolist() == rows.totals.tolist()


def test_custom_patterns_and_ambiguous_fields_are_for_the_reference() -> None:
    """The kernel supports the default tokens, and field names that are not prefixes of each other;
    otherwise plain Python counts.
    """
    assert not why_plain(
        FeatureSettings(token_pattern=r"(?u)\b\w\w+\b", fields=("subject", "body"))
    )
    assert why_plain(FeatureSettings(token_pattern=r"\w+"))
    assert not why_plain(FeatureSettings(token_pattern=r"\w+|[^\w\s]", fields=("subject", "body")))
    assert why_plain(FeatureSettings(token_pattern=r"\w+|[^\w\s]", stop_words=("a",)))
    assert why_plain(FeatureSettings(fields=("a", "a:b")))
    assert why_plain(FeatureSettings(fields=("a", "a")))

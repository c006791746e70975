"""The vectorizer: scikit-learn's matrices, from texts and from batches."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfVectorizer,
)

from nbtext.errors import InputError, ModelError, NbtextError
from nbtext.features.settings import FeatureSettings
from nbtext.features.vectorizer import Vectorizer

WORDS = [
    "free",
    "Call",
    "me",
    "now",
    "été",
    "ΟΔΟΣ",
    "a",
    "B2",
    "naïve!",
    "x",
    "İk",
    "ﬁne",
    "me",
    "me",
]
CORPORA = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join) | st.text(max_size=15),
    min_size=1,
    max_size=8,
)
SHARED = st.fixed_dictionaries(
    {
        "analyzer": st.sampled_from(["word", "char", "char_wb"]),
        "ngrams": st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 3), (3, 4)]),
        "lowercase": st.booleans(),
        "strip_accents": st.sampled_from([None, "unicode", "ascii"]),
    }
)
FOR_WORDS = st.fixed_dictionaries(
    {
        "stop_words": st.sampled_from([(), ("me",), ("free", "call", "now")]),
        "token_pattern": st.sampled_from([None, r"\w+", r"(\w)\w*", r"(?u)\b\w\w+\b"]),
    }
)
LIMITS = st.fixed_dictionaries(
    {
        "min_df": st.sampled_from([1, 2, 0.0, 0.3]),
        "max_df": st.sampled_from([1.0, 0.8, 3]),
        "tf": st.sampled_from(["count", "binary"]),
    }
)
FOUR_GROUPS = ("alt.atheism", "comp.graphics", "sci.med", "soc.religion.christian")


@st.composite
def analyses(draw: st.DrawFn) -> dict[str, Any]:
    """Options of the analyzer that scikit-learn has as well."""
    options = draw(SHARED)
    return options | draw(FOR_WORDS) if options["analyzer"] == "word" else options


def theirs_of(options: dict[str, Any]) -> dict[str, Any]:
    """scikit-learn's names and values for the same options."""
    names = {"ngrams": "ngram_range"}
    theirs = {names.get(name, name): value for name, value in options.items() if name != "tf"}
    if "stop_words" in theirs:
        theirs["stop_words"] = list(theirs["stop_words"]) or None
    if theirs.get("token_pattern", "") is None:
        del theirs["token_pattern"]
    return theirs | ({"binary": options["tf"] == "binary"} if "tf" in options else {})


def assert_same(ours: csr_array, theirs: Any, *, rtol: float = 0.0) -> None:
    """The same matrix, and of the promised types."""
    theirs = csr_array(theirs)
    theirs.sort_indices()
    assert ours.shape == theirs.shape
    assert np.array_equal(ours.indptr, theirs.indptr)
    assert np.array_equal(ours.indices, theirs.indices)
    np.testing.assert_allclose(ours.data, theirs.data, rtol=rtol, atol=0)
    assert ours.dtype in (np.int32, np.float64)
    assert ours.has_sorted_indices
    rebuilt = csr_array((ours.data, ours.indices, ours.indptr), shape=ours.shape)
    assert rebuilt.has_canonical_format
    assert isinstance(ours, csr_array)


@pytest.mark.filterwarnings("ignore:Your stop_words may be inconsistent")
@given(texts=CORPORA, more=CORPORA, options=analyses(), limits=LIMITS)
def test_counts_are_those_of_count_vectorizer(
    counting_kernel: str,
    texts: list[str],
    more: list[str],
    options: dict[str, Any],
    limits: dict[str, Any],
) -> None:
    """The same names in the same order, the same counts, in training and afterwards; an error where
    it has one.
    """
    options |= limits
    ours = Vectorizer(**options)
    theirs = CountVectorizer(**theirs_of(options))
    try:
        expected = theirs.fit_transform(texts)
    except ValueError:
        with pytest.raises(NbtextError):
            ours.fit_transform(texts)
        return
    assert_same(ours.fit_transform(texts), expected)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.vocabulary_ == theirs.vocabulary_
    assert_same(ours.transform(more), theirs.transform(more))


@given(texts=CORPORA, options=SHARED, n_features=st.integers(1, 12), is_binary=st.booleans())
def test_the_most_frequent_features_are_those_of_count_vectorizer(
    counting_kernel: str,
    texts: list[str],
    options: dict[str, Any],
    n_features: int,
    is_binary: bool,
) -> None:
    """As frequent as scikit-learn's choice, and the earliest names among equals (where scikit-learn
    takes any).
    """
    theirs = CountVectorizer(**theirs_of(options), binary=is_binary)
    try:
        totals = np.asarray(theirs.fit_transform(texts).sum(axis=0)).ravel()
    except ValueError:
        assume(False)
    ours = Vectorizer(
        **options, max_features=n_features, tf="binary" if is_binary else "count"
    ).fit(texts)
    names = theirs.get_feature_names_out()
    best = sorted(range(len(names)), key=lambda column: (-totals[column], names[column]))[
        :n_features
    ]
    assert ours.get_feature_names_out().tolist() == sorted(names[best])
    limited = CountVectorizer(**theirs_of(options), binary=is_binary, max_features=n_features).fit(
        texts
    )
    frequency = dict(zip(names, totals, strict=True))
    assert sorted(frequency[name] for name in limited.vocabulary_) == sorted(totals[best])


@given(
    texts=CORPORA,
    more=CORPORA,
    options=analyses(),
    limits=LIMITS,
    has_idf=st.booleans(),
    is_log=st.booleans(),
    norm=st.sampled_from(["none", "l1", "l2"]),
)
@pytest.mark.filterwarnings("ignore:Your stop_words may be inconsistent")
def test_weights_are_those_of_tfidf_vectorizer(  # noqa: PLR0913, PLR0917  hypothesis fills them in
    counting_kernel: str,
    texts: list[str],
    more: list[str],
    options: dict[str, Any],
    limits: dict[str, Any],
    has_idf: bool,
    is_log: bool,
    norm: str,
) -> None:
    """To 1e-12, in training and afterwards."""
    options |= limits
    theirs = TfidfVectorizer(
        **theirs_of(options),
        use_idf=has_idf,
        sublinear_tf=is_log,
        norm=None if norm == "none" else norm,
    )
    if options["tf"] == "count" and is_log:
        options["tf"] = "log"
    ours = Vectorizer(**options, idf="smooth" if has_idf else "none", norm=norm)
    try:
        expected = theirs.fit_transform(texts)
    except ValueError:
        with pytest.raises(NbtextError):
            ours.fit_transform(texts)
        return
    assert_same(ours.fit_transform(texts), expected, rtol=1e-12)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert_same(ours.transform(more), theirs.transform(more), rtol=1e-12)


@given(
    texts=CORPORA,
    options=analyses(),
    bits=st.sampled_from([1, 4, 18]),
    is_binary=st.booleans(),
    norm=st.sampled_from(["none", "l1", "l2"]),
)
@pytest.mark.filterwarnings("ignore:Your stop_words may be inconsistent")
def test_hashes_are_those_of_hashing_vectorizer(
    counting_kernel: str,
    texts: list[str],
    options: dict[str, Any],
    bits: int,
    is_binary: bool,
    norm: str,
) -> None:
    """Without alternating signs; and nothing has to be fitted."""
    # it cannot hash lone surrogates
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    theirs = HashingVectorizer(
        **theirs_of(options),
        n_features=2**bits,
        alternate_sign=False,
        binary=is_binary,
        norm=None if norm == "none" else norm,
    )
    ours = Vectorizer(**options, hash_bits=bits, tf="binary" if is_binary else "count", norm=norm)
    assert_same(ours.transform(texts), theirs.transform(texts), rtol=1e-12)
    assert_same(ours.fit_transform(texts), theirs.transform(texts), rtol=1e-12)
    with pytest.raises(ModelError, match="hashed features have no names"):
        ours.get_feature_names_out()


@given(
    texts=CORPORA,
    terms=st.sets(st.sampled_from(["free", "me", "now", "call me", "été", "never"]), min_size=1),
)
@pytest.mark.filterwarnings("ignore:Upper case characters found in vocabulary")
def test_a_given_vocabulary_is_used_whole(
    counting_kernel: str, texts: list[str], terms: set[str]
) -> None:
    """As in scikit-learn, in sorted order, in training and without; with its idf too."""
    theirs = CountVectorizer(vocabulary=sorted(terms), ngram_range=(1, 2))
    ours = Vectorizer(vocabulary=tuple(terms), ngrams=(1, 2))
    assert_same(ours.transform(texts), theirs.transform(texts))
    assert_same(ours.fit_transform(texts), theirs.fit_transform(texts))
    assert ours.get_feature_names_out().tolist() == sorted(terms)
    weighted = Vectorizer(vocabulary=tuple(terms), ngrams=(1, 2), idf="smooth", norm="l2")
    expected = TfidfVectorizer(vocabulary=sorted(terms), ngram_range=(1, 2)).fit_transform(texts)
    assert_same(weighted.fit_transform(texts), expected, rtol=1e-12)


def test_the_columns_that_tell_most_are_kept(counting_kernel: str) -> None:
    """`select` uses the labels, whatever their type."""
    texts = ["call free", "call money", "call me", "call later"]
    expected = ["free", "later", "me", "money"]
    labels = ["spam", "spam", "ham", "ham"]
    vectorizer = Vectorizer(select=("mi", 4)).fit(texts, labels)
    assert vectorizer.get_feature_names_out().tolist() == expected
    assert (
        Vectorizer(select=("mi", 4)).fit(texts, np.array([7, 7, 3, 3])).vocabulary_
        == vectorizer.vocabulary_
    )
    assert Vectorizer(select=("chi2", 4)).fit(texts, labels).vocabulary_ == vectorizer.vocabulary_
    with pytest.raises(InputError, match="select needs the label of each document; give y"):
        Vectorizer(select=("mi", 4)).fit(texts)
    with pytest.raises(InputError, match="3 labels for 4 documents"):
        Vectorizer(select=("mi", 4)).fit(texts, labels[:3])


def test_fields_and_streams(counting_kernel: str) -> None:
    """A long stream of texts is counted like a list; fields are kept apart."""
    texts = [f"word{i % 7} call me {i}" for i in range(3000)]
    expected = CountVectorizer().fit_transform(texts)
    assert_same(Vectorizer().fit_transform(iter(texts)), expected)
    apart = Vectorizer(fields=("subject", "body"))
    matrix = apart.fit_transform([("free money", "call"), ("", "free")])
    assert apart.vocabulary_ == {
        "body:call": 0,
        "body:free": 1,
        "subject:free": 2,
        "subject:money": 3,
    }
    assert matrix.toarray().tolist() == [[1, 0, 1, 1], [0, 1, 0, 0]]


def test_a_document_that_cannot_be_read_is_an_error(counting_kernel: str) -> None:
    """What is not text is named by its type, nothing is learned of nothing."""
    with pytest.raises(InputError, match="a document is bytes, not text"):
        Vectorizer().fit([b"free"])  # type: ignore[list-item]
    with pytest.raises(InputError, match="a document is float, not text"):
        Vectorizer().fit(["free", float("nan")])  # type: ignore[list-item]
    with pytest.raises(InputError, match="found one text"):
        Vectorizer().fit("free")
    with pytest.raises(InputError, match="no documents to train on"):
        Vectorizer().fit([])
    with pytest.raises(ModelError, match="no document contains a token"):
        Vectorizer().fit(["", "?", "a"])
    with pytest.raises(ModelError, match="is not fitted; call fit first"):
        Vectorizer().transform(["free"])
    with pytest.raises(ModelError, match="is not fitted; call fit first"):
        Vectorizer(hash_bits=4, idf="smooth").transform(["free"])


def test_a_failed_fit_leaves_what_was_learned(counting_kernel: str) -> None:
    """After a failed fit, the vectorizer has the features of the fit before."""
    vectorizer = Vectorizer().fit(["free money"])
    with pytest.raises(ModelError):
        vectorizer.fit(["?"])
    assert vectorizer.transform(["money"]).toarray().tolist() == [[0, 1]]


def test_no_documents_give_no_rows(counting_kernel: str) -> None:
    """After fit; an empty document gives an empty row."""
    vectorizer = Vectorizer().fit(["free money"])
    assert vectorizer.transform([]).shape == (0, 2)
    assert vectorizer.transform(["", "free"]).toarray().tolist() == [[0, 0], [1, 0]]


def test_it_works_as_an_estimator(counting_kernel: str) -> None:
    """Parameters by name, clone, grid search in a pipeline, and pickle, as scikit-learn expects."""
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    vectorizer = Vectorizer(ngrams=(1, 2), vocabulary=("free", "me"))
    assert Vectorizer(**vectorizer.get_params()).settings == vectorizer.settings
    assert clone(vectorizer).settings == vectorizer.settings
    assert vectorizer.set_params(vocabulary=None, min_df=2).settings == FeatureSettings(
        ngrams=(1, 2), min_df=2
    )
    texts = ["free money", "call me", "free call", "me now"] * 3
    search = GridSearchCV(
        make_pipeline(Vectorizer(), MultinomialNB()), {"vectorizer__ngrams": [(1, 1), (1, 2)]}, cv=3
    )
    search.fit(texts, ["spam", "ham", "spam", "ham"] * 3)
    assert search.best_score_ == 1.0
    fitted = Vectorizer().fit(texts)
    fitted.transform(texts)
    again = pickle.loads(pickle.dumps(fitted))
    assert_same(again.transform(texts), fitted.transform(texts))
    with pytest.raises(TypeError, match="foo"):
        Vectorizer(foo=1)


def test_the_matrix_of_the_lecture(counting_kernel: str, corpora: Callable[[str], Path]) -> None:
    """Four groups of 20 Newsgroups give the matrix of the lecture: shape (2257, 35788), church at
    8609, computer at 9338.
    """
    vectorizer = Vectorizer(tf="binary")
    paths = [
        path for path in corpora("20news").glob("train/*/*") if path.parent.name in FOUR_GROUPS
    ]
    texts = [path.read_bytes().decode("latin-1") for path in sorted(paths)]
    matrix = vectorizer.fit_transform(texts)
    assert matrix.shape == (2257, 35788)
    assert matrix.max() == 1
    assert vectorizer.vocabulary_["church"] == 8609
    assert vectorizer.vocabulary_["computer"] == 9338

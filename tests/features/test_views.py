"""Documents that are counted in several views: scikit-learn's features side by side, with the
kernel and without.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import FeatureUnion

from nbtext.errors import ModelError, SettingsError
from nbtext.features.analyzer import Analyzer, Locator
from nbtext.features.counting import counter
from nbtext.features.csr import SparseWeights
from nbtext.features.settings import FeatureSettings
from nbtext.features.vectorizer import Vectorizer
from nbtext.features.vocabulary import Vocabulary, find_views, join_views, split_views

ALL = 2**64
VIEWS = ("char_wb:2,3:tfidf", "word:1,2:log-tfidf", "word:1")
WORDS = st.sampled_from(["free", "call", "me", "now", "été", "ΟΔΟΣ", "a", "B2", "naïve!", "日本"])
TEXTS = st.lists(st.lists(WORDS, max_size=8).map(" ".join) | st.text(max_size=12), max_size=8)
SPECS = st.lists(
    st.sampled_from(
        ["word:1", "word:2", "word:1,2", "char:2", "char:1,3", "char_wb:2,5", "word:1:binary"]
    ),
    min_size=1,
    max_size=3,
    unique=True,
)


@given(texts=TEXTS.filter(lambda texts: any("free" in text for text in texts)))
def test_equal_to_features_of_scikit_learn_side_by_side(
    counting_kernel: str, texts: list[str]
) -> None:
    """Each view has its own weighting and norm; features are in the order of their names."""
    union = FeatureUnion(
        [
            ("char_wb:2,3:tfidf", TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3))),
            ("word:1,2:log-tfidf", TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)),
            ("word:1", CountVectorizer()),
        ]
    )
    vectorizer = Vectorizer(view=VIEWS[::-1])  # in any order
    expected = union.fit_transform(texts).toarray()
    assert vectorizer.fit_transform(texts).toarray() == pytest.approx(expected, abs=1e-12)
    assert vectorizer.transform([*texts, "free call now"]).toarray() == pytest.approx(
        union.transform([*texts, "free call now"]).toarray(), abs=1e-12
    )
    names = [name.replace("__", "=", 1) for name in union.get_feature_names_out()]
    assert vectorizer.get_feature_names_out().tolist() == names


@given(texts=TEXTS, views=SPECS)
def test_counting_by_class(counting_kernel: str, texts: list[str], views: list[str]) -> None:
    """The sums by class, the rows and the sample are those of each view alone; equal documents have
    equal hashes.
    """
    settings = FeatureSettings(view=tuple(views))
    classes = np.arange(len(texts), dtype=np.int32) % 3 - 1
    together = counter(settings)
    rows = together.count([texts], classes, ALL)
    vocabulary, columns = together.vocabulary()
    rows = rows.arrange(columns)
    counts = together.class_counts()
    bounds = find_views(vocabulary, settings.view)
    for view, each in enumerate(settings.of_views):
        alone = counter(each)
        own = alone.count([texts], classes, ALL)
        names, own_columns = alone.vocabulary()
        own = own.arrange(own_columns)
        assert split_views(vocabulary, settings.view)[view] == names
        part = rows.restrict(np.arange(*bounds[view : view + 2]), len(vocabulary))
        assert all(
            np.array_equal(getattr(part, name), getattr(own, name))
            for name in ("indptr", "indices", "counts")
        )
        sums, first, last = alone.class_counts(), *counts.indptr[bounds[view : view + 2]].tolist()
        assert np.array_equal(
            sums.indptr, counts.indptr[bounds[view] : bounds[view + 1] + 1] - first
        )
        for name in ("classes", "documents", "occurrences"):
            assert np.array_equal(getattr(sums, name), getattr(counts, name)[first:last])
    labeled = [text for text, k in zip(texts, classes.tolist(), strict=True) if k >= 0]
    found = [tuple(sorted(Analyzer(settings)(text))) for text in labeled]
    hashes = rows.hashes.tolist()
    assert [[one == other for other in hashes] for one in hashes] == [
        [a == b for b in found] for a in found
    ]
    # documents without a token
    assert [each == 0 for each in hashes] == [not each for each in found]


@given(texts=TEXTS, more=TEXTS, views=SPECS)
def test_scores(counting_kernel: str, texts: list[str], more: list[str], views: list[str]) -> None:
    """Scoring sums the views, each with its own default weights; it equals the product of the
    weighted matrix.
    """
    settings = FeatureSettings(view=tuple(views))
    vectorizer = Vectorizer(settings)
    try:
        vectorizer.fit(["free call me", *texts])
    except ModelError:
        return
    vocabulary = vectorizer.features_
    random = np.random.default_rng(1)
    assert vocabulary is not None
    n = len(vocabulary)
    bounds = find_views(vocabulary, settings.view)
    indptr = np.concatenate(([0], np.cumsum(random.integers(0, 2, n)))).astype(np.int64)
    classes = random.integers(0, 2, indptr[-1]).astype(np.int32)
    shared = {
        "indptr": indptr,
        "classes": classes,
        "deltas": random.normal(size=indptr[-1]),
        "bias": np.array([1.0, 2.0]),
    }
    for scorer in (
        SparseWeights(default=np.array([0.5, -0.5]), **shared),
        SparseWeights(default=random.normal(size=2 * len(views)), bounds=bounds, **shared),
    ):
        scores, n_tokens, n_known = counter(settings, vocabulary).scores(
            [more], vectorizer.weighting_, scorer
        )
        expected = vectorizer.transform(more) @ scorer.weights().T + scorer.bias
        assert scores == pytest.approx(expected, rel=1e-9, abs=1e-9)
        rows = counter(settings, vocabulary).rows([more])
        assert n_known.tolist() == rows.totals.tolist()
        assert n_tokens.tolist() == [len(Analyzer(settings)(text)) for text in more]


def test_names_of_views() -> None:
    """A view has one name, in one order; the names of its features are found again after
    joining.
    """
    assert FeatureSettings(view=("word:1,1", "char_wb:2-5")).view == ("char_wb:2,5", "word:1")
    assert FeatureSettings(view=("word:2", "word:1", "word:1,2")).view == (
        "word:1,2",
        "word:1",
        "word:2",
    )
    parts = [
        Vocabulary.from_terms(["=", "a=b", "é"]),
        Vocabulary.from_terms([]),
        Vocabulary.from_terms(["word:1=a"]),
    ]
    names = FeatureSettings(view=("word:1:tfidf", "word:1", "char:1")).view
    joined = join_views(names, parts)
    assert joined.terms == sorted(joined.terms)
    assert split_views(joined, names) == parts
    with pytest.raises(ModelError, match="do not begin with the names of the views"):
        find_views(Vocabulary.from_terms(["char:1=a", "other"]), names)
    with pytest.raises(ModelError, match="do not begin"):
        find_views(Vocabulary.from_terms(["char:1=a", "char:2=aa", "word:1=b"]), names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"view": ("words:1",)}, "'words:1' is not ANALYZER:N,N:WEIGHTING"),
        ({"view": ("word",)}, "'word' is not ANALYZER:N,N:WEIGHTING"),
        ({"view": ("word:1:bm25",)}, "'bm25' is not a scheme"),
        ({"view": ("word:2,1",)}, "2,1 is not a range"),
        ({"view": ("word:101",)}, "101 is more than 100"),
        ({"view": ("word:1", "word:1,1")}, "a view is given twice"),
        ({"view": tuple(f"char:{n}" for n in range(1, 18))}, "17 views are more than 16"),
        (
            {"view": ("word:1",), "ngrams": (1, 2)},
            "cannot be combined with ngrams, because each has its own",
        ),
        (
            {"view": ("word:1",), "analyzer": "char"},
            "cannot be combined with analyzer, because each has its own",
        ),
        ({"view": ("word:1",), "hash_bits": 8}, "cannot be combined with hash_bits"),
    ],
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        FeatureSettings(**options)
    assert message in str(caught.value)
    assert str(caught.value).startswith("view: ")


def test_options_for_words_are_for_the_views_of_words() -> None:
    """Stop words leave characters as they are; without a view of words they are refused."""
    settings = FeatureSettings(view=("word:1", "char:2"), stop_words=("me",))
    assert Analyzer(settings)("me too") == [
        "char:2=me",
        "char:2=e ",
        "char:2= t",
        "char:2=to",
        "char:2=oo",
        "word:1=too",
    ]
    with pytest.raises(SettingsError, match="needs features of words"):
        Analyzer(replace(settings, view=("char:2",)))


def test_separate_fields() -> None:
    """The features of a field are in each view, after the name of the field."""
    settings = FeatureSettings(view=("word:1", "char:2"), fields=("title", "body"))
    assert Analyzer(settings).document(["no", "ab"]) == [
        "char:2=title:no",
        "char:2=body:ab",
        "word:1=title:no",
        "word:1=body:ab",
    ]
    vectorizer = Vectorizer(settings)
    assert vectorizer.fit_transform([("no", "ab"), ("ab", "no")]).toarray().tolist() == [
        [1, 0, 0, 1, 1, 0, 0, 1],
        [0, 1, 1, 0, 0, 1, 1, 0],
    ]


def test_positions() -> None:
    """The features of all views are found in the text."""
    settings = FeatureSettings(view=("word:1,2", "char_wb:3"))
    text = "Call me, NOW"
    found = Locator(settings)(text)
    assert [each.feature for each in found] == Analyzer(settings)(text)
    assert {each.feature: [text[a:b] for a, b in each.spans] for each in found}[
        "word:1,2=call me"
    ] == ["Call", "me"]


def test_clones(tmp_path: Path) -> None:
    """scikit-learn can copy a vectorizer of views."""
    vectorizer = clone(Vectorizer(view=["word:1", "char:2"]))
    assert vectorizer.get_params()["view"] == ("char:2", "word:1")

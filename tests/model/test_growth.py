"""Models that were updated, merged or made to forget are the models of the union and the
difference, to the byte.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from made_texts import count_texts

from nbtext import TextClassifier, load_model, save_model
from nbtext.errors import ModelError, SettingsError
from nbtext.model.corpus_counts import ALL_HASHES
from nbtext.model.growth import calibrate_model, refit

Documents = list[tuple[str, str]]

TEXTS = st.lists(st.sampled_from(["apple", "pear", "plum", "straße", "İx", "x1"]), max_size=6).map(
    " ".join
)
DOCUMENTS = st.lists(st.tuples(TEXTS, st.sampled_from(["b", "a", "ä"])), min_size=1, max_size=10)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"model": "bernoulli", "min_df": 2},
    {"model": "complement", "max_df": 0.7},
    {"model": "dirichlet"},
    {"ngrams": (1, 2), "max_features": 4},
    {"view": ("word:1,2", "char_wb:2")},
    {"view": ("word:1", "char:3:binary"), "min_df": 2, "model": "multinomial"},
    {"view": ("word:1:binary-tfidf", "char_wb:2,3:tfidf"), "keep_sample": 1000},
    {"tf": "binary"},
    {"model": "multinomial"},
    {"tf": "binary", "idf": "smooth"},
    {"idf": "plain", "select": ("chi2", 3)},
    {"hash_bits": 3},
    {"vocabulary": ("apple", "fig")},
    {"model": "bernoulli", "tf": "log", "norm": "l2"},
    {"smoothing": 0.5, "calibrate": False},
    {"idf": "smooth", "norm": "l2", "keep_sample": 1000},
]


def trained(documents: Documents, options: dict[str, Any]) -> TextClassifier:
    """Return a model of these documents; the hypothesis example is discarded if there is none."""
    classifier = TextClassifier(**options)
    texts, labels = zip(*documents, strict=True)
    try:
        return classifier.fit(texts, labels)
    except (ModelError, SettingsError):
        # no feature is left, or the limits leave nothing between them
        assume(False)
        raise


def saved(classifier: TextClassifier) -> bytes:
    """The model's file."""
    with TemporaryDirectory() as folder:
        save_model(classifier, f"{folder}/model")
        return Path(folder, "model").read_bytes()


def loaded(classifier: TextClassifier) -> TextClassifier:
    """The classifier after it was saved and loaded."""
    with TemporaryDirectory() as folder:
        save_model(classifier, f"{folder}/model")
        model = load_model(f"{folder}/model")
        assert model.counts_ is not None
        return model


@pytest.mark.exhaustive
@settings(max_examples=60)
@given(
    first=DOCUMENTS,
    second=DOCUMENTS,
    keep=st.sampled_from([1, 3, 1000]),
    options=st.sampled_from(OPTIONS),
)
def test_union(first: Documents, second: Documents, keep: int, options: dict[str, Any]) -> None:
    """Merging and updating give the bytes of training on everything, the limits, idf and the
    choices included.
    """
    options = {"keep_sample": keep} | options
    whole = saved(trained(first + second, options))
    a = trained(first, options)
    b = trained(second, options)
    assert saved(loaded(a).merge(loaded(b))) == whole
    assert saved(loaded(b).merge(loaded(a))) == whole
    texts, labels = zip(*second, strict=True)
    assert saved(loaded(a).partial_fit(texts, labels)) == whole


@settings(max_examples=60)
@given(first=DOCUMENTS, second=DOCUMENTS, options=st.sampled_from(OPTIONS))
def test_difference(first: Documents, second: Documents, options: dict[str, Any]) -> None:
    """Forgetting gives the bytes of training on the rest: words and labels that nothing else has
    are gone.
    """
    options = {"keep_sample": 1000} | options
    rest = trained(first, options)
    whole = trained(first + second, options)
    texts, labels = zip(*second, strict=True)
    assert saved(loaded(whole).forget(texts, labels)) == saved(rest)


@settings(max_examples=150)
@given(first=DOCUMENTS, second=DOCUMENTS, third=DOCUMENTS, keep=st.integers(1, 8))
def test_a_sample_that_lost_documents(
    first: Documents, second: Documents, third: Documents, keep: int
) -> None:
    """After forgetting, a sample has the documents with the smallest hashes of what is left, none
    skipped; it says whether it is as large as it should be; and as it learns more, it becomes whole
    again.
    """
    corpora = [
        count_texts(documents, sample_size=keep)
        for documents in (first + second, second, first, third)
    ]
    whole, gone, rest, more = corpora
    gone = count_texts(second)
    for found, expected in ((whole - gone, rest), (whole - gone + more, rest + more)):
        n = len(found.sample)
        np.testing.assert_array_equal(found.sample.hashes, expected.sample.hashes[:n])
        np.testing.assert_array_equal(found.statistics.occurrences, expected.statistics.occurrences)
        assert found.below == ALL_HASHES or n < len(expected.sample)
        assert found.below != ALL_HASHES or n == len(expected.sample)


@settings(max_examples=40)
@given(first=DOCUMENTS, second=DOCUMENTS)
def test_without_a_sample(first: Documents, second: Documents) -> None:
    """Without a sample the counts are exact all the same; smoothing and calibration are carried
    over, and marked.
    """
    a = loaded(trained(first, {}))
    earlier = a.fitted_
    whole = trained(first + second, {})
    texts, labels = zip(*second, strict=True)
    a.partial_fit(texts, labels)
    np.testing.assert_array_equal(
        a.counts_.statistics.occurrences, whole.counts_.statistics.occurrences
    )
    assert a.counts_.vocabulary == whole.counts_.vocabulary
    assert a.fitted_.labels == whole.fitted_.labels
    assert a.fitted_.hyperparameters.smoothing == earlier.hyperparameters.smoothing
    assert a.fitted_.calibration.temperature == earlier.calibration.temperature
    assert a.fitted_.estimate is None
    assert a.fitted_.approximate == (
        "model",
        "smoothing",
        "calibration",
        "outlier_threshold",
        "nonconformity",
    )
    assert saved(loaded(a)) == saved(a)


FRUIT: Documents = [
    ("red round", "apple"),
    ("green round", "apple"),
    ("yellow long", "banana"),
    ("blue", "plum"),
]


@pytest.mark.parametrize(
    "unknown",
    [
        ("purple round", "apple"),  # an unknown word
        ("red round", "pear"),  # an unknown label
        ("red red round", "apple"),  # a word too often
        ("red long", "apple"),  # a word of another label
        ("", "plum"),  # the only document of its label, whose word would stay
        ("yellow", "banana"),  # the same
    ],
    ids=str,
)
@pytest.mark.parametrize("keep", [None, 2, 100])
def test_documents_that_are_not_in_the_training_set(
    unknown: tuple[str, str], keep: int | None
) -> None:
    """Forgetting what the counts cannot hold is refused, and changes nothing."""
    classifier = loaded(trained(FRUIT, {"keep_sample": keep}))
    before = saved(classifier)
    with pytest.raises(ModelError, match="was not trained on some of these documents"):
        classifier.forget([FRUIT[0][0], unknown[0]], [FRUIT[0][1], unknown[1]])
    assert saved(classifier) == before


def test_a_full_sample_refuses_unknown_documents() -> None:
    """Two documents whose words were counted, but not together, are refused if the sample has all
    documents.
    """
    classifier = trained(
        [("red round", "apple"), ("green long", "apple"), ("x1", "b")], {"keep_sample": 10}
    )
    with pytest.raises(ModelError, match="was not trained on some of these documents"):
        classifier.forget(["red long"], ["apple"])


def test_nothing_left() -> None:
    """Forgetting everything is refused."""
    texts, labels = zip(*FRUIT, strict=True)
    with pytest.raises(ModelError, match="no document would remain"):
        trained(FRUIT, {}).forget(texts, labels)


UNLIKE: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"ngrams": (1, 2)}, {}, "ngrams is 1,2 and 1,1"),
    ({"model": "bernoulli"}, {}, "model is bernoulli and auto"),
    ({"max_df": 1.0}, {"max_df": 5}, "max_df is 1.0 and 5"),
    ({"min_df": 1}, {"min_df": 1.0, "max_df": 1.0}, "min_df is 1 and 1.0"),
    ({"keep_sample": 5}, {}, "keep_sample is 5 and not given"),
]


@pytest.mark.parametrize(("one", "other", "line"), UNLIKE, ids=[line for _, _, line in UNLIKE])
def test_unlike_settings(one: dict[str, Any], other: dict[str, Any], line: str) -> None:
    """Models with unlike settings do not merge, and the line says which setting differs."""
    same = [("red", "a"), ("red", "b")]
    with pytest.raises(ModelError, match=line):
        trained(same, one).merge(trained(same, other))


def test_weights_of_whole_documents() -> None:
    """TF-IDF with a norm cannot grow, unless the model keeps all of its documents."""
    options = {"idf": "smooth", "norm": "l2"}
    for keep in (None, 3):
        classifier = loaded(trained(FRUIT, options | {"keep_sample": keep}))
        with pytest.raises(ModelError, match=r"needs the counts of each document.*keep_sample"):
            classifier.partial_fit(["red"], ["apple"])


@pytest.mark.parametrize(
    "fresh", [FRUIT, [("red", "apple"), ("long long", "banana"), ("fig", "plum")]], ids=len
)
def test_calibrate(fresh: Documents) -> None:
    """Smoothing and calibration are fitted to other texts or to the same, which are left out; the
    counts stay.
    """
    classifier = trained(FRUIT * 3, {})
    before = classifier.counts_
    calibrated = calibrate_model(classifier.model_, count_texts(fresh))
    assert calibrated.counts is before
    assert calibrated.fitted.estimate is not None
    assert calibrated.fitted.estimate.documents == len(fresh)
    assert calibrated.fitted.approximate == ()


def test_calibrate_on_what_was_learned() -> None:
    """Calibrating on the training texts themselves gives what training gave, since each is left
    out.
    """
    for options in ({}, {"min_df": 2, "model": "bernoulli"}, {"hash_bits": 4}):
        classifier = trained(FRUIT * 3, options)
        expected = saved(classifier)
        counts = count_texts(FRUIT * 3, classifier.feature_settings)
        assert (
            saved(TextClassifier.from_model(calibrate_model(classifier.model_, counts))) == expected
        )


@settings(max_examples=40)
@given(
    documents=DOCUMENTS,
    before=st.sampled_from(["multinomial", "bernoulli", "complement"]),
    after=st.sampled_from(["multinomial", "bernoulli", "complement"]),
    options=st.sampled_from(
        [{}, {"min_df": 2}, {"ngrams": (1, 2), "max_features": 4}, {"smoothing": 0.5}]
    ),
)
def test_counts_are_read_again(
    documents: Documents, before: str, after: str, options: dict[str, Any]
) -> None:
    """With the documents kept, reading the counts as another model is training it, to the byte."""
    kept = {**options, "keep_sample": 1000}
    earlier = trained(documents, {**kept, "model": before}).model_
    again = refit(earlier, {"model": after, **options_of(options)})
    assert saved(TextClassifier.from_model(again)) == saved(
        trained(documents, {**kept, "model": after})
    )


def options_of(options: dict[str, Any]) -> dict[str, Any]:
    """Those of the model, which are not taken over by another one."""
    return {name: value for name, value in options.items() if name == "smoothing"}

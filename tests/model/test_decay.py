"""Decayed counts: updating in steps equals weighting each document by its age."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext import TextClassifier, load_model, save_model
from nbtext.bayes.class_statistics import MIN_DECAYED
from nbtext.documents.batch import Batch
from nbtext.errors import ModelError
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.growth import calibrate, forget, merge, update
from nbtext.model.settings import DecaySettings

Documents = list[tuple[str, str]]
WORDS = ["apple", "pear", "plum", "fig"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
DOCUMENTS = st.lists(st.tuples(TEXTS, st.sampled_from("abc")), min_size=1, max_size=5)
UPDATES = st.lists(
    st.tuples(st.sampled_from([0.0, 0.3, 1.0, 7.5]), DOCUMENTS), min_size=1, max_size=4
)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"model": "bernoulli"},
    {"model": "dirichlet"},
    {"model": "complement", "idf": "smooth"},
    {"hash_bits": 3},
]


def tallied(documents: Documents, **options: Any) -> CorpusCounts:
    builder = CorpusCounter(FeatureSettings(**options), sample_size=0)
    texts, labels = zip(*documents, strict=True)
    builder.add(Batch(list(texts), (list(texts),), list(labels)))
    return builder.finish()


def fitted(documents: Documents, **options: Any) -> TextClassifier:
    texts, labels = zip(*documents, strict=True)
    return TextClassifier(smoothing=0.1, calibrate=False, **options).fit(texts, labels)


def learn(
    classifier: TextClassifier, counts: CorpusCounts, *, factor: float = 1.0
) -> TextClassifier:
    """The classifier after an update."""
    return TextClassifier.from_model(update(classifier.model_, counts, factor=factor))


def factor(elapsed: float, half_life: float) -> float:
    return DecaySettings(half_life=half_life, elapsed=elapsed).factor


@settings(max_examples=60, deadline=None)
@given(first=DOCUMENTS, updates=UPDATES, half_life=st.sampled_from([0.5, 2.0, 30.0]))
def test_each_document_weighs_by_its_age(first: Documents, updates: Any, half_life: float) -> None:
    """Every count is the sum of 2^(−age / half-life) over its documents, whenever the updates
    were.
    """
    classifier = fitted(first)
    history = [(0.0, first)]
    for elapsed, documents in updates:
        classifier = learn(classifier, tallied(documents), factor=factor(elapsed, half_life))
        history = [(age + elapsed, earlier) for age, earlier in history] + [(0.0, documents)]
    labels = classifier.fitted_.labels
    expected = {name: np.zeros((len(labels), len(WORDS))) for name in ("documents", "occurrences")}
    of_class = np.zeros(len(labels))
    for age, documents in history:
        weight = math.pow(2, -age / half_life)
        for text, label in documents:
            of_class[labels.index(label)] += weight
            for place, word in enumerate(WORDS):
                expected["occurrences"][labels.index(label), place] += weight * text.split().count(
                    word
                )
                expected["documents"][labels.index(label), place] += weight * (word in text.split())
    corpus = classifier.counts_
    assert corpus.vocabulary is not None
    np.testing.assert_allclose(corpus.statistics.class_documents, of_class, rtol=1e-12)
    for name, sums in expected.items():
        found = np.zeros_like(sums)
        places = np.array([WORDS.index(term) for term in corpus.vocabulary.terms])
        found[corpus.statistics.classes, places[corpus.statistics.entry_features]] = getattr(
            corpus.statistics, name
        )
        np.testing.assert_allclose(found, sums, rtol=1e-12)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_half_weight_is_half_the_copies(options: dict[str, Any], tmp_path: Path) -> None:
    """A model whose past weighs half says what one says that was trained on two copies of what is
    new; saved too.

    Only the smoothing must be halved: half of all counts with half of the smoothing are the same
    probabilities.
    """
    old = [("apple pear", "a"), ("plum plum", "b"), ("fig", "a")]
    new = [("pear plum", "b"), ("fig apple", "a")]
    texts = ["apple", "plum pear", "fig fig plum", ""]
    once = learn(fitted(old, **options), tallied(new, **only_features(options)), factor=0.5)
    save_model(once, str(tmp_path / "m"))
    again = load_model(str(tmp_path / "m"))
    # that of dirichlet is relative to the counts
    smoothing = 0.1 if options.get("model") == "dirichlet" else 0.2
    twice = fitted(old + new + new, **options).set_params(smoothing=smoothing)
    twice.fit_counts(twice.counts_)
    if options.get("idf") != "smooth":  # which adds a document to all others, whatever they weigh
        np.testing.assert_allclose(
            again.predict_proba(texts), twice.predict_proba(texts), rtol=1e-9
        )
    np.testing.assert_array_equal(again.predict_proba(texts), once.predict_proba(texts))
    assert again.counts_.statistics.is_decayed
    again = learn(again, tallied(new, **only_features(options)))  # can go on, faded or not
    assert again.counts_.statistics.n_documents == 5.5


def only_features(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "model"}


def test_no_time_is_an_ordinary_update(tmp_path: Path) -> None:
    """Where no time has passed the model is that of a plain update, to the byte."""
    old = [("apple pear", "a"), ("plum plum", "b")]
    new = [("pear plum", "b"), ("fig apple", "a")]
    files = []
    for number, share in enumerate((1.0, factor(0, 30))):
        save_model(learn(fitted(old), tallied(new), factor=share), str(tmp_path / str(number)))
        files.append((tmp_path / str(number)).read_bytes())
    assert files[0] == files[1]


def test_words_stay_known_after_any_time() -> None:
    """After any time, labels and words are still known, with small weights, and the new documents
    decide.
    """
    classifier = learn(
        fitted([("apple", "a"), ("pear", "b")]),
        tallied([("apple", "b")] * 2),
        factor=factor(1e9, 1),
    )
    classifier = learn(classifier, tallied([("pear", "b")]), factor=factor(1e9, 1))
    assert classifier.fitted_.labels == ("a", "b")
    assert classifier.counts_.statistics.class_documents.min() == MIN_DECAYED
    assert classifier.predict(["apple", "pear"]).tolist() == ["b", "b"]


def test_what_cannot_be_done() -> None:
    """Models with a sample or with weights of whole documents cannot decay; decayed models cannot
    merge or forget.
    """
    old = [("apple pear", "a"), ("plum plum", "b")]
    new = [("pear plum", "b")]
    for options in ({"keep_sample": 5}, {"tf": "log", "norm": "l2"}, {"model": "categorical"}):
        with pytest.raises(ModelError):
            learn(fitted(old, **options), tallied(new), factor=0.5)
    faded = learn(fitted(old), tallied(new), factor=0.5)
    for attempt in (
        lambda: forget(faded.model_, tallied(new)),
        lambda: merge([faded.model_, fitted(old).model_]),
    ):
        with pytest.raises(ModelError, match="--half-life"):
            attempt()


def test_it_can_be_calibrated() -> None:
    """By documents that are asked about as they are: none is left out of counts of unknown
    weight.
    """
    old = [("apple pear", "a"), ("plum plum", "b"), ("apple", "a"), ("plum fig", "b")]
    faded = learn(
        TextClassifier().fit(*zip(*old, strict=True)), tallied([("fig plum", "b")]), factor=0.5
    )
    assert faded.fitted_.approximate
    choice = calibrate(faded.model_, fitted(old).counts_).fitted
    assert choice.approximate == ()
    assert choice.estimate is not None
    assert choice.estimate.documents == 4

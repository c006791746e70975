"""Explanations: contributions add up to the log-odds of the prediction, for every model."""

from dataclasses import astuple
from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.documents.batch import Batch
from nbtext.errors import SettingsError
from nbtext.evaluation.settings import models_to_compare
from nbtext.model.explanation import Explainer, Explanation
from nbtext.model.settings import DecisionSettings
from nbtext.text_classifier import TextClassifier

CHINA = (
    ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"],
    ["china", "china", "china", "japan"],
)
DOCUMENT = "Chinese Chinese Chinese Tokyo Japan"
OPTIONS: list[dict[str, Any]] = [
    *({"model": model} for model in models_to_compare()),
    {"model": "complement", "normalize_weights": True},
    {"idf": "smooth", "norm": "l2"},
    {"tf": "log", "ngrams": (1, 2), "min_df": 2},
    {"analyzer": "char", "ngrams": (1, 3), "calibrate": False},
    {"analyzer": "char_wb", "ngrams": (2, 3), "prior": "uniform"},
    {"hash_bits": 4},
    {"optimize": "log_loss"},
    {"optimize": "macro_f1"},
    {"model": "bernoulli", "smoothing": 0.0},
]
WORDS = ("red", "green", "blue", "sea", "sun", "sky", "never")


def batch_of(texts: list[str]) -> Batch:
    return Batch([str(i) for i in range(len(texts))], (texts,), [None] * len(texts))


def assert_adds_up(explanation: Explanation) -> None:
    """All terms and contributions are the log-odds of the two probabilities, to the last digit."""
    assert explanation.log_odds is not None
    assert explanation.probability is not None and explanation.other_probability is not None
    evidence = [*astuple(explanation.terms), *(each.log_odds for each in explanation.contributions)]
    largest = max(map(abs, evidence))
    total = sum(evidence)
    if min(explanation.probability, explanation.other_probability) > 0:
        odds = log(explanation.probability) - log(explanation.other_probability)
        assert explanation.log_odds == pytest.approx(odds, abs=1e-9)
    # relative to the largest part only where that is vast: gaussian, where a class has no variance
    assert abs(total - explanation.log_odds) <= 1e-9 * max(1.0, largest / 1e3)


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@given(
    texts=st.lists(
        st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=4
    )
)
def test_it_adds_up(options: dict[str, Any], texts: list[str]) -> None:
    """The contributions add up for every model and kind of feature, and for any document."""
    explainer = Explainer(classifier_of(options).fitted_)
    for explanation in explainer.explain_batch(batch_of(texts)):
        if explanation.label is not None:
            assert_adds_up(explanation)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_probabilities_follow_from_the_parts(options: dict[str, Any]) -> None:
    """Softmax over the log-odds against each label gives what predict says."""
    classifier = classifier_of(options)
    text = "red red blue sun never"
    first = classifier.fitted_.labels[0]
    explanations = [
        classifier.explain([text], label=label, against=first)[0]
        for label in classifier.fitted_.labels[1:]
    ]
    odds = np.exp([0.0, *(e.log_odds for e in explanations)])
    probabilities = classifier.predict_proba([text])[0]
    np.testing.assert_allclose(odds / odds.sum(), probabilities, atol=1e-9)


_trained: dict[str, TextClassifier] = {}


def classifier_of(options: dict[str, Any]) -> TextClassifier:
    """Return a classifier of three labels."""
    if str(options) not in _trained:
        texts = [f"{a} {a} {b}" for a in WORDS[:3] for b in WORDS[3:6]] * 3 + [
            "sun",
            "sea sea",
            "sky",
        ]
        labels = [text.split()[0] for text in texts[:-3]] + ["red", "green", "blue"]
        _trained[str(options)] = TextClassifier(**options).fit(texts, labels)
    return _trained[str(options)]


def test_the_textbook() -> None:
    """Manning, Raghavan, Schütze 2008, example 13.1: three times Chinese, and Tokyo and Japan
    against China.
    """
    classifier = TextClassifier(smoothing=1.0, calibrate=False).fit(*CHINA)
    (explanation,) = classifier.explain([DOCUMENT])
    assert (explanation.label, explanation.against) == ("china", "japan")
    assert explanation.terms.calibration == pytest.approx(0, abs=1e-12)
    assert explanation.terms.prior == pytest.approx(log(3 / 4) - log(1 / 4))
    parts = {part.feature: part for part in explanation.contributions}
    assert parts["chinese"].count == 3
    assert parts["chinese"].log_odds == pytest.approx(3 * (log(3 / 7) - log(2 / 9)))
    assert parts["tokyo"].log_odds == pytest.approx(log(1 / 14) - log(2 / 9))
    assert explanation.contributions[0].feature == "chinese"


def test_absent_words_of_bernoulli() -> None:
    """Example 13.2: absent words contribute to the log-odds, as a separate term."""
    classifier = TextClassifier(model="bernoulli", smoothing=1.0, calibrate=False).fit(*CHINA)
    (explanation,) = classifier.explain([DOCUMENT])
    assert explanation.label == "japan"
    # of china: chinese, three words, japan, tokyo
    empty = [log(1 - p) for p in (4 / 5, *(2 / 5,) * 3, *(1 / 5,) * 2)]
    other = [log(1 - p) for p in (2 / 3, *(1 / 3,) * 3, *(2 / 3,) * 2)]
    assert explanation.terms.absent == pytest.approx(sum(other) - sum(empty))


def test_labels_to_choose() -> None:
    """Another label than the predicted one, another one to compare with; unknown ones are told from
    those meant.
    """
    classifier = classifier_of({"model": "multinomial"})
    texts = ["red red sun"]
    assert [e.label for e in classifier.explain(texts)] == ["red"]
    (explanation,) = classifier.explain(texts, label="blue", against="green")
    assert (explanation.label, explanation.against) == ("blue", "green")
    assert_adds_up(explanation)
    assert explanation.probability == pytest.approx(
        classifier.predict_proba(["red red sun"])[0][0], abs=1e-12
    )
    (itself,) = classifier.explain(texts, against="red")
    assert itself.against != "red"
    with pytest.raises(SettingsError, match="did you mean green"):
        classifier.explain(texts, against="gren")


def test_hashed_features_have_the_names_of_the_document() -> None:
    """Words that share a column stand together."""
    classifier = TextClassifier(hash_bits=1).fit(*CHINA)
    (explanation,) = classifier.explain([DOCUMENT])
    words = [word for part in explanation.contributions for word in part.feature.split(" | ")]
    assert sorted(words) == ["chinese", "japan", "tokyo"]


def test_no_words_and_one_label() -> None:
    """Without words, only the prior speaks for a label; with one label, there is the label
    alone.
    """
    (empty,) = classifier_of({"model": "multinomial"}).explain(["!"])
    assert (empty.known, empty.reason, empty.contributions) == (0, None, ())
    assert empty.label is not None
    (alone,) = TextClassifier().fit(["red sun"], ["red"]).explain(["red"])
    assert (alone.label, alone.against, alone.probability) == ("red", None, 1.0)


def test_predictions_with_their_strongest_words() -> None:
    """The same words as the whole explanation begins with."""
    classifier = classifier_of({"model": "multinomial"})
    batch = batch_of(["red red sun sky", "!"])
    explainer = Explainer(classifier.fitted_)
    predictions = explainer.predict_batch(batch, DecisionSettings(explain=2))
    (whole, _) = explainer.explain_batch(batch)
    assert predictions.explanations == [
        tuple((part.feature, part.log_odds) for part in whole.contributions[:2]),
        (),
    ]

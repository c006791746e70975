"""The classifier as a library: scikit-learn's conventions, and honest answers."""

from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from nbtext.bayes.event_models import EVENT_MODELS, LINEAR_MODELS
from nbtext.documents.batch import Batch
from nbtext.errors import InputError, ModelError
from nbtext.model.predictor import Predictor
from nbtext.text_classifier import TextClassifier

TEXTS = [
    "red round leaf",
    "green round no leaf",
    "red round shiny",
    "yellow curved long",
    "green curved long",
    "yellow long soft soft",
    "straße İstanbul",
    "round and yellow",
]
LABELS = ["apple", "apple", "apple", "banana", "banana", "banana", "city", "city"]
QUESTIONS = ["red leaf", "yellow yellow", "straße", "nothing known", ""]


def capped(maximum: int) -> FunctionTransformer:
    """A step that makes counts dense, none above a bound."""
    return FunctionTransformer(lambda counts: np.minimum(counts.toarray(), maximum))


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({}, [CountVectorizer(), MultinomialNB(alpha=0.5)]),
        (
            {"ngrams": (1, 2), "min_df": 2},
            [CountVectorizer(ngram_range=(1, 2), min_df=2), MultinomialNB(alpha=0.5)],
        ),
        ({"model": "bernoulli"}, [CountVectorizer(), BernoulliNB(alpha=0.5)]),
        (
            {"model": "categorical", "values": 3},
            [CountVectorizer(), capped(2), CategoricalNB(alpha=0.5, min_categories=3)],
        ),
        ({"model": "gaussian"}, [CountVectorizer(), capped(9), GaussianNB(var_smoothing=0.5)]),
        ({"tf": "binary"}, [CountVectorizer(binary=True), MultinomialNB(alpha=0.5)]),
        (
            {"model": "complement", "idf": "smooth", "norm": "l2"},
            [TfidfVectorizer(), ComplementNB(alpha=0.5)],
        ),
        (
            {"analyzer": "char_wb", "ngrams": (1, 3)},
            [CountVectorizer(analyzer="char_wb", ngram_range=(1, 3)), MultinomialNB(alpha=0.5)],
        ),
        (
            {"vocabulary": ("yellow", "red", "pear")},
            [CountVectorizer(vocabulary=["pear", "red", "yellow"]), MultinomialNB(alpha=0.5)],
        ),
    ],
)
def test_equals_a_scikit_learn_pipeline(options: dict, steps: list) -> None:
    """Without calibration, probabilities are those of scikit-learn's vectorizer and model, also
    without known words.
    """
    peer = make_pipeline(*steps)
    classifier = TextClassifier(
        **{"model": "multinomial", **options}, smoothing=0.5, calibrate=False
    ).fit(TEXTS, LABELS)
    peer.fit(TEXTS, LABELS)
    assert classifier.classes_.tolist() == peer.classes_.tolist()
    np.testing.assert_allclose(
        classifier.predict_log_proba(QUESTIONS),
        peer.predict_log_proba(QUESTIONS),
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize("model", EVENT_MODELS)
@pytest.mark.parametrize("tf", ["count", "log"])
def test_priors_are_honoured_by_every_model(model: str, tf: str) -> None:
    """Another prior moves every document's log-odds by the prior's own, nothing else; the default
    is the paper's.
    """

    def joint(prior: Any) -> Any:
        fitted = TextClassifier(
            model=model, tf=tf, prior=prior, smoothing=0.5, calibrate=False
        ).fit(TEXTS, LABELS)
        return fitted.predict_log_proba(QUESTIONS)

    uniform, empirical, given = (
        joint(prior) for prior in ("uniform", "empirical", (1.0, 2.0, 5.0))
    )
    for found, weights in ((empirical, [3, 3, 2]), (given, [1, 2, 5])):
        moved = found - uniform - np.log(weights)
        np.testing.assert_allclose(moved - moved[:, :1], 0, atol=1e-9)
    np.testing.assert_array_equal(
        joint(None), uniform if model in ("complement", "combined") else empirical
    )


def test_a_document_alone_and_in_a_batch() -> None:
    """An answer does not depend on what else is asked."""
    classifier = TextClassifier().fit(TEXTS, LABELS)
    together = classifier.predict_proba(QUESTIONS)
    for question, expected in zip(QUESTIONS, together, strict=True):
        assert classifier.predict_proba([question])[0].tolist() == expected.tolist()


def test_answers_of_a_batch() -> None:
    """Each document has its answer: a label, or None with the reason; `known` says which share was
    known.
    """
    classifier = TextClassifier().fit(TEXTS, LABELS)
    problem = InputError("broken JSON", where="mail.jsonl:4")
    batch = Batch(
        ["a", "b", "c", "d"], (["red unheard", "unheard", "?!", ""],), [None] * 4, {3: problem}
    )
    answers = Predictor(classifier.fitted_).predict_batch(batch)
    assert answers.ids == ["a", "b", "c", "d"]
    assert answers.labels[0] == ("apple",)
    assert answers.known.tolist() == [0.5, 0, 0, 0]
    assert answers.labels[1] == answers.labels[2] != ()
    assert answers.reasons == [None, None, None, "mail.jsonl:4: broken JSON"]
    np.testing.assert_allclose(answers.probabilities[:3].sum(axis=1), 1)
    assert np.isnan(answers.probabilities[3]).all()


def test_nothing_to_learn_from() -> None:
    """No document and no feature are errors that say so."""
    with pytest.raises(InputError, match="no document"):
        TextClassifier().fit([], [])
    with pytest.raises(ModelError, match="contains a token"):
        TextClassifier().fit(["?", "!"], ["a", "b"])


@pytest.mark.parametrize("model", (*EVENT_MODELS, *LINEAR_MODELS))
def test_no_texts_have_no_answers(model: str) -> None:
    """Of no text there are no labels and no probabilities, of a file with blank lines alone for
    one.
    """
    classifier = TextClassifier(model=model).fit(TEXTS, LABELS)
    assert classifier.predict([]).shape == (0,)
    assert classifier.predict_proba([]).shape == (0, len(set(LABELS)))
    assert len(Predictor(classifier.fitted_).predict_batch(Batch([], ([],), []))) == 0


def test_one_label() -> None:
    """A corpus of one label gives a model that always says it."""
    classifier = TextClassifier().fit(["a good word", "one more"], ["only", "only"])
    assert classifier.predict_proba(["anything"]).tolist() == [[1.0]]

"""A fitted scikit-learn pipeline is a model with the same answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from demo_models import documents
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline

from nbtext import TextClassifier, load_model, save_model
from nbtext.errors import ModelError
from nbtext.model.growth import refit
from nbtext.model.inspection import inspect_model
from nbtext.report.inspection import inspection_result
from nbtext.report.result import format_result

VECTORIZERS: dict[str, Any] = {
    "counts": CountVectorizer(),
    "binary": CountVectorizer(binary=True, min_df=2),
    "pairs": CountVectorizer(
        ngram_range=(1, 2), stop_words="english", token_pattern=r"(?u)\b\w+\b"
    ),
    "characters": CountVectorizer(
        analyzer="char_wb", ngram_range=(1, 3), lowercase=False, strip_accents="unicode"
    ),
    "given": CountVectorizer(vocabulary=["trash", "water", "bins", "parking", "noise"]),
    "tfidf": TfidfVectorizer(),
    "sublinear": TfidfVectorizer(sublinear_tf=True, norm="l1", max_features=300),
    "no idf": TfidfVectorizer(use_idf=False, norm=None),
    "of binary counts": TfidfVectorizer(binary=True, norm=None),
}
MODELS: dict[str, Any] = {
    "multinomial": MultinomialNB(alpha=0.1),
    "uniform": MultinomialNB(fit_prior=False),
    "with a prior": MultinomialNB(class_prior=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1]),
    "bernoulli": BernoulliNB(alpha=0.5),
    "complement": ComplementNB(),
    "normalized": ComplementNB(norm=True, alpha=0.3),
}


def fitted(vectorizer: Any, model: Any, *more: Any) -> Pipeline:
    """Return a pipeline that is fitted to the demo corpus."""
    from sklearn.base import clone

    return make_pipeline(clone(vectorizer), *more, clone(model)).fit(*documents("train"))


def check(pipeline: Pipeline, classifier: TextClassifier, texts: list[str]) -> None:
    np.testing.assert_allclose(
        classifier.predict_proba(texts), pipeline.predict_proba(texts), rtol=0, atol=1e-9
    )
    # not those of which nothing is known: of equally probable labels the first is taken
    known = texts[:40]
    assert classifier.predict(known).tolist() == pipeline.predict(known).tolist()


@pytest.mark.exhaustive(every=5)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("vectorizer", VECTORIZERS)
def test_same_answers(vectorizer: str, model: str, texts: list[str], tmp_path: Path) -> None:
    """Labels, and probabilities to 1e-9, also after the model was saved and loaded."""
    pipeline = fitted(VECTORIZERS[vectorizer], MODELS[model])
    classifier = TextClassifier.from_sklearn(pipeline)
    check(pipeline, classifier, texts)
    save_model(classifier, str(tmp_path / "model.joblib"))
    check(pipeline, load_model(str(tmp_path / "model.joblib")), texts)


@pytest.mark.parametrize(
    "model",
    [
        MultinomialNB(),
        MultinomialNB(fit_prior=False),
        BernoulliNB(),
        ComplementNB(),
        ComplementNB(fit_prior=False),
        MultinomialNB(alpha=1e-5, force_alpha=False),
    ],
    ids=str,
)
def test_labels_of_unequal_frequency(model: Any) -> None:
    """Priors, which complement Naive Bayes does not use, and the least smoothing."""
    texts = [
        "red round",
        "red long red",
        "green long",
        "yellow long",
        "yellow round long",
        "red red",
    ]
    pipeline = make_pipeline(CountVectorizer(), model).fit(texts, list("aabbbb"))
    found = TextClassifier.from_sklearn(pipeline).predict_proba([*texts, "green round yellow"])
    np.testing.assert_allclose(
        found, pipeline.predict_proba([*texts, "green round yellow"]), rtol=1e-9, atol=1e-300
    )


def test_transformer_of_its_own(texts: list[str]) -> None:
    """TF-IDF may be a separate step."""
    pipeline = fitted(CountVectorizer(), MultinomialNB(), TfidfTransformer())
    check(pipeline, TextClassifier.from_sklearn(pipeline), texts)


def test_labels_that_are_numbers(texts: list[str], tmp_path: Path) -> None:
    """They stay numbers, in the pipeline's order, in a model file too."""
    corpus, labels = documents("train")
    # 8 to 13: as texts 10 comes before 8
    numbers = [sorted(set(labels)).index(label) + 8 for label in labels]
    pipeline = make_pipeline(CountVectorizer(), MultinomialNB()).fit(corpus, numbers)
    save_model(TextClassifier.from_sklearn(pipeline), str(tmp_path / "model.joblib"))
    loaded = load_model(str(tmp_path / "model.joblib"))
    assert loaded.classes_.tolist() == [8, 9, 10, 11, 12, 13]
    check(pipeline, loaded, texts)


@pytest.mark.parametrize("model", ["bernoulli", "multinomial"])
def test_binary_counts_add_up(model: str, texts: list[str]) -> None:
    """A model with document counts can be updated, as by scikit-learn's partial_fit, and can forget
    the update.
    """
    pipeline = fitted(CountVectorizer(binary=True), MODELS[model])
    corpus, labels = documents("test")
    classifier = TextClassifier.from_sklearn(pipeline).partial_fit(corpus, labels)
    pipeline[-1].partial_fit(pipeline[0].transform(corpus), labels)
    check(pipeline, classifier, texts)
    check(
        fitted(CountVectorizer(binary=True), MODELS[model]),
        classifier.forget(corpus, labels),
        texts,
    )


def test_a_model_of_occurrences_is_refitted(texts: list[str]) -> None:
    """As a complement model; the commands refuse what needs documents of each word."""
    classifier = TextClassifier.from_sklearn(fitted(CountVectorizer(), MultinomialNB()))
    complement = TextClassifier.from_model(refit(classifier.model_, {"model": "complement"}))
    check(fitted(CountVectorizer(), ComplementNB()), complement, texts)


@pytest.mark.parametrize(
    ("vectorizer", "model", "sentence"),
    [
        (HashingVectorizer(), BernoulliNB(), "HashingVectorizer, BernoulliNB"),
        (CountVectorizer(min_df=90), TfidfTransformer(), "CountVectorizer, TfidfTransformer"),
        (
            CountVectorizer(tokenizer=str.split, token_pattern=None),
            MultinomialNB(),
            "a function for tokenizer",
        ),
        (CountVectorizer(analyzer=str.split), MultinomialNB(), "a function for analyzer"),
        (TfidfVectorizer(smooth_idf=False), MultinomialNB(), "an idf that is not smooth"),
        (CountVectorizer(), BernoulliNB(binarize=1.0), "a BernoulliNB of other values"),
    ],
)
def test_what_cannot_be_read(vectorizer: Any, model: Any, sentence: str) -> None:
    """A step that is not supported is refused by its name, and the error lists the supported
    ones.
    """
    with pytest.raises(ModelError, match=f"the pipeline has .*{sentence}") as caught:
        TextClassifier.from_sklearn(fitted(vectorizer, model))
    assert "CountVectorizer or TfidfVectorizer" in caught.value.hint


def test_what_is_no_fitted_pipeline() -> None:
    """Is refused as well."""
    weighted = fitted(CountVectorizer(), MultinomialNB())
    weighted[-1].class_count_ *= 0.3  # which are then not numbers of documents
    unsmoothed = fitted(CountVectorizer(), MultinomialNB()).set_params(multinomialnb__alpha=0)
    for pipeline, sentence in (
        (make_pipeline(CountVectorizer(), MultinomialNB()), "not fitted"),
        (MultinomialNB(), "no steps"),
        (unsmoothed, "no smoothing"),
        (weighted, "sample weights"),
    ):
        with pytest.raises(ModelError, match=sentence):
            TextClassifier.from_sklearn(pipeline)


def test_a_bernoulli_model_uses_binary_counts(texts: list[str]) -> None:
    """Also over a vectorizer of counts or weights: read again, it is a model of binary counts."""
    expected = fitted(CountVectorizer(binary=True), MultinomialNB())
    for vectorizer in (CountVectorizer(), TfidfVectorizer()):
        classifier = TextClassifier.from_sklearn(fitted(vectorizer, BernoulliNB()))
        check(
            expected,
            TextClassifier.from_model(refit(classifier.model_, {"model": "multinomial"})),
            texts,
        )


def test_inspection_of_what_was_not_counted() -> None:
    """The documents of a word, and with them its mutual information, are unknown, not 0; the rest
    is as for a model that has counted them.
    """
    classifier = TextClassifier.from_sklearn(fitted(CountVectorizer(), MultinomialNB()))
    counted = TextClassifier(model="multinomial", smoothing=1.0, calibrate=False).fit(
        *documents("train")
    )
    with pytest.raises(ModelError, match=r"by=mi: .* lacks the document frequencies"):
        inspect_model(classifier.model_, by="mi")
    for by in ("z", "log-odds", "frequency"):
        found = inspect_model(classifier.model_, by=by)
        expected = inspect_model(counted.model_, by=by)
        for label, other in zip(found.labels, expected.labels, strict=True):
            names = [view.feature for view in other.features]
            assert [view.feature for view in label.features] == names
            assert all(view.documents is None for view in label.features)
    prefers = {
        view.feature: label.label
        for label in inspect_model(classifier.model_, by="chi2").labels
        for view in label.features
    }
    assert (prefers["tax"], prefers["permit"], prefers["bags"]) == ("taxes", "permits", "trash")
    asked = inspection_result(inspect_model(classifier.model_, words=("parking",)))
    assert "mutual information –" in "".join(format_result(asked, "table"))

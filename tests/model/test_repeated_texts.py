"""Texts that repeat by nature: the choice of a model, both estimates, and `duplicates`, from
outside.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtext import TextClassifier, load_model
from nbtext.bayes.diagnostics import error_of
from nbtext.linear import learning

THREE = {
    "refund of my card payment": (0.7, 0.2, 0.1),
    "card payment declined": (0.15, 0.7, 0.15),
    "where is my new card": (0.2, 0.3, 0.5),
}


def three_texts(seed: int, n: int = 1500) -> tuple[list[str], list[str]]:
    """Three texts, each with labels of its own shares."""
    random = np.random.default_rng(seed)
    texts = random.choice(list(THREE), n).tolist()
    return texts, [
        str(random.choice(["refund", "declined", "delivery"], p=THREE[text])) for text in texts
    ]


def complaints(seed: int) -> tuple[list[str], list[str]]:
    """4,441 rows of 484 texts: product and part of a product; the label is one of 99 issues, some
    for each product.
    """
    random = np.random.default_rng(seed)
    words = [f"word{number}" for number in range(310)]
    issues = [random.choice(99, size=random.integers(4, 14), replace=False) for _ in range(18)]
    names = [
        [words[j] for j in random.choice(60, size=random.integers(1, 4), replace=False)]
        for _ in issues
    ]
    shares = 0.8 * random.dirichlet(np.full(18, 0.5)) + 0.2 / 18
    products: dict[str, int] = {}
    while len(products) < 484:
        product = int(random.choice(18, p=shares))
        parts = [
            words[60 + j] for j in random.choice(250, size=random.integers(1, 5), replace=False)
        ]
        products.setdefault(" ".join(names[product] + parts), product)
    usual = [random.dirichlet(np.full(len(each), 0.35)) for each in issues]
    own = [random.dirichlet(usual[product] * 25 + 1e-3) for product in products.values()]
    popularity = 1 / np.arange(1, 485)
    rows = [*range(484), *random.choice(484, 4441 - 484, p=popularity / popularity.sum()).tolist()]
    texts = list(products)
    numbers = list(products.values())
    return [texts[row] for row in rows], [
        f"issue {random.choice(issues[numbers[row]], p=own[row])}" for row in rows
    ]


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("duplicates", ["together", "separate"])
@pytest.mark.parametrize("seed", range(4))
def test_the_choice_where_a_text_has_several_labels(seed: int, duplicates: str) -> None:
    """Accuracy cannot tell the models apart, because few texts make it up; the log-loss of
    complement is far higher.
    """
    fitted = TextClassifier(duplicates=duplicates).fit(*complaints(seed)).fitted_
    assert fitted.model_settings.model == "multinomial"


def test_the_separate_estimate_is_that_of_new_documents_with_the_same_texts() -> None:
    """Left out together, the three texts are estimated as new ones; separately, as those of a fresh
    sample.
    """
    texts, labels = three_texts(1)
    together, separate = (
        TextClassifier(duplicates=each).fit(texts, labels) for each in ("together", "separate")
    )
    fresh_texts, fresh_labels = three_texts(2, 20_000)
    fresh = float((separate.predict(fresh_texts) == np.array(fresh_labels)).mean())
    expected = separate.fitted_.estimate
    other = together.fitted_.estimate
    assert expected is not None
    assert other is not None
    assert expected.accuracy == pytest.approx(fresh, abs=0.025)
    assert other.accuracy < fresh - 0.2
    assert other.other == pytest.approx(fresh, abs=0.025)
    assert expected.other is not None
    assert expected.other < fresh - 0.2
    assert expected.duplicates == other.duplicates == 1497


@pytest.mark.parametrize("model", ["svm", "logistic", "stacked"])
def test_both_estimates_of_a_linear_model_are_of_one_fit(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one needs other folds only, and its figure is that of a model whose duplicates are
    left out so.
    """
    readings: list[object] = []
    learn = learning.learn
    monkeypatch.setattr(
        learning, "learn", lambda *given, **named: readings.append(given) or learn(*given, **named)
    )
    texts, labels = three_texts(1, 900)
    together, separate = (
        TextClassifier(model=model, duplicates=each, token_pattern=r"\S+")
        .fit(texts, labels)
        .fitted_.estimate
        for each in ("together", "separate")
    )
    assert len(readings) == 2
    assert together.other == pytest.approx(separate.accuracy, abs=0.02)
    assert separate.other == pytest.approx(together.accuracy, abs=0.02)


@pytest.mark.parametrize("model", ["svm", "nbsvm", "logistic", "stacked"])
@pytest.mark.parametrize(
    "texts", [["red apple"] * 40, ["red apple", "blue berry"] * 20, ["red apple"] * 39 + ["sea"]]
)
def test_no_document_is_left_if_all_duplicates_are_left_out(model: str, texts: list[str]) -> None:
    """Then only the estimate that leaves out one at a time is there, and nothing fails."""
    labels = ["a", "b"] * 20
    separate, together = (
        TextClassifier(model=model, duplicates=each).fit(texts, labels).fitted_.estimate
        for each in ("separate", "together")
    )
    assert separate is not None
    assert separate.other is None
    assert together is None


def test_two_standard_errors() -> None:
    assert error_of(0.5, 10_000) == pytest.approx(0.01, rel=1e-3)
    assert error_of(1.0, 100) == pytest.approx(2 * math.sqrt(100.5 * 0.5) / 101 / 10)


def test_without_repeated_texts_there_is_one_estimate() -> None:
    texts = [
        f"{color} {shape} w{i}"
        for i, (color, shape) in enumerate([("red", "round"), ("blue", "long")] * 50)
    ]
    labels = ["a", "b"] * 50
    together, separate = (
        TextClassifier(duplicates=each).fit(texts, labels) for each in ("together", "separate")
    )
    assert together.fitted_.estimate == separate.fitted_.estimate
    assert together.predict_proba(texts).tolist() == separate.predict_proba(texts).tolist()


@pytest.mark.parametrize(
    "model", ["multinomial", "dirichlet", "complement", "bernoulli", "categorical", "gaussian"]
)
def test_probabilities_are_those_of_refits(model: str) -> None:
    """The left-out probabilities of `separate` are those of models of all other documents, whatever
    these are.
    """
    texts, labels = three_texts(3, 40)
    texts = [*texts, "my new phone", "my new phone"]
    labels = [*labels, "delivery", "refund"]
    options: dict[str, Any] = {
        "model": model,
        "smoothing": 0.5,
        "calibrate": False,
        "duplicates": "separate",
    }
    vocabulary = tuple(sorted({word for text in texts for word in text.split()}))
    left_out = (
        TextClassifier(**options, vocabulary=vocabulary)
        .fit(texts, labels)
        .leave_one_out_predict_proba_
    )
    if model == "gaussian":  # epsilon is that of the whole corpus
        assert not np.isnan(left_out).any()
        return
    for i in range(len(texts)):
        others = TextClassifier(**options, vocabulary=vocabulary).fit(
            [*texts[:i], *texts[i + 1 :]], [*labels[:i], *labels[i + 1 :]]
        )
        np.testing.assert_allclose(
            left_out[i], others.predict_proba([texts[i]])[0], rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("model", ["auto", "logistic", "nbsvm"])
def test_the_setting_is_stored(model: str, tmp_path: Path) -> None:
    """A model file keeps the setting and both estimates."""
    texts, labels = three_texts(4, 600)
    saved = TextClassifier(model=model, duplicates="separate").fit(texts, labels)
    saved.save(tmp_path / "m.joblib")
    loaded = load_model(tmp_path / "m.joblib")
    assert loaded.get_params()["duplicates"] == "separate"
    assert loaded.fitted_.estimate == saved.fitted_.estimate
    assert saved.fitted_.estimate is not None
    assert saved.fitted_.estimate.other is not None
    more = loaded.partial_fit(["my new phone"], ["refund"]) if model == "auto" else loaded
    assert more.get_params()["duplicates"] == "separate"


@pytest.mark.parametrize("model", ["auto", "svm"])
def test_several_labels(model: str, tmp_path: Path) -> None:
    """Where a document has several labels, both estimates are of micro F1; they are stored, too."""
    random = np.random.default_rng(5)
    different = [
        " ".join(sorted(random.choice([f"word{k}" for k in range(12)], 3))) for _ in range(40)
    ]
    shares = random.dirichlet(np.full(3, 0.3), 40)
    rows = random.integers(0, 40, 1200).tolist()
    texts = [different[row] for row in rows]
    labels = [[str(random.choice(["x", "y", "z"], p=shares[row])), f"odd{row % 2}"] for row in rows]
    together, separate = (
        TextClassifier(model=model, duplicates=each).fit(texts, labels)
        for each in ("together", "separate")
    )
    for classifier, how in ((together, "together"), (separate, "separate")):
        classifier.save(tmp_path / "m.joblib")
        loaded = load_model(tmp_path / "m.joblib")
        assert loaded.get_params()["duplicates"] == how
        fit = classifier.fitted_.task.fit
        again = loaded.fitted_.task.fit
        assert fit is not None
        assert again is not None
        assert fit.estimate is not None
        assert again.estimate is not None
        assert (again.estimate.duplicates, again.estimate.other) == (
            fit.estimate.duplicates,
            fit.estimate.other,
        )
        assert fit.estimate.duplicates == 1200 - len(set(texts))
        assert fit.estimate.other is not None
        assert (fit.estimate.other > fit.estimate.micro_f1 + 0.05) is (how == "together")
        assert (fit.estimate.other < fit.estimate.micro_f1 - 0.05) is (how == "separate")

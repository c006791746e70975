"""Texts that repeat by nature: the choice of a model, both estimates, and `duplicates`, from
outside.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from made_texts import three_texts
from numpy.typing import NDArray

from nbtext import TextClassifier, load_model
from nbtext.bayes.diagnostics import error_of
from nbtext.bayes.label_calibration import MultilabelEstimate


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
@pytest.mark.parametrize("seed", range(4))
def test_the_choice_where_a_text_has_several_labels(seed: int) -> None:
    """Accuracy cannot tell the models apart, because few texts make it up; the log-loss of
    complement is far higher.
    """
    # with an option of features, words alone are counted
    fitted = TextClassifier(lowercase=False).fit(*complaints(seed)).fitted_
    assert fitted.model_settings.model == "multinomial"


def test_the_second_estimate_is_that_of_new_documents_with_the_same_texts() -> None:
    """Left out together, the three texts are estimated as new ones; alone, as those of a fresh
    sample.
    """
    texts, labels = three_texts(1)
    classifier = TextClassifier().fit(texts, labels)
    fresh_texts, fresh_labels = three_texts(2, 20_000)
    fresh = float((classifier.predict(fresh_texts) == np.array(fresh_labels)).mean())
    expected = classifier.fitted_.estimate
    assert expected is not None
    assert expected.accuracy < fresh - 0.2
    assert expected.other == pytest.approx(fresh, abs=0.025)
    assert expected.duplicates == 1497


@pytest.mark.parametrize("model", ["svm", "nbsvm", "logistic", "stacked"])
@pytest.mark.parametrize(
    "texts", [["red apple"] * 40, ["red apple", "blue berry"] * 20, ["red apple"] * 39 + ["sea"]]
)
def test_no_document_is_left_if_all_duplicates_are_left_out(model: str, texts: list[str]) -> None:
    """Then there is no estimate, and nothing fails."""
    assert TextClassifier(model=model).fit(texts, ["a", "b"] * 20).fitted_.estimate is None


def test_two_standard_errors() -> None:
    assert error_of(0.5, 10_000) == pytest.approx(0.01, rel=1e-3)
    assert error_of(1.0, 100) == pytest.approx(2 * math.sqrt(100.5 * 0.5) / 101 / 10)


def test_without_repeated_texts_there_is_one_estimate() -> None:
    texts = [
        f"{color} {shape} w{i}"
        for i, (color, shape) in enumerate([("red", "round"), ("blue", "long")] * 50)
    ]
    expected = TextClassifier().fit(texts, ["a", "b"] * 50).fitted_.estimate
    assert expected is not None
    assert expected.duplicates == 0
    assert expected.other is None


@pytest.mark.parametrize("seed", range(3))
def test_several_labels(seed: int, tmp_path: Path) -> None:
    """Where a document has several labels, both estimates are of micro F1, and stored, too; the
    second one is that of new documents with the same texts.
    """
    random = np.random.default_rng(seed)
    words = [f"word{number}" for number in range(60)]
    different = [" ".join(random.choice(words, 2, replace=False)) for _ in range(40)]
    usual = random.random((40, 4)) < 0.4
    usual[:, 0] = ["word1" in text for text in different]

    def draw(n: int) -> tuple[list[str], NDArray[np.bool_]]:
        rows = random.integers(0, 40, n)
        return [different[row] for row in rows], usual[rows] ^ (random.random((n, 4)) < 0.05)

    texts, has_label = draw(1200)
    labels = [[f"label{k}" for k in np.flatnonzero(row)] for row in has_label]
    classifier = TextClassifier().fit(texts, labels)
    classifier.save(tmp_path / "m.joblib")
    expected = load_model(tmp_path / "m.joblib").fitted_.estimate
    assert isinstance(expected, MultilabelEstimate)
    assert expected.other is not None
    assert expected.other == classifier.fitted_.estimate.other
    assert expected.duplicates == 1200 - len(set(texts))
    assert expected.other > expected.micro_f1 + 0.03
    fresh_texts, true = draw(10_000)
    predicted = np.array(
        [[f"label{k}" in each for k in range(4)] for each in classifier.predict(fresh_texts)]
    )
    micro_f1 = 2 * (predicted & true).sum() / (predicted.sum() + true.sum())
    assert expected.other == pytest.approx(micro_f1, abs=0.03)

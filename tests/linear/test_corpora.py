"""The discriminative models on 20 Newsgroups."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from made_rows import (
    fit,
    softmax_objective,
    texts_of,
    training_data,
)

from nbtext import TextClassifier
from nbtext.features.vectorizer import Vectorizer
from nbtext.kernel import HAS_KERNEL
from nbtext.linear.data import SolverSettings, TrainingData
from nbtext.linear.stacking import C_OF_CHARACTERS

LECTURE = ["alt.atheism", "comp.graphics", "sci.med", "soc.religion.christian"]
pytestmark = pytest.mark.skipif(
    not HAS_KERNEL, reason="the kernel is not compiled, and without it these take minutes"
)


class Halves(NamedTuple):
    """Both halves of a corpus as matrices, with the numbers of their labels."""

    vectorizer: Vectorizer
    labels: list[str]
    training: TrainingData
    matrix: Any
    test: Any
    test_classes: Any


def halves(folder: Path, groups: list[str] | None = None, **options: Any) -> Halves:
    texts, labels = texts_of(folder / "train", groups)
    test_texts, test_labels = texts_of(folder / "test", groups)
    names = sorted(set(labels))
    vectorizer = Vectorizer(**options)
    matrix = vectorizer.fit_transform(texts).astype(np.float64)
    return Halves(
        vectorizer,
        names,
        training_data(matrix, [names.index(label) for label in labels]),
        matrix,
        vectorizer.transform(test_texts).astype(np.float64),
        [names.index(label) for label in test_labels],
    )


@pytest.fixture(scope="module")
def pairs(corpora: Callable[[str], Path]) -> Halves:
    """All groups, words and pairs seen at least twice, TF-IDF with 1 + ln tf."""
    return halves(corpora("20news"), ngrams=(1, 2), min_df=2, tf="log", idf="smooth", norm="l2")


def accuracy(scorer: Any, matrix: Any, classes: Any) -> float:
    scores = scorer.scores(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data
    )
    return float((scores.argmax(axis=1) == classes).mean())


def test_the_lecture(corpora: Callable[[str], Path]) -> None:
    """Four groups, binary bag, C = 1e5: the lecture's labels, at least its accuracy, the least
    objective.
    """
    from sklearn.linear_model import LogisticRegression

    corpus = halves(corpora("20news"), LECTURE, tf="binary")
    training = corpus.training
    scorer, _ = fit("logistic", training, SolverSettings(1e5))
    assert accuracy(scorer, corpus.test, corpus.test_classes) >= 0.895
    quoted = corpus.vectorizer.transform(["God is love", "OpenGL on the GPU is fast"])
    answers = scorer.scores(
        quoted.indptr.astype(np.int64), quoted.indices.astype(np.int32), quoted.data
    )
    assert [corpus.labels[k] for k in answers.argmax(axis=1)] == [
        "soc.religion.christian",
        "comp.graphics",
    ]
    classes = training.table.classes
    own = softmax_objective(corpus.matrix, classes, scorer.weights().T, scorer.bias, C=1e5)
    peer = LogisticRegression(C=1e5, solver="newton-cg", tol=0.1).fit(corpus.matrix, classes)
    assert own <= softmax_objective(
        corpus.matrix, classes, peer.coef_.T, peer.intercept_, C=1e5
    ) * (1 + 1e-4)
    # where Newton's method ends after 714 steps of its inner one
    assert own == pytest.approx(819.8175, rel=1e-4)


@pytest.mark.exhaustive
def test_nbsvm_on_20_newsgroups(pairs: Halves) -> None:
    """Words and pairs with the default settings: at least 0.872."""
    data = pairs.training
    scorer, solution = fit("nbsvm", data, SolverSettings(1.0), jobs=2)
    assert accuracy(scorer, pairs.test, pairs.test_classes) >= 0.872
    assert solution.is_converged


def test_characters_need_more_regularization(corpora: Callable[[str], Path]) -> None:
    """NB-SVM of characters, as in stacks: other Thai messages have a lower log-loss than with C =
    1.

    A text has many more n-grams of characters than words.
    """
    lines = (
        (corpora("wisesight-th") / "train.jsonl").read_text(encoding="utf-8").splitlines()[:4000]
    )
    documents = [json.loads(line) for line in lines]
    texts, labels = [[document[field] for document in documents] for field in ("text", "label")]
    losses = []
    for C in (C_OF_CHARACTERS, 1.0):
        model = TextClassifier(model="nbsvm", analyzer="char", ngrams=(1, 5), C=C).fit(
            texts[::2], labels[::2]
        )
        probabilities = model.predict_proba(texts[1::2])
        own = np.searchsorted(model.classes_, labels[1::2])
        losses.append(-np.log(probabilities[np.arange(len(own)), own]).mean())
    assert losses[0] < losses[1] - 0.005

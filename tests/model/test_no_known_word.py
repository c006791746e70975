"""A document without a known word is like any other, in every estimate and prediction: its score is
that of an empty document.
"""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from made_texts import make_texts
from sklearn.feature_extraction.text import CountVectorizer

from nbtext import TextClassifier


def test_an_empty_row_of_a_matrix() -> None:
    """It is predicted as an empty text is, and the others as their texts are, by every event model
    of counts.
    """
    texts = ["red round", "red long", "blue round", "blue", ""] * 4
    labels = ["a", "a", "b", "b", "a"] * 4
    vectorizer = CountVectorizer()
    rows = vectorizer.fit_transform(texts)
    for model in ("multinomial", "bernoulli", "complement", "svm"):
        of_rows = TextClassifier(model=model).fit(rows, labels)
        of_texts = TextClassifier(model=model).fit(texts, labels)
        np.testing.assert_allclose(
            of_rows.predict_proba(vectorizer.transform(["zzz", *texts])),
            of_texts.predict_proba(["", *texts]),
            atol=1e-3,  # a matrix has no lengths, by which a temperature could differ
        )


def save(classifier: TextClassifier, path: Path) -> str:
    classifier.save(path)
    return str(path)


@pytest.mark.parametrize("model", ["multinomial", "complement"])
def test_leaving_out_equals_a_refit_without_the_document(model: str) -> None:
    """A word of one document is unknown when this document is left out, together with its
    copies; of a text without known words equal priors decide, and not what rounding leaves.
    """
    rows = [*make_texts(24), ("unheard only", "fruit"), ("unheard only", "tool")]
    texts = [text for text, _ in rows]
    labels = [label for _, label in rows]
    options: dict[str, Any] = {
        "model": model,
        "prior": "uniform",
        "smoothing": 1.0,
        "calibrate": False,
    }
    classifier = TextClassifier(**options).fit(texts, labels)
    vocabulary = tuple(classifier.fitted_.vocabulary or ())
    found = []
    n_unknown = 0
    for text in texts:
        others = [(t, label) for t, label in rows if sorted(t.split()) != sorted(text.split())]
        refitted = TextClassifier(**options, vocabulary=vocabulary).fit(*zip(*others, strict=True))
        learned = {word for t, _ in others for word in t.split()}
        known = [word for word in text.split() if word in learned]
        n_unknown += not known
        found.append(refitted.predict_proba([" ".join(known)])[0])
    assert n_unknown == 14
    estimate = classifier.fitted_.estimate
    assert estimate is not None and estimate.documents == len(rows)
    right = np.argmax(found, axis=1) == [label == "tool" for label in labels]
    assert estimate.accuracy == pytest.approx(right.mean())
    own = [row[int(label == "tool")] for row, label in zip(found, labels, strict=True)]
    assert estimate.log_loss == pytest.approx(-np.log(own).mean())


def test_a_recall_target_counts_them() -> None:
    """40 of 200 spam mails have words of their own only: a recall of 0.7 needs none of them, and
    one of 0.9 makes spam of every text without a known word.
    """
    rows = [(f"{label} number{i}", label) for label in ("ham", "spam") for i in range(200)]
    texts = [f"unheard{i}" if 200 <= i < 240 else text for i, (text, _) in enumerate(rows)]
    labels = [label for _, label in rows]
    for recall, answer in ((0.7, "ham"), (0.9, "spam")):
        classifier = TextClassifier(min_recall={"spam": recall}, prior=(3.0, 1.0))
        assert classifier.fit(texts, labels).predict(["zzz"]).tolist() == [answer]


def test_empty_texts_do_not_displace_others_from_the_sample() -> None:
    """Half of 12,000 texts are empty: the estimate is made on both halves, though all empty ones
    have one content.
    """
    random = Random(1)
    words = {label: [f"{label}{i}" for i in range(50)] for label in "abc"}
    labels = ["abc"[i % 3] for i in range(12_000)]
    texts = [
        "" if i % 2 else " ".join(random.choices(words[label], k=4))
        for i, label in enumerate(labels)
    ]
    classifier = TextClassifier().fit(texts, labels)
    estimate = classifier.fitted_.estimate
    # every second text is predicted, and a third of the others by chance
    assert estimate is not None and estimate.accuracy == pytest.approx(2 / 3, abs=0.01)
    assert classifier.fitted_.calibration.temperature is not None
    kept = (
        TextClassifier(keep_sample=500)
        .fit(texts[:6000], labels[:6000])
        .partial_fit(texts[6000:], labels[6000:])
    )
    whole = TextClassifier(keep_sample=500).fit(texts, labels)
    assert kept.fitted_.estimate == whole.fitted_.estimate


@pytest.mark.parametrize("keep", [5, 100])
def test_grown_models_of_empty_texts_equal_trained_ones(keep: int, tmp_path: Path) -> None:
    """Byte by byte, also after the parts were saved; and an empty text can be forgotten."""
    rows = make_texts(40)
    texts = [text for text, _ in rows]
    labels = [label for _, label in rows]
    options: dict[str, Any] = {"keep_sample": keep, "model": "multinomial"}
    whole = save(TextClassifier(**options).fit(texts, labels), tmp_path / "whole")
    save(TextClassifier(**options).fit(texts[:20], labels[:20]), tmp_path / "part")
    grown = TextClassifier.load(tmp_path / "part").partial_fit(texts[20:], labels[20:])
    assert Path(save(grown, tmp_path / "grown")).read_bytes() == Path(whole).read_bytes()
    if keep == 100:
        fewer = TextClassifier.load(whole).forget([""], [labels[2]])
        again = TextClassifier(**options).fit(texts[:2] + texts[3:], labels[:2] + labels[3:])
        assert texts[2] == "" and fewer.fitted_.estimate == again.fitted_.estimate

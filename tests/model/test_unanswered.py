"""A document without a word that the model knows is unanswered, in every estimate and
prediction.
"""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.bayes.event_models import EVENT_MODELS, LINEAR_MODELS
from nbtext.errors import SettingsError
from nbtext.model.fitting import leave_one_out_probabilities

WORDS = {"fruit": ["apple", "pear", "plum", "cherry"], "tool": ["hammer", "saw", "drill", "pliers"]}


def make_texts(n: int, seed: int = 0) -> list[tuple[str, str]]:
    """Return texts of two labels, two of three of them fruit: a word, or none, or one that no other
    text has.
    """
    random = Random(seed)
    rows = []
    for i in range(n):
        label = "tool" if i % 3 == 2 else "fruit"
        text = (
            " ".join(random.choices(WORDS[label], k=3))
            if i % 4 < 2
            else ("", f"unheard{i}")[i % 4 - 2]
        )
        rows.append((text, label))
    return rows


@pytest.mark.parametrize("model", ["auto", *EVENT_MODELS, *LINEAR_MODELS])
def test_python_gives_the_most_frequent_label_and_the_prior(model: str, tmp_path: Path) -> None:
    """Also with decision offsets, and after the model was saved; b is the most frequent label, and
    not the first.
    """
    texts = [f"{word} thing" for word in ("ant", "bee", "bee", "bee", "cow", "cow")] * 4
    labels = [text[0] for text in texts]
    classifier = TextClassifier(model=model, optimize="macro_f1").fit(texts, labels)
    for each in (classifier, TextClassifier.load(save(classifier, tmp_path / "m"))):
        assert each.predict(["zzz", ""]).tolist() == ["b", "b"]
        assert each.classes_[each.decision_function(["zzz"]).argmax()] == "b"
        np.testing.assert_allclose(np.exp(each.class_log_prior_)[None], each.predict_proba(["zzz"]))
    if model not in LINEAR_MODELS:
        uniform = TextClassifier(model=model, prior="uniform").fit(texts, labels)
        np.testing.assert_allclose(uniform.predict_proba([""]), 1 / 3)


def save(classifier: TextClassifier, path: Path) -> str:
    classifier.save(path)
    return str(path)


@pytest.mark.exhaustive(every=4)
@pytest.mark.parametrize("model", EVENT_MODELS)
@pytest.mark.parametrize("prior", [None, "uniform", (3.0, 1.0)])
def test_leaving_out_equals_a_refit_without_the_document(model: str, prior: Any) -> None:
    """A word of one document is unknown when this document is left out, together with its
    copies.
    """
    rows = [*make_texts(24), ("unheard only", "fruit"), ("unheard only", "tool")]
    texts = [text for text, _ in rows]
    labels = [label for _, label in rows]
    options: dict[str, Any] = {
        "prior": prior,
        "smoothing": 1.0,
        "view": ("word:1",) * (model == "combined"),
    }
    classifier = TextClassifier(model=model, **options).fit(texts, labels)
    found = classifier.leave_one_out_predict_proba_
    is_known = []
    for text, mine in zip(texts, found, strict=True):
        others = [(t, label) for t, label in rows if t != text]
        refitted = TextClassifier(model=model, **options).fit(*zip(*others, strict=True))
        known = {term.removeprefix("word:1=") for term in refitted.fitted_.vocabulary or ()}
        is_known.append(not known.isdisjoint(text.split()))
        if not is_known[-1]:
            np.testing.assert_allclose(mine, refitted.predict_proba([text])[0], atol=1e-12)
    estimate = classifier.fitted_.estimate
    assert estimate is not None and estimate.unanswered == is_known.count(False) == 14
    right = found.argmax(axis=1) == [label == "tool" for label in labels]
    assert estimate.accuracy == pytest.approx(np.mean(right & is_known))
    own = found[np.arange(len(labels)), [int(label == "tool") for label in labels]]
    if model != "combined":  # whose estimate has the weights of the other half
        assert estimate.log_loss == pytest.approx(-np.log(own).mean())
    assert len(leave_one_out_probabilities(classifier.model_)[0]) == len(rows)


def test_recall_counts_texts_that_get_no_label() -> None:
    """A target that only answers could meet is refused, in one line that says why."""
    rows = [(f"{label} {label}s", label) for label in ("ham", "spam") for _ in range(200)]
    texts = [text + f" number{i}" for i, (text, _) in enumerate(rows)]
    labels = [label for _, label in rows]
    TextClassifier(min_recall={"spam": 0.9}).fit(texts, labels)
    texts[200:240] = [f"unheard{i}" for i in range(40)]
    with pytest.raises(SettingsError, match=r"40 of 200 documents get no label"):
        TextClassifier(min_recall={"spam": 0.9}).fit(texts, labels)
    with pytest.raises(SettingsError, match=r"get no label"):
        TextClassifier(min_recall={"spam": 0.9}, model="logistic").fit(texts, labels)


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
    assert estimate is not None and estimate.accuracy == pytest.approx(0.5, abs=0.01)
    assert (
        estimate.unanswered == estimate.documents // 2
        and classifier.fitted_.calibration.temperature is not None
    )
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

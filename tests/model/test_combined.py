"""The model `combined`: its views, its growth, its file and its estimate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.artifact.model import load_model_file, save_model_file
from nbtext.artifact.reduction import limit_size
from nbtext.bayes.combination import combine
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.errors import ArtifactError, ModelError, SettingsError
from nbtext.features.vocabulary import find_views
from nbtext.model.growth import calibrate_model, update_with_counts
from nbtext.model.view_selection import (
    CHARACTER_VIEW,
    MAX_SHORT_WORDS,
    UNSPACED_VIEWS,
    WORD_VIEWS,
)

ALL_VIEWS = tuple(sorted((*WORD_VIEWS, CHARACTER_VIEW)))


def make_texts(n: int, *, length: int = 6, seed: int = 0) -> tuple[list[str], list[str]]:
    """Texts of three labels, whose words, pairs of words and parts of words differ."""
    random = Random(seed)
    texts = []
    labels = []
    for number in range(n):
        label = ("red", "green", "blue")[number % 3]
        own = [f"{label}{random.randrange(4)}ish", "big", label, f"rare{random.randrange(200)}"]
        texts.append(
            " ".join(
                random.choice((*own, "big", "old", "sea", "sun", "rain")) for _ in range(length)
            )
        )
        labels.append(label)
    return texts, labels


def test_views_follow_from_the_texts() -> None:
    """Characters are counted where texts are short, or words are not separated, and then no pairs
    of words; what is given stays.
    """
    short, labels = make_texts(30)
    long = [" ".join([text] * (int(MAX_SHORT_WORDS) // 4)) for text in short]
    fitted = TextClassifier(model="combined").fit
    assert fitted(short, labels).fitted_.feature_settings.view == ALL_VIEWS
    assert fitted(long, labels).fitted_.feature_settings.view == WORD_VIEWS
    unspaced = [
        "".join(["高い売上高" if label == "red" else "低い利益率"] * 9) + " word" * 60
        for label in labels
    ]
    assert fitted(long, labels).fitted_.feature_settings.view == WORD_VIEWS
    assert (
        fitted([text * 20 for text in unspaced], labels).fitted_.feature_settings.view == WORD_VIEWS
    )
    assert (
        fitted(
            [" ".join([text[:5]] * 60) for text in unspaced], labels
        ).fitted_.feature_settings.view
        == UNSPACED_VIEWS
    )
    assert TextClassifier(model="combined", view=("word:1",)).fit(
        short, labels
    ).fitted_.feature_settings.view == ("word:1",)
    for options in (
        {"ngrams": (1, 2)},
        {"analyzer": "char"},
        {"hash_bits": 10},
        {"vocabulary": ("big", "red")},
    ):
        classifier = TextClassifier(model="combined", **options).fit(short, labels)
        assert classifier.fitted_.feature_settings.view == ()
        assert {part.view for part in classifier.fitted_.hyperparameters.parts} == {""}


def test_counts_are_binary_and_views_are_stated() -> None:
    """The settings name what was chosen, so that more documents are counted in the same way."""
    classifier = TextClassifier(model="combined").fit(*make_texts(60))
    fitted = classifier.fitted_
    assert (fitted.feature_settings.tf, fitted.is_binary_selected) == ("binary", True)
    assert [part.view for part in fitted.hyperparameters.parts] == [
        view for view in ALL_VIEWS for _ in range(2)
    ]
    assert sum(part.weight for part in fitted.hyperparameters.parts) == pytest.approx(1)
    weighted = TextClassifier(model="combined", view=("word:1:tfidf", "word:2")).fit(
        *make_texts(60)
    )
    assert weighted.predict(["red0ish red"]).tolist() == ["red"]


def test_a_model_without_documents_keeps_its_parts(tmp_path: Path) -> None:
    """Updated from the file, it is the scorer of the earlier parts and the counts of all
    documents.
    """
    texts, labels = make_texts(90)
    TextClassifier(model="combined").fit(texts[:60], labels[:60]).save(str(tmp_path / "m"))
    earlier = load_model_file(tmp_path / "m")
    more = TextClassifier(model="combined").fit(texts[60:], labels[60:]).model_.counts
    later = update_with_counts(
        earlier, replace(more, sample=more.sample.smallest(0), sample_size=0)
    ).fitted
    assert later.hyperparameters == earlier.fitted.hyperparameters
    assert "weights" in later.approximate
    whole = TextClassifier(model="combined").fit(texts, labels).model_
    assert whole.counts.vocabulary is not None
    views = whole.fitted.feature_settings.view
    model = combine(later.hyperparameters.parts, views, find_views(whole.counts.vocabulary, views))
    expected = model.compile(whole.counts.statistics.binarize(), smoothing=1.0)
    np.testing.assert_array_equal(later.scorer.weights(), expected.weights())


def test_a_file_of_wrong_parts_is_refused(tmp_path: Path) -> None:
    """Parts that cannot be right are refused, with their place."""
    texts, labels = make_texts(60)
    classifier = TextClassifier(model="combined").fit(texts, labels)
    first, *others = classifier.fitted_.hyperparameters.parts
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"weight": -1.0}, "parts.weight"),
        ({"weight": 1e99}, "parts.weight"),
        ({"smoothing": -1.0}, "parts.smoothing"),
        ({"model": "gaussian"}, "parts.model"),
        ({"model": "combined"}, "parts.model"),
        ({"C": 1.0}, "parts.C"),
        ({"view": "word:7"}, "hyperparameters.parts"),
    ]
    for changes, place in wrong:
        save_parts(classifier, (replace(first, **changes), *others), tmp_path / "wrong")
        with pytest.raises(ArtifactError, match=place):
            load_model_file(tmp_path / "wrong")
    save_parts(classifier, (), tmp_path / "wrong")
    with pytest.raises(ArtifactError, match="parts"):
        load_model_file(tmp_path / "wrong")
    other = TextClassifier(model="complement").fit(texts, labels)
    save_parts(other, (replace(first, view=""),), tmp_path / "wrong")
    with pytest.raises(ArtifactError, match="parts"):
        load_model_file(tmp_path / "wrong")


def save_parts(classifier: TextClassifier, parts: Any, path: Path) -> None:
    """Write a model with other parts."""
    fitted = classifier.fitted_
    changed = replace(fitted, hyperparameters=replace(fitted.hyperparameters, parts=parts))
    save_model_file(replace(classifier.model_, fitted=changed), path)


def test_a_part_that_is_linear_refuses_growth() -> None:
    """Such a combination is not fitted to sums of counts."""
    texts, labels = make_texts(60)
    classifier = TextClassifier(model="combined").fit(texts, labels)
    fitted = classifier.fitted_
    part = replace(fitted.hyperparameters.parts[0], model="svm", C=1.0)
    changed = replace(fitted, hyperparameters=replace(fitted.hyperparameters, parts=(part,)))
    with pytest.raises(ModelError, match="combined with svm models, which are not fitted"):
        update_with_counts(
            replace(classifier.model_, load_counts=classifier.model_.load_counts, fitted=changed),
            classifier.counts_,
        )


def test_smoothing_multiplies_that_of_the_parts() -> None:
    """It is stored once, and the parts keep theirs."""
    texts, labels = make_texts(60)
    classifier = TextClassifier(model="combined", smoothing=0.5).fit(texts, labels)
    assert classifier.fitted_.hyperparameters.smoothing == 0.5
    assert {part.smoothing for part in classifier.fitted_.hyperparameters.parts} == {0.1, 1.0}


def test_a_given_prior_is_kept() -> None:
    """It moves the probabilities, and is not adjusted."""
    texts, labels = make_texts(60)
    uniform = TextClassifier(model="combined", prior="uniform").fit(texts, labels)
    given = TextClassifier(model="combined", prior=(1.0, 50.0, 1.0)).fit(texts, labels)
    assert uniform.fitted_.calibration.prior_adjustment is None
    assert given.predict_proba(["sea"])[0, 1] > uniform.predict_proba(["sea"])[0, 1]


def test_several_labels_and_unlabeled_documents_are_refused() -> None:
    """Each in one line."""
    texts, labels = make_texts(30)
    with pytest.raises(
        SettingsError, match="combined cannot be trained on documents with several labels"
    ):
        TextClassifier(model="combined").fit(texts, [[label, "color"] for label in labels])


def test_labels_beyond_those_that_are_fitted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many labels, weights are fitted to the first documents, and the others are scored by
    them.
    """
    texts, labels = make_texts(120)
    monkeypatch.setattr("nbtext.bayes.combination.MAX_WEIGHTED_SCORES", 3 * 6 * 40)
    classifier = TextClassifier(model="combined").fit(texts, labels)
    expected = classifier.fitted_.estimate
    assert expected is not None
    assert expected.documents == 120


def make_uneven_texts(n: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Texts of three labels; the words of one are there in many forms at once, so that its scores
    are too certain.
    """
    random = Random(seed)
    names = ("red", "green", "blue")
    labels = [random.choice(names) for _ in range(n)]
    texts = []
    for label in labels:
        said = [label if random.random() < 0.4 else random.choice(names) for _ in range(4)]
        words = [f"{name}{random.randrange(9)}" for name in said]
        forms = ["abcdefgh" if word.startswith("red") else "a" for word in words]
        texts.append(
            " ".join(word + form for word, own in zip(words, forms, strict=True) for form in own)
        )
    return texts, labels


def test_labels_of_repeated_evidence_have_scales(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file, explanations, inspection, exports and models after an update have them."""
    monkeypatch.setattr(
        "nbtext.bayes.corrections.MAX_CORRECTED_LABELS", 2
    )  # these would do the same
    texts, labels = make_uneven_texts(600)
    options: dict[str, Any] = {"model": "combined", "view": ("word:1", "word:2")}
    classifier = TextClassifier(**options, keep_sample=1000).fit(texts, labels)
    scales = classifier.fitted_.calibration.label_scales
    assert scales is not None
    new, _ = make_uneven_texts(50, seed=1)
    found = classifier.predict_proba(new)
    save_model_file(classifier.model_, tmp_path / "m")
    loaded = TextClassifier.from_model(load_model_file(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.predict_proba(new), found)
    for explanation in classifier.explain(new[:5]):
        terms = explanation.terms
        total = sum(each.log_odds for each in explanation.contributions)
        assert total + terms.prior + terms.absent + terms.calibration == pytest.approx(
            explanation.log_odds
        )
    plain = classifier.fitted_.scorer
    assert classifier.fitted_.scaled_scorer.base is not None
    assert plain.scale_labels(scales).n_features == plain.n_features
    task = classifier.fitted_.task.transfer(("blue", "grey", "green", "red"), Hyperparameters(1.0))
    assert task.calibration.label_scales.tolist() == [scales[0], 1.0, *scales[1:]]


def make_copied_texts(n: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Texts of two labels: one word of evidence stands beside six copies of another, weaker one."""
    random = Random(seed)
    labels = [random.choice(("pro", "con")) for _ in range(n)]
    texts = []
    for label in labels:
        other = "con" if label == "pro" else "pro"
        strong = label if random.random() < 0.85 else other
        weak = label if random.random() < 0.65 else other
        words = [f"{weak}{letter}" for letter in "abcdef"] + [f"{strong}strong"]
        texts.append(" ".join(random.sample(words, len(words))))
    return texts, labels


def share_of_right(classifier: TextClassifier, texts: list[str], labels: list[str]) -> float:
    return float(np.mean([a == b for a, b in zip(classifier.predict(texts), labels, strict=True)]))


COPIED: dict[str, Any] = {"model": "combined", "view": ("word:1", "word:2")}


def test_weights_of_frequent_features_are_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of a word count as one; what leave-one-out estimates holds on new texts."""
    new, truth = make_copied_texts(2000, seed=1)
    classifier = TextClassifier(**COPIED).fit(*make_copied_texts(800))
    fitted = classifier.fitted_
    assert fitted.hyperparameters.n_corrected
    found = share_of_right(classifier, new, truth)
    assert found > 0.84
    assert fitted.estimate is not None
    assert abs(fitted.estimate.accuracy - found) < 0.03
    retained = TextClassifier(**COPIED, keep_sample=1000).fit(*make_copied_texts(800))
    left_out = retained.leave_one_out_predict_proba_
    right = np.array(fitted.labels)[left_out.argmax(axis=1)] == make_copied_texts(800)[1]
    assert abs(right.mean() - found) < 0.03
    monkeypatch.setattr("nbtext.bayes.corrections.MAX_CORRECTED_LABELS", 1)
    plain = TextClassifier(**COPIED).fit(*make_copied_texts(800))
    assert plain.fitted_.hyperparameters.n_corrected is None
    assert share_of_right(plain, new, truth) < found - 0.02


def test_corrections_are_kept(tmp_path: Path) -> None:
    """The file has them; an update fits them again if it has a sample, and else keeps them, with 0
    for a new label.
    """
    texts, labels = make_copied_texts(800)
    more, their_labels = make_copied_texts(300, seed=2)
    new, truth = make_copied_texts(500, seed=3)
    classifier = TextClassifier(**COPIED).fit(texts, labels)
    save_model_file(classifier.model_, tmp_path / "m")
    loaded = load_model_file(tmp_path / "m")
    corrections = loaded.fitted.hyperparameters.corrections
    assert corrections is not None
    assert len(corrections.features) == loaded.fitted.hyperparameters.n_corrected
    reloaded = TextClassifier.from_model(loaded)
    np.testing.assert_array_equal(reloaded.predict_proba(new), classifier.predict_proba(new))
    updated = TextClassifier.from_model(loaded).partial_fit(
        [*more, "green sea"], [*their_labels, "sea"]
    )
    kept = updated.fitted_.hyperparameters.corrections
    assert kept is not None
    assert (kept.weights[:, updated.fitted_.labels.index("sea")] == 0).all()
    assert share_of_right(updated, new, truth) > 0.84
    retained = TextClassifier(**COPIED, keep_sample=2000)
    grown = retained.fit(texts, labels).partial_fit(more, their_labels)
    at_once = TextClassifier(**COPIED, keep_sample=2000).fit(texts + more, labels + their_labels)
    save_model_file(grown.model_, tmp_path / "grown")
    save_model_file(at_once.model_, tmp_path / "once")
    assert (tmp_path / "grown").read_bytes() == (tmp_path / "once").read_bytes()


def test_a_small_model_is_judged_by_others_than_its_documents() -> None:
    """Corrections of all documents would know those that are held out to calibrate it."""
    texts, labels = make_copied_texts(800)
    full = TextClassifier(**COPIED, keep_sample=1000).fit(texts, labels)
    small = limit_size(full.model_, 10_000).model
    estimate = small.fitted.estimate
    assert estimate is not None
    found = share_of_right(TextClassifier.from_model(small), *make_copied_texts(2000, seed=1))
    assert abs(estimate.accuracy - found) < 0.04


def test_damaged_corrections_are_refused(tmp_path: Path) -> None:
    classifier = TextClassifier(**COPIED).fit(*make_copied_texts(800))
    fitted = classifier.fitted_
    corrections = fitted.hyperparameters.corrections
    assert corrections is not None
    short = replace(corrections, weights=corrections.weights[1:])
    damaged = replace(fitted, hyperparameters=replace(fitted.hyperparameters, corrections=short))
    save_model_file(replace(classifier.model_, fitted=damaged), tmp_path / "m")
    with pytest.raises(ArtifactError, match="a row for each feature"):
        load_model_file(tmp_path / "m")


def test_counts_are_used_where_they_tell_more() -> None:
    """Binary counts are the rule; where a label is in how often a word stands, counts are."""
    random = Random(0)
    words = [f"word{letter}" for letter in "abcdefgh"]
    labels = [random.choice(("many", "few")) for _ in range(400)]
    texts = [
        " ".join(
            random.choices(words, [5, 5, 1, 1, 1, 1, 1, 1], k=40)
            if label == "many"
            else random.choices(words, [1, 1, 5, 5, 5, 5, 5, 5], k=40)
        )
        for label in labels
    ]
    assert not TextClassifier(**COPIED).fit(texts, labels).fitted_.is_binary_selected
    assert TextClassifier(**COPIED).fit(*make_texts(300)).fitted_.is_binary_selected


def test_corrections_are_fitted_to_other_documents() -> None:
    """As `nbtext calibrate` does it, some of which may be in the model."""
    texts, labels = make_copied_texts(800)
    more, their_labels = make_copied_texts(800, seed=2)
    classifier = TextClassifier(**COPIED).fit(texts, labels)
    both = TextClassifier(**COPIED, keep_sample=2000).fit(
        texts[:200] + more, labels[:200] + their_labels
    )
    fitted = calibrate_model(classifier.model_, both.counts_).fitted
    assert fitted.hyperparameters.n_corrected
    found = TextClassifier.from_model(replace(classifier.model_, fitted=fitted))
    assert share_of_right(found, *make_copied_texts(500, seed=3)) > 0.84


@pytest.mark.parametrize("settings", [{"idf": "smooth", "norm": "l2"}, {"tf": "log"}])
def test_corrections_of_weighted_counts(settings: Any) -> None:
    classifier = TextClassifier(**COPIED, **settings).fit(*make_copied_texts(800))
    assert classifier.fitted_.hyperparameters.n_corrected
    assert share_of_right(classifier, *make_copied_texts(500, seed=3)) > 0.8


def test_names_of_forgotten_features_do_not_stay() -> None:
    """Corrections are kept by name, but only of features that another document has."""
    texts, labels = make_copied_texts(800)
    secret = [f"{text} secret" for text in texts[:200]]
    classifier = TextClassifier(**COPIED).fit(secret + texts[200:], labels)
    before = classifier.fitted_.hyperparameters.corrections
    assert before is not None
    assert "word:1=secret" in before.features.terms
    left = classifier.forget(secret, labels[:200]).fitted_.hyperparameters
    assert left.corrections is not None
    assert not any("secret" in term for term in left.corrections.features.terms)
    assert len(left.corrections.features) == left.n_corrected == len(left.corrections.weights)

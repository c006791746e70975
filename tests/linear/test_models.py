"""NB-SVM and logistic regression on small corpora."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from made_rows import corpora, corpus_of, dense

from nbtext.bayes.class_statistics import count_classes
from nbtext.bayes.settings import LinearSettings, ModelSettings
from nbtext.errors import SettingsError
from nbtext.linear.held_out import LINEAR_MODELS, HeldOut, dealt
from nbtext.linear.learning import learn
from nbtext.linear.nbsvm import nbsvm
from nbtext.linear.ratios import log_count_ratios
from nbtext.linear.solving import Aim, Corpus

MODELS = pytest.mark.parametrize("model", sorted(LINEAR_MODELS))


def separable(n: int = 60, seed: int = 0) -> Corpus:
    """Three classes, each with a word of its own that most of its documents hold, among words that say nothing."""
    random = np.random.default_rng(seed)
    classes = np.arange(n) % 3
    matrix = (random.random((n, 9)) < 0.3).astype(float)
    matrix[:, :3] = (random.random((n, 3)) < 0.1) | ((classes[:, None] == np.arange(3)) & (random.random((n, 3)) < 0.9))
    return corpus_of(matrix, classes)


def test_ratios_by_hand() -> None:
    """Documents {a, b}, {a} against {b, c}: with one sighting more, p = (3, 2, 1), q = (1, 2, 2), |p| = 6, |q| = 5."""
    corpus = corpus_of([[1, 1, 0], [1, 0, 0], [0, 1, 1]], [1, 1, 0])
    ratios = log_count_ratios(count_classes(corpus.sample, 3, 2), 1, smoothing=1.0)
    expected = [math.log((3 / 6) / (1 / 5)), math.log((2 / 6) / (2 / 5)), math.log((1 / 6) / (2 / 5))]
    np.testing.assert_allclose(ratios, expected, rtol=1e-14)


def test_ratios_do_not_depend_on_the_unit() -> None:
    """Documents whose weights are all twenty times smaller have the same ratios: smoothing counts sightings."""
    corpus = separable()
    sample = corpus.sample
    small = corpus_of(dense(corpus) / 20, sample.classes).sample
    for positive in range(3):
        np.testing.assert_allclose(
            log_count_ratios(count_classes(small, 9, 3), positive, smoothing=2.0),
            log_count_ratios(count_classes(sample, 9, 3), positive, smoothing=2.0),
            rtol=1e-12,
        )


def test_a_feature_that_nobody_uses_says_nothing() -> None:
    """Its ratio is 0, and so is its weight, whatever the interpolation."""
    corpus = corpus_of([[1, 0, 0], [0, 1, 0], [0, 1, 0]], [0, 1, 1])
    assert log_count_ratios(count_classes(corpus.sample, 3, 2), 1, smoothing=1.0)[2] == 0
    for interpolation in (0.0, 0.25, 1.0):
        fit = nbsvm(corpus, Aim(1.0), settings=LinearSettings(interpolation=interpolation))
        assert (fit.scorer.weights()[:, 2] == 0).all()


def test_interpolation_leads_to_the_ratios() -> None:
    """With β = 0 the weights are the ratios times the mean magnitude of what the machine learned; there is no bias."""
    corpus = separable()
    statistics = count_classes(corpus.sample, 9, 3)
    machine = nbsvm(corpus, Aim(1.0), settings=LinearSettings()).scorer
    mixed = nbsvm(corpus, Aim(1.0), settings=LinearSettings(interpolation=0.25)).scorer
    for k in range(3):
        ratios = log_count_ratios(statistics, k, smoothing=LinearSettings().ratio_smoothing)
        mean = np.abs(machine.weights()[k] / ratios).mean()
        expected = 0.75 * mean * ratios + 0.25 * machine.weights()[k]
        np.testing.assert_allclose(mixed.weights()[k], expected, rtol=1e-12)
    assert not machine.bias.any()
    assert not mixed.bias.any()


@pytest.mark.parametrize(
    "options", [{"model": "logistic"}, {"model": "nbsvm"}, {"model": "nbsvm", "loss": "logistic"}], ids=str
)
def test_separable_documents_are_told_apart(options: dict[str, str]) -> None:
    """Each class's own word gets the largest weight, and nearly all documents their label."""
    corpus = separable()
    learned = learn(corpus, np.ones(60), ModelSettings(**options))
    assert learned.scorer.weights()[:, :3].argmax(axis=0).tolist() == [0, 1, 2]
    scores = learned.scorer.scores(corpus.sample.indptr, corpus.sample.indices, corpus.sample.counts)
    assert (scores.argmax(axis=1) == corpus.sample.classes).mean() > 0.85
    assert learned.choice.expectation is not None
    assert learned.choice.expectation.accuracy > 0.75


@MODELS
def test_threads_change_nothing(model: str) -> None:
    """One and three threads give the same bytes."""
    one, three = (learn(separable(), np.ones(60), ModelSettings(model=model, C="auto"), jobs=jobs) for jobs in (1, 3))
    assert one.scorer.deltas.tobytes() == three.scorer.deltas.tobytes()
    assert one.scorer.bias.tobytes() == three.scorer.bias.tobytes()
    assert repr(one.choice) == repr(three.choice)


@MODELS
@settings(max_examples=15, deadline=None)
@given(corpus=corpora())
def test_a_start_changes_only_the_way(corpus: Corpus, model: str) -> None:
    """Going on from the solution for another C leads to the same scores."""
    fit = LINEAR_MODELS[model]
    aim, sample = Aim(3.0, 1e-9), corpus.sample
    cold = fit(corpus, aim, settings=LinearSettings())
    warm = fit(
        corpus, aim, settings=LinearSettings(seed=7), start=fit(corpus, Aim(0.3), settings=LinearSettings()).start
    )
    scores = [f.scorer.scores(sample.indptr, sample.indices, sample.counts) for f in (cold, warm)]
    centered = [s - s.mean(axis=1, keepdims=True) for s in scores]
    np.testing.assert_allclose(centered[0], centered[1], atol=0.02 * max(1.0, np.abs(centered[0]).max()))


def test_folds_are_stratified_and_leave_no_class_without_documents() -> None:
    """Each class is spread evenly; a document that is alone in its class is never held out."""
    classes = np.array([0] * 10 + [1] * 21 + [2], dtype=np.int32)
    folds = dealt(classes, 5, seed=3)
    assert np.bincount(folds[:10]).tolist() == [2] * 5
    assert sorted(np.bincount(folds[10:31]).tolist()) == [4, 4, 4, 4, 5]
    assert folds[31] == -1
    assert dealt(classes, 5, seed=3).tolist() == folds.tolist()
    assert dealt(classes, 5, seed=4).tolist() != folds.tolist()


@MODELS
def test_held_out_documents_are_not_learned_from(model: str) -> None:
    """Random labels are learned by heart, but not foretold: held-out accuracy stays near chance."""
    random = np.random.default_rng(5)
    corpus = corpus_of((random.random((80, 200)) < 0.2).astype(float), random.permutation(np.arange(80) % 2))
    learned = learn(corpus, np.ones(80), ModelSettings(model=model, C=100.0))
    scores = learned.scorer.scores(corpus.sample.indptr, corpus.sample.indices, corpus.sample.counts)
    assert (scores.argmax(axis=1) == corpus.sample.classes).all()
    assert learned.choice.expectation is not None
    assert learned.choice.expectation.accuracy < 0.7
    assert learned.choice.expectation.log_loss > 0.6


@MODELS
def test_the_strength_is_chosen_by_held_out_loss(model: str) -> None:
    """It is no worse than the usual one."""
    corpus, lengths = separable(90, seed=2), np.ones(90)
    chosen = learn(corpus, lengths, ModelSettings(model=model, C="auto")).choice.expectation
    usual = learn(corpus, lengths, ModelSettings(model=model, C=1.0)).choice.expectation
    assert chosen is not None
    assert usual is not None
    assert chosen.log_loss <= usual.log_loss * 1.01


@MODELS
def test_too_few_documents_are_learned_without_calibration(model: str) -> None:
    """One class, or fewer documents than folds: there is a scorer, and nothing is foretold."""
    for matrix, classes in (([[1.0, 0], [1, 1]], [0, 0]), ([[1.0, 0], [0, 1]], [0, 1])):
        learned = learn(corpus_of(matrix, classes), np.ones(2), ModelSettings(model=model, C="auto"))
        assert (learned.choice.C, learned.choice.calibration, learned.choice.expectation) == (1.0, None, None)
        assert np.isfinite(learned.scorer.weights()).all()


@MODELS
def test_empty_documents_do_no_harm(model: str) -> None:
    """A document without features is learned from, and scored by the bias alone."""
    matrix = dense(separable())
    matrix[[0, 7]] = 0
    learned = learn(corpus_of(matrix, np.arange(60) % 3), np.ones(60), ModelSettings(model=model))
    assert np.isfinite(learned.scorer.deltas).all()


def test_held_out_scores_go_on_from_neighbors() -> None:
    """Scores by models that began elsewhere are the same, but for their tolerance."""
    held_out = HeldOut(separable(), ModelSettings(model="nbsvm"))
    cold, stops = held_out.scores(1.0)
    warm, _ = held_out.scores(1.0, start=held_out.scores(0.1, start=stops)[1])
    np.testing.assert_allclose(cold, warm, atol=0.1)


@pytest.mark.parametrize(
    "options",
    [
        {"C": 0.0}, {"C": math.inf}, {"C": math.nan}, {"loss": "hinge"}, {"interpolation": 1.5},
        {"ratio_smoothing": 0.0}, {"folds": 1}, {"seed": -1},
    ],
)  # fmt: skip
def test_settings_that_make_no_sense(options: dict[str, object]) -> None:
    """Each is refused with the name of its option."""
    with pytest.raises(SettingsError, match="--"):
        LinearSettings(**options)  # type: ignore[arg-type]

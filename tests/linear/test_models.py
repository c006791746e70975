"""NB-SVM and logistic regression on small corpora."""

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows import (
    fit,
    learn,
    score_folds,
    scores_of,
    training_data,
    training_sets,
)
from numpy.typing import NDArray

from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.settings import STACKED, LinearSettings, ModelSettings
from nbtext.documents.fields import WEIGHT_UNIT
from nbtext.errors import ConvergenceWarning, ModelError, NbtextWarning, SettingsError
from nbtext.features.folds import NEVER_HELD_OUT
from nbtext.linear import learning, one_vs_rest
from nbtext.linear.data import Floats, SolverSettings, TrainingData, make_rough
from nbtext.text_classifier import TextClassifier

MODELS = pytest.mark.parametrize("model", sorted(set(LINEAR_MODELS) - {STACKED}))


def separable(n: int = 60, seed: int = 0) -> TrainingData:
    """Three classes, each with a word of its own that most of its documents hold, among words that
    say nothing.
    """
    random = np.random.default_rng(seed)
    classes = np.arange(n) % 3
    matrix = (random.random((n, 9)) < 0.3).astype(float)
    matrix[:, :3] = (random.random((n, 3)) < 0.1) | (
        (classes[:, None] == np.arange(3)) & (random.random((n, 3)) < 0.9)
    )
    return training_data(matrix, classes)


def nbsvm_weights(data: TrainingData, **settings: float) -> Floats:
    """(n_classes, n_features)"""
    scorer, _ = fit("nbsvm", data, SolverSettings(1.0), **settings)
    assert not scorer.bias.any()
    return scorer.weights()


def test_a_feature_that_occurs_nowhere_has_no_weight() -> None:
    """Its ratio is 0, and so is its weight."""
    data = training_data([[1, 0, 0], [0, 1, 0], [0, 1, 0]], [0, 1, 1])
    assert (nbsvm_weights(data)[:, 2] == 0).all()


def test_documents_without_any_weight() -> None:
    """An idf of 0, of words that all documents hold, gives no class a weight, and no arithmetic
    warns.
    """
    data = training_data(np.ones((4, 2)), [0, 1, 0, 1])
    data.table.counts[:] = 0
    assert not nbsvm_weights(data).any()


def test_negative_weights() -> None:
    """An idf may be negative; the ratios are those of the magnitudes."""
    data = separable()
    mirrored = training_data(-data.matrix, data.table.classes)
    np.testing.assert_allclose(nbsvm_weights(mirrored), -nbsvm_weights(data), rtol=1e-9)


@MODELS
def test_threads_change_nothing(model: str) -> None:
    """One and three threads give the same bytes."""
    one, three = (
        learn(separable(), np.ones(60), ModelSettings(model=model, C="auto"), jobs=jobs)
        for jobs in (1, 3)
    )
    assert one.scorer.deltas.tobytes() == three.scorer.deltas.tobytes()
    assert one.scorer.bias.tobytes() == three.scorer.bias.tobytes()
    assert repr(one.selection) == repr(three.selection)


@MODELS
@settings(max_examples=15)
@given(data=training_sets())
def test_a_warm_start_leads_to_the_same_scores(data: TrainingData, model: str) -> None:
    """Continuing from the solution for another C gives what starting from zero gives."""
    solver = SolverSettings(3.0, 1e-9)
    cold, _ = fit(model, data, solver)
    _, other = fit(model, data, SolverSettings(0.3))
    warm, _ = fit(model, data, solver._replace(seed=7), start=other)
    scores = [scores_of(scorer, data) for scorer in (cold, warm)]
    centered = [s - s.mean(axis=1, keepdims=True) for s in scores]
    np.testing.assert_allclose(
        centered[0], centered[1], atol=0.02 * max(1.0, np.abs(centered[0]).max())
    )


@pytest.mark.exhaustive(every=3)
@MODELS
@settings(max_examples=15)
@given(data=training_sets(), seed=st.integers(0, 1000))
def test_folds_are_scored_by_models_that_never_saw_them(
    data: TrainingData, model: str, seed: int
) -> None:
    """The scores of a fold are those of a model of the other documents alone, which was started
    from zero.

    The warm start, which knows all documents, saves passes only.
    """
    solver = SolverSettings(3.0, 1e-9)
    folds = np.random.default_rng(seed).permutation(len(data)) % 3
    folds = np.where(np.arange(len(data)) < data.n_classes, NEVER_HELD_OUT, folds).astype(np.int32)
    problem = LINEAR_MODELS[model].problem(data, LinearSettings(), jobs=2)
    scores = score_folds(problem, folds, solver, problem.solve(SolverSettings(30.0)))
    assert not scores[folds == NEVER_HELD_OUT].any()
    for fold in range(3):
        others = np.flatnonzero(folds != fold)
        own = np.flatnonzero(folds == fold)
        if len(own) == 0:
            continue
        alone = training_data(data.matrix[others], data.table.classes[others], data.n_classes)
        scorer, _ = fit(model, alone, solver)
        expected = scores_of(
            scorer, training_data(data.matrix[own], data.table.classes[own], data.n_classes)
        )
        centered = [each - each.mean(axis=1, keepdims=True) for each in (scores[own], expected)]
        np.testing.assert_allclose(
            centered[0], centered[1], atol=0.02 * max(1.0, np.abs(centered[1]).max())
        )


CLASS_WEIGHTS = np.array([1.0, 3.0, 2.0])


def copies_of(data: TrainingData) -> NDArray[np.int64]:
    """Two of three documents once, the others twice, times the weight of the class."""
    weights = np.arange(len(data)) % 3 // 2 + 1
    return np.asarray(weights * CLASS_WEIGHTS[data.table.classes].astype(np.int64))


def weigh(data: TrainingData) -> tuple[TrainingData, TrainingData]:
    """Training data with weights of documents and of classes, and with as many copies."""
    weights = np.arange(len(data)) % 3 // 2 + 1
    rows = np.repeat(np.arange(len(data)), copies_of(data))
    weighted = replace(data.table, weights=weights * WEIGHT_UNIT)
    return replace(data, documents=weighted, class_weights=CLASS_WEIGHTS), replace(
        data, documents=data.table.take(rows)
    )


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("has_kernel", [True, False])
@pytest.mark.parametrize(
    "options",
    [{"model": "logistic"}, {"model": "nbsvm"}, {"model": "nbsvm", "loss": "logistic"}],
    ids=str,
)
def test_weights_are_numbers_of_copies(
    options: dict[str, str], has_kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class of weight 3, and a document of weight 2, give the model of a corpus that holds each
    of its documents so often.
    """
    monkeypatch.setattr(one_vs_rest, "HAS_KERNEL", has_kernel and one_vs_rest.HAS_KERNEL)
    name = options["model"]
    settings = {key: value for key, value in options.items() if key != "model"}
    weighted, repeated = weigh(separable())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NbtextWarning)
        (one, _), (other, _), (plain, _) = (
            fit(name, data, SolverSettings(1.0, 1e-9), **settings)
            for data in (weighted, repeated, separable())
        )
    np.testing.assert_allclose(
        one.weights(), other.weights(), atol=2e-3 * np.abs(other.weights()).max()
    )
    np.testing.assert_allclose(one.bias, other.bias, atol=2e-3)
    assert np.abs(one.weights() - plain.weights()).max() > 0.05 * np.abs(plain.weights()).max()


@MODELS
def test_folds_have_weights(model: str) -> None:
    """Models of folds are those of the repeated documents, too."""
    weighted, repeated = weigh(separable())
    folds = (np.arange(60) // 3 % 3).astype(np.int32)
    scores = []
    for data, own in (
        (weighted, folds),
        (repeated, np.repeat(folds, copies_of(weighted))),
    ):
        problem = LINEAR_MODELS[model].problem(data, LinearSettings())
        found = score_folds(
            problem, own, SolverSettings(1.0, 1e-9), problem.solve(SolverSettings(1.0))
        )
        scores.append(found - found.mean(axis=1, keepdims=True))
    first = np.append(0, np.cumsum(copies_of(weighted))[:-1])
    np.testing.assert_allclose(scores[0], scores[1][first], atol=5e-3 * np.abs(scores[0]).max())


@pytest.mark.exhaustive(every=4)
@pytest.mark.parametrize("class_weight", ["balanced", {"b": 5.0}], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_weights_are_those_of_scikit_learn(class_weight: Any, n_classes: int) -> None:
    """The weights of `TextClassifier` are those of scikit-learn's LogisticRegression on the same
    counts.
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    random = np.random.default_rng(4)
    words = np.array(["apple", "banana", "cherry", "date", "elder", "fig"])
    classes = random.choice(n_classes, 80, p=[0.2, 0.8] if n_classes == 2 else [0.1, 0.3, 0.6])
    texts = [
        " ".join(random.choice(words, 5, p=np.roll([0.4, 0.2, 0.1, 0.1, 0.1, 0.1], k)))
        for k in classes
    ]
    labels = ["abc"[k] for k in classes]
    ours = TextClassifier(model="logistic", class_weight=class_weight, calibrate=False).fit(
        texts, labels
    )
    peer = LogisticRegression(class_weight=class_weight, tol=1e-8, max_iter=10_000)
    matrix = CountVectorizer().fit_transform(texts)
    peer.fit(matrix, labels)
    expected = peer.coef_ if n_classes > 2 else np.vstack((np.zeros(len(words)), peer.coef_[0]))
    found = ours.fitted_.scorer.weights()
    np.testing.assert_allclose(
        found - found.mean(axis=0), expected - expected.mean(axis=0), atol=0.02
    )
    np.testing.assert_allclose(ours.predict_proba(texts), peer.predict_proba(matrix), atol=0.01)


@MODELS
def test_a_large_corpus_is_calibrated_with_some_of_its_folds(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as the calibration needs; with something to optimize, all."""
    monkeypatch.setattr(learning, "LINEAR_CALIBRATION_SIZE", 20)
    data = separable(90)
    fitted = []
    problem = LINEAR_MODELS[model].problem
    score = problem.score_folds

    def score_folds(self: Any, folds: Any, *others: Any) -> Any:
        fitted.append(sorted(set(folds.tolist())))
        return score(self, folds, *others)

    monkeypatch.setattr(problem, "score_folds", score_folds)
    found = [
        learn(data, np.ones(90), ModelSettings(model=model, optimize=optimize)).selection
        for optimize in (None, "macro_f1")
    ]
    assert fitted == [[NEVER_HELD_OUT, 0, 1], [0, 1, 2, 3, 4]]
    estimates = [selection.estimate for selection in found]
    assert [each.documents for each in estimates if each is not None] == [36, 90]
    assert [each.unjudged for each in estimates if each is not None] == [0, 0]


@MODELS
def test_documents_learned_twice_are_not_estimated_better(model: str) -> None:
    """Random labels of documents that are there twice are not predicted by their copies."""
    random = np.random.default_rng(5)
    matrix = (random.random((80, 200)) < 0.2).astype(float)
    classes = random.permutation(np.arange(80) % 2)
    twice = training_data(np.vstack((matrix, matrix)), np.tile(classes, 2))
    hashes = np.tile(np.arange(80, dtype=np.uint64), 2)
    twice = replace(twice, documents=replace(twice.table, hashes=hashes))
    estimate = learn(twice, np.ones(160), ModelSettings(model=model)).selection.estimate
    assert estimate is not None
    assert (estimate.accuracy < 0.7, estimate.duplicates) == (True, 80)


def test_rough_folds_forget_the_solution_for_all_documents() -> None:
    """Their scores of the label of a held-out document are those of models that started from
    zero.
    """
    random = np.random.default_rng(5)
    data = training_data(random.poisson(0.05, (300, 600)).astype(float), random.integers(0, 3, 300))
    folds = (np.arange(300) % 5).astype(np.int32)
    problem = LINEAR_MODELS["logistic"].problem(data, LinearSettings())
    start = problem.solve(SolverSettings(1.0))
    rough = make_rough(SolverSettings(1.0))
    cold = start._replace(parameters=np.zeros_like(start.parameters))
    found = [
        problem.score_folds(folds, solver, begin)
        for solver, begin in ((rough, start), (SolverSettings(1.0, 1e-9), cold))
    ]
    own = np.arange(300), data.table.classes
    margins = [scores[own] - scores.mean(axis=1) for scores in found]
    assert (margins[0] - margins[1]).mean() < 0.001


@MODELS
def test_the_strength_is_chosen_by_held_out_loss(model: str) -> None:
    """It is no worse than the usual one."""
    data = separable(90, seed=2)
    lengths = np.ones(90)
    chosen = learn(data, lengths, ModelSettings(model=model, C="auto")).selection.estimate
    usual = learn(data, lengths, ModelSettings(model=model, C=1.0)).selection.estimate
    assert chosen is not None
    assert usual is not None
    assert chosen.log_loss <= usual.log_loss * 1.01


@MODELS
def test_too_few_documents_are_learned_without_calibration(model: str) -> None:
    """One class, or fewer documents than folds: there is a scorer, and no estimate."""
    for matrix, classes in (([[1.0, 0], [1, 1]], [0, 0]), ([[1.0, 0], [0, 1]], [0, 1])):
        learned = learn(
            training_data(matrix, classes), np.ones(2), ModelSettings(model=model, C="auto")
        )
        selection = learned.selection
        found = selection.hyperparameters.C, selection.calibration.temperature, selection.estimate
        assert found == (1.0, None, None)
        assert np.isfinite(learned.scorer.weights()).all()


@MODELS
def test_nothing_that_needs_folds_is_fitted_once(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without calibration, with C given and nothing to optimize, there is one fit, and no
    estimate.
    """
    fits: list[float] = []
    problem = LINEAR_MODELS[model].problem
    solve = problem.solve

    def solve_once(self: Any, solver: SolverSettings, start: Any = None) -> Any:
        fits.append(solver.C)
        return solve(self, solver, start)

    with monkeypatch.context() as patched:
        patched.setattr(problem, "solve", solve_once)
        patched.setattr(problem, "score_folds", None)
        learned = learn(separable(), np.ones(60), ModelSettings(model=model, calibrate=False))
    assert fits == [1.0]
    assert (learned.selection.calibration.temperature, learned.selection.estimate) == (None, None)
    for options in ({"C": "auto"}, {"optimize": "macro_f1"}):
        settings = ModelSettings(model=model, calibrate=False, **options)  # type: ignore[arg-type]
        assert learn(separable(), np.ones(60), settings).selection.estimate is not None


@MODELS
def test_a_model_that_does_not_converge_warns(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a column a thousand times larger than the others, C = 100 takes more than a pass or
    two.
    """
    matrix = np.hstack(
        (separable().matrix.toarray(), np.random.default_rng(1).normal(500, 300, (60, 1)))
    )
    data = training_data(matrix, np.arange(60) % 3)
    settings = ModelSettings(model=model, C=100.0, calibrate=False)
    assert learn(data, np.ones(60), settings).selection.hyperparameters.is_converged
    problem = LINEAR_MODELS[model].problem
    solve = problem.solve

    def solve_hastily(self: Any, solver: SolverSettings, start: Any = None) -> Any:
        return solve(self, solver._replace(max_iter=2), start)

    monkeypatch.setattr(problem, "solve", solve_hastily)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        learned = learn(data, np.ones(60), settings)
    assert not learned.selection.hyperparameters.is_converged


@MODELS
@pytest.mark.parametrize("value", [1e160, 1e308, np.inf, -np.inf, np.nan])
def test_values_that_overflow_are_one_error(model: str, value: float) -> None:
    """In one line, and without warnings of the arithmetic."""
    matrix = separable().matrix.toarray()
    matrix[0, 0] = value
    with pytest.raises(ModelError, match="scale the features down"):
        learn(training_data(matrix, np.arange(60) % 3), np.ones(60), ModelSettings(model=model))


@MODELS
def test_strengths_that_are_hardly_numbers(model: str) -> None:
    """The smallest and the largest C end too."""
    for C in (1e-20, 1e20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                learned = learn(separable(), np.ones(60), ModelSettings(model=model, C=C))
            except ModelError:
                continue
        assert np.isfinite(learned.scorer.deltas).all()


@pytest.mark.parametrize(
    "options",
    [
        {"C": 0.0},
        {"C": math.inf},
        {"C": math.nan},
        {"loss": "hinge"},
        {"folds": 1},
        {"seed": -1},
    ],
)
def test_settings_that_make_no_sense(options: dict[str, object]) -> None:
    """Each is refused with the name of its parameter, which the command line prints as the
    option.
    """
    with pytest.raises(SettingsError, match=rf"^{next(iter(options))}: "):
        LinearSettings(**options)  # type: ignore[arg-type]

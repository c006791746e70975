"""`model="auto"`: exact leave-one-out selects the event model, and counts or binary counts."""

from contextlib import nullcontext
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtext import TextClassifier, load_model
from nbtext.artifact.model import save_model_file
from nbtext.bayes.few_documents import MAX_CLASS_DOCUMENTS, TRIED_SMOOTHINGS
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.model import corpus_counts, fitting, training
from nbtext.model.fitted_model import FittedModel
from nbtext.model.growth import calibrate_model, merge_models, refit

WORDS = ("red", "green", "blue", "long", "round", "soft", "wide", "dark")
CANDIDATES = tuple(product(("multinomial", "complement"), ("count", "binary")))
MANY = 100  # documents of three labels, so that leave-one-out alone selects


def corpus(seed: int, *, n_labels: int = 3, n_documents: int = 60) -> tuple[list[str], list[str]]:
    """Texts of words that each label prefers, with repetitions; labels differ in size."""
    random = np.random.default_rng(seed)
    shares = random.dirichlet(np.full(len(WORDS), 0.6), size=n_labels)
    sizes = random.dirichlet(np.full(n_labels, 2.0))
    classes = [*range(n_labels), *random.choice(n_labels, n_documents - n_labels, p=sizes).tolist()]
    texts = [
        " ".join(random.choice(WORDS, random.integers(1, 7), p=shares[k]).tolist()) for k in classes
    ]
    texts = [f"{text} {text.split()[0]} {text.split()[0]}" for text in texts]
    return texts, [f"label{k}" for k in classes]


def choice(fitted: FittedModel) -> tuple[str, str]:
    return fitted.model_settings.model, fitted.feature_settings.tf


def estimates(
    texts: list[str], labels: list[str], smoothing: float
) -> dict[tuple[str, str], float]:
    """The leave-one-out accuracy of each candidate alone."""
    found = {}
    for model, tf in CANDIDATES:
        estimate = (
            TextClassifier(model=model, tf=tf, smoothing=smoothing)
            .fit(texts, labels)
            .fitted_.estimate
        )
        assert estimate is not None
        found[model, tf] = estimate.accuracy
    return found


def saved(classifier: TextClassifier, folder: Path) -> bytes:
    classifier.save(folder / "model")
    return (folder / "model").read_bytes()


def reloaded(classifier: TextClassifier, folder: Path) -> TextClassifier:
    """The classifier without the documents that only a fitted one still holds."""
    classifier.save(folder / "reloaded")
    return load_model(folder / "reloaded")


def seeds_by_choice() -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for seed in range(40):
        found.setdefault(choice(TextClassifier().fit(*corpus(seed)).fitted_), []).append(seed)
    return found


@pytest.mark.exhaustive
def test_the_most_accurate_is_selected() -> None:
    """The choice has the highest accuracy that leave-one-out estimates for each candidate."""
    for seed in range(10):
        texts, labels = corpus(seed, n_documents=MANY)
        found = estimates(texts, labels, 0.3)
        assert found[choice(TextClassifier(smoothing=0.3).fit(texts, labels).fitted_)] == max(
            found.values()
        )
    assert len(seeds_by_choice()) >= 3


def test_it_predicts_as_the_model_that_is_named() -> None:
    """Smoothing, calibration and probabilities are the same, if a given prior leaves nothing to
    adjust.
    """
    for seed in range(5):
        texts, labels = corpus(seed, n_documents=MANY)
        auto = TextClassifier(prior="uniform").fit(texts, labels)
        model, tf = choice(auto.fitted_)
        named = TextClassifier(model=model, tf=tf, prior="uniform").fit(texts, labels)
        assert auto.fitted_.is_model_selected
        assert not named.fitted_.is_model_selected
        assert auto.fitted_.hyperparameters == named.fitted_.hyperparameters
        assert auto.predict_proba(texts).tolist() == named.predict_proba(texts).tolist()


def test_the_calibration_adjusts_the_prior() -> None:
    """The calibrated probabilities of the choice have the prior adjustment of `optimize`, unless
    told otherwise.
    """
    texts, labels = corpus(3, n_documents=200)
    auto = TextClassifier().fit(texts, labels)
    model, tf = choice(auto.fitted_)
    optimized = TextClassifier(model=model, tf=tf, optimize="log_loss").fit(texts, labels)
    assert auto.fitted_.calibration.prior_adjustment is not None
    np.testing.assert_allclose(auto.predict_proba(texts), optimized.predict_proba(texts), atol=1e-3)
    assert auto.fitted_.estimate is not None
    assert auto.fitted_.estimate.optimized is None
    for options in ({"prior": "empirical"}, {"calibrate": False}):
        assert (
            TextClassifier(**options).fit(texts, labels).fitted_.calibration.prior_adjustment
            is None
        )


def test_the_parameter_stays_auto(tmp_path: Path) -> None:
    """The parameters are those that were given, of a classifier, of a model file, and where tf was
    given.
    """
    seeds = seeds_by_choice()
    binary = next(seeds[key][0] for key in seeds if key[1] == "binary")
    for options in ({}, {"tf": "binary"}):
        classifier = TextClassifier(**options).fit(*corpus(binary))
        assert classifier.fitted_.feature_settings.tf == "binary"
        assert classifier.fitted_.is_binary_selected == (not options)
        classifier.save(tmp_path / "m")
        for each in (classifier, load_model(tmp_path / "m")):
            assert each.get_params()["model"] == "auto"
            assert each.get_params()["tf"] == options.get("tf", "count")


@pytest.mark.parametrize(
    ("options", "labels", "models", "binary"),
    [
        ({}, 2, {"multinomial"}, {"count", "binary"}),
        ({}, 1, {"multinomial"}, {"count"}),
        ({"tf": "binary"}, 3, {"multinomial", "complement"}, {"binary"}),
        ({"idf": "smooth", "norm": "l2", "tf": "log"}, 3, {"multinomial", "complement"}, {"log"}),
        ({"idf": "smooth"}, 3, {"multinomial", "complement"}, {"count"}),
        (
            {"hash_bits": 10, "smoothing": 0.5, "prior": "uniform"},
            3,
            {"multinomial", "complement"},
            {"count", "binary"},
        ),
        (
            {"calibrate": False, "optimize": "macro_f1"},
            3,
            {"multinomial", "complement"},
            {"count", "binary"},
        ),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
def test_what_is_tried(
    options: dict[str, Any], labels: int, models: set[str], binary: set[str]
) -> None:
    """Complement from three labels on, binary counts where plain counts are asked for; other
    settings are kept.
    """
    for seed in range(12):
        fitted = (
            # with an option of features, words alone are counted
            TextClassifier(**options, lowercase=False)
            .fit(*corpus(seed, n_labels=labels, n_documents=MANY))
            .fitted_
        )
        assert fitted.model_settings.model in models
        assert fitted.feature_settings.tf in binary
        assert (
            options.get("smoothing", fitted.hyperparameters.smoothing)
            == fitted.hyperparameters.smoothing
        )


def questions(n_documents: int) -> tuple[list[str], list[str]]:
    """Short texts of twelve labels, whose distributions over 200 words vary around that of the
    corpus.
    """
    random = np.random.default_rng(1)
    shares = random.dirichlet(30 * random.dirichlet(np.full(200, 0.3)) + 1e-9, size=12)
    classes = [i % 12 for i in range(12 * n_documents)]
    texts = [" ".join(f"word{j}" for j in random.choice(200, 8, p=shares[k])) for k in classes]
    return texts, [f"label{k:02}" for k in classes]


def test_few_documents_of_each_label(tmp_path: Path) -> None:
    """Up to 25 documents a label, Dirichlet smoothing is tried, and selected where it has a clearly
    lower log-loss.
    """
    texts, labels = questions(12)
    few = TextClassifier().fit(texts[:72], labels[:72])
    assert few.fitted_.model_settings.model == "dirichlet"
    assert few.fitted_.is_model_selected
    assert few.fitted_.hyperparameters.smoothing in TRIED_SMOOTHINGS
    assert reloaded(few, tmp_path).get_params()["model"] == "auto"
    others = [
        TextClassifier(model=model).fit(texts[:72], labels[:72])
        for model in ("multinomial", "complement")
    ]
    assert few.score(texts[72:], labels[72:]) > max(
        each.score(texts[72:], labels[72:]) for each in others
    )
    many = TextClassifier().fit(*questions(MAX_CLASS_DOCUMENTS + 1))
    assert many.fitted_.model_settings.model != "dirichlet"


@pytest.mark.parametrize(
    "options",
    [{"smoothing": 1.0}, {"tf": "binary"}, {"prior": "uniform"}, {"hash_bits": 12}],
    ids=str,
)
def test_settings_stay_with_few_documents(options: dict[str, Any]) -> None:
    """The smoothing and the features that are given are those of the choice, of Dirichlet smoothing
    too.
    """
    fitted = TextClassifier(**options).fit(*questions(6)).fitted_
    assert fitted.model_settings.model == "dirichlet"
    assert (
        options.get("smoothing", fitted.hyperparameters.smoothing)
        == fitted.hyperparameters.smoothing
    )
    assert options.get("tf", fitted.feature_settings.tf) == fitted.feature_settings.tf


def test_an_incomplete_sample_is_not_held_out() -> None:
    """Folds need all documents, so a model that retains fewer is selected by leave-one-out
    alone.
    """
    assert (
        TextClassifier(keep_sample=60).fit(*questions(6)).fitted_.model_settings.model
        != "dirichlet"
    )
    assert (
        TextClassifier(keep_sample=72).fit(*questions(6)).fitted_.model_settings.model
        == "dirichlet"
    )


def test_one_document_for_each_label() -> None:
    """Nothing can be left out: it is the multinomial model."""
    fitted = TextClassifier().fit(["red", "green", "blue"], ["a", "b", "c"]).fitted_
    assert choice(fitted) == ("multinomial", "count")
    assert fitted.estimate is None


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_model_that_is_only_saved_retains_fewer_documents(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the bytes of one that retains more. Every fifth document is a duplicate, also of
    another label.
    """
    monkeypatch.setattr(fitting, "CALIBRATION_SIZE", 40)
    for module in (training, corpus_counts):
        monkeypatch.setattr(module, "SELECTION_SIZE", 50)
    texts, labels = corpus(5, n_documents=300)
    for row, (text, label) in enumerate(zip(texts, labels, strict=True)):
        (tmp_path / "in" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / label / f"{row}.txt").write_text(
            f"{texts[0] if row % 5 == 0 else text} n{row % 240}"
        )
    found = []
    for is_saved in (False, True):
        source = open_source([str(tmp_path / "in")], InputSettings())
        given = training.Training(
            labeled=partial(nullcontext, (source, None)),
            settings=ModelSettings(),
            jobs=jobs,
            is_saved=is_saved,
        )
        trained = training.train_model(given)
        save_model_file(trained, tmp_path / "model")
        found.append((tmp_path / "model").read_bytes())
        assert len(trained.counts.sample) == (50 if is_saved else 300)
    assert found[0] == found[1]


@pytest.mark.exhaustive
def test_without_retained_documents_the_choice_of_the_larger_model_is_kept(tmp_path: Path) -> None:
    """In any order, and the model says that its choice is approximate; calibrate keeps it."""
    seeds = seeds_by_choice()
    models = [reloaded(TextClassifier().fit(*corpus(each[0])), tmp_path) for each in seeds.values()]
    texts, labels = corpus(0, n_documents=61)
    large = reloaded(TextClassifier().fit(texts, labels), tmp_path)
    others = [model for model in models if choice(model.fitted_) != choice(large.fitted_)]
    assert len(others) >= 2
    for small in others:
        merged = merge_models([small.model_, large.model_])
        assert choice(merged.fitted) == choice(large.fitted_)
        assert "model" in merged.fitted.approximate
        again = TextClassifier.from_model(merge_models([large.model_, small.model_]))
        assert saved(again, tmp_path) == saved(TextClassifier.from_model(merged), tmp_path)
        calibrated = calibrate_model(merged, TextClassifier().fit(texts, labels).counts_)
        assert choice(calibrated.fitted) == choice(large.fitted_)
        assert calibrated.fitted.requested_settings == merged.fitted.requested_settings


@pytest.mark.exhaustive
def test_another_model_of_the_same_counts(tmp_path: Path) -> None:
    """A model that is named replaces the choice, and its plain counts replace binary counts."""
    seeds = seeds_by_choice()
    key = next(key for key in seeds if key[1] == "binary")
    for keep_sample in (None, 1000):
        classifier = reloaded(
            TextClassifier(keep_sample=keep_sample).fit(*corpus(seeds[key][0])), tmp_path
        )
        named = refit(classifier.model_, {"model": "multinomial"})
        assert choice(named.fitted) == ("multinomial", "count")
        assert not named.fitted.is_model_selected
        if keep_sample is not None:
            back = refit(named, {"model": "auto"})
            assert choice(back.fitted) == key
        else:
            assert named.fitted.calibration.temperature is None  # it was fitted to binary counts
            same = refit(classifier.model_, {})
            assert choice(same.fitted) == key
            assert same.fitted.calibration.temperature == classifier.fitted_.calibration.temperature


@pytest.mark.parametrize(
    "options", [{}, {"model": "multinomial"}, {"optimize": "macro_f1"}], ids=str
)
def test_a_merged_model_does_not_depend_on_the_order_of_equal_ones(
    options: dict[str, Any], tmp_path: Path
) -> None:
    """Models of as many documents, with one smoothing and without a temperature, differ in their
    nonconformity only.
    """
    options |= {"smoothing": 1.0, "calibrate": False}
    first, second = (
        reloaded(TextClassifier(**options).fit(*corpus(seed)), tmp_path).model_ for seed in (1, 2)
    )
    one, other = (
        TextClassifier.from_model(merge_models(each)) for each in ([first, second], [second, first])
    )
    assert saved(one, tmp_path) == saved(other, tmp_path)

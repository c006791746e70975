"""Linear multi-label models: trained, saved, predicted, explained, and what they refuse."""

import json
from contextlib import nullcontext
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.artifact.model import save_model_file
from nbtext.bayes import label_calibration
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import SettingsError
from nbtext.features.folds import NEVER_HELD_OUT
from nbtext.features.settings import FeatureSettings
from nbtext.linear import learning
from nbtext.linear.one_vs_rest import OneVsRest
from nbtext.model.explanation import Explainer
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.training import Training, train_model
from nbtext.text_classifier import TextClassifier

MODELS = pytest.mark.parametrize("model", ["svm", "nbsvm"])
LOG_TFIDF: dict[str, Any] = {"tf": "log", "idf": "smooth", "norm": "l2"}
WORDS = {
    "fruit": "apple pear plum sweet",
    "garden": "spade earth rose tree",
    "car": "engine wheel oil road",
}


def documents(n: int = 120, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Texts with some words of each of their labels, and some with no label."""
    random = np.random.default_rng(seed)
    texts = []
    labels = []
    for _ in range(n):
        own = [label for label in WORDS if random.random() < 0.4]
        words = [*random.choice(["rain", "cloud", "wind", "sky", "day"], 3)]
        words += [word for label in own for word in random.choice(WORDS[label].split(), 3)]
        texts.append(" ".join(random.permutation(words)))
        labels.append(own)
    return texts, labels


@pytest.fixture(scope="module", params=["svm", "nbsvm"])
def fitted(request: pytest.FixtureRequest) -> TextClassifier:
    """A model of three labels."""
    return TextClassifier(model=request.param, **LOG_TFIDF).fit(*documents())


def test_labels_are_predicted(fitted: TextClassifier) -> None:
    """Most new documents get exactly their labels, as lists; a document can have none."""
    texts, labels = documents(100, 1)
    predicted = [sorted(each) for each in fitted.predict(texts)]
    assert sum(own == sorted(each) for own, each in zip(predicted, labels, strict=True)) > 90
    assert [] in predicted
    estimate = fitted.fitted_.task.fit.estimate
    assert estimate is not None
    assert estimate.documents == 120
    assert estimate.micro_f1 > 0.9


def test_the_terms_of_an_explanation_add_up(fitted: TextClassifier) -> None:
    """Words and the prior sum to the log-odds, and these are those of the probability; other labels
    add nothing.
    """
    texts, _ = documents(30, 3)
    for each in Explainer(fitted.fitted_).explain_batch(Batch([""] * 30, (texts,), [None] * 30)):
        for found in each if isinstance(each, list) else [each]:
            assert found.terms is not None
            total = sum(astuple(found.terms)) + sum(part.log_odds for part in found.contributions)
            assert total == pytest.approx(found.log_odds, abs=1e-9)
            assert 1 / (1 + np.exp(-total)) == pytest.approx(found.probability, abs=1e-9)
            assert found.terms.other_labels == 0


@MODELS
@pytest.mark.parametrize("options", [{}, {"C": "auto"}, {"optimize": "macro_f1"}], ids=str)
def test_threads_and_order_change_nothing(
    model: str, options: dict[str, Any], tmp_path: Path
) -> None:
    """The bytes of a model are the same for any number of threads, and any order of the
    documents.
    """
    texts, labels = documents()
    lines = [
        json.dumps({"text": text, "labels": own}) for text, own in zip(texts, labels, strict=True)
    ]
    found = []
    for jobs, order in ((1, 1), (3, -1)):
        path = tmp_path / f"{jobs}.jsonl"
        path.write_text("\n".join(lines[::order]))
        trained = train(path, ModelSettings(model=model, **options), jobs)
        save_model_file(trained, tmp_path / "model")
        found.append((tmp_path / "model").read_bytes())
    assert found[0] == found[1]


def train(path: Path, model_settings: ModelSettings, jobs: int = 1) -> TrainedModel:
    """Train on JSON lines with a list of labels, with log TF-IDF."""
    source = open_source([str(path)], InputSettings(label_field="labels"))
    features = FeatureSettings(**LOG_TFIDF)
    given = Training(
        labeled=lambda: nullcontext((source, None)),
        settings=model_settings,
        features=features,
        jobs=jobs,
    )
    return train_model(given)


@MODELS
def test_few_weights_and_labels_at_once(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels in parts give the same model; with a bound of the weights, a label keeps its largest
    ones.
    """
    texts, labels = documents()
    options = {"model": model, "C": "auto", **LOG_TFIDF}
    whole = TextClassifier(**options).fit(texts, labels)
    monkeypatch.setattr(learning, "MAX_DUALS", 120)
    parts = TextClassifier(**{**options, "C": whole.fitted_.hyperparameters.C}).fit(texts, labels)
    np.testing.assert_allclose(
        parts.fitted_.scorer.weights(), whole.fitted_.scorer.weights(), atol=0.02
    )
    assert TextClassifier(**options).fit(texts, labels).fitted_.hyperparameters.C is not None
    monkeypatch.setattr(learning, "MAX_LABEL_WEIGHTS", 3 * 4)
    few = (
        TextClassifier(**{**options, "C": whole.fitted_.hyperparameters.C})
        .fit(texts, labels)
        .fitted_
    )
    weights = parts.fitted_.scorer.weights()
    kept = few.scorer.weights()
    assert (np.count_nonzero(kept, axis=1) == 4).all()
    for k in range(3):
        largest = np.argsort(-np.abs(weights[k]), kind="stable")[:4]
        np.testing.assert_array_equal(kept[k, largest], weights[k, largest])


def test_of_many_documents_some_are_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not more than their scores have room in memory."""
    monkeypatch.setattr(learning, "MAX_LABEL_SCORES", 3 * 50)
    estimate = TextClassifier(model="svm").fit(*documents()).fitted_.task.fit.estimate
    assert estimate is not None
    assert estimate.documents == 50


def test_one_threshold_needs_only_some_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many documents, only so many folds are fitted as the calibration needs; thresholds of
    labels need all.
    """
    monkeypatch.setattr(label_calibration, "MULTILABEL_CALIBRATION_SIZE", 30)
    data = []
    texts, labels = documents()
    score = OneVsRest.score_held_out

    def record(self: OneVsRest, folds: Any, *arguments: Any) -> None:
        data.append(
            (len(set(folds.tolist()) - {NEVER_HELD_OUT}), int((folds != NEVER_HELD_OUT).sum()))
        )
        score(self, folds, *arguments)

    monkeypatch.setattr(OneVsRest, "score_held_out", record)
    for optimize in (None, "macro_f1"):
        TextClassifier(model="svm", optimize=optimize).fit(texts, labels)
    assert data == [(2, 30), (5, 120)]


TEXTS = st.lists(st.sampled_from(["apple", "pear", "plum", "straße", "x1"]), max_size=6).map(
    " ".join
)
CORPORA = st.lists(
    st.tuples(TEXTS, st.lists(st.sampled_from(["b", "a", "ä"]), max_size=3)),
    min_size=1,
    max_size=12,
).filter(lambda found: any(own for _, own in found) and any(text for text, _ in found))


@MODELS
@settings(max_examples=25)
@given(
    corpus=CORPORA, optimize=st.sampled_from([None, "macro_f1"]), C=st.sampled_from([1.0, "auto"])
)
def test_any_corpus_gives_finite_probabilities(
    model: str, corpus: Any, optimize: Any, C: Any
) -> None:
    """Of labels that all documents have, or a single one, and documents without label, or empty."""
    texts, labels = map(list, zip(*corpus, strict=True))
    fitted = TextClassifier(model=model, C=C, optimize=optimize, **LOG_TFIDF).fit(texts, labels)
    found = fitted.predict_proba([*texts, "", "never seen"])
    assert found.shape == (len(texts) + 2, len(fitted.classes_))
    assert ((found >= 0) & (found <= 1)).all()
    fit = fitted.fitted_.task.fit
    assert fit is not None
    assert ((fit.thresholds >= 0) & (fit.thresholds <= 1)).all()


@MODELS
def test_rare_labels_fall_back(model: str) -> None:
    """A label of a single document has no threshold of its own that floods other documents."""
    texts, labels = documents()
    labels[0] = [*labels[0], "rare"]
    fitted = TextClassifier(model=model, optimize="macro_f1", **LOG_TFIDF).fit(texts, labels)
    fit = fitted.fitted_.task.fit
    assert fit is not None
    assert fitted.fitted_.labels[fit.fallback[0]] == "rare"
    assert sum("rare" in own for own in fitted.predict(documents(200, 5)[0])) <= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "logistic"}, "logistic cannot be trained on documents with several labels"),
        (
            {"model": "svm", "calibrate": False},
            "calibrate: cannot be used with documents with several labels",
        ),
        ({"model": "svm", "optimize": "accuracy"}, "accuracy"),
        ({"prior": "uniform"}, "prior"),
        ({"smoothing": 0.5}, "smoothing"),
        ({"min_recall": (("fruit", 0.9),)}, "min_recall"),
        ({"norm": "l2"}, "needs counts without weights"),
        ({"model": "svm", "class_weight": "balanced"}, "class_weight"),
        (
            {"model": "svm", "select": ("chi2", 5)},
            "select: cannot be used with documents with several labels",
        ),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], message: str) -> None:
    """In one line that says why."""
    with pytest.raises(SettingsError, match=message) as caught:
        TextClassifier(**options).fit(*documents(20))
    assert "\n" not in str(caught.value)

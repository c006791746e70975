"""What programs give a classifier: parameters and labels of any kind, pickles, and what makes no
sense.
"""

import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from nbtext import TextClassifier, load_model, save_model
from nbtext.errors import InputError, SettingsError

TEXTS = ["red apple", "yellow banana", "red cherry", "green apple", "yellow lemon"]
LABELS = ["a", "b", "a", "a", "b"]


def test_a_pickle_is_the_classifier(tmp_path: Path) -> None:
    """Copies by pickle and joblib answer alike and go on learning, be they trained here or loaded;
    so do untrained.
    """
    here = TextClassifier(keep_sample=10).fit(TEXTS, LABELS)
    here.predict(TEXTS)
    save_model(here, str(tmp_path / "model"))
    for classifier in (here, load_model(str(tmp_path / "model"))):
        joblib.dump(classifier, tmp_path / "pickle")
        for copied in (pickle.loads(pickle.dumps(classifier)), joblib.load(tmp_path / "pickle")):
            assert copied.predict_proba(TEXTS).tolist() == here.predict_proba(TEXTS).tolist()
            assert copied.partial_fit(["green pear"], ["c"]).classes_.tolist() == ["a", "b", "c"]
    assert classifier.classes_.tolist() == ["a", "b"]
    assert (
        pickle.loads(pickle.dumps(TextClassifier(min_df=2))).get_params()
        == TextClassifier(min_df=2).get_params()
    )


def test_threads_do_not_change_predictions() -> None:
    """Each method that predicts gives the same bytes for any number of threads."""
    texts = [f"red{n % 7} round{n % 5} leaf{n % 3}" for n in range(101)]
    classifier = TextClassifier().fit(texts, [f"label {n % 4}" for n in range(101)])
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        method = getattr(classifier, name)
        for few in (texts, texts[:2], texts[:1]):
            assert method(few, jobs=3).tobytes() == method(few).tobytes()
    with pytest.raises(ValueError, match="jobs is a number of threads, at least 1, not 0"):
        classifier.predict(texts, jobs=0)


@pytest.mark.parametrize(
    "options",
    [
        {"smoothing": 1},
        {"smoothing": np.float32(0.5), "min_df": np.int64(1)},
        {"smoothing": "auto", "prior": [1, 2]},
        {"prior": np.array([1.0, 3.0]), "vocabulary": tuple(np.array(["apple", "red"]))},
        {"ngrams": [1, 2], "stop_words": {"red", "the"}},
        {"stop_words": "english", "vocabulary": ["red", "apple"]},
        {"model": "nbsvm", "C": 2},
    ],
)
def test_parameters_as_programs_give_them(options: dict[str, Any], tmp_path: Path) -> None:
    """Lists, whole numbers and NumPy's mean what they say, and a model of them is loaded as it was
    saved.
    """
    classifier = TextClassifier(**options).fit(TEXTS, LABELS)
    save_model(classifier, str(tmp_path / "model"))
    loaded = load_model(str(tmp_path / "model"))
    assert loaded.get_params() == {
        **classifier.get_params(),
        "vocabulary": loaded.feature_settings.vocabulary,
    }
    assert loaded.predict_proba(TEXTS).tolist() == classifier.predict_proba(TEXTS).tolist()
    assert TextClassifier(stop_words="english").feature_settings.stop_words[:2] == ("a", "about")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"model": "worst"},
            "model: unknown value 'worst'; choose one of auto, multinomial, bernoulli",
        ),
        ({"analyzer": str.split}, "analyzer: unknown value <method 'split'"),
        ({"ngrams": 2}, "ngrams: 2 has the wrong type, expected tuple[int, int]"),
        ({"stop_words": "red"}, "stop_words: 'red' has the wrong type"),
        ({"vocabulary": "red"}, "vocabulary: 'red' has the wrong type"),
        ({"smoothing": "lots"}, "smoothing: 'lots' has the wrong type, expected float | None"),
        ({"smoothing": True}, "smoothing: True has the wrong type"),
        (
            {"optimize": "f1"},
            "optimize: unknown value 'f1'; choose one of accuracy, macro_f1, log_loss",
        ),
        (
            {"prior": "even"},
            "prior: even is not a valid value; give empirical, uniform or a number for each label",
        ),
    ],
)
def test_parameters_that_make_no_sense(options: dict[str, Any], says: str) -> None:
    """They are refused when they are given, not when they are needed; by ValueErrors, where the
    type is wrong.
    """
    before = TextClassifier()
    for use in (TextClassifier, before.set_params):
        with pytest.raises(SettingsError) as caught:
            use(**options)
        assert str(caught.value).startswith(says)
    assert before.get_params() == TextClassifier().get_params()


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (None, "labels are missing; give a list of labels, one for each text"),
        ("ababa", "one label was given"),
        ([("a", 1)] * 5, "labels are of several types"),
        (np.array(LABELS).reshape(-1, 1), "y is a table, not a list of labels"),
    ],
)
def test_what_are_no_labels(labels: Any, says: str) -> None:
    """Columns of tables, labels of several types and the like are refused; one line says so."""
    with pytest.raises(InputError) as caught:
        TextClassifier().fit(TEXTS, labels)
    assert str(caught.value).startswith(says)


def test_a_score_needs_pairs() -> None:
    """Texts and labels in different numbers, none of them, or a missing label, are not score."""
    classifier = TextClassifier().fit(TEXTS, LABELS)
    missing = [[each, *LABELS[1:]] for each in (None, float("nan"), " ")]
    for texts, labels in ((TEXTS, LABELS[:2]), ([], []), *((TEXTS, each) for each in missing)):
        with pytest.raises(InputError):
            classifier.score(texts, labels)

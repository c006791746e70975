"""A saved model predicts as before, has the same bytes each time, and is refused if its content is
invalid.
"""

import dataclasses
import json
from functools import reduce
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import stored_models
from stored import change, load, put, remove
from stored_models import KINDS, answer

import nbtext
from nbtext import TextClassifier, load_model, save_model
from nbtext.artifact import model as model_file
from nbtext.bayes.calibration import Calibration
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.diagnostics import Hyperparameters, LeaveOneOutEstimate
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.settings import ModelInput
from nbtext.errors import ArtifactError
from nbtext.features.settings import FeatureSettings
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.task import OneLabel

TEXTS = [
    "red round leaf",
    "green round",
    "yellow long",
    "yellow curved long",
    "straße",
    "İstanbul \udcff x1",
]
LABELS = ["apple", "apple", "banana", "banana", "ci\nty", "ci\nty"]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"model": "bernoulli", "smoothing": 0.0},
    {"model": "complement", "normalize_weights": True, "tf": "log", "idf": "smooth", "norm": "l2"},
    {"model": "categorical", "values": 3, "min_df": 2},
    {"model": "categorical", "hash_bits": 6},
    {"model": "gaussian"},
    {"model": "gaussian", "idf": "smooth", "norm": "l2", "smoothing": 0.01},
    {"ngrams": (1, 2), "min_df": 2, "calibrate": False},
    {"hash_bits": 6, "optimize": "log_loss"},
    {"vocabulary": ("unheard", "yellow"), "prior": (1.0, 2.0, 3.0)},
    {"analyzer": "char_wb", "ngrams": (2, 3), "max_features": 9},
    {"keep_sample": 4},
    {"keep_sample": 100},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_round_trip(options: dict[str, Any], tmp_path: Path) -> None:
    """A loaded model gives the same probabilities to the last bit, has the same counts, and saves
    as the same bytes.
    """
    classifier = TextClassifier(**options).fit(TEXTS, LABELS)
    first = str(tmp_path / "first.joblib")
    second = str(tmp_path / "second.joblib")
    save_model(classifier, first)
    loaded = load_model(first)
    assert loaded.get_params() == classifier.get_params()
    questions = [*TEXTS, "unheard red", ""]
    np.testing.assert_array_equal(
        loaded.predict_proba(questions), classifier.predict_proba(questions)
    )
    assert loaded.counts_.vocabulary == classifier.counts_.vocabulary
    np.testing.assert_array_equal(
        loaded.counts_.statistics.occurrences, classifier.counts_.statistics.occurrences
    )
    assert ("sample" in load(first)["counts"]) == ("keep_sample" in options)
    for name in (
        ("indptr", "indices", "counts", "classes", "hashes") if "keep_sample" in options else ()
    ):
        expected, found = (getattr(each.counts_.sample, name) for each in (classifier, loaded))
        assert expected.dtype == found.dtype
        np.testing.assert_array_equal(expected, found)
    save_model(loaded, second)
    assert Path(first).read_bytes() == Path(second).read_bytes()


@pytest.mark.parametrize(("excess", "is_right"), [(1e-12, True), (1e-6, False)])
def test_sums_of_probabilities_may_be_rounded(
    excess: float, is_right: bool, tmp_path: Path
) -> None:
    """A word of all documents of a class may have more than the class has by what rounding adds,
    and no more.
    """
    path = str(tmp_path / "model.joblib")
    save_model(TextClassifier().fit(["red", "red", "long"], ["a", "a", "b"]), path)
    change(path, put("counts.statistics.class_documents", lambda counts: counts * 0.5))
    for name in ("documents", "occurrences"):
        change(path, put(f"counts.statistics.{name}", lambda counts: counts * 0.5 * (1 + excess)))
    if is_right:
        assert load_model(path).counts_.statistics.n_documents == 1.5
        return
    with pytest.raises(ArtifactError, match="should be at most the documents of the class"):
        load_model(path).counts_  # noqa: B018 - it is read when it is used


DATA_CLASSES = (  # of each section: those whose fields may be missing
    ("views.0.settings", FeatureSettings),
    ("model_settings", ModelSettings),
    ("hyperparameters", Hyperparameters),
    ("task", OneLabel),
    ("task.calibration", Calibration),
    ("task.estimate", LeaveOneOutEstimate),
    ("input", ModelInput),
    ("views.0.weighting", Weighting),
    ("counts", CorpusCounts),
    ("counts.statistics", ClassStatistics),
)


@pytest.mark.parametrize(("section", "kind"), DATA_CLASSES)
def test_a_missing_field_has_its_default(section: str, kind: type, tmp_path: Path) -> None:
    """A file without a field was written before there was such a field: each one with a default may
    be missing.
    """
    path = tmp_path / "model.joblib"
    classifier = TextClassifier().fit(TEXTS, LABELS)
    save_model(classifier, path)
    whole = path.read_bytes()
    expected = classifier.predict_proba(TEXTS)
    found = reduce(
        lambda part, name: part[int(name) if name.isdecimal() else name],
        section.split("."),
        load(path),
    )
    for field in dataclasses.fields(kind):
        is_default = str(found.get(field.name)) == str(field.default).replace("(", "[").replace(
            ")", "]"
        )
        if field.default is not dataclasses.MISSING and is_default and field.name in found:
            change(path, remove(f"{section}.{field.name}"))
            loaded = load_model(path)
            np.testing.assert_array_equal(loaded.predict_proba(TEXTS), expected)
            assert loaded.get_params() == classifier.get_params()
            assert loaded.counts_.statistics.n_documents == len(TEXTS)
            save_model(loaded, path)
            assert path.read_bytes() == whole
    change(path, put(f"{section}.later", 1))
    message = f'this one does not know its entry "{section.replace(".0", "")}.later"; update nbtext: pip install'
    with pytest.raises(ArtifactError, match=message):
        load_model(path).counts_  # noqa: B018 - it is read when it is used


@pytest.mark.parametrize("name", KINDS)
def test_stored_models_are_read(name: str, tmp_path: Path) -> None:
    """Models that were written when this format began predict what they predicted, and can be saved
    and grown.
    """
    path = stored_models.FOLDER / f"{name}.joblib"
    expected = json.loads((stored_models.FOLDER / f"{name}.json").read_text(encoding="ascii"))
    classifier = load_model(path)
    found = answer(name, classifier)
    assert (found["labels"], found["documents"]) == (expected["labels"], expected["documents"])
    np.testing.assert_allclose(found["probabilities"], expected["probabilities"], rtol=1e-9)
    classifier.save(tmp_path / "again")
    assert answer(name, load_model(tmp_path / "again")) == found
    assert answer(name, joblib.load(tmp_path / "again")) == found
    if name.endswith("with-sample"):
        labels = [("apple",)] if name.startswith("several") else ["apple"]
        assert (
            classifier.partial_fit(["a new red one"], labels).counts_.statistics.n_documents
            == found["documents"] + 1
        )


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (
            nbtext.save_model,
            ("model_settings.joblib", TextClassifier()),
            "takes a TextClassifier, then a path; the first is str",
        ),
        (nbtext.save_model, (None, "model.joblib"), "the first is NoneType"),
        (
            nbtext.save_model,
            (TextClassifier().fit(TEXTS, LABELS), 5),
            "str or os.PathLike, not int",
        ),
        (
            nbtext.save_model,
            (TextClassifier().fit(TEXTS, LABELS), None),
            "str or os.PathLike, not NoneType",
        ),
        (nbtext.load_model, (TextClassifier(),), "str or os.PathLike, not TextClassifier"),
        (nbtext.load_model, (0,), "str or os.PathLike, not int"),
        (
            model_file.save_model_file,
            ("model_settings.joblib", "model.joblib"),
            "takes a model, then a path; the first is str",
        ),
    ],
)
def test_arguments_of_the_wrong_type(
    function: Any, arguments: tuple[Any, ...], message: str
) -> None:
    """Arguments in the wrong order, or of another type, are a TypeError that says what is
    wanted.
    """
    with pytest.raises(TypeError, match=message):
        function(*arguments)

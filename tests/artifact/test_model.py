"""A saved model predicts as before, has the same bytes each time, and is refused if its content is
invalid.
"""

import dataclasses
import json
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, get_args

import joblib
import numpy as np
import pytest
import stored_models
from stored import change, load, put, remove
from stored_models import KINDS, answer

import nbtext
from nbtext import TextClassifier, load_model, save_model
from nbtext.artifact import audit
from nbtext.artifact import model as model_file
from nbtext.artifact.model import View
from nbtext.artifact.record import fields_of
from nbtext.bayes.calibration import Calibration
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.diagnostics import Hyperparameters, LeaveOneOutEstimate
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.settings import ModelInput
from nbtext.errors import ArtifactError
from nbtext.features.settings import FeatureSettings
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import FittedModel
from nbtext.model.several_labels import SeveralLabels
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
    save_model(loaded, second)
    assert Path(first).read_bytes() == Path(second).read_bytes()


def test_opens_without_nbtext(tmp_path: Path) -> None:
    """joblib alone opens a model: a header of JSON, and the bytes of all arrays."""
    path = tmp_path / "model.joblib"
    save_model(TextClassifier().fit(TEXTS, LABELS), str(path))
    model = joblib.load(path)
    assert list(model) == ["header", "data"]
    header = json.loads(model["header"])
    assert (header["format"], header["version"], header["nbtext"]) == (
        "nbtext model",
        3,
        nbtext.__version__,
    )
    assert header["task"]["labels"] == ["apple", "banana", "ci\nty"]

    def array(place: dict[str, Any]) -> Any:
        return np.ndarray(place["shape"], place["dtype"], model["data"], place["offset"])

    assert bytes(array(header["views"][0]["vocabulary"]["blob"])).startswith(b"curvedgreen")
    assert array(header["scorer"]["bias"]).shape == (3,)


def packed(*labels: str) -> dict[str, Any]:
    offsets = np.cumsum([0, *map(len, labels)])
    return {
        "blob": np.frombuffer("".join(labels).encode("ascii"), dtype=np.uint8),
        "offsets": offsets,
    }


def pair(first: int, second: int, documents: int = 1) -> dict[str, int]:
    return {"first": first, "second": second, "first_as_second": documents, "second_as_first": 0}


LEARNED = {
    "method": "em",
    "documents": 1,
    "weight": 1.0,
    "log_prior": np.log([0.5, 0.25, 0.25]),
    "log_likelihoods": np.zeros(2),
}
WRONG: list[tuple[str, Callable[[dict[str, Any]], None]]] = [
    ("task.labels", put("task.labels", packed("a", "a", "b"))),
    ("task.labels", put("task.labels", packed("b", "a", "c"))),
    ("task.labels", put("task.labels", packed("a", "b", "c" * 1001))),
    ("task.labels", put("task.labels", packed())),
    ("task.log_prior", put("task.labels", packed("a"))),
    ("views.settings.stem", put("views.0.settings.stem", "klingon")),
    ("views.settings.token_pattern", put("views.0.settings.token_pattern", "(")),
    ("views.settings.analyzer", put("views.0.settings.analyzer", "sound")),
    ("views.settings", put("views.0.settings.ngrams", (2, 1))),
    ("model_settings", put("model_settings.smoothing", -1.0)),
    ("scorer.bias", put("scorer.bias", np.zeros(2))),
    ("scorer.bias", put("scorer.bias", np.full(3, 2e100))),  # times counts, sums stay finite
    ("scorer.deltas", put("scorer.deltas", np.zeros(1))),
    ("scorer.classes", put("scorer.classes", np.zeros(0, dtype=np.uint8))),
    ("scorer.indptr", put("scorer.indptr", np.zeros(3))),
    *(
        (f"unlabeled.{key}", put("unlabeled", {**LEARNED, key: value}))
        for key, value in (
            ("log_prior", np.zeros(2)),
            ("log_prior", np.full(3, 1e3)),
        )
    ),
    ("views.vocabulary", put("views.0.vocabulary.offsets", np.array([0, 5], dtype=np.uint8))),
    ("views.vocabulary", put("views.0.vocabulary.blob", np.zeros(3, dtype=np.uint8))),
    (
        "task.calibration.temperature.a",
        put("task.calibration.temperature", {"a": 0.0, "b": 1.0, "noise": 0.0}),
    ),
    (
        "task.calibration.temperature.b",
        put("task.calibration.temperature", {"a": 1.0, "b": -1000.0, "noise": 0.0}),
    ),
    (
        "task.calibration.temperature.noise",
        put("task.calibration.temperature", {"a": 1.0, "b": 1.0, "noise": 1.0}),
    ),
    (
        "task.calibration.nonconformity.points",
        put("task.calibration.nonconformity", {"points": np.zeros(3), "numbers": 2}),
    ),
    (
        "task.calibration.nonconformity.points",
        put("task.calibration.nonconformity", {"points": np.array([1.0, 0.0]), "numbers": 2}),
    ),
    *(
        (
            key,
            put(
                "task.estimate",
                {
                    "documents": 6,
                    "accuracy": 0.5,
                    "log_loss": 1.0,
                    "confused": wrong,
                    "optimized": None,
                    "targets": (),
                },
            ),
        )
        for key, wrong in (
            ("task.estimate.confused", (pair(2, 3),)),
            ("task.estimate.confused", (pair(1, 1),)),
            ("task.estimate.confused", (pair(0, 3),)),
            ("task.estimate.confused.first_as_second", (pair(0, 1, documents=-1),)),
        )
    ),
    *(
        (
            f"task.calibration.mean_posteriors.{key}",
            put(f"task.calibration.mean_posteriors.{key}", value),
        )
        for key, value in (
            ("means", np.array([[2.0, -1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])),
            ("means", np.eye(2)),
            ("documents", np.array([1, 1, -1])),
            ("documents", np.array([1, 1])),
            ("spreads", np.array([0.0, 0.5, 1.5])),
            ("prior", np.array([0.0, 0.5, 0.5])),
            ("prior", np.full(2, 0.5)),
        )
    ),
    ("task.log_prior", put("task.log_prior", np.array([1.0, -9.0, -9.0]))),
    ("task.log_prior", put("task.log_prior", np.array([0.0, -np.inf, -np.inf]))),
    ("scorer.derivation", put("scorer.derivation", {})),
    ("views.weighting.idf", put("views.0.weighting.idf", np.ones(3))),
    ("scorer.base_scale", put("scorer.base_scale", np.zeros(2))),
    ("counts.label_sets", put("counts.label_sets", [["apple"]])),
    ("counts.below", put("counts.below", 2**64 + 1)),
    (
        "counts.statistics.class_documents",
        put("counts.statistics.class_documents", np.zeros(0, dtype=np.uint8)),
    ),
    (
        "counts.statistics.class_documents",
        put("counts.statistics.class_documents", np.ones(4, dtype=np.uint8)),
    ),
    ("views.weighting.tf", put("views.0.weighting.tf", "loud")),
]


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize(
    ("key", "how"), WRONG, ids=[f"{number}-{key}" for number, (key, _) in enumerate(WRONG)]
)
def test_invalid_content_is_refused(
    key: str, how: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    """A record with a correct checksum and invalid content is refused in one line that names the
    file and the key.
    """
    path = str(tmp_path / "model.joblib")
    save_model(TextClassifier().fit(TEXTS, LABELS), path)
    change(path, how)
    with pytest.raises(ArtifactError) as refusal:
        load_model(path).counts_  # noqa: B018 - it is read when it is used
    assert path in str(refusal.value)
    assert key in str(refusal.value)


def test_every_key_is_checked(tmp_path: Path) -> None:
    """Leaving out a key that has no default is an error that names it."""
    path = tmp_path / "model.joblib"
    save_model(TextClassifier().fit(TEXTS, LABELS), path)
    whole = path.read_bytes()
    for key in ("nbtext", "task", "views", "model_settings", "scorer", "hyperparameters", "counts"):
        change(path, remove(key))
        with pytest.raises(ArtifactError, match=f'"{key}" is missing'):
            load_model(path)
        path.write_bytes(whole)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (put("documents", lambda counts: counts * 9), "documents of the class"),
        (put("documents", lambda counts: np.append(0, counts[1:])), "more than 0"),
        (put("documents", lambda counts: counts[1:]), "numbers, and is"),
        (put("occurrences", lambda counts: counts * 0), "at least the documents"),
        (put("occurrences", lambda counts: counts * 2.0**60), "sum to at most"),
        (put("classes", lambda counts: counts + 3), "classes"),
        (
            put(
                "totals",
                {"n_documents": 7, "documents": np.full(10, 7), "occurrences": np.full(10, 9)},
            ),
            "totals",
        ),
        (put("class_documents", lambda counts: counts[:2]), "class_documents"),
    ],
)
def test_counts_that_cannot_be_right_are_refused(
    how: Callable[[dict[str, Any]], None], message: str, tmp_path: Path
) -> None:
    """Such as more documents with a word than the class has: when the counts are first used, in one
    line.
    """
    path = str(tmp_path / "model.joblib")
    texts = [*TEXTS, "yellow long"]
    save_model(TextClassifier().fit(texts, [*LABELS, "banana"]), path)
    assert load_model(path).counts_.statistics.n_documents == 7
    change(path, lambda record: how(record["counts"]["statistics"]))
    with pytest.raises(ArtifactError, match=message) as refusal:
        load_model(path).counts_  # noqa: B018 - it is read when it is used
    assert str(refusal.value).startswith(f"{path}: ")


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


NEWER = (
    ("task.name", "tree", "does not know the task 'tree'"),
    ("later", 1, 'does not know its entry "later"'),
    ("scorer.later", np.zeros(3), 'does not know its entry "scorer.later"'),
    (
        "scorer.deltas",
        {"dtype": "<f2", "shape": [3], "offset": 0, "checksum": 0},
        "arrays of the type '<f2'",
    ),
    (
        "scorer.deltas",
        {"dtype": "bfloat16", "shape": [3], "offset": 0, "checksum": 0},
        "of the type 'bfloat16'",
    ),
    (
        "scorer.deltas",
        {"dtype": "|i1", "scales": [0.1], "shape": [3], "offset": 0, "checksum": 0},
        'know "scales"',
    ),
)


@pytest.mark.parametrize(("where", "value", "message"), NEWER)
def test_what_a_later_program_may_write(
    where: str, value: Any, message: str, tmp_path: Path
) -> None:
    """Other tasks and types of weights, and new entries need a newer nbtext."""
    path = tmp_path / "model.joblib"
    save_model(TextClassifier().fit(TEXTS, LABELS), path)
    change(path, put(where, value))
    with pytest.raises(
        ArtifactError, match=f"was written by a newer nbtext: .*{message}.*; update nbtext"
    ) as refusal:
        load_model(path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        ("views", [], '"views" is empty'),
        ("views", lambda views: views[:1], "should be one for each view of the settings"),
        ("views", lambda views: views * 2, "should be one for each view of the settings"),
        ("views.0.settings.view", ["char:2"], "should be one for each view of the settings"),
        ("views.0.settings.view", ["char:x", "word:1"], "is not a setting"),
        ("views.0.settings.min_df", 3, "should be one for each view of the settings"),
        ("views.0.vocabulary", None, '"views.vocabulary" is missing'),
        (
            "views.0.weighting.idf",
            lambda idf: idf[1:],
            '"views.weighting.idf" should have a number for each feature',
        ),
        ("scorer.bounds", np.array([0, 1, 2]), '"scorer.bounds" should be those of the views'),
        ("scorer.default", lambda numbers: numbers[1:], '"scorer.default" should be'),
        (
            "counts.vocabulary",
            lambda parts: parts[:1],
            '"counts.vocabulary" should be one for each view',
        ),
        ("counts.vocabulary", lambda parts: parts[:1] * 2, "counts.statistics"),
    ],
)
def test_views_that_cannot_be_right_are_refused(
    where: str, value: Any, message: str, tmp_path: Path
) -> None:
    """In one line; also if the file says that the scorer has the bounds of other views."""
    path = tmp_path / "model.joblib"
    classifier = TextClassifier(view=("word:1:tfidf", "char:2:tfidf"), min_df=2).fit(
        TEXTS * 2, LABELS * 2
    )
    save_model(classifier, path)
    np.testing.assert_array_equal(
        load_model(path).predict_proba(TEXTS), classifier.predict_proba(TEXTS)
    )
    change(path, put(where, value))
    with pytest.raises(ArtifactError, match=message) as refusal:
        load_model(path).counts_  # noqa: B018 - it is read when it is used
    assert "\n" not in str(refusal.value)


def test_limits_and_checks_are_those_of_fields() -> None:
    """Each bound names a field, and each check a class, that is stored; after a change of names,
    none would be left.
    """
    stored: dict[str, Any] = {}
    pending: list[Any] = [
        FittedModel,
        CorpusCounts,
        OneLabel,
        SeveralLabels,
        View,
        audit.Names,
        audit.Lists,
    ]
    while pending:
        hint = pending.pop()
        pending += [part for part in get_args(hint) if not isinstance(part, str)]
        if fields_of(hint) and hint.__name__ not in stored:
            stored[hint.__name__] = hint
            pending += [each.hint for each in fields_of(hint).values()]
    assert set(audit.CHECKS) <= set(stored)
    for name in audit.LIMITS:
        kind, _, field = name.partition(".")
        assert field in fields_of(stored[kind]), name


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
    if name.endswith("with-sample"):
        labels = [("apple",)] if name.startswith("several") else ["apple"]
        assert (
            classifier.partial_fit(["a new red one"], labels).counts_.statistics.n_documents
            == found["documents"] + 1
        )


def test_a_model_of_an_earlier_version_has_no_mean_posteriors(tmp_path: Path) -> None:
    """It predicts as before, and its file stays the same."""
    path = str(tmp_path / "model.joblib")
    again = str(tmp_path / "again.joblib")
    save_model(TextClassifier().fit(TEXTS, LABELS), path)
    change(path, remove("task.calibration.mean_posteriors"))
    loaded = load_model(path)
    assert loaded.predict(["yellow"]).tolist() == ["banana"]
    save_model(loaded, again)
    assert Path(path).read_bytes() == Path(again).read_bytes()


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
            model_file.save_model,
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


def test_a_path_object(tmp_path: Path) -> None:
    """A path may be a Path."""
    nbtext.save_model(TextClassifier().fit(TEXTS, LABELS), tmp_path / "m")
    assert nbtext.load_model(tmp_path / "m").predict(["yellow"]).tolist() == ["banana"]


@pytest.mark.parametrize(("model", "C"), [("multinomial", 1.0), ("logistic", None)])
def test_a_regularization_strength_fits_the_model(
    model: str, C: float | None, tmp_path: Path
) -> None:
    """Linear models have a regularization strength C, and event models have none."""
    path = str(tmp_path / "model.joblib")
    save_model(TextClassifier(model=model).fit(TEXTS, LABELS), path)
    change(path, put("hyperparameters.C", C))
    with pytest.raises(ArtifactError, match=r"hyperparameters\.C"):
        load_model(path)

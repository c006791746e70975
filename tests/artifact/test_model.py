"""A saved model predicts as before, has the same bytes each time, and is refused if its content is invalid."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

import nbtext
from nbtext import TextClassifier, load_model, save_model
from nbtext.artifact import model as model_file
from nbtext.artifact.storage import load, save
from nbtext.bayes.calibration import Calibration
from nbtext.bayes.diagnostics import Hyperparameters, LeaveOneOutEstimate
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.matrix import Matrix
from nbtext.documents.settings import ModelInput
from nbtext.errors import ArtifactError, InputError
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary

TEXTS = ["red round leaf", "green round", "yellow long", "yellow curved long", "straße", "İstanbul \udcff x1"]
LABELS = ["apple", "apple", "banana", "banana", "city\n", "city\n"]
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
    """A loaded model gives the same probabilities to the last bit, has the same counts, and saves as the same bytes."""
    classifier = TextClassifier(**options).fit(TEXTS, LABELS)
    first, second = str(tmp_path / "first.joblib"), str(tmp_path / "second.joblib")
    save_model(classifier, first)
    loaded = load_model(first)
    assert loaded.get_params() == classifier.get_params()
    questions = [*TEXTS, "unheard red", ""]
    np.testing.assert_array_equal(loaded.predict_proba(questions), classifier.predict_proba(questions))
    assert loaded.counts_.vocabulary == classifier.counts_.vocabulary
    np.testing.assert_array_equal(loaded.counts_.statistics.occurrences, classifier.counts_.statistics.occurrences)
    save_model(loaded, second)
    assert Path(first).read_bytes() == Path(second).read_bytes()


def test_opens_without_nbtext(tmp_path: Path) -> None:
    """joblib alone opens a model as plain data."""
    path = tmp_path / "model.joblib"
    save_model(TextClassifier().fit(TEXTS, LABELS), str(path))
    record = joblib.load(path)
    assert record["format"] == "nbtext model"
    assert bytes(record["labels"]["blob"]) == b"applebananacity\n"
    assert record["labels"]["offsets"].tolist() == [0, 5, 11, 16]
    assert bytes(record["vocabulary"]["blob"]).startswith(b"curvedgreen")


def set_at(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        for key in path[:-1]:
            record = record[key]
        record[path[-1]] = value

    return change


def packed(*labels: str) -> dict[str, Any]:
    offsets = np.cumsum([0, *map(len, labels)])
    return {"blob": np.frombuffer("".join(labels).encode("ascii"), dtype=np.uint8), "offsets": offsets}


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
    ("labels", set_at("labels", value=packed("a", "a", "b"))),
    ("labels", set_at("labels", value=packed("b", "a", "c"))),
    ("labels", set_at("labels", value=packed("a", "b", "c" * 1001))),
    ("labels", set_at("labels", value=packed())),
    ("labels", set_at("labels", value=["a", "b", "c"])),
    ("labels", set_at("labels", value=None)),
    ("scorer.classes", set_at("labels", value=packed("a"))),
    ("features.analyzer", set_at("features", "analyzer", value="sound")),
    ("features.min_df", set_at("features", "min_df", value="2")),
    ("features.ngrams", set_at("features", "ngrams", value=(1, 2, 3))),
    ("features", set_at("features", "ngrams", value=(2, 1))),
    ("model.smoothing", set_at("model", "smoothing", value=[1.0])),
    ("model", set_at("model", "smoothing", value=-1.0)),
    ("surprise", set_at("surprise", value=1)),
    ("scorer.bias", set_at("scorer", "bias", value=np.zeros(2))),
    ("scorer.bias", set_at("scorer", "bias", value=np.array([np.nan, 0, 0]))),
    ("scorer.bias", set_at("scorer", "bias", value=np.full(3, 1e308))),
    ("scorer.bias", set_at("scorer", "bias", value=np.full(3, 2e100))),  # times counts, sums stay finite
    ("scorer.deltas", set_at("scorer", "deltas", value=np.zeros(1))),
    ("scorer.classes", set_at("scorer", "classes", value=np.zeros(0, dtype=np.uint8))),
    ("scorer.indptr", set_at("scorer", "indptr", value=np.zeros(3))),
    *(
        (f"unlabeled.{key}", set_at("unlabeled", value={**LEARNED, key: value}))
        for key, value in (
            ("method", "guessing"),
            ("documents", 0),
            ("weight", 2.0),
            ("log_likelihoods", np.array([np.nan])),
            ("log_prior", np.zeros(2)),
            ("log_prior", np.zeros(3)),
            ("log_prior", np.full(3, 1e3)),
            ("surprise", 1),
        )
    ),
    ("vocabulary", set_at("vocabulary", "offsets", value=np.array([0, 5], dtype=np.uint8))),
    ("vocabulary", set_at("vocabulary", "blob", value=np.zeros(3, dtype=np.uint8))),
    ("calibration.temperature.a", set_at("calibration", "temperature", value={"a": 0.0, "b": 1.0, "noise": 0.0})),
    ("calibration.temperature.b", set_at("calibration", "temperature", value={"a": 1.0, "b": -1000.0, "noise": 0.0})),
    (
        "calibration.temperature.noise",
        set_at("calibration", "temperature", value={"a": 1.0, "b": 1.0, "noise": 5e-324}),
    ),
    ("calibration.temperature.noise", set_at("calibration", "temperature", value={"a": 1.0, "b": 1.0, "noise": 1.0})),
    (
        "calibration.nonconformity.points",
        set_at("calibration", "nonconformity", value={"points": np.zeros(3), "numbers": 2}),
    ),
    (
        "calibration.nonconformity.points",
        set_at("calibration", "nonconformity", value={"points": np.array([1.0, 0.0]), "numbers": 2}),
    ),
    *(
        (
            key,
            set_at(
                "estimate",
                value={
                    "documents": 6,
                    "accuracy": 0.5,
                    "log_loss": 1.0,
                    "confused": wrong,
                    "duplicates": 0,
                    "unjudged": 0,
                    "held_out": 0,
                    "optimized": None,
                    "targets": (),
                },
            ),
        )
        for key, wrong in (
            ("estimate.confused", [pair(0, 1)]),
            ("estimate.confused", (pair(0, 1), pair(0, 1))),
            ("estimate.confused", (pair(0, 1, documents=7),)),
            ("confused.first", (pair(2, 3),)),
            ("confused.second", (pair(1, 1),)),
            ("confused.second", (pair(0, 3),)),
            ("confused.first_as_second", (pair(0, 1, documents=-1),)),
            ("confused", (0,)),
        )
    ),
    *(
        (f"mean_posteriors.{key}", set_at("mean_posteriors", key, value=value))
        for key, value in (
            ("means", np.full((3, 3), 0.5)),
            ("means", np.full((3, 3), np.nan)),
            ("means", np.array([[2.0, -1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])),
            ("means", np.eye(2)),
            ("means", np.eye(3, dtype=np.float32)),
            ("means", None),
            ("documents", np.array([1, 1, -1])),
            ("documents", np.array([1, 1])),
            ("documents", np.ones(3)),
            ("spreads", np.array([0.0, 0.5, 1.5])),
            ("spreads", np.array([0.0, np.nan, 0.5])),
            ("prior", np.array([0.0, 0.5, 0.5])),
            ("prior", np.full(3, 0.5)),
            ("prior", np.full(2, 0.5)),
            ("surprise", 1),
        )
    ),
    ("mean_posteriors", set_at("mean_posteriors", value=None)),
    ("class_documents", set_at("class_documents", value=np.zeros(0, dtype=np.uint8))),
    ("class_documents", set_at("class_documents", value=np.ones(4, dtype=np.uint8))),
    ("input.separate_fields", set_at("input", "separate_fields", value=True)),
    ("estimate.unanswered", set_at("estimate", "unanswered", value=-1)),
    ("estimate.unanswered", set_at("estimate", "unanswered", value=1.5)),
    ("hyperparameters.smoothing", set_at("hyperparameters", "smoothing", value=float("inf"))),
    ("weighting.tf", set_at("weighting", "tf", value="loud")),
]


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize(("key", "change"), WRONG, ids=[f"{number}-{key}" for number, (key, _) in enumerate(WRONG)])
def test_invalid_content_is_refused(key: str, change: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    """A record with a correct checksum and invalid content is refused in one line that names the file and the key."""
    path = str(tmp_path / "model.joblib")
    save_model(TextClassifier().fit(TEXTS, LABELS), path)
    record = dict(load(path))
    for name, value in record.items():
        record[name] = dict(value) if isinstance(value, dict) else value
    change(record)
    save(record, path)
    with pytest.raises(ArtifactError) as refusal:
        load_model(path)
    assert path in str(refusal.value)
    assert key in str(refusal.value)


def test_every_key_is_checked(tmp_path: Path) -> None:
    """Leaving out any key of the record is an error that names it."""
    path = str(tmp_path / "model.joblib")
    save_model(TextClassifier().fit(TEXTS, LABELS), path)
    whole = load(path)
    for key in model_file.KEYS[2:]:
        save({name: value for name, value in whole.items() if name != key}, path)
        with pytest.raises(ArtifactError, match=key):
            load_model(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r["statistics"].update(documents=r["statistics"]["documents"] * 9), "documents of the class"),
        (lambda r: r["statistics"]["documents"].__setitem__(0, 0), "more than 0"),
        (lambda r: r["statistics"].update(documents=r["statistics"]["documents"][1:]), "numbers, and is"),
        (lambda r: r["statistics"].update(occurrences=r["statistics"]["documents"] * 0), "at least the documents"),
        (lambda r: r["statistics"].update(occurrences=r["statistics"]["occurrences"] * 2.0**60), "sum to at most"),
    ],
)  # fmt: skip
def test_counts_that_cannot_be_right_are_refused(
    change: Callable[[dict[str, Any]], None], message: str, tmp_path: Path
) -> None:
    """Such as more documents with a word than the class has: when the counts are first used, in one line."""
    path = str(tmp_path / "model.joblib")
    texts = [*TEXTS, "yellow long"]
    save_model(TextClassifier().fit(texts, [*LABELS, "banana"]), path)
    record = load(path)
    record["statistics"] = {name: values.astype(np.int64) for name, values in record["statistics"].items()}
    save(record, path)
    assert load_model(path).counts_.statistics.n_documents == 7
    change(record)
    save(record, path)
    with pytest.raises(ArtifactError, match=message) as refusal:
        load_model(path).counts_  # noqa: B018 - it is read when it is used
    assert str(refusal.value).startswith(f"{path}: ")


@pytest.mark.parametrize(("excess", "is_right"), [(1e-12, True), (1e-6, False)])
def test_decayed_counts_may_be_rounded(excess: float, is_right: bool, tmp_path: Path) -> None:
    """A word of all documents of a class may have more than the class has by what rounding adds, and no more."""
    path = str(tmp_path / "model.joblib")
    save_model(TextClassifier().fit(["red", "red", "long"], ["a", "a", "b"]), path)
    record = load(path)
    record["class_documents"] = record["class_documents"] * 0.5
    for name in ("documents", "occurrences"):
        record["statistics"][name] = record["statistics"][name] * 0.5 * (1 + excess)
    save(record, path)
    if is_right:
        assert load_model(path).counts_.statistics.n_documents == 1.5
        return
    with pytest.raises(ArtifactError, match="should be at most the documents of the class"):
        load_model(path).counts_  # noqa: B018 - it is read when it is used


DATA_CLASSES = (  # of each section: those whose fields may be missing
    ("features", FeatureSettings), ("model", ModelSettings), ("hyperparameters", Hyperparameters),
    ("calibration", Calibration), ("estimate", LeaveOneOutEstimate), ("input", ModelInput),
)  # fmt: skip


@pytest.mark.parametrize(("section", "kind"), DATA_CLASSES)
def test_a_missing_field_has_its_default(section: str, kind: type, tmp_path: Path) -> None:
    """A file without a field was written before there was such a field: each one with a default may be missing."""
    path = str(tmp_path / "model.joblib")
    classifier = TextClassifier().fit(TEXTS, LABELS)
    save_model(classifier, path)
    whole, expected = load(path), classifier.predict_proba(TEXTS)
    for field in dataclasses.fields(kind):
        is_default = str(whole[section].get(field.name, field.default)) == str(field.default)
        if field.default is not dataclasses.MISSING and is_default:
            rest = {name: value for name, value in whole[section].items() if name != field.name}
            save({**whole, section: rest}, path)
            loaded = load_model(path)
            np.testing.assert_array_equal(loaded.predict_proba(TEXTS), expected)
            assert loaded.get_params() == classifier.get_params()
    save({**whole, section: {**whole[section], "later": 1}}, path)
    message = f'this one does not know its entry "{section}.later"; update nbtext: pip install'
    with pytest.raises(ArtifactError, match=message):
        load_model(path)


def test_a_matrix_file_of_another_version() -> None:
    """A setting that a matrix file does not have is its default; an unknown one is of a newer nbtext."""
    matrix = Matrix(
        np.ones(2, dtype=np.int32), np.array([0, 1], dtype=np.int32), np.arange(3), 2,
        *(getattr(Vocabulary.from_terms(("green", "red")), name) for name in ("blob", "offsets")),
        ["1", "2"], ["a", "b"], {"analyzer": "word"},
    )  # fmt: skip
    assert TextClassifier().fit_matrix(matrix).predict(["red", "green"]).tolist() == ["b", "a"]
    newer = dataclasses.replace(matrix, settings={"later": 1})
    with pytest.raises(InputError, match="newer nbtext: this one does not know its setting 'later'; update nbtext"):
        TextClassifier().fit_matrix(newer)


@pytest.mark.parametrize(
    ("name", "question", "answer"),
    [("one-label", "long", "banana"), ("several-labels", "yellow", ("banana",)), ("numbers", "long", 2)],
)
def test_models_of_earlier_programs_are_read(name: str, question: str, answer: Any, tmp_path: Path) -> None:
    """Files of commit 902b436 (that of several labels with its totals moved to their own entry) predict what they
    predicted, and are saved as the same bytes.
    """
    path = Path(__file__).parent / "models" / f"{name}.joblib"
    classifier = load_model(str(path))
    assert list(classifier.predict([question])) == [answer]
    classifier.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_a_model_of_an_earlier_version_has_no_mean_posteriors(tmp_path: Path) -> None:
    """It predicts as before, and its file stays the same."""
    path, again = str(tmp_path / "model.joblib"), str(tmp_path / "again.joblib")
    save_model(TextClassifier().fit(TEXTS, LABELS), path)
    save({name: value for name, value in load(path).items() if name != "mean_posteriors"}, path)
    loaded = load_model(path)
    assert loaded.predict(["yellow"]).tolist() == ["banana"]
    save_model(loaded, again)
    assert Path(path).read_bytes() == Path(again).read_bytes()


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (
            nbtext.save_model,
            ("model.joblib", TextClassifier()),
            "takes a TextClassifier, then a path; the first is str",
        ),
        (nbtext.save_model, (None, "model.joblib"), "the first is NoneType"),
        (nbtext.save_model, (TextClassifier().fit(TEXTS, LABELS), 5), "str or os.PathLike, not int"),
        (nbtext.save_model, (TextClassifier().fit(TEXTS, LABELS), None), "str or os.PathLike, not NoneType"),
        (nbtext.load_model, (TextClassifier(),), "str or os.PathLike, not TextClassifier"),
        (nbtext.load_model, (0,), "str or os.PathLike, not int"),
        (model_file.save_model, ("model.joblib", "model.joblib"), "takes a model, then a path; the first is str"),
    ],
)
def test_arguments_of_the_wrong_type(function: Any, arguments: tuple[Any, ...], message: str) -> None:
    """Arguments in the wrong order, or of another type, are a TypeError that says what is wanted."""
    with pytest.raises(TypeError, match=message):
        function(*arguments)


def test_a_path_object(tmp_path: Path) -> None:
    """A path may be a Path."""
    nbtext.save_model(TextClassifier().fit(TEXTS, LABELS), tmp_path / "m")
    assert nbtext.load_model(tmp_path / "m").predict(["yellow"]).tolist() == ["banana"]


LIKELIHOODS = {"points": np.array([-9.0, -5.0]), "numbers": 2}


@pytest.mark.parametrize("model", ["complement", "gaussian", "logistic", "nbsvm"])
@pytest.mark.parametrize(
    "entry", [{"outlier_threshold": -9.0}, {"likelihoods": LIKELIHOODS}], ids=lambda entry: next(iter(entry))
)
def test_likelihoods_of_a_model_that_has_none(model: str, entry: dict[str, Any], tmp_path: Path) -> None:
    """A model without log P(document) has no likelihood quantiles, so a file with such quantiles is refused."""
    path = str(tmp_path / "model.joblib")
    save_model(TextClassifier(model=model).fit(TEXTS, LABELS), path)
    record = dict(load(path))
    save(record | {"calibration": dict(record["calibration"]) | entry}, path)
    with pytest.raises(ArtifactError, match=rf"calibration\.likelihoods.*{model}"):
        load_model(path)


@pytest.mark.parametrize(("model", "C"), [("multinomial", 1.0), ("logistic", None)])
def test_a_regularization_strength_fits_the_model(model: str, C: float | None, tmp_path: Path) -> None:
    """Linear models have a regularization strength C, and event models have none."""
    path = str(tmp_path / "model.joblib")
    save_model(TextClassifier(model=model).fit(TEXTS, LABELS), path)
    record = dict(load(path))
    save(record | {"hyperparameters": dict(record["hyperparameters"]) | {"C": C}}, path)
    with pytest.raises(ArtifactError, match=r"hyperparameters\.C"):
        load_model(path)

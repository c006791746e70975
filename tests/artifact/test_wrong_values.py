"""A model file with right checksums and one wrong value is refused, in one line that names the file
and the key; whatever kind of model it holds.
"""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from stored import change, put, remove

from nbtext import TextClassifier, load_model, save_model
from nbtext.artifact.reduction import limit_size
from nbtext.errors import ArtifactError

TEXTS = [
    "red round leaf",
    "green round",
    "yellow long",
    "yellow curved long",
    "straße",
    "x1 x1",
] * 2
LABELS = ["apple", "apple", "banana", "banana", "ci\nty", "ci\nty"] * 2
LISTS = [["apple", "red"], ["apple"], ["banana"], ["banana"], [], ["red"]] * 2
FRUITS = ("apple", "banana", "red")
TFIDF: dict[str, Any] = {"tf": "binary", "idf": "smooth", "norm": "l2"}
KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "one": ({}, LABELS),
    "sample": ({"keep_sample": 6}, LABELS),
    "views": ({"view": ("word:1:tfidf", "char:2:tfidf"), "min_df": 3}, LABELS),
    "linear": ({"model": "nbsvm", "ngrams": (1, 2), **TFIDF}, LABELS),
    "complement": ({"model": "complement"}, list("abc") * 4),
    "gaussian": ({"model": "gaussian"}, LABELS),
    "small": ({"model": "svm", "analyzer": "char", "ngrams": (1, 4)}, LABELS),
    "several": ({"keep_sample": 100}, LISTS),
    "several linear": ({"model": "svm", "keep_sample": 100}, LISTS),
    "indicator": ({}, np.array([[label in each for label in FRUITS] for each in LISTS])),
    "negative": ({}, [[-1] if labels else [1] for labels in LISTS]),
    "numbers": ({}, list(map(len, LABELS))),
    "targets": ({"model": "multinomial", "min_recall": (("apple", 0.1),)}, LABELS),
}


@cache
def content(kind: str) -> bytes:
    """The bytes of a model of a kind."""
    options, labels = KINDS[kind]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model = TextClassifier(**options).fit(TEXTS, labels).model_
        save_model(limit_size(model, 3_200).model if kind == "small" else model, path)
        return path.read_bytes()


def packed(*labels: str) -> dict[str, Any]:
    offsets = np.cumsum([0, *map(len, labels)])
    blob = np.frombuffer("".join(labels).encode("ascii"), dtype=np.uint8)
    return {"blob": blob, "offsets": offsets}


def pair(first: int, second: int, documents: int = 1) -> list[dict[str, int]]:
    return [
        {
            "first": first,
            "second": second,
            "first_as_second": documents,
            "second_as_first": 0,
        }
    ]


def filled(value: float) -> Callable[[Any], Any]:
    """An array of the same shape and type, filled with one value."""
    return lambda array: np.full_like(array, value)


def shorter(array: Any) -> Any:
    return array[1:]


def backwards(array: Any) -> Any:
    return array[::-1]


REMOVED = object()
TOTALS = {"documents": np.ones(7, dtype=np.int64), "occurrences": np.ones(7, dtype=np.int64)}
LEARNED = {
    "method": "em",
    "documents": 1,
    "weight": 1.0,
    "log_prior": np.log([0.5, 0.25, 0.25]),
    "log_likelihoods": np.zeros(2),
}
INPUT = {
    "unit": "row",
    "text_field": ["text"],
    "label_field": "label",
    "separate_fields": False,
    "label_fields": [],
}
POSTERIORS = "task.calibration.mean_posteriors."
FIT = "task.fit."
STATISTICS = "counts.statistics."
# of each kind of model, wrong values of keys, which the message names
WRONG: dict[str, dict[str, list[Any]]] = {
    "one": {
        "task.labels": [packed("a", "a", "b"), packed("a", "b", "c" * 1001), packed()],
        "task.log_prior": [np.array([1.0, -9.0, -9.0]), np.array([0.0, -np.inf, -np.inf])],
        "task.calibration.temperature.a": [0.0],
        "task.calibration.temperature.b": [-1000.0],
        "task.calibration.temperature.noise": [1.0],
        "task.calibration.nonconformity.points": [np.zeros(3), backwards],
        "task.estimate.confused": [pair(2, 3), pair(1, 1), pair(0, 3)],
        f"{POSTERIORS}means": [np.diag([2.0, -1.0, 1.0]), np.eye(2)],
        f"{POSTERIORS}documents": [np.array([1, 1, -1]), np.array([1, 1])],
        f"{POSTERIORS}spreads": [np.array([0.0, 0.5, 1.5])],
        f"{POSTERIORS}prior": [np.array([0.0, 0.5, 0.5]), np.full(2, 0.5)],
        "input": [
            INPUT | {"unit": "book"},
            INPUT | {"text_field": [""]},
            INPUT | {"label_field": "x" * 10**6},
            INPUT | {"label_separator": 7},
            INPUT | {"label_fields": ["a", "a"]},
            INPUT | {"label_level": 0},
        ],
        "views.0.settings.stem": ["klingon"],
        "views.0.settings.token_pattern": ["(", "(" * 2000],
        "views.0.settings.analyzer": ["sound"],
        "views.0.settings.ngrams": [[1], [2, 1], [1, 10**9]],
        "views.0.settings.hash_bits": [63],
        "views.0.settings.min_df": [-1],
        "views.0.weighting.tf": ["loud"],
        "views.0.weighting.idf": [np.ones(3)],
        "model_settings.smoothing": [-1.0],
        "model_settings.model": ["oracle"],
        "model_settings.prior": ["fair"],
        "model_settings.values": [10**18],
        "task.estimate.accuracy": [1.5],
        "label_type": ["code", "int"],
        "scorer.bias": [np.zeros(2), np.full(3, 2e100)],  # times counts, sums stay finite
        "scorer.deltas": [np.zeros(1)],
        "scorer.classes": [np.zeros(0, dtype=np.uint8)],
        "scorer.indptr": [np.zeros(3)],
        "hyperparameters.C": [1.0],
        "counts.label_sets": [[["apple"]]],
        "counts.below": [2**64 + 1],
        f"{STATISTICS}class_documents": [np.zeros(0, dtype=np.uint8), np.ones(4, dtype=np.uint8)],
        f"{STATISTICS}classes": [lambda classes: classes + 3],
        f"{STATISTICS}documents": [
            lambda counts: counts * 9,
            lambda counts: np.append(0, counts[1:]),
            shorter,
        ],
        f"{STATISTICS}occurrences": [filled(0), lambda counts: counts * 2.0**60],
        f"{STATISTICS}totals": [
            {"n_documents": 7, "documents": np.full(9, 7), "occurrences": np.full(9, 9)}
        ],
    },
    "complement": {"scorer.base_scale": [np.zeros(2)]},
    "sample": {
        "counts.sample": [REMOVED],
        "counts.sample.hashes": [np.zeros(6), backwards],
        "counts.sample.classes": [filled(3)],
        "counts.sample.indices": [filled(200)],
        "counts.sample.counts": [filled(0)],
        "counts.below": [-1, 1.5],
    },
    "linear": {
        "scorer.rows": [
            lambda rows: rows + 200,
            lambda rows: np.where(rows == 3, -1, rows.astype(np.int64)),
        ],
        "scorer.deltas": [lambda deltas: np.append(np.float32(np.inf), shorter(deltas))],
        "views.0.weighting.idf": [lambda idf: np.append(np.float32(np.inf), shorter(idf))],
        "documents.of_labels": [[1, 2], [1, 2, 2**53 + 1], [4, 4, 5]],
        "documents.total": [2**53 + 1],
        "hyperparameters.C": [None],
        "counts": [None, {}],
    },
    "small": {
        "scorer.scales": [shorter, filled(0), filled(1e99)],
        "scorer.deltas": [lambda codes: codes.astype(np.int16), filled(-128), shorter],
        "scorer.classes": [lambda classes: classes + 6],
        "full_features": [-1],
    },
    "several": {
        "task.fit": [3],
        "label_columns": [3],
        f"{FIT}smoothing.mu": [0.0],
        f"{FIT}smoothing.alpha": [-1.0],
        f"{FIT}combination.exponent": [10.5],
        f"{FIT}combination.weights": [[-1.0, -1.0]],
        f"{FIT}combination.biases": [np.zeros(4)],
        f"{FIT}thresholds": [filled(1.5)],
        f"{FIT}fallback": [(3,), (1, 1)],
        f"{FIT}nonconformity.points": [filled(1.5)],
        f"{FIT}posteriors.means": [filled(1.5), np.ones((3, 3))],
        "scorer.bias": [np.zeros(7)],
        f"{STATISTICS}class_documents": [np.array([2, 2])],
        f"{STATISTICS}totals": [REMOVED],
        f"{STATISTICS}totals.occurrences": [filled(0), np.full(9, -1)],
        f"{STATISTICS}totals.documents": [filled(100)],
        f"{STATISTICS}classes": [filled(1)],
        "counts.label_sets": [REMOVED, backwards, lambda sets: [*sets, ["red"]], 3],
        "counts.sample.classes": [filled(9)],
    },
    "several linear": {
        f"{FIT}combination.scale": [0.0],
        f"{FIT}combination.mu": [1.0],
        f"{FIT}combination.biases": [np.zeros(4)],
        "hyperparameters.C": [None],
        "scorer.bias": [np.zeros(7)],
        "scorer.classes": [filled(3)],
    },
    # columns that do not hold all labels, or would not fit in memory; there is a label 2
    "indicator": {"label_columns": [2, (1 << 20) + 1, -1, "3", True]},
    "negative": {"label_columns": [3]},
    "numbers": {"label_columns": [3]},
    "targets": {
        "task.estimate.targets": [()],
        "task.estimate.targets.0.correct": [10**9],
        "task.estimate.optimized": [(0.5, 0.6)],
        "model_settings": [lambda settings: {**settings, "min_recall": [["eggs", 0.1]]}],
    },
}
# wrong values of which the message says something else
SAID: dict[str, list[tuple[str, Any, str]]] = {
    "one": [
        ("task.labels", packed("a"), '"task.log_prior"'),
        ("task.estimate.confused", pair(0, 1, -1), '"task.estimate.confused.first_as_second"'),
        ("views.0.vocabulary.offsets", np.array([0, 5], dtype=np.uint8), '"views.vocabulary"'),
        ("views.0.vocabulary.blob", np.zeros(3, dtype=np.uint8), '"views.vocabulary"'),
        ("unlabeled", {**LEARNED, "log_prior": np.zeros(2)}, '"unlabeled.log_prior"'),
        ("unlabeled", {**LEARNED, "log_prior": np.full(3, 1e3)}, '"unlabeled.log_prior"'),
        *(
            (key, REMOVED, f'"{key}" is missing')
            for key in ("nbtext", "task", "views", "model_settings", "scorer", "hyperparameters")
        ),
        ("counts", REMOVED, '"counts" is missing'),
        ("task.name", "tree", "newer nbtext: this one does not know the task 'tree'; update"),
        ("later", 1, 'newer nbtext: this one does not know its entry "later"; update'),
        ("input.matrix_columns", 3, '"input.matrix_columns" does not match the features'),
        ("scorer.later", np.zeros(3), 'does not know its entry "scorer.later"'),
        *(
            (
                "scorer.deltas",
                {"dtype": "|i1", "shape": [3], "offset": 0, "checksum": 0} | changed,
                message,
            )
            for changed, message in (
                ({"dtype": "<f2"}, "arrays of the type '<f2'"),
                ({"dtype": "bfloat16"}, "of the type 'bfloat16'"),
                ({"scales": [0.1]}, 'know "scales"'),
            )
        ),
    ],
    "sample": [
        ("counts.sample.classes", np.zeros(5, dtype=np.uint8), '"counts.sample" should have'),
        ("counts.sample.indptr", filled(0), '"counts.sample.indices"'),
        ("counts.sample.counts", filled(9), '"counts.sample" should hold'),
        ("counts.sample.classes", filled(0), '"counts.sample" should hold'),
        ("counts.sample.surprise", 1, 'know its entry "counts.sample.surprise"'),
        ("model_settings.keep_sample", None, '"counts.sample"'),
    ],
    "views": [
        ("views", [], '"views" is empty'),
        ("views", lambda views: views[:1], "should be one for each view of the settings"),
        ("views", lambda views: views * 2, "should be one for each view of the settings"),
        ("views.0.settings.view", ["char:2"], "should be one for each view of the settings"),
        ("views.0.settings.view", ["char:x", "word:1"], "is not a setting"),
        ("views.0.settings.min_df", 2, "should be one for each view of the settings"),
        ("views.0.vocabulary", None, '"views.vocabulary" is missing'),
        ("views.0.weighting.idf", shorter, '"views.weighting.idf" should have a number for each'),
        ("scorer.bounds", np.array([0, 1, 2]), '"scorer.bounds" should be those of the views'),
        ("scorer.default", shorter, '"scorer.default" should be'),
        ("counts.vocabulary", lambda parts: parts[:1], '"counts.vocabulary" should be one for'),
        ("counts.vocabulary", lambda parts: parts[:1] * 2, "counts.statistics"),
    ],
    "linear": [
        ("scorer.rows", shorter, "columns, and has"),
        ("documents", REMOVED, "counts"),
        ("model_settings.keep_sample", 3, '"counts.sample"'),
    ],
    "gaussian": [
        ("scorer.rows", np.arange(9, dtype=np.uint8), 'scales" do not belong to gaussian models'),
    ],
    "small": [("scorer.scales", REMOVED, '"scorer.deltas"')],
    "several": [
        (f"{FIT}combination.weights", [1.0] * 3, '"task.fit.combination" does not fit'),
        (f"{FIT}nonconformity.numbers", 0, '"task.fit.nonconformity'),
        (f"{FIT}smoothing", None, '"task.fit.combination" does not fit'),
        ("model_settings.model", "complement", '"task" does not fit the settings'),
        ("model_settings.optimize", "accuracy", '"task" does not fit the settings'),
        (
            f"{STATISTICS}class_documents",
            np.array([13, 4, 4]),
            '"counts.statistics" should have at most',
        ),
        (f"{STATISTICS}totals.n_documents", 3, 'totals.documents" should be at most'),
        (f"{STATISTICS}totals.documents", filled(0), 'totals.occurrences" does not fit'),
        (f"{STATISTICS}totals.documents", TOTALS["documents"], "should be 7 numbers"),
        (f"{STATISTICS}totals", {"n_documents": 12, **TOTALS}, 'documents" should be 9'),
        ("counts.label_sets.0", ["cherry"], '"counts.label_sets" should hold labels'),
        ("counts.label_sets.1", ["red", "apple"], '"counts.label_sets" should hold labels'),
        ("counts.sample.classes", filled(0), '"counts.label_sets" should be those of the doc'),
    ],
    "several linear": [
        (f"{FIT}combination.scale", REMOVED, '"task.fit.combination.weights" is missing'),
        (f"{FIT}smoothing", {"mu": 1.0, "alpha": None}, '"task.fit.combination" does not fit'),
        ("model_settings.model", "auto", '"task'),
    ],
}


def list_cases() -> Iterator[Any]:
    """Yield the kind, the place, the wrong value and the message of each case."""
    for kind, places in WRONG.items():
        for where, values in places.items():
            key = where.replace(".0", "")
            for number, value in enumerate(values):
                yield pytest.param(kind, where, value, f'"{key}', id=f"{kind}-{where}-{number}")
    for kind, cases in SAID.items():
        for number, case in enumerate(cases):
            yield pytest.param(kind, *case, id=f"{kind}-{case[0]}-said-{number}")


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize(("kind", "where", "value", "message"), list(list_cases()))
def test_a_wrong_value_is_refused(
    kind: str, where: str, value: Any, message: str, tmp_path: Path
) -> None:
    """When the model is read, or its counts are when they are first used."""
    path = tmp_path / "model"
    path.write_bytes(content(kind))
    change(path, remove(where) if value is REMOVED else put(where, value))
    with pytest.raises(ArtifactError) as refusal:
        load_model(path).counts_  # noqa: B018 - it is read when it is used
    assert str(refusal.value).startswith(f"{path}: ")
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)

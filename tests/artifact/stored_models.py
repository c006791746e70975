"""The models in the folder `models`, which every later program reads, and what they predict.

    python tests/artifact/stored_models.py    writes those that are missing

A file that is there is kept. Remove one only before the version of its format is released.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from nbtext import TextClassifier
from nbtext.artifact.model import save_model_file
from nbtext.artifact.reduction import limit_size

FOLDER = Path(__file__).with_name("models")
TEXTS = [
    "red round leaf",
    "green round",
    "yellow long",
    "yellow curved long",
    "straße",
    "x1 x1 red",
    "green leaf leaf",
    "long curved",
    "a round red one",
    "the yellow one",
    "",
    "leaf green green round",
] * 2
LABELS = [
    "apple",
    "apple",
    "banana",
    "banana",
    "city\n",
    "city\n",
    "apple",
    "banana",
    "apple",
    "banana",
    "city\n",
    "apple",
] * 2
LISTS = [
    ["apple", "red"],
    ["apple"],
    ["banana"],
    ["banana"],
    [],
    ["red"],
    ["apple"],
    ["banana"],
    ["apple", "red"],
    ["banana"],
    [],
    ["apple"],
] * 2
QUESTIONS = ["long", "red leaf", "yellow yellow \udcff", "", "unheard of"]
MATRIX = csr_array(np.array([[2, 0, 1, 0], [1, 0, 2, 0], [0, 3, 0, 1], [0, 1, 0, 0]] * 4))
ROWS = csr_array(np.array([[1, 0, 0, 0], [0, 0, 0, 2], [0, 0, 0, 0]]))
KINDS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "one-label": ({}, LABELS),
    "one-label-with-sample": ({"keep_sample": 8, "ngrams": (1, 2), "stop_words": ("the",)}, LABELS),
    "several-labels": ({}, LISTS),
    "several-labels-with-sample": ({"keep_sample": 100}, LISTS),
    "several-labels-linear": ({"model": "svm"}, LISTS),
    "linear": ({"model": "svm", "tf": "log", "idf": "smooth", "norm": "l2"}, LABELS),
    "linear-without-counts": (
        {"model": "nbsvm", "tf": "binary", "idf": "smooth", "norm": "l2"},
        LABELS,
    ),
    "several-labels-without-counts": ({"model": "nbsvm", "ngrams": (1, 2)}, LISTS),
    "hashed-bernoulli": ({"model": "bernoulli", "hash_bits": 5}, LABELS),
    "categorical": ({"model": "categorical", "values": 3}, LABELS),
    "gaussian": ({"model": "gaussian"}, LABELS),
    "numbers": ({"prior": "uniform", "optimize": "macro_f1"}, [len(label) for label in LABELS]),
    "matrix-columns": ({}, [2, 2, 3, 3] * 4),
    "views": ({"view": ("word:1:tfidf", "char_wb:2,3:log-tfidf"), "model": "svm"}, LABELS),
    "combined": ({"model": "combined"}, LABELS),
    "combined-with-sample": (
        {"model": "combined", "view": ("word:1", "char:2"), "keep_sample": 100},
        LABELS,
    ),
    "stacked": (
        {"model": "stacked", "view": ("word:1,2", "char_wb:1,3"), "tf": "binary", "norm": "l2"},
        LABELS,
    ),
    "small": ({"model": "nbsvm", "view": ("char:1,4", "word:1,2")}, LABELS),
}
SMALL = {"small": 5_000}  # their bytes


def answer(name: str, classifier: TextClassifier) -> dict[str, Any]:
    """Return what a model predicts, and how many documents it counted."""
    questions: Any = ROWS if name == "matrix-columns" else QUESTIONS
    found = classifier.predict(questions)
    return {
        "labels": [list(each) for each in found] if isinstance(found, list) else found.tolist(),
        "probabilities": classifier.predict_proba(questions).tolist(),
        "documents": classifier.model_.statistics.n_documents,
    }


if __name__ == "__main__":
    for name, (options, labels) in KINDS.items():
        if not (FOLDER / f"{name}.joblib").exists():
            classifier = TextClassifier(**options).fit(
                MATRIX if name == "matrix-columns" else TEXTS, labels
            )
            if name in SMALL:
                save_model_file(
                    limit_size(classifier.model_, SMALL[name]).model, FOLDER / f"{name}.joblib"
                )
                classifier = TextClassifier.load(FOLDER / f"{name}.joblib")
            classifier.save(FOLDER / f"{name}.joblib")
            text = json.dumps(answer(name, classifier), indent=1)
            (FOLDER / f"{name}.json").write_text(text + "\n", encoding="ascii")

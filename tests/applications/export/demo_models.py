"""The demo corpus, odd texts beside it, the options of models of all kinds that can be exported,
and what exported models answer.
"""

import ctypes
import json
import subprocess
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from nbtext.applications.export.command import export as command
from nbtext.documents.batch import Batch
from nbtext.features.analyzer import MARKS_PATTERN
from nbtext.features.settings import FeatureSettings
from nbtext.model.predictor import Predictor
from nbtext.settings import list_settings
from nbtext.text_classifier import TextClassifier

LETTERS = Path(__file__).parents[3] / "corpora" / "letters"
ODD_TEXTS = [
    "",
    "!",
    "zyzzyva",
    "ΑΣ ΟΔΟΣ parking PARKING Straße STRASSE İstanbul",
    "naïve café ﬁne x² ½ number_one __proto__ constructor",
    "the\u00a0bins \u2003 were\x1c\x1dnot\x85emptied \ufeff again \U0001f600 \U0001d400\U0001d401",
    "a " * 500 + "parking permit",
    # a word that is too long for a token, and beside it one that is not
    "the " + "ö" * 0x8000 + " parking permit",
    "ö" * 0x8000,
    "ö" * 0x7FFF + "o",
]
KINDS: dict[str, dict[str, Any]] = {
    "multinomial": {},
    "uncalibrated": {"calibrate": False, "smoothing": 0.5},
    "bernoulli": {"model": "bernoulli"},
    "dirichlet": {"model": "dirichlet"},
    "complement": {"model": "complement"},
    "complement with a prior": {"model": "complement", "prior": "empirical"},
    "normalized complement": {"model": "complement", "normalize_weights": True},
    "nbsvm": {"model": "nbsvm", "idf": "smooth", "norm": "l2"},
    "logistic": {"model": "logistic", "tf": "binary"},
    "binary": {"tf": "binary", "prior": "uniform"},
    "relative": {"tf": "relative", "idf": "plain"},
    "log": {"tf": "log", "norm": "l1", "idf": "plain"},
    "pairs": {"ngrams": (1, 2), "stop_words": ("the", "and"), "min_df": 2},
    "marks": {"ngrams": (1, 2), "token_pattern": r"\w+|[^\w\s]", "stop_words": ("the", "!")},
    "long runs only": {"ngrams": (2, 3), "strip_accents": "unicode"},
    "char": {"analyzer": "char", "ngrams": (1, 3), "lowercase": False},
    "char_wb": {"analyzer": "char_wb", "ngrams": (2, 4), "strip_accents": "ascii"},
    "views": {"view": ("word:1,2", "char_wb:2,4"), "stop_words": ("the",)},
    "weighted views": {
        "view": ("word:1:tfidf", "word:2", "char:3:log-tfidf", "char_wb:1,5:binary-l2"),
        "model": "svm",
        "token_pattern": r"\w+|[^\w\s]",
        "min_df": 2,
    },
    "views without calibration": {
        "view": ("word:2", "char:1,3"),
        "tf": "relative",
        "calibrate": False,
    },
    "tilted": {"optimize": "log_loss"},
    "shifted": {"optimize": "macro_f1", "smoothing": 10.0},
}


MODELS = ("multinomial", "dirichlet", "bernoulli", "complement", "logistic", "nbsvm")
READINGS: tuple[dict[str, Any], ...] = (
    {"ngrams": (1, 1)},
    {"ngrams": (1, 3)},
    {"ngrams": (2, 3)},
    {"view": ("word:1,2", "char_wb:1,3:binary-l2", "char:2")},
    {"analyzer": "char", "ngrams": (1, 3)},
    {"analyzer": "char_wb", "ngrams": (2, 2)},
)


def draw_options(random: Random, seed: int) -> dict[str, Any]:
    """Options of a model that every program can hold; seeds take the readings in turn."""
    choices = {field.name: found.choices for field, found in list_settings(FeatureSettings)}
    options = {name: random.choice(choices[name] or ()) for name in ("tf", "idf", "norm")}
    options |= READINGS[seed % len(READINGS)]
    if "analyzer" not in options:
        options["token_pattern"] = random.choice([None, MARKS_PATTERN])
    return options | {
        "model": random.choice(MODELS),
        "lowercase": random.random() < 0.5,
        "calibrate": random.random() < 0.5,
        "optimize": random.choice([None, "accuracy", "macro_f1", "log_loss"]),
    }


def export(classifier: TextClassifier, form: str, path: str) -> None:
    """Save the model, and export it as `nbtext export MODEL --to FORMAT -o PATH` does; its errors
    are raised.
    """
    with TemporaryDirectory() as folder:
        classifier.save(f"{folder}/model.joblib")
        command.main([f"{folder}/model.joblib", "--to", form, "-o", path], standalone_mode=False)


def exported(classifier: TextClassifier, form: str) -> bytes:
    """Return what `export` writes."""
    with TemporaryDirectory() as folder:
        export(classifier, form, f"{folder}/out")
        return Path(folder, "out").read_bytes()


def documents(half: str) -> tuple[list[str], list[str]]:
    """The texts and labels of the demo corpus."""
    paths = sorted((LETTERS / half).glob("*/*"))
    return [path.read_text(encoding="utf-8") for path in paths], [
        path.parent.name for path in paths
    ]


def predicted(classifier: TextClassifier, texts: list[str]) -> Any:
    """What `nbtext predict` decides about texts: labels and probabilities."""
    ids = [str(n) for n in range(len(texts))]
    return Predictor(classifier.fitted_).predict_batch(Batch(ids, (texts,), [None] * len(texts)))


ASK = """
import {{ {function} }} from "{module}";
import {{ readFileSync }} from "node:fs";
const texts = JSON.parse(readFileSync(0));
console.log(JSON.stringify(texts.map({function})));
"""


def ask_javascript(
    node: str,
    classifier: TextClassifier,
    texts: list[str],
    folder: Path,
    function: str = "classify",
) -> Any:
    """What a function of the exported JavaScript module returns for each text."""
    export(classifier, "js", str(folder / "model.mjs"))
    program = ASK.format(module=folder / "model.mjs", function=function)
    done = subprocess.run(
        [node, "--input-type=module", "-e", program],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def check_answers(answers: list[Any], classifier: TextClassifier, probabilities: Any) -> None:
    """Answers of JavaScript have these probabilities, to 1e-9."""
    labels = classifier.fitted_.labels
    found = [[answer["probabilities"][label] for label in labels] for answer in answers]
    np.testing.assert_allclose(found, probabilities, rtol=0, atol=1e-9)


STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-lm")


def build_filter(cc: str, classifier: TextClassifier, folder: Path) -> Path:
    """The program of a model that is exported to C."""
    export(classifier, "c", str(folder / "model.c"))
    subprocess.run([cc, "model.c", "-o", "model", "-O2", *STRICT], cwd=folder, check=True)
    return folder / "model"


def ask_c(
    cc: str, classifier: TextClassifier, texts: list[bytes], folder: Path
) -> tuple[list[int], Any]:
    """The number of the label of each text (of several labels, how many it has), and all
    probabilities, from the compiled library `model.so`.
    """
    export(classifier, "c", str(folder / "model.c"))
    library = str(folder / "model.so")
    options = ("-DNBTEXT_NO_MAIN", "-shared", "-fPIC", "-o", library)
    subprocess.run([cc, str(folder / "model.c"), *options, *STRICT], check=True)
    classify = ctypes.CDLL(library).nbtext_classify
    classify.argtypes = [ctypes.c_char_p, ctypes.c_size_t, np.ctypeslib.ndpointer(np.float64)]
    probabilities = np.zeros((len(texts), len(classifier.fitted_.labels)))
    numbers = [classify(text, len(text), probabilities[i]) for i, text in enumerate(texts)]
    return numbers, probabilities

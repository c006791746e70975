"""Several labels for a document: nbtext beside scikit-learn and fastText, each one against the
rest.

Every program trains and predicts as whole processes, RUNS times in turn with the others, so that a
loaded machine slows all of them. Seconds are of the processor, and the smallest of the runs counts.
fastText takes part where the program `fasttext` is on the path. Macro averages are over labels with
test documents.

python tests/benchmarks/multilabel.py [RUNS]
"""

import compileall
import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from material import corpus

import nbtext as package

NBTEXT = [sys.executable, "-m", "nbtext"]
PEER = Path(__file__).parent / "peers" / "scikit_learn_multilabel.py"
PREFIX = "__label__"
RUNS = 3


class Predicted(NamedTuple):
    """The predicted labels of a document, and its most probable one."""

    labels: list[str]
    first: str


class Outcome(NamedTuple):
    """The results of a program, and its processor seconds of training and predicting."""

    predicted: list[Predicted]
    seconds: float
    calibration_error: float | None = None


def spent() -> float:
    """The processor seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(*command: str | Path) -> str:
    """The standard output of a command, which must succeed."""
    return subprocess.run(
        list(map(str, command)), check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ).stdout.decode()


def nbtext(options: str = "") -> Callable[[Path, Path, Path], Outcome]:
    """nbtext with some options."""

    def train_and_predict(train: Path, test: Path, scratch: Path) -> Outcome:
        model = scratch / "model.joblib"
        output = scratch / "nbtext.jsonl"
        before = spent()
        run(
            *NBTEXT,
            *f"train {train} -q --label-field labels {options} -o {model}".split(),
            "--force",
        )
        run(*NBTEXT, *f"predict {test} -q -m {model} --top-k 1 -o {output} --to jsonl".split())
        seconds = spent() - before
        records = [json.loads(line) for line in output.read_text().splitlines()]
        evaluated = json.loads(run(*NBTEXT, *f"evaluate {test} -q -m {model} --to json".split()))
        found = [Predicted(record["labels"], next(iter(record["scores"]))) for record in records]
        return Outcome(found, seconds, evaluated["classwise_calibration_error"])

    return train_and_predict


def scikit_learn(kind: str) -> Callable[[Path, Path, Path], Outcome]:
    """scikit-learn, one against the rest."""

    def train_and_predict(train: Path, test: Path, scratch: Path) -> Outcome:
        output = scratch / "peer.jsonl"
        before = spent()
        run(sys.executable, PEER, kind, train, test, output)
        seconds = spent() - before
        records = [json.loads(line) for line in output.read_text().splitlines()]
        return Outcome(
            [Predicted(record["labels"], record["first"]) for record in records], seconds
        )

    return train_and_predict


def fasttext(train: Path, test: Path, scratch: Path) -> Outcome:
    """fastText, one against the rest, with word pairs; labels with a probability of at least a
    half.
    """
    names = {}
    for name, path in (("train", train), ("test", test)):
        names[name] = scratch / f"{name}.txt"
        with names[name].open("w", encoding="utf-8") as file:
            for record in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                text = " ".join(record["text"].lower().split())
                file.write(" ".join([*(PREFIX + label for label in record["labels"]), text]) + "\n")
    before = spent()
    options = [
        "-loss",
        "one-vs-all",
        "-epoch",
        "50",
        "-lr",
        "0.5",
        "-wordNgrams",
        "2",
        "-thread",
        "1",
    ]
    run("fasttext", "supervised", "-input", names["train"], "-output", scratch / "model", *options)
    lines = run(
        "fasttext", "predict-prob", scratch / "model.bin", names["test"], "-1", "0"
    ).splitlines()
    seconds = spent() - before
    found = []
    for line in lines:
        words = line.split()
        pairs = list(zip(words[::2], map(float, words[1::2]), strict=True))
        labels = [label.removeprefix(PREFIX) for label, probability in pairs if probability >= 0.5]
        found.append(Predicted(labels, pairs[0][0].removeprefix(PREFIX)))
    return Outcome(found, seconds)


def programs() -> Iterator[tuple[str, Callable[[Path, Path, Path], Outcome]]]:
    """Every program, by name."""
    optimize = "--optimize macro_f1"
    yield "nbtext", nbtext()
    yield f"nbtext {optimize}", nbtext(optimize)
    for model in ("--model nbsvm", "--model svm"):
        options = f"{model} --weighting log-tfidf"
        yield f"nbtext {model}", nbtext(options)
        yield f"nbtext {model} {optimize}", nbtext(f"{options} {optimize}")
    yield "scikit-learn ComplementNB", scikit_learn("complement")
    yield "scikit-learn ComplementNB, GridSearchCV", scikit_learn("complement-search")
    yield "scikit-learn LinearSVC", scikit_learn("svc")
    if shutil.which("fasttext"):
        yield "fastText", fasttext


def scores(predicted: list[Predicted], true: list[list[str]]) -> tuple[float, float, float]:
    """Micro F1, macro F1 over labels with test documents, and precision at 1."""
    counts: dict[str, list[int]] = {}
    for found, labels in zip(predicted, true, strict=True):
        for label in {*found.labels, *labels}:
            of_label = counts.setdefault(label, [0, 0, 0])
            of_label[0] += label in labels and label in found.labels
            of_label[1] += label in found.labels
            of_label[2] += label in labels
    hits, n_predicted, n_true = (sum(column) for column in zip(*counts.values(), strict=True))
    f1 = [2 * hit / (guesses + support) for hit, guesses, support in counts.values() if support]
    first = sum(found.first in labels for found, labels in zip(predicted, true, strict=True))
    return 2 * hits / (n_predicted + n_true), sum(f1) / len(f1), first / len(true)


def main(runs: int = RUNS) -> None:
    """Print a table of all programs."""
    # as pip does it for what it installs
    compileall.compile_dir(Path(package.__file__).parent, quiet=1)
    folder = corpus("reuters-90")
    train = folder / "train.jsonl"
    test = folder / "test.jsonl"
    true = [json.loads(line)["labels"] for line in test.read_text(encoding="utf-8").splitlines()]
    found: dict[str, Outcome] = {}
    with TemporaryDirectory() as scratch:
        for _ in range(runs):
            for name, train_and_predict in programs():
                outcome = train_and_predict(train, test, Path(scratch))
                minimum = min(
                    outcome.seconds, found[name].seconds if name in found else outcome.seconds
                )
                found[name] = outcome._replace(seconds=minimum)
    own = found["nbtext"].seconds
    columns = "program | micro F1 | macro F1 | precision at 1 | classwise calibration error | processor time | ratio"
    lines = [f"| {columns} |", "|---" * 7 + "|"]
    for name, outcome in found.items():
        figures = " | ".join(f"{score:.4f}" for score in scores(outcome.predicted, true))
        error = f"{outcome.calibration_error:.4f}" if outcome.calibration_error is not None else "–"
        lines.append(
            f"| {name} | {figures} | {error} | {outcome.seconds:.2f} s | {outcome.seconds / own:.1f} |"
        )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

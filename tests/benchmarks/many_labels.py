"""Time and memory of the commands on synthetic documents with 10,000 labels, whose frequencies
follow Zipf's law.

A document has one to five labels, and every label at least one document. Its words are 25 common
ones, and six of the 15 words of each of its labels, which labels share. Each command is a process;
seconds are of the processor.

python tests/benchmarks/many_labels.py [LABELS [DOCUMENTS [MODEL]]]

MODEL is svm or nbsvm: a linear model is trained on log TF-IDF, predicts and is evaluated.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from measuring import Step, measure
from table import megabytes

N_WORDS = 60_000
WORDS_OF_LABEL = 15


def zipf(n: int) -> np.ndarray:
    """The cumulative probabilities of n items whose frequencies follow Zipf's law."""
    sums = np.cumsum(1 / np.arange(1, n + 1))
    return sums / sums[-1]


def write_documents(path: Path, n: int, n_labels: int, *, seed: int) -> None:
    """Write documents as JSON lines; of the first ones, each has a label of its own."""
    own = np.random.default_rng(0).integers(200, N_WORDS, size=(n_labels, WORDS_OF_LABEL))
    random = np.random.default_rng(seed)
    of_labels = zipf(n_labels)
    of_words = zipf(N_WORDS)
    with path.open("w") as file:
        for number in range(n):
            labels = set(np.searchsorted(of_labels, random.random(random.integers(1, 6))).tolist())
            if seed == 0 and number < n_labels:
                labels = {number, *list(labels)[:4]}
            words = np.searchsorted(of_words, random.random(25)).tolist()
            for label in sorted(labels):
                words += own[label][random.integers(0, WORDS_OF_LABEL, size=6)].tolist()
            record = {
                "text": " ".join(f"w{word}" for word in words),
                "labels": [f"l{label}" for label in labels],
            }
            file.write(json.dumps(record) + "\n")


def commands(folder: Path, linear: str | None) -> Iterator[tuple[str, ...]]:
    """Every command, in the order in which they need each other's files; `linear` is a linear
    model.
    """
    train, test, more, model = (
        str(folder / name) for name in ("train.jsonl", "test.jsonl", "more.jsonl", "model")
    )
    options = ("--model", linear, "--weighting", "log-tfidf") if linear else ()
    yield "train", train, "--label-field", "labels", "-o", model, *options
    yield "predict", test, "-m", model
    yield "evaluate", test, "-m", model
    if linear:
        return
    yield "inspect", model
    yield "update", more, "-m", model, "-o", f"{model}.2"


def main(n_labels: int = 10_000, n_documents: int = 30_000, linear: str | None = None) -> None:
    """Print a table of the commands."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for seed, (name, n) in enumerate(
            (("train", n_documents), ("test", n_documents // 10), ("more", 300))
        ):
            write_documents(folder / f"{name}.jsonl", n, n_labels, seed=seed)
        lines = ["| command | processor time | peak memory |", "|---" * 3 + "|"]
        for command in commands(folder, linear):
            cost = measure([Step((sys.executable, "-m", "nbtext", *command))])
            lines.append(f"| {command[0]} | {cost.cpu:.1f} s | {megabytes(cost.memory)} |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])

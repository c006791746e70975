"""Time and memory of the commands on synthetic documents with 10,000 labels, whose frequencies
follow Zipf's law.

A document has one to five labels, and every label at least one document. Its words are 25 common
ones, and six of the 15 words of each of its labels, which labels share. Seconds are of the
processor.

python tests/benchmarks/many_labels.py [LABELS [DOCUMENTS [MODEL]]]

MODEL is svm or nbsvm: a linear model is trained on log TF-IDF, predicts and is evaluated.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from measuring import MEGABYTE, measure, say_head, say_row

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


def main(n_labels: int = 10_000, n_documents: int = 30_000, linear: str | None = None) -> None:
    """Print a table of the commands."""
    options = f"--model {linear} --weighting log-tfidf" if linear else ""
    commands = {
        "train": f"nbtext train train.jsonl --label-field labels -o model {options}",
        "predict": "nbtext predict test.jsonl -m model",
        "evaluate": "nbtext evaluate test.jsonl -m model",
    }
    if not linear:
        commands["inspect"] = "nbtext inspect model"
        commands["update"] = "nbtext update more.jsonl -m model -o updated"
    sizes = {"train": n_documents, "test": n_documents // 10, "more": 300}
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for seed, (name, n) in enumerate(sizes.items()):
            write_documents(folder / f"{name}.jsonl", n, n_labels, seed=seed)
        say_head("command", "processor time", "peak memory")
        for name, command in commands.items():
            cost = measure(command, folder)
            say_row([name, f"{cost.cpu:.1f} s", f"{cost.memory / MEGABYTE:.0f} MB"])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])

"""Ways to train beside each other, on random draws of the training documents of a corpus.

    python tests/benchmarks/draws.py [--corpus NAME]... [--sizes 5,10,20,all] [--at-random]
    [--draws N] [--test N] [OPTIONS...]

Each argument OPTIONS has the options of one `nbtext train`: "" is the default, and others are
"--model best", "--vectors TABLE", "--max-model-bytes 1MB", or "--unlabeled {others} --em 10", in
which {others} is a file of the training documents that were not drawn. A draw has so many random
documents of each label, or with --at-random so many of all; `all` is one draw of all documents. The
models are tested on the same random test documents.

Prints a Markdown table: mean accuracy, log-loss, CPU seconds and bytes of the model of each way,
the accuracy that it estimates, and the differences of the accuracies from those of the first way on
the same draws: the mean with its standard error, the smallest and the largest one.
"""

import argparse
import json
import random
import shlex
import statistics
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from measuring import Step, measure
from protocols import Labeled
from search import PROGRAM, SPLITS, print_head, print_row, write

ALL = "all"
COLUMNS = (
    "corpus",
    "documents",
    "options",
    "accuracy",
    "log-loss",
    "estimate",
    "CPU, s",
    "model, bytes",
    "difference",
    "standard error",
    "smallest",
    "largest",
)


class Outcome(NamedTuple):
    accuracy: float
    log_loss: float
    estimate: float
    seconds: float
    n_bytes: int


def draw(documents: Labeled, size: int, seed: int, *, at_random: bool) -> tuple[Labeled, Labeled]:
    """Return the drawn documents, and the others."""
    order = random.Random(seed).sample(range(len(documents.labels)), len(documents.labels))
    counted: Counter[str] = Counter()
    drawn, others = [], []
    for row in order:
        group = "" if at_random else documents.labels[row]
        counted[group] += 1
        (drawn if counted[group] <= size else others).append(row)
    return documents.taken(drawn), documents.taken(others)


def read_json(*command: str) -> dict[str, float]:
    found = subprocess.run(
        (*PROGRAM, *command, "--to", "json"),
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    return json.loads(found.stdout)


def train(folder: Path, options: str) -> Outcome:
    """Train on the files of the folder, and evaluate."""
    model = str(folder / "model.joblib")
    given = shlex.split(options.replace("{others}", str(folder / "others.jsonl")))
    command = ("train", str(folder / "drawn.jsonl"), *given, "-q", "--force", "-o", model)
    cost = measure([Step((*PROGRAM, *command))])
    found = read_json("evaluate", str(folder / "test.jsonl"), "-m", model)
    expected = read_json("inspect", model).get("expected") or {}
    estimate = expected.get("accuracy", float("nan"))
    return Outcome(
        found["accuracy"], found["log_loss"], estimate, cost.cpu, Path(model).stat().st_size
    )


def compare(name: str, size: str, ways: Sequence[str], given: argparse.Namespace) -> None:
    """Print a row for each way."""
    training, test = SPLITS[name]()
    n_test = min(given.test, len(test.labels))
    found: dict[str, list[Outcome]] = {way: [] for way in ways}
    n_drawn = len(training.labels) if size == ALL else int(size)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write(
            test.taken(random.Random(0).sample(range(len(test.labels)), n_test)),
            folder / "test.jsonl",
        )
        for seed in range(1 if size == ALL else given.draws):
            drawn, others = draw(training, n_drawn, seed, at_random=given.at_random)
            write(drawn, folder / "drawn.jsonl")
            write(others, folder / "others.jsonl")
            for way, outcomes in found.items():
                outcomes.append(train(folder, way))
    usual = [outcome.accuracy for outcome in found[ways[0]]]
    for way, outcomes in found.items():
        means = [statistics.fmean(column) for column in zip(*outcomes, strict=True)]
        differences = [
            outcome.accuracy - other for outcome, other in zip(outcomes, usual, strict=True)
        ]
        error = 0.0
        if len(differences) > 1:
            error = statistics.stdev(differences) / len(differences) ** 0.5
        shown = statistics.fmean(differences), error, min(differences), max(differences)
        *figures, n_bytes = means
        cells = (
            *(f"{mean:.4f}" for mean in figures),
            f"{n_bytes:,.0f}",
            *(f"{each:+.4f}" for each in shown),
        )
        print_row((name, size, way or "default", *cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ways", nargs="*", default=["", "--model best"], metavar="OPTIONS")
    parser.add_argument("--corpus", action="append", choices=SPLITS)
    parser.add_argument("--sizes", default="5,10,20,50", help="separated by commas")
    parser.add_argument("--at-random", action="store_true")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--test", type=int, default=2500, help="test documents at most")
    given = parser.parse_args()
    print_head(COLUMNS)
    for name in given.corpus or SPLITS:
        for size in given.sizes.split(","):
            compare(name, size, given.ways, given)


if __name__ == "__main__":
    main()

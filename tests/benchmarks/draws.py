"""Ways to train beside each other, on random draws of the training documents of a corpus.

    python tests/benchmarks/draws.py [--corpus NAME]... [--sizes 5,10,20,all] [--at-random]
    [--draws N] [--test N] [OPTIONS...]

Each argument OPTIONS has the options of one `nbtext train`: "" is the default, and others are
"--model best", "--vectors TABLE", "--max-model-bytes 1MB", or "--unlabeled {others} --em 10", in
which {others} is a file of the training documents that were not drawn, and {names} one of all
labels. "peers/mean_vectors.py TABLE" is another program than nbtext, in this folder. A draw has so
many random documents of each label, or with --at-random so many of all; `all` is one draw of all
documents, and 0 of none, for options with {names}. The models are tested on the same random test
documents.

Prints a Markdown table: mean accuracy, log-loss, CPU seconds and bytes of the model of each way,
the accuracy that it estimates, and the differences of the accuracies from those of the first way on
the same draws: the mean with its standard error, the smallest and the largest one.
"""

import argparse
import json
import random
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from material import DESCRIPTIONS, SPLITS, Labeled
from measuring import measure, parser_with, say_head, say_row

ALL = "all"
CORPORA = SPLITS | DESCRIPTIONS
FIGURES = ("accuracy", "log-loss", "estimate", "CPU, s", "model, bytes")
DIFFERENCES = ("difference", "standard error", "smallest", "largest")


def draw(documents: Labeled, size: int, seed: int, *, at_random: bool) -> tuple[Labeled, Labeled]:
    """Return the drawn documents, and the others."""
    order = random.Random(seed).sample(range(len(documents.labels)), len(documents.labels))
    counted: Counter[str] = Counter()
    drawn, others = [], []
    for row in order:
        group = "" if at_random else documents.labels[row]
        counted[group] += 1
        (drawn if counted[group] <= size else others).append(row)
    return documents.take(drawn), documents.take(others)


def train(folder: Path, options: str) -> tuple[float, ...]:
    """Train on the files of the folder, evaluate, and return the figures."""
    given = options.format(others="others.jsonl", names="names.txt")
    if options.startswith("peers/"):
        cost = measure(f"python {Path(__file__).parent / given} > evaluated.json", folder)
        found = json.loads((folder / "evaluated.json").read_text())
        return found["accuracy"], found["log_loss"], float("nan"), cost.cpu, float("nan")
    source = "drawn.jsonl" if (folder / "drawn.jsonl").stat().st_size else ""
    cost = measure(f"nbtext train {source} {given} -q --force -o model", folder)
    measure("nbtext evaluate test.jsonl -m model --to json > evaluated.json", folder)
    measure("nbtext inspect model --to json > inspected.json", folder)
    found = json.loads((folder / "evaluated.json").read_text())
    expected = json.loads((folder / "inspected.json").read_text()).get("expected") or {}
    estimate = expected.get("accuracy", float("nan"))
    n_bytes = (folder / "model").stat().st_size
    return found["accuracy"], found["log_loss"], estimate, cost.cpu, n_bytes


def compare(name: str, size: str, given: argparse.Namespace) -> None:
    """Print a row for each way."""
    training, test = CORPORA[name]()
    n_test = min(given.test, len(test.labels))
    n_drawn = len(training.labels) if size == ALL else int(size)
    outcomes: dict[str, list[tuple[float, ...]]] = {way: [] for way in given.ways}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        tested = random.Random(0).sample(range(len(test.labels)), n_test)
        test.take(tested).write(folder / "test.jsonl")
        names = "".join(f"{label}\n" for label in sorted(set(training.labels)))
        (folder / "names.txt").write_text(names, encoding="utf-8")
        for seed in range(1 if size == ALL else given.draws):
            drawn, others = draw(training, n_drawn, seed, at_random=given.at_random)
            drawn.write(folder / "drawn.jsonl")
            others.write(folder / "others.jsonl")
            for way in given.ways:
                outcomes[way].append(train(folder, way))
    usual = np.array(outcomes[given.ways[0]])
    for way in given.ways:
        figures = np.array(outcomes[way])
        differences = (figures - usual)[:, 0]
        error = 0.0
        if len(differences) > 1:
            error = differences.std(ddof=1) / len(differences) ** 0.5
        *means, n_bytes = figures.mean(axis=0)
        cells = [f"{mean:.4f}" for mean in means]
        shown = differences.mean(), error, differences.min(), differences.max()
        changes = [f"{each:+.4f}" for each in shown]
        say_row([name, size, way or "default", *cells, f"{n_bytes:,.0f}", *changes])


def main() -> None:
    parser = parser_with(__doc__)
    parser.add_argument("ways", nargs="*", default=["", "--model best"], metavar="OPTIONS")
    parser.add_argument("--corpus", action="append", choices=CORPORA)
    parser.add_argument("--sizes", default="5,10,20,50", help="separated by commas")
    parser.add_argument("--at-random", action="store_true")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--test", type=int, default=2500, help="test documents at most")
    given = parser.parse_args()
    say_head("corpus", "documents", "options", *FIGURES, *DIFFERENCES)
    for name in given.corpus or SPLITS:
        for size in given.sizes.split(","):
            compare(name, size, given)


if __name__ == "__main__":
    main()

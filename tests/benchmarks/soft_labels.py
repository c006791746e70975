"""Soft labels beside the label of the majority, of annotators who err.

    python tests/benchmarks/soft_labels.py [--corpus NAME]... [--draws N] [OPTIONS...]

Each argument OPTIONS has the options of one `nbtext train`; "" is the default model. Of each random
draw, 1,000 texts are for training. Each of 5 annotators gives a text its label, or with probability
0.3 the other one; the soft label is the share of each. The test is on all other texts, against
their true labels and against the shares of the same annotators.

Prints a Markdown table: mean accuracy, log-loss and log-loss against shares with soft labels and
with the label of the majority, and the differences of these, each with its standard error.
"""

import json
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from material import Labeled, messages, short_reviews
from measuring import measure, parser_with, say_head, say_row

CORPORA: dict[str, Callable[[], Labeled]] = {"sms-spam": messages, "rt-s": short_reviews}
N_TRAINING = 1000
N_ANNOTATORS = 5
ERROR = 0.3
METRICS = ("accuracy", "log-loss", "log-loss against shares")


def annotate(documents: Labeled, seed: int) -> list[dict[str, float]]:
    """Return how many of the annotators give each text each label, as shares."""
    generator = random.Random(seed)
    first, second = sorted(set(documents.labels))
    shares = []
    for label in documents.labels:
        n_wrong = sum(generator.random() < ERROR for _ in range(N_ANNOTATORS))
        n_first = n_wrong if label == second else N_ANNOTATORS - n_wrong
        shares.append({first: n_first / N_ANNOTATORS, second: 1 - n_first / N_ANNOTATORS})
    return shares


def write(path: Path, texts: list[str], labels: Sequence[object]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for text, label in zip(texts, labels, strict=True):
            file.write(json.dumps({"text": text, "label": label}) + "\n")


def evaluate(folder: Path, options: str) -> list[float]:
    """Train, and return the metrics."""
    measure(f"nbtext train training.jsonl {options} -q --force -o model", folder)
    found = []
    for test in ("test", "shares"):
        measure(f"nbtext evaluate {test}.jsonl -m model --to json > {test}.json", folder)
        found.append(json.loads((folder / f"{test}.json").read_text()))
    true, shares = found
    return [true["accuracy"], true["log_loss"], shares["log_loss"]]


def compare(name: str, options: str, n_draws: int) -> None:
    """Print a row for one way to train."""
    documents = CORPORA[name]()
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for seed in range(n_draws):
            shuffled = documents.shuffle(random.Random(seed))
            rows = range(len(shuffled.labels))
            training = shuffled.take(rows[:N_TRAINING])
            test = shuffled.take(rows[N_TRAINING:])
            write(folder / "test.jsonl", test.texts, test.labels)
            write(folder / "shares.jsonl", test.texts, annotate(test, -1 - seed))
            shares = annotate(training, seed)
            majority = [max(own, key=own.__getitem__) for own in shares]
            pair = []
            for labels in (shares, majority):
                write(folder / "training.jsonl", training.texts, labels)
                pair.append(evaluate(folder, options))
            found.append(pair)
    figures = np.array(found)  # (n_draws, soft and majority, metrics)
    means = figures.mean(axis=0)
    differences = figures[:, 0] - figures[:, 1]
    errors = differences.std(axis=0, ddof=1) / len(differences) ** 0.5
    cells = [f"{mean:.4f}" for mean in means.T.ravel()]
    shown = zip(differences.mean(axis=0), errors, strict=True)
    say_row([name, options or "default", *cells, *(f"{d:+.4f} ± {e:.4f}" for d, e in shown)])


def main() -> None:
    parser = parser_with(__doc__)
    parser.add_argument("ways", nargs="*", default=["", "--model multinomial"], metavar="OPTIONS")
    parser.add_argument("--corpus", action="append", choices=CORPORA)
    parser.add_argument("--draws", type=int, default=5)
    given = parser.parse_args()
    figures = [f"{name}, {kind}" for name in METRICS for kind in ("soft", "majority")]
    say_head("corpus", "options", *figures, *(f"difference of {name}" for name in METRICS))
    for name in given.corpus or CORPORA:
        for options in given.ways:
            compare(name, options, given.draws)


if __name__ == "__main__":
    main()

"""What `--model best` costs and achieves beside the default model, on each corpus.

    python tests/benchmarks/search.py [--budget TIME] [CORPUS...]

Whole processes as they are typed, once each: accuracy on the test documents, processor and wall-clock seconds and peak
memory of the training. On a machine that does other work, only the processor seconds mean something.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from material import corpus
from measuring import Step, measure
from protocols import (
    SMS_TRAINING_SHARE,
    Labeled,
    Split,
    first_share,
    halves,
    imdb,
    long_reviews,
    mails,
    messages,
    newsgroups,
    random_splits,
    short_reviews,
)

MEGABYTE = 1_000_000
TABLE = "{:<14} {:<8} {:>8} {:>8} {:>8} {:>7}\n"


def read_jsonl(path: Path, label_key: str) -> Labeled:
    """The texts of a file and their labels, the first one of a list."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    labels = [record[label_key] for record in records]
    first = [label if isinstance(label, str) else label[0] for label in labels]
    return Labeled([record["text"] for record in records], first)


def given_halves(name: str, label_key: str) -> Split:
    """The training and the test file of a corpus."""
    return Split(*(read_jsonl(corpus(name) / f"{half}.jsonl", label_key) for half in ("train", "test")))


def declarations() -> Labeled:
    """The lines of the Universal Declaration of Human Rights, labeled with their language."""
    found = [
        (line.strip(), path.stem)
        for path in sorted(corpus("udhr2").glob("*.txt"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if len(line.strip()) > 20
    ]
    texts, languages = zip(*found, strict=True)
    return Labeled(list(texts), list(languages))


SPLITS: Mapping[str, Callable[[], Split]] = {
    "20news": lambda: halves(newsgroups)[0],
    "imdb": lambda: halves(imdb)[0],
    "sms-spam": lambda: first_share(messages(), SMS_TRAINING_SHARE)[0],
    "wisesight-th": lambda: given_halves("wisesight-th", "label"),
    "reuters-90": lambda: given_halves("reuters-90", "labels"),
    "rt-2k": lambda: random_splits(long_reviews())[0],
    "rt-s": lambda: random_splits(short_reviews())[0],
    "spamassassin": lambda: random_splits(mails())[0],
    "udhr2": lambda: random_splits(declarations())[0],
}


def write(documents: Labeled, path: Path) -> None:
    lines = (json.dumps({"text": text, "label": label}) for text, label in zip(*documents, strict=True))
    path.write_text("\n".join(lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs="*", default=list(SPLITS))
    parser.add_argument("--budget", default="2m")
    arguments = parser.parse_args()
    sys.stdout.write(TABLE.format("corpus", "model", "accuracy", "CPU, s", "wall, s", "MB"))
    for name in arguments.corpora:
        with tempfile.TemporaryDirectory() as scratch:
            training, test, model = (Path(scratch, file) for file in ("train.jsonl", "test.jsonl", "model.joblib"))
            for half, path in zip(SPLITS[name](), (training, test), strict=True):
                write(half, path)
            for options in (("auto",), ("best", "--budget", arguments.budget)):
                train = ("train", str(training), "-q", "-o", str(model), "--model", *options)
                cost = measure([Step((sys.executable, "-m", "nbtext", *train))])
                evaluate = ("evaluate", str(test), "-m", str(model), "--to", "json")
                found = subprocess.run(
                    [sys.executable, "-m", "nbtext", *evaluate], check=True, stdout=subprocess.PIPE
                ).stdout
                accuracy = f"{json.loads(found)['accuracy']:.4f}"
                figures = (f"{cost.cpu:.1f}", f"{cost.wall:.1f}", f"{cost.memory / MEGABYTE:.0f}")
                sys.stdout.write(TABLE.format(name, options[0], accuracy, *figures))
                sys.stdout.flush()


if __name__ == "__main__":
    main()

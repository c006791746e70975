"""What unlabeled documents are worth: 20 Newsgroups with 15 labeled documents a class, the others
unlabeled.

Each seed draws other labeled documents. Nigam, McCallum, Thrun and Mitchell (2000) go from 52 to 66
% with 300 labeled documents, of headers stripped; the halves here are those by date, with headers
and without, and random ones. A loaded machine changes no figure but the seconds, which are of the
processor.

python tests/benchmarks/em.py [SEEDS [SPLIT...]]
"""

import json
import random
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from protocols import (
    TRAINING_SHARE,
    Labeled,
    Split,
    first_share,
    halves,
    joined,
    long_reviews,
    newsgroups,
)

NBTEXT = [sys.executable, "-m", "nbtext"]
LABELED = 15  # documents of each class of 20 Newsgroups
REVIEWS = {"reviews, 20 labeled": 20, "reviews, 200 labeled": 200}  # of each class of RT-2k
METHODS = {"labeled alone": [], "EM": ["--em", "10"]}


class Outcome(NamedTuple):
    """The accuracy on the test half, what was expected of it, and the processor's seconds of
    training.
    """

    accuracy: float
    expected: float
    seconds: float


def bodies(documents: Labeled) -> Labeled:
    """The same without headers."""
    return Labeled([text.partition("\n\n")[2] for text in documents.texts], documents.labels)


def by_date(_: random.Random) -> Split:
    return halves(newsgroups)[0]


def bodies_by_date(_: random.Random) -> Split:
    training, test = by_date(_)
    return Split(bodies(training), bodies(test))


def at_random(chance: random.Random) -> Split:
    """As many training and test documents, drawn from both halves."""
    both = joined(newsgroups)
    rows = list(range(len(both.texts)))
    chance.shuffle(rows)
    n_test = len(newsgroups("test").texts)
    return Split(both.taken(rows[n_test:]), both.taken(rows[:n_test]))


def reviews(chance: random.Random) -> Split:
    """RT-2k, whose mixture is of films rather than of opinions: what is known to mislead."""
    documents = long_reviews()
    rows = list(range(len(documents.texts)))
    chance.shuffle(rows)
    return first_share(documents.taken(rows), TRAINING_SHARE)[0]


SPLITS: dict[str, Callable[[random.Random], Split]] = {
    "by date": by_date,
    "by date, bodies alone": bodies_by_date,
    "at random": at_random,
    **dict.fromkeys(REVIEWS, reviews),
}


def split_labeled(
    training: Labeled, chance: random.Random, n_labeled: int
) -> tuple[Labeled, Labeled]:
    """So many documents of each class, and the others."""
    rows = list(range(len(training.texts)))
    chance.shuffle(rows)
    seen: dict[str, int] = {}
    few = []
    others = []
    for row in rows:
        label = training.labels[row]
        seen[label] = seen.get(label, 0) + 1
        (few if seen[label] <= n_labeled else others).append(row)
    return training.taken(few), training.taken(others)


def written(path: Path, documents: Labeled, *, has_labels: bool = True) -> str:
    """The documents as JSONL."""
    with path.open("w", encoding="utf-8") as file:
        for text, label in zip(documents.texts, documents.labels, strict=True):
            file.write(
                json.dumps({"text": text, **({"label": label} if has_labels else {})}) + "\n"
            )
    return str(path)


def nbtext(*arguments: str) -> str:
    done = subprocess.run(
        [*NBTEXT, *arguments, "-q"], check=True, capture_output=True, encoding="utf-8"
    )
    return done.stdout


def measured(few: str, others: str, test: str, options: list[str], model: str) -> Outcome:
    """Train by one method, and evaluate."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    nbtext("train", few, *(["--unlabeled", others] if options else []), *options, "-o", model)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    expected = subprocess.run(
        [*NBTEXT, "inspect", model, "--to", "json"], check=True, capture_output=True
    ).stdout
    found = json.loads(nbtext("evaluate", test, "-m", model, "--to", "json"))
    return Outcome(found["accuracy"], json.loads(expected)["expected"]["accuracy"], seconds)


def outcomes(split: str, seed: int, folder: Path) -> dict[str, Outcome]:
    """What each method makes of the same documents."""
    chance = random.Random(seed)
    training, test = SPLITS[split](chance)
    few, others = split_labeled(training, chance, REVIEWS.get(split, LABELED))
    paths = (
        written(folder / "few.jsonl", few),
        written(folder / "others.jsonl", others, has_labels=False),
        written(folder / "test.jsonl", test),
    )
    return {
        name: measured(*paths, options, str(folder / "model")) for name, options in METHODS.items()
    }


def row(split: str, name: str, found: list[Outcome], alone: list[Outcome]) -> str:
    """The mean and the range of the accuracy and of the gain, and the means of the rest."""
    gains = [100 * (one.accuracy - other.accuracy) for one, other in zip(found, alone, strict=True)]
    rates = [100 * one.accuracy for one in found]
    expected, seconds = (
        statistics.mean(values)
        for values in ([100 * o.expected for o in found], [o.seconds for o in found])
    )
    gain = (
        f"{statistics.mean(gains):+.1f} ({min(gains):+.1f} to {max(gains):+.1f}) "
        if any(gains)
        else ""
    )
    return (
        f"| {split} | {name} | {statistics.mean(rates):.1f} ({min(rates):.1f} to {max(rates):.1f}) "
        f"| {gain}| {expected:.1f} | {seconds:.1f} |"
    )


def main(seeds: str = "5", *splits: str) -> None:
    """Print a row for each split and method."""
    sys.stdout.write(
        "| split | method | accuracy, % (range) | gain over labeled alone | estimated | seconds |"
        + "\n"
    )
    sys.stdout.write("|---|---|---|---|---|---|" + "\n")
    for split in splits or SPLITS:
        with TemporaryDirectory() as folder:
            found = [outcomes(split, seed, Path(folder)) for seed in range(1, int(seeds) + 1)]
        for name in METHODS:
            sys.stdout.write(
                row(
                    split,
                    name,
                    [each[name] for each in found],
                    [each["labeled alone"] for each in found],
                )
                + "\n"
            )
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

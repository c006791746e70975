"""Training and test splits: the protocols of the published figures, and random splits.

A split is (texts, labels) to train on and (texts, labels) to test on; a protocol is one split or
several, over which an accuracy is averaged. Test documents are used only for evaluation.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from material import corpus

N_FOLDS = 10
SEEDS = range(1, 11)  # of random splits
TRAINING_SHARE = 0.7  # of a random split
SMS_TRAINING_SHARE = 0.3


class Labeled(NamedTuple):
    """Texts and their labels, of the same length."""

    texts: list[str]
    labels: list[str]

    def taken(self, rows: Sequence[int]) -> Labeled:
        return Labeled([self.texts[row] for row in rows], [self.labels[row] for row in rows])


class Split(NamedTuple):
    """What to learn from, and what to be asked."""

    training: Labeled
    test: Labeled


@dataclass(frozen=True)
class Protocol:
    """A corpus and how it is split; `splits` reads it."""

    name: str
    splits: Callable[[], Sequence[Split]]


def read_folder(folder: Path, encoding: str, label_of: Callable[[str], str] = str) -> Labeled:
    """A label a folder, a document a file, sorted by folder and name."""
    paths = sorted(folder.glob("*/*"))
    texts = [path.read_bytes().decode(encoding, "replace") for path in paths]
    return Labeled(texts, [label_of(path.parent.name) for path in paths])


@cache
def newsgroups(half: str) -> Labeled:
    """20 Newsgroups by date, headers and all."""
    return read_folder(corpus("20news") / half, "latin-1")


def lecture(half: str) -> Labeled:
    """Four groups of 20 Newsgroups, which the lecture tells apart."""
    groups = ("alt.atheism", "comp.graphics", "sci.med", "soc.religion.christian")
    documents = newsgroups(half)
    return documents.taken([row for row, label in enumerate(documents.labels) if label in groups])


@cache
def imdb(half: str) -> Labeled:
    return read_folder(corpus("imdb") / half, "utf-8")


@cache
def short_reviews() -> Labeled:
    """RT-s: a sentence a document."""
    return read_folder(corpus("rt-s"), "latin-1")


def long_reviews() -> Labeled:
    """RT-2k, in the order of its files: cv000 to cv999 of each label."""
    return read_folder(corpus("rt-2k"), "utf-8")


def questions(half: str) -> Labeled:
    """Short questions to a bank, and what they ask for."""
    with (corpus("banking77") / f"{half}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return Labeled([row["text"] for row in rows], [row["category"] for row in rows])


def messages() -> Labeled:
    """The SMS Spam Collection, in its order."""
    with (corpus("sms-spam") / "SMSSpamCollection").open(encoding="utf-8", newline="\n") as file:
        labels, texts = zip(*(line.rstrip("\n").split("\t", 1) for line in file), strict=True)
    return Labeled(list(texts), list(labels))


def thai_messages() -> Labeled:
    """Wisesight's, in its order; Thai does not separate words."""
    paths = [corpus("wisesight-th") / f"{part}.jsonl" for part in ("train", "valid", "test")]
    rows = [
        json.loads(line)
        for path in paths
        for line in path.read_text(encoding="utf-8").split("\n")
        if line
    ]
    return Labeled([row["text"] for row in rows], [row["label"] for row in rows])


def mails() -> Labeled:
    """SpamAssassin's, raw, as spam and ham."""
    return read_folder(
        corpus("spamassassin"), "utf-8", lambda name: "spam" if name.startswith("spam") else "ham"
    )


def other_languages() -> list[str]:
    """The Universal Declaration of Human Rights in all languages but English and two that are near
    to it.
    """
    paths = sorted(corpus("udhr2").glob("*.txt"))
    return [
        path.read_text(encoding="utf-8") for path in paths if path.stem not in ("eng", "pcm", "sco")
    ]


def shuffled(texts: list[str]) -> list[str]:
    """The same characters, those of each text in another order."""
    chance = random.Random(SEEDS[0])
    return ["".join(chance.sample(text, len(text))) for text in texts]


def two_groups(one: str, other: str) -> Labeled:
    """Two groups of both halves of 20 Newsgroups, without the headers."""
    both = joined(newsgroups)
    rows = [row for row, label in enumerate(both.labels) if label in (one, other)]
    chosen = both.taken(rows)
    return Labeled([text.partition("\n\n")[2] for text in chosen.texts], chosen.labels)


def joined(corpus_half: Callable[[str], Labeled]) -> Labeled:
    """Both halves of a corpus as one."""
    training = corpus_half("train")
    test = corpus_half("test")
    return Labeled(training.texts + test.texts, training.labels + test.labels)


def halves(corpus_half: Callable[[str], Labeled]) -> list[Split]:
    """The split that a corpus comes with."""
    return [Split(corpus_half("train"), corpus_half("test"))]


def first_share(documents: Labeled, share: float) -> list[Split]:
    """The first documents against the rest."""
    n_training = int(share * len(documents.texts))
    rows = range(len(documents.texts))
    return [Split(documents.taken(rows[:n_training]), documents.taken(rows[n_training:]))]


def random_splits(documents: Labeled) -> list[Split]:
    """One for each seed, TRAINING_SHARE of the documents in its training part."""
    splits = []
    for seed in SEEDS:
        rows = list(range(len(documents.texts)))
        random.Random(seed).shuffle(rows)
        splits += first_share(documents.taken(rows), TRAINING_SHARE)
    return splits


def shuffled_folds(documents: Labeled) -> list[Split]:
    """Ten folds of shuffled documents."""
    rows = list(range(len(documents.texts)))
    random.Random(SEEDS[0]).shuffle(rows)
    folds = [0] * len(rows)
    for place, row in enumerate(rows):
        folds[row] = place % N_FOLDS
    return list(_fold_splits(documents, folds))


def folds_by_name(documents: Labeled) -> list[Split]:
    """RT-2k's own folds: its files cv000 to cv099 of each label are fold 0, and so on."""
    n_label = len(documents.labels) // 2
    return list(
        _fold_splits(documents, [row % n_label // 100 for row in range(len(documents.labels))])
    )


def _fold_splits(documents: Labeled, folds: Sequence[int]) -> Iterator[Split]:
    for fold in range(N_FOLDS):
        training = [row for row, own in enumerate(folds) if own != fold]
        test = [row for row, own in enumerate(folds) if own == fold]
        yield Split(documents.taken(training), documents.taken(test))

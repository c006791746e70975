"""The texts that the benchmarks run on: labeled documents of real corpora, and a larger file that
is made of them.

A corpus is the folder .corpora/NAME, as `make corpora` and the tests' fixture leave it, else
unpacked there from NAME.tar.xz beside the repository or in the folder that NBTEXT_TEST_CORPORA
names.
"""

from __future__ import annotations

import csv
import itertools
import json
import os
import random
import re
import tarfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
UNPACKED = REPOSITORY / ".corpora"
ARCHIVES = Path(os.environ.get("NBTEXT_TEST_CORPORA", REPOSITORY.parent / "shared" / "corpora"))
MEGABYTE = 1_000_000
SEED = 1
TRAINING_SHARE = 0.7  # of a random split
SMS_TRAINING_SHARE = 0.3
# sections of Debian that are subjects, with 87 described packages or more in each language below
SUBJECTS = ("admin", "devel", "games", "gnome", "graphics", "net", "sound", "text", "utils", "x11")
LANGUAGES = ("en", "fr", "ru")


class Labeled(NamedTuple):
    """Texts and their labels, of the same length."""

    texts: list[str]
    labels: list[str]

    def take(self, rows: Sequence[int]) -> Labeled:
        return Labeled([self.texts[row] for row in rows], [self.labels[row] for row in rows])

    def join(self, other: Labeled) -> Labeled:
        return Labeled(self.texts + other.texts, self.labels + other.labels)

    def cut(self, share: float) -> Split:
        """The first documents, and the rest."""
        rows = range(len(self.texts))
        n_first = int(share * len(rows))
        return Split(self.take(rows[:n_first]), self.take(rows[n_first:]))

    def shuffle(self, chance: random.Random) -> Labeled:
        rows = list(range(len(self.texts)))
        chance.shuffle(rows)
        return self.take(rows)

    def write(self, path: Path) -> None:
        """Write JSON lines."""
        with path.open("w", encoding="utf-8") as file:
            for text, label in zip(*self, strict=True):
                file.write(json.dumps({"text": text, "label": label}) + "\n")


class Split(NamedTuple):
    """The documents of which a model learns, and those on which it is tested."""

    training: Labeled
    test: Labeled


def corpus(name: str) -> Path:
    """The folder of a real corpus."""
    folder = UNPACKED / name
    if not folder.is_dir():
        with tarfile.open(ARCHIVES / f"{name}.tar.xz") as tar:
            tar.extractall(UNPACKED, filter="data")
    return folder


def read_folder(folder: Path, encoding: str = "utf-8") -> Labeled:
    """A label a folder, a document a file, sorted by folder and name."""
    paths = sorted(folder.glob("*/*"))
    texts = [path.read_bytes().decode(encoding, "replace") for path in paths]
    return Labeled(texts, [path.parent.name for path in paths])


def read_json(path: Path, label_field: str = "label") -> Labeled:
    """The texts of a file of JSON lines and their labels, the first one of a list."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    labels = [record[label_field] for record in records]
    first = [label if isinstance(label, str) else label[0] for label in labels]
    return Labeled([record["text"] for record in records], first)


def read_lines(path: Path) -> Labeled:
    """A label, a tab and a text a line."""
    lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    return Labeled(list(texts), list(labels))


@cache
def newsgroups(half: str) -> Labeled:
    """20 Newsgroups by date, headers and all."""
    return read_folder(corpus("20news") / half, "latin-1")


@cache
def imdb(half: str) -> Labeled:
    return read_folder(corpus("imdb") / half)


@cache
def short_reviews() -> Labeled:
    """RT-s: a sentence a document."""
    return read_folder(corpus("rt-s"), "latin-1")


def long_reviews() -> Labeled:
    """RT-2k, in the order of its files: cv000 to cv999 of each label."""
    return read_folder(corpus("rt-2k"))


def mails() -> Labeled:
    """SpamAssassin's, raw, as spam and ham."""
    found = read_folder(corpus("spamassassin"))
    return Labeled(
        found.texts, ["spam" if label.startswith("spam") else "ham" for label in found.labels]
    )


def messages() -> Labeled:
    """The SMS Spam Collection, in its order."""
    return read_lines(corpus("sms-spam") / "SMSSpamCollection")


def thai_messages(part: str) -> Labeled:
    """Wisesight's; Thai does not separate words."""
    return read_json(corpus("wisesight-th") / f"{part}.jsonl")


def japanese_sentences() -> Labeled:
    """chABSA's, which are positive or negative; Japanese does not separate words."""
    return read_lines(corpus("ja-chabsa") / "posneg.tsv")


def topics(half: str) -> Labeled:
    """Reuters-90, with the first label of each document."""
    return read_json(corpus("reuters-90") / f"{half}.jsonl", "labels")


def questions(half: str) -> Labeled:
    """Short questions to a bank, and what they ask for."""
    with (corpus("banking77") / f"{half}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return Labeled([row["text"] for row in rows], [row["category"] for row in rows])


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


def read_stanzas(path: Path) -> Iterator[dict[str, str]]:
    """The fields of each record of a file of Debian."""
    for stanza in path.read_text(encoding="utf-8").split("\n\n"):
        yield dict(re.findall(r"^([\w-]+): (.*(?:\n .*)*)", stanza, re.MULTILINE))


def descriptions(language: str) -> Split:
    """Packages of Debian, described in a language, and their sections. All packages of a source are
    in one of the parts.

    .corpora/debian/Packages is what `apt-cache dumpavail` prints, and Translation-LANGUAGE is
    the file that `apt-get update -o Acquire::Languages=LANGUAGE` leaves in /var/lib/apt/lists,
    printed by `/usr/lib/apt/apt-helper cat-file`.
    """
    folder = corpus("debian")
    described = {
        record["Description-md5"]: record[f"Description-{language}"]
        for record in read_stanzas(folder / f"Translation-{language}")
        if record
    }
    of_sources: dict[str, list[tuple[str, str]]] = {}
    for package in read_stanzas(folder / "Packages"):
        text = described.pop(package.get("Description-md5", ""), "")
        if text and package["Section"] in SUBJECTS:
            source = package.get("Source", package["Package"]).split()[0]
            of_sources.setdefault(source, []).append((text, package["Section"]))
    sources = sorted(of_sources)
    random.Random(SEED).shuffle(sources)
    n_training = int(TRAINING_SHARE * len(sources))
    parts = []
    for part in (sources[:n_training], sources[n_training:]):
        texts, labels = zip(*itertools.chain(*map(of_sources.get, part)), strict=True)
        parts.append(Labeled(list(texts), list(labels)))
    return Split(*parts)


def join_halves(read: Callable[[str], Labeled]) -> Labeled:
    return read("train").join(read("test"))


def halves(read: Callable[[str], Labeled]) -> Split:
    """The split that a corpus comes with."""
    return Split(read("train"), read("test"))


def random_split(documents: Labeled, seed: int = SEED) -> Split:
    return documents.shuffle(random.Random(seed)).cut(TRAINING_SHARE)


SPLITS: dict[str, Callable[[], Split]] = {
    "20news": lambda: halves(newsgroups),
    "imdb": lambda: halves(imdb),
    "sms-spam": lambda: messages().cut(SMS_TRAINING_SHARE),
    "wisesight-th": lambda: halves(thai_messages),
    "reuters-90": lambda: halves(topics),
    "rt-2k": lambda: random_split(long_reviews()),
    "rt-s": lambda: random_split(short_reviews()),
    "spamassassin": lambda: random_split(mails()),
    "udhr2": lambda: random_split(declarations()),
    "banking77": lambda: halves(questions),
    "ja-chabsa": lambda: random_split(japanese_sentences()),
}
# of files that only Debian's mirrors have
DESCRIPTIONS = {f"debian-{language}": partial(descriptions, language) for language in LANGUAGES}


def repeat(documents: Labeled) -> Iterator[str]:
    """JSON lines without end: the documents, shuffled, over and over, each copy made another by a
    number that is inserted in its middle.
    """
    shuffled = documents.shuffle(random.Random(SEED))
    for number in itertools.count():
        row = number % len(shuffled.texts)
        text = shuffled.texts[row]
        middle = text.find(" ", len(text) // 2)
        record = {
            "id": str(number),
            "text": f"{text[:middle]} n{number}{text[middle:]}",
            "label": shuffled.labels[row],
        }
        yield json.dumps(record, ensure_ascii=False) + "\n"


def write_repeated(path: Path, megabytes: float) -> Path:
    """Write JSON lines of this size, repeated from IMDB. A smaller file is the beginning of a
    larger one.
    """
    with path.open("wb") as file:
        for line in repeat(imdb("train")):
            if file.tell() >= megabytes * MEGABYTE:
                return path
            file.write(line.encode())
    return path

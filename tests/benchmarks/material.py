"""The texts that the benchmarks run on: real corpora, and larger files made of them.

A corpus is the folder .corpora/NAME, as `make corpora` and the tests' fixture leave it, else
unpacked there from NAME.tar.xz beside the repository or in the folder that NBTEXT_TEST_CORPORA
names. What is made of them goes to a scratch folder, is made when it is first asked for, and is the
same each time.
"""

import json
import os
import random
import tarfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
UNPACKED = REPOSITORY / ".corpora"
ARCHIVES = Path(os.environ.get("NBTEXT_TEST_CORPORA", REPOSITORY.parent / "shared" / "corpora"))
MEGABYTE = 1_000_000
SEED = 1


class MissingCorpusError(Exception):
    """A corpus is neither unpacked nor there as an archive."""


def corpus(name: str) -> Path:
    """The folder of a real corpus."""
    folder = UNPACKED / name
    archive = ARCHIVES / f"{name}.tar.xz"
    if not folder.is_dir():
        if not archive.is_file():
            raise MissingCorpusError(f"the corpus {name} is not there; `make corpora` fetches it")
        with tarfile.open(archive) as tar:
            tar.extractall(UNPACKED, filter="data")
    return folder


class Material:
    """The benchmarks' inputs, in a scratch folder."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch

    def newsgroups(self, half: str) -> Path:
        """20 Newsgroups by date: a folder a group, a file a document."""
        return corpus("20news") / half

    def imdb(self, half: str) -> Path:
        """IMDB reviews: folders neg and pos, a file a document."""
        return corpus("imdb") / half

    def imdb_lines(self, half: str) -> Path:
        """The same as JSONL, each document once."""
        path = self.scratch / f"imdb-{half}.jsonl"
        if not path.exists():
            lines = (
                json_line(path, text, label) for path, text, label in labeled_files(self.imdb(half))
            )
            path.write_text("".join(lines), encoding="utf-8")
        return path

    def repeated(self, megabytes: float) -> Path:
        """JSONL of this size: the training half of IMDB, shuffled, over and over, each copy made
        another by a number that is inserted in its middle. A smaller file is the beginning of a
        larger one.
        """
        path = self.scratch / f"imdb-{megabytes:g}MB.jsonl"
        if not path.exists():
            with path.open("wb") as file:
                for line in repeated_lines(self.imdb("train")):
                    if file.tell() >= megabytes * MEGABYTE:
                        break
                    file.write(line.encode())
        return path


def labeled_files(folder: Path) -> Iterator[tuple[str, str, str]]:
    """(id, text, label) of each file of FOLDER/LABEL/FILE, sorted."""
    for path in sorted(folder.glob("*/*")):
        yield (
            f"{path.parent.name}/{path.name}",
            path.read_text(encoding="utf-8", errors="replace"),
            path.parent.name,
        )


def repeated_lines(folder: Path) -> Iterator[str]:
    """JSON lines of a folder's documents, for ever."""
    documents = list(labeled_files(folder))
    random.Random(SEED).shuffle(documents)
    for number in count():
        _, text, label = documents[number % len(documents)]
        middle = text.find(" ", len(text) // 2)
        yield json_line(str(number), f"{text[:middle]} n{number}{text[middle:]}", label)


def json_line(identity: str, text: str, label: str) -> str:
    """A document as a line of JSON, as nbtext reads it by default."""
    return json.dumps({"id": identity, "text": text, "label": label}, ensure_ascii=False) + "\n"

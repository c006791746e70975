"""What a corpus costs as it grows: processor time, peak memory and temporary disk of `train`, and
the size of what is learned.

20 Newsgroups, both halves, is repeated, and in every repetition some of its rare words get new
names, so many that the vocabulary goes on growing as it did within the corpus itself (Heaps' law: V
= K · bytes^β, β being measured). The files have a gigabyte each; a corpus of n GB is the first n of
them.

    python tests/benchmarks/scale.py SCRATCH SIZE... [--ways OPTIONS...] [--predict] [--shards]

trains from so many GB with the options of each way ("" is the default, others are "--ngrams 1,2" or
"--cluster local"), and deletes what it has made. --predict measures also what it costs to answer
the same documents, --shards what two shards come to, and what it costs to add them up. Disk is what
files without a name take at most, seen twice a second.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import random
import re
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil
from material import SEED, join_halves, newsgroups
from measuring import Cost, measure, parser_with, say, say_head, say_row

from nbtext import load_model
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import MAX_SHARD, open_shard, open_source
from nbtext.errors import ModelError
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import SAMPLE_SIZE
from nbtext.model.source_counting import CountingTask, count_in_threads

GIGABYTE = 1_000_000_000
MEBIBYTE = 1 << 20
RARE = 20  # occurrences in one repetition of a word that may get a new name
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PIECES = re.compile(r"(?u)\b\w\w+\b|.", re.DOTALL)


class Corpus(NamedTuple):
    """Documents as numbers of pieces (words, and characters between them), spelled as JSON spells
    them.
    """

    pieces: list[str]
    documents: list[tuple[itemgetter[int], str]]  # the pieces of each in turn, and its label
    rare: list[int]  # pieces that may get new names
    n_words: int
    exponent: float  # of Heaps' law, from the first half of the corpus to the whole


def cut_documents() -> Corpus:
    """20 Newsgroups in pieces."""
    documents = list(zip(*join_halves(newsgroups), strict=True))
    random.Random(SEED).shuffle(documents)
    numbers: dict[str, int] = {}
    counts: Counter[str] = Counter()
    n_words: list[int] = []
    cut = []
    for text, label in documents:
        found = PIECES.findall(text)
        counts.update(piece.lower() for piece in found if len(piece) > 1)
        pieces = [numbers.setdefault(piece, len(numbers)) for piece in (*found, " ", " ")]
        cut.append((itemgetter(*pieces), label))
        n_words.append(len(counts))
    rare = [
        number
        for piece, number in numbers.items()
        if len(piece) > 1 and counts[piece.lower()] <= RARE
    ]
    exponent = math.log2(n_words[-1] / n_words[len(n_words) // 2 - 1])
    spelled = [json.dumps(piece, ensure_ascii=False)[1:-1] for piece in numbers]
    return Corpus(spelled, cut, rare, n_words[-1], exponent)


def repeat(base: Corpus) -> Iterator[bytes]:
    """JSON lines without end; in each repetition, as many words are new as Heaps' law wants."""
    for repetition in count():
        spelled = list(base.pieces)
        if repetition:
            wanted = base.n_words * ((repetition + 1) ** base.exponent - repetition**base.exponent)
            n_renamed = min(len(base.rare), round(wanted))
            chosen = np.random.default_rng(repetition).choice(
                len(base.rare), n_renamed, replace=False
            )
            for place in chosen.tolist():
                spelled[base.rare[place]] = new_word(repetition * len(base.rare) + place)
        for pieces, label in base.documents:
            yield f'{{"text": "{"".join(pieces(spelled))}", "label": "{label}"}}\n'.encode()


def new_word(number: int) -> str:
    """A word that no other number has."""
    word = ""
    while number or len(word) < 4:
        number, letter = divmod(number, len(LETTERS))
        word = LETTERS[letter] + word
    return f"q{word}x"


def write_corpus(scratch: Path, n_gigabytes: int) -> list[str]:
    """Write the files of a corpus of so many gigabytes."""
    base = cut_documents()
    say(f"20 Newsgroups: {base.n_words:,} words; Heaps' exponent {base.exponent:.3f}\n")
    source = repeat(base)
    names = [f"{number:03}.jsonl" for number in range(n_gigabytes)]
    for name in names:
        with (scratch / name).open("wb") as file:
            while file.tell() < GIGABYTE:
                file.write(next(source))
    return names


def measure_training(sources: str, options: str, scratch: Path) -> tuple[Cost, int]:
    """What it costs to train from these files, and the bytes of disk."""
    is_over = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        disk = pool.submit(watch_disk, str(scratch / "model"), is_over)
        try:
            command = f"nbtext train {sources} --force -o $MODEL -q -j 2 {options}"
            cost = measure(command, scratch, MODEL=scratch / "model")
        finally:
            is_over.set()
        return cost, disk.result()


def watch_disk(argument: str, is_over: threading.Event) -> int:
    """The most bytes of disk that the deleted open files of a process with this argument take,
    until it is over.
    """
    most = 0
    while not is_over.wait(0.5):
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if argument in process.cmdline():
                    paths = Path(f"/proc/{process.pid}/fd").iterdir()
                    sizes = [512 * path.stat().st_blocks for path in paths if is_deleted(path)]
                    most = max(most, sum(sizes))
    return most


def is_deleted(descriptor: Path) -> bool:
    """Whether an open file has no name."""
    with suppress(OSError):
        return os.readlink(descriptor).endswith(" (deleted)")
    return False


def say_sizes(files: list[str], sizes: list[int], options: str, given: argparse.Namespace) -> None:
    """Train on each size, print its row, and how time grows with size."""
    seconds = []
    for size in sizes:
        sources = " ".join(files[:size])
        cost, disk = measure_training(sources, options, given.scratch)
        seconds.append(cost.cpu)
        model = given.scratch / "model"
        loaded = load_model(model)
        statistics = 0
        with suppress(ModelError):  # linear models keep none
            counts = loaded.counts_
            statistics = len(pickle.dumps((counts.vocabulary, counts.statistics)))
        n_bytes = cost.memory, disk, statistics, model.stat().st_size
        mebibytes = [f"{each / MEBIBYTE:.1f}" for each in n_bytes]
        n_features = f"{loaded.fitted_.scorer.n_features:,}"
        times = f"{cost.cpu:.1f}", f"{cost.cpu / size:.2f}", f"{cost.wall:.1f}"
        say_row([size, f"`{options}`", *times, n_features, *mebibytes])
        if given.predict:
            command = f"nbtext predict {sources} -m model --force -o answers.tsv -q -j 2"
            cost = measure(command, given.scratch)
            times = f"{cost.cpu:.1f}", f"{cost.cpu / size:.2f}", f"{cost.wall:.1f}"
            say_row([size, "predict", *times, "", f"{cost.memory / MEBIBYTE:.1f}", "", "", ""])
    if len(sizes) > 1:
        exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        slope, fixed = np.polyfit(sizes, seconds, 1, w=1 / np.array(seconds))
        say(f"\n{fixed:.2f} s + {slope:.2f} s/GB, or size to the power {exponent:.2f}\n")


def say_shards(paths: list[str]) -> None:
    """What two shards come to, each by itself and together."""
    source = open_source(paths, InputSettings())
    counting = CountingTask(FeatureSettings(), SAMPLE_SIZE)
    corpora = []
    for shard in source.shards(MAX_SHARD)[:2]:
        start = time.process_time()
        counts = count_in_threads(open_shard(shard, source.settings), counting, 1)
        seconds = time.process_time() - start
        statistics, sample = (
            len(pickle.dumps(each)) / MEBIBYTE
            for each in ((counts.vocabulary, counts.statistics), counts.sample)
        )
        say(f"a shard: {seconds:.2f} CPU s, {statistics:.1f} MiB, {sample:.1f} MiB of its sample")
        corpora.append(counts)
    start = time.process_time()
    pickle.dumps(corpora[0] + corpora[1])
    say(f"to add two of them: {time.process_time() - start:.2f} CPU s")


def main() -> None:
    """Print a row for each size and way."""
    parser = parser_with(__doc__)
    parser.add_argument("scratch", type=lambda folder: Path(folder).resolve() / "nbtext-scale")
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--ways", nargs="+", default=[""])
    parser.add_argument("--predict", action="store_true")
    parser.add_argument("--shards", action="store_true")
    given = parser.parse_args()
    given.scratch.mkdir(parents=True)
    try:
        files = write_corpus(given.scratch, max(given.sizes))
        head = "GB", "options", "CPU s", "CPU s/GB", "wall s", "features", "peak memory, MiB"
        say_head(*head, "disk, MiB", "statistics, MiB", "model, MiB")
        for options in given.ways:
            say_sizes(files, sorted(given.sizes), options, given)
        if given.shards:
            say_shards([str(given.scratch / name) for name in files])
    finally:
        shutil.rmtree(given.scratch)


if __name__ == "__main__":
    main()

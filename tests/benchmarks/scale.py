"""What a corpus costs as it grows: processor time and peak memory of `train`, and the size of what
is learned.

20 Newsgroups, both halves, is repeated, and in every repetition some of its rare words get new
names, so many that the vocabulary goes on growing as it did within the corpus itself (Heaps' law: V
= K · bytes^β, β being measured). The files have a gigabyte each; a corpus of n GB is the first n of
them.

python tests/benchmarks/scale.py SCRATCH 1 2 5 10      trains from 1, 2, 5 and 10 GB, and deletes
what it has made python tests/benchmarks/scale.py --cluster SCRATCH 2   also by two worker processes
of Dask, to the same bytes python tests/benchmarks/scale.py --predict SCRATCH 2   also what it costs
to answer the same documents python tests/benchmarks/scale.py --shards SCRATCH 1    also what two
shards come to, and what it costs to add them up python tests/benchmarks/scale.py --models SCRATCH 1
5  instead trains the default, with pairs of words, and NB-SVM
"""

from __future__ import annotations

import filecmp
import json
import math
import os
import pickle
import random
import re
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from operator import itemgetter
from pathlib import Path

import numpy as np
import psutil
from material import SEED, corpus, labeled_files
from measuring import Cost, Step, measure

from nbtext import load_model
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import MAX_SHARD, open_shard, open_source
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import SAMPLE_SIZE
from nbtext.model.source_counting import CountingTask, count_in_threads

GIGABYTE = 1_000_000_000
MEBIBYTE = 1 << 20
RARE = 20  # occurrences in one repetition of a word that may get a new name
LETTERS = "abcdefghijklmnopqrstuvwxyz"
NBTEXT = (sys.executable, "-m", "nbtext")
JOBS = 2
MODELS = {
    "default": (),
    "default, pairs": ("--ngrams", "1,2"),
    "NB-SVM, words": ("--model", "nbsvm", "--weighting", "log-tfidf"),
}

_pieces = re.compile(r"(?u)\b\w\w+\b|.", re.DOTALL)


@dataclass(frozen=True)
class Corpus:
    """Documents as numbers of pieces (words, and characters between them), spelled as JSON spells
    them.
    """

    pieces: list[str]
    documents: list[tuple[itemgetter[int], str]]  # the pieces of each in turn, and its label
    rare: list[int]  # pieces that may get new names
    n_words: int
    exponent: float  # of Heaps' law, from the first half of the corpus to the whole


def analyzed() -> Corpus:
    """20 Newsgroups in pieces."""
    documents = [
        (text, label)
        for half in ("train", "test")
        for _, text, label in labeled_files(corpus("20news") / half)
    ]
    random.Random(SEED).shuffle(documents)
    numbers: dict[str, int] = {}
    counts: Counter[str] = Counter()
    n_words: list[int] = []
    cut = []
    for text, label in documents:
        found = _pieces.findall(text)
        counts.update(piece.lower() for piece in found if len(piece) > 1)
        cut.append(
            (
                itemgetter(
                    *[numbers.setdefault(piece, len(numbers)) for piece in (*found, " ", " ")]
                ),
                label,
            )
        )
        n_words.append(len(counts))
    rare = [
        number
        for piece, number in numbers.items()
        if len(piece) > 1 and counts[piece.lower()] <= RARE
    ]
    exponent = math.log2(n_words[-1] / n_words[len(n_words) // 2 - 1])
    return Corpus(
        [json.dumps(piece, ensure_ascii=False)[1:-1] for piece in numbers],
        cut,
        rare,
        n_words[-1],
        exponent,
    )


def lines(base: Corpus) -> Iterator[bytes]:
    """JSON lines without end."""
    for repetition in count():
        spelled = _renamed(base, repetition) if repetition else base.pieces
        for pieces, label in base.documents:
            yield f'{{"text": "{"".join(pieces(spelled))}", "label": "{label}"}}\n'.encode()


def _renamed(base: Corpus, repetition: int) -> list[str]:
    """The pieces of this repetition: as many new words as Heaps' law wants from one repetition to
    the next.
    """
    wanted = base.n_words * ((repetition + 1) ** base.exponent - repetition**base.exponent)
    chosen = np.random.default_rng(repetition).choice(
        len(base.rare), min(len(base.rare), round(wanted)), replace=False
    )
    spelled = list(base.pieces)
    for place in chosen.tolist():
        spelled[base.rare[place]] = _word(repetition * len(base.rare) + place)
    return spelled


def _word(number: int) -> str:
    """A word that no other number has."""
    word = ""
    while number or len(word) < 4:
        number, letter = divmod(number, len(LETTERS))
        word = LETTERS[letter] + word
    return f"q{word}x"


def made(scratch: Path, n_gigabytes: int) -> list[str]:
    """The files of a corpus of so many gigabytes."""
    base = analyzed()
    paths = [scratch / f"{number:03}.jsonl" for number in range(n_gigabytes)]
    say(f"20 Newsgroups: {base.n_words:,} words; Heaps' exponent {base.exponent:.3f}")
    source = lines(base)
    for path in paths:
        with path.open("wb") as file:
            while file.tell() < GIGABYTE:
                file.write(next(source))
    return list(map(str, paths))


def measure_training(sources: list[str], model: Path, *options: str) -> Cost:
    """What it costs to train from these files."""
    return measure(
        [Step((*NBTEXT, "train", *sources, "-o", str(model), "-q", "-j", str(JOBS), *options))]
    )


def learned(model: Path) -> tuple[int, int]:
    """Features of a model, and bytes of its vocabulary and statistics in the form in which they
    travel.
    """
    counts = load_model(str(model)).counts_
    return counts.statistics.n_features, len(pickle.dumps((counts.vocabulary, counts.statistics)))


def say(line: str) -> None:
    """A line of the report."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(*arguments: str) -> None:
    """Print a line for each size, and what they come to."""
    folder, *sizes = (argument for argument in arguments if not argument.startswith("--"))
    scratch = Path(folder) / "nbtext-scale"
    scratch.mkdir(parents=True)
    try:
        wanted = sorted(map(int, sizes))
        paths = made(scratch, wanted[-1])
        per_gigabyte = []
        features = []
        if "--models" in arguments:
            by_models(paths, wanted, scratch / "model")
            return
        say("   GB   CPU s  CPU s/GB   wall s  peak MiB   features  statistics MiB  model MiB")
        for size in wanted:
            model = scratch / "model"
            cost = measure_training(paths[:size], model)
            n_features, n_bytes = learned(model)
            per_gigabyte.append(cost.cpu / size)
            features.append(n_features)
            say(
                f"{size:5} {cost.cpu:7.1f} {per_gigabyte[-1]:9.2f} {cost.wall:8.1f} {cost.memory / MEBIBYTE:9.0f} "
                f"{n_features:10,} {n_bytes / MEBIBYTE:15.1f} {model.stat().st_size / MEBIBYTE:10.1f}"
            )
            if "--cluster" in arguments:
                by_workers(paths[:size], model, cost)
            if "--predict" in arguments:
                answered(paths[:size], model)
        if "--shards" in arguments:
            of_shards(paths)
        if len(wanted) > 1:
            say(summary(wanted, per_gigabyte, features))
    finally:
        shutil.rmtree(scratch)


def by_models(paths: list[str], sizes: list[int], model: Path) -> None:
    """Train each model on each size. Disk is what files without a name take at most, seen twice a
    second.
    """
    say("   GB  model            CPU s  CPU s/GB   wall s  peak MiB  disk MiB  model MiB")
    for name, options in MODELS.items():
        seconds = []
        for size in sizes:
            with ThreadPoolExecutor(1) as pool:
                is_over = threading.Event()
                disk = pool.submit(watch_disk, str(model), is_over)
                try:
                    cost = measure_training(paths[:size], model, *options)
                finally:
                    is_over.set()
            seconds.append(cost.cpu)
            say(
                f"{size:5}  {name:14} {cost.cpu:7.1f} {cost.cpu / size:9.2f} {cost.wall:8.1f} "
                f"{cost.memory / MEBIBYTE:9.0f} {disk.result() / MEBIBYTE:9.0f} {model.stat().st_size / MEBIBYTE:10.1f}"
            )
        if len(sizes) > 1:
            say(
                f"       CPU time grows with size to the power {np.polyfit(np.log(sizes), np.log(seconds), 1)[0]:.2f}"
            )


def watch_disk(argument: str, is_over: threading.Event) -> int:
    """The most bytes of disk that the deleted open files of a process with this argument take,
    until it is over.
    """
    most = 0
    while not is_over.wait(0.5):
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if argument in process.cmdline():
                    files = [
                        os.stat(path)
                        for path in Path(f"/proc/{process.pid}/fd").iterdir()
                        if is_deleted(path)
                    ]
                    most = max(most, sum(512 * file.st_blocks for file in files))
    return most


def is_deleted(descriptor: Path) -> bool:
    """Whether an open file has no name."""
    with suppress(OSError):
        return os.readlink(descriptor).endswith(" (deleted)")
    return False


def summary(sizes: list[int], per_gigabyte: list[float], features: list[int]) -> str:
    """How far time is from proportional to size, and from a line; and how the vocabulary grew."""
    seconds = np.multiply(sizes, per_gigabyte)
    slope, fixed = np.polyfit(sizes, seconds, 1, w=1 / seconds)
    away = np.abs(seconds / (fixed + slope * np.array(sizes)) - 1).max()
    exponent = np.polyfit(np.log(sizes), np.log(features), 1)[0]
    return (
        f"CPU seconds per GB: the most is {max(per_gigabyte) / min(per_gigabyte) - 1:.1%} above the least; "
        f"{fixed:.2f} s + {slope:.2f} s/GB fits to {away:.1%}\n"
        f"Heaps' exponent from {sizes[0]} to {sizes[-1]} GB: {exponent:.3f}"
    )


def by_workers(sources: list[str], model: Path, here: Cost) -> None:
    """Train by Dask's workers on this machine, and compare."""
    other = model.with_name("by-workers")
    cost = measure_training(sources, other, "--cluster", "local")
    same = "the same bytes" if filecmp.cmp(model, other, shallow=False) else "OTHER BYTES"
    say(
        f"      by {JOBS} Dask workers: {same}, {cost.cpu:.1f} CPU s ({cost.cpu / here.cpu - 1:+.0%}), "
        f"{cost.wall:.1f} s ({cost.wall / here.wall - 1:+.0%}), peak of a process {cost.memory / MEBIBYTE:.0f} MiB"
    )


def answered(sources: list[str], model: Path) -> None:
    """What it costs to label these files: memory holds the model and a few batches."""
    output = model.with_name("answers.tsv")
    command = (
        *NBTEXT,
        "predict",
        *sources,
        "-m",
        str(model),
        "-o",
        str(output),
        "-q",
        "-j",
        str(JOBS),
    )
    cost = measure([Step(command)])
    output.unlink()
    say(
        f"      predict: {cost.cpu:.1f} CPU s, {cost.wall:.1f} s, peak {cost.memory / MEBIBYTE:.0f} MiB"
    )


def of_shards(sources: list[str]) -> None:
    """What two shards come to, each by itself and together."""
    source = open_source(sources, InputSettings())
    counting = CountingTask(FeatureSettings(), SAMPLE_SIZE)
    corpora = []
    begin = time.process_time()
    for shard in source.shards(MAX_SHARD)[:2]:
        counts = count_in_threads(open_shard(shard, source.settings), counting, 1)
        size = len(pickle.dumps((counts.vocabulary, counts.statistics)))
        sampled = len(pickle.dumps(counts.sample))
        taken = time.process_time() - begin
        begin = time.process_time()
        corpora.append(counts)
        say(
            f"a shard of {MAX_SHARD / MEBIBYTE:.0f} MiB: {taken:.2f} CPU s, {size / MEBIBYTE:.1f} MiB of statistics, "
            f"{sampled / MEBIBYTE:.1f} MiB of its sample"
        )
    begin = time.process_time()
    pickle.dumps(corpora[0] + corpora[1])
    say(f"to add two of them: {time.process_time() - begin:.2f} CPU s")


if __name__ == "__main__":
    main(*sys.argv[1:])

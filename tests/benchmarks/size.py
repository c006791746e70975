"""Accuracy on the test half over the size of the model file, beside fastText's quantized models.

    python tests/benchmarks/size.py [--output DIR] [CORPUS...]

The models are the default and the stack that `--model best` trains, each in full and with
--max-model-bytes. fastText has the settings of its tutorial, and then `quantize -qnorm -retrain`
with two cutoffs, trained on the same words. The table has the estimate that nbtext prints, and the
accuracy on the test half. Writes results/size.md.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from machine import conditions
from models import RESULTS
from programs import reason_missing
from protocols import Labeled, imdb, newsgroups, questions

from nbtext import TextClassifier
from nbtext.artifact.model import measure_model
from nbtext.artifact.reduction import limit_size
from nbtext.features.analyzer import MARKS_PATTERN

MEGABYTE = 1_000_000
WORDS = re.compile(r"\b\w\w+\b")  # as in peers/convert.py
TUTORIAL = ("-lr", "1.0", "-epoch", "25")
CUTOFFS = (100_000, 10_000)
STACKED = {"model": "stacked", "token_pattern": MARKS_PATTERN, "tf": "binary", "norm": "l2"}
BEST = "best"
DEFAULT = "default"


class Corpus(NamedTuple):
    """A corpus: its halves, the options of the stack, and the sizes of both models."""

    title: str
    read: Callable[[str], Labeled]
    options: Mapping[str, Any]
    sizes: Mapping[str, Sequence[int]]


class Point(NamedTuple):
    """A model: its program, the size of its file, its accuracy on the test half, and the estimate
    of it.
    """

    program: str
    limit: str
    n_bytes: int
    accuracy: float
    estimate: float | None = None
    n_features: int | None = None


CORPORA = {
    "20news": Corpus(
        "20 Newsgroups by date",
        newsgroups,
        {**STACKED, "ngrams": (1, 2)},
        {BEST: (3_000_000, 1_000_000, 300_000), DEFAULT: (1_000_000, 300_000)},
    ),
    "imdb": Corpus(
        "IMDB",
        imdb,
        {**STACKED, "ngrams": (1, 2)},
        {BEST: (1_000_000, 200_000, 50_000), DEFAULT: (200_000,)},
    ),
    "banking77": Corpus(
        "Short questions (banking77)",
        questions,
        {**STACKED, "view": ("word:1,2", "char_wb:1,5")},
        {BEST: (300_000, 200_000, 100_000, 50_000), DEFAULT: (100_000, 50_000)},
    ),
}


def nbtext_points(corpus: Corpus, training: Labeled, test: Labeled) -> Iterator[Point]:
    """Yield the models in full, and smaller ones."""
    for name, options in ((BEST, corpus.options), (DEFAULT, {})):
        model = TextClassifier(**options).fit(training.texts, list(training.labels)).model_
        estimate = model.fitted.estimate.accuracy
        n_bytes = measure_model(model)
        yield Point(
            f"nbtext, {name}",
            "in full",
            n_bytes,
            TextClassifier.from_model(model).score(*test),
            estimate,
            model.fitted.scorer.n_features,
        )
        for limit in corpus.sizes[name]:
            if limit < n_bytes:
                found = limit_size(model, limit, jobs=len(os.sched_getaffinity(0)))
                assert found.accuracy is not None
                yield Point(
                    f"nbtext, {name}",
                    show_bytes(limit),
                    found.n_bytes,
                    TextClassifier.from_model(found.model).score(*test),
                    found.accuracy[0],
                    found.model.fitted.scorer.n_features,
                )


def fasttext_points(training: Labeled, test: Labeled, folder: Path) -> Iterator[Point]:
    """Yield fastText's model, and its quantized ones."""
    places = {
        label: f"__label__{number}" for number, label in enumerate(sorted(set(training.labels)))
    }
    for name, documents in (("training", training), ("test", test)):
        lines = [
            f"{places[label]} {' '.join(WORDS.findall(each.lower()))}\n"
            for each, label in zip(documents.texts, documents.labels, strict=True)
        ]
        if name == "training":  # fastText learns line by line
            random.Random(1).shuffle(lines)
        (folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    settings = (*TUTORIAL, "-thread", str(len(os.sched_getaffinity(0))))

    def run(*words: object) -> str:
        done = subprocess.run(
            ["fasttext", *map(str, words)], cwd=folder, capture_output=True, text=True, check=True
        )
        return done.stdout

    def point(limit: str, model: str) -> Point:
        predicted = run("predict", model, "test.txt").split()
        expected = [places[label] for label in test.labels]
        accuracy = sum(one == other for one, other in zip(predicted, expected, strict=True)) / len(
            expected
        )
        return Point("fastText", limit, (folder / model).stat().st_size, accuracy)

    run("supervised", "-input", "training.txt", "-output", "model", *settings)
    yield point("in full", "model.bin")
    for cutoff in CUTOFFS:
        run(
            "quantize",
            "-input",
            "training.txt",
            "-output",
            "model",
            "-qnorm",
            "-retrain",
            "-cutoff",
            cutoff,
            *settings,
        )
        yield point(f"-cutoff {cutoff}", "model.ftz")


def show_bytes(n_bytes: int) -> str:
    return f"{n_bytes / MEGABYTE:,.3g} MB" if n_bytes >= MEGABYTE else f"{n_bytes / 1000:,.3g} KB"


def format_page(
    measured: Mapping[str, Sequence[Point]], facts: Mapping[str, str], missing: str | None
) -> str:
    """Format the tables."""
    parts = ["# Accuracy over the size of the model", "Written by `tests/benchmarks/size.py`."]
    parts.append("\n".join(f"* {k}: {v}" for k, v in facts.items()))
    parts.append(
        f"fastText: `supervised {' '.join(TUTORIAL)}`, then `quantize -qnorm -retrain -cutoff N` with the same."
    )
    if missing is not None:
        parts.append(f"fastText was not measured: {missing}.")
    for name, points in measured.items():
        rows = [
            "| program | size | bytes | features | test accuracy | estimate |",
            "|---|---|---|---|---|---|",
        ]
        for each in points:
            features = "" if each.n_features is None else f"{each.n_features:,}"
            estimate = "" if each.estimate is None else f"{each.estimate:.4f}"
            shown = (
                each.program,
                each.limit,
                f"{each.n_bytes:,}",
                features,
                f"{each.accuracy:.4f}",
                estimate,
            )
            rows.append(f"| {' | '.join(shown)} |")
        parts += [f"## {CORPORA[name].title}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", nargs="*", default=list(CORPORA))
    parser.add_argument("--output", type=Path, help="folder for size.md", default=RESULTS)
    options = parser.parse_args()
    missing = reason_missing("fasttext")
    measured = {}
    for name in options.corpora:
        training = CORPORA[name].read("train")
        test = CORPORA[name].read("test")
        points: list[Point] = []
        with tempfile.TemporaryDirectory(prefix="nbtext-benchmarks-") as folder:
            peers = (
                iter(()) if missing is not None else fasttext_points(training, test, Path(folder))
            )
            for each in (*nbtext_points(CORPORA[name], training, test), *peers):
                points.append(each)
                sys.stderr.write(f"{name}: {each}\n")
        measured[name] = points
    facts = conditions()
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "size.md").write_text(format_page(measured, facts, missing), encoding="utf-8")


if __name__ == "__main__":
    main()

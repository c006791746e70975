"""The model `combined` beside the default model: accuracy, log-loss, estimate, time and memory.

    python tests/benchmarks/combined.py [CORPUS...] python tests/benchmarks/combined.py --cuts
    100,200 [--draws N] [--views NAME+NAME] [--model MODEL] [CORPUS...]

Both are trained and evaluated as typed, on the training and test documents of the corpus; short
reviews (rt-s) in ten folds, which have no estimate and are timed as a whole. Prints a Markdown
table; results/combined.md has a run.

With --cuts: the estimate of `combined` beside the test on 2,000 documents at most, after training
on random subsets of the training documents of each corpus, and their difference in standard errors,
which should be 3 at most. Only labels with two training documents or more are tested, because
others cannot be left out. A small cut has some labels more often than the corpus, so `weighted`
weights a test document by the share of its label among the left-out ones.
"""

import argparse
import json
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from material import corpus
from measuring import Step, measure
from search import MEGABYTE, PROGRAM, SPLITS, make_batch, print_head, print_row

from nbtext.model.predictor import Predictor
from nbtext.text_classifier import TextClassifier

TABLE = ("corpus", "model", "accuracy", "log-loss", "estimated accuracy", "CPU, s", "memory, MB")
CUTS = (
    "corpus",
    "documents",
    "estimate",
    "test",
    "errors",
    "weighted",
    "errors",
    "log-loss",
    "test",
    "parts",
)
N_TEST = 2000
QUESTIONS = ("--text-field", "text", "--label-field", "category")
FOLDED = "rt-s"
SOURCES = {  # training documents, test documents, options
    "20news": ("train", "test", ("--encoding", "latin-1")),
    "imdb": ("train", "test", ()),
    "banking77": ("train.csv", "test.csv", QUESTIONS),
    FOLDED: ("", "", ("--encoding", "latin-1")),
}


def run(*arguments: str) -> dict[str, float]:
    """Return the JSON document that a command prints."""
    found = subprocess.run(
        (*PROGRAM, *arguments, "--to", "json", "-q"), check=True, stdout=subprocess.PIPE
    ).stdout
    return json.loads(found)


def compare_cuts(
    names: Sequence[str], sizes: Sequence[int], draws: int, views: tuple[str, ...], model: str
) -> None:
    """Print estimates beside tests."""
    print_head(CUTS)
    for name in names:
        training, test = SPLITS[name]()
        test = test.taken(
            random.Random(1).sample(range(len(test.labels)), min(N_TEST, len(test.labels)))
        )
        for size in sizes:
            for seed in range(draws if size < len(training.labels) else 0):
                part = training.taken(random.Random(seed).sample(range(len(training.labels)), size))
                judged = {
                    label: number for label, number in Counter(part.labels).items() if number > 1
                }
                asked = test.taken(
                    [row for row, label in enumerate(test.labels) if label in judged]
                )
                classifier = TextClassifier(model=model, view=views).fit(part.texts, part.labels)
                expected = classifier.fitted_.estimate
                assert expected is not None
                found = Predictor(classifier.fitted_).predict_batch(make_batch(asked))
                pairs = zip(found.labels, asked.labels, strict=True)
                is_right = np.array([predicted == (label,) for predicted, label in pairs])
                own = np.searchsorted(classifier.classes_, asked.labels)
                losses = -np.log(found.probabilities[np.arange(len(own)), own])
                there = Counter(asked.labels)
                weights = np.array([judged[label] / there[label] for label in asked.labels])
                cells = [name, str(size), f"{expected.accuracy:.3f}"]
                n_tested = len(own)
                n_left_out = expected.documents
                for accuracy in (is_right.mean(), np.average(is_right, weights=weights)):
                    mean = (accuracy * n_tested + expected.accuracy * n_left_out) / (
                        n_tested + n_left_out
                    )
                    error = (mean * (1 - mean) * (1 / n_tested + 1 / n_left_out)) ** 0.5
                    cells += [f"{accuracy:.3f}", f"{(expected.accuracy - accuracy) / error:+.1f}"]
                kept = [
                    each
                    for each in classifier.fitted_.hyperparameters.parts or ()
                    if each.weight > 0
                ]
                parts = ", ".join(f"{each.weight:.2g} {each.model} {each.view}" for each in kept)
                print_row([*cells, f"{expected.log_loss:.3f}", f"{losses.mean():.3f}", parts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*")
    parser.add_argument("--cuts", type=lambda text: [int(size) for size in text.split(",")])
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--model", default="combined", help="the model of --cuts")
    parser.add_argument("--views", type=lambda text: tuple(text.split("+")), default=())
    given = parser.parse_args()
    if given.cuts:
        compare_cuts(
            given.corpora or list(SPLITS), given.cuts, given.draws, given.views, given.model
        )
        return
    print_head(TABLE)
    for name in given.corpora or SOURCES:
        training, test, options = SOURCES[name]
        for model in ("auto", "combined"):
            with tempfile.TemporaryDirectory() as scratch:
                file = str(Path(scratch, "model.joblib"))
                expected = "–"
                source = str(corpus(name) / training)
                chosen = ("--model", model)
                if name == FOLDED:
                    command = ("evaluate", source, *options, "--folds", "10", *chosen)
                    found = run(*command)
                else:
                    command = ("train", source, *options, *chosen, "-o", file, "-q")
                    subprocess.run((*PROGRAM, *command), check=True)
                    found = run("evaluate", str(corpus(name) / test), *options, "-m", file)
                    expected = f"{run('inspect', file)['expected']['accuracy']:.4f}"
                cost = measure([Step((*PROGRAM, *command))])
            figures = (f"{found['accuracy']:.4f}", f"{found['log_loss']:.3f}", expected)
            print_row((name, model, *figures, f"{cost.cpu:.1f}", f"{cost.memory / MEGABYTE:.0f}"))


if __name__ == "__main__":
    main()

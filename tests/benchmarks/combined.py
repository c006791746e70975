"""The model `combined` beside the default model: accuracy, log-loss, estimate, time and memory.

    python tests/benchmarks/combined.py [CORPUS...]

Both are trained and evaluated as typed, on the training and test documents of the corpus; short reviews (rt-s) in ten
folds, which have no estimate and are timed as a whole. Prints a Markdown table; results/combined.md has a run.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from material import corpus
from measuring import Step, measure
from search import MEGABYTE, PROGRAM, print_head, print_row

TABLE = ("corpus", "model", "accuracy", "log-loss", "estimated accuracy", "CPU, s", "memory, MB")
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
    found = subprocess.run((*PROGRAM, *arguments, "--to", "json", "-q"), check=True, stdout=subprocess.PIPE).stdout
    return json.loads(found)


def main() -> None:
    print_head(TABLE)
    for name in sys.argv[1:] or SOURCES:
        training, test, options = SOURCES[name]
        for model in ("auto", "combined"):
            with tempfile.TemporaryDirectory() as scratch:
                file, expected = str(Path(scratch, "model.joblib")), "–"
                source, chosen = str(corpus(name) / training), ("--model", model)
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

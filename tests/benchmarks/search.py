"""What `--model best` costs and achieves beside the default model, on each corpus.

    python tests/benchmarks/search.py [CORPUS...]
    python tests/benchmarks/search.py --pipelines [CORPUS...]

Each prints a Markdown table; results/search.md has both.

Whole processes as they are typed, once each: accuracy on the test documents, processor and
wall-clock seconds and peak memory of the training.
On a machine that does other work, only the processor seconds mean something. Documents are read
from JSONL; those of imdb-files and 20news-files are files.

For smaller numbers of training documents see draws.py.

With --pipelines: test accuracies of three scikit-learn pipelines with LinearSVC, after training on
all documents.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
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
    questions,
    random_splits,
    short_reviews,
)

MEGABYTE = 1_000_000
TABLE = ("corpus", "model", "accuracy", "CPU, s", "wall, s", "MB")
PROGRAM = (sys.executable, "-m", "nbtext")
FILES = "-files"  # the end of the names of corpora that are read as files
# names of features
PIPELINES = {"pairs": ("pairs",), "pairs, within": ("pairs", "within"), "across": ("across",)}


def read_jsonl(path: Path, label_key: str) -> Labeled:
    """The texts of a file and their labels, the first one of a list."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    labels = [record[label_key] for record in records]
    first = [label if isinstance(label, str) else label[0] for label in labels]
    return Labeled([record["text"] for record in records], first)


def given_halves(name: str, label_key: str) -> Split:
    """The training and the test file of a corpus."""
    return Split(
        *(read_jsonl(corpus(name) / f"{half}.jsonl", label_key) for half in ("train", "test"))
    )


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


def sentences() -> Labeled:
    """chABSA's sentences, which are positive or negative; Japanese does not separate words."""
    lines = (corpus("ja-chabsa") / "posneg.tsv").read_text(encoding="utf-8").splitlines()
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    return Labeled(list(texts), list(labels))


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
    "banking77": lambda: halves(questions)[0],
    "ja-chabsa": lambda: random_splits(sentences())[0],
}


def write(documents: Labeled, path: Path) -> None:
    lines = (
        json.dumps({"text": text, "label": label}) for text, label in zip(*documents, strict=True)
    )
    path.write_text("\n".join(lines), encoding="utf-8")


def print_row(cells: Sequence[str]) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


def print_head(cells: Sequence[str]) -> None:
    print_row(cells)
    print_row(["---"] * len(cells))


def compare_full(names: Sequence[str]) -> None:
    """Print what both cost and achieve with all training documents."""
    print_head(TABLE)
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            training, test = (str(Path(scratch, f"{half}.jsonl")) for half in ("train", "test"))
            if name.endswith(FILES):
                training, test = (
                    str(corpus(name.removesuffix(FILES)) / half) for half in ("train", "test")
                )
            else:
                for half, path in zip(SPLITS[name](), (training, test), strict=True):
                    write(half, Path(path))
            model = str(Path(scratch, "model.joblib"))
            # so that no measured run reads from a cold disk
            once = (*PROGRAM, "train", training, "-o", model, "-q")
            subprocess.run(once, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for chosen in ("auto", "best"):
                train = ("train", training, "-o", model, "--model", chosen, "-q")
                cost = measure([Step((*PROGRAM, *train))])
                evaluate = (*PROGRAM, "evaluate", test, "-m", model, "--to", "json", "-q")
                accuracy = json.loads(
                    subprocess.run(evaluate, check=True, stdout=subprocess.PIPE).stdout
                )["accuracy"]
                figures = (
                    f"{accuracy:.4f}",
                    f"{cost.cpu:.1f}",
                    f"{cost.wall:.1f}",
                    f"{cost.memory / MEGABYTE:.0f}",
                )
                print_row((name, chosen, *figures))


def compare_pipelines(names: Sequence[str]) -> None:
    """Print the test accuracies of pipelines that are trained on all training documents."""
    sys.path.append(str(Path(__file__).parent / "peers"))
    from scikit_learn_train import FEATURES, make_linear_svm

    print_head(("corpus", *PIPELINES))
    for name in names:
        training, test = SPLITS[name]()
        models = [
            make_linear_svm([FEATURES[each] for each in features])
            for features in PIPELINES.values()
        ]
        predicted = [
            model.fit(training.texts, training.labels).predict(test.texts) for model in models
        ]
        accuracies = [statistics.fmean(each == np.array(test.labels)) for each in predicted]
        print_row((name, *(f"{accuracy:.4f}" for accuracy in accuracies)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs="*", default=list(SPLITS))
    parser.add_argument("--pipelines", action="store_true")
    arguments = parser.parse_args()
    if arguments.pipelines:
        compare_pipelines(arguments.corpora)
    else:
        compare_full(arguments.corpora)


if __name__ == "__main__":
    main()

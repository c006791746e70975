"""What scikit-learn achieves beside `--model best`, which draws.py measures, on each corpus.

    python tests/benchmarks/search.py [CORPUS...]

Prints a Markdown table, which results/search.md has: test accuracies of three pipelines with
LinearSVC, after training on all documents.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from material import corpus
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

PROGRAM = (sys.executable, "-m", "nbtext")
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
    compare_pipelines(parser.parse_args().corpora)


if __name__ == "__main__":
    main()

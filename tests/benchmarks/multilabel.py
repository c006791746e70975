"""Several labels for a document: nbtext beside scikit-learn and fastText, each one against the
rest.

Every program trains and predicts as whole processes, RUNS times in turn with the others, so that a
loaded machine slows all of them. Seconds are of the processor, and the smallest of the runs counts.
fastText takes part where the program `fasttext` is on the path. Macro averages are over labels with
test documents.

python tests/benchmarks/multilabel.py [RUNS]
"""

import compileall
import json
import shutil
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from material import corpus
from measuring import CommandFailedError, measure, measure_in_turns, say_head, say_row
from sklearn.metrics import f1_score
from sklearn.preprocessing import MultiLabelBinarizer

import nbtext

PREFIX = "__label__"
RUNS = 3
TEST = corpus("reuters-90") / "test.jsonl"
TRAIN_AND_PREDICT = (
    "nbtext train $CORPUS/train.jsonl -q --label-field labels {} --force -o model && "
    "nbtext predict $CORPUS/test.jsonl -q -m model --top-k 1 --force -o answers.jsonl"
)
OPTIMIZE = "--optimize macro_f1"
NBSVM = "--model nbsvm --weighting log-tfidf"
SVM = "--model svm --weighting log-tfidf"
PEER = "python $PEERS/scikit_learn_multilabel.py {} $CORPUS/train.jsonl $CORPUS/test.jsonl answers.jsonl"
FASTTEXT = (
    "fasttext supervised -input ../train.txt -output model -loss one-vs-all -epoch 50 -lr 0.5 "
    "-wordNgrams 2 -thread 1 && fasttext predict-prob model.bin ../test.txt -1 0 > answers.txt"
)
PROGRAMS = {
    "nbtext": TRAIN_AND_PREDICT.format(""),
    f"nbtext {OPTIMIZE}": TRAIN_AND_PREDICT.format(OPTIMIZE),
    "nbtext --model nbsvm": TRAIN_AND_PREDICT.format(NBSVM),
    f"nbtext --model nbsvm {OPTIMIZE}": TRAIN_AND_PREDICT.format(f"{NBSVM} {OPTIMIZE}"),
    "nbtext --model svm": TRAIN_AND_PREDICT.format(SVM),
    f"nbtext --model svm {OPTIMIZE}": TRAIN_AND_PREDICT.format(f"{SVM} {OPTIMIZE}"),
    "scikit-learn ComplementNB": PEER.format("complement"),
    "scikit-learn ComplementNB, GridSearchCV": PEER.format("complement-search"),
    "scikit-learn LinearSVC": PEER.format("svc"),
    "fastText": FASTTEXT,
}


def read_json(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(records: list[dict], path: Path) -> None:
    """Write documents as fastText reads them."""
    with path.open("w", encoding="utf-8") as file:
        for record in records:
            words = record["text"].lower().split()
            file.write(" ".join([*(PREFIX + label for label in record["labels"]), *words]) + "\n")


def read_answers(folder: Path) -> tuple[list[list[str]], list[str]]:
    """The predicted labels of each document, and its most probable one; fastText predicts those
    with a probability of at least a half.
    """
    if (folder / "answers.jsonl").exists():
        found = read_json(folder / "answers.jsonl")
        first = [record.get("first") or next(iter(record["scores"])) for record in found]
        return [record["labels"] for record in found], first
    labels, first = [], []
    for line in (folder / "answers.txt").read_text().splitlines():
        words = line.replace(PREFIX, "").split()
        pairs = zip(words[::2], words[1::2], strict=True)
        labels.append([label for label, probability in pairs if float(probability) >= 0.5])
        first.append(words[0])
    return labels, first


def measure_calibration(folder: Path) -> str:
    """The classwise calibration error, which only nbtext measures."""
    if not (folder / "model").exists():
        return "–"
    measure("nbtext evaluate $TEST -q -m model --to json > evaluated.json", folder, TEST=TEST)
    evaluated = json.loads((folder / "evaluated.json").read_text())
    return f"{evaluated['classwise_calibration_error']:.4f}"


def main(n_rounds: int = RUNS) -> None:
    """Print a table of all programs."""
    # as pip does it for what it installs
    compileall.compile_dir(Path(nbtext.__file__).parent, quiet=1)
    true = [record["labels"] for record in read_json(TEST)]
    binarizer = MultiLabelBinarizer()
    rows = binarizer.fit_transform(true)
    peers = Path(__file__).resolve().parent / "peers"
    say_head(
        "program", "micro F1", "macro F1", "precision at 1", "calibration error", "CPU, s", "ratio"
    )
    with TemporaryDirectory() as scratch:
        for half in ("train", "test"):
            records = read_json(TEST.with_name(f"{half}.jsonl"))
            write_lines(records, Path(scratch) / f"{half}.txt")
        folders = {}
        runs = {}
        for name, command in PROGRAMS.items():
            folders[name] = Path(scratch) / name
            folders[name].mkdir()
            if name != "fastText" or shutil.which("fasttext"):
                runs[name] = partial(
                    measure, command, folders[name], CORPUS=TEST.parent, PEERS=peers
                )
        own = None
        for name, costs in measure_in_turns(runs, n_rounds).items():
            if isinstance(costs, CommandFailedError):
                sys.exit(str(costs))
            labels, first = read_answers(folders[name])
            seconds = min(cost.cpu for cost in costs)
            own = own or seconds
            predicted = binarizer.transform(labels)
            micro, macro = (
                f1_score(rows, predicted, average=average, zero_division=0)
                for average in ("micro", "macro")
            )
            hits = np.mean([label in each for label, each in zip(first, true, strict=True)])
            scores = [f"{score:.4f}" for score in (micro, macro, hits)]
            error = measure_calibration(folders[name])
            say_row([name, *scores, error, f"{seconds:.2f}", f"{seconds / own:.1f}"])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

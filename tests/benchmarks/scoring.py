"""Compute the accuracy of a program from its output for the test half."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from measuring import Step


@dataclass(frozen=True)
class Scoring:
    """The processes that make a program predict the test half, and how their output gives an
    accuracy.
    """

    steps: tuple[Step, ...]
    accuracy: Callable[[], float]


def share(is_right: Iterable[bool]) -> float:
    """The share of right predictions; 0 where there is none."""
    predictions = list(is_right)
    return sum(predictions) / len(predictions) if predictions else 0.0


def accuracy_of_table(predictions: Path, folder: Path) -> float:
    """nbtext's and the scikit-learn script's predictions: id TAB label, the id being a path
    FOLDER/LABEL/...
    """
    rows = (line.split("\t") for line in predictions.read_text(encoding="utf-8").splitlines())
    return share(label_of(row[0], folder) == row[1] for row in rows)


def accuracy_of_lines(predictions: Path, truth: Path) -> float:
    """fastText's and Vowpal Wabbit's predictions, a line each, against the first word of each test
    line.
    """
    pairs = zip(predictions.read_text().splitlines(), truth.read_text().splitlines(), strict=True)
    return share(prediction.split(" ", 1)[0] == line.split(" ", 1)[0] for prediction, line in pairs)


def label_of(path: str, folder: Path) -> str:
    """The label of a document by its path."""
    return Path(path).relative_to(folder).parts[0]

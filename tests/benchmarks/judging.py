"""Compute the accuracy of a program from its output for the test half."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from measuring import Step

SPAMICITY = re.compile(r"^(?P<path>.*) X-Bogosity: .*spamicity=(?P<spamicity>[\d.]+)", re.MULTILINE)


@dataclass(frozen=True)
class Judge:
    """The processes that have a program answer the test half, and how their answers are read as an accuracy."""

    steps: tuple[Step, ...]
    accuracy: Callable[[], float]


def share(is_right: Iterable[bool]) -> float:
    """The share of right answers; 0 where there is none."""
    answers = list(is_right)
    return sum(answers) / len(answers) if answers else 0.0


def of_table(answers: Path, folder: Path) -> float:
    """nbtext's and the scikit-learn script's answers: id TAB label, the id being a path FOLDER/LABEL/..."""
    rows = (line.split("\t") for line in answers.read_text(encoding="utf-8").splitlines())
    return share(label_of(row[0], folder) == row[1] for row in rows)


def of_lines(answers: Path, truth: Path) -> float:
    """fastText's and Vowpal Wabbit's answers, a line each, against the first word of each test line."""
    pairs = zip(answers.read_text().splitlines(), truth.read_text().splitlines(), strict=True)
    return share(answer.split(" ", 1)[0] == line.split(" ", 1)[0] for answer, line in pairs)


def of_bogofilter(answers: Path, folder: Path, spam: str) -> float:
    """bogofilter's verdicts; "Unsure" counts as whatever is likelier, and each label but `spam` as ham."""
    verdicts = SPAMICITY.finditer(answers.read_text())
    return share(
        (label_of(verdict["path"], folder) == spam) == (float(verdict["spamicity"]) > 0.5) for verdict in verdicts
    )


def label_of(path: str, folder: Path) -> str:
    """The label of a document by its path."""
    return Path(path).relative_to(folder).parts[0]

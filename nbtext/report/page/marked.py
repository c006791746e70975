"""A text with its words marked by what they say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

LEVELS = (0.06, 0.2, 0.5)  # shares of the strongest mark, from which on each level begins


class Run(NamedTuple):
    """A piece of text that is marked alike."""

    text: str
    level: int  # from 3, strongly for the label, to -3, strongly against it; 0: hardly either


def marked_runs(text: str, weights: Sequence[float]) -> list[Run]:
    """The text in pieces; a weight for each character, in relation to the strongest."""
    strongest = max(map(abs, weights), default=0.0)
    levels = [_level(weight, strongest) for weight in weights]
    runs, start = [], 0
    for level, group in groupby(levels):
        end = start + sum(1 for _ in group)
        runs.append(Run(text[start:end], level))
        start = end
    return runs


def cut(runs: Sequence[Run], most: int) -> list[Run]:
    """The first so many characters of them."""
    kept, room = [], most
    for run in runs:
        if room <= 0:
            break
        kept.append(Run(run.text[:room], run.level))
        room -= len(run.text)
    return kept


def _level(weight: float, strongest: float) -> int:
    share = abs(weight) / strongest if strongest else 0.0
    level = sum(share >= least for least in LEVELS)
    return level if weight > 0 else -level

"""The seam between the models of this room and their solvers: the compiled ones, else their twins in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.kernel import HAS_KERNEL

if TYPE_CHECKING or not HAS_KERNEL:
    from nbtext.linear.beliefs import regress
    from nbtext.linear.planes import divide
else:
    from nbtext.linear._solvers import divide, regress

__all__ = [
    "Aim", "Corpus", "Fit", "Start", "approach", "divide", "in_threads", "regress", "square_lengths",
]  # fmt: skip

TOLERANCE = 5e-5  # of the objective: how far from its least value a solver may stop
ROUNDS = 1000  # visits of all documents, at most
EASY = 100.0  # a penalty times a document's square length up to which solvers need no approach
STRIDE = 10.0  # from one stage of the approach to the next
HASTE = 1e-2  # the tolerance on the way

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Corpus(NamedTuple):
    """All training documents, as the rows that a model sees: their counts, presence or weights."""

    sample: DocumentCounts
    n_features: int
    n_classes: int

    def of(self, documents: NDArray[np.int64]) -> Corpus:
        """These of the documents, among the same features and classes."""
        return self._replace(sample=self.sample.take(documents))


class Aim(NamedTuple):
    """What a solver is to reach: the least objective for this penalty C > 0, or nearly.

    tolerance  the share of the least objective by which it may be missed
    rounds     visits of all documents, after which the solver ends in any case
    """

    penalty: float
    tolerance: float = TOLERANCE
    rounds: int = ROUNDS


class Start(NamedTuple):
    """What a solver knew when it stopped, to go on from: with another penalty, or with fewer documents.

    pulls       (n_documents, n_planes): of each plane on each document; or the beliefs, (n_documents, n_classes)
    intercepts  (n_planes,) or (n_classes,)
    """

    pulls: Floats
    intercepts: Floats

    def of(self, documents: NDArray[np.int64]) -> Start:
        """The same for these of the documents."""
        return Start(self.pulls[documents], self.intercepts)


class Fit(NamedTuple):
    """A model fitted to documents, and where its solver stopped."""

    scorer: LinearScorer
    start: Start


def approach(aim: Aim, squares: Floats) -> Iterator[Aim]:
    """The steps by which a solver comes to a large penalty: from softer ones, in haste.

    squares  (n_documents,), the square length of each
    """
    first, hardness = aim.penalty, float(squares.mean()) if len(squares) else 0.0
    while first * hardness > EASY:
        first /= STRIDE
    while first < aim.penalty * 0.99:
        yield Aim(first, HASTE, aim.rounds)
        first *= STRIDE
    yield aim


def square_lengths(sample: DocumentCounts, factors: Floats | None = None) -> Floats:
    """The square length of each document, (n_documents,), its features times these factors, (n_features,)."""
    values = sample.counts.astype(np.float64)
    return sample.sum_entries((values if factors is None else values * factors[sample.indices]) ** 2)


def in_threads(function: Callable[[Item], Answer], items: Sequence[Item], *, jobs: int) -> list[Answer]:
    """The answers for all items, in their order, from so many threads."""
    if min(jobs, len(items)) <= 1:
        return [function(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(function, items))

"""Reading the documents of a review: the counts, the place and the labels of each document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.documents.batch import Batch, Block
from nbtext.documents.text_kind import describe_non_text
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.source_counting import CountingTask, OnBatch, ThreadExecutor

if TYPE_CHECKING:
    from nbtext.documents.source import Source

MAX_ROWS = 1 << 32  # documents of a block
MAX_BLOCKS = 1 << 30  # blocks of a source


@dataclass(frozen=True, slots=True)
class ReviewedDocument:
    """A document of a review.

    id        its id
    file      the file that holds it; for a file that is one document, the id
    line      its first line, or its row in a table; None if the document is a whole file
    labels    its labels; None if they are not known
    is_other  whether it belongs to the source that is compared, not to the one that is reviewed
    problem   why it is not text, such as encoded data; None for a text
    """

    id: str
    file: str
    line: int | None
    labels: tuple[str, ...] | None
    is_other: bool = False
    problem: str | None = None


@dataclass(frozen=True, eq=False)
class ReviewedCorpus:
    """The documents of one or two sources.

    documents   in the order of the sources
    unreadable  documents that could not be read
    counts      (n_documents,), the counts of `documents`, in the same order, without labels
    n_features  number of features
    vocabulary  the feature of each column; None if features are hashed
    """

    documents: list[ReviewedDocument]
    unreadable: list[ReviewedDocument]
    counts: DocumentCounts
    n_features: int
    vocabulary: Vocabulary | None


def describe_document(batch: Batch, row: int, *, is_other: bool = False) -> ReviewedDocument:
    """Return the id, the place and the labels of a document, and why it is not text."""
    labels, place = batch.labels_of(row), batch.place(row)
    file, _, line = place.rpartition(":")
    if batch.line_numbers is None and not (line.isdecimal() and file):
        file, line = place, ""
    problem = batch.problems[row].what if row in batch.problems else None
    if problem is None:
        problem = describe_non_text("\n".join(texts[row] for texts in batch.columns))
    number = int(line) if line.isdecimal() else None
    return ReviewedDocument(batch.ids[row], file, number, labels, is_other, problem)


@dataclass(frozen=True, eq=False)
class _NumberedSource:
    """A source whose documents are numbered, and described in `described` by the number of their block."""

    source: Source
    first: int
    described: dict[int, list[ReviewedDocument]]

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order, without what could not be read, and without labels; the groups are the numbers."""
        for number, block in enumerate(self.source.blocks(), self.first):
            yield block.map(partial(self._describe, number))

    def _describe(self, number: int, batch: Batch) -> Batch:
        self.described[number] = [describe_document(batch, row, is_other=self.first > 0) for row in range(len(batch))]
        readable = [row for row in range(len(batch)) if row not in batch.problems]
        return replace(
            batch.drop(batch.problems), labels=[None] * len(readable), label_lists=None,
            groups=[str(number * MAX_ROWS + row) for row in readable], line_numbers=None, rows=None,
        )  # fmt: skip


@dataclass(eq=False)
class ReviewReader:
    """Reads the documents of one or two sources for a review.

    features  how they are counted
    jobs      number of threads
    """

    features: FeatureSettings
    jobs: int = 1

    def __post_init__(self) -> None:
        self._described: dict[int, list[ReviewedDocument]] = {}
        self._parts: list[CorpusCounts] = []

    def read(self, source: Source, on_batch: OnBatch | None = None) -> None:
        """Count the documents of a source: first of the one that is reviewed, then of the one that is compared."""
        numbered: Any = _NumberedSource(source, len(self._parts) * MAX_BLOCKS, self._described)
        task = CountingTask(self.features, None, is_labeled=False)
        self._parts.append(ThreadExecutor(self.jobs).count(numbered, task, on_batch))

    def finish(self) -> ReviewedCorpus:
        """Return all documents that were read, in order."""
        counts = reduce(add, self._parts)
        numbers = np.array([], dtype=np.int64)
        if counts.sample.groups is not None:
            numbers = counts.sample.groups.astype(np.int64)
        order = np.argsort(numbers)
        readable = set(numbers.tolist())
        documents: list[ReviewedDocument] = []
        unread: list[ReviewedDocument] = []
        for number in sorted(self._described):
            for row, document in enumerate(self._described[number]):
                (documents if number * MAX_ROWS + row in readable else unread).append(document)
        rows = replace(counts.sample.take(order), groups=None)
        return ReviewedCorpus(documents, unread, rows, counts.statistics.n_features, counts.vocabulary)

"""The texts of the findings of a review, and the words that speak for the likely label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.label_sets import ALL_DOCUMENTS, LabelSets, count_label_sets
from nbtext.documents.batch import Batch
from nbtext.features.csr import select_class
from nbtext.model.review import LABEL_ERROR, Finding, has_several_labels
from nbtext.model.review_reading import ReviewedCorpus, ReviewedDocument, describe_document

HALF = 0.5  # added to each count, so that no logarithm is infinite


@dataclass(eq=False)
class TextCollector:
    """Collects the texts of some documents in a second pass over their sources; see `OnBatch`."""

    wanted: frozenset[ReviewedDocument]

    def __post_init__(self) -> None:
        self.texts: dict[ReviewedDocument, str] = {}
        self._ids = {each.id for each in self.wanted}
        self._places = {(each.id, each.file, each.line, each.is_other): each for each in self.wanted}

    def add(self, batch: Batch, *, is_other: bool) -> None:
        """Keep the texts of the wanted documents of a batch."""
        for row, identity in enumerate(batch.ids):
            if identity in self._ids:
                found = describe_document(batch, row, is_other=is_other)
                document = self._places.get((found.id, found.file, found.line, is_other))
                if document is not None:
                    self.texts[document] = "\n".join(column[row] for column in batch.columns)


def weigh_words(corpus: ReviewedCorpus, findings: Sequence[Finding]) -> Iterator[dict[str, float] | None]:
    """Yield, for each label error, the log-odds of each word of the document: of the likely label against the given
    one.

    They are ratios of the shares of the documents with the word, without the document itself. With several labels, they
    compare the documents with the label and those without it. None for other findings, and if features are hashed.
    """
    weigher = _WordWeigher(corpus)
    for finding in findings:
        is_weighed = finding.finding == LABEL_ERROR and corpus.vocabulary is not None
        yield weigher.weigh(finding) if is_weighed else None


class _WordWeigher:
    def __init__(self, corpus: ReviewedCorpus) -> None:
        self._corpus = corpus
        self._places = {document: row for row, document in enumerate(corpus.documents)}
        self._is_several = has_several_labels([each for each in corpus.documents if not each.is_other])
        documents = [() if self._is_several and each.is_other else each.labels for each in corpus.documents]
        if not self._is_several:
            documents = [each if each is not None and len(each) == 1 else None for each in documents]
        names = sorted({label for labels in documents for label in labels or ()})
        self._numbers = {label: number for number, label in enumerate(names, 1)}
        rows = [row for row, labels in enumerate(documents) if labels is not None]
        given = [tuple(sorted(set(documents[row] or ()))) for row in rows]
        sets = {each: number for number, each in enumerate(dict.fromkeys(given))}
        counts = replace(
            corpus.counts.take(np.array(rows, dtype=np.int64)),
            classes=np.array([sets[each] for each in given], dtype=np.int32),
        )
        self._statistics = count_label_sets(
            counts, LabelSets.of(list(sets), [ALL_DOCUMENTS, *names]), n_features=corpus.n_features,
            n_classes=len(names) + 1,
        )  # fmt: skip

    def weigh(self, finding: Finding) -> dict[str, float]:
        """Return the log-odds of each word of the document of a label error."""
        row = self._places[finding.documents[0]]
        columns = self._corpus.counts.slice(row, row + 1).indices.astype(np.int64)
        likely = self._share(finding.likely_label, columns, is_own=False)
        given = self._share(finding.label, columns, is_own=True)
        if likely is None:
            assert given is not None  # a label error has a label
            likely = self._share_without(finding.label, columns, is_own=True)
        elif given is None:
            given = self._share_without(finding.likely_label, columns, is_own=False)
        vocabulary = self._corpus.vocabulary
        assert vocabulary is not None  # else no word is weighed
        log_odds = (np.log(likely) - np.log(given)).tolist()
        return {vocabulary.term(int(j)): value for j, value in zip(columns, log_odds, strict=True)}

    def _count(self, number: int, columns: NDArray[np.int64]) -> tuple[NDArray[np.float64], float]:
        """Return how many documents of a class have each word, and how many documents it has."""
        each = self._statistics
        with_word = select_class(each.indptr, each.classes, each.documents, columns, number)
        return np.asarray(with_word, dtype=np.float64), float(each.class_documents[number])

    def _share(self, label: str | None, columns: NDArray[np.int64], *, is_own: bool) -> NDArray[np.float64] | None:
        """Return the share of the documents of a label with each word; `is_own`: without the document itself."""
        if label is None:
            return None
        with_word, size = self._count(self._numbers[label], columns)
        return np.asarray((with_word - is_own + HALF) / (size - is_own + 2 * HALF))

    def _share_without(self, label: str | None, columns: NDArray[np.int64], *, is_own: bool) -> NDArray[np.float64]:
        """Return the same share of the documents without a label; `is_own`: the document itself has the label."""
        with_word, size = self._count(self._numbers[label or ""], columns)
        with_total, total = self._count(0, columns)
        return np.asarray((with_total - with_word - (not is_own) + HALF) / (total - size - (not is_own) + 2 * HALF))

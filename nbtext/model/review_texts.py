"""The texts of the findings of a review, and the words that speak for the likely label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nbtext.bayes.class_statistics import count_classes
from nbtext.documents.batch import Batch
from nbtext.features.csr import select_class
from nbtext.model.review import Finding, single_label
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
    """Yield the log-odds of the likely label against the given one, for each word of each finding of a label error.

    They are ratios of the shares of the documents with the word, without the document itself. None for other findings,
    and if features are hashed.
    """
    given = [single_label(document) for document in corpus.documents]
    labels = sorted({label for label in given if label is not None})
    numbers = {label: number for number, label in enumerate(labels)}
    rows = np.array([row for row, label in enumerate(given) if label is not None], dtype=np.int64)
    classes = np.array([numbers[label] for label in given if label is not None], dtype=np.int32)
    counts = replace(corpus.counts.take(rows), classes=classes)
    statistics = count_classes(counts, corpus.n_features, max(1, len(labels)))
    places = {document: row for row, document in enumerate(corpus.documents)}
    for finding in findings:
        if finding.likely_label is None or finding.label is None or corpus.vocabulary is None:
            yield None
            continue
        row = places[finding.documents[0]]
        columns = corpus.counts.slice(row, row + 1).indices.astype(np.int64)
        likely, label = numbers[finding.likely_label], numbers[finding.label]
        with_word = [
            select_class(statistics.indptr, statistics.classes, statistics.documents, columns, k)
            for k in (likely, label)
        ]
        sizes = statistics.class_documents[[likely, label]]
        log_odds = (
            np.log((with_word[0] + HALF) / (sizes[0] + 2 * HALF))
            - np.log((with_word[1] - 1 + HALF) / (sizes[1] - 1 + 2 * HALF))
        )  # fmt: skip
        yield {corpus.vocabulary.term(int(j)): float(value) for j, value in zip(columns, log_odds, strict=True)}

"""The texts of the findings of a review, and the words that speak for the likely label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.label_sets import LabelSets, count_label_sets
from nbtext.documents.batch import Batch
from nbtext.features.csr import select_class
from nbtext.model.corpus_counts import align_documents
from nbtext.model.review import LABEL_ERROR, Finding, has_several_labels
from nbtext.model.review_judgment import ModelJudge
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


def weigh_words(
    corpus: ReviewedCorpus, findings: Sequence[Finding], judge: ModelJudge | None = None
) -> Iterator[dict[str, float] | None]:
    """Yield, for each label error, the log-odds of each word of the document: of the likely label against the given
    one.

    They are ratios of the shares of the documents with the word, without the document itself. With several labels, they
    compare the documents with the label and those without it. None for other findings, and if features are hashed.

    judge  the model whose documents are counted; None: those of the review are
    """
    weigher = _WordWeigher(corpus, judge)
    for finding in findings:
        is_weighed = finding.finding == LABEL_ERROR and corpus.vocabulary is not None
        yield weigher.weigh(finding) if is_weighed else None


class _WordWeigher:
    def __init__(self, corpus: ReviewedCorpus, judge: ModelJudge | None) -> None:
        self._places = {document: row for row, document in enumerate(corpus.documents)}
        self._is_of_model = judge is not None
        if judge is not None:
            counts = judge.model.counts
            self._statistics, self._vocabulary = counts.statistics, counts.vocabulary
            self._numbers = {label: number for number, label in enumerate(counts.labels)}
            self._documents = align_documents(corpus.counts, corpus.vocabulary, counts.vocabulary)
            return
        self._documents, self._vocabulary = corpus.counts, corpus.vocabulary
        is_several = has_several_labels([each for each in corpus.documents if not each.is_other])
        documents = [() if is_several and each.is_other else each.labels for each in corpus.documents]
        if not is_several:
            documents = [each if each is not None and len(each) == 1 else None for each in documents]
        names = sorted({label for labels in documents for label in labels or ()})
        self._numbers = {label: number for number, label in enumerate(names)}
        rows = [row for row, labels in enumerate(documents) if labels is not None]
        given = [tuple(sorted(set(documents[row] or ()))) for row in rows]
        sets = {each: number for number, each in enumerate(dict.fromkeys(given))}
        labeled = replace(
            corpus.counts.take(np.array(rows, dtype=np.int64)),
            classes=np.array([sets[each] for each in given], dtype=np.int32),
        )
        self._statistics = count_label_sets(
            labeled, LabelSets.of(list(sets), names), n_features=corpus.n_features, n_labels=len(names)
        )

    def weigh(self, finding: Finding) -> dict[str, float]:
        """Return the log-odds of each word of the document of a label error."""
        row = self._places[finding.documents[0]]
        columns = self._documents.slice(row, row + 1).indices.astype(np.int64)
        n_own = 1  # how often the document itself is counted
        if self._is_of_model:  # a document of the model has no word that its label lacks
            n_own = int(self._count(finding.label, columns)[0].min(initial=1) > 0)
        likely = self._share(finding.likely_label, columns, 0)
        given = self._share(finding.label, columns, n_own)
        if likely is None:
            assert given is not None  # a label error has a label
            likely = self._share_without(finding.label, columns, 0)
        elif given is None:
            given = self._share_without(finding.likely_label, columns, n_own)
        assert self._vocabulary is not None  # else no word is weighed
        log_odds = (np.log(likely) - np.log(given)).tolist()
        return {self._vocabulary.term(int(j)): value for j, value in zip(columns, log_odds, strict=True)}

    def _count(self, label: str | None, columns: NDArray[np.int64]) -> tuple[NDArray[np.float64], float]:
        """Return how many documents of a label (None: of all) have each word, and how many documents it has."""
        each = self._statistics
        if not label:
            return each.document_frequencies[columns].astype(np.float64), float(each.n_documents)
        number = self._numbers[label]
        with_word = select_class(each.indptr, each.classes, each.documents, columns, number)
        return np.asarray(with_word, dtype=np.float64), float(each.class_documents[number])

    def _share(self, label: str | None, columns: NDArray[np.int64], n_own: int) -> NDArray[np.float64] | None:
        """Return the share of the documents of a label with each word, without `n_own` times the document itself."""
        if label is None:
            return None
        with_word, size = self._count(label, columns)
        return np.asarray((with_word - n_own + HALF) / (size - n_own + 2 * HALF))

    def _share_without(self, label: str | None, columns: NDArray[np.int64], n_own: int) -> NDArray[np.float64]:
        """Return the same share of the documents without a label."""
        with_word, size = self._count(label, columns)
        with_total, total = self._count(None, columns)
        return np.asarray((with_total - with_word - n_own + HALF) / (total - size - n_own + 2 * HALF))

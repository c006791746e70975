"""A labeling session: which document is shown, and what an answer changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from nbtext.documents.batch import check_label
from nbtext.errors import InputError
from nbtext.labeling.answers import AnswerFile
from nbtext.labeling.learner import Learner
from nbtext.labeling.pool import Pool, PoolDocument
from nbtext.labeling.ranking import Ranking
from nbtext.model.explanation import Explanation
from nbtext.model.predictions import Labels


class Session:
    """Labels the documents of a pool, one after the other.

    Each answer is on the disk before anything else changes. Then the model and the ranking learn it, and the next
    document is chosen. Documents with an answer in the file, with the same id and text, are not shown again.

    Parameters
    ----------
    pool
        The documents.
    file
        The answers, with those of earlier sessions.
    learner
        The model.
    labels
        Labels that the person can choose from the start, beside those of the model and of the file.

    Attributes
    ----------
    current : PoolDocument or None
        The document to label; None: no document is left.
    labels : list of str
        The labels that the person can choose, in a constant order; new ones come last.
    is_again : bool
        Whether the last step ran out of documents, so that skipped ones come again.
    """

    def __init__(self, pool: Pool, file: AnswerFile, learner: Learner, labels: Labels = ()) -> None:
        self.file, self.learner, self.pool = file, learner, pool
        self.labels = list(dict.fromkeys((*labels, *learner.labels)))
        self._search: NDArray[np.bool_] | None = None
        rows: dict[PoolDocument, list[int]] = defaultdict(list)
        for row, document in enumerate(pool.documents):
            rows[document].append(row)
        self._rows = dict(rows)
        self._skipped: set[int] = set()
        self._last_skipped: list[PoolDocument] = []  # since the last answer
        self._is_open = np.ones(len(pool.documents), dtype=bool)
        names, statistics = learner.statistics_over(pool.counts) or ((), None)
        self._classes = {label: k for k, label in enumerate(names)}  # of the ranking
        self._ranking = Ranking(pool.counts.sample, pool.counts.statistics.n_features, statistics)
        for answer in file.answers:
            self._close(answer.document, answer.labels)
            self.labels = list(dict.fromkeys((*self.labels, *answer.labels)))
        learner.add([(answer.document, answer.labels) for answer in file.answers])
        self.current: PoolDocument | None = None
        self.is_again = False
        self._show_next()

    @property
    def n_left(self) -> int:
        """Number of documents without an answer, those that were skipped included."""
        return int(self._is_open.sum()) + len(self._skipped)

    @property
    def n_found(self) -> int | None:
        """Number of documents without an answer that the search finds; None without a search."""
        return None if self._search is None else int((self._search & self._is_open).sum())

    def explain(self) -> list[Explanation]:
        """Return the explanations of the predictions for the current document; empty if there is no model yet."""
        return self.learner.explain(self.current) if self.current is not None else []

    def answer(self, labels: Labels) -> None:
        """Give the current document its labels, and show the next one; OutputError if they cannot be written."""
        if self.current is None:
            return
        document = self.current
        self._last_skipped.clear()
        self.file.append(document, labels)
        self.learner.add([(document, labels)])
        self._close(document, labels)
        self._show_next()

    def skip(self) -> None:
        """Leave the current document without an answer. It comes again when all others are answered or skipped."""
        if self.current is None:
            return
        self._last_skipped.append(self.current)
        for row in self._rows.get(self.current, ()):
            self._is_open[row] = False
            self._skipped.add(row)
        self._show_next()

    def undo(self) -> str:
        """Undo the last skip or answer, also an answer of an earlier session, and show its document.

        Return what was undone: "skip", "answer", or "" if there is nothing to undo.
        """
        if self._last_skipped:
            self.current = self._last_skipped.pop()
            self._reopen(self._rows.get(self.current, ()))
            return "skip"
        if not self.file.answers:
            return ""
        answer = self.file.remove_last()
        self.learner.remove(answer.document, answer.labels)
        for place, row in enumerate(self._rows.get(answer.document, ())):
            self._ranking.remove(row, self._number(answer.labels) if place == 0 else [])
            self._is_open[row] = True
        self.current = answer.document
        return "answer"

    def search(self, words: str) -> int:
        """Show only documents that contain the words, from now on; "": all. Return how many there are.

        Upper and lower case are equal. If no document matches, the previous search is kept.
        """
        if not words:
            self._search = None
            self._show_next()
            return int(self._is_open.sum())
        wanted = words.casefold()
        found = np.array(
            [any(wanted in text.casefold() for text in document.texts) for document in self.pool.documents], dtype=bool
        )
        n_found = int((found & self._is_open).sum())
        if n_found:
            self._search = found
            self._show_next()
        return n_found

    def add_label(self, label: str) -> str:
        """Add a label that the person can choose, and return it; InputError if it cannot be a label."""
        label = label.strip()
        if not label:
            raise InputError("a label needs a character that is not white space")
        check_label(label)
        if label not in self.labels:
            self.labels.append(label)
        return label

    def _show_next(self) -> None:
        is_open = self._is_open if self._search is None else self._is_open & self._search
        row = self._ranking.choose(is_open)
        if row is None and self._search is not None:  # all that the search finds are answered
            self._search = None
            row = self._ranking.choose(self._is_open)
        self.is_again = row is None and bool(self._skipped)
        if self.is_again:
            self._reopen(self._skipped)
            row = self._ranking.choose(self._is_open)
        self.current = None if row is None else self.pool.documents[row]

    def _reopen(self, rows: Iterable[int]) -> None:
        """Show skipped documents again."""
        for row in list(rows):
            self._is_open[row] = True
            self._skipped.discard(row)

    def _close(self, document: PoolDocument, labels: Labels) -> None:
        """Take all copies of a document from the pool, and have the ranking learn its labels once."""
        for place, row in enumerate(self._rows.get(document, ())):
            self._ranking.add(row, self._number(labels) if place == 0 else [])
            self._is_open[row] = False
            self._skipped.discard(row)

    def _number(self, labels: Labels) -> list[int]:
        return [self._classes.setdefault(label, len(self._classes)) for label in labels]

"""The record that describes an event model to the rest of the program.

An event model is a kind of Naive Bayes: the distribution of features in the documents of a class,
such as multinomial, Bernoulli or Gaussian (McCallum and Nigam, A Comparison of Event Models for
Naive Bayes Text Classification, 1998).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from nbtext.arrays import Array, Floats, Integers, Integers32, Mask
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.scorer import Derivation, LinearScorer
from nbtext.features.csr import entry_rows
from nbtext.features.document_table import DocumentTable
from nbtext.parallel import parallel_calls
from nbtext.records import LazyProperty, Strings, frozen, frozen_object

ROWS_SCORED_AT_ONCE = 4096  # rows that one thread scores at once
Entries = Integers | slice  # of class statistics
FeatureIds = Integers  # the features of a generated document, each as often as it occurs


@frozen_object
class LeftOut:
    """Documents that are left out of the corpus, each with all of its duplicates, from each of
    their classes.

    documents       the rows
    all_copies      (n,) int64, or float64 if some count a part: documents of the row's content in
                    the corpus; 0: nothing is left out
    indptr          (n + 1,) int64: row i is in the classes of the pairs indptr[i]:indptr[i + 1]
    classes         (n_pairs,) int32, ascending for each row
    copies          (n_pairs,) like all_copies, documents of the content in the class
    ignores_unseen  whether features that no remaining document has are out of vocabulary
    jobs            number of threads that score parts of them
    """

    documents: DocumentTable
    all_copies: Array
    indptr: Integers
    classes: Integers32
    copies: Array
    ignores_unseen: bool = False
    jobs: int = 1

    def __len__(self) -> int:
        return len(self.documents)

    def slice(self, start: int, stop: int) -> LeftOut:
        """Return the rows from `start` up to `stop`."""
        pairs = slice(*self.indptr[[start, stop]])
        return replace(
            self,
            documents=self.documents.slice(start, stop),
            all_copies=self.all_copies[start:stop],
            indptr=self.indptr[start : stop + 1] - self.indptr[start],
            classes=self.classes[pairs],
            copies=self.copies[pairs],
            jobs=1,
        )

    def map(self, score: Callable[[LeftOut], Floats]) -> Floats:
        """Return the scores of all rows, (..., n, n_classes), which threads compute part by
        part.
        """
        size = min(ROWS_SCORED_AT_ONCE, len(self) // self.jobs + 1)
        calls = [
            partial(score, self.slice(start, min(start + size, len(self))))
            for start in range(0, max(1, len(self)), size)
        ]
        return np.concatenate(parallel_calls(calls, jobs=self.jobs), axis=-2)

    def is_whole(self, statistics: ClassStatistics) -> bool:
        """Return whether all counts are whole numbers, those of the corpus and of the
        documents.
        """
        is_whole = all(each.dtype.kind == "i" for each in (statistics.occurrences, self.copies))
        return is_whole and self.documents.is_counted

    @LazyProperty
    def rows(self) -> Integers:
        """The row of each pair, (n_pairs,)."""
        return entry_rows(self.indptr)

    @LazyProperty
    def pairs(self) -> DocumentTable:
        """One document for each pair, whose class is that of the pair."""
        # usually each row has one class
        is_one = np.array_equal(self.rows, np.arange(len(self)))
        documents = self.documents if is_one else self.documents.take(self.rows)
        is_same = np.array_equal(documents.classes, self.classes)
        return documents if is_same else replace(documents, classes=self.classes)

    def subtract(self, values: Array, amounts: Array, *, from_rest: bool = False) -> Array:
        """Return what remains of a value of each class without the documents, (n, n_classes).

        A document is subtracted from each of its classes; with `from_rest`, from the rest of each
        class, which is what all documents have and the class has not.

        values   (n_classes,), of the classes, or of their rests
        amounts  (n,), what one copy of each document adds
        """
        rows = self.rows
        classes = self.classes
        if not from_rest:
            found = np.tile(values, (len(self), 1))
            found[rows, classes] -= self.copies * amounts[rows]
            return found
        found = values[None, :] - (self.all_copies * amounts)[:, None]
        found[rows, classes] = (
            values[classes] - (self.all_copies[rows] - self.copies) * amounts[rows]
        )
        return np.asarray(found)

    def group_entries(
        self, statistics: ClassStatistics
    ) -> Iterator[tuple[int, Mask, Entries, Integers | int]]:
        """Yield each number of copies, the pairs that have it, entries, and how many equal entries
        each stands for.

        With several numbers of copies, the entries are the different ones, which are few, so that
        the time does not grow with numbers of copies times entries.
        """
        numbers = np.unique(self.copies).tolist()
        entries, times = (slice(None), 1) if len(numbers) == 1 else statistics.different_entries
        for copies in numbers:
            yield copies, self.copies == copies, entries, times

    def count_unseen(self, frequencies: Integers) -> Floats:
        """Return the sum of the counts of features that no remaining document has, (n,).

        frequencies  (n_features,), documents of the corpus that have each feature
        """
        return sum_unseen(self.documents, self.all_copies, frequencies)


def sum_unseen(documents: DocumentTable, copies: Array, frequencies: Array) -> Floats:
    """Return the sum of the counts (or weights) of the features of each document that no other
    document has, except for its copies, (n_documents,).

    copies       (n_documents,), documents of the corpus with the content of each one; 0: the sum
                 is 0
    frequencies  (n_features,), documents of the corpus that have each feature
    """
    is_rare = frequencies <= copies.max(initial=0)
    entries = np.flatnonzero(is_rare[documents.indices])  # few
    owners = entry_rows(np.searchsorted(entries, documents.indptr))
    is_unseen = (frequencies[documents.indices[entries]] == copies[owners]) & (copies[owners] > 0)
    values = documents.counts[entries[is_unseen]]
    return np.bincount(owners[is_unseen], values, len(documents)).astype(np.float64, copy=False)


# Fits the model to (statistics, *, smoothing): the scorer of log P(document | class), without the
# prior
Compile = Callable[..., LinearScorer]
# What is computed of (statistics, left_out, ...): the statistics are those of the whole corpus,
# including the left-out documents; see the fields of EventModel
OfLeftOut = Callable[..., Floats]
# Counts (statistics, documents, *, n_values): what the model needs beyond ClassStatistics, from all
# documents of the corpus
SufficientStatistics = Callable[..., ClassStatistics]
# Draws a document, its features, from the weights of a class in the scorer, (n_features,), and from
# the number of its tokens, which models that determine it themselves ignore
Generate = Callable[[Floats, "np.random.Generator", int], FeatureIds]


@frozen(kw_only=True)
class EventModel:
    """One event model. `event_models.EVENT_MODELS` registers them by name.

    compile                  see Compile
    leave_one_out            of (statistics, left_out, *, smoothings): the scores of each document
                             under the model of all others, (n_smoothings, n, n_classes), without
                             the prior. If a document changes the parameters of its own classes
                             only, it is `partial(leave_out_own, …)`; else it is a function of the
                             model
    out_of_vocabulary        of (statistics, left_out, *, smoothing): the weight that a feature has
                             for each row if no remaining document has it; None: such features are
                             treated as all others
    sufficient_statistics    see SufficientStatistics; None: ClassStatistics are enough, so models
                             can be updated
    derivation               returns, for a number of values, how columns of the scorer are derived
                             from features; None: each feature is a column
    generate                 see Generate; None: it cannot generate documents
    has_length               whether a generated document needs a length
    prior                    the default class prior, `empirical` or `uniform`
    smoothing                the default smoothing; None: leave-one-out selects it
    has_pseudo_counts        whether smoothing adds pseudo-counts; `refit` transfers smoothing
                             between such models
    cells                    what a cell of the matrix of documents is: "binary", whether the
                             document has the feature; "values", a whole count, each of which is a
                             category; "weights", a count or weight >= 0; or "numbers", any number
    scores                   what its scores are: "likelihoods", log P(document | class), which give
                             log P(document); "nats", other sums of logarithms of probabilities; or
                             "numbers", which are scaled before they are calibrated
    normalized               the variant with normalized weights, if there is one
    sklearn                  the class of scikit-learn that is the same model; None: there is none
    options                  fields of ModelSettings that only some models take, and it takes
    """

    compile: Compile
    leave_one_out: OfLeftOut
    out_of_vocabulary: OfLeftOut | None = None
    sufficient_statistics: SufficientStatistics | None = None
    derivation: Callable[[int], Derivation] | None = None
    generate: Generate | None = None
    has_length: bool = False
    prior: str = "empirical"
    smoothing: float | None = None
    has_pseudo_counts: bool = True
    cells: Literal["binary", "values", "weights", "numbers"] = "weights"
    scores: Literal["likelihoods", "nats", "numbers"] = "likelihoods"
    normalized: EventModel | None = None
    sklearn: str | None = None
    options: Strings = ("smoothing", "prior")

    @property
    def is_binary(self) -> bool:
        return self.cells == "binary"


def leave_out_own(
    statistics: ClassStatistics,
    left_out: LeftOut,
    *,
    smoothings: Sequence[float],
    compile: Compile,
    own: OfLeftOut,
) -> Floats:
    """Return leave-one-out scores, (n_smoothings, n, n_classes), of a model in which a document
    changes the parameters of its own classes only: the others score it as the model of all does.

    own  of (statistics, left_out, *, smoothing): the scores of the pairs, (n_pairs,)
    """

    def score(part: LeftOut, scorer: LinearScorer, smoothing: float) -> Floats:
        documents = part.documents
        scores = scorer.scores(documents.indptr, documents.indices, documents.counts)
        scores[part.rows, part.classes] = own(statistics, part, smoothing=smoothing)
        return scores

    return np.stack(
        [
            left_out.map(partial(score, scorer=compile(statistics, smoothing=each), smoothing=each))
            for each in smoothings
        ]
    )

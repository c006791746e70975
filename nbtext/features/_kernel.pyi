"""The analyzer and the counters of this room, compiled: what `_kernel.pyx` gives.

Everything here means exactly what the plain Python twin means (analyzer.py, counting.py); the tests hold the two
together. Only the provisional numbers of a growing counter may differ: after `arrange(rows, rank)` all is equal.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.features.rows import ClassCounts, Kept, Rows
from nbtext.features.vocabulary import Vocabulary

class Counter:
    """Counts the features of texts: tokens by the default pattern, or windows of characters.

    A vocabulary that is given stays fixed; else it grows, unless `hash_bits` replaces it by 2**hash_bits buckets.

    analyzer       word, char or char_wb
    fields         the names of the columns, whose features begin with `name:`; () for one column without a name.
                   No `name:` may begin another one's (fields "a" and "a:b", or "a" twice): ValueError
    normalize      what becomes of a word (lowercased, without accents): another one, or None to leave it out. Called at
                   most once for each distinct word (and thread); not used for characters. A result that holds a
                   character up to U+0020, or a colon where there are fields, is a ValueError
    strip_accents  applied to whole texts that are not ASCII, after lowercasing
    raises         ValueError: a setting makes no sense, or is one that only the reference can do
    """

    def __init__(
        self,
        *,
        analyzer: str = "word",
        ngrams: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        fields: Sequence[str] = (),
        normalize: Callable[[str], str | None] | None = None,
        strip_accents: Callable[[str], str] | None = None,
        hash_bits: int | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None: ...
    def rows(self, columns: Sequence[list[str]]) -> Rows:
        """Count the features of each document.

        A growing counter gives provisional columns, a fixed or hashed one the final ones; ascending within a row.
        raises  RuntimeError: a growing counter is used by two threads at once
        """

    def tally(self, columns: Sequence[list[str]], classes: NDArray[np.int32], keep_below: int) -> Kept:
        """Add each document's counts to its class; give back the rows of those whose hash is below `keep_below`.

        A document of class -1 is passed over altogether: its words do not enter the vocabulary. The kept rows of a
        growing counter are in no particular order within a row: `arrange` sorts them by their final columns.
        """

    def vocabulary(self) -> tuple[Vocabulary, NDArray[np.int32]]:
        """The features so far, sorted, and the final column of each provisional one.

        -1 stands where a provisional number is no feature (the single words that pairs are made of, with ngrams 2,2).
        A fixed counter gives its own vocabulary. raises ValueError: hashed features have no names
        """

    def class_counts(self) -> ClassCounts:
        """What `tally` has added up, by final column (2**hash_bits of them where features are hashed)."""

    def take_too_long(self) -> int:
        """How many tokens of more than 65,535 bytes were left out since the last time."""

    def scores(
        self,
        columns: Sequence[list[str]],
        *,
        tf: str,
        idf: NDArray[np.float64] | None,
        norm: str,
        bias: NDArray[np.float64],
        default: NDArray[np.float64],
        base: NDArray[np.float64] | None,
        base_scale: NDArray[np.float64] | None,
        indptr: NDArray[np.int64],
        classes: NDArray[np.int32],
        deltas: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Weigh and score each document without building a matrix; for a fixed or hashed counter.

        tf, idf, norm  as in FeatureSettings, idf as an array (n_features,) or None
        bias ...       the linear scorer, as for `score_rows`
        returns        scores (n_documents, n_classes); occurrences of features in each document (n_documents,);
                       how many of these the vocabulary holds (n_documents,)
        """

def arrange(rows: Rows, columns: NDArray[np.int32]) -> Rows:
    """Renumber each feature j as columns[j], leave out those below 0, and sort within each row."""

def merge_sorted(
    blob_a: NDArray[np.uint8], offsets_a: NDArray[np.int64], blob_b: NDArray[np.uint8], offsets_b: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """The union of two sorted vocabularies (blob, offsets), and the column there of each feature of either."""

def score_rows(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64] | NDArray[np.int32],
    bias: NDArray[np.float64],
    default: NDArray[np.float64],
    base: NDArray[np.float64] | None,
    base_scale: NDArray[np.float64] | None,
    w_indptr: NDArray[np.int64],
    w_classes: NDArray[np.int32],
    w_deltas: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Scores (n_documents, n_classes) of rows by the sparse linear scorer.

    The weight of feature j for class k is default[k] + base_scale[k] * base[j] + delta, where the deltas of feature j
    are w_deltas[w_indptr[j]:w_indptr[j + 1]], for the classes that w_classes names.
    """

def take_rows(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], counts: NDArray[Any], picked: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """The rows of these numbers, in this order: (indptr, indices, counts)."""

def entry_positions(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    row_classes: NDArray[np.int32],
    w_indptr: NDArray[np.int64],
    w_classes: NDArray[np.int32],
) -> NDArray[np.int64]:
    """For each entry of the rows, where (its feature, its row's class) stands among a feature-major list of entries."""

def divide(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    signs: NDArray[np.float64],
    scales: NDArray[np.float64],
    pulls: NDArray[np.float64],
    *,
    is_logistic: bool,
    penalty: float,
    constant: float,
    tolerance: float,
    rounds: int,
    seed: int,
) -> tuple[NDArray[np.float64], float, float, int]:
    """The plane between rows of two signs: (weights, the constant's weight, duality gap, rounds).

    It minimises the sum of v_j^2 / (2 scales_j), the constant's v^2 / 2, and penalty times the losses of the margins
    sign * (x v), which are max(0, 1 - m)^2 or log(1 + e^-m); it stops where the duality gap is below `tolerance` times
    the dual objective, or after `rounds`. Features are distinct within a row.

    signs   (n_rows,), 1 or -1
    scales  (n_features,), >= 0
    pulls   (n_rows,), the dual variables divided by the penalty: where to begin, and afterwards where it ended
    """

def regress(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    classes: NDArray[np.int32],
    beliefs: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    *,
    n_features: int,
    penalty: float,
    spring: float,
    tolerance: float,
    rounds: int,
    seed: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, int]:
    """Softmax regression on rows: (weights (n_features, n_classes), intercepts, duality gap, rounds).

    It minimises the sum of the squared weights / 2 and penalty times the log-losses; intercepts cost nothing.

    beliefs  (n_rows, n_classes), a distribution for each row, all > 0: where to begin, and afterwards where it ended
    spring   > 0: how far the intercepts go in a round
    """

Entries = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[Any]]

def combine_entries(a: Entries, b: Entries, sign: int) -> Entries | None:
    """The entries of a + sign * b without those that come to nothing; None where one falls below zero."""

def left_out_gains(
    rows: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]],
    row_classes: NDArray[np.int32],
    corpus: Entries,
    n_classes: int,
    smoothings: NDArray[np.float64],
    log_smoothings: NDArray[np.float64],
    table: NDArray[np.float64],
) -> NDArray[np.float64]:
    """How much likelier each document is in each class, left out of it, than one of features that nobody has used.

    rows     (indptr, indices, counts): documents that the corpus holds
    table    (n, n_smoothings), log(1 + t / smoothing) for t = 0 ... n - 1
    returns  (n_documents, n_classes, n_smoothings): the sums of counts * log(1 + t / smoothing)
    raises   ValueError: a document is no part of the corpus
    """

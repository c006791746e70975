"""The types of the compiled kernel, as far as Python code names them. `choose_version` finds the
other functions.
"""

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Numbers = NDArray[np.int32]

def read_files(paths: list[bytes], limit: int) -> list[bytes | int]: ...

class Column(Sequence[str]):
    """The texts of the lines of a block of bytes.

    A text becomes a str each time it is asked for; the compiled counter reads ASCII texts in the
    block, which the column keeps alive.
    """

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __len__(self) -> int: ...

def scan(
    data: bytes, text_names: Sequence[str], other_names: Sequence[str]
) -> tuple[Sequence[Sequence[str]], Sequence[list[str | bytes | None]]] | None:
    """Parse lines that are flat JSON objects; return None if a line needs the standard library's
    parser.

    Returns
    -------
    texts : sequence of Column
        The values of each key of `text_names`.
    others : sequence of list of (str, bytes or None)
        The values of each key of `other_names`: texts, and the JSON of lists; None for null, "" and
        a missing key. Numbers and booleans are as Python spells them.

    Raises
    ------
    ValueError
        The lines are not valid UTF-8.
    """

def scan_rows(
    data: bytes, dialect: Any, width: int, places: list[int], is_searched: bool
) -> tuple[list[Sequence[str]], list[int], int, int] | None:
    """Find the cells of some columns in the complete rows at the start of lines of CSV or TSV;
    return None if a slower reader is needed.

    That is if the rows have not all `width` cells, text precedes or follows quotes, a carriage
    return is not of a line end, a row is longer than `dialect.limit`, or a quoted cell may have
    lines that look like rows and `is_searched` asks for them.

    Returns
    -------
    columns : list of Column
        The cells of each column of `places`, which ascend from 0.
    lines : list of int
        The first line of each row, from 0.
    n_bytes, n_lines : int
        The size of the rows together, and of the blank lines among them.

    Raises
    ------
    UnicodeDecodeError
        A cell is not valid UTF-8.
    """

def Counter(  # noqa: N802  a class, whose constructor this is
    *,
    analyzer: str = "word",
    marks: bool = False,
    ngrams: tuple[int, int] = (1, 1),
    lowercase: bool = True,
    fields: Sequence[str] = (),
    normalize: Callable[[str], str | None] | None = None,
    strip_accents: Callable[[str], str] | None = None,
    hash_bits: int | None = None,
    vocabulary: object = None,
) -> Any:
    """Counts the features of texts as `counting.Counter` does: tokens by one of two patterns, or
    windows of characters.

    Only the provisional numbers of a growing counter may differ: after `rows.arrange(rank)` all is
    equal.

    A given vocabulary stays fixed. Otherwise it grows, unless `hash_bits` replaces it by
    2**hash_bits buckets.

    analyzer       word, char or char_wb
    marks          whether one-letter words and punctuation marks are tokens: the pattern
                   \\w+|[^\\w\\s]
    fields         the names of the columns, whose features begin with `name:`; () for one column
                   without a name. No `name:` may begin another one's (fields "a" and "a:b", or "a"
                   twice): ValueError
    normalize      returns the normal form of a word (lowercased, without accents), or None to
                   remove it. Called at most once for each distinct word (and thread); not used for
                   characters. A result that holds a character up to U+0020, or a colon where there
                   are fields, is a ValueError
    strip_accents  applied to whole texts that are not ASCII, after lowercasing
    raises         ValueError: a setting is invalid, or supported by plain Python only
    """

class CheckedMatrix:
    """A CSR matrix (n_rows, n_features) of float32 that is checked once; the arrays must not
    change.

    No feature occurs twice in a row.
    """

    n_features: int

    def __init__(
        self, indptr: NDArray[np.int64], features: Numbers, values: Singles, n_features: int
    ) -> None:
        """Keep the arrays; ValueError if they are not a CSR matrix."""

    def __len__(self) -> int:
        """Return the number of rows."""

class FittedDocuments:
    """The documents of a block in the problems of one fold.

    matrix   their values of the features that have weights
    shares   (n_rows,), of each in the loss; 0: it is not fitted
    squares  (1, n_rows) or (3, n_rows), from which the diagonal is computed; see `nbsvm.Ratios`

    raises  ValueError: the arrays do not fit together
    """

    matrix: CheckedMatrix
    def __init__(self, matrix: CheckedMatrix, shares: Floats, squares: Singles) -> None: ...

class ClassFit:
    """The solver of a class against the rest, without an intercept.

    It minimizes Σ_j w_j² / (2 scales_j) + C Σ_i shares_i loss(± x_i·w), where ± is the sign of the
    row. `one_vs_rest.pxi` explains the diagonal.

    The caller visits all blocks again and again, each time for one of three purposes. It adds, to
    compute the weights and the dual objective from the dual variables: `begin`, `add` for each
    block, `end`. It makes a pass: `begin`, and `visit` for each block. Or it measures: `begin`, and
    `measure` for each block, right after it has added.

    features   (n_features, 2), the weight and the scale of each feature
    offset     of its factors; see `nbsvm.Ratios`
    n_fitted   the number of rows of all blocks that are fitted
    gap        the sum of the parts of the duality gap since `begin`
    objective  the dual objective

    `rows` is the state of the rows of a block, of the type `ROW` of linear/data.py. `n_iter` is the
    number of the pass, from 1 for each C.

    raises  ValueError: the arrays do not fit together
    """

    gap: float
    objective: float
    def __init__(
        self, features: Singles, *, offset: float, n_fitted: int, is_logistic: bool
    ) -> None: ...
    def sum_diagonals(self, documents: FittedDocuments, rows: NDArray[np.void]) -> float:
        """Return the sum of the diagonals of all rows."""

    def begin(self, *, is_adding: bool) -> None: ...
    def end(self) -> None: ...
    def add(self, documents: FittedDocuments, rows: NDArray[np.void], *, C: float) -> None: ...
    def visit(
        self,
        documents: FittedDocuments,
        rows: NDArray[np.void],
        *,
        C: float,
        tolerance: float,
        n_iter: int,
        seed: int,
    ) -> None: ...
    def measure(
        self, documents: FittedDocuments, rows: NDArray[np.void], *, C: float, tolerance: float
    ) -> None: ...
    def scores(self, matrix: CheckedMatrix, rows: NDArray[np.int64]) -> Floats:
        """Return x·w of some rows of a block, (len(rows),)."""

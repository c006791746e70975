"""Compiled functions on lines of bytes (`_lines.pyx`)."""

from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

def count_byte(data: bytes, wanted: int) -> int:
    """Return the number of occurrences of a byte."""

class Column(Sequence[str]):
    """The texts or ids of the lines of a block of bytes.

    A text becomes a str each time it is asked for; the compiled counter reads ASCII texts in the block, which a column
    of texts keeps alive. A column of ids has a copy of its letters.
    """

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __len__(self) -> int: ...

def scan(
    data: bytes, text_names: Sequence[str], id_name: str, other_names: Sequence[str], origin: str, first_line: int
) -> tuple[Sequence[Sequence[str]], Sequence[str], Sequence[list[str | bytes | None]]] | None:
    """Parse lines that are flat JSON objects; return None if a line needs the standard library's parser.

    Parameters
    ----------
    origin : str
        The id of a line without one is this and the number of the line.
    first_line : int
        The number of the first line.

    Returns
    -------
    texts : sequence of Column
        The values of each key of `text_names`.
    ids : Column
    others : sequence of list of (str, bytes or None)
        The values of each key of `other_names`: texts, and the JSON of lists; None for null, "" and a missing key.

    Raises
    ------
    ValueError
        The lines are not valid UTF-8.
    """

def join_records(names: Sequence[str], labels: list[str | None], probabilities: NDArray[np.float64]) -> str | None:
    """Return a line for each document: id, label and probability with six decimals, with tabs between them.

    Return None if this cannot be done so simply: the ids are not a `Column`, a label is missing, a field holds a
    character that TSV escapes, or a probability is not in [0, 1].

    Raises
    ------
    UnicodeEncodeError
        A label or id has a lone surrogate.
    """

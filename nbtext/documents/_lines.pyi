"""Compiled functions on lines of bytes (`_lines.pyx`)."""

from collections.abc import Sequence

def count_byte(data: bytes, wanted: int) -> int:
    """Return the number of occurrences of a byte."""

def scan(
    data: bytes, text_names: Sequence[str], other_names: Sequence[str]
) -> tuple[list[list[str]], list[list[str | bytes | None]]] | None:
    """Parse lines that are flat JSON objects; return None if a line needs the standard library's parser.

    Returns
    -------
    texts : list of list of str
        The values of each key of `text_names`, a list with an item for each line.
    others : list of list of (str, bytes or None)
        The values of each key of `other_names`: texts, and the JSON of lists; None for null, "" and a missing key.

    Raises
    ------
    ValueError
        The lines are not valid UTF-8.
    """

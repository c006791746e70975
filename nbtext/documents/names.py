"""Many names as two arrays, and checks of the arrays that matrix files, models and vocabularies
contain.
"""

from __future__ import annotations

from bisect import bisect_left
from codecs import getincrementaldecoder
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from nbtext.arrays import Array, Bytes, Integers
from nbtext.kernel import choose_version

DECODED_PIECE_BYTES = 1 << 20  # bytes that are decoded at once


def pack_names(names: Iterable[str]) -> tuple[Bytes, Integers]:
    """Return names as UTF-8 bytes one after the other, and the offset of each; lone surrogates are
    kept.

    Returns
    -------
    blob : array of shape (n_bytes,), uint8
    offsets : array of shape (n_names + 1,), int64
        Name i is `blob[offsets[i]:offsets[i + 1]]`.
    """
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(name) for name in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def unpack_names(blob: Bytes, offsets: Integers) -> list[str]:
    """Return the names that `pack_names` packed.

    Raises
    ------
    UnicodeDecodeError
        The names are not valid UTF-8.
    """
    data = blob.tobytes()
    bounds = offsets.tolist()
    return [data[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(bounds)]


def are_offsets(offsets: Integers, n_bytes: int) -> bool:
    """Return whether offsets begin with 0, do not decrease, and end with `n_bytes`."""
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != n_bytes:
        return False
    return bool((offsets[1:] >= offsets[:-1]).all())


def find_row_error(indptr: Array, columns: Array, n_columns: int) -> str | None:
    """Return what is wrong with the rows of a CSR array; None if columns[indptr[i]:indptr[i + 1]]
    ascend in each row i.

    Parameters
    ----------
    indptr : array of int
        Shape (n_rows + 1,).
    columns : array of int
        Shape (n_entries,), each from 0 to n_columns - 1.
    """
    if not are_offsets(indptr, len(columns)):
        return f"the bounds of its rows should ascend from 0 to {len(columns):,}"
    if len(columns) and not (columns.min() >= 0 and columns.max() < n_columns):
        return f"a column number is out of range, which is 0 to {n_columns - 1:,}"
    is_next_row = np.zeros(len(columns) + 1, bool)
    is_next_row[indptr] = True
    if not ((columns[1:] > columns[:-1]) | is_next_row[1:-1]).all():
        return "the columns of a row should ascend"
    return None


def are_utf8(blob: Bytes, offsets: Integers) -> bool:
    """Return whether each name is valid UTF-8, lone surrogates included; the offsets are valid."""
    starts = offsets[:-1][offsets[:-1] < len(blob)]
    if ((blob[starts] & 0xC0) == 0x80).any():  # a name begins within a character
        return False
    decoder = getincrementaldecoder("utf-8")("surrogatepass")
    try:
        for start in range(0, len(blob), DECODED_PIECE_BYTES):
            decoder.decode(blob[start : start + DECODED_PIECE_BYTES].tobytes())
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def are_ascending(blob: Bytes, offsets: Integers) -> bool:
    """Return whether each name is greater than the one before it; the offsets are valid."""
    data = blob.tobytes()
    names = [data[start:stop] for start, stop in pairwise(offsets.tolist())]
    return all(one < other for one, other in pairwise(names))


def find_terms(
    blob: Bytes, offsets: Integers, wanted_blob: Bytes, wanted_offsets: Integers
) -> Integers:
    """Return the place of each wanted name among sorted names; −1 if it is not there."""

    def name_at(place: int) -> bytes:
        return blob[offsets[place] : offsets[place + 1]].tobytes()

    n_names = len(offsets) - 1
    places = []
    for start, stop in pairwise(wanted_offsets.tolist()):
        name = wanted_blob[start:stop].tobytes()
        place = bisect_left(range(n_names), name, key=name_at)
        places.append(place if place < n_names and name_at(place) == name else -1)
    return np.array(places, np.int64)


are_ascending = choose_version(are_ascending)

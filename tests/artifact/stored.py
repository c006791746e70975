"""Model files taken apart and put together again, by the definition of the format, for tests that
change them.
"""

import io
import json
from collections.abc import Callable
from typing import Any
from zlib import crc32

import joblib
import numpy as np

from nbtext.artifact import storage

ALIGNMENT = 16
N_START = len(storage.START) + 4
CHECKSUM_LENGTH = len('{"checksum":"01234567",')


def load(path: Any) -> dict[str, Any]:
    """Return the record of a file, with its arrays."""
    with storage.name_errors(str(path)):
        return dict(with_arrays(storage.load(str(path))))


def with_arrays(value: Any) -> Any:
    """Return plain data in which stored arrays are read; they can be written to."""
    if isinstance(value, dict):
        return {
            name: with_arrays(each)
            for name, each in value.items()
            if name not in ("checksum", "format", "version")
        }
    if isinstance(value, list):
        return [with_arrays(each) for each in value]
    return value.read().copy() if isinstance(value, storage.StoredArray) else value


def change(path: Any, *changes: Callable[[dict[str, Any]], None]) -> None:
    """Write a file again, with a right checksum, after its record was changed."""
    record = load(path)
    for each in changes:
        each(record)
    storage.save(record, str(path))


def put(where: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Return the function that replaces the value at a path of a record, such as `scorer.bias`.

    value  the new value, or a function of the old one
    """

    def replace(record: Any) -> None:
        folder, last = _find(record, where)
        folder[last] = value(folder[last]) if callable(value) else value

    return replace


def remove(where: str) -> Callable[[dict[str, Any]], None]:
    """Return the function that removes the value at a path of a record."""

    def delete(record: Any) -> None:
        folder, last = _find(record, where)
        del folder[last]

    return delete


def _find(record: Any, where: str) -> tuple[Any, Any]:
    """Return the part of a record that holds the value at a path, and its key or number there."""
    *folders, last = [int(name) if name.isdecimal() else name for name in where.split(".")]
    for name in folders:
        record = record[name]
    return record, last


def entries_alone(content: bytes) -> bytes:
    """Return a file of the first form of version 3: it names no function for joblib.load."""
    assert content.startswith(storage.START)
    assert content.endswith(storage.END)
    inner = content[len(storage.START) : -len(storage.END)]
    return storage.OLD_START + inner + storage.OLD_END


def open_entries(path: Any) -> dict[str, Any]:
    """Return the two entries of a file, as joblib.load returns those of one without a function."""
    with open(path, "rb") as file:
        found: dict[str, Any] = joblib.load(io.BytesIO(entries_alone(file.read())))
    return found


def assemble(header: str | dict[str, Any], data: bytes = b"") -> bytes:
    """Return a file with this header and these bytes of arrays, as joblib writes it, but for its
    function; the header gets its checksum.
    """
    text = header if isinstance(header, str) else json.dumps(header, separators=(",", ":"))
    for n_spaces in range(ALIGNMENT):
        rest = text[1:] + " " * n_spaces
        sealed = f'{{"checksum":"{crc32(rest.encode("ascii")):08x}",{rest}'
        file = io.BytesIO()
        joblib.dump(
            {"header": sealed, "data": np.frombuffer(data, dtype=np.uint8)}, file, protocol=3
        )
        content = file.getvalue()
        if (len(content) - len(data) - 2) % ALIGNMENT == 0 and content[
            -len(data) - 4 : -len(data) - 2
        ] == b"\x01\xff":
            inner = content[len(storage.OLD_START) : -len(storage.OLD_END)]
            return storage.START + inner + storage.END
    raise AssertionError("no padding aligns the file")


def take_apart(content: bytes) -> tuple[str, bytes]:
    """Return the header of a file without its checksum, and the bytes of all arrays."""
    n_header = int.from_bytes(content[len(storage.START) : N_START], "little")
    header = content[N_START : N_START + n_header]
    rest = content[N_START + n_header :]
    start = rest.find(storage.AFTER_LENGTH) + len(storage.AFTER_LENGTH)
    return "{" + header[CHECKSUM_LENGTH:].decode("latin-1"), rest[start : -len(storage.END)]


def reseal(content: bytes) -> bytes:
    """Return a damaged file with right checksums, as far as it can still be understood."""
    text, data = take_apart(content)
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return (
            content[:N_START] + _sealed(text) + content[N_START + len(text) + CHECKSUM_LENGTH - 1 :]
        )
    _seal_arrays(record, data)
    return assemble(record, data) if isinstance(record, dict) and record else content


def _sealed(text: str) -> bytes:
    rest = text[1:].encode("latin-1")
    return b'{"checksum":"%08x",' % crc32(rest) + rest


def _seal_arrays(value: Any, data: bytes) -> None:
    for each in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        _seal_arrays(each, data)
    if (
        isinstance(value, dict)
        and set(storage.PLACE) <= value.keys()
        and value["dtype"] in storage.ITEM_TYPES
    ):
        try:
            n_bytes = int(np.prod(value["shape"])) * np.dtype(value["dtype"]).itemsize
            stop = value["offset"] + max(n_bytes + -n_bytes % ALIGNMENT, ALIGNMENT)
            value["checksum"] = crc32(data[value["offset"] : stop])
        except (TypeError, ValueError, OverflowError, MemoryError):
            return

"""Attacks in the form of a model: lies in the header, about arrays and lengths, and headers that
ask for memory.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any
from zlib import crc32

import numpy as np
from spelling import Attack, honest
from stored import N_START, assemble, put, remove, take_apart

from nbtext.artifact import storage

HUGE = 1 << 60


def attacks() -> Iterator[Attack]:
    """All lies."""
    yield from _places()
    yield from _layouts()
    yield from _texts()
    yield from _lengths()
    yield from _values()


def changed(*changes: Callable[[dict[str, Any]], None], data: bytes | None = None) -> bytes:
    """Return a model whose header was changed, with a right checksum of it."""
    header, arrays = take_apart(honest())
    record = json.loads(header)
    for each in changes:
        each(record)
    return assemble(record, arrays if data is None else data)


def _places() -> Iterator[Attack]:
    """Places of arrays that are not right."""
    for name, values in {
        "offset": (-16, 8, HUGE, 10**30, 0.0, None),
        "shape": (
            [-1],
            [3],
            [HUGE],
            [1 << 62, 4],
            [0, 1 << 62],
            [-3, -1],
            [True],
            ["2"],
            [],
            [1] * 64,
            2,
            [1] * 100_000,
            [10**400],
        ),
        "dtype": (
            "O",
            "i4,O",
            "(2,)<f8",
            ">f8",
            "float64",
            "<f4",
            "U3",
            "|V8",
            "<i4\x00",
            "8" * 1000,
            None,
        ),
        "checksum": (-1, 0, 1 << 32, "0", 0.5),
    }.items():
        for number, value in enumerate(values):
            yield Attack(f"{name}-{number}", changed(put(f"scorer.bias.{name}", value)))
        yield Attack(f"{name}-missing", changed(remove(f"scorer.bias.{name}")))
        if name != "dtype":
            yield Attack(
                f"{name}-of-counts", changed(put(f"counts.statistics.indptr.{name}", values[0]))
            )
    yield Attack("place-with-more", changed(put("scorer.bias.mmap", "/etc/passwd")))
    yield Attack(
        "place-of-a-place",
        changed(
            put("scorer.bias.shape", {"dtype": "|u1", "shape": [2], "offset": 0, "checksum": 0})
        ),
    )
    yield Attack(
        "place-as-header",
        assemble({"dtype": "<f8", "shape": [2], "offset": 0, "checksum": 0}, bytes(16)),
    )


def _layouts() -> Iterator[Attack]:
    """Arrays that overlap, leave gaps, or do not fill the data."""
    _, data = take_apart(honest())
    yield Attack("data-missing", changed(data=b""))
    yield Attack("data-cut", changed(data=data[:-16]))
    yield Attack("data-cut-by-one", changed(data=data[:-1]))
    yield Attack("data-longer", changed(data=data + bytes(16)))
    yield Attack("data-of-zeros", changed(data=bytes(len(data))))
    yield Attack("padding-not-zero", changed(data=data[:-1] + b"x"))
    place = {"dtype": "|u1", "shape": [1 << 20], "offset": 0, "checksum": 0}
    yield Attack(
        "one-array-everywhere",
        changed(*(put(name, place) for name in ("scorer", "views", "task", "counts"))),
    )
    yield Attack(
        "arrays-of-terabytes",
        changed(put("later", {**place, "offset": len(data), "shape": [1 << 40]})),
    )
    yield Attack(
        "arrays-in-another-order", changed(lambda record: record.update(task=record.pop("task")))
    )


def _texts() -> Iterator[Attack]:
    """Headers that are not JSON, or not as nbtext writes it."""
    header, data = take_apart(honest())
    n = 100_000
    for label, text in {
        "empty": "{}",
        "nothing": " ",
        "a-list": "[]",
        "a-text": '{"',
        "cut": header.rstrip()[:-1],
        "twice": header.rstrip() * 2,
        "with-a-comment": header.replace("{", "{/**/", 2),
        "single-quotes": header.replace('"', "'"),
        "lists-in-lists": '{"a":' + "[" * n + "]" * n + "}",
        "open-lists": '{"a":' + "[" * n,
        "objects-in-objects": '{"a":' * n + "1" + "}" * n,
        "of-a-long-number": '{"a":' + "9" * 5000 + "}",
        "of-a-million-digits": '{"a":' + "9" * 1_000_000 + "}",
        "of-a-long-decimal": '{"a":0.' + "9" * 1_000_000 + "}",
        "a-key-twice": header.replace('"format":', '"format":"nbtext model","format":'),
        "an-array-key-twice": header.replace('"offset":0', '"offset":16,"offset":0', 1),
        "of-control-characters": header.replace("apple", "app\x00le"),
        "of-a-lone-escape": header.replace("apple", "app\\le"),
        "beyond-unicode": header.replace("apple", "\\u{110000}"),
    }.items():
        yield Attack(f"header-{label}", assemble(text, data))
    for label, rest in {
        "latin-1": "é".encode("latin-1"),
        "utf-8": "é".encode(),
        "utf-16": header.encode("utf-16"),
    }.items():
        yield Attack(f"header-in-{label}", _raw(header[1:].encode("ascii").replace(b"apple", rest)))
    yield Attack(
        "header-without-checksum", _raw(b"", checksum=b'{"format":"nbtext model","version":3}')
    )
    yield Attack(
        "header-with-a-short-checksum",
        _raw(header[1:].encode("ascii"), checksum=b'{"checksum":"0",'),
    )
    yield Attack(
        "header-with-a-false-checksum",
        _raw(header[1:].encode("ascii"), checksum=b'{"checksum":"00000000",'),
    )


def _raw(rest: bytes, *, checksum: bytes | None = None) -> bytes:
    """Return a model with these bytes as the header behind its checksum."""
    before = b'{"checksum":"%08x",' % crc32(rest) if checksum is None else checksum
    old = int.from_bytes(honest()[N_START - 4 : N_START], "little")
    length = (len(before) + len(rest)).to_bytes(4, "little")
    return storage.START + length + before + rest + honest()[N_START + old :]


def _lengths() -> Iterator[Attack]:
    """Lengths that do not fit the file."""
    content = honest()
    for label, length in {
        "0": 0,
        "1": 1,
        "2^31": 1 << 31,
        "2^32-1": (1 << 32) - 1,
        "64-MB": 1 << 26,
    }.items():
        yield Attack(
            f"header-of-{label}",
            content[: N_START - 4] + length.to_bytes(4, "little") + content[N_START:],
        )
    start = content.index(storage.BEFORE_LENGTH) + len(storage.BEFORE_LENGTH)
    stop = content.index(storage.AFTER_LENGTH)
    for label, code in {
        "zero": b"K\x00",
        "none": b"N",
        "negative": b"J\xff\xff\xff\xff",
        "huge": b"\x8a\x08" + HUGE.to_bytes(8, "little"),
        "true": b"\x88",
        "in-another-form": b"I" + b"1024\n",
        "long": b"\x8a\xff" + b"\x7f" * 255,
    }.items():
        yield Attack(f"data-of-length-{label}", content[:start] + code + content[stop:])


def _values() -> Iterator[Attack]:
    """Names and texts of a megabyte, and numbers that are not finite; `test_wrong_values.py` has
    other wrong values.
    """
    name = "\x1b[31m\n\u202e" + "x" * 1_000_000
    for number, where in enumerate(
        (
            "",
            "task.",
            "views.0.settings.",
            "model_settings.",
            "scorer.",
            "scorer.bias.",
            "counts.",
            "counts.statistics.",
        )
    ):
        yield Attack(f"name-of-a-megabyte-{number}", changed(put(where + name, 1)))
    for where in (
        "format",
        "task.name",
        "views.0.settings.analyzer",
        "views.0.settings.token_pattern",
        "views.0.weighting.tf",
        "model_settings.model",
        "model_settings.C",
        "model_settings.prior",
        "label_type",
        "input.unit",
        "input.text_field",
        "input.label_field",
        "scorer.bias.dtype",
    ):
        yield Attack(f"value-of-a-megabyte-in-{where}", changed(put(where, name)))
    yield Attack(
        "value-of-a-megabyte-in-a-pair", changed(put("model_settings.class_weight", [[name, -1.0]]))
    )
    numbers = np.array([np.nan, np.inf])
    for where in ("scorer.bias", "task.log_prior"):
        yield Attack(f"nan-in-{where}", _with_array(where, numbers))


def _with_array(where: str, values: Any) -> bytes:
    """Return a model in which an array of float64 has other values, with right checksums."""
    header, data = take_apart(honest())
    record = json.loads(header)
    place: Any = record
    for name in where.split("."):
        place = place[name]
    replaced = data[: place["offset"]] + values.tobytes() + data[place["offset"] + values.nbytes :]
    n_stored = values.nbytes + -values.nbytes % 16
    place["checksum"] = crc32(replaced[place["offset"] : place["offset"] + n_stored])
    return assemble(record, replaced)


def crowds() -> Iterator[Attack]:
    """Headers of many values, or of large ones."""
    n = 299_000
    for label, value in {
        "lists": [[]] * n,
        "objects": [{}] * n,
        "lists-of-lists": [[[]]] * (n // 2),
        "numbers": [0.5] * n,
        "large-numbers": [2**63] * n,
        "texts": ["x"] * n,
        "keys": {str(number): 0 for number in range(n)},
        "wide-texts": ["\U0001f600" * 50] * (n // 8),
        "one-wide-text": "x\U0001f600" * 2_000_000,
        "more-values-than-allowed": [0] * 400_000,
        "commas": "," * 10_000_000,
    }.items():
        yield Attack(f"header-of-{label}", changed(put("later", value)))
        yield Attack(f"labels-of-{label}", changed(put("task.labels", value)))
    place = {"dtype": "|u1", "shape": [0], "offset": 0, "checksum": 0}
    yield Attack("header-of-places", changed(put("later", [place] * 50_000)))
    yield Attack("header-of-spaces", _raw(b" " * 60_000_000))
    yield Attack("header-of-70-MB", _raw(b" " * 70_000_000))

"""Attacks with wrong statements about arrays, lengths and the kind of file."""

import io
from collections.abc import Iterator

import numpy as np
from spelling import (
    ALIGNMENT,
    ALLOW_MMAP,
    DTYPE_END,
    DTYPE_STATE,
    MUCH,
    PROTOCOL,
    Attack,
    array,
    dumped,
    integer,
    model,
    name,
    sealed,
    text,
)


def attacks() -> Iterator[Attack]:
    """All of them."""
    yield from _arrays()
    yield from _dtypes()
    yield from _claims()
    yield from _nonsense()
    yield from _oddities()


def _arrays() -> Iterator[Attack]:
    """Arrays with a wrong shape, order, class or position."""
    dimensions = {
        "2^40": integer(1 << 40) + b"\x85",
        "2^60": integer(1 << 60) + b"\x85",
        "2^64": integer(1 << 64) + b"\x85",
        "2^31-by-2^31": integer(1 << 31) * 2 + b"\x86",
        "2^62-by-4": integer(1 << 62) + b"K\x04\x86",
        "0-by-2^62": b"K\x00" + integer(1 << 62) + b"\x86",
        "negative": b"J\xff\xff\xff\xff\x85",
        "twice-negative": integer(-(1 << 33)) * 2 + b"\x86",
        "minus-three-by-minus-one": b"J\xfd\xff\xff\xffJ\xff\xff\xff\xff\x86",
        "of-truth": b"\x88\x85",
        "of-decimals": b"G@\x08" + bytes(6) + b"\x85",
        "of-text": text("3") + b"\x85",
        "a-list": b"]K\x03a",
        "a-number": b"K\x03",
        "an-array": array(),
        "none": b"N",
        "of-64-dimensions": b"(" + b"K\x01" * 64 + b"t",
        "of-100000-dimensions": b"(" + b"K\xff" * 100_000 + b"t",
        "larger-than-data": b"K\x7f\x85",
        "smaller-than-data": b"K\x02\x85",
    }
    for label, shape in dimensions.items():
        yield Attack(f"shape-{label}", model(array(shape)))
    for label, poison in {
        "order-fortran": array(order=text("F")),
        "order-unknown": array(order=text("Z")),
        "order-none": array(order=b"N"),
        "order-an-array": array(order=array()),
        "subclass-code": array(subclass=b"cos\nsystem\n"),
        "subclass-dtype": array(subclass=name("numpy", "dtype")),
        "subclass-memmap": array(subclass=name("numpy", "memmap")),
        "subclass-matrix": array(subclass=name("numpy", "matrix")),
        "subclass-text": array(subclass=text("numpy.ndarray")),
        "allow-mmap-lies": array(integer(1 << 40) + b"\x85", more=ALLOW_MMAP),
        "allow-mmap-missing": array(more=b""),
        "alignment-zero": array(more=ALLOW_MMAP + ALIGNMENT + b"K\x00"),
        "alignment-huge": array(more=ALLOW_MMAP + ALIGNMENT + integer(1 << 40)),
        "alignment-an-array": array(more=ALLOW_MMAP + ALIGNMENT + array()),
        "record-with-more": array(more=ALLOW_MMAP + text("read") + b"N"),
        "record-empty": name("joblib.numpy_pickle", "NumpyArrayWrapper") + b")\x81}b",
        "padding-of-255": array(data=b"\xff" + bytes(267)),
        "padding-beyond-the-end": array(data=b"\x10"),
        "no-padding": array(data=b""),
    }.items():
        yield Attack(label, model(poison))
    yield Attack(
        "format-an-array",
        PROTOCOL + b"}(" + text("format") + array() + text("version") + b"K\x02u.",
    )
    yield Attack("version-an-array", model(b"N").replace(b"K\x02", array()))
    yield Attack("checksum-an-array", model(b"N")[:-32] + array())


def _dtypes() -> Iterator[Attack]:
    """Arrays of objects, and arrays with a wrong dtype."""
    for dtype in ("U3", "S3", "V3", "M8[s]", "m8[s]", "c16", "f2", "i4,i4", ">i4", ">f8"):
        yield Attack(f"dtype-{dtype}", dumped(np.zeros(2, dtype=dtype)))
    for label, dtype in {
        "object": text("O") + DTYPE_END,
        "object-8": text("O8") + DTYPE_END,
        "object-by-name": text("object") + DTYPE_END,
        "object-among-fields": text("i4,O") + DTYPE_END,
        "aligned": text("i4") + b"\x88\x88\x87",
        "a-number": b"K\x04" + DTYPE_END,
        "alone": text("i4") + b"\x85",
        "nothing": b")",
        "long": text("i" + "8" * 1000) + DTYPE_END,
    }.items():
        yield Attack(f"dtype-of-{label}", model(array(dtype=dtype)))
    minus = b"J\xff\xff\xff\xff"
    for label, state in {
        "big-endian": b"(K\x03" + text(">") + b"NNN" + minus * 2 + b"K\x00t",
        "native": b"(K\x03" + text("=") + b"NNN" + minus * 2 + b"K\x00t",
        "metadata": b"(K\x04" + text("<") + b"NNN" + minus * 2 + b"K\x00}t",
        "size": b"(K\x03" + text("<") + b"NNNK\x00" + minus + b"K\x00t",
        "fields": b"(K\x03" + text("<") + b"N" + text("a") + b"\x85}" + minus * 2 + b"K\x3ft",
        "array": b"(K\x03" + text("<") + array() + b"NN" + minus * 2 + b"K\x00t",
        "none": b"N",
    }.items():
        yield Attack(f"dtype-state-{label}", model(array(state=state)))
    yield Attack(
        "dtype-without-state", model(array(state=b"").replace(DTYPE_END + b"Rb", DTYPE_END + b"R"))
    )
    truth = {"dtype": text("b1") + DTYPE_END, "state": DTYPE_STATE.replace(b"<", b"|")}
    yield Attack("truth-values-of-two", model(array(**truth, data=b"\x01\xff\x00\x01\x02")))


def _claims() -> Iterator[Attack]:
    """Files of a few bytes that declare a large length."""
    for label, poison in {
        "text-of-2^60": b"\x8d" + MUCH,
        "text-of-2^64": b"\x8d" + b"\xff" * 8,
        "text-of-4-GB": b"X\xff\xff\xff\xff",
        "bytes-of-2^60": b"\x8e" + MUCH,
        "bytes-of-4-GB": b"B\xff\xff\xff\xff",
        "bytearray-of-2^60": b"\x96" + MUCH,
        "frame-of-2^60": b"\x95" + MUCH,
        "number-of-2-GB": b"\x8b\xff\xff\xff\x7f",
        "number-of-negative-length": b"\x8b\xff\xff\xff\xff",
        "number-of-255-bytes": b"\x8a\xff" + b"\x7f" * 255,
        "number-of-a-million-digits": b"L" + b"9" * 1_000_000 + b"L\n",
        "number-without-end": b"I" + b"9" * 1_000_000,
        "decimal-of-a-million-digits": b"F" + b"9" * 1_000_000 + b"\n",
        "text-line-without-end": b"V" + b"9" * 10_000_000,
        "string-to-evaluate": b"S'" + b"a" * 100 + b"'\n",
        "old-string-of-2-GB": b"T\xff\xff\xff\x7f",
    }.items():
        yield Attack(label, model(poison))
    yield Attack("ten-bytes-of-text", b"\x80\x04\x8d" + MUCH[:7])
    yield Attack("ten-bytes-of-memo", b"\x80\x04Nr\xff\xff\xff\x7f.0")


def _nonsense() -> Iterator[Attack]:
    """Operations without operands, and operations that plain data never needs."""
    for label, program in {
        "stop-at-once": b".",
        "stop-on-mark": b"(.",
        "stop-on-two": b"NN.",
        "append-to-none": b"NNa.",
        "append-to-nothing": b"Na.",
        "append-to-tuple": b")Na.",
        "append-without-mark": b"]Ne.",
        "set-without-value": b"}Ns.",
        "set-key-without-value": b"}(" + text("a") + b"u.",
        "set-in-list": b"]" + text("a") + b"Ns.",
        "tuple-of-too-few": b"N\x86.",
        "tuple-without-mark": b"Nt.",
        "pop": b"NN0.",
        "pop-mark": b"(NN1N.",
        "duplicate": b"N2.",
        "build-nothing": b"Nb.",
        "call-nothing": b"R.",
        "unknown-operation": b"\xff.",
        "zero": b"\x00.",
        "utf-8-broken": b"\x8c\x01\xff.",
        "text-beyond-unicode": b"V\\U00110000\n.",
        "number-empty": b"I\n.",
        "number-of-letters": b"Labc\n.",
        "decimal-of-letters": b"Fabc\n.",
        "key-a-number": b"}K\x01Ns.",
        "key-a-list": b"}]Ns.",
        "key-twice": b"}" + (text("a") + b"Ns") * 2 + b".",
        "list-below-mark": b"((l.",
        "protocol-255": b"\x80\xff.",
        "two-programs": b"N." + PROTOCOL + b"N.",
    }.items():
        yield Attack(label, sealed(PROTOCOL + program))


def _oddities() -> Iterator[Attack]:
    """Files of another kind, and files that are valid in two formats."""
    matrix = io.BytesIO()
    np.savez(matrix, data=np.zeros(3))
    for label, data in {
        "matrix-for-model": matrix.getvalue(),
        "matrix-behind-model": model(b"N") + matrix.getvalue(),
        "checksum-missing": model(b"N")[:-32],
        "checksum-cut": model(b"N")[:-1],
        "checksum-false": model(b"N")[:-32] + bytes(32),
        "checksum-twice": sealed(model(b"N")),
        "zfile": b"ZF0x" + bytes(30),
        "version-of-256-bits": model(b"N").replace(b"K\x02", b"\x8a\x20" + b"\x7f" * 32),
    }.items():
        yield Attack(label, data)

"""Attacks on time or memory: decompression bombs, deep nesting, multiplied references, and many
small values.
"""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator

from spelling import PROTOCOL, Attack, array, integer, model, text

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 1),
    "zlib": lambda data: zlib.compress(data, 1),
    "bz2": lambda data: bz2.compress(data, 1),
    "xz": lambda data: lzma.compress(data, preset=0),
    "lzma": lambda data: lzma.compress(data, format=lzma.FORMAT_ALONE, preset=0),
}


def attacks() -> Iterator[Attack]:
    """All of them."""
    yield from _bombs()
    yield from _broken_packages()
    yield from _depths()
    yield from _references()
    yield from _crowds()


def _bombs() -> Iterator[Attack]:
    """Small compressed files that decompress to a large array, text, program, or other data."""
    size = 60_000_000
    zeros = model(array(integer(size // 4) + b"\x85", data=b"\x01\xff" + bytes(size)))
    for compression, pack in PACKERS.items():
        yield Attack(f"bomb-{compression}", pack(zeros))
    yield Attack(
        "bomb-of-texts", gzip.compress(model(b"](" + (text("x" * 255) * 200_000) + b"e"), 1)
    )
    yield Attack(
        "bomb-of-one-text", gzip.compress(model(b"X" + size.to_bytes(4, "little") + bytes(size)), 1)
    )
    yield Attack("bomb-of-operations", gzip.compress(PROTOCOL + b"N" * size, 1))
    yield Attack("bomb-of-zeros", gzip.compress(bytes(size), 1))
    allowed = model(array(integer(30_000_000 // 4) + b"\x85", data=b"\x01\xff" + bytes(30_000_000)))
    yield Attack("bomb-as-far-as-allowed", gzip.compress(allowed, 1))
    yield Attack("bomb-without-end", gzip.compress(allowed, 1)[:-20])


def _broken_packages() -> Iterator[Attack]:
    """Compressed files whose content is not what their header says."""
    honest = gzip.compress(model(b"N"))
    for label, data in {
        "packed-twice": gzip.compress(honest),
        "gzip-header-only": honest[:10],
        "gzip-of-nothing": gzip.compress(b""),
        "gzip-file-name-of-10-MB": b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * 10_000_000,
        "gzip-of-100000-members": gzip.compress(b"") * 100_000,
        "gzip-broken": honest[:-6] + b"xxxxxx",
        "gzip-and-more": honest + b"more",
        "zlib-of-empty-blocks": b"\x78\x9c" + b"\x00\x00\x00\xff\xff" * 1_000_000,
        "lzma-dictionary-of-4-GB": b"\x5d\x00\x00\xff\xff\xff\xff" + bytes(100),
        "lzma-dictionary-of-2-GB": b"\x5d\x00\x00\x00\x80" + b"\xff" * 8 + bytes(100),
        "xz-broken": b"\xfd7zXZ\x00" + bytes(100),
        "bz2-broken": b"BZh9" + bytes(100),
    }.items():
        yield Attack(label, data)


def _depths() -> Iterator[Attack]:
    """Values that are nested 100,000 deep, or without end."""
    n = 100_000
    for label, poison in {
        "lists-in-lists": b"]" * n + b"a" * (n - 1),
        "tuples-in-tuples": b")" + b"\x85" * n,
        "marked-tuples": b"(" * n + b"t" * n,
        "dictionaries-in-dictionaries": (b"}" + text("a")) * n + b"N" + b"s" * n,
        "marks": b"(" * n,
        "lists-17-deep": b"]" * 17 + b"a" * 16,
        "list-in-itself": b"]\x94h\x00a",
        "tuple-in-itself": b"]\x94h\x00\x85a",
        "dictionary-in-itself": b"}\x94" + text("a") + b"h\x00s",
    }.items():
        yield Attack(label, model(poison))
    yield Attack("marks-alone", b"(" * 3_000_000)


def _references() -> Iterator[Attack]:
    """Misuse of the pickle memo: large and missing indices, and references that multiply a
    value.
    """
    for label, poison in {
        "put-at-2^31": b"Nr\x00\x00\x00\x80",
        "put-at-2^32": b"Nr\xff\xff\xff\xff",
        "put-at-minus-one": b"Np-1\n",
        "put-at-10^20": b"Np100000000000000000000\n",
        "put-at-no-number": b"Npx\n",
        "get-what-is-missing": b"h\x63",
        "get-at-2^32": b"j\xff\xff\xff\xff",
        "get-at-minus-one": b"g-1\n",
        "one-array-100000-times": b"](" + array() + b"\x94" + b"h\x00" * 100_000 + b"e",
        "one-text-290000-times": b"]("
        + text("x" * 1_000_000)
        + b"\x94"
        + b"h\x00" * 290_000
        + b"e",
        "memo-of-millions": b"N" + b"\x94" * 5_000_000,
    }.items():
        yield Attack(label, model(poison))
    yield Attack("put-nothing", PROTOCOL + b"q\x00.")
    levels = range(12)
    lists = b"".join(b"](" + b"h%c" % level * 10 + b"e\x94" for level in levels)
    yield Attack("billion-laughs-lists", model(b"](]\x94" + lists + b"e"))
    yield Attack(
        "billion-laughs-tuples",
        model(b"((Nt\x94" + lists.replace(b"]", b"").replace(b"e\x94", b"t\x94") + b"t"),
    )
    entries = b"".join(
        b"}(" + b"".join(text(c) + b"h%c" % level for c in "abcdefghij") + b"u\x94"
        for level in levels
    )
    yield Attack("billion-laughs-dictionaries", model(b"(}\x94" + entries + b"t"))


def _crowds() -> Iterator[Attack]:
    """Many small values, each of which takes many bytes of memory in Python."""
    n = 1_100_000
    for label, items in {
        "nones": b"N" * n,
        "marks": b"(" * n,
        "memoized-dictionaries": b"}\x94" * n,
        "wide-texts": text("\U0001f600") * n,
        "far-puts": b"N"
        + b"".join(b"r%b" % (i * 97 % 999_983).to_bytes(4, "little") for i in range(999_000)),
        "arrays": array(b"K\x00\x85", data=b"\x00") * 19_000,
    }.items():
        yield Attack(f"crowd-of-{label}", model(b"](" + items + b"e"))
    keys = b"".join(text(str(i)) + b"N" for i in range(400_000))
    yield Attack("crowd-of-keys", model(b"}(" + keys + b"u"))

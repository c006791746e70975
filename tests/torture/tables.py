"""Hostile files of tables, mail, JSON and lines: small ones that could take much memory or time."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import subprocess
import time
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from kills import LETTERS, forker, run_nbtext

MAX_FILE = 1_000_000  # bytes of a hostile file
MAX_MEGABYTES = 1000  # that a command may take for it
MAX_SECONDS = 60.0  # that a command may take for it
# bytes of a file of many small things; fewer where each is a document, which takes time only
PACKED = 10_000_000
MANY_DOCUMENTS = (
    "mails.mbox",
    "objects.jsonl",
    "bad.jsonl",
    "items.json",
    "quotes.csv",
    "empty.txt",
)
# bytes of a document, and such documents of a file
MAX_TEXT = 100_000_000
N_LONG = 6

BROKEN = re.compile(rb"Traceback|internal error|Segmentation")


def _tables() -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of files that are small and would be large."""
    yield from _long_texts()
    yield from _packed()
    large = b"x" * 100_000_000
    for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        yield f"bomb.csv{suffix}", pack(b'text,label\n"' + large + large)
        yield f"bomb.jsonl{suffix}", pack(b'{"text": "' + large + large)


def _packed() -> Iterator[tuple[str, bytes]]:
    """Yield files of mail, JSON, tables and lines that decompress to many small things, or to a
    wide text.
    """
    mixed = b"Content-Type: multipart/mixed; boundary=b\n\n"
    page = b"Content-Type: text/html\n\n"
    base64 = b"Content-Transfer-Encoding: base64\n\n"
    many = {
        "colons.eml": (b"", b":\n"),
        "folded.eml": (b"Subject: a\n", b" a\n"),
        "parameters.eml": (b"Content-Type: text/plain", b";\n a*0*=b"),
        "words.eml": (b"Subject: a", b"\n =?utf-8?q?a?="),
        "from.mbox": (b"", b"From a\n"),
        "mails.mbox": (b"", b"From a\nTo: b\n\n"),
        "quoted.mbox": (b"From a\nTo: b\n\n", b">From \n"),
        "parts.eml": (mixed, b"--b\n\n\n"),
        "headed.eml": (mixed, b"--b\n" + b":\n" * 99 + b"\na\n"),
        "forwarded.eml": (b"", b"Content-Type: message/rfc822\n\n"),
        "deep.eml": (mixed * 99, b"--b\n" + mixed),
        "tags.eml": (page, b"<p>ab"),
        "references.eml": (page, b"&amp;ab"),
        "base64.eml": (base64, b"YQ==\n"),
        "lists.jsonl": (b'{"text": "a", "x": [', b"[],"),
        "objects.jsonl": (b"", b"{}\n"),
        "bad.jsonl": (b"", b"x\n"),
        "nested.jsonl": (b'{"text": ', b"["),
        "lists.json": (b'[{"x": [', b"{},"),
        "items.json": (b"[", b"[],"),
        "cells.csv": (b"text,label\n", b","),
        "header.csv": (b"text,label", b",a"),
        "quotes.csv": (b"text,label\n", b'"\n'),
        "quotes.tsv": (b"text\tlabel\n", b'"\t'),
        "labels.txt": (b"__label__a ", b"__label__b "),
        "empty.txt": (b"", b"\n"),
        "token.txt": (b"", b"a"),
        "nuls.csv": (b"text\n", b"\0"),
    }
    for name, (start, unit) in many.items():
        size = PACKED // 20 if name in MANY_DOCUMENTS else PACKED
        yield f"many-{name}.gz", gzip.compress(start + unit * (size // len(unit)))
    wide = "\U0001f600".encode() + b"a " * (MAX_TEXT // 2 - 999)
    texts = {
        "eml": b"\n" + wide,
        "html": wide,
        "csv": b"text\n" + wide,
        "jsonl": b'{"text": "' + wide + b'"}',
    }
    for suffix, content in texts.items():
        yield f"wide.{suffix}.xz", lzma.compress(content, preset=0)
    rows = (b"a," * (MAX_TEXT // 3) + b"b\n").replace(b",", b" ")
    yield "rows.csv.xz", lzma.compress(b"text,label\n" + rows * 5, preset=0)
    for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        member = pack(b"a\n")
        yield f"members.txt{suffix}", member * (MAX_FILE // len(member) - 1)


def _long_texts() -> Iterator[tuple[str, bytes]]:
    """Yield files of many documents, each as long as a document may be: several together would fill
    the memory.
    """
    text = (b"word " * (MAX_TEXT // 5))[:-100]
    mail = b"From a@b.c Thu Nov 21 03:37:00 2024\nSubject: one\n\n%s\n\n" % text
    forms = {
        "jsonl": (b"", b'{"label": "a", "text": "%s"}\n' % text, b""),
        "json": (b'[{"text": ""}', b',{"label": "a", "text": "%s"}' % text, b"]"),
        "csv": (b"text,label\n", b'"%s",a\n' % text, b""),
        "tsv": (b"text\tlabel\n", b"%s\ta\n" % text, b""),
        "txt": (b"", b"__label__a %s\n" % text, b""),
        "mbox": (b"", mail, b""),
    }
    for name, (start, row, end) in forms.items():
        packer = lzma.LZMACompressor() if name == "jsonl" else zlib.compressobj(wbits=31)
        packed = b"".join(map(packer.compress, (start, *[row] * N_LONG, end))) + packer.flush()
        yield f"long.{name}.{'xz' if name == 'jsonl' else 'gz'}", packed


def feed(folder: Path, every: int = 1) -> dict[str, Any]:
    """Have `predict` and `train` read every n-th hostile file: how many, how many were large, slow
    or broken, and the memory.
    """
    run_nbtext(["train", str(LETTERS / "train"), "-o", "m.joblib"], folder).check_returncode()
    names = ("tried", "large", "slow", "crashed", "megabytes")
    figures: dict[str, Any] = dict.fromkeys(names, 0) | {"worst": "", "wrong": []}
    for name, content in islice(_tables(), 0, None, every):
        if len(content) >= MAX_FILE:
            continue
        (folder / name).write_bytes(content)
        for command in ("predict", "train") if name.startswith("long") else ("predict",):
            to = ["-o", "out"] if command == "train" else ["-m", "m.joblib", "-o", "out.tsv"]
            found = _measure([command, name, *to, "--force"], folder)
            figures["tried"] += 1
            if found["megabytes"] > figures["megabytes"]:
                figures["megabytes"] = found["megabytes"]
                figures["worst"] = f"{command} {name}"
            for kind in ("large", "slow", "crashed"):
                figures[kind] += found[kind]
            if found["large"] or found["slow"] or found["crashed"]:
                figures["wrong"].append(f"{command} {name}: {found}")
        (folder / name).unlink()
    return figures


def _measure(arguments: list[str], folder: Path) -> dict[str, Any]:
    start = time.monotonic()
    said = folder / "said"
    with said.open("wb") as file:
        process = forker().popen(
            arguments, cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
        try:
            process.wait(MAX_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    seconds = time.monotonic() - start
    megabytes = process.max_rss / 1000
    crashed = process.returncode not in (0, 1, 2) or BROKEN.search(said.read_bytes()) is not None
    is_slow = seconds >= MAX_SECONDS
    return {
        "large": int(megabytes > MAX_MEGABYTES),
        "slow": int(is_slow),
        "crashed": int(crashed and not is_slow),
        "megabytes": round(megabytes),
        "status": process.returncode,
        "said": said.read_bytes()[-200:].decode("utf-8", "replace"),
    }

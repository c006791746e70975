"""Hostile texts through standard input: each gets a result, in bounded memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kills import LETTERS, TOP

MEGABYTE = 1_000_000


class Text(NamedTuple):
    """What is fed to a command."""

    name: str
    arguments: list[str]
    pieces: Iterator[bytes]


def _texts(size: int) -> Iterator[Text]:
    """All of them; `size` is a million bytes, or less for a trial."""
    predict = ["predict", "-", "-m", "letters.joblib", "-o", "out", "--input-format"]
    words, lines = b"word " * (size // 5), size // 10
    yield Text("a line of 1 GB", [*predict, "lines"], (words for _ in range(1000)))
    yield Text("10 million empty documents", [*predict, "lines"], (b"\n" * size for _ in range(10)))
    yield Text("a token of 99 MB", [*predict, "lines"], (b"a" * size for _ in range(99)))
    yield Text("100 MB of NULs", [*predict, "lines"], (bytes(size) for _ in range(100)))
    labels = (f'{{"text": "w{n % 5000} more", "label": "{n}"}}\n'.encode() for n in range(lines))
    yield Text("100,000 labels, learned", ["train", "-", "-o", "labels.joblib"], labels)
    asked = ["predict", "-", "-m", "labels.joblib", "-o", "out", "--to", "jsonl"]
    yield Text("100,000 labels, asked", asked, (b"w7 more\n" for _ in range(100)))
    yield Text("JSON 100,000 deep", [*predict, "jsonl"], (b'{"text": ' + b"[" * lines for _ in range(1)))
    yield Text("a CSV field of 1 GB", [*predict, "csv"], (words if n else b'text,id\n"' for n in range(1001)))
    yield Text("a bomb of 1 GB", [*predict, "lines"], _bomb(1000 * size))
    mail = b"".join(b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n) for n in range(1000))
    yield Text("a mail 1,000 deep", [*predict, "mbox"], iter((b"From a@b\n", mail, b"parking fine")))
    pattern = ["train", "-", "-o", "pattern.joblib", "--input-format", "fasttext", "--token-pattern", r"(?:\w+)+x"]
    yield Text("a pattern, learned", pattern, iter((b"__label__a ax\n__label__b bx\n",)))
    yield Text("a pattern without end", ["predict", "-", "-m", "pattern.joblib", "-o", "out"], iter((b"a" * 60,)))


def _bomb(n_bytes: int) -> Iterator[bytes]:
    packer = zlib.compressobj(9, wbits=31)
    for _ in range(0, n_bytes, MEGABYTE):
        yield packer.compress(bytes(MEGABYTE))
    yield packer.flush()


def fed(folder: Path, size: int = MEGABYTE) -> Iterator[dict[str, Any]]:
    """Run each: name, status, seconds, megabytes at the peak, and what was said last."""
    _run(["train", str(LETTERS / "train"), "-o", "letters.joblib"], iter(()), folder)
    for text in _texts(size):
        yield {"name": text.name, **_run(text.arguments, text.pieces, folder)}


def _run(arguments: list[str], pieces: Iterator[bytes], folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "nbtext", *arguments]
    start = time.monotonic()
    with (folder / "said").open("w+b") as said:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": str(TOP)}, stdin=subprocess.PIPE, stderr=said
        )
        assert process.stdin is not None
        try:
            for piece in pieces:
                process.stdin.write(piece)
            process.stdin.close()
        except BrokenPipeError:  # it has seen enough
            pass
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        lines = said.read().decode().splitlines()
    return {
        "status": process.returncode,
        "seconds": time.monotonic() - start,
        "megabytes": usage.ru_maxrss / 1000,
        "said": lines[-1] if lines else "",
        "is_traced": any(line.startswith("Traceback") for line in lines),
    }

"""Hostile texts through standard input: each gets a result, in bounded memory."""

import subprocess
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kills import LETTERS, forker

MEGABYTE = 1_000_000


class Text(NamedTuple):
    """What is fed to a command; `before` is Python code that its process runs first."""

    name: str
    arguments: list[str]
    pieces: Iterator[bytes]
    before: str = ""


def _texts(size: int) -> Iterator[Text]:
    """All of them; `size` is a million bytes, or less for a trial."""
    predict = ["predict", "-", "-m", "letters.joblib", "-o", "out", "--input-format"]
    words = b"word " * (size // 5)
    lines = size // 10
    yield Text("a line of 1 GB", [*predict, "lines"], (words for _ in range(1000)))
    yield Text("10 million empty documents", [*predict, "lines"], (b"\n" * size for _ in range(10)))
    yield Text("a token of 99 MB", [*predict, "lines"], (b"a" * size for _ in range(99)))
    yield Text("100 MB of NULs", [*predict, "lines"], (bytes(size) for _ in range(100)))
    labels = (f'{{"text": "w{n % 5000} more", "label": "{n}"}}\n'.encode() for n in range(lines))
    yield Text("100,000 labels, learned", ["train", "-", "-o", "labels.joblib"], labels)
    asked = ["predict", "-", "-m", "labels.joblib", "-o", "out", "--to", "jsonl"]
    yield Text("100,000 labels, asked", asked, (b"w7 more\n" for _ in range(100)))
    yield Text(
        "JSON 100,000 deep", [*predict, "jsonl"], (b'{"text": ' + b"[" * lines for _ in range(1))
    )
    yield Text(
        "a CSV field of 1 GB",
        [*predict, "csv"],
        (words if n else b'text,id\n"' for n in range(1001)),
    )
    yield Text("a bomb of 1 GB", [*predict, "lines"], _bomb(1000 * size))
    mail = b"".join(
        b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n) for n in range(1000)
    )
    yield Text(
        "a mail 1,000 deep", [*predict, "mbox"], iter((b"From a@b\n", mail, b"parking fine"))
    )
    pattern = [
        "train",
        "-",
        "-o",
        "pattern.joblib",
        "--input-format",
        "fasttext",
        "--token-pattern",
        r"(?:\w+)+x",
    ]
    yield Text("a pattern, learned", pattern, iter((b"__label__a ax\n__label__b bx\n",)))
    sooner = (
        f"from nbtext.features import analyzer; analyzer.MIN_SECONDS *= {min(size / MEGABYTE, 1)}"
    )
    endless = ["predict", "-", "-m", "pattern.joblib", "-o", "out"]
    yield Text("a pattern without end", endless, iter((b"a" * 60,)), sooner)


def _bomb(n_bytes: int) -> Iterator[bytes]:
    packer = zlib.compressobj(9, wbits=31)
    for _ in range(0, n_bytes, MEGABYTE):
        yield packer.compress(bytes(MEGABYTE))
    yield packer.flush()


def fed(folder: Path, size: int = MEGABYTE) -> dict[str, Any]:
    """Run each: name, status, seconds, megabytes at the peak, and what was said last; and how many
    crashed.
    """
    model = ["train", str(LETTERS / "train"), "-o", "letters.joblib"]
    _run(Text("a model", model, iter(())), folder)
    found = [{"name": text.name, **_run(text, folder)} for text in _texts(size)]
    crashed = sum(text["status"] not in (0, 1) or text["is_traced"] for text in found)
    return {"texts": found, "crashed": crashed}


def _run(text: Text, folder: Path) -> dict[str, Any]:
    start = time.monotonic()
    with (folder / "said").open("w+b") as said:
        process = forker().popen(
            text.arguments, before=text.before, cwd=folder, stdin=subprocess.PIPE, stderr=said
        )
        assert process.stdin is not None
        try:
            for piece in text.pieces:
                process.stdin.write(piece)
            process.stdin.close()
        except BrokenPipeError:  # it has seen enough
            pass
        process.wait()
        said.seek(0)
        lines = said.read().decode().splitlines()
    return {
        "status": process.returncode,
        "seconds": time.monotonic() - start,
        "megabytes": process.max_rss / 1000,
        "said": lines[-1] if lines else "",
        "is_traced": any(line.startswith("Traceback") for line in lines),
    }

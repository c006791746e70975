"""Where nbtext meets files of others and clients: foreign files, devices, hostile tables, databases
and requests.
"""

from __future__ import annotations

import bz2
import gzip
import http.client
import json
import lzma
import os
import pty
import random
import re
import shutil
import socket
import stat
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from itertools import islice, product
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
MAX_WAIT = 1.0  # seconds in which /healthz must answer beside a request
STEP = 0.02  # seconds between two questions

BROKEN = re.compile(rb"Traceback|internal error|Segmentation")
# kinds of files that are neither regular nor directories, and how device files are made
SPECIAL = {
    "FIFO": (stat.S_IFIFO, 0),
    "socket": (stat.S_IFSOCK, 0),
    "null device": (stat.S_IFCHR, os.makedev(1, 3)),
    "full device": (stat.S_IFCHR, os.makedev(1, 7)),
    "zero device": (stat.S_IFCHR, os.makedev(1, 5)),
    "block device": (stat.S_IFBLK, os.makedev(240, 77)),
}


# foreign files


def _foreign(chance: random.Random) -> Iterator[bytes]:
    """Yield contents that nbtext did not write, some of them like what it writes."""
    answer = b'{"id": "1", "text": "one", "label": "spam"}'
    yield b"precious, no newline"
    yield b'[{"id": "1", "text": "one", "label": "a"},\n {"id": "2"}]'
    yield b"text,label\none,spam\ntwo,ham"
    yield b"text\tlabel\none\tspam\n"
    yield b'{"name": "somebody", "age": 7}\n{"name": "else"}'
    yield b"\xef\xbb\xbf" + answer + b'\n{"other": 1}\n'
    yield answer + b"\nnot an answer\n" + answer
    yield answer.replace(b"label", b"lebal") + b"\n"
    yield b"\x7fELF" + chance.randbytes(200)
    yield gzip.compress(answer * 9)
    yield b"{" * 1000
    yield b'{"' + chance.randbytes(50)
    yield b"\0" * 4096
    while True:
        content = bytearray(
            (answer + b"\n") * 3 + chance.choice([b"notes of mine", b"[1, 2]", b"--- a: 1", b"<p>"])
        )
        content[chance.randrange(len(content))] = chance.randrange(256)
        yield bytes(content) + chance.choice([b"", b"\n", b"\r\n\r\n"])


def protect(folder: Path, n_files: int, seed: int = 1) -> dict[str, Any]:
    """Have commands meet foreign files: how many meetings, how many files that changed, appeared or
    were lost.

    `label` and `serve` find them where they append.
    """
    chance = random.Random(seed)
    run_nbtext(["train", str(LETTERS / "train"), "-o", "m.joblib"], folder).check_returncode()
    figures: dict[str, Any] = {"tried": 0, "changed": 0, "wrong": []}
    (folder / "source.jsonl").write_text('{"id": "1", "text": "one"}\n{"id": "2", "text": "two"}\n')

    def meet(what: str, place: Path, act: Callable[[], object]) -> None:
        before = _contents(place)
        act()
        figures["tried"] += 1
        if _contents(place) != before:
            figures["changed"] += 1
            figures["wrong"].append(what)

    def append(what: str, place: Path) -> None:
        meet(f"label {what}", place, lambda: _label(folder, place / "m.jsonl"))
        meet(f"feedback {what}", place, lambda: _give_feedback(folder, place))

    (folder / "own").mkdir()
    _label(folder, folder / "own" / "label.jsonl")
    _give_feedback(folder, folder / "own")
    assert _contents(folder / "own").keys() == {"label.jsonl", "m.jsonl"}, (
        "they write where nothing is in the way"
    )
    for number, content in zip(range(n_files), _foreign(chance), strict=False):
        place = folder / f"f{number}"
        place.mkdir()
        (place / "m.jsonl").write_bytes(content)
        if not is_answers(content):
            append(content.decode("latin-1")[:60], place)
        (place / "m.jsonl").write_bytes(content)
        for words in (
            ["update", "m.jsonl", str(LETTERS / "test")],
            ["predict", "m.jsonl", "-m", "m.jsonl"],
        ):
            meet(" ".join(words), place, lambda words=words, place=place: run_nbtext(words, place))  # type: ignore[misc]
        shutil.rmtree(place)
    for kind, is_link in product(SPECIAL, (False, True)):
        place = folder / "special"
        place.mkdir()
        with ExitStack() as stack, suppress(PermissionError):
            name = "target" if is_link else "m.jsonl"
            stack.enter_context(closing(_place_special(place / name, kind)))
            if is_link:
                (place / "m.jsonl").symlink_to(name)
            append(kind, place)
        shutil.rmtree(place)
    return figures


def is_answers(content: bytes) -> bool:
    """Return whether all complete lines are answers, so that `label` may go on with them; plainly
    judged.
    """
    lines = content.split(b"\n")
    with suppress(ValueError, TypeError, AttributeError):
        return len(lines) > 1 and all(
            {"text", "label"} <= json.loads(line).keys() for line in lines[:-1]
        )
    return False


def _contents(place: Path) -> dict[str, bytes]:
    """Return what each file of a folder holds, and of a link or a special file what it is."""
    found = {}
    for path in place.iterdir():
        status = path.lstat()
        if stat.S_ISREG(status.st_mode):
            found[path.name] = path.read_bytes()
        elif not stat.S_ISDIR(status.st_mode):
            target = os.readlink(path) if path.is_symlink() else ""
            found[path.name] = repr(
                (status.st_mode, status.st_ino, status.st_rdev, target)
            ).encode()
    return found


def _place_special(path: Path, kind: str) -> socket.socket:
    """Make a special file; return the socket that must stay open if it is one. PermissionError if
    it cannot be made.
    """
    server = socket.socket(socket.AF_UNIX)
    mode, device = SPECIAL[kind]
    if kind == "socket":
        server.bind(os.path.relpath(path))
    else:
        os.mknod(path, mode | 0o600, device)
    return server


def _label(folder: Path, output: Path) -> None:
    """Open the labeling screen in a terminal, give no answer, and leave it."""
    main, side = pty.openpty()
    command = ["label", "source.jsonl", "--labels", "spam,ham", "-o", str(output)]
    with forker().popen(command, cwd=folder, stdin=side, stdout=side, stderr=side) as process:
        os.close(side)
        _drain(main, process)
    os.close(main)


def _drain(main: int, process: subprocess.Popen[bytes]) -> None:
    """Read what a program shows on a terminal, and press q, until it ends."""
    os.set_blocking(main, False)
    end = time.monotonic() + MAX_SECONDS
    while process.poll() is None:
        with suppress(OSError):
            os.write(main, b"q")
            os.read(main, 1 << 16)
        time.sleep(STEP)
        if time.monotonic() > end:
            process.kill()


def _give_feedback(folder: Path, place: Path) -> None:
    errors = (OSError, http.client.HTTPException)
    with suppress(*errors), Service(folder, "--feedback-dir", str(place)) as service:
        service.post("/v1/feedback", b'{"text": "one", "label": "trash"}', 10)


# hostile files


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


# hostile requests


class Service:
    """`nbtext serve` on a free port, in the folder of m.joblib; ConnectionRefusedError if it does
    not start.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        self._process = forker().popen(
            ["serve", "-m", "m.joblib", "--port", "0", *options],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if found := re.search(rb" on http://[^ ;]+:(\d+);", line):
                self.port = int(found[1])
                break
        else:
            self._process.wait()
            raise ConnectionRefusedError
        threading.Thread(target=self._process.stderr.read, daemon=True).start()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def post(self, path: str, body: bytes, timeout: float, kind: str = "application/json") -> int:
        """Send a request; return the status."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with closing(connection):
            connection.request("POST", path, body, {"content-type": kind})
            answer = connection.getresponse()
            answer.read()
            return answer.status

    def measure_health(self) -> float:
        """Return the seconds that /healthz takes."""
        start = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=MAX_SECONDS)
        with closing(connection):
            connection.request("GET", "/healthz")
            assert connection.getresponse().status == 200
        return time.monotonic() - start


def _requests(size: int) -> Iterator[tuple[str, str, str, bytes]]:
    """Yield the name, the path, the content type and the body of requests; `size` is about that of
    a body in bytes.
    """
    words = b"the bins were not emptied again " * (size // 32)
    encodings = "punycode idna unicode_escape raw_unicode_escape utf-7 hz cp037 rot13 zlib"
    for encoding in encodings.split():
        yield (
            f"text in {encoding}",
            "/v1/predict",
            f"text/plain; charset={encoding}",
            words[: size // 2] + b"-" + words[:999],
        )
    inserted = b"x" * (size // 2) + b"-" + b"a" * (size // 2)
    yield "insertions in punycode", "/v1/predict", "text/plain; charset=punycode", inserted
    texts = {
        "texts": b'{"texts": [' + b'"a",' * (size // 4) + b'"b"]}',
        "a text": b'{"text": "' + words + b'"}',
    }
    texts["many keys"] = (
        b"{" + b",".join(b'"k%d":1' % n for n in range(size // 12)) + b', "text": "a"}'
    )
    texts["deep"] = b'{"text": ' + b"[" * size
    texts["digits"] = b'{"text": ' + b"9" * size + b"}"
    texts["escapes"] = b'{"text": "' + b"\\u00e4" * (size // 6) + b'"}'
    texts["documents"] = (
        b'{"documents": [' + b",".join([b'{"text": "the bins"}'] * (size // 22)) + b"]}"
    )
    texts["a list"] = b"[" + b",".join([b'{"text": "the bins"}'] * (size // 22)) + b"]"
    for path in ("/v1/predict", "/v1/explain", "/v1/explain?marks=true", "/v1/feedback"):
        for name, body in texts.items():
            yield f"{name} to {path}", path, "application/json", body
    lines = b'{"text": "the bins were not emptied"}\n' * (size // 38)
    for path in ("/v1/predict", "/v1/explain"):
        yield f"lines to {path}", path, "application/x-ndjson", lines
        yield f"a line to {path}", path, "application/x-ndjson", texts["a text"]
        yield f"plain to {path}", path, "text/plain", words
        yield f"lines of text to {path}", path, "text/plain", b"the bins\n" * (size // 9)


def ask(folder: Path, size: int, at_once: int = 3) -> dict[str, Any]:
    """Send hostile requests: how many, beside how many /healthz took over a second, and the longest
    time.

    A request is only counted if it is so twice: on a loaded machine anything may take a second.
    `unanswered` are those that got no answer in time, because this client sends all before it
    reads.
    """
    run_nbtext(["train", str(LETTERS / "train"), "-o", "m.joblib"], folder).check_returncode()
    figures: dict[str, Any] = {
        "tried": 0,
        "blocked": 0,
        "unanswered": 0,
        "seconds": 0.0,
        "worst": "",
        "wrong": [],
    }
    service = Service(folder, "--feedback-dir", "given", "--max-body-bytes", str(2 * size))
    for name, path, kind, body in _requests(size):
        waited, status = _wait_beside(service, path, kind, body, at_once)
        if waited > MAX_WAIT or status == 0:
            service.__exit__()
            service = Service(folder, "--feedback-dir", "given", "--max-body-bytes", str(2 * size))
            waited, status = min((waited, status), _wait_beside(service, path, kind, body, at_once))
        figures["tried"] += 1
        figures["blocked"] += waited > MAX_WAIT
        figures["unanswered"] += status == 0
        if waited > figures["seconds"]:
            figures["seconds"] = round(waited, 3)
            figures["worst"] = name
        if waited > MAX_WAIT:
            figures["wrong"].append(f"{name}: {waited:.1f} s, status {status}")
    service.__exit__()
    return figures


def _wait_beside(
    service: Service, path: str, kind: str, body: bytes, at_once: int
) -> tuple[float, int]:
    """Send equal requests at once; return the longest time of /healthz meanwhile, and a status (0:
    no answer).
    """
    statuses = []

    def post() -> None:
        try:
            statuses.append(service.post(path, body, MAX_SECONDS, kind))
        except ConnectionError:
            # it refused the body, and closed the connection before all was sent
            statuses.append(413)
        except (OSError, http.client.HTTPException):
            statuses.append(0)

    threads = [threading.Thread(target=post) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    waited = 0.0
    end = time.monotonic() + MAX_SECONDS
    while any(thread.is_alive() for thread in threads) and time.monotonic() < end:
        try:
            waited = max(waited, service.measure_health())
        except (OSError, http.client.HTTPException):
            waited = MAX_SECONDS
        time.sleep(STEP)
    return waited, min(statuses, default=0)

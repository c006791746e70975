"""Sources at URLs: in memory, and from a real HTTP server on loopback."""

import gzip
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import fsspec
import pytest

from nbtext.documents.source import open_shard
from nbtext.errors import InputError, MissingExtra, hide_credentials

LINES = b"".join(
    b'{"text": "words of line %d", "label": "%s"}\n' % (n, b"ab"[n % 2 : n % 2 + 1])
    for n in range(300)
)


class Ranges(SimpleHTTPRequestHandler):
    """Answers ranges of bytes, as most servers do, and wants a password below /secret."""

    def do_GET(self) -> None:
        if self.path.startswith("/secret") and not self.headers.get("Authorization"):
            return self.send_error(401)
        wanted = self.headers.get("Range", "").removeprefix("bytes=")
        path = Path(self.translate_path(self.path))
        if not wanted or not path.is_file():
            return super().do_GET()
        first, _, last = wanted.partition("-")
        content = path.read_bytes()[int(first) : int(last or 10**9) + 1]
        self.send_response(206)
        self.send_header(
            "Content-Range", f"bytes {first}-{int(first) + len(content) - 1}/{path.stat().st_size}"
        )
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return None

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


class Plain(SimpleHTTPRequestHandler):
    """Python's own server, which knows no ranges."""

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the servers serve."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "secret").mkdir()
    for name, content in (
        ("x.jsonl", LINES),
        ("x.jsonl.gz", gzip.compress(LINES)),
        ("secret/x.jsonl", LINES),
    ):
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(scope="module", params=[Ranges, Plain], ids=["ranges", "no ranges"])
def server(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """host:port of a server."""
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(request.param, directory=str(folder))
    ) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_http(
    read: Any,
    opened: Any,
    rows: Any,
    folder: Path,
    server: str,
    name: str,
) -> None:
    """A file from a server has the documents that it has on the disk, and ids that say where; it is
    one shard.
    """
    url = f"http://{server}/{name}?token=secret#x"
    here = read(folder / name)
    source = opened(url)
    there = rows(source.batches())
    assert [row[1:] for row in there] == [row[1:] for row in here]
    assert [row[0] for row in there] == [
        row[0].replace(str(folder), f"http://{server}") for row in here
    ]
    assert source.size == (folder / name).stat().st_size
    assert not source.is_live
    (shard,) = source.shards(1000)
    assert rows(open_shard(shard, source.settings).batches()) == there


def test_a_password_is_used_and_never_said(opened: Any, read: Any, server: str) -> None:
    """User, password and signature open the file; ids and errors are without them."""
    assert (
        read(f"http://me:pass@{server}/secret/x.jsonl?sig=abc")[0][0]
        == f"http://{server}/secret/x.jsonl:1"
    )
    for url in (
        f"http://me:pass@{server}/none.jsonl?sig=abc",
        "http://me:pass@127.0.0.1:9/x.jsonl?sig=abc",
    ):
        with pytest.raises(InputError) as raised:
            list(opened(url).batches())
        said = str(raised.value)
        assert said.startswith(hide_credentials(url) + ": cannot be read: ")
        assert not any(secret in said for secret in ("me:", "pass", "sig", "abc"))


@pytest.fixture
def memory() -> Iterator[Any]:
    """fsspec's file system of this process's memory, empty."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


def test_a_folder_elsewhere(memory: Any, opened: Any, read: Any, tmp_path: Path) -> None:
    """A folder at a URL is read as a local one: labels, compressed files, mails, hidden files, and
    limits.
    """
    tree = {
        "b/2.txt": b"two",
        "a/1.txt.gz": gzip.compress(b"one"),
        "a/x/3.txt": b"three",
        ".hidden/4.txt": b"four",
        "a/5.eml": b"Subject: five\n\nbody",
    }
    for name, content in tree.items():
        memory.pipe(f"/top/{name}", content)
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    here = [
        (identity.replace(str(tmp_path), "memory://top"), *row) for identity, *row in read(tmp_path)
    ]
    assert read("memory://top") == read("memory://top/") == here
    assert opened("memory://top").skipped == {"hidden file or folder": 1}
    memory.pipe("/large/a.txt", b"x" * 100)
    batch = next(opened("memory://large", max_document_bytes=99).batches())
    assert str(batch.problems[0]).startswith(
        "memory://large/a.txt: the document has more than 99 bytes"
    )


def test_a_packed_file_that_vanishes(memory: Any, opened: Any) -> None:
    """A file of a folder elsewhere that cannot be read is said to be gone, whatever its name says
    of its content.
    """
    memory.pipe("/going/a.txt.gz", gzip.compress(b"text"))
    source = opened("memory://going")
    memory.rm("/going/a.txt.gz")
    (batch,) = source.batches()
    assert (
        str(batch.problems[0])
        == "memory://going/a.txt.gz: cannot be read: there is no such file; check the URL"
    )


def test_files_elsewhere(memory: Any, opened: Any, rows: Any, tmp_path: Path) -> None:
    """Files at memory:// and file:// are read by ranges; formats are detected by name."""
    memory.pipe("/x.jsonl", LINES)
    memory.pipe("/x.csv", b"text,label\none,a\n")
    (tmp_path / "x.jsonl").write_bytes(LINES)
    for url in ("memory://x.jsonl", f"file://{tmp_path}/x.jsonl"):
        source = opened(url)
        shards = source.shards(700)
        assert len(shards) == -(-len(LINES) // 700)
        found = [
            row[1:]
            for shard in shards
            for row in rows(open_shard(shard, source.settings).batches())
        ]
        assert found == [row[1:] for row in rows(source.batches())]
    assert rows(opened("memory://x.csv").batches()) == [("memory://x.csv:2", ("one",), "a")]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "memory://none.txt",
            "memory://none.txt: cannot be read: there is no such file; check the URL",
        ),
        (
            "nothing://u:p@x/y",
            "nothing://x/y: cannot be read: ValueError: Protocol not known: nothing; check the URL",
        ),
        (
            "s3://x/y",
            "s3://x/y: s3:// needs another package: Install s3fs to access S3",
        ),
        (
            "memory://\x1b[31m",
            "memory://\\x1b[31m: cannot be read: there is no such file; check the URL",
        ),
    ],
)
def test_what_cannot_be_read(
    opened: Any, url: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line says what is wrong, and which package would read it; credentials and escapes are not
    in it.
    """
    monkeypatch.setitem(sys.modules, "s3fs", None)  # as if it were not installed
    with pytest.raises(InputError) as raised:
        list(opened(url).batches())
    assert str(raised.value) == said


def test_without_fsspec(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where fsspec is not installed, the line says how to install it."""
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(
        MissingExtra, match=r"s3:// URLs needs fsspec; install it with: pip install 'nbtext\[url\]'"
    ):
        opened("s3://x/y")

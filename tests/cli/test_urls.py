"""Sources at URLs, as a user types them."""

import gzip
import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """http://HOST:PORT of a server of the test's folder."""
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    ) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_all_that_reads_sources(nbtext: Any, letters: Path, server: str, tmp_path: Path) -> None:
    """train, evaluate and predict read from a server, compressed or not, and from file:// folders,
    as from the disk.
    """
    for half in ("train", "test"):
        paths = sorted((letters / half).glob("*/*"))
        lines = [
            json.dumps({"text": path.read_text(), "label": path.parent.name}) for path in paths
        ]
        (tmp_path / f"{half}.jsonl").write_text("\n".join(lines))
    (tmp_path / "train.jsonl.gz").write_bytes(
        gzip.compress((tmp_path / "train.jsonl").read_bytes())
    )
    nbtext(f"train {letters}/train -o files -q").ok()
    nbtext("train train.jsonl -o here -q").ok()
    sources = {
        f"{server}/train.jsonl": "here",
        f"{server}/train.jsonl.gz": "here",
        f"file://{letters}/train": "files",
    }
    for url, same in sources.items():
        there = nbtext(f"train {url} -o there -q")
        assert (there.status, there.out, there.err) == (0, "", "")
        assert (tmp_path / "there").read_bytes() == (tmp_path / same).read_bytes()
    ask = "-m here --to json"
    assert nbtext(f"evaluate {server}/test.jsonl {ask}") == nbtext(f"evaluate test.jsonl {ask}")
    here = nbtext(f"predict test.jsonl {ask}")
    there = nbtext(f"predict {server}/test.jsonl {ask}")
    assert (there.status, there.out.replace(f"{server}/", "")) == (0, here.out)
    for command in (
        "evaluate test.jsonl -m",
        "predict test.jsonl -m",
        "inspect",
        "explain test.jsonl -m",
    ):
        assert nbtext(f"{command} {server}/here") == nbtext(f"{command} here")
    nbtext(f"update {server}/here test.jsonl").refused(
        2, "cannot replace it; name the new file with -o"
    )
    nbtext(f"update {server}/here test.jsonl -o grown").ok()

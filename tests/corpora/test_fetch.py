"""The fetching of public corpora, from small archives made here."""

import hashlib
import importlib.util
import io
import os
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

CORPORA = Path(__file__).parents[2] / "corpora"
# what a recipe keeps is a folder of documents where it has one of these names, else a file
FOLDERS = ("neg", "pos", "20news-bydate-train", "20news-bydate-test")

STATED = "not 8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610 as in recipes.toml"


def load_fetch() -> ModuleType:
    spec = importlib.util.spec_from_file_location("corpora_fetch", CORPORA / "fetch.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


fetch = load_fetch()


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:xz" if path.suffix == ".xz" else "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def run(*names: str, into: Path, archives: Path) -> subprocess.CompletedProcess[str]:
    """Run the program itself, on the real recipes."""
    return subprocess.run(
        [sys.executable, "-I", str(CORPORA / "fetch.py"), "--into", str(into), *names],
        env=os.environ | {"NBTEXT_CORPORA": str(archives)},
        capture_output=True,
        text=True,
        check=False,
    )


def recipe(**changes: Any) -> Any:
    fields = {
        "name": "tiny",
        "title": "Tiny",
        "archive": "tiny.tar.gz",
        "url": "https://example.org/tiny.tar.gz",
        "license": "none",
        "megabytes": 1,
        "sha256": "",
        "stated_by": "",
        "keep": {"raw/a": "a"},
    }
    return fetch.Recipe(**fields | changes)


def bring(wanted: Any, store: Path, archives: Path | None) -> bool:
    return bool(fetch.fetch(wanted, store, archives=archives, progress=lambda message: None))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def archives(tmp_path: Path) -> Path:
    folder = tmp_path / "archives"
    folder.mkdir()
    return folder


def test_from_a_folder(store: Path, archives: Path) -> None:
    """An archive NAME.tar.xz becomes the folder NAME; its checksum is recorded, and nothing else is
    left behind. A corpus that is there is left alone, even where its archive has gone.
    """
    archive = write_tar(
        archives / "rt-2k.tar.xz", {"rt-2k/neg/a.txt": b"bad\n", "rt-2k/pos/b.txt": b"good\n"}
    )
    done = run("rt-2k", into=store, archives=archives)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert f"rt-2k: now in {store / 'rt-2k'}" in done.stderr
    assert (store / "rt-2k/pos/b.txt").read_bytes() == b"good\n"
    assert sorted(path.name for path in store.iterdir()) == ["checksums.toml", "rt-2k"]
    assert fetch.read_checksums(store) == {
        "rt-2k.tar.xz": hashlib.sha256(archive.read_bytes()).hexdigest()
    }
    assert stat.S_IMODE((store / "rt-2k").stat().st_mode) & 0o700 == 0o700
    archive.unlink()
    (store / "rt-2k/neg/a.txt").write_bytes(b"mine\n")
    done = run("rt-2k", into=store, archives=archives)
    assert done.returncode == 0
    assert done.stderr.startswith(f"rt-2k: already in {store / 'rt-2k'}")
    assert (store / "rt-2k/neg/a.txt").read_bytes() == b"mine\n"


def test_changed_archive(store: Path, archives: Path) -> None:
    """An archive that is not the one recorded at the first fetch is refused, and the line says both
    checksums.
    """
    write_tar(archives / "tiny.tar.xz", {"tiny/a/1": b"one"})
    assert bring(recipe(), store, archives)
    (store / "tiny").rename(store / "old")
    write_tar(archives / "tiny.tar.xz", {"tiny/a/1": b"two"})
    with pytest.raises(
        fetch.FetchError, match=r"has SHA-256 [0-9a-f]{64}, not [0-9a-f]{64} as in checksums\.toml"
    ):
        bring(recipe(), store, archives)
    assert sorted(path.name for path in store.iterdir()) == ["checksums.toml", "old"]


@pytest.mark.parametrize(
    "name", ["../escaped.txt", "/tmp/escaped.txt", "tiny/../../escaped.txt", "tiny\\..\\escaped"]
)
def test_path_traversal(store: Path, archives: Path, name: str) -> None:
    """A member that leads out of the folder is refused in a tar and in a zip archive, and nothing
    is written.
    """
    files = {"raw/a/1": b"one", name: b"gotcha"}
    write_tar(archives / "tiny.tar.gz", files)
    with zipfile.ZipFile(archives / "tiny.zip", "w") as file:
        for member, content in files.items():
            file.writestr(member, content)
    for wanted in (recipe(), recipe(archive="tiny.zip")):
        with pytest.raises(fetch.FetchError, match="leads out of its folder; not unpacked"):
            bring(wanted, store, archives)
    assert list(store.iterdir()) == []
    assert not list(archives.parent.glob("escaped*"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices(store: Path, archives: Path, kind: bytes) -> None:
    """An archive with a link or a device is refused, wherever the link may lead."""
    with tarfile.open(archives / "tiny.tar.gz", "w:gz") as tar:
        member = tarfile.TarInfo("raw/a")
        member.type = kind
        member.linkname = "/etc"
        tar.addfile(member)
    with pytest.raises(fetch.FetchError, match="'raw/a', a link or a device"):
        bring(recipe(), store, archives)


@pytest.mark.parametrize(
    ("name", "archive", "content", "message"),
    [
        ("rt-s", "rt-s.tar.xz", b"", "cannot be unpacked"),
        ("rt-s", "rt-s.tar.xz", b"\xfd7zXZ\x00 cut short", "cannot be unpacked"),
        ("20news", "20news-bydate.tar.gz", b"not even an archive", STATED),
    ],
)
def test_broken_archive(
    store: Path, archives: Path, name: str, archive: str, content: bytes, message: str
) -> None:
    """It is one line, leaves nothing behind and is not recorded, so that a whole one can follow. If
    recipes.toml states the checksum of an archive, another one is refused before it is unpacked.
    """
    (archives / archive).write_bytes(content)
    done = run(name, into=store, archives=archives)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{name}: {archive} ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(store.iterdir()) == []


class Response(io.BytesIO):
    """What urllib's opener returns, as far as it is used."""

    def __init__(self, content: bytes, *, length: int | None = None) -> None:
        super().__init__(content)
        self.headers = {} if length is None else {"Content-Length": str(length)}


def test_download(store: Path, archives: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A download is bounded, has to be whole, and is unpacked like an archive from a folder."""
    content = write_tar(archives / "tiny.tar.gz", {"raw/a/1": b"one"}).read_bytes()
    bad = {
        "ended 1 bytes early; try again": Response(content, length=len(content) + 1),
        "is longer than the 1 MB of recipes.toml": Response(bytes(1_000_001)),
    }
    for message, response in bad.items():
        monkeypatch.setattr(fetch, "open_url", lambda url, response=response: response)
        with pytest.raises(fetch.FetchError, match=message):
            bring(recipe(), store, None)
        assert list(store.iterdir()) == []
    monkeypatch.setattr(fetch, "open_url", lambda url: Response(content, length=len(content)))
    assert bring(recipe(sha256=hashlib.sha256(content).hexdigest()), store, None)
    assert (store / "tiny/a/1").read_bytes() == b"one"
    assert fetch.read_checksums(store) == {}, "a stated checksum need not be recorded"


def test_https_only() -> None:
    """Neither an address nor a redirection may lead to anything but https."""
    with pytest.raises(fetch.FetchError, match="only https is"):
        fetch.open_url("http://example.org/tiny.tar.gz")
    request = fetch.urllib.request.Request("https://example.org/")
    for url in ("http://example.org/", "ftp://example.org/", "file:///etc/passwd"):
        with pytest.raises(fetch.FetchError, match="only https is"):
            fetch.HttpsRedirects().redirect_request(request, io.BytesIO(), 302, "Found", {}, url)

"""The fetching of public corpora, from small archives made here."""

import dataclasses
import hashlib
import importlib.util
import io
import os
import stat
import subprocess
import sys
import tarfile
import urllib.error
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


def test_unpacked_size(store: Path, archives: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive that would unpack to more bytes or more files than a corpus should is refused."""
    write_tar(archives / "tiny.tar.gz", {"raw/a/1": bytes(1000), "raw/a/2": bytes(1000)})
    for limit, value in (("LONGEST_UNPACKED", 1500), ("MAX_MEMBERS", 1)):
        with monkeypatch.context() as patch:
            patch.setattr(fetch, limit, value)
            with pytest.raises(fetch.FetchError, match="more than a corpus should"):
                bring(recipe(), store, archives)
    assert bring(recipe(), store, archives)


def test_missing_archive(store: Path, archives: Path) -> None:
    """A missing archive is one line that names it, the folder and the ways out; the other corpora
    still come.
    """
    write_tar(archives / "rt-2k.tar.xz", {"rt-2k/neg/a.txt": b"bad\n"})
    done = run("sms-spam", "rt-2k", into=store, archives=archives)
    assert done.returncode == 1
    missing, brought = done.stderr.splitlines()
    assert missing == (
        f"sms-spam: {archives} holds neither sms-spam.tar.xz nor sms+spam+collection.zip; put one of them there, "
        "or unset NBTEXT_CORPORA to download https://archive.ics.uci.edu/static/public/228/sms+spam+collection.zip"
    )
    assert brought.startswith("rt-2k: now in ")
    nowhere = run("rt-s", into=store, archives=archives / "nowhere")
    assert nowhere.returncode == 1
    assert "which is not a folder; name the folder that holds the archives" in nowhere.stderr


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


def test_unknown_name(store: Path, archives: Path) -> None:
    """A name that no recipe has is wrong usage, and the line lists the names."""
    done = run("rt-3", into=store, archives=archives)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert (
        "rt-3: no corpus of that name; choose from 20news, sms-spam, imdb, rt-2k, rt-s"
        in done.stderr
    )


def test_wrong_folder_inside(store: Path, archives: Path) -> None:
    """NAME.tar.xz has to hold the folder NAME, and a public archive what its recipe keeps."""
    write_tar(archives / "tiny.tar.xz", {"other/a/1": b"one"})
    with pytest.raises(fetch.FetchError, match="does not unpack to a folder tiny"):
        bring(recipe(), store, archives)
    (archives / "tiny.tar.xz").unlink()
    write_tar(archives / "tiny.tar.gz", {"other/a/1": b"one"})
    with pytest.raises(
        fetch.FetchError,
        match=r"tiny\.tar\.gz holds no raw/a; its layout is not that of recipes\.toml",
    ):
        bring(recipe(), store, archives)


def test_public_layouts(store: Path, archives: Path) -> None:
    """From each public archive what its recipe keeps is taken, under the names that it gives, and
    nothing else.
    """
    for wanted in fetch.read_recipes().values():
        files = {
            f"{source}/1" if Path(source).name in FOLDERS else source: b"first \x85 one\r\nsecond\n"
            for source in wanted.keep
        }
        if wanted.archive.endswith(".zip"):
            files = dict.fromkeys(wanted.keep, b"ham\tHello\n")
            with zipfile.ZipFile(archives / wanted.archive, "w") as file:
                for name, content in files.items():
                    file.writestr(name, content)
        else:
            write_tar(archives / wanted.archive, files | {"superfluous/file": b"x"})
        assert bring(dataclasses.replace(wanted, sha256=""), store, archives)
    places = {str(path.relative_to(store)) for path in store.glob("*/**/*") if path.is_file()}
    assert places == {
        "20news/train/1",
        "20news/test/1",
        "sms-spam/SMSSpamCollection",
        "sms-spam/readme",
        "imdb/README",
        *(f"imdb/{half}/{label}/1" for half in ("train", "test") for label in ("neg", "pos")),
        "rt-2k/neg/1",
        "rt-2k/pos/1",
        *(f"rt-s/{label}/0000{number}.txt" for label in ("neg", "pos") for number in (0, 1)),
    }
    assert (store / "rt-s/neg/00000.txt").read_bytes() == b"first \x85 one\n"
    assert (store / "rt-s/neg/00001.txt").read_bytes() == b"second\n"


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


def test_no_network(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a network the line names the address and says what NBTEXT_CORPORA could do."""

    def fail(url: str) -> Response:
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr(fetch, "open_url", fail)
    with pytest.raises(fetch.FetchError) as caught:
        bring(recipe(), store, None)
    assert str(caught.value) == (
        "cannot download https://example.org/tiny.tar.gz (<urlopen error no route to host>); without a network, "
        "set NBTEXT_CORPORA to a folder that holds tiny.tar.xz or tiny.tar.gz"
    )


def test_https_only() -> None:
    """Neither an address nor a redirection may lead to anything but https."""
    with pytest.raises(fetch.FetchError, match="only https is"):
        fetch.open_url("http://example.org/tiny.tar.gz")
    request = fetch.urllib.request.Request("https://example.org/")
    for url in ("http://example.org/", "ftp://example.org/", "file:///etc/passwd"):
        with pytest.raises(fetch.FetchError, match="only https is"):
            fetch.HttpsRedirects().redirect_request(request, io.BytesIO(), 302, "Found", {}, url)


def test_recipes() -> None:
    """Every recipe is complete: https, a size, a SHA-256 with its source or neither; and the README
    lists it.
    """
    readme = (CORPORA / "README.md").read_text(encoding="utf-8")
    for name, wanted in fetch.read_recipes().items():
        assert wanted.url.startswith("https://") and wanted.license and wanted.title and wanted.keep
        assert 0 < wanted.megabytes < 100
        assert bool(wanted.sha256) == bool(wanted.stated_by)
        assert len(wanted.sha256) in (0, 64)
        assert f"| `{name}` |" in readme and f"[{wanted.archive}]({wanted.url})" in readme

"""The fetching of public corpora, from small archives made here."""

import importlib.util
import io
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

spec = importlib.util.spec_from_file_location(
    "corpora_fetch", Path(__file__).parents[2] / "corpora" / "fetch.py"
)
assert spec is not None and spec.loader is not None
fetch = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = fetch  # dataclasses look their module up
spec.loader.exec_module(fetch)


def bring(folder: Path, archive: str, sha256: str = "") -> Any:
    """Fetch a corpus from an archive in a folder, of which it keeps the folder `raw/a`."""
    url = f"https://example.org/{archive}"
    recipe = fetch.Recipe("tiny", "Tiny", archive, url, "none", 1, sha256, "", {"raw/a": "a"})
    return fetch.fetch(recipe, folder / "store", archives=folder, progress=lambda _: None)


def write_tar(path: Path, *names: str, kind: bytes = tarfile.REGTYPE) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            member = tarfile.TarInfo(name)
            member.type = kind
            member.linkname = "/etc"
            tar.addfile(member, io.BytesIO())


def test_an_archive_becomes_a_folder(tmp_path: Path) -> None:
    """A corpus that is there is left alone; another archive than the first one is refused."""
    write_tar(tmp_path / "tiny.tar.gz", "raw/a/1")
    assert bring(tmp_path, "tiny.tar.gz")
    assert not bring(tmp_path, "tiny.tar.gz")
    store = tmp_path / "store"
    assert sorted(path.name for path in store.iterdir()) == ["checksums.toml", "tiny"]
    assert (store / "tiny" / "a" / "1").is_file()
    (store / "tiny").rename(store / "old")
    write_tar(tmp_path / "tiny.tar.gz", "raw/a/2")
    with pytest.raises(fetch.FetchError, match=r"not [0-9a-f]{64} as in checksums\.toml"):
        bring(tmp_path, "tiny.tar.gz")
    with pytest.raises(fetch.FetchError, match=r"not 00 as in recipes\.toml"):
        bring(tmp_path, "tiny.tar.gz", "00")


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "tiny/../../escaped"])
def test_hostile_archives_are_refused(tmp_path: Path, name: str) -> None:
    """Paths that lead out, links, and files that are not archives; nothing is written."""
    write_tar(tmp_path / "path.tar.gz", "raw/a/1", name)
    with zipfile.ZipFile(tmp_path / "path.zip", "w") as file:
        file.writestr(name, "gotcha")
    write_tar(tmp_path / "link.tar.gz", "raw/a", kind=tarfile.SYMTYPE)
    (tmp_path / "text.tar.gz").write_text("not even an archive")
    for archive, says in (
        ("path.tar.gz", "leads out of its folder; not unpacked"),
        ("path.zip", "leads out of its folder; not unpacked"),
        ("link.tar.gz", "'raw/a', a link or a device"),
        ("text.tar.gz", "cannot be unpacked"),
    ):
        with pytest.raises(fetch.FetchError, match=says):
            bring(tmp_path, archive)
    assert list((tmp_path / "store").iterdir()) == []


def test_https_only() -> None:
    with pytest.raises(fetch.FetchError, match="only https is"):
        fetch.open_url("http://example.org/tiny.tar.gz")

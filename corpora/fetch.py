"""Fetch the public corpora of recipes.toml: download, check, unpack, put in place.

    python corpora/fetch.py [NAME...]     every corpus where none is named
    make corpora                          the same

A corpus becomes the folder .corpora/NAME, whole or not at all; one that is there already is left
alone. NBTEXT_CORPORA=DIR takes the archives from the folder DIR instead of the network. An archive
is accepted only if its SHA-256 is the one in recipes.toml or, where none is stated, the one that
the first fetch recorded.

Needs Python's standard library and nothing else, nbtext included.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import lzma
import os
import sys
import tarfile
import tempfile
import tomllib
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

RECIPES = Path(__file__).with_name("recipes.toml")
STORE = Path(__file__).resolve().parents[1] / ".corpora"
CHECKSUMS = "checksums.toml"
MEGABYTE = 1_000_000
LONGEST_UNPACKED = 1_000 * MEGABYTE
MAX_MEMBERS = 200_000
TIMEOUT = 30.0  # seconds without a byte
CHUNK = 1 << 16
BROKEN_ARCHIVE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    NotImplementedError,
)

Progress = Callable[[str], None]


class FetchError(Exception):
    """A corpus that cannot be had; the message says what would help."""


@dataclass(frozen=True)
class Recipe:
    """One table of recipes.toml, whose head explains the fields."""

    name: str
    title: str
    archive: str
    url: str
    license: str
    megabytes: int
    sha256: str
    stated_by: str
    keep: Mapping[str, str] = field(default_factory=dict)
    split_lines: bool = False


def read_recipes(path: Path = RECIPES) -> dict[str, Recipe]:
    """The recipes by name, in the order of the file."""
    with path.open("rb") as file:
        return {name: Recipe(name, **table) for name, table in tomllib.load(file).items()}


def fetch(recipe: Recipe, store: Path, *, archives: Path | None, progress: Progress) -> bool:
    """Make `store`/NAME from an archive in the folder `archives`, or from the network where that is
    None.

    returns  False where the corpus was there already
    raises   FetchError, OSError; nothing of the corpus is left behind then
    """
    if (store / recipe.name).exists():
        return False
    store.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{recipe.name}-", dir=store) as room:
        work = Path(room)
        archive = (
            download(recipe, work, progress) if archives is None else find_archive(recipe, archives)
        )
        progress(f"checking and unpacking {archive.name}")
        new_checksum = check(archive, recipe, read_checksums(store))
        unpack(archive, work / "unpacked")
        tree = arrange(
            recipe, work / "unpacked", work / "tree", is_ready=archive.name != recipe.archive
        )
        if new_checksum:
            record_checksum(store, archive.name, new_checksum)
        tree.rename(store / recipe.name)
    return True


def find_archive(recipe: Recipe, archives: Path) -> Path:
    """NAME.tar.xz, or else the public archive under its own name, in a folder of archives."""
    if not archives.is_dir():
        raise FetchError(
            f"NBTEXT_CORPORA is {archives}, which is not a folder; name the folder that holds the archives"
        )
    names = (f"{recipe.name}.tar.xz", recipe.archive)
    for name in names:
        if (archives / name).is_file():
            return archives / name
    raise FetchError(
        f"{archives} holds neither {names[0]} nor {names[1]}; put one of them there, "
        f"or unset NBTEXT_CORPORA to download {recipe.url}"
    )


class HttpsRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirection to https and to nothing else."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        require_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def require_https(url: str) -> None:
    if urlsplit(url).scheme != "https":
        raise FetchError(f"refused to download {url}: only https is")


def open_url(url: str) -> Any:
    """The response to a GET request, its body still to be read."""
    require_https(url)
    request = urllib.request.Request(url, headers={"User-Agent": "nbtext-corpora"})
    return urllib.request.build_opener(HttpsRedirects()).open(request, timeout=TIMEOUT)


def download(recipe: Recipe, folder: Path, progress: Progress) -> Path:
    """Write the public archive into a folder, no more than `megabytes` of it."""
    target = folder / recipe.archive
    n_bytes = 0
    with target.open("wb") as file:
        for chunk in body(recipe):
            n_bytes += len(chunk)
            if n_bytes > recipe.megabytes * MEGABYTE:
                raise FetchError(
                    f"{recipe.url} is longer than the {recipe.megabytes} MB of recipes.toml; not kept"
                )
            file.write(chunk)
            progress(f"{n_bytes / MEGABYTE:.1f} of at most {recipe.megabytes} MB")
    return target


def body(recipe: Recipe) -> Iterator[bytes]:
    """The bytes behind the recipe's URL; FetchError where the network fails or the body ends
    early.
    """
    try:
        with open_url(recipe.url) as response:
            n_missing = int(response.headers.get("Content-Length") or 0)
            is_length_known = n_missing > 0
            while chunk := response.read(CHUNK):
                n_missing -= len(chunk)
                yield chunk
        if is_length_known and n_missing > 0:
            raise FetchError(f"{recipe.url} ended {n_missing} bytes early; try again")
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise FetchError(
            f"cannot download {recipe.url} ({error}); without a network, "
            f"set NBTEXT_CORPORA to a folder that holds {recipe.name}.tar.xz or {recipe.archive}"
        ) from error


def check(archive: Path, recipe: Recipe, recorded: Mapping[str, str]) -> str | None:
    """Compare an archive's SHA-256 with the one stated or recorded.

    returns  the checksum to record, None where one is known already
    raises   FetchError: it is another one
    """
    with archive.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    is_stated = archive.name == recipe.archive and recipe.sha256 != ""
    expected = recipe.sha256 if is_stated else recorded.get(archive.name)
    if expected is None:
        return found
    if found != expected:
        source = (
            RECIPES.name
            if is_stated
            else f"{CHECKSUMS} (delete its line there if the archive was meant to change)"
        )
        raise FetchError(
            f"{archive.name} has SHA-256 {found}, not {expected} as in {source}; not unpacked"
        )
    return None


def read_checksums(store: Path) -> dict[str, str]:
    """The checksums that earlier fetches recorded, by archive name."""
    try:
        checksums = tomllib.loads((store / CHECKSUMS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise FetchError(
            f"{store / CHECKSUMS} is not valid TOML ({error}); repair or delete it"
        ) from error
    return {name: str(checksum) for name, checksum in checksums.items()}


def record_checksum(store: Path, archive: str, checksum: str) -> None:
    checksums = read_checksums(store) | {archive: checksum}
    draft = store / f".{CHECKSUMS}.{os.getpid()}"
    draft.write_text(
        "".join(f'"{name}" = "{value}"\n' for name, value in sorted(checksums.items())),
        encoding="utf-8",
    )
    draft.replace(store / CHECKSUMS)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar or zip archive of plain files and folders; whatever else it holds is refused."""
    folder.mkdir()
    try:
        if archive.suffix == ".zip":
            unpack_zip(archive, folder)
        else:
            unpack_tar(archive, folder)
    except BROKEN_ARCHIVE as error:
        raise FetchError(f"{archive.name} cannot be unpacked ({error}); fetch it again") from error


def unpack_tar(archive: Path, folder: Path) -> None:
    if not hasattr(tarfile, "data_filter"):
        raise FetchError("Python 3.11.4 or later is needed to unpack a tar archive safely")
    budget = UnpackingBudget(archive.name)
    with tarfile.open(archive) as tar:
        for member in tar:
            budget.spend(member.name, member.size)
            if not (member.isfile() or member.isdir()):
                raise FetchError(
                    f"{archive.name} holds {member.name!r}, a link or a device; not unpacked"
                )
            tar.extract(member, folder, filter="data")


def unpack_zip(archive: Path, folder: Path) -> None:
    budget = UnpackingBudget(archive.name)
    with zipfile.ZipFile(archive) as file:
        for member in file.infolist():
            budget.spend(member.filename, member.file_size)
            file.extract(member, folder)


class UnpackingBudget:
    """What an archive may still write: within its folder, so many members, so many bytes."""

    def __init__(self, archive: str) -> None:
        self.archive = archive
        self.n_members = MAX_MEMBERS
        self.n_bytes = LONGEST_UNPACKED

    def spend(self, name: str, size: int) -> None:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name:
            raise FetchError(
                f"{self.archive} holds {name!r}, which leads out of its folder; not unpacked"
            )
        self.n_members -= 1
        self.n_bytes -= size
        if min(self.n_members, self.n_bytes) < 0:
            raise FetchError(f"{self.archive} unpacks to more than a corpus should; not unpacked")


def arrange(recipe: Recipe, unpacked: Path, tree: Path, *, is_ready: bool) -> Path:
    """Bring what was unpacked into the corpus's layout; an archive NAME.tar.xz has it already."""
    if is_ready:
        if not (unpacked / recipe.name).is_dir():
            raise FetchError(
                f"{recipe.name}.tar.xz does not unpack to a folder {recipe.name}; pack it with that folder"
            )
        return unpacked / recipe.name
    tree.mkdir()
    for source, place in recipe.keep.items():
        if not (unpacked / source).exists():
            raise FetchError(
                f"{recipe.archive} holds no {source}; its layout is not that of recipes.toml"
            )
        target = tree / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if recipe.split_lines:
            split_lines(unpacked / source, target)
        else:
            (unpacked / source).rename(target)
    return tree


def split_lines(source: Path, folder: Path) -> None:
    """Write each line of a file as a document of its own, byte for byte but for the line's end."""
    folder.mkdir()
    # not splitlines(): in Latin-1 the byte 0x85 is a letter's neighbor, not the end of a line
    for number, line in enumerate(source.read_bytes().removesuffix(b"\n").split(b"\n")):
        (folder / f"{number:05}.txt").write_bytes(line.removesuffix(b"\r") + b"\n")


def shown_progress(name: str) -> Progress:
    """Show progress on standard error, rewriting one line of a terminal, in silence elsewhere."""

    def show(message: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{name}: {message}")
            sys.stderr.flush()

    return show


def say(message: str) -> None:
    sys.stderr.write(("\r\x1b[K" if sys.stderr.isatty() else "") + message + "\n")


def fetch_all(recipes: Sequence[Recipe], store: Path, archives: Path | None) -> int:
    """Fetch the corpora one after the other, and report each result.

    After a failure, the others are fetched nevertheless.

    returns  the exit status: 0, or 1 where a corpus is missing
    """
    status = 0
    for recipe in recipes:
        try:
            is_new = fetch(recipe, store, archives=archives, progress=shown_progress(recipe.name))
        except (FetchError, OSError) as error:
            say(f"{recipe.name}: {' '.join(str(error).split())}")
            status = 1
        else:
            say(
                f"{recipe.name}: {'now' if is_new else 'already'} in {store / recipe.name}; license: {recipe.license}"
            )
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        description="Fetch the public corpora of recipes.toml into .corpora/."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a table of recipes.toml (default: all of them)"
    )
    parser.add_argument(
        "--into",
        type=Path,
        default=STORE,
        metavar="DIR",
        help="the folder to fill (default: .corpora)",
    )
    options = parser.parse_args(arguments)
    recipes = read_recipes()
    for name in options.names:
        if name not in recipes:
            say(f"{name}: no corpus of that name; choose from {', '.join(recipes)}")
            return 2
    folder = os.environ.get("NBTEXT_CORPORA")
    try:
        chosen = [recipes[name] for name in options.names or recipes]
        return fetch_all(chosen, options.into, Path(folder) if folder else None)
    except KeyboardInterrupt:
        say("interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main())

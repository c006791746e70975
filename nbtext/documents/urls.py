"""Sources by URL, of any kind for which fsspec has a file system, as streams of bytes."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

from nbtext.errors import InputError, MissingExtra, NbtextError

DRIVERS = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "hdfs": "pyarrow",
    "abfs": "adlfs",
    "az": "adlfs",
}
HTTP = ("http", "https")
BLOCK_BYTES = 8 << 20  # asked for at once, where ranges are

_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_credentials = re.compile(r"(?<=://)[^/\s@]*@|\?[^\s'\"]*")


def is_url(path: str) -> bool:
    """Whether a SOURCE is named by a URL."""
    return _scheme.match(path) is not None


def shown(path: str) -> str:
    """Return a path as ids and errors name it: a URL without its user, password and query."""
    return _credentials.sub("", path).partition("#")[0] if is_url(path) else path


class Remote(NamedTuple):
    """A file of some file system.

    system  fsspec's
    path    in it
    """

    system: Any
    path: str
    is_http: bool


def remote(url: str) -> Remote:
    """Return the file system and the path of a URL; nothing is requested yet.

    raises  MissingExtra: fsspec is not installed; InputError: no library for such URLs is installed
    """
    scheme = url.partition("://")[0].lower()
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingExtra(f"reading {scheme}:// URLs", library="fsspec", extra="url") from None
    try:
        with explained(url):
            system, path = url_to_fs(url)
            return Remote(system, path, scheme in HTTP)
    except ImportError as error:
        driver = DRIVERS.get(scheme) or (error.name or "another library")
        hint = f"install it with: pip install {driver}"
        raise InputError(f"{scheme}:// needs {driver}", where=shown(url), hint=hint) from None


def open_remote(url: str, offset: int) -> tuple[IO[bytes], int | None]:
    """Return a file at a URL, to be read from this byte on, and its size where that is known.

    HTTP from the first byte on is one plain request, which servers without ranges answer too.
    """
    system, path, is_http = remote(url)
    with explained(url):
        size = system.size(path)
        file: IO[bytes] = system.open(path, "rb", block_size=0 if is_http and not offset else BLOCK_BYTES)
        if offset:
            file.seek(offset)
        return file, size


def has_ranges(url: str) -> bool:
    """Whether the file at a URL can be read from any byte on. An HTTP server must say so."""
    system, path, is_http = remote(url)
    if not is_http:
        return True
    with explained(url):
        return _ranges_answered(system, path)


def _ranges_answered(system: Any, path: str) -> bool:
    """Whether a server answers a request for the second byte with that byte alone."""
    from fsspec.asyn import sync

    async def ask() -> bool:
        session = await system.set_session()
        async with session.get(system.encode_url(path), headers={"Range": "bytes=1-1"}) as answer:
            return bool(answer.status == 206)

    return bool(sync(system.loop, ask))


def remote_size(url: str) -> int | None:
    """Return the size in bytes of the file at a URL; None where the server does not tell."""
    system, path, _ = remote(url)
    with explained(url):
        size: int | None = system.size(path)
        return size


def is_folder(url: str) -> bool:
    """Whether a URL means a folder. HTTP has none.

    raises  InputError: it does not exist, or cannot be read
    """
    system, path, is_http = remote(url)
    with explained(url):
        return not is_http and bool(system.isdir(path))


def files_below(url: str) -> list[list[str]]:
    """Return the path of each file below a folder, as a list of names; sorted."""
    system, path, _ = remote(url)
    with explained(url):
        root = system._strip_protocol(path).rstrip("/") + "/"
        return sorted(found.removeprefix(root).split("/") for found in system.find(path))


def read_url(url: str, limit: int) -> bytes | int:
    """Return the bytes of a file, or EFBIG where it has more than `limit`.

    raises  InputError: it cannot be read
    """
    file, _ = open_remote(url, 0)
    with explained(url), file:
        content, block = b"", b"-"
        while block and len(content) <= limit:
            block = file.read(limit + 1 - len(content))
            content += block
    return content if len(content) <= limit else errno.EFBIG


@contextmanager
def explained(url: str) -> Iterator[None]:
    """Turn any error of a file system into an InputError of one line without credentials."""
    try:
        yield
    except (NbtextError, ImportError, MemoryError):
        raise
    except FileNotFoundError:
        raise InputError("cannot be read: there is no such file", where=shown(url), hint="check the URL") from None
    except Exception as error:
        said = _credentials.sub("", str(error).partition("\n")[0]).replace(url, shown(url))
        reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
        raise InputError(f"cannot be read: {reason}", where=shown(url), hint="check the URL") from None

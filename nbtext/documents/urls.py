"""Sources at URLs, of any scheme for which fsspec has a file system."""

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
DATABASES = ("sqlite", "postgresql", "mysql", "mariadb", "oracle", "mssql", "duckdb", "snowflake", "redshift")
BLOCK_BYTES = 8 << 20  # of one range request

SCHEME, CREDENTIALS = r"([A-Za-z][A-Za-z0-9+.-]+)://", r"(?<=://)[^/\s@]*@|\?[^\s'\"]*"


def is_url(path: str) -> bool:
    """Return whether a SOURCE is a URL."""
    return "://" in path and re.match(SCHEME, path) is not None


def is_database_url(path: str) -> bool:
    """Whether a SOURCE is the URL of a database, whose scheme may name a driver too: postgresql+psycopg."""
    return is_url(path) and path.partition(":")[0].partition("+")[0].lower() in DATABASES


def hide_credentials(path: str) -> str:
    """Return a path for ids and errors: a URL without its user, password and query."""
    return re.sub(CREDENTIALS, "", path).partition("#")[0] if is_url(path) else path


class Remote(NamedTuple):
    """A file of a remote file system.

    Attributes
    ----------
    system : Any
        An fsspec.AbstractFileSystem.
    path : str
        The path in the file system.
    is_http : bool
    """

    system: Any
    path: str
    is_http: bool


def resolve_url(url: str) -> Remote:
    """Return the file system and the path of a URL, without a request.

    Raises
    ------
    MissingExtra
        The library fsspec is not installed.
    InputError
        No library for such URLs is installed.
    """
    scheme = url.partition("://")[0].lower()
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingExtra(f"reading {scheme}:// URLs", library="fsspec", extra="url") from None
    try:
        with convert_errors(url):
            system, path = url_to_fs(url)
            return Remote(system, path, scheme in HTTP)
    except ImportError as error:
        driver = DRIVERS.get(scheme) or (error.name or "another library")
        hint = f"install it with: pip install {driver}"
        raise InputError(
            f"{scheme}:// needs the package {driver}, which is not installed", where=hide_credentials(url), hint=hint
        ) from None


def open_remote(url: str, offset: int) -> tuple[IO[bytes], int | None]:
    """Open a file at a URL, positioned at the byte `offset`; return it with its size, None if that is unknown.

    HTTP at offset 0 uses one plain request, which works with servers that have no range requests.
    """
    system, path, is_http = resolve_url(url)
    with convert_errors(url):
        size = system.size(path)
        file: IO[bytes] = system.open(path, "rb", block_size=0 if is_http and not offset else BLOCK_BYTES)
        if offset:
            file.seek(offset)
        return file, size


def open_seekable(url: str) -> IO[bytes]:
    """Open a file at a URL, to be read at any place by range requests."""
    system, path, _ = resolve_url(url)
    with convert_errors(url):
        file: IO[bytes] = system.open(path, "rb", block_size=BLOCK_BYTES)
        return file


def has_ranges(url: str) -> bool:
    """Return whether the file at a URL can be read from any byte on; an HTTP server is asked."""
    system, path, is_http = resolve_url(url)
    if not is_http:
        return True
    with convert_errors(url):
        from fsspec.asyn import sync

        async def ask() -> bool:
            session = await system.set_session()
            async with session.get(system.encode_url(path), headers={"Range": "bytes=1-1"}) as answer:
                return bool(answer.status == 206)

        return bool(sync(system.loop, ask))


def remote_size(url: str) -> int | None:
    """Return the size in bytes of the file at a URL; None if the server does not state it."""
    system, path, _ = resolve_url(url)
    with convert_errors(url):
        size: int | None = system.size(path)
        return size


def is_folder(url: str) -> bool:
    """Return whether a URL names a folder; HTTP has no folders.

    Raises
    ------
    InputError
        The URL does not exist or cannot be read.
    """
    system, path, is_http = resolve_url(url)
    with convert_errors(url):
        return not is_http and bool(system.isdir(path))


def list_files(url: str) -> list[list[str]]:
    """Return the relative path of each file below a folder, as a list of names; sorted."""
    system, path, _ = resolve_url(url)
    with convert_errors(url):
        root = system._strip_protocol(path).rstrip("/") + "/"
        return sorted(name.removeprefix(root).split("/") for name in system.find(path))


def read_url(url: str, limit: int) -> bytes | int:
    """Return the bytes of a file, or the error number EFBIG if it has more than `limit` bytes.

    Raises
    ------
    InputError
        The URL cannot be read.
    """
    file, _ = open_remote(url, 0)
    with convert_errors(url), file:
        content, block = b"", b"-"
        while block and len(content) <= limit:
            block = file.read(limit + 1 - len(content))
            content += block
    return content if len(content) <= limit else errno.EFBIG


@contextmanager
def convert_errors(url: str) -> Iterator[None]:
    """Convert any error of a file system into an InputError of one line, without credentials."""
    try:
        yield
    except (NbtextError, ImportError, MemoryError):
        raise
    except FileNotFoundError:
        raise InputError(
            "cannot be read: there is no such file", where=hide_credentials(url), hint="check the URL"
        ) from None
    except Exception as error:
        message = re.sub(CREDENTIALS, "", str(error).partition("\n")[0]).replace(url, hide_credentials(url))
        reason = f"{type(error).__name__}: {message}" if message else type(error).__name__
        raise InputError(f"cannot be read: {reason}", where=hide_credentials(url), hint="check the URL") from None

"""The text of PDF and Word files, extracted by pypdf and python-docx (the extra `office`) in processes of their own.

The libraries read structures of any size and depth, so a file of a few kilobytes can cost them minutes and gigabytes.
Each process limits its memory, and the CPU time of each file (`office_worker`). If it ends, that file was too complex.
"""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from threading import Lock

import nbtext
from nbtext.documents.decompression import too_long
from nbtext.documents.recognition import OFFICE, PDF, ZIP_MAGIC, Kind

MAX_FILES = 500  # that one process reads: what the libraries keep of each is freed with it
START = "import sys; sys.path.append(sys.argv[1]); from nbtext.documents.office_worker import main; main()"
NUMBER_BYTES = 8
NAMES = {PDF: "PDF file", OFFICE: "Word file"}
TEXT, TOO_LONG, TOO_COMPLEX, NOT_INSTALLED = b"t", b"l", b"c", b"n"  # answers of a worker; the others are FAILURES
FAILURES = {  # how each is described: a file of a directory is skipped, another one is refused
    b"e": ("encrypted {}", "save it without a password"),
    b"i": ("empty or scanned {}", "recognize the text of a scan first, for example with ocrmypdf"),
    b"b": ("broken {}", "open it in a viewer, and save it again"),
    b"o": ("office document", "save it as plain text, or a table as CSV"),
    TOO_COMPLEX: ("too complex {}", "extract its text first, for example with pdftotext or pandoc"),
}


def is_readable(kind: Kind | None, content: bytes) -> bool:
    """Return whether the text of a file can be extracted: it may be a PDF or Word file, and the library is installed.

    Parameters
    ----------
    kind : Kind, optional
        As `recognize` returns it.
    content : bytes
        The file, or its first bytes.
    """
    if kind is PDF:
        return _is_installed("pypdf")
    return kind is OFFICE and content.startswith(ZIP_MAGIC) and _is_installed("docx")


@cache
def _is_installed(library: str) -> bool:
    return find_spec(library) is not None


def extract_text(kind: Kind, content: bytes, limit: int) -> str | Kind:
    """Return the text of a file that `is_readable`, with a line for each paragraph; otherwise what the file is.

    Parameters
    ----------
    kind : Kind
        PDF or OFFICE.
    limit : int
        The maximum size of the text in bytes, and of a Word file when it is decompressed.

    Raises
    ------
    InputError
        The text is larger.
    """
    worker = _take_worker()
    answer, text = worker.ask(b"p" if kind is PDF else b"w", limit, content)
    if worker.is_usable:
        with _lock:
            _idle.append(worker)
    else:
        worker.close()
    if answer == TOO_LONG:
        raise too_long(limit)
    if answer == TEXT:
        return text.decode()
    if answer == NOT_INSTALLED:
        return kind
    name, hint = FAILURES[answer]
    return Kind(name.format(NAMES[kind]), hint)


class _Worker:
    """A process that extracts the texts of files, one after the other."""

    def __init__(self) -> None:
        import subprocess

        folder = os.path.dirname(os.path.dirname(os.path.abspath(nbtext.__file__)))
        # -P: files in the current folder are not imported
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            close_fds=True,
        )
        self._n_files = 0
        self.is_usable = True

    def ask(self, kind: bytes, limit: int, content: bytes) -> tuple[bytes, bytes]:
        """Return the answer for a file, and its text."""
        self._n_files += 1
        self.is_usable = self._n_files < MAX_FILES
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(kind + limit.to_bytes(NUMBER_BYTES) + len(content).to_bytes(NUMBER_BYTES))
            stdin.write(content)
            stdin.flush()
            answer, size = stdout.read(1), stdout.read(NUMBER_BYTES)
            text = stdout.read(int.from_bytes(size))
        except (OSError, ValueError):
            answer = b""
        if answer == b"" or len(text) < int.from_bytes(size):
            self.is_usable = False
            return TOO_COMPLEX, b""
        return answer, text

    def close(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        self._process.kill()
        self._process.wait()


_lock = Lock()
_idle: list[_Worker] = []  # as many as threads have read at the same time


def _take_worker() -> _Worker:
    with _lock:
        return _idle.pop() if _idle else _Worker()


@atexit.register
def _close_workers() -> None:
    while _idle:
        _idle.pop().close()

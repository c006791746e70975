"""The text of PDF and Word files, extracted by pypdf and python-docx (the extra `office`) in processes of their own.

The libraries read structures of any size and depth, so a file of a few kilobytes can cost them minutes and gigabytes.
Each process limits its memory, and the CPU time of each file (`work`). If it ends, that file was too complex.

A request on its standard input is a letter for the kind of the file, the limit of the text, the size of the file, and
the file. The answer on standard output is a letter, the size of the text, and the text.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec

import nbtext
from nbtext.documents.decompression import too_long
from nbtext.documents.recognition import OFFICE, PDF, ZIP_MAGIC, Kind

MAX_FILES = 500  # that one process reads: what the libraries keep of each is freed with it
START = "import sys; sys.path.append(sys.argv[1]); from nbtext.documents.office import work; work()"
NUMBER_BYTES = 8
NAMES = {PDF: "PDF file", OFFICE: "Word file"}
TEXT, TOO_LONG, NOT_INSTALLED = b"t", b"l", b"n"  # answers of a process; the others are FAILURES
ENCRYPTED, WITHOUT_TEXT, BROKEN, OTHER_OFFICE, TOO_COMPLEX = b"e", b"i", b"b", b"o", b"c"
MEMORY_BYTES = 1 << 30  # of address space, besides the file and its text
SECONDS = 30  # of CPU time for one file
MAX_MEMBERS, MAX_BYTES = 10_000, 1 << 28  # of a Word file, decompressed; each picture is a member
WORD_MEMBER = "word/document.xml"
FAILURES = {  # how each is described: a file of a directory is skipped, another one is refused
    ENCRYPTED: ("encrypted {}", "save it without a password"),
    WITHOUT_TEXT: ("empty or scanned {}", "recognize the text of a scan first, for example with ocrmypdf"),
    BROKEN: ("broken {}", "open it in a viewer, and save it again"),
    OTHER_OFFICE: ("office document", "save it as plain text, or a table as CSV"),
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
    try:
        worker = _idle.pop()  # one step, so that no other thread takes it, too
    except IndexError:
        worker = _Worker()
    answer, text = worker.ask(b"p" if kind is PDF else b"w", limit, content)
    if worker.is_usable:
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
        command, pipe = [sys.executable, "-P", "-c", START, folder], subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
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


_idle: list[_Worker] = []  # as many as threads have read at the same time


@atexit.register
def _close_workers() -> None:
    while _idle:
        _idle.pop().close()


class _Failure(Exception):
    """The text of a document cannot be extracted. `FAILURES` describes the reasons."""


def work() -> None:
    """Answer requests until standard input ends, in a process of its own."""
    import logging

    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints does not write into the answers
    logging.disable()
    while kind := requests.read(1):
        limit, size = (int.from_bytes(requests.read(NUMBER_BYTES)) for _ in range(2))
        _limit_memory(MEMORY_BYTES + 2 * size)
        with _limit_time():
            answer, text = _extract(kind, requests.read(size), limit)
        answers.write(answer + len(text).to_bytes(NUMBER_BYTES) + text)
        answers.flush()


def _limit_memory(n_bytes: int) -> None:
    """Limit the memory of this process. Windows has no such limit, and macOS may refuse it."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        soft = n_bytes if hard == resource.RLIM_INFINITY else min(n_bytes, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def _limit_time() -> Iterator[None]:
    """End this process when a file takes SECONDS of CPU time; on Windows, which has no such timer, of wall time."""
    import signal
    import threading

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        yield
        return
    timer = threading.Timer(SECONDS, os._exit, [1])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _extract(kind: bytes, content: bytes, limit: int) -> tuple[bytes, bytes]:
    """Return the answer, and the text in UTF-8."""
    try:
        text = _join(_read_pdf(content) if kind == b"p" else _read_word(content), limit)
    except _Failure as failure:
        return failure.args[0], b""
    except MemoryError:
        return TOO_COMPLEX, b""
    except ImportError:
        return NOT_INSTALLED, b""
    except Exception:  # the libraries do not document what broken files raise
        return BROKEN, b""
    return (TEXT, text) if text.strip() else (WITHOUT_TEXT, b"")


def _join(paragraphs: Iterable[str], limit: int) -> bytes:
    """Return paragraphs as lines of UTF-8."""
    text = bytearray()
    for paragraph in paragraphs:
        text += paragraph.encode("utf-8", "replace") + b"\n"
        if len(text) > limit:
            raise _Failure(TOO_LONG)
    return bytes(text)


def _read_pdf(content: bytes) -> Iterable[str]:
    import io

    from pypdf import PdfReader
    from pypdf.errors import DependencyError, LimitReachedError

    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):  # many files have a password for changes only
            raise _Failure(ENCRYPTED)
        for page in reader.pages:
            yield page.extract_text()
    except (DependencyError, NotImplementedError):  # an encryption that needs another library
        raise _Failure(ENCRYPTED) from None
    except LimitReachedError:
        raise _Failure(TOO_COMPLEX) from None


def _read_word(content: bytes) -> Iterable[str]:
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if WORD_MEMBER not in archive.namelist():
            raise _Failure(OTHER_OFFICE)
        if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_BYTES:
            raise _Failure(TOO_COMPLEX)
    from docx import Document
    from docx.oxml.ns import qn

    paragraphs = Document(io.BytesIO(content)).element.body.iter(qn("w:p"))
    fallback = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # repeats what stands before it
    for paragraph in paragraphs:
        if next(paragraph.iterancestors(fallback), None) is None:
            yield paragraph.text

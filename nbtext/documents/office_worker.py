"""The process that extracts the texts of PDF and Word files for `office`. It limits its own memory and CPU time.

A request on standard input is a letter for the kind of the file, the limit of the text, the size of the file, and the
file. The answer on standard output is a letter, the size of the text, and the text.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import signal
import sys
import threading
import zipfile
from collections.abc import Iterable, Iterator

from nbtext.documents.office import NOT_INSTALLED, NUMBER_BYTES, TEXT, TOO_COMPLEX, TOO_LONG

MEMORY_BYTES = 1 << 30  # of address space, besides the file and its text
SECONDS = 30  # of CPU time for one file
MAX_MEMBERS, MAX_BYTES = 10_000, 1 << 28  # of a Word file, decompressed; each picture is a member
WORD_MEMBER = "word/document.xml"
ENCRYPTED, WITHOUT_TEXT, BROKEN, OTHER_OFFICE = b"e", b"i", b"b", b"o"


class _Failure(Exception):
    """The text of a document cannot be extracted. `office.FAILURES` describes the reasons."""


def main() -> None:
    """Answer requests until standard input ends."""
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
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        soft = n_bytes if hard == resource.RLIM_INFINITY else min(n_bytes, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextlib.contextmanager
def _limit_time() -> Iterator[None]:
    """End this process when a file takes SECONDS of CPU time; on Windows, which has no such timer, of wall time."""
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
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if WORD_MEMBER not in archive.namelist():
            raise _Failure(OTHER_OFFICE)
        if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_BYTES:
            raise _Failure(TOO_COMPLEX)
    from docx import Document
    from docx.oxml.ns import qn

    document = Document(io.BytesIO(content))
    paragraphs = document.element.body.iter(qn("w:p"))
    fallback = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # repeats what stands before it
    for paragraph in paragraphs:
        if next(paragraph.iterancestors(fallback), None) is None:
            yield paragraph.text

"""Recognize files that are not documents: binary files, among them models and matrices.

The encoding of text that is not valid UTF-8 is named in a message, by charset-normalizer; text is
never decoded so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from nbtext.errors import InputError, hide_credentials, printable

# a file with a NUL among this many first bytes is binary; git and ripgrep use the same rule
HEAD_BYTES = 8192
ZIP_MAGIC = b"PK\x03\x04"
TAR_MAGICS = (b"ustar\x0000", b"ustar  \0")  # of POSIX and of GNU, in the first header
# pickle protocols; no text begins with these bytes
PICKLE_MAGICS = (b"\x80\x03", b"\x80\x04", b"\x80\x05")
TABLE_HINT = "name the file itself, or give --input-format"

SAMPLE_BYTES = 1 << 16  # of a file
# encodings in wide use
WIDELY_USED = (
    "cp1252 cp1250 iso8859_2 cp1254 cp1251 koi8_r koi8_u cp1253 cp1255 cp1256 cp874 cp932 euc_jp "
    "gb18030 big5 cp949"
)
MAX_GUESSES = 2  # which the library often confuses
MAX_SAMPLES = 20  # files


class Kind(NamedTuple):
    """A kind of file that is not a document.

    Attributes
    ----------
    name : str
        A noun phrase, in the singular.
    hint : str
        How to use its content; "" if there is no good way.
    """

    name: str
    hint: str = ""

    def describe(self) -> str:
        """Return the name with the hint, for a count of skipped files."""
        return f"{self.name} ({self.hint})" if self.hint else self.name

    def refuse(self, where: str = "") -> InputError:
        """Return the error for a file of this kind that was named as a SOURCE."""
        article = (
            "" if self.name.startswith("nbtext") else "an " if self.name[0] in "aeiou" else "a "
        )
        return InputError(f"is {article}{self.name}, not text", where=where, hint=self.hint)


PDF = Kind("PDF file", "extract its text first, for example with pdftotext")
OFFICE = Kind(
    "office document", "save it as plain text, for example with pandoc, or a table as CSV"
)
OLD_OFFICE = OFFICE._replace(
    hint=f"{OFFICE.hint}; a mail of Outlook (.msg) as .eml, for example with msgconvert"
)
OUTLOOK = Kind("mail archive of Outlook", "write it as mbox files, for example with readpst")
IMAGE = Kind("image")
ARCHIVE = Kind("archive", "unpack it first")
BINARY_FILE = Kind("binary file", "if it is text, name its --encoding")
MODEL_FILE = Kind("nbtext model")
PICKLE = Kind("pickle file")
MATRIX = Kind("nbtext matrix")
BROKEN_ZIP = Kind("broken zip file", "a .docx, .xlsx or .npz file is one, too: write it again")
OUTPUTS = (MODEL_FILE, MATRIX)  # of nbtext: not documents, so they have no record

FILE_MAGICS = {
    b"%PDF-": PDF,
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": OLD_OFFICE,
    b"!BDN": OUTLOOK,
    b"{\\rtf": OFFICE,
    b"\x89PNG\r\n\x1a\n": IMAGE,
    b"\xff\xd8\xff": IMAGE,
    b"GIF87a": IMAGE,
    b"GIF89a": IMAGE,
    b"II*\0": IMAGE,
    b"MM\0*": IMAGE,
    b"7z\xbc\xaf\x27\x1c": ARCHIVE,
    b"Rar!\x1a\x07": ARCHIVE,
    b"PAR1": Kind("Parquet file", TABLE_HINT),
    b"ARROW1\0\0": Kind("Arrow file", TABLE_HINT),
    b"SQLite format 3\0": Kind("SQLite database", TABLE_HINT),
    b"\x93NUMPY": Kind("NumPy array"),
    b"\x89HDF\r\n\x1a\n": Kind("HDF5 file"),
}
ANY_LINES = "; --input-format lines reads each line as a document all the same"
# text files whose lines are not documents: what they are, their suffixes, how their first line
# begins, and what converts them
CONTAINERS = r"""
a RIS file of references | .ris | TY  - | convert it to CSV or JSON, for example with Zotero
an EndNote file of references | .enw | %0 [A-Z] | convert it to CSV or JSON, for example with Zotero
a PubMed file of references | .nbib | PMID- ?\d | convert it to CSV or JSON, for example with Zotero
a Web of Science file of references | .ciw | FN (?:Clarivate|Thomson|ISI) | convert it to CSV or JSON, for example with Zotero
a BibTeX file of references | .bib | @\w+\s*\{[^{}]*,\s*$ | convert it to CSV or JSON, for example with Zotero
a WARC file of web pages | .warc .wet .wat | WARC/\d | extract its texts to JSON lines, for example with the Python package warcio
an ARFF file | .arff | (?i)@relation\s | convert it to CSV, for example with Weka
a CoNLL-U file | .conllu | # (?:newdoc|sent_id|global\.columns)\b | extract its texts first, for example with the Python package conllu
a subtitle file | .srt .vtt | WEBVTT\b | extract its texts first, for example with the Python package pysubs2
a Jupyter notebook | .ipynb |  | convert it first, with jupyter nbconvert --to markdown
an SGML file | .sgm .sgml | <!DOCTYPE (?!html)\w+ SYSTEM | extract the texts of its elements to JSON lines first
an XML file | .xml .tmx .xlf .xliff | <\?xml\s(?!.*<html) | extract the texts of its elements to JSON lines first, for example with xq
a YAML file | .yaml .yml | %YAML  | convert it to JSON lines, for example with yq
"""
OFFICE_MEMBERS = tuple(bytes.split(b"[Content_Types].xml mimetype _rels/ docProps/ word/ xl/ ppt/"))

BEGINNINGS = (*FILE_MAGICS, ZIP_MAGIC, *PICKLE_MAGICS)


def recognize(head: bytes) -> Kind | None:
    """Return the kind of a binary file, by its first bytes; None if it may be text.

    Parameters
    ----------
    head : bytes
        The first bytes of the file, decompressed; at least 200 of a longer file.
    """
    if head.startswith(PICKLE_MAGICS):
        return MODEL_FILE if b"nbtext model" in head[:200] else PICKLE
    if head.startswith(ZIP_MAGIC):
        name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
        if name.endswith(b".npy"):
            return MATRIX
        if not name:
            return BROKEN_ZIP
        return OFFICE if name.startswith(OFFICE_MEMBERS) else Kind("zip archive", "unpack it first")
    known = (kind for magic, kind in FILE_MAGICS.items() if head.startswith(magic))
    return ARCHIVE if head[257:265] in TAR_MAGICS else next(known, None)


def refuse_container(path: str, suffix: str, start: bytes) -> None:
    """Raise InputError if the lines of a text file are not documents, by its suffix or its first
    line.
    """
    for row in CONTAINERS.strip().splitlines():
        name, suffixes, beginning, hint = row.split(" | ")
        is_begun = beginning and re.match(beginning.encode(), start, re.MULTILINE)
        if is_begun or suffix in suffixes.split():
            raise InputError(
                f"is {name}, whose lines are not documents", where=path, hint=hint + ANY_LINES
            )


def may_begin(head: bytes, magics: Iterable[bytes]) -> bool:
    """Return whether some bytes, or further ones after them, begin with one of the magics."""
    return any(magic.startswith(head[: len(magic)]) for magic in magics)


def log_skipped(path: str, reason: str) -> None:
    """Name a file that is skipped, for -v."""
    from logging import getLogger  # imported here because few files are skipped

    getLogger("nbtext").info(
        "skipped %s: %s", printable(hide_credentials(path, is_source=True)), reason
    )


def name_binary(head: bytes, hint: str = BINARY_FILE.hint) -> Kind:
    """Return the kind of a file that begins with these bytes, one of which is NUL.

    Parameters
    ----------
    hint : str
        What to do, unless the bytes are UTF-16 without a byte order mark, for which the encoding is
        named.
    """
    return find_utf_16(head) or BINARY_FILE._replace(hint=hint)


def find_utf_16(head: bytes) -> Kind | None:
    """Return the kind of a file whose first bytes are UTF-16 text without a byte order mark; None
    if they are not: printable characters, and most NULs in one half of each.
    """
    n_nuls = head.count(0)
    for half, codec in enumerate(("utf-16-be", "utf-16-le")):
        if n_nuls > 1 and head[half::2].count(0) > n_nuls // 2:
            text = head[: len(head) // 2 * 2].decode(codec, "replace")
            if "".join(text.split()).isprintable():
                hint = f"it seems to be UTF-16 without a byte order mark; try --encoding {codec}"
                return BINARY_FILE._replace(hint=hint)
    return None


def is_own_output(path: str) -> bool:
    """Return whether a file is a model or a matrix that nbtext wrote."""
    try:
        with open(path, "rb") as file:
            return recognize(file.read(HEAD_BYTES)) in OUTPUTS
    except (OSError, ValueError):
        return False


def guess_codecs(sample: bytes) -> list[str]:
    """Return the encodings in wide use that some bytes may have, the most likely one first; []
    without the library.
    """
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return []
    if sample.isascii():
        return []
    # the library may name others, too
    ranked = (each.encoding for each in from_bytes(sample, cp_isolation=WIDELY_USED.split()))
    found = [codec.replace("_", "-") for codec in ranked if codec in WIDELY_USED.split()]
    return found[:MAX_GUESSES]


def guess_encodings(paths: Iterable[str]) -> list[str]:
    """Return the encodings that the files at some paths may have; [] if none fits or all are valid
    UTF-8.

    Parameters
    ----------
    paths : Iterable[str]
        Files and directories. Other paths are ignored.
    """
    samples = []
    for name in _walk(paths):
        with suppress(OSError, ValueError), open(name, "rb") as file:
            content = file.read(SAMPLE_BYTES)
            lines = content.split(b"\n")[:-1] or [content]  # the last one may be cut
            invalid = [line for line in lines if line.decode(errors="ignore").encode() != line]
            samples += [b"\n".join(invalid)] if invalid else []
        if len(samples) == MAX_SAMPLES:
            break
    return guess_codecs(b"\n".join(samples)[: 4 * SAMPLE_BYTES])


def _walk(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, folders, names in os.walk(path):
            folders.sort()
            yield from (os.path.join(folder, name) for name in sorted(names))

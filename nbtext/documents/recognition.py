"""Recognize files that are not documents: binary files and outputs of nbtext."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from nbtext.errors import InputError, printable

HEAD_BYTES = 8192  # a file with a NUL among this many first bytes is binary; git and ripgrep use the same rule
ZIP_MAGIC = b"PK\x03\x04"
PICKLE_MAGICS = (b"\x80\x03", b"\x80\x04", b"\x80\x05")  # pickle protocols; no text begins with these bytes
TABLE_HINT = "name the file itself, or give --input-format"
OFFICE_HINT = "save it as plain text, or a table as CSV; nbtext[office] reads Word files"


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
        article = "" if self.name.startswith("nbtext") else "an " if self.name[0] in "aeiou" else "a "
        return InputError(f"is {article}{self.name}, not text", where=where, hint=self.hint)


PDF = Kind("PDF file", "install nbtext[office], or extract its text first, for example with pdftotext")
OFFICE = Kind("office document", OFFICE_HINT)
IMAGE = Kind("image")
SOUND = Kind("sound or video file")
ARCHIVE = Kind("archive", "unpack it first")
PROGRAM = Kind("program")
BINARY = Kind("binary file", "if it is text, name its --encoding")
MODEL = Kind("nbtext model")
PICKLE = Kind("pickle file")
MATRIX = Kind("nbtext matrix")
BROKEN_ZIP = Kind("broken zip file", "a .docx, .xlsx or .npz file is one, too: write it again")
REPORT = Kind("nbtext report")
RESULTS = Kind("nbtext results")
EXPORTED = Kind("exported nbtext model")
OUTPUTS = (MODEL, MATRIX, REPORT, RESULTS, EXPORTED)  # of nbtext: not documents, so they have no record

MAGICS = {
    b"%PDF-": PDF,
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": OFFICE,
    b"{\\rtf": OFFICE,
    b"\x89PNG\r\n\x1a\n": IMAGE,
    b"\xff\xd8\xff": IMAGE,
    b"GIF87a": IMAGE,
    b"GIF89a": IMAGE,
    b"II*\0": IMAGE,
    b"MM\0*": IMAGE,
    b"ID3\x03": SOUND,
    b"ID3\x04": SOUND,
    b"OggS": SOUND,
    b"fLaC": SOUND,
    b"7z\xbc\xaf\x27\x1c": ARCHIVE,
    b"Rar!\x1a\x07": ARCHIVE,
    b"!<arch>\n": ARCHIVE,
    b"\x7fELF": PROGRAM,
    b"PAR1": Kind("Parquet file", TABLE_HINT),
    b"ARROW1\0\0": Kind("Arrow file", TABLE_HINT),
    b"SQLite format 3\0": Kind("SQLite database", TABLE_HINT),
    b"\x93NUMPY": Kind("NumPy array"),
    b"\x89HDF\r\n\x1a\n": Kind("HDF5 file"),
}
OFFICE_MEMBERS = (b"[Content_Types].xml", b"mimetype", b"_rels/", b"docProps/", b"word/", b"xl/", b"ppt/")

OUTPUT_BEGINNINGS = (
    b"<!doctype html>",
    b"export const model",
    b"/*",
    b'{"id"',
    b"[\n",
    b"id,",
    b"| id |",
)
UNUSUAL_BEGINNINGS = (*MAGICS, ZIP_MAGIC, *PICKLE_MAGICS, *OUTPUT_BEGINNINGS)

# compiled when they are needed, like other patterns that few files need
RESULT_START = (
    rb'(?:\[\n)?\{"id": (?P<json>"(?:[^"\\\n]|\\.)*+"), "'
    rb"|id,[^\n]*+\n(?P<csv>\"(?:[^\"]|\"\")*+\"|[^,\n]*+),"
    rb"|\| id \|[^\n]*+\n[^\n]*+\n\| (?P<markdown>[^|\n]*+)\|"
    rb"|(?:id\t[^\n]*+\n)?(?P<tsv>[^\t\n]++)\t[^\t\n]*+\t(?:[01]\.\d|[\t\n]|[^\t\n]++\t[a-z]++\t(?:[^\t\n]*+\t){2}-?\d)"
)
EXPORTED_C, LINE_NUMBER = rb"/\*[^*]{0,400}\bnbtext\b", r":\d+\Z"


def recognize(head: bytes) -> Kind | None:
    """Return the kind of a binary file, by its first bytes; None if it may be text.

    Parameters
    ----------
    head : bytes
        The first bytes of the file, decompressed; at least 200 of a longer file.
    """
    if head.startswith(PICKLE_MAGICS):
        return MODEL if b"nbtext model" in head[:200] else PICKLE
    if head.startswith(ZIP_MAGIC):
        name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
        if name.endswith(b".npy"):
            return MATRIX
        if not name:
            return BROKEN_ZIP
        return OFFICE if name.startswith(OFFICE_MEMBERS) else Kind("zip archive", "unpack it first")
    return next((kind for magic, kind in MAGICS.items() if head.startswith(magic)), None)


def log_skipped(path: str, reason: str) -> None:
    """Name a file that is skipped, for -v."""
    from logging import getLogger  # imported here because few files are skipped

    getLogger("nbtext").info("skipped %s: %s", printable(path), reason)


def name_binary(head: bytes, hint: str = BINARY.hint) -> Kind:
    """Return the kind of a file that begins with these bytes, one of which is NUL.

    Parameters
    ----------
    hint : str
        What to do, unless the bytes are UTF-16 without a byte order mark, for which the encoding is named.
    """
    return find_utf_16(head) or BINARY._replace(hint=hint)


def find_utf_16(head: bytes) -> Kind | None:
    """Return the kind of a file whose first bytes are UTF-16 text without a byte order mark; None if they are not."""
    from nbtext.documents.encoding_guess import utf_16_codec

    codec = utf_16_codec(head)
    if codec is None:
        return None
    return BINARY._replace(hint=f"it seems to be UTF-16 without a byte order mark; try --encoding {codec}")


def recognize_output(content: bytes, root: str) -> Kind | None:
    """Return which output of nbtext a text file in a directory is; None if it is not an output.

    Records are recognized by the id of the first one, which names a file of this directory.

    Parameters
    ----------
    content : bytes
        The file, or its first bytes.
    root : str
        The directory, as a SOURCE on the command line.
    """
    if content.startswith(b"<!doctype html>"):
        return REPORT if b'<meta name="generator" content="nbtext' in content[:4096] else None
    if content.startswith(b'export const model = {"labels": [') or re.match(EXPORTED_C, content):
        return EXPORTED
    found = re.match(RESULT_START, content)
    if found is None or found.lastgroup is None:
        return None
    identity = found[found.lastgroup].decode("utf-8", "replace").strip()
    if found.lastgroup == "json":
        from json import loads  # imported here because json is slow to import

        try:
            identity = str(loads(identity))
        except ValueError:
            return None
    elif identity.startswith('"'):
        identity = identity[1:-1].replace('""', '"')
    return RESULTS if _names_file_of(re.sub(LINE_NUMBER, "", identity), root) else None


def is_like_results(content: bytes) -> bool:
    """Return whether a file begins like results. See `recognize_output` for the test of the first id."""
    return re.match(RESULT_START, content) is not None


def is_own_output(path: str) -> bool:
    """Return whether a file was written by nbtext: a model, a matrix, a report, an exported model, or results.

    Results are recognized if the first id names a file below one of the folders that contain the file.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(HEAD_BYTES)
    except (OSError, ValueError):
        return False
    if (kind := recognize(content)) is not None:
        return kind in (MODEL, MATRIX)
    folder = os.path.realpath(os.path.dirname(path))
    while recognize_output(content, folder) is None:
        if folder == (folder := os.path.dirname(folder)):
            return False
    return True


def _names_file_of(path: str, root: str) -> bool:
    """Return whether a path, without some of its first folders, leads from `root` to a file."""
    names = [name for name in path.split("/") if name]
    try:
        return any(os.path.isfile(os.path.join(root, *names[start:])) for start in range(len(names)))
    except ValueError:  # the path contains a NUL
        return False

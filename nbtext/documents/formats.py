"""The registry of file formats, and the detection of a file's format.

To add a format, add a file with a reader, and a record here. The command line, the shards and the
error messages read the properties of a format from its record.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from nbtext.documents.decompression import suffix_compression
from nbtext.documents.recognition import (
    BEGINNINGS,
    BROKEN_ZIP,
    HEAD_BYTES,
    MATRIX,
    MODEL_FILE,
    find_utf_16,
    may_begin,
    name_binary,
    recognize,
    refuse_container,
)
from nbtext.errors import InputError, SettingsError
from nbtext.records import Strings, frozen
from nbtext.registry import import_place

# The line before a mail in an mbox: "From ada@example.org Thu Nov 21 03:37:00 2024", or an address
# alone. The possessive quantifiers keep the time linear.
MBOX_SEPARATOR = (
    rb"From (?:\S[^\s@]*+@\S++[ \t\r]*+$|(?>.*?\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b).*?\d:\d\d)"
)
# A mail begins with lines `Name: value`, which may continue on lines that begin with a blank, until
# a blank line.
MAIL_HEADERS = frozenset(
    b"bcc cc content-type date delivered-to dkim-signature envelope-to from in-reply-to list-id message-id "
    b"mime-version received reply-to return-path sender subject to x-original-to".split()
)
MIN_HEADERS = 2  # of these names, if nothing else tells that a stream is a mail
TEXT_SUFFIX = ".txt"
MBOX_SUFFIX = ".mbox"
MAIL_SUFFIXES = (".eml", ".emlx")
HTML_SUFFIXES = (".html", ".htm", ".xhtml")
# of files that nbtext writes, or that users expect it to write
OTHER_SUFFIXES = set(str.split(".npz .joblib .md .svg .png .pdf .docx .xlsx .xls .ods"))
INPUT_UNITS = ("file", "line", "row", "mail")  # what one document is
MODEL_HINT = "give it with -m to predict; nbtext train MODEL, without other sources, refits it; nbtext merge adds models"


@frozen
class Format:
    """A file format.

    Attributes
    ----------
    name : str
        The value of --input-format.
    unit : {"file", "line", "row", "mail"}
        What one document is.
    reader : str
        `module:function` in this folder, or with the whole path of the module, which is imported
        when the first file of the format is read. The function gets a `ByteStream` and
        `ReadOptions`, and yields blocks. A directory has none.
    suffixes : tuple of str
        The suffixes of file names, in lower case.
    beginning : bytes
        A regular expression for the first line that is not blank, in UTF-8; b"" if it does not
        identify the format.
    magic : tuple of bytes
        Any of them begins a file of the format, which is binary.
    is_text : bool
        Whether the reader gets the stream as UTF-8, whatever the encoding of the file is. Others
        decode parts of it.
    is_splittable : bool
        Whether a byte range can be read without the rest, because each line is a document, or the
        file has an index.
    has_queries : bool
        Whether the file is a database, of which --query selects rows.
    is_counted : bool
        Whether the documents are rows of a matrix, without texts.
    is_choice : bool
        Whether --input-format offers the format.
    writer : str
        `module:function` in this package, which writes the rows of the format again, with changes;
        "" if it cannot. The function has the signature of `rows.write_text`.
    changes : tuple of {"columns", "labels"}
        What the writer can change: columns are added, and rows get other labels or are removed.
    """

    name: str
    unit: str
    reader: str = ""
    suffixes: Strings = ()
    beginning: bytes = b""
    magic: tuple[bytes, ...] = ()
    is_text: bool = False
    is_splittable: bool = False
    has_queries: bool = False
    is_counted: bool = False
    is_choice: bool = True
    writer: str = ""
    changes: Strings = ("columns", "labels")

    @property
    def has_fields(self) -> bool:
        """Whether documents have named fields: a text, a label, an id, a group, a timestamp."""
        return self.unit in ("row", "mail") and not self.is_counted

    @property
    def is_live(self) -> bool:
        """Whether documents of a pipe can be read as soon as their lines arrive."""
        return self.is_splittable and self.is_text

    def begins(self, start: bytes) -> bool:
        """Return whether the first line of a text identifies this format."""
        return (
            self.beginning != b""
            and re.match(self.beginning, start.lstrip().partition(b"\n")[0]) is not None
        )

    def load(self, role: str) -> Any:
        """Import and return a function of the format: that of its role, `reader` or `writer`."""
        place = getattr(self, role)
        return import_place(place if "." in place else f"nbtext.documents.{place}")

    def writes(self, change: str) -> bool:
        """Return whether rows of the format can be written with this change."""
        return self.writer != "" and change in self.changes


# If several formats have a suffix, the first one whose beginning matches is selected, otherwise the
# last one.
_text = partial(Format, is_text=True, writer="rows:write_text")
_records = (
    Format("dirs", "file"),
    Format("files", "file", "files:read_whole"),
    _text(
        "jsonl",
        "row",
        "jsonl:read_jsonl",
        (".jsonl", ".ndjson", ".json"),
        rb"\{",
        is_splittable=True,
    ),
    _text("json", "row", "jsonl:read_json_array", (".json",), rb"\[\s*(?:\{|\Z)"),
    _text("csv", "row", "tables:read_table", (".csv",)),
    _text("tsv", "row", "tables:read_tsv", (".tsv", ".tab")),
    Format(
        "parquet",
        "row",
        "arrow:read_parquet",
        (".parquet", ".pq"),
        magic=(b"PAR1",),
        is_splittable=True,
        writer="arrow:write_parquet",
    ),
    Format(
        "arrow",
        "row",
        "arrow:read_arrow",
        (".arrow", ".feather", ".arrows"),
        magic=(b"ARROW1\0\0", b"\xff\xff\xff\xff"),
        is_splittable=True,
        writer="arrow:write_arrow",
    ),
    Format(
        "sqlite",
        "row",
        "sql:read_sqlite",
        (".db", ".sqlite", ".sqlite3"),
        magic=(b"SQLite format 3\0",),
        has_queries=True,
        writer="sql:write_sqlite",
        changes=("columns",),
    ),
    _text(
        "fasttext",
        "line",
        "lines:read_fasttext",
        (TEXT_SUFFIX,),
        rb"__label__",
        is_splittable=True,
        changes=("labels",),
    ),
    Format("lines", "line", "lines:read_lines", (TEXT_SUFFIX,), is_text=True, is_splittable=True),
    Format("mbox", "mail", "mail:read_mbox", (MBOX_SUFFIX,), MBOX_SEPARATOR),
    Format("eml", "mail", "mail:read_mbox", MAIL_SUFFIXES, is_choice=False),
    Format("html", "file", "files:read_whole", HTML_SUFFIXES, is_choice=False),
    Format(
        "matrix", "row", "nbtext.features.matrix:read_npz", is_counted=True
    ),  # .npz is told by its content
    Format(
        "svmlight", "row", "nbtext.features.matrix:read_svmlight", (".svmlight",), is_counted=True
    ),
    Format(
        "mtx",
        "row",
        "nbtext.features.matrix:read_mtx",
        (".mtx",),
        rb"%%MatrixMarket",
        is_counted=True,
    ),
)
FORMATS = {record.name: record for record in _records}
FORMAT_NAMES = tuple(record.name for record in _records if record.is_choice)
WRITABLE_NAMES = tuple(record.name for record in _records if record.writes("columns"))
# suffixes of tables, whose rows are documents; of those that are binary; and of matrices
TABLES = {
    end for each in _records if each.has_fields and each.unit == "row" for end in each.suffixes
}
BINARY_TABLES = {end for each in _records if each.magic for end in each.suffixes}
MATRICES = {end for each in _records if each.is_counted for end in each.suffixes}


MAGICS_OF_ALL = (*BEGINNINGS, *(magic for record in _records for magic in record.magic))
_not_text = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")


def content_suffix(path: str) -> str:
    """Return the suffix of a file name in lower case, without the suffix of a compression.

    `os.path.splitext` takes twice the time, for each file of a directory.
    """
    if "." not in path:
        return ""
    _, dot, end = suffix_compression(path)[0].rpartition(".")
    is_of_folder = "/" in end or os.sep in end
    return dot + end.lower() if dot and not is_of_folder else ""


def check_suffix(path: str, own: Sequence[str], what: str, where: str = "-o") -> None:
    """Raise SettingsError if the suffix of an output names another format than the one that is
    written.

    own    the suffixes of the format
    what   which format that is, for the message
    where  the option that names the output
    """
    suffix = content_suffix(path)
    if suffix in OTHER_SUFFIXES.union(*(record.suffixes for record in _records)).difference(own):
        raise SettingsError(
            f"{what}; {path} says {suffix}",
            where=where,
            hint=f"name a file that ends with {', '.join(own)}",
        )


def begins_as_mail(
    start: bytes, min_headers: int = MIN_HEADERS, *, is_all: bool = True
) -> bool | None:
    """Return whether a text begins with the headers of a mail, at least so many of them with a
    usual name; None if that depends on more than its complete lines.

    One of them suffices after a line `From …` of an mbox.

    is_all  whether no more can be read
    """
    n_usual = 0
    start = start.lstrip(b"\r\n")
    lines = start.split(b"\n")
    if start.startswith(b"From "):
        del lines[0]
        min_headers = 1
    for line in lines if is_all and len(start) < HEAD_BYTES else lines[:-1]:
        name, colon, _ = line.partition(b":")
        if not line.strip():
            return n_usual >= min_headers
        if line[:1] in (b" ", b"\t") and n_usual:
            continue
        if not colon or not re.fullmatch(rb"[!-9;-~]{1,76}", name):
            return False
        n_usual += name.lower() in MAIL_HEADERS
    return n_usual >= min_headers if is_all else None


def tells_format(head: bytes) -> bool:
    """Return whether the first bytes of a stream tell its format, whatever follows them: a line of
    text that is not blank, and of what may be a mail all headers.
    """
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    line, newline, _ = start.partition(b"\n")
    if not newline or may_begin(head, MAGICS_OF_ALL) or _not_text.search(line):
        return False
    if any(record.begins(start) for record in _records):
        return True
    return begins_as_mail(start, is_all=False) is not None


def detect_format(path: str, head: bytes, text: str, *, unit: str | None) -> Format:
    """Return the format of a file.

    Parameters
    ----------
    path : str
        The name of the file; most formats are identified by the suffix.
    head : bytes
        The first bytes of the file, decompressed.
    text : str
        The same bytes, decoded.
    unit : str, optional
        What a document was when the model was trained. "mail" makes mails of texts with one usual
        header; "file" reads a mail whose name tells nothing as a whole, as it is read in a
        directory.

    Raises
    ------
    InputError
        The file is binary and not a matrix file, or its lines are not documents.
    """
    suffix = content_suffix(path)
    if (
        binary := next((record for record in _records if head.startswith(record.magic)), None)
    ) is not None:
        return binary
    named = [record for record in _records if suffix in record.suffixes]
    if named and "\0" in text and (utf_16 := find_utf_16(head)) is not None:
        raise utf_16.refuse(path)
    if named and suffix != TEXT_SUFFIX:
        start = text.encode("utf-8", "surrogatepass")
        return next((record for record in named if record.begins(start)), named[-1])
    kind = recognize(head)
    if kind is MATRIX or (kind is BROKEN_ZIP and suffix == ".npz"):
        return FORMATS["matrix"]
    if kind is MODEL_FILE:
        raise InputError("is a model, not a source of documents", where=path, hint=MODEL_HINT)
    if kind is None and suffix != TEXT_SUFFIX and "\0" in text:
        kind = name_binary(head, "--input-format lines reads it as text all the same")
    if kind is not None:
        raise kind.refuse(path)
    start = text.encode("utf-8", "surrogatepass")
    found = next((record for record in named or _records if record.begins(start)), FORMATS["lines"])
    if (
        found.name == "lines"
        and not named
        and begins_as_mail(start, 1 if unit == "mail" else MIN_HEADERS)
    ):
        found = FORMATS["eml"]
    if found.name == "lines" and unit not in ("file", "mail"):
        refuse_container(path, suffix, start.lstrip())
    return FORMATS["files"] if found.unit == "mail" and unit == "file" else found

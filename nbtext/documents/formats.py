"""Which format a file has, by its name and by how it begins."""

from __future__ import annotations

import os

from nbtext.documents.decoding import Encoding
from nbtext.documents.decompression import SUFFIXES, suffix_compression
from nbtext.documents.recognition import MATRIX, MODEL, recognize
from nbtext.errors import InputError

EML = "eml"  # a file that is one mail: a format by its name alone
MAIL_ENDINGS = (f".{EML}", *SUFFIXES)  # of four characters at most: all that is looked at of most of a tree's paths
LABEL_MARK = "__label__"
SUFFIX_FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".mbox": "mbox",
    ".eml": EML,
    ".npz": "matrix",
}


def suffix_format(path: str) -> str | None:
    """The format that the name of a file says, a suffix of compression left aside; None where it says none."""
    return SUFFIX_FORMATS.get(_suffix(path))


def format_of(path: str, head: bytes, encoding: Encoding) -> str:
    """The format of a file.

    head    how it begins, unpacked
    raises  InputError: it is a binary file of some other kind
    """
    named = suffix_format(path)
    if named is not None and named != "matrix":
        return named
    kind = recognize(head)
    if kind is MATRIX:
        return "matrix"
    if kind is MODEL:
        hint = "-m takes a model; train reads one's counts again where it is the only SOURCE; merge joins several"
        raise InputError("is a model, not text", where=path, hint=hint)
    if kind is not None:
        raise kind.refuse(path)
    text = encoding.decode_leniently(head)
    if "\0" in text and _suffix(path) != ".txt":
        raise InputError("is a binary file, not text", where=path, hint="--input-format lines reads it all the same")
    if text.startswith(LABEL_MARK):
        return "fasttext"
    if _suffix(path) == ".txt":
        return "lines"
    if text.startswith("From ") and _is_mailbox(text):
        return "mbox"
    return "jsonl" if text.lstrip().startswith("{") else "lines"


def is_mail(path: str) -> bool:
    """Whether the file is a mail by its name."""
    return path[-4:].lower().endswith(MAIL_ENDINGS) and suffix_format(path) == EML


def _suffix(path: str) -> str:
    return os.path.splitext(suffix_compression(path)[0])[1].lower()


def _is_mailbox(text: str) -> bool:
    from nbtext.documents.mailbox import is_separator

    return is_separator(text.partition("\n")[0].encode("utf-8", "surrogatepass"))

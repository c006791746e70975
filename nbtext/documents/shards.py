"""Shards: parts of a source (some files, or a byte range) that any process with the same files can read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nbtext.documents.blocks import ByteRange, count_lines_in_range
from nbtext.documents.decoding import Encoding, detect_bom, encoding_of
from nbtext.documents.formats import FORMATS, Format, detect_format
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import STANDARD_INPUT, ByteStream, file_size, is_regular, open_stream
from nbtext.documents.urls import has_ranges, is_url
from nbtext.errors import InputError, NbtextWarning
from nbtext.records import dataclass

MIN_BYTES, MAX_BYTES = 16 << 20, 512 << 20  # of a shard: the sample of each shard must fit into memory
FILE_BYTES = 32 << 10  # the assumed size of a file of a directory; to stat each file is as slow as to read it


@dataclass(frozen=True, slots=True)
class Shard:
    """Some files, or a range of one.

    Attributes
    ----------
    reader : {"file", "files", "mails"}
        "files" are a document each, "mails" a mail each, and "file" is one file of any format.
    paths : tuple of str
        As typed.
    labels : tuple of str or None
        The label of each file, which is the name of its folder; None if there is none.
    byte_range : ByteRange, optional
        The range of the only file; None for all of it.
    root : str, optional
        The directory SOURCE that the files are from.
    """

    reader: str
    paths: tuple[str, ...]
    labels: tuple[str | None, ...]
    byte_range: ByteRange | None = None
    root: str | None = None


def suitable_bytes(n_bytes: int | None, n_readers: int) -> int:
    """Return the shard size, within bounds, that divides `n_bytes` into two shards for each of `n_readers` workers."""
    if n_bytes is None:
        return MAX_BYTES
    return min(max(-(-n_bytes // (2 * n_readers)), MIN_BYTES), MAX_BYTES)


def split_shard(shard: Shard, n_bytes: int, encoding: Encoding, settings: InputSettings) -> Iterator[Shard]:
    """Yield the same documents in shards of about `n_bytes`, in order; all ranges begin at line 1.

    Raises
    ------
    InputError
        The source can only be read in this process.
    """
    if shard.reader != "file":
        step = max(1, n_bytes // FILE_BYTES)
        for start in range(0, len(shard.paths), step):
            files = slice(start, start + step)
            yield replace(shard, paths=shard.paths[files], labels=shard.labels[files])
        return
    path, size = shard.paths[0], file_size(shard.paths[0])
    if path == STANDARD_INPUT or (size is None and not is_url(path)):
        hint = "save it as a file that all workers can read"
        raise InputError("the workers of a cluster cannot read standard input or a pipe", where=path, hint=hint)
    if size is None or size <= n_bytes or not _is_splittable(path, encoding, settings):
        yield shard
        return
    for start in range(0, size, n_bytes):
        yield replace(shard, byte_range=ByteRange(start, min(start + n_bytes, size), first_line=1))


def detect_stream_format(stream: ByteStream, encoding: Encoding, settings: InputSettings) -> Format:
    """Return the format of a stream: that of the settings, or the detected one.

    Raises
    ------
    InputError
        It is a binary file.
    """
    if settings.input_format is not None:
        return FORMATS[settings.input_format]
    head = stream.head()
    text = encoding.decode_leniently(head)
    unit = "mail" if settings.reads_one_mail and settings.input_unit != "file" else settings.input_unit
    found = detect_format(stream.path, head, text, unit=unit)
    if found.name != "lines" or is_regular(stream.location):
        return found
    return FORMATS["files"] if settings.reads_one_mail else _detect_as_trained(stream.path, text, settings)


def _detect_as_trained(path: str, text: str, settings: InputSettings) -> Format:
    """Return the format of a stream that seems to be lines: a table if its first line has the columns of the model.

    A warning says if it may be another table.
    """
    if settings.input_unit != "row":
        return FORMATS["lines"]
    from nbtext.documents.fields import is_number
    from nbtext.documents.tables import SEPARATORS

    lines = text.removeprefix("\ufeff").splitlines()[:2]
    names = {name for name in settings.text_field if not is_number(name)}
    n_columns = max((int(name) for name in settings.text_field if name not in names), default=0)
    is_table = False
    for separator in SEPARATORS if lines else ():
        first = [name.strip().strip('"') for name in lines[0].split(separator)]
        if names <= set(first) and (names or len(first) >= max(2, n_columns)):
            return FORMATS["tsv" if separator == "\t" else "csv"]
        is_table |= 0 < lines[0].count(separator) == lines[-1].count(separator) and len(lines) > 1
    if is_table:
        import warnings

        what = "each line is a document, and the model was trained on rows; give --input-format csv or tsv, or lines"
        warnings.warn(f"{path}: {what}", NbtextWarning, stacklevel=2)
    return FORMATS["lines"]


def _is_splittable(path: str, encoding: Encoding, settings: InputSettings) -> bool:
    """Return whether a byte range of the file can be read alone."""
    stream = open_stream(path)
    try:
        found = detect_stream_format(stream, encoding, settings)
        is_ranged = stream.compression is None and found.is_splittable
        if found.is_text:
            is_ranged = is_ranged and detect_bom(stream.head(), encoding)[0].has_byte_lines
        return is_ranged and (not is_url(path) or has_ranges(path))
    finally:
        stream.close()


def count_lines(shard: Shard, settings: InputSettings) -> int:
    """Return how many lines begin in the range of a shard; 0 for one without a range, or of a file with an index.

    Raises
    ------
    InputError
        Its file cannot be read.
    """
    if shard.byte_range is None:
        return 0
    stream = open_stream(shard.paths[0])
    try:
        encoding = encoding_of(settings)
        if detect_stream_format(stream, encoding, settings).is_indexed:
            return 0
        _, bom_size = detect_bom(stream.head(), encoding)
    finally:
        stream.close()
    return count_lines_in_range(stream.location, shard.byte_range, bom_size)


def number_lines(shards: Sequence[Shard], n_lines: Sequence[int]) -> list[Shard]:
    """Return the same shards, each with the number of its first line; `n_lines` is the number of lines in each."""
    numbered: list[Shard] = []
    first_line = 1
    for shard, number in zip(shards, n_lines, strict=True):
        if shard.byte_range is None or shard.byte_range.start == 0:
            first_line = 1
        numbered.append(_begin_at_line(shard, first_line))
        first_line += number
    return numbered


def forget_line_numbers(shard: Shard) -> Shard:
    """Return the same shard; the lines before it are counted when it is read."""
    return _begin_at_line(shard, None)


def _begin_at_line(shard: Shard, first_line: int | None) -> Shard:
    if shard.byte_range is None:
        return shard
    return replace(shard, byte_range=shard.byte_range._replace(first_line=first_line))

"""All SOURCE arguments of a command, read as one stream of documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from nbtext.documents.batch import MAX_LABEL_CHARACTERS, Batch, BatchBuilder, Block, Document
from nbtext.documents.blocks import ByteRange, ReadOptions
from nbtext.documents.decoding import encoding_of
from nbtext.documents.directory import is_directory
from nbtext.documents.fields import check_joined, check_label_columns
from nbtext.documents.formats import FORMAT_NAMES, FORMATS, WRITABLE_NAMES, Format, is_mail
from nbtext.documents.labels import check_label_settings
from nbtext.documents.read_ahead import ReadAhead
from nbtext.documents.recognition import OUTPUTS, Kind, log_skipped, name_binary, recognize
from nbtext.documents.settings import InputSettings, ModelInput
from nbtext.documents.shards import FILE_BYTES, Shard, detect_stream_format, split_shard, suitable_bytes
from nbtext.documents.streams import STANDARD_INPUT, ByteStream, file_size, is_regular, open_stream
from nbtext.documents.urls import is_database_url, is_url
from nbtext.errors import InputError, SettingsError

MAX_BYTES = 2**62  # columns that have a name or a number, for any reader


class Reader(Protocol):
    """The function that reads a format; see `formats.Format.reader`."""

    def __call__(self, stream: ByteStream, options: ReadOptions, /) -> Iterator[Block]:
        """Yield the documents of a stream in blocks."""
        ...


class Source:
    """All SOURCE arguments of a command, read as one stream of documents.

    Attributes
    ----------
    size : int, optional
        The sum of the sizes of all blocks, in `unit`; None if it is not known before reading.
    unit : {"bytes", "files"}
    skipped : Counter of str
        Number of skipped items, by the reason. Items that are skipped during reading are in the notes of each batch;
        `batches` adds them here.
    field_names : tuple of str
        The names of the columns of a batch, if text fields are kept separate.
    is_live : bool
        Whether text comes from a pipe or a terminal, and is read as soon as whole lines arrive.
    settings : InputSettings
    """

    def __init__(
        self, files: Sequence[Shard], skipped: Counter[str], settings: InputSettings, ahead: ReadAhead | None = None
    ) -> None:
        self._files = files
        self._ahead = ahead or ReadAhead()
        self._units: dict[str, str] = {}  # input units by path, of files that were opened
        self.settings = settings
        self.skipped = skipped
        self.field_names = settings.text_field if settings.separate_fields else ()
        units = {"bytes" if shard.reader == "file" else "files" for shard in files}
        sizes = [file_size(shard.paths[0]) if shard.reader == "file" else len(shard.paths) for shard in files]
        self.unit = "bytes" if "bytes" in units else "files"
        self.size = sum(size or 0 for size in sizes) if len(units) == 1 and None not in sizes else None
        asked_format = FORMATS[settings.input_format or "lines"]
        self.is_live = asked_format.is_live and any(
            size is None and not is_url(shard.paths[0]) for shard, size in zip(files, sizes, strict=True)
        )

    @property
    def input_unit(self) -> str | None:
        """What a document is: "file", "line", "row" or "mail"; None where sources differ, or a stream is not read yet.

        Mails among other files count as files.
        """
        units = {self._units.get(shard.paths[0]) or _unit_of(shard, self.settings) for shard in self._files}
        if units == {"file", "mail"}:
            return "file"
        return units.pop() if len(units) == 1 else None

    @property
    def has_single_labels(self) -> bool:
        """Whether it is known before reading that no document has several labels: folders are labels."""
        return all(shard.reader == "files" for shard in self._files)

    @property
    def model_input(self) -> ModelInput:
        """The properties of the source that a model stores when it is trained on it."""
        unit, read = self.input_unit, self.settings
        if unit not in ("row", "mail") and not read.separate_fields:
            return ModelInput(unit)
        labels = (read.label_separator, read.label_fields)
        return ModelInput(unit, read.text_field, read.label_field, read.separate_fields, *labels)

    def blocks(self) -> Iterator[Block]:
        """Yield the documents in blocks, in order.

        Raises
        ------
        InputError
            A file cannot be used as a whole.
        """
        label = self.settings.label
        for shard in self._files:
            for read in _read_shard(shard, self.settings, self.skipped, self._units, self._ahead):
                block = read if label is None else read.map(lambda batch: batch.set_label(label))
                yield block.map(lambda batch: batch.filter(self.settings)) if self.settings.is_filtering else block

    def shards(self, n_bytes: int | None = None, *, n_readers: int = 1) -> list[Shard]:
        """Return the same documents as shards of about `n_bytes`, in order; see `open_shard`.

        Parameters
        ----------
        n_bytes : int, optional
            The size of a shard; None: it depends on `n_readers`.

        Raises
        ------
        InputError
            A source can only be read in this process.
        """
        encoding = encoding_of(self.settings)
        if n_bytes is None:
            size = self.size * FILE_BYTES if self.size is not None and self.unit == "files" else self.size
            n_bytes = suitable_bytes(size, n_readers)
        return [shard for file in self._files for shard in split_shard(file, n_bytes, encoding, self.settings)]

    def batches(self) -> Iterator[Batch]:
        """Yield all documents, some at a time, in order; problems stay in the batches."""
        for block in self.blocks():
            batch = block.batch()
            self.skipped.update(batch.notes)
            yield batch

    def documents(self) -> Iterator[Document]:
        """Yield all documents, in order.

        Raises
        ------
        InputError
            A document cannot be read.
        """
        for batch in self.batches():
            for row, document in enumerate(batch.documents()):
                if row in batch.problems:
                    raise batch.problems[row]
                yield document


def open_source(
    paths: Sequence[str],
    settings: InputSettings,
    *,
    byte_range: ByteRange | None = None,
    outputs: Sequence[str] = (),
    ahead: ReadAhead | None = None,
) -> Source:
    """Return the documents of some paths, each in the format of the settings, or in the detected one.

    Parameters
    ----------
    paths : sequence of str
        Files, directories and URLs; "-" is standard input.
    settings : InputSettings
    byte_range : ByteRange, optional
        Reads only the lines that begin in this range of the only path.
    outputs : sequence of str
        Files that this run writes: they are skipped in a directory. "-" is standard output.
    ahead : ReadAhead, optional
        Lists and reads directories, and has already begun.

    Raises
    ------
    InputError
        A path is missing, cannot be read, or is a directory without files.
    SettingsError
        A setting is invalid.
    """
    if not paths:
        raise InputError("no SOURCE is given", hint="name a directory or a file, or - for standard input")
    check_settings(settings)
    skipped: Counter[str] = Counter()
    ahead = ahead or ReadAhead()
    files = [shard for path in paths for shard in _list_files(path, settings, skipped, byte_range, outputs, ahead)]
    return Source(files, skipped, settings, ahead)


def open_shard(shard: Shard, settings: InputSettings) -> Source:
    """Return the documents of a shard of a source that was opened with these settings, in any process."""
    return Source([shard], Counter(), settings)


def check_settings(settings: InputSettings) -> None:
    """Raise SettingsError if a setting is invalid."""
    encoding_of(settings)
    if settings.input_format not in (None, *FORMAT_NAMES):
        hint = f"choose one of {', '.join(FORMAT_NAMES)}"
        raise SettingsError(f"there is no format {settings.input_format!r}", where="--input-format", hint=hint)
    if settings.encoding_errors not in ("replace", "strict"):
        what = f"unknown value {settings.encoding_errors!r}"
        raise SettingsError(what, where="--encoding-errors", hint="choose replace or strict")
    if settings.label is not None and not 1 <= len(settings.label) <= MAX_LABEL_CHARACTERS:
        raise SettingsError("is not a label", where="--label", hint=f"write 1 to {MAX_LABEL_CHARACTERS:,} characters")
    if not settings.text_field or "" in settings.text_field:
        raise SettingsError("the name of a field is empty", where="--text-field", hint="name a column or key")
    check_label_settings(settings)
    if not 1 <= settings.max_document_bytes <= MAX_BYTES:
        what = f"{settings.max_document_bytes:,} is not between 1 and {MAX_BYTES:,}"
        raise SettingsError(what, where="--max-document-bytes")


def _list_files(
    path: str,
    settings: InputSettings,
    skipped: Counter[str],
    byte_range: ByteRange | None,
    outputs: Sequence[str],
    ahead: ReadAhead,
) -> list[Shard]:
    """Return the files of a SOURCE, as shards that are read one after the other."""
    wanted = settings.input_format
    if is_database_url(path) or path == STANDARD_INPUT:
        return [Shard("file" if path == STANDARD_INPUT else "database", (path,), (None,))]
    if is_directory(path):
        shards, others = ahead.list_shards(path, settings, outputs)
        skipped.update(others)
        for place, reason in others.paths:
            log_skipped(place, reason)
        for shard in shards:
            if shard.reader == "files":
                check_joined(shard.paths[0], settings)
        return shards
    if wanted == "dirs":
        raise InputError("is a file, not a directory", where=path, hint="leave out --input-format")
    if is_regular(path):
        if wanted == "files":
            check_joined(path, settings)
            return [Shard("files", (path,), (None,))]
        if wanted is None and is_mail(path):
            return [Shard("mails", (path,), (None,))]
        is_whole = wanted is None and settings.input_unit in ("file", "mail") and byte_range is None
        found = _detect_format(path, settings) if is_whole else None
        if found is not None and found.name in ("lines", "files"):
            check_joined(path, settings)
            return [Shard("files", (path,), (None,))]
    return [Shard("file", (path,), (None,), byte_range)]


def _detect_format(path: str, settings: InputSettings) -> Format | None:
    """Return the format of a file; None if it cannot be detected, which is reported when the file is read."""
    stream = open_stream(path)
    try:
        return detect_stream_format(stream, encoding_of(settings), settings)
    except InputError:
        return None
    finally:
        stream.close()


def _unit_of(shard: Shard, settings: InputSettings) -> str | None:
    if shard.reader != "file":
        return {"mails": "mail", "database": "row"}.get(shard.reader, "file")
    if settings.input_format is not None:
        return FORMATS[settings.input_format].unit
    found = _detect_format(shard.paths[0], settings) if is_regular(shard.paths[0]) else None
    return found.unit if found is not None else None


def _read_shard(
    shard: Shard, settings: InputSettings, skipped: Counter[str], units: dict[str, str], ahead: ReadAhead
) -> Iterator[Block]:
    options = ReadOptions(encoding_of(settings), settings, shard.labels[0], shard.byte_range)
    if shard.reader == "database":
        from nbtext.documents.sql import read_database

        return read_database(shard.paths[0], replace(options, settings=settings.of_unit("row")))
    if settings.query is not None and shard.reader != "file":
        raise _not_queried(shard.root or shard.paths[0])
    if settings.keeps_rows and shard.reader != "file":
        raise _not_writable(shard.root or shard.paths[0])
    if shard.reader == "files":
        return ahead.read(shard, options)
    if shard.reader == "mails":
        from nbtext.documents.mail import read_mail_files

        check_label_columns(shard.root or shard.paths[0], settings.of_unit("mail"))
        return read_mail_files(shard.paths, shard.labels, options.encoding, settings.of_unit("mail"))
    return _read_file(shard, options, skipped, units)


def _read_file(shard: Shard, options: ReadOptions, skipped: Counter[str], units: dict[str, str]) -> Iterator[Block]:
    """Yield the blocks of a single file or stream, whose format may have to be detected."""
    path, settings = shard.paths[0], options.settings
    stream = open_stream(path)
    try:
        if shard.root is not None and (kind := _kind_to_skip(stream, options)):
            if settings.keeps_skipped and kind not in OUTPUTS:
                builder = BatchBuilder(settings)
                builder.add_problem(kind.refuse(), place=stream.path)
                yield Block(builder.finish, stream.size or 0)
                return
            log_skipped(stream.path, kind.describe())
            skipped[kind.describe()] += 1
            return
        found = detect_stream_format(stream, options.encoding, settings)
        units[path] = found.unit
        settings = settings.of_unit(found.unit)
        options = replace(options, settings=settings)
        if not found.has_fields:
            check_joined(path, settings)
        if found.unit == "mail":
            check_label_columns(path, settings)
        if settings.query is not None and not found.has_queries:
            raise _not_queried(stream.path)
        if settings.keeps_rows and not found.writes("columns"):
            raise _not_writable(stream.path)
        if settings.corrects_rows and found.writer:
            settings = replace(settings, keeps_rows=True)
            options = replace(options, settings=settings)
        if found.is_text:
            options = replace(options, encoding=stream.decode(options.encoding))
        is_whole = not found.is_splittable or (found.is_text and not options.encoding.has_byte_lines)
        if options.byte_range is not None and is_whole:
            what = f"a file of the format {found.name} can be read only as a whole, not a range of its bytes"
            raise InputError(what, where=stream.path)
        if not found.reader:
            if found.name == "dirs":
                raise InputError("is a pipe, not a directory", where=stream.path, hint="leave out --input-format")
            hint = "give a matrix as the only SOURCE, to train, inspect or compare"
            raise InputError("holds a matrix, not text", where=stream.path, hint=hint)
        reader: Reader = found.load_reader()
        yield from reader(stream, options)
    finally:
        stream.close()


def _not_queried(path: str) -> InputError:
    hint = "--query selects rows of a SQLite file, or of a database at a URL"
    return InputError("is not a database", where=path, hint=hint)


def _not_writable(path: str) -> InputError:
    what = f"columns can be added only to {', '.join(WRITABLE_NAMES[:-1])} or {WRITABLE_NAMES[-1]}"
    return InputError(what, where=path, hint="--input-format names the format of standard input or a pipe")


def _kind_to_skip(stream: ByteStream, options: ReadOptions) -> Kind | None:
    """Return what a file of a directory is if it is not a document."""
    head, encoding = stream.head(), options.encoding
    if head.startswith(FORMATS[options.settings.input_format or "dirs"].magic):
        return None
    kind = recognize(head)
    if kind is None and not encoding.is_wide and "\0" in encoding.decode_leniently(head):
        kind = name_binary(head)
    return kind

"""All SOURCE arguments of a command, read as one stream of documents.

A source is divided into shards: parts (some files, or a byte range) that any process with the same
files can read.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from stat import S_ISREG
from typing import Any

from nbtext.documents import streams
from nbtext.documents.batch import (
    MAX_LABEL_CHARACTERS,
    Batch,
    Block,
    MissingLabel,
    MissingText,
    make_unreadable_batch,
)
from nbtext.documents.blocks import ByteRange, ReadOptions, Shard, count_lines_in_range
from nbtext.documents.decoding import detect_bom, encoding_of
from nbtext.documents.fields import (
    check_needed,
    format_names,
    name_of,
)
from nbtext.documents.files import (
    count_mails,
    find_repeated_folders,
    is_directory,
    kind_of,
    list_shards,
    read_directory,
    say_of_headers,
    split_files,
)
from nbtext.documents.formats import (
    FORMATS,
    MAIL_SUFFIXES,
    WRITABLE_NAMES,
    Format,
    begins_as_mail,
    content_suffix,
    detect_format,
    tells_format,
)
from nbtext.documents.recognition import OUTPUTS, log_skipped
from nbtext.documents.settings import (
    DELIMITERS,
    FOR_COLUMNS,
    FOR_LABELS,
    TABLE_SEPARATORS,
    UNKNOWN_INPUT,
    VALUES,
    InputSettings,
    ModelInput,
    already_counted,
)
from nbtext.errors import InputError, SettingsError, hide_credentials, list_some
from nbtext.settings import list_options, refuse

# bytes: the sample of each shard must fit into memory
MIN_SHARD = 16 << 20
MAX_SHARD = 512 << 20
MAX_AHEAD = 1 << 20  # documents that are kept in memory while a source is measured
MATRIX_SUFFIXES = (".npz", ".svmlight", ".mtx")
# the assumed size of a file of a directory; to stat each file is as slow as to read it
FILE_BYTES = 32 << 10


# settings with an effect on a matrix
OF_MATRICES = ("input_format", "label", "missing_labels", "skip_unlabeled")


class Source:
    """All SOURCE arguments of a command, read as one stream of documents.

    Attributes
    ----------
    size : int, optional
        The sum of the sizes of all blocks, in `unit`; None if it is not known before reading.
    unit : {"bytes", "files"}
    skipped : Counter of str
        Number of skipped items, by the reason. Items that are skipped during reading are in the
        notes of each batch; `batches` adds them here.
    field_names : tuple of str
        The names of the columns of a batch, if text fields are kept separate.
    is_live : bool
        Whether text comes from a pipe or a terminal, and is read as soon as whole lines arrive.
    settings : InputSettings
    path_of_lines : str, optional
        The path of the last stream whose lines are documents because nothing else was found.
    """

    def __init__(
        self, files: Sequence[Shard], skipped: Counter[str], settings: InputSettings
    ) -> None:
        self._files = files
        self.path_of_lines: str | None = None
        self._units: dict[str, str] = {}  # input units by path, of files that were opened
        self.settings = settings
        self.skipped = skipped
        # errors of one document, if another one has what it misses
        self.found: set[type[InputError]] = set()
        # blocks that were read to measure the source, their bytes, and those that follow
        self._ahead: list[Block] | None = None
        self._n_ahead = 0
        self._rest: Iterator[Block] = iter(())
        # documents that can be read only once, by the number of the block
        self._kept: dict[int, Batch] | None = None
        # matrices of which the first block was read, by path
        self._begun: dict[str, Iterator[Block]] = {}
        # by path, a block of each matrix that was read, or None for texts
        self._matrices: dict[str, Any] = {}
        self.field_names = settings.text_field if settings.separate_fields else ()
        units = {"bytes" if shard.reader == "file" else "files" for shard in files}
        sizes = [
            streams.file_size(shard.path) if shard.reader == "file" else len(shard.paths)
            for shard in files
        ]
        self.unit = "bytes" if "bytes" in units else "files"
        self.size = (
            sum(size or 0 for size in sizes) if len(units) == 1 and None not in sizes else None
        )
        self.is_live = FORMATS[settings.input_format or "lines"].is_live and any(
            size is None and not streams.is_url(shard.path)
            for shard, size in zip(files, sizes, strict=True)
        )

    def _found_units(self) -> set[str | None]:
        units: set[str | None] = set()
        for shard in self._files:
            path = shard.path
            unit = self._units.get(path)
            if unit is None and shard.reader != "file":
                unit = {"mails": "mail", "database": "row"}.get(shard.reader, "file")
            elif unit is None and self.settings.input_format is not None:
                unit = FORMATS[self.settings.input_format].unit
            elif unit is None and streams.is_regular(path):
                found = _detect_format(path, self.settings)
                unit = found.unit if found is not None else None
            units.add(unit)
        return units

    @property
    def input_unit(self) -> str | None:
        """What a document is: "file", "line", "row" or "mail"; None where sources differ, or a
        stream is not read yet.

        Mails among other files count as files.
        """
        units = self._found_units()
        if units == {"file", "mail"}:
            return "file"
        return units.pop() if len(units) == 1 else None

    @property
    def has_fields(self) -> bool:
        """Whether documents may have fields; files of text, and lines of text, have none."""
        return not self._found_units() <= {"file", "line"}

    @property
    def has_single_labels(self) -> bool:
        """Whether it is known before reading that no document has several labels: folders are
        labels.
        """
        return all(shard.reader == "files" for shard in self._files)

    @property
    def model_input(self) -> ModelInput:
        """The properties of the source that a model stores when it is trained on it."""
        inputs = {
            (matrix := self._matrices.get(path)) and matrix.input
            for shard in self._files
            for path in shard.paths
        }
        if inputs != {None}:
            return (inputs.pop() if len(inputs) == 1 else None) or UNKNOWN_INPUT
        unit = self.input_unit
        read = self.settings
        level = read.label_level if read.label_level > 1 else None
        if unit not in ("row", "mail") and not read.separate_fields:
            return ModelInput(unit, label_level=level)
        labels = (read.label_separator, read.label_fields, level)
        return ModelInput(unit, read.text_field, read.label_field, read.separate_fields, *labels)

    def find_deeper_labels(self) -> Iterator[str]:
        """Yield a hint for each directory in which other folders than the first may be the
        labels.
        """
        for root in dict.fromkeys(shard.root for shard in self._files if shard.root is not None):
            shards = [shard for shard in self._files if shard.root == root]
            labels = {label for shard in shards for label in shard.labels if label is not None}
            paths = chain.from_iterable(shard.paths for shard in shards)
            level, names = find_repeated_folders(root, paths) if labels else (0, [])
            if level:
                found = f"the labels are {list_some(sorted(labels), 3)}, and most of these folders hold {list_some(names, 3)}"
                where = streams.name_source(root)
                yield f"{where}: {found}; if those are the labels, give --label-level {level}"

    def first_matrix(self) -> Any:
        """Return rows of the first file of SOURCE if it is a matrix, which is read now; None if it
        holds texts.
        """
        shard = self._files[0]
        path = shard.path
        is_told_by_name = content_suffix(path) in MATRIX_SUFFIXES
        if shard.reader != "file" or (streams.is_url(path) and not is_told_by_name):
            return None
        if path not in self._matrices:
            stream = streams.open_stream(path)
            try:
                is_counted = detect_stream_format(stream, self.settings).is_counted
            finally:
                streams.keep_opened(path, stream)
            if not is_counted:  # a pipe cannot be asked again
                self._matrices[path] = None
                return None
            blocks = self._read_shard(shard)
            first = next(blocks)
            batch = first.batch()
            self._matrices[path] = batch.matrix
            self._begun[path] = chain([batch.block(first.size)], blocks)
        return self._matrices[path]

    @property
    def is_read_again(self) -> bool:
        """Whether all shards are files, which can be read several times; a pipe with a path
        cannot.
        """
        return self._stored_bytes is not None

    @cached_property
    def _stored_bytes(self) -> int | None:
        """The number of bytes of the files; None if something else is among them."""
        total = 0
        with suppress(OSError, ValueError):
            for path in chain.from_iterable(shard.paths for shard in self._files):
                status = os.stat(path)
                if path == streams.STANDARD_INPUT or not S_ISREG(status.st_mode):
                    return None
                total += status.st_size
            return total
        return None

    @property
    def names_matrix(self) -> bool:
        """Whether the name of a file tells that it is a matrix."""
        files = (shard.path for shard in self._files if shard.reader == "file")
        return any(content_suffix(path) in MATRIX_SUFFIXES for path in files)

    def keep_documents(self) -> None:
        """Let `blocks` be called several times: documents that can be read only once are kept in
        memory.
        """
        self._kept = None if self.is_read_again else {}

    @property
    def is_repeatable(self) -> bool:
        """Whether `blocks` can be called several times; see `keep_documents`."""
        return self.is_read_again or self._kept is not None

    def measure(self, limit: int) -> int:
        """Return the number of bytes of the source as it is stored, or a number above the limit.

        Documents that can be read only once are read now, up to this limit, and kept in memory.
        They end with the first one that has several labels, and with more than MAX_AHEAD: then the
        number is above the limit, too.
        """
        if self._stored_bytes is not None:
            return self._stored_bytes
        if self._ahead is None:
            self._ahead = []
            n_documents = 0
            blocks = chain.from_iterable(map(self._read_shard, self._files))
            for block in blocks:
                batch = block.batch()
                n_documents += len(batch)
                self._ahead.append(batch.block(block.size))
                self._n_ahead += block.size
                if batch.has_lists or n_documents > MAX_AHEAD:
                    self._n_ahead += limit
                if self._n_ahead > limit:  # each is dropped when it was used
                    self._rest = chain(self._ahead, blocks)
                    self._ahead = []
                    break
        return self._n_ahead

    def sample(self, share: float) -> Source:
        """Return the same documents, but only this share of them, by a hash of their text."""
        found = copy(self)
        found.settings = replace(self.settings, sample_share=share)
        return found

    def blocks(self) -> Iterator[Block]:
        """Yield the documents in blocks, in order.

        Raises
        ------
        InputError
            A file cannot be used as a whole.
        """
        if self._kept:
            yield from (self._kept[number].block() for number in sorted(self._kept))
            return
        blocks = chain.from_iterable(map(self._read_shard, self._files))
        if self._ahead is not None:
            blocks = chain(self._ahead, self._rest)
        for number, block in enumerate(blocks):
            yield block.map(partial(self._finish, number))

    def _finish(self, number: int, batch: Batch) -> Batch:
        """Return the documents of a block with what the settings make of the labels, without those
        that are left out.
        """
        settings = self.settings
        label = name_of(settings.label)
        if settings.rows_for == VALUES:
            batch = batch.read_fields()
        batch = batch.mark_headers(settings)
        if settings.missing_labels:
            batch = batch.without_labels(settings.missing_labels)
        if label is not None:
            batch = batch.set_label(label)
        if settings.ids or settings.sample_share or settings.skip_unlabeled or settings.skip_empty:
            batch = batch.filter(settings)
        batch = batch.leave_out()
        self.found.update(kind for kind in (MissingText, MissingLabel) if batch.has_others(kind))
        return batch if self._kept is None else self._kept.setdefault(number, batch)

    def _read_shard(self, shard: Shard) -> Iterator[Block]:
        path = shard.path
        name = hide_credentials(shard.root or path, is_source=True)
        settings = replace(self.settings, folder=shard.labels[0])
        options = ReadOptions(encoding_of(settings), settings, shard.byte_range)
        if path in self._begun:
            yield from self._begun.pop(path)
            return
        if shard.reader == "file":
            with streams.open_stream(path) as stream:
                yield from self._read_stream(stream, shard, options)
            return
        if shard.reader == "database":
            from nbtext.documents.sql import read_database

            _check_use(settings, name, FORMATS["sqlite"])
            yield from read_database(path, replace(options, settings=settings.of_unit("row")))
            return
        _check_use(settings, name)
        if shard.reader == "files":
            yield from read_directory(shard, options)
            return
        from nbtext.documents.mail import read_mail_files

        settings = settings.of_unit("mail")
        check_needed(name, settings, has_fields=True)
        yield from read_mail_files(shard, replace(options, settings=settings))

    def _read_stream(
        self, stream: streams.ByteStream, shard: Shard, options: ReadOptions
    ) -> Iterator[Block]:
        """Yield the blocks of a single file or stream, whose format may have to be detected."""
        path = shard.path
        settings = options.settings
        kind = None
        if shard.root is not None:
            head = stream.head()
            asked = settings.input_format
            magics = [each.magic for each in FORMATS.values() if asked in (None, each.name)]
            if not head.startswith(tuple(chain(*magics))):
                kind = kind_of(head, options.encoding)
        if kind is not None:
            if settings.keeps_skipped and kind not in OUTPUTS:
                batch = replace(
                    make_unreadable_batch(stream.path, kind.refuse(), settings), are_files=True
                )
                yield batch.block(stream.size or 0)
                return
            log_skipped(stream.path, kind.describe())
            self.skipped[kind.describe()] += 1
            return
        found = detect_stream_format(stream, settings)
        self._units[path] = found.unit
        if settings.input_format is None and found.name == "lines":
            self.path_of_lines = stream.path
        is_text = settings.input_format is None and found.name == "files"
        if is_text and begins_as_mail(stream.head()):
            say_of_headers(stream.path)
        settings = settings.of_unit(found.unit)
        if not found.has_fields or found.unit == "mail":
            check_needed(stream.path, settings, has_fields=found.has_fields)
        _check_use(settings, stream.path, found)
        if settings.rows_for == FOR_LABELS and not found.writer:
            settings = replace(settings, rows_for="")
        encoding = stream.decode(options.encoding) if found.is_text else options.encoding
        is_whole = not found.is_splittable or (found.is_text and not encoding.has_byte_lines)
        if shard.byte_range is not None and is_whole:
            raise InputError(
                f"a file of the format {found.name} can be read only as a whole, not a range of its bytes",
                where=stream.path,
            )
        blocks = found.load("reader")(
            stream, replace(options, encoding=encoding, settings=settings)
        )
        if not found.is_counted:
            yield from blocks
            return
        because = already_counted()
        if settings.split is not None:
            raise refuse(settings.split.option, f"{because}, without other fields")
        if settings.rows_for == FOR_LABELS:
            raise refuse("apply", because)
        allowed = {*OF_MATRICES, *settings.remembered}
        for field, _ in list_options(InputSettings):
            if field.name not in allowed and getattr(settings, field.name) != field.default:
                raise refuse(field.name, because)

        def note_matrix(batch: Batch) -> Batch:
            self._matrices.setdefault(path, batch.matrix)
            return batch

        for block in blocks:
            yield block.map(note_matrix)

    def shards(self, n_bytes: int | None = None, *, n_readers: int = 1) -> list[Shard]:
        """Return the same documents as shards of about `n_bytes`, in order, whose ranges all begin
        at line 1; see `open_shard`.

        Parameters
        ----------
        n_bytes : int, optional
            The size of a shard; None: it depends on `n_readers`.

        Raises
        ------
        InputError
            A source can only be read in this process.
        """
        if n_bytes is None:
            size = self.size
            if size is not None and self.unit == "files":
                size *= FILE_BYTES
            n_bytes = suitable_bytes(size, n_readers)
        shards: list[Shard] = []
        for shard in self._files:
            if shard.reader != "file":
                shards += split_files(shard, max(1, n_bytes // FILE_BYTES))
                continue
            path = shard.path
            size = streams.file_size(path)
            if path == streams.STANDARD_INPUT or (size is None and not streams.is_url(path)):
                raise InputError(
                    "the workers of a cluster cannot read standard input or a pipe",
                    where=path,
                    hint="save it as a file that all workers can read",
                )
            if size is None or size <= n_bytes or not _is_splittable(path, self.settings):
                shards.append(shard)
                continue
            for start in range(0, size, n_bytes):
                lines = ByteRange(start, min(start + n_bytes, size), first_line=1)
                shards.append(replace(shard, byte_range=lines))
        return shards

    def batches(self) -> Iterator[Batch]:
        """Yield all documents, some at a time, in order; problems stay in the batches."""
        for block in self.blocks():
            batch = block.batch()
            self.skipped.update(batch.notes)
            yield batch


def open_source(
    paths: Sequence[str],
    settings: InputSettings,
    *,
    outputs: Sequence[str] = (),
) -> Source:
    """Return the documents of some paths, each in the format of the settings, or in the detected
    one.

    Parameters
    ----------
    paths : sequence of str
        Files, directories and URLs; "-" is standard input.
    settings : InputSettings
    outputs : sequence of str
        Files that this run writes: they are skipped in a directory. "-" is standard output.

    Raises
    ------
    InputError
        A path is missing, cannot be read, or is a directory without files.
    SettingsError
        A setting is invalid.
    """
    if not paths:
        raise InputError(
            "no SOURCE is given", hint="name a directory or a file, or - for standard input"
        )
    check_input(settings)
    files = list[Shard]()
    skipped = Counter[str]()
    for path in paths:
        is_typed = path == streams.STANDARD_INPUT or streams.is_database_url(path)
        if not is_typed and is_directory(path):
            shards, others = list_shards(path, settings, outputs)
            for place, reason in others:
                skipped[reason] += 1
                log_skipped(place, reason)
            for shard in shards:
                if shard.reader == "files":
                    check_needed(shard.path, settings)
            files += shards
        elif settings.input_format == "dirs":
            raise InputError("is not a directory", where=path, hint="leave out --input-format")
        else:
            files.append(Shard(_reader_of(path, settings), (path,), (None,)))
    return Source(files, skipped, settings)


def open_shard(shard: Shard, settings: InputSettings) -> Source:
    """Return the documents of a shard of a source that was opened with these settings, in any
    process.
    """
    return Source([shard], Counter(), settings)


def check_input(settings: InputSettings) -> None:
    """Raise SettingsError if a setting is invalid."""
    encoding_of(settings)
    label = settings.label
    if label is not None and (name_of(label) is None or len(label) > MAX_LABEL_CHARACTERS):
        raise SettingsError(
            "is not a label",
            where="label",
            hint=f"write 1 to {MAX_LABEL_CHARACTERS:,} characters",
        )
    has_texts = settings.text_field or settings.rows_for == VALUES
    for name, is_wrong in (
        ("text_field", not has_texts or "" in settings.text_field),
        ("label_fields", "" in settings.label_fields),
        ("label_separator", settings.label_separator == ""),
    ):
        if is_wrong:
            raise SettingsError("a name or a separator is empty", where=name, hint="write one")
    if settings.delimiter is not None and (
        len(settings.delimiter) != 1 or settings.delimiter in '"\\\r\n'
    ):
        raise SettingsError(
            "is not a delimiter",
            where="delimiter",
            hint=f"write one character, or {', '.join(name for name in DELIMITERS if name.isalpha())}",
        )


def _reader_of(path: str, settings: InputSettings) -> str:
    """Return what reads a path that is not a directory; see `Shard.reader`."""
    wanted = settings.input_format
    if streams.is_database_url(path):
        return "database"
    if streams.is_regular(path):
        if wanted is None and content_suffix(path) in MAIL_SUFFIXES:
            return "mails"
        is_whole = wanted is None and settings.input_unit in ("file", "mail")
        found = _detect_format(path, settings) if is_whole else None
        is_mail_text = found is not None and found.name == "files"
        if is_mail_text and count_mails(path, settings.max_document_bytes) > 1:
            return "mails"
        if is_mail_text:
            say_of_headers(path)
        if wanted == "files" or (found is not None and found.name in ("lines", "files")):
            check_needed(path, settings)
            return "files"
    return "file"


def _detect_format(path: str, settings: InputSettings) -> Format | None:
    """Return the format of a file; None if it cannot be detected, which is reported when the file
    is read.
    """
    with streams.open_stream(path) as stream:
        try:
            return detect_stream_format(stream, settings)
        except InputError:
            return None


def _check_use(settings: InputSettings, name: str, found: Format | None = None) -> None:
    """Raise InputError if the settings need a database, a table, or rows that can be extended;
    None: whole files.
    """
    if settings.query is not None and not (found and found.has_queries):
        raise InputError(
            "is not a database",
            where=name,
            hint="--query selects rows of a SQLite file, or of a database at a URL",
        )
    if settings.table_options and not (found and found.name in ("csv", "tsv")):
        raise SettingsError(
            f"{streams.name_source(name)} is not a table of text",
            where=settings.table_options[0],
            hint="leave out this option",
        )
    is_writable = found is not None and found.writes(FOR_COLUMNS)
    if settings.rows_for == VALUES and not is_writable:
        raise InputError(
            "has no columns or keys that hold predictions",
            where=name,
            hint="write it with nbtext predict --to jsonl (or json, tsv, csv), or give a table",
        )
    if settings.rows_for == FOR_COLUMNS and not is_writable:
        raise InputError(
            f"columns can be added only to {', '.join(WRITABLE_NAMES[:-1])} or {WRITABLE_NAMES[-1]}",
            where=name,
            hint="--input-format names the format of standard input or a pipe",
        )


def suitable_bytes(n_bytes: int | None, n_readers: int) -> int:
    """Return the shard size, within bounds, that divides `n_bytes` into two shards for each of
    `n_readers` workers.
    """
    if n_bytes is None:
        return MAX_SHARD
    return min(max(-(-n_bytes // (2 * n_readers)), MIN_SHARD), MAX_SHARD)


def detect_stream_format(stream: streams.ByteStream, settings: InputSettings) -> Format:
    """Return the format of a stream: that of the settings, or the detected one.

    Raises
    ------
    InputError
        It is a binary file.
    """
    if settings.input_format is not None:
        return FORMATS[settings.input_format]
    encoding = encoding_of(settings)

    def is_enough(head: bytes) -> bool:
        if stream.is_terminal:
            return b"\n" in head
        return not encoding.is_wide and tells_format(head)

    unit = (
        "mail" if settings.reads_one_mail and settings.input_unit != "file" else settings.input_unit
    )

    def detect(head: bytes) -> Format:
        return detect_format(stream.path, head, encoding.decode_leniently(head), unit=unit)

    head = stream.head(is_enough=is_enough)
    found = detect(head)
    stream.check_later(detect)
    text = encoding.decode_leniently(head)
    if found.name != "lines":
        return found
    if settings.table_options or settings.other_fields:
        return FORMATS["csv"]
    if streams.is_regular(stream.location):
        if settings.input_unit == "row":
            _warn_of_table(stream.path, text, "\t|")
        return found
    return (
        FORMATS["files"]
        if settings.reads_one_mail
        else _detect_as_trained(stream.path, text, settings)
    )


def _detect_as_trained(path: str, text: str, settings: InputSettings) -> Format:
    """Return the format of a stream that seems to be lines: a table if its first line has the
    columns of the model.

    A warning says so if it may be lines, or if lines may be another table.
    """
    if settings.input_unit != "row":
        return FORMATS["lines"]
    first = next(filter(str.strip, text.splitlines()), "")
    usual = {*settings.text_field, *settings.label_names, settings.id_field}
    for separator in TABLE_SEPARATORS if settings.text_field else ():
        found = [name.strip().strip('"') for name in first.split(separator)]
        if set(settings.text_field).issubset(found):
            if len(usual.intersection(found)) == 1:
                what = f"read as a table with the columns {format_names(found)}"
                what += "; give --input-format lines if each line is a document"
                streams.warn(path, what)
            return FORMATS["tsv" if separator == "\t" else "csv"]
    _warn_of_table(path, text, ",;\t|")
    return FORMATS["lines"]


def _warn_of_table(path: str, text: str, marks: str) -> None:
    """Say that each line is a document if one of the marks seems to divide the first two into
    columns.
    """
    lines = text.splitlines()[:2]
    if len(lines) > 1 and any(0 < lines[0].count(mark) == lines[1].count(mark) for mark in marks):
        what = "each line is a document, and the model was trained on rows; give --input-format csv or tsv, or lines"
        streams.warn(path, what)


def _is_splittable(path: str, settings: InputSettings) -> bool:
    """Return whether a byte range of the file can be read alone."""
    with streams.open_stream(path) as stream:
        found = detect_stream_format(stream, settings)
        is_ranged = stream.compression is None and found.is_splittable
        if found.is_text:
            is_ranged = (
                is_ranged and detect_bom(stream.head(), encoding_of(settings))[0].has_byte_lines
            )
        # some servers of HTTP answer no ranges
        return is_ranged and not path.lower().startswith(("http://", "https://"))


def count_lines(shard: Shard, settings: InputSettings) -> int:
    """Return how many lines begin in the range of a shard; 0 for one without a range, or of a file
    with an index.

    Raises
    ------
    InputError
        Its file cannot be read.
    """
    if shard.byte_range is None:
        return 0
    with streams.open_stream(shard.path) as stream:
        found = detect_stream_format(stream, settings)
        if found.is_splittable and not found.is_text:  # its index has the numbers of its rows
            return 0
        _, bom_size = detect_bom(stream.head(), encoding_of(settings))
    return count_lines_in_range(stream.location, shard.byte_range, bom_size)


def number_lines(shards: Sequence[Shard], n_lines: Sequence[int]) -> list[Shard]:
    """Return the same shards, each with the number of its first line; `n_lines` is the number of
    lines in each.
    """
    numbered: list[Shard] = []
    first_line = 1
    for shard, number in zip(shards, n_lines, strict=True):
        if shard.byte_range is None or shard.byte_range.start == 0:
            first_line = 1
        numbered.append(begin_at_line(shard, first_line))
        first_line += number
    return numbered


def begin_at_line(shard: Shard, first_line: int | None) -> Shard:
    """Return the same shard, which begins at a line; None: the lines before it are counted when it
    is read.
    """
    if shard.byte_range is None:
        return shard
    return replace(shard, byte_range=shard.byte_range._replace(first_line=first_line))

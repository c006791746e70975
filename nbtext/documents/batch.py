"""Batches of documents, which every reader returns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from itertools import accumulate, chain, islice
from math import inf
from typing import Any, Self

from nbtext.documents.blocks import ReadOptions, cut
from nbtext.documents.decompression import too_long
from nbtext.documents.fields import (
    LABEL_PREFIX,
    MAX_LABELS_SHOWN,
    MISSING_KEY,
    NESTED,
    TYPE_NAMES,
    WEIGHT_UNIT,
    Label,
    SoftLabel,
    canonical,
    find_delimiter,
    find_indicator,
    find_value,
    format_names,
    holds,
    name_of,
    read_indicators,
    read_label,
    read_text_value,
    read_weight,
    split_shares,
)
from nbtext.documents.settings import (
    DEFAULT_TEXT,
    FOR_COLUMNS,
    HEADERS,
    VALUES,
    InputSettings,
    Split,
)
from nbtext.documents.streams import origin_of, warn
from nbtext.errors import InputError, number_of
from nbtext.kernel import choose_version
from nbtext.records import Strings, dataclass, frozen_object

LARGE_BYTES = 8 << 20  # of a block; others have a few megabytes, so such a block is a long document
MAX_BLOCK_ROWS = 1 << 32  # documents of a block, whose rows have numbers
MAX_LABEL_CHARACTERS = 1000
MIN_OBJECTS = 10  # at the beginning of a file, all of which may lack a key by mistake
OF_ROWS = ("problems", "shares", "left_out")  # what a batch has by the row, for some rows
UNLABELED = "without a label (--skip-unlabeled)"
EMPTY = "without a text (--skip-empty)"
NOT_SAMPLED = "not in the sample, which is chosen by a hash of the text"
TEXT_HINT = "name the column or key of the text with --text-field"
COLUMNS_HINT = (
    "write an object for each document, as pandas does: to_json(FILE, orient='records', lines=True)"
)
OBJECTS_HINT = "jq -c '.[]' writes the items of a list as lines"
LISTS_HINT = "jq -r '(.[]|arrays) // . | @csv' FILE writes a table, whose columns are --text-field 1 and so on"
FILES_HINT = "put texts in folders named after their labels, or name the format of the files with --input-format"
LABEL_HINT = "name the key or column of the label with --label-field"
FASTTEXT_HINT = (
    "begin each line with __label__NAME and a space, or name the file format with --input-format"
)


_other_prefix = re.compile(r"\w{1,20}?__(?=\w)")


class Missing(InputError):
    """A document lacks what others may have."""

    option = ""  # which leaves such documents out

    def name_option(self) -> Self:
        """Return the error where other documents have it: it names the option."""
        hint = f", or leave out such documents with {self.option}"
        self.hint = self.hint.removesuffix(hint) + hint
        return self


class MissingText(Missing):
    """All texts of a document are missing or null."""

    option = "--skip-empty"


class MissingLabel(Missing):
    """A document has no label."""

    option = "--skip-unlabeled"


@dataclass
class Block:
    """Documents that are not parsed yet.

    Attributes
    ----------
    parse : callable, optional
        Decodes and parses the documents, in any thread; see `batch`.
    size : int
        The number of bytes or files, in the unit of `Source.size`.
    n_bytes : int
        About how many bytes the documents have in memory.
    """

    parse: Callable[[], Batch] | None
    size: int
    n_bytes: int = 0

    def batch(self) -> Batch:
        """Return the documents, once: what was read of the file is freed. An error in one is a
        problem of its row.
        """
        parse = self.parse
        self.parse = None
        assert parse is not None, "a block is parsed once"
        return parse()

    def map(self, change: Callable[[Batch], Batch]) -> Block:
        """Return the same block, whose documents are changed after they are parsed."""
        return Block(lambda: change(self.batch()), self.size, self.n_bytes)

    @property
    def is_large(self) -> bool:
        """Whether nothing else is read or parsed in the meantime, so that long texts do not add up
        in memory.
        """
        return self.n_bytes > LARGE_BYTES


@frozen_object
class Places(Sequence[str]):
    """The places of documents, which are their ids if they have no others. A place is made when it
    is asked for.

    Parameters
    ----------
    origin : str
        What each place begins with.
    numbers : sequence of int or str
        What follows it.
    """

    _origin: str
    _numbers: Sequence[int | str]

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[str]:
        return map(self._origin.__add__, map(str, self._numbers))

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, slice):
            return Places(self._origin, self._numbers[rows])
        return f"{self._origin}{self._numbers[rows]}"


@dataclass
class Batch:
    """Documents as columns, all of the same length.

    A document that cannot be read keeps its row, with empty text, so that each document gets a
    result.

    Attributes
    ----------
    ids : sequence of str
    columns : tuple of sequence of str
        The texts: a sequence for each field if fields are kept separate, otherwise one.
    labels : sequence of str, tuple of str or None
        The label of each document, or its distinct labels in a list, () without labels; None if
        they are not known.
    problems : dict of int to InputError
        The error of each row that could not be read.
    repaired_documents : int
        Number of documents in which invalid bytes were replaced.
    repaired_bytes : int
        Number of replacement characters (U+FFFD) for invalid bytes.
    notes : Counter of str
        Number of items that were skipped, by the reason.
    unknown_encodings : Counter of str
        Number of documents that name an encoding that does not exist, by its name.
    groups : list of str, optional
        The group or the timestamp of each document, if the settings name the field.
    weights : sequence of int, optional
        How often each document counts, in units of 1 / WEIGHT_UNIT. None: each counts once.
    shares : dict of int to SoftLabel
        The soft labels, by the row; the label of such a row is the one with the largest share.
    row_numbers : sequence of int, optional
        The number of each document in its source, ascending, by which its counts are found again.
        None: nothing looks for them.
    origin : str
        The prefix of the line number in the location of a document: `FILE:`, or "" for standard
        input.
    line_numbers : sequence of int or str, optional
        The number of the first line, row or item of each document, or the place itself; None if
        the ids are already locations.
    are_files : bool
        Whether each document is a whole file, whose name may end like the number of a line.
    names : tuple of str
        The keys or columns of the first document without a label.
    rows : TextRows, ArrowRows or SqlRows, optional
        The documents as the file has them, if the settings keep them: with `format`, whose writer
        writes them, `path`, `slice(start, stop)`, and `fields(row)`, which returns the values of
        all columns, or None if the format has none.
    left_out : dict of int to str
        By the row, why a document is left out; "" if that needs no note.
    lists_missing : bool
        Whether some labels may stand for a missing one.
    fields : list of dict, optional
        The values of all columns or keys of each document, if the settings ask for them.
    matrix : Matrix, optional
        The documents of a matrix, whose texts are empty.
    """

    ids: Sequence[str]
    columns: tuple[Sequence[str], ...]
    labels: Sequence[Label]
    problems: dict[int, InputError] = field(default_factory=dict)
    repaired_documents: int = 0
    repaired_bytes: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    groups: list[str] | None = None
    weights: Sequence[int] | None = None
    shares: dict[int, SoftLabel] = field(default_factory=dict)
    row_numbers: Sequence[int] | None = None
    origin: str = ""
    line_numbers: Sequence[int | str] | None = None
    are_files: bool = False
    names: Strings = ()
    rows: Any = None
    fields: list[dict[str, Any]] | None = None
    unknown_encodings: Counter[str] = field(default_factory=Counter)
    matrix: Any = None
    left_out: dict[int, str] = field(default_factory=dict)
    lists_missing: bool = False

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def features(self) -> Any:
        """What is counted: the texts, or the rows of a matrix."""
        return self.columns if self.matrix is None else self.matrix

    def check_texts(self, job: str) -> None:
        """Raise InputError if the documents are rows of a matrix; `job` is what needs the texts."""
        if self.matrix is not None:
            raise InputError(
                f"the document is a row of a matrix, and {job} needs its text",
                where=self.place(0) if len(self) else "",
                hint="give the texts",
            )

    def note(self, reason: str, number: int) -> None:
        """Count skipped items, by the reason."""
        if number:
            self.notes[reason] += number

    def count_repairs(self, numbers: Iterable[int]) -> Self:
        """Count the invalid sequences of bytes that were replaced in documents, or in some of their
        values; return the batch.
        """
        for n_sequences in numbers:
            self.repaired_documents += n_sequences > 0
            self.repaired_bytes += n_sequences
        return self

    @property
    def has_lists(self) -> bool:
        """Whether a document has a list of labels."""
        return tuple in set(map(type, self.labels))

    def add_notes(self, other: Batch) -> None:
        """Add the notes and repair counts of another batch."""
        self.notes.update(other.notes)
        self.unknown_encodings.update(other.unknown_encodings)
        self.repaired_documents += other.repaired_documents
        self.repaired_bytes += other.repaired_bytes

    def list_labels(self) -> list[Strings | None]:
        """Return the labels of each document as a list; None if they are not known."""
        return [(label,) if isinstance(label, str) else label for label in self.labels]

    def check_labels(self) -> None:
        """Raise InputError for the first document that could not be read, or has no label."""
        if self.problems or None in self.labels:
            unlabeled = (row for row, label in enumerate(self.labels) if label is None)
            raise self.refusal(min([*self.problems, *unlabeled]))

    def refusal(self, row: int) -> InputError:
        """Return the error of a document that could not be read or has no label, where it should be
        counted.
        """
        problem = self.problems.get(row) or self.missing_label(row)
        return (
            problem.name_option()
            if isinstance(problem, Missing) and self.has_others(type(problem))
            else problem
        )

    def has_others(self, kind: type[InputError]) -> bool:
        """Return whether a document has what the error of another one misses."""
        if kind is MissingLabel:
            return any(label is not None for label in self.labels)
        return kind is MissingText and len(self.problems) < len(self)

    def single_labels(self) -> list[str | None]:
        """Return the label of each document; None if it is not known.

        Raises
        ------
        InputError
            A document has several labels, or an empty list of labels.
        """
        found: list[str | None] = []
        for row, label in enumerate(self.labels):
            if isinstance(label, tuple) and len(label) != 1:
                names = f" ({format_names(label, MAX_LABELS_SHOWN)})" if label else ""
                raise InputError(
                    f"the document has {number_of(len(label), 'label')}{names}, but exactly one is expected",
                    where=self.place(row),
                    hint="give documents with one label each",
                )
            found.append(label[0] if isinstance(label, tuple) else label)
        return found

    def split(self, size: int, characters: float = inf) -> list[Batch]:
        """Split into batches of at most `size` >= 1 documents, and `characters` together unless one
        alone has more.

        The first has the notes and repair counts.
        """
        lengths = map(sum, zip(*map(text_lengths, self.columns), strict=True))
        pieces = list(cut(list(accumulate(lengths)), size, characters))
        if len(pieces) < 2:
            return [self]
        return [self._slice(start, stop) for start, stop in pieces]

    def _slice(self, start: int, stop: int) -> Batch:
        batch = self._select(lambda column: column[start:stop], range(start, stop))
        batch.rows = self.rows.slice(start, stop) if self.rows is not None else None
        if start:
            batch.repaired_documents = batch.repaired_bytes = 0
            batch.notes = Counter()
            batch.unknown_encodings = Counter()
        return batch

    def drop(self, rows: Collection[int]) -> Batch:
        """Return the batch without these rows; notes and repair counts are kept, the rows of the
        file are not.
        """
        return self.take([row for row in range(len(self)) if row not in rows])

    def take(self, rows: Sequence[int]) -> Batch:
        """Return the batch of these rows, ascending; notes and repair counts are kept, the rows of
        the file are not.
        """
        return self._select(lambda column: [column[row] for row in rows], rows)

    def _select(self, take: Callable[[Any], Any], kept: Sequence[int]) -> Batch:
        """Return the batch of some documents.

        take  returns the values of these documents in a column
        """
        names = ("ids", "labels", "groups", "weights", "row_numbers", "line_numbers", "fields")
        changed = {
            name: take(column) for name in names if (column := getattr(self, name)) is not None
        }
        has_rows = self.problems or self.left_out or self.shares
        places = {row: place for place, row in enumerate(kept)} if has_rows else {}
        for name in OF_ROWS if has_rows else ():
            values = getattr(self, name)
            changed[name] = {places[row]: each for row, each in values.items() if row in places}
        changed["columns"] = tuple(map(take, self.columns))
        return replace(self, **changed, matrix=self.matrix and self.matrix.take(kept), rows=None)

    def spread(self) -> Batch:
        """Return the batch with one row for each label of a soft label, which has the weight of its
        share.
        """
        if not self.shares:
            return self
        rows: list[int] = []
        labels: list[Label] = []
        weights: list[int] = []
        for row in range(len(self)):
            weight = WEIGHT_UNIT if self.weights is None else self.weights[row]
            soft = self.shares.get(row)
            own: Mapping[Any, int] = {self.labels[row]: weight}
            if soft is not None:
                own = split_shares(dict(soft.shares), weight)
            rows += [row] * len(own)
            labels += own
            weights += own.values()
        return replace(self.take(rows), labels=labels, weights=weights, shares={})

    def without_shares(self) -> Batch:
        """Return the batch in which the label with the largest share stands for a soft label."""
        return replace(self, shares={})

    def block(self, size: int = 0, n_bytes: int = 0) -> Block:
        """Return a block of these documents."""
        return Block(lambda: self, size, n_bytes)

    def read_fields(self) -> Batch:
        """Return the batch with the values of all columns or keys of its rows, instead of the
        rows.
        """
        rows = self.rows
        fields = [(rows and rows.fields(row)) or {} for row in range(len(self))]
        return replace(self, fields=fields, rows=None)

    def set_label(self, label: str) -> Batch:
        """Return the batch with one label for all documents; one that cannot be read has none."""
        labels = [None if row in self.problems else label for row in range(len(self))]
        return replace(self, labels=labels, shares={})

    def mark_headers(self, settings: InputSettings) -> Batch:
        """Leave out the rows whose values are the names of their fields, which were headers of
        tables that were joined.
        """
        text = "\n".join(settings.text_field)
        texts = self.columns[0] if self.columns else [text] * len(self)
        label = settings.label_field
        for row, found in enumerate(texts) if text in texts else ():
            is_label = self.labels[row] in (label, (label,))
            if found == text and (is_label or self.ids[row] == settings.id_field):
                self.left_out[row] = HEADERS[0]
        return self

    def leave_out(self) -> Batch:
        """Return the batch without the rows that are left out, with notes of how many. If the rows
        of the file are kept, these are left out when they are written.
        """
        if not self.left_out:
            return self
        batch = self if self.rows is not None else self.drop(self.left_out)
        batch.notes.update(filter(None, self.left_out.values()))
        return batch

    def without_labels(self, missing: Collection[str]) -> Batch:
        """Return the batch without the labels that stand for a missing one."""
        names = set(map(canonical, missing))

        def keep(label: Label) -> Label:
            if isinstance(label, tuple):
                kept = tuple(each for each in label if canonical(each) not in names)
                return kept or (None if label else label)
            return None if canonical(label) in names else label

        labels = list(map(keep, self.labels))
        shares: dict[int, SoftLabel] = {}
        for row, soft in self.shares.items():
            kept = tuple(pair for pair in soft.shares if canonical(pair[0]) not in names)
            labels[row] = None
            if kept:
                shares[row] = SoftLabel(kept)
                labels[row] = shares[row].label
        return replace(self, labels=labels, shares=shares, lists_missing=True)

    def filter(self, settings: InputSettings) -> Batch:
        """Leave out the documents that the settings exclude."""
        for row in range(len(self)):
            if (reason := self._reason(row, settings)) is not None:
                self.left_out.setdefault(row, reason)
        return self

    def _reason(self, row: int, settings: InputSettings) -> str | None:
        """Return why a document is left out, "" if that needs no note; None if it is kept."""
        if settings.ids and self.ids[row] not in settings.ids:
            return ""
        problem = self.problems.get(row)
        if settings.skip_empty:  # it is missing, null or blank
            is_blank = not any(column[row].strip() for column in self.columns)
            if isinstance(problem, MissingText) or (problem is None and is_blank):
                return EMPTY
        if settings.skip_unlabeled and problem is None and self.labels[row] is None:
            return UNLABELED
        share = settings.sample_share
        if share and (problem is not None or not self._is_sampled(row, share)):
            return NOT_SAMPLED
        return None

    def _is_sampled(self, row: int, share: float) -> bool:
        """Whether a document is in a sample: the same ones in any order of the documents, and all
        with an equal text.
        """
        from hashlib import blake2b  # only then, because the import takes time

        if self.matrix is None:
            text = "\n".join(column[row] for column in self.columns)
            content = text.encode("utf-8", "surrogatepass")
        else:
            content = self.matrix.content(row)
        return int.from_bytes(blake2b(content, digest_size=8).digest()) < share * 2**64

    def place(self, row: int) -> str:
        """Return the place of a document: FILE:LINE, or its id if the document is a file."""
        if self.line_numbers is None:
            return self.ids[row]
        return f"{self.origin}{self.line_numbers[row]}"

    def missing_label(self, row: int) -> InputError:
        """Return the error for a document without a label, with the keys or columns that the
        document has.
        """
        what = "the document has no label"
        hint = LABEL_HINT
        if self.lists_missing:
            what += ", or one of --missing-labels"
            hint = "change --missing-labels"
        elif self.matrix is not None:
            hint = "vectorize labeled documents to .npz or .svmlight"
        elif self.names:
            what += f"; its keys or columns are: {format_names(self.names)}"
        elif self.are_files:
            hint = FILES_HINT
        elif self.line_numbers is None:
            hint = _hint_of_line(self.columns[0][row])
        return MissingLabel(what, where=self.place(row), hint=hint)


def text_lengths(texts: Sequence[str]) -> list[int]:
    """Return the number of characters of each text."""
    return list(map(len, texts))


text_lengths = choose_version(text_lengths)


def _hint_of_line(line: str) -> str:
    """Return how to give a line of text a label."""
    if f" {LABEL_PREFIX}" in " ".join(line.split()):
        return "labels come first in a line; --input-format fasttext reads them at any place"
    if delimiter := find_delimiter(line, DEFAULT_TEXT):
        return f"give {delimiter} if it is a table"
    if (found := _other_prefix.match(line)) is not None:
        return f"labels begin with {LABEL_PREFIX}, as in: sed 's/^{found[0]}/{LABEL_PREFIX}/' FILE"
    return FASTTEXT_HINT


def join_batches(batches: Sequence[Batch]) -> Batch:
    """Return the ids, texts, labels, problems, groups and weights of several batches as one."""
    columns = zip(*(batch.columns for batch in batches), strict=True)
    joined = Batch([], tuple(list(chain.from_iterable(column)) for column in columns), [])
    for name in ("ids", "labels", "groups", "weights", "row_numbers"):
        parts = [getattr(batch, name) for batch in batches]
        if None not in parts:
            setattr(joined, name, list(chain.from_iterable(parts)))
    start = 0
    for batch in batches:
        joined.problems |= {start + row: problem for row, problem in batch.problems.items()}
        joined.shares |= {start + row: soft for row, soft in batch.shares.items()}
        start += len(batch)
    return joined


@dataclass
class ReadCount:
    """How many documents there are, how many of them cannot be read, and the error of the first.

    Attributes
    ----------
    n_documents, n_unread : int
    first : InputError, optional
    """

    n_documents: int = 0
    n_unread: int = 0
    first: InputError | None = None

    def add(self, batch: Batch) -> None:
        """Count the documents of a batch."""
        self.n_documents += len(batch) - len(batch.left_out)
        self.n_unread += len(batch.problems)
        if batch.problems and self.first is None:
            self.first = batch.problems[min(batch.problems)]

    def check(self, skipped: Mapping[str, int] = {}) -> None:
        """Raise InputError if there are documents, and none of them can be read; or if all were
        skipped.

        skipped  how many, by the reason
        """
        if skipped and not self.n_documents:
            raise InputError("SOURCE has no documents", hint=", ".join(list_skipped(skipped)))
        first = self.first
        if first is None or self.n_unread < self.n_documents:
            return
        what = first.what
        if self.n_documents > 1:
            n_documents = number_of(self.n_documents, "document")
            what = f"none of {n_documents} can be read; the first: {what}"
        raise InputError(what, where=first.where, hint=first.hint)


def list_skipped(skipped: Mapping[str, int]) -> list[str]:
    """Return a sentence for each reason why documents were skipped."""
    return [f"skipped {number:,}: {reason}" for reason, number in sorted(skipped.items())]


def make_unreadable_batch(place: str, problem: InputError, settings: InputSettings) -> Batch:
    """Return a batch of one document that cannot be read, at a place that is its id."""
    n_columns = len(settings.text_field) if settings.separate_fields else 1
    return Batch([place], ([""],) * n_columns, [None], {0: problem.locate(place)})


def make_batch(
    columns: Mapping[str, Sequence[Any]],
    settings: InputSettings,
    *,
    origin: str,
    numbers: Sequence[int | str],
    problems: Mapping[int, InputError],
    names_of: Callable[[int], Sequence[str]],
    scanned: Sequence[Sequence[str]] | None = None,
) -> Batch:
    """Return documents of the values of their fields. A document with an error is a problem.

    Parameters
    ----------
    columns : mapping of str to sequence
        The values of each field that the settings name, one for each document; without those that
        the source does not have. A missing text is empty, but a problem if all texts are missing.
    origin, numbers
        The place of each document, which is its id if it has no other; see `Batch`.
    problems : mapping of int to InputError
        The error of each row that could not be divided into fields.
    names_of : callable
        Returns the keys or columns of a document, for messages.
    scanned : sequence of sequence of str, optional
        The texts of each field, if a scanner has found them already.
    """
    missing = [None] * len(numbers)
    found = dict(problems)

    def read(name: str) -> Sequence[str | None]:
        values = columns.get(name, missing)
        if set(map(type, values)) <= {str}:
            return values
        return read_each(values, partial(read_text_value, name=name), found)

    texts: Sequence[Sequence[Any]]
    ids: Sequence[str] = Places(origin, numbers)
    if any(given := read(settings.id_field)):
        stripped = [text.strip() if text else "" for text in given]
        if "" in stripped:
            stripped = [own or ids[row] for row, own in enumerate(stripped)]
        ids = stripped
    if scanned is not None:
        texts = scanned
    else:
        texts = [read(name) for name in settings.text_field]
        limit = settings.max_document_bytes
        for row, own in enumerate(zip(*texts, strict=True)):
            if None in own and row not in found:
                kind = InputError if any(text is not None for text in own) else MissingText
                for name in settings.text_field:
                    if columns[name][row] is MISSING_KEY:
                        what = f"no key `{name}`, found {format_names(names_of(row))}"
                        found.setdefault(row, kind(what, hint=TEXT_HINT))
                if kind is MissingText:
                    what = f"`{settings.text_field[0]}` is null"
                    found.setdefault(row, MissingText(what, hint=TEXT_HINT))
            if sum(len(text or "") for text in own) > limit:
                found.setdefault(row, too_long(limit))
    shares: dict[int, SoftLabel] = {}
    if settings.label_fields:
        names = settings.indicator_labels
        rows = list(zip(*(columns.get(name, missing) for name in names), strict=True))
        labels = read_each(rows, lambda row: read_indicators(names, row, settings), found)
    else:
        name = settings.label_field
        given = columns.get(name, [MISSING_KEY] * len(numbers))
        labels = read_each(given, partial(read_label, name=name, settings=settings), found)
        if SoftLabel in set(map(type, labels)):
            shares = {row: soft for row, soft in enumerate(labels) if isinstance(soft, SoftLabel)}
            for row, soft in shares.items():
                labels[row] = soft.label
        for row, value in enumerate(given if settings.folder is not None else ()):
            labels[row] = settings.folder if value is MISSING_KEY else labels[row]
    weights = groups = None
    field = settings.weight_field
    if field is not None:
        weights = read_each(columns.get(field, missing), partial(read_weight, name=field), found)
        weights = [weight or WEIGHT_UNIT for weight in weights]
    if (split := settings.split) is not None:
        groups = read_each(read(split.field), partial(read_group, split=split), found)
        groups = [group or "" for group in groups]
        if split.is_by_time:
            places = (f"{origin}{number}" for number in numbers)
            groups = [f"{time}\0{place}" for time, place in zip(groups, places, strict=True)]
    if scanned is None and (found or any(None in own for own in texts)):
        texts = [
            ["" if row in found else text or "" for row, text in enumerate(own)] for own in texts
        ]
    if len(texts) > 1 and not settings.separate_fields:
        texts = [list(map("\n".join, zip(*texts, strict=True)))]
    batch = Batch(
        ids,
        tuple(texts),
        labels,
        shares={row: soft for row, soft in shares.items() if row not in found},
        groups=groups,
        weights=weights,
        origin=origin,
        line_numbers=numbers,
    )
    for condition in settings.where:
        for row, value in enumerate(columns.get(condition.field, missing)):
            if row not in problems and not holds(condition, value):
                batch.left_out.setdefault(row, f"left out by --where {condition}")
    for row, problem in sorted(found.items()):
        # its traceback, and that of its context, would keep what was read
        problem.__context__ = problem.__cause__ = None
        batch.problems[row] = problem.locate(batch.place(row)).with_traceback(None)
        labels[row] = None
    if None in labels:
        unlabeled = (row for row, label in enumerate(labels) if label is None and row not in found)
        for row in islice(unlabeled, 1):
            batch.names = tuple(names_of(row))
    return batch


def make_batch_of_objects(
    values: Sequence[Any],
    settings: InputSettings,
    *,
    origin: str = "",
    numbers: Sequence[int | str],
) -> Batch:
    """Return documents of objects of JSON, or of the error of one that is broken; see
    `make_batch`.

    raises  InputError: columns are added to rows, and one is broken
    """
    records: list[dict[str, Any]] = []
    problems: dict[int, InputError] = {}
    for row, value in enumerate(values):
        is_object = isinstance(value, dict)
        records.append(value if is_object else {})
        if isinstance(value, InputError):
            if settings.rows_for in (FOR_COLUMNS, VALUES):  # no key can be added to it
                raise value.locate(f"{origin}{numbers[row]}")
            problems[row] = value
        elif not is_object:
            hint = ""
            if isinstance(value, list):
                is_of_objects = all(isinstance(item, dict) for item in value)
                hint = OBJECTS_HINT if is_of_objects else LISTS_HINT
            what = f"expected an object, found {TYPE_NAMES[type(value)]}"
            problems[row] = InputError(what, hint=hint)
    columns = {
        name: [
            find_value(record, name, is_label=name == settings.label_field) for record in records
        ]
        for name in settings.field_names
    }
    if len(records) >= MIN_OBJECTS and numbers[0] == 1:
        wanted = [condition.field for condition in settings.where]
        wanted += () if "label_field" in settings.remembered else settings.label_fields
        for name in wanted:
            if set(map(id, columns[name])) == {id(MISSING_KEY)}:
                what = f"none of the first {len(records):,} documents has the key `{name}`"
                warn(origin.removesuffix(":"), what)
    for name in settings.label_fields:
        outer, _, key = name.rpartition(".")
        for row, record in enumerate(records) if outer else ():
            if columns[name][row] is MISSING_KEY:
                columns[name][row] = find_indicator(find_value(record, outer), key)
    batch = make_batch(
        columns,
        settings,
        origin=origin,
        numbers=numbers,
        problems=problems,
        names_of=lambda row: tuple(records[row]),
    )
    if len(records) == 1 and 0 in batch.problems and settings.text_field:
        problem = batch.problems[0]
        name = settings.text_field[0]
        text = find_value(records[0], name)
        path = _find_objects(records[0], name) if text is MISSING_KEY else ""
        if isinstance(text, NESTED):
            problem.hint = COLUMNS_HINT
        elif path and "'" not in path:
            problem.hint = f"jq -c '{path}' FILE writes its objects as lines"
    return batch


def _find_objects(value: Mapping[str, Any], name: str, path: str = "") -> str:
    """Return the path of jq to a list of objects, or to objects that have a key, in an object; ""
    if there are none.
    """
    import json

    inner = [each for each in value.values() if isinstance(each, dict)]
    if 0 < len(inner) == len(value) and all(
        find_value(each, name) is not MISSING_KEY for each in inner
    ):
        return f"{path or '.'}[]"
    for key, each in value.items():
        below = f"{path}.{key if key.isidentifier() else json.dumps(key)}"
        if isinstance(each, list) and each and isinstance(each[0], dict):
            return f"{below}[]"
        if isinstance(each, dict) and (found := _find_objects(each, name, below)):
            return found
    return ""


def read_each(
    values: Sequence[Any], read: Callable[[Any], Any], problems: dict[int, InputError]
) -> list[Any]:
    """Return what a function makes of each value, which is asked once for equal ones; None if it
    raises an error, which becomes a problem of the row.
    """
    known: dict[Any, Any] = {}
    found = []
    if set(map(type, values)) <= {str, type(None)}:
        distinct = dict.fromkeys(values)
        with suppress(InputError):
            known.update((value, read(value)) for value in distinct)
        if len(known) == len(distinct):
            return list(map(known.__getitem__, values))
    for row, value in enumerate(values):
        is_known = value is None or type(value) is str
        if not (is_known and value in known):
            try:
                known[value if is_known else row] = read(value)
            except InputError as problem:
                problems.setdefault(row, problem)
        found.append(known.get(value if is_known else row))
    return found


def number_rows(batch: Batch, number: int) -> Batch:
    """Return the documents of a block, each with its number in the source.

    number  of the block
    """
    first = number * MAX_BLOCK_ROWS
    return replace(batch, row_numbers=range(first, first + len(batch)))


def read_group(value: str | None, split: Split) -> str:
    """Return the group or the timestamp that a value stands for; InputError if it is missing, or no
    date of which a period is wanted.
    """
    group = name_of(value)
    if group is None:
        option = split.option.replace("_", "-")
        raise InputError(
            f"the document has no `{split.field}`",
            hint=f"--{option} needs a value for each document",
        )
    if split.period:
        # only then, because the import takes time
        from nbtext.documents.times import read_period, refuse_time

        period = read_period(group, split.period)
        if period is None:
            raise refuse_time(group, split.field, f"a date with a {split.period}")
        return period
    return group


def make_batch_of_rows(
    columns: Mapping[str, Iterable[Any]], rows: Any, options: ReadOptions, names: Sequence[str]
) -> Batch:
    """Return rows of a database or of an Arrow file as documents, with ids `FILE:ROW`. Bytes are
    texts; a row without a text is a problem.

    columns  the values of each field; see `make_batch`
    rows     the rows, which the batch keeps if the settings say so
    names    of all columns
    """
    repairs = []

    def decode(value: Any) -> Any:
        if not isinstance(value, bytes):
            return value
        decoded = options.encoding.decode_rest(value)
        repairs.append(decoded.repaired)
        return decoded.text

    batch = make_batch(
        {name: list(map(decode, values)) for name, values in columns.items()},
        options.settings,
        origin=origin_of(rows.path),
        numbers=range(rows.first_row, rows.first_row + len(rows)),
        problems={},
        names_of=lambda _: names,
    )
    batch.rows = rows if options.settings.rows_for else None
    return batch.count_repairs(repairs)


def check_label(label: str, *, where: str = "") -> None:
    """Raise InputError, located at `where`, if a label has more than `MAX_LABEL_CHARACTERS`
    characters.
    """
    if len(label) > MAX_LABEL_CHARACTERS:
        raise InputError(
            f"the label {label[:20]}… has {len(label):,} characters; the maximum is {MAX_LABEL_CHARACTERS:,}",
            where=where,
            hint="check which column or key holds the labels: --label-field",
        )

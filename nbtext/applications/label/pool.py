"""The pool, the documents among which a person labels with their texts and counts; and the file of
the answers.

The file has JSON lines that `nbtext train` reads, one for each labeled document.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import count
from operator import itemgetter
from typing import Any, NamedTuple

from nbtext.appended_file import AppendedFile
from nbtext.documents.batch import Batch, check_label
from nbtext.documents.jsonl import parse_object
from nbtext.errors import InputError
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.output import convert_errors
from nbtext.records import Strings, frozen, frozen_object

DOCUMENTS_COUNTED_AT_ONCE = 512  # documents that are counted together
ANSWERS_HINT = "name another file with -o"
# keys of an answer
ID = "id"
LABEL = "label"
ANSWER_KEYS = "label_keys"


class PoolDocument(NamedTuple):
    """A document to label: its id, and the text of each field."""

    id: str
    texts: Strings


@frozen_object
class Pool:
    """Documents to label.

    documents  in the order of the source
    n_left_out how many more documents the source has
    counts     of all documents, without labels; document i is retained in row i
    """

    documents: list[PoolDocument]
    n_left_out: int
    counts: CorpusCounts


def read_pool(batches: Iterable[Batch], features: FeatureSettings, size: int, source: str) -> Pool:
    """Return at most `size` documents, and their counts; documents that cannot be read are left
    out.

    If there are more, these are the ones whose ids and texts have the smallest hashes: a random
    sample, which is the same in each run. InputError, located at `source`, if there is none.
    """
    places = count()

    def read() -> Iterator[tuple[bytes, int, PoolDocument]]:
        for batch in batches:
            batch.check_texts("labeling")
            for row, name in enumerate(batch.ids):
                if row not in batch.problems:
                    document = PoolDocument(name, tuple(column[row] for column in batch.columns))
                    text = "\0".join((name, *document.texts)).encode("utf-8", "surrogatepass")
                    yield blake2b(text, digest_size=8).digest(), next(places), document

    kept = heapq.nsmallest(size, read())
    if not kept:
        hint = "name a source with documents"
        raise InputError("no documents to label", where=source, hint=hint)
    documents = [document for _, _, document in sorted(kept, key=itemgetter(1))]
    return Pool(documents, next(places) - len(documents), count_pool(documents, features))


def batch_of(documents: Sequence[PoolDocument]) -> Batch:
    """Return documents as a batch, without labels."""
    columns = tuple(map(list, zip(*(document.texts for document in documents), strict=True)))
    return Batch([document.id for document in documents], columns, [None] * len(documents))


def count_pool(documents: list[PoolDocument], features: FeatureSettings) -> CorpusCounts:
    """Return the counts of documents, all of which are retained, in order, without labels."""
    counter = CorpusCounter(features, sample_size=None)
    batch = batch_of(documents)
    batch.labels = [""] * len(documents)
    batch.row_numbers = range(len(documents))
    for part in batch.split(DOCUMENTS_COUNTED_AT_ONCE):
        counter.add(part)
    counts = counter.finish()
    return replace(counts, sample=counts.sample.in_source_order())


@frozen
class Answer:
    """A labeled document.

    labels  of the document; exactly one, unless documents can have several
    line    in the file, with its line feed
    keys    the labels in the order of their keys on the keyboard, if it does not follow from the
            answers before
    """

    document: PoolDocument
    labels: Strings
    line: bytes
    keys: Strings = ()


class AnswerFile:
    """A file of answers. An answer is on the disk when `append` returns.

    Parameters
    ----------
    path
        The file; it is made if it does not exist.
    fields
        The key of each text of a document.
    has_lists
        Whether the label of an answer is a list of any number of labels, also if the file has none
        yet.

    Attributes
    ----------
    answers : list of Answer
        All answers in the file, in order.
    has_lists : bool
        See the parameter; also whether a line of the file has a list of labels.

    Raises
    ------
    InputError
        A line of the file is not an answer.
    OutputError
        The file cannot be opened, or another process writes to it.
    """

    def __init__(self, path: str, fields: Sequence[str], *, has_lists: bool = False) -> None:
        self.path = path
        self.has_lists = has_lists
        self._fields = tuple(fields)
        found: list[Answer] = []
        self._file = AppendedFile(
            path, lambda line, where: found.append(self._parse(line, where)), hint=ANSWERS_HINT
        )
        # if another program puts a file in its place, `found` gets those of that file, too
        self.answers = found.copy()

    def order_labels(self, last: Strings = ()) -> list[str]:
        """Return the labels in the order of their keys, with those of an answer that comes next."""
        order: dict[str, None] = {}
        for answer in self.answers:
            order = dict.fromkeys((*answer.keys, *order, *answer.labels))
        return list(dict.fromkeys((*order, *last)))

    def append(self, document: PoolDocument, labels: Strings, order: Sequence[str] = ()) -> None:
        """Add an answer; NbtextError if it cannot be written, or the file is another one by now.

        order  all labels, in the order of their keys, which the next session has again
        """
        for label in labels:
            check_label(label)
        texts = dict(zip(self._fields, document.texts, strict=True))
        record = {ID: document.id, **texts, LABEL: list(labels) if self.has_lists else labels[0]}
        keys = tuple(order) if list(order) != self.order_labels(labels) else ()
        if keys:
            record[ANSWER_KEYS] = list(keys)
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        with convert_errors(self.path):
            self._file.append(line)
        self.answers.append(Answer(document, labels, line, keys))

    def remove_last(self) -> Answer:
        """Remove the last answer, and return it."""
        self._file.remove_last(self.answers[-1].line)
        return self.answers.pop()

    def close(self) -> None:
        self._file.close()

    def _parse(self, line: bytes, where: str) -> Answer:
        """Return the answer of a line."""
        record = parse_object(line) or {}
        identity = record.get(ID)
        texts = tuple(record.get(field) for field in self._fields)
        given: Any = record.get(LABEL)
        labels = tuple(given) if isinstance(given, list) else (given,)
        keys: Any = record.get(ANSWER_KEYS, [])
        keys = tuple(keys) if isinstance(keys, list) else (None,)
        if not all(isinstance(each, str) for each in (identity, *texts, *labels, *keys)):
            names = ", ".join((ID, *self._fields, LABEL))
            what = f"is not an answer of nbtext label, a JSON object with {names}"
            raise InputError(what, where=where, hint=ANSWERS_HINT)
        self.has_lists = self.has_lists or isinstance(given, list)
        for label in (*labels, *keys):
            check_label(label, where=where)
        document = PoolDocument(str(identity), tuple(map(str, texts)))
        whole = line.removesuffix(b"\n") + b"\n"
        return Answer(document, tuple(dict.fromkeys(labels)), whole, keys)

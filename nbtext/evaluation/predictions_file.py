"""Predictions read back from a file that `nbtext predict` wrote."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TextIO

import numpy as np

from nbtext.documents.batch import Batch
from nbtext.documents.streams import unreadable
from nbtext.errors import InputError
from nbtext.model.multilabel_predictions import MultilabelPredictions
from nbtext.model.predictor import Predictions

HINT = "write it with nbtext predict --to jsonl (or tsv, csv)"
_TSV_ESCAPES = {"\\t": "\t", "\\n": "\n", "\\r": "\r"}


@dataclass(frozen=True, slots=True)
class Record:
    """The prediction for one document.

    label    The predicted label; None: there is none.
    scores   The known probabilities, by label.
    labels   The prediction set; None: there is none.
    several  The predicted labels of a multi-label model; None: of a single-label model.
    """

    label: str | None
    scores: dict[str, float]
    labels: tuple[str, ...] | None = None
    several: tuple[str, ...] | None = None


class PredictionsFile:
    """Predictions by the ids of their documents.

    JSONL holds the probability of every label. TSV and CSV hold only that of the predicted label: the rest is shared
    equally by the other labels. Several labels for a document are read from JSONL only.

    Raises
    ------
    InputError
        The file cannot be read, has an id twice, or records of both kinds of models; the message names the line.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._records: dict[str, Record] = {}
        for line, (identity, record) in _records(path):
            if identity in self._records:
                raise InputError(f"the id {identity} occurs twice", where=f"{path}:{line}")
            self._records[identity] = record
            if (record.several is None) == self.is_multilabel:
                what = "the file has records of one label and records of several labels"
                raise InputError(what, where=f"{path}:{line}", hint=HINT)
        found = {label for record in self._records.values() for label in (record.label, *record.scores)}
        self._classes = tuple(sorted(label for label in found if label is not None))

    def of(self, batch: Batch) -> Predictions:
        """Return the predictions for these documents; InputError if one of them has none."""
        records = [self._record(identity) for identity in batch.ids]
        if not self._classes:
            hint = "write it with nbtext predict --to jsonl, which keeps the probabilities of documents without a label"
            raise InputError("no record of the file has a predicted label", where=self._path, hint=hint)
        sets = [record.labels for record in records if record.labels is not None]
        places = {label: place for place, label in enumerate(self._classes)}
        best = [record.label or max(record.scores, key=record.scores.__getitem__, default="") for record in records]
        return Predictions(
            batch.ids,
            [record.label for record in records],
            self._classes,
            np.array([self._row(record) for record in records]).reshape(len(records), len(self._classes)),
            np.ones(len(records)),
            [None] * len(records),
            [None] * len(records),
            batch.single_labels(),
            decided=np.array([places.get(label, 0) for label in best], dtype=np.int64),
            label_sets=sets if len(sets) == len(records) else None,
        )

    def sets_of(self, batch: Batch) -> MultilabelPredictions:
        """Return the predictions of several labels for these documents; InputError if one of them has none.

        A label whose probability is not in the file has the probability 0.
        """
        records, n = [self._record(identity) for identity in batch.ids], len(batch)
        rows = [
            [record.scores.get(label, 0.0 if record.scores else math.nan) for label in self._classes]
            for record in records
        ]
        sets = [record.labels for record in records if record.labels is not None]
        return MultilabelPredictions(
            batch.ids, self._classes, np.array(rows).reshape(n, len(self._classes)), np.ones(n), [None] * n,
            [None] * n, batch.list_labels(), np.full(len(self._classes), np.nan),
            [record.several or () for record in records], sets=sets if len(sets) == n else None,
        )  # fmt: skip

    @property
    def is_multilabel(self) -> bool:
        """Whether the predictions are of a multi-label model."""
        return any(record.several is not None for record in islice(self._records.values(), 1))

    @property
    def has_all_probabilities(self) -> bool:
        """Whether the probability of every label is known, not only of the predicted one."""
        return all(len(record.scores) in (0, len(self._classes)) for record in self._records.values())

    def _record(self, identity: str) -> Record:
        # an id whose bytes are not UTF-8 was written with escapes
        escaped = identity.encode("utf-8", "backslashreplace").decode()
        record = self._records.get(identity) or self._records.get(escaped)
        if record is None:
            raise InputError(
                f"there is no prediction for {identity}",
                where=self._path,
                hint="write SOURCE exactly as in the nbtext predict command",
            )
        return record

    def _row(self, record: Record) -> list[float]:
        known = [record.scores[label] for label in self._classes if label in record.scores]
        if not known:
            return [math.nan] * len(self._classes)
        others = len(self._classes) - len(known)
        rest = max(0.0, 1 - sum(known)) / others if others else 0.0
        return [record.scores.get(label, rest) for label in self._classes]


def _records(path: str) -> Iterator[tuple[int, tuple[str, Record]]]:
    """Yield each record with its line number."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            first = file.read(1)
            file.seek(0)
            is_csv = path.endswith(".csv")
            lines: Iterator[tuple[int, Any]] = _rows(file) if is_csv else enumerate(file, start=1)
            parse = _from_columns if is_csv else _from_json if first == "{" else _from_tsv
            for number, line in lines:
                try:
                    record: tuple[str, Record] = parse(line)
                except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                    raise InputError(
                        "is not a record of nbtext predict", where=(f"{path}:{number}"), hint=HINT
                    ) from None
                yield number, record
    except OSError as error:
        raise unreadable(path, error) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"contains no predictions ({error})", where=path, hint=HINT) from None


def _rows(file: TextIO) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of CSV without its header, each with the number of its last line."""
    reader = csv.reader(file)
    next(reader, None)
    for row in reader:
        yield reader.line_num, row


def _from_json(line: str) -> tuple[str, Record]:
    record = json.loads(line)
    if "probabilities" in record:
        return _several_from_json(record)
    label = record["label"]
    if not isinstance(record["id"], str) or not isinstance(label, str | None):
        raise TypeError
    labels = tuple(map(str, record["labels"])) if "labels" in record else None
    return record["id"], Record(label, {str(k): _probability(p) for k, p in (record["scores"] or {}).items()}, labels)


def _several_from_json(record: dict[str, Any]) -> tuple[str, Record]:
    labels, shares = tuple(record["labels"]), [_probability(share) for share in record["probabilities"]]
    label_set = tuple(record["label_set"]) if "label_set" in record else None
    if not all(isinstance(each, str) for each in (record["id"], *labels, *(label_set or ()))):
        raise TypeError
    scores = {str(label): _probability(share) for label, share in (record["scores"] or {}).items()}
    return record["id"], Record(None, scores | dict(zip(labels, shares, strict=True)), label_set, labels)


def _from_tsv(line: str) -> tuple[str, Record]:
    columns = line.rstrip("\r\n").split("\t")
    has_set = len(columns) % 2 == 0  # column 3 is a prediction set; `_labels` removes its escapes
    return _from_columns([text if has_set and k == 3 else _unescape(text) for k, text in enumerate(columns)])


def _from_columns(columns: list[str]) -> tuple[str, Record]:
    """Return the record of id, label, probability, a prediction set if there is one, and pairs of top labels."""
    identity, label, probability, *others = columns
    labels = _labels(others.pop(0)) if len(others) % 2 else None
    scores = {name: _probability(float(share)) for name, share in zip(others[::2], others[1::2], strict=True) if share}
    if not probability:
        return identity, Record(None, scores, labels)
    return identity, Record(label, scores | {label: _probability(float(probability))}, labels)


def _labels(text: str) -> tuple[str, ...]:
    """Split a prediction set at its commas. In TSV, tabs and line ends are escaped, too."""
    parts = re.findall(r"(?:[^\\,]|\\.)+", text, re.DOTALL)
    return tuple(
        re.sub(r"\\.", lambda match: _TSV_ESCAPES.get(match[0], match[0][1]), part, flags=re.DOTALL) for part in parts
    )


def _probability(value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError
    return float(value)


def _unescape(text: str) -> str:
    parts = text.split("\\\\")
    for escape, character in _TSV_ESCAPES.items():
        parts = [part.replace(escape, character) for part in parts]
    return "\\".join(parts)

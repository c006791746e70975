"""Predictions that were made before, read back from the file that `nbtext predict` wrote."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbtext.classifier.predictions import Predictions
from nbtext.documents.batch import Batch
from nbtext.errors import InputError

HINT = "write it with nbtext predict --to jsonl (or tsv, csv)"
_TSV_ESCAPES = {"\\t": "\t", "\\n": "\n", "\\r": "\r"}


@dataclass(frozen=True, slots=True)
class Record:
    """The answer to one document: its label (None: there was none), and probabilities by label as far as known."""

    label: str | None
    scores: dict[str, float]


class PredictionsFile:
    """Predictions by the ids of their documents.

    JSONL holds the probability of every label. TSV and CSV hold that of the best one only: what remains of it is
    spread over the other labels in equal shares.

    raises  InputError, with the line: it cannot be read, or an id stands in it twice
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._records: dict[str, Record] = {}
        for line, (identity, record) in _records(path):
            if identity in self._records:
                raise InputError(f"the id {identity} stands here a second time", where=f"{path}:{line}")
            self._records[identity] = record
        found = {label for record in self._records.values() for label in (record.label, *record.scores)}
        self._classes = tuple(sorted(label for label in found if label is not None))

    def of(self, batch: Batch) -> Predictions:
        """The predictions for these documents; InputError where there is none for one of them."""
        records = [self._record(identity) for identity in batch.ids]
        return Predictions(
            batch.ids,
            [record.label for record in records],
            self._classes,
            np.array([self._row(record) for record in records]).reshape(len(records), len(self._classes)),
            np.ones(len(records)),
            [None] * len(records),
            [None] * len(records),
            batch.labels,
        )

    def _record(self, identity: str) -> Record:
        # an id whose bytes were no UTF-8 was written with escapes
        spelled = identity.encode("utf-8", "backslashreplace").decode()
        record = self._records.get(identity) or self._records.get(spelled)
        if record is None:
            raise InputError(
                f"there is no prediction for {identity}",
                where=self._path,
                hint="predict the same SOURCE, spelled in the same way",
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
    """Each record with its line."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            first = file.read(1)
            file.seek(0)
            lines: Iterator[Any] = csv.reader(file) if path.endswith(".csv") else file
            parse = _from_columns if path.endswith(".csv") else _from_json if first == "{" else _from_tsv
            for number, line in enumerate(lines, start=1):
                if path.endswith(".csv") and number == 1:
                    continue  # its header
                yield number, _parsed(parse, line, f"{path}:{number}")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=path) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"holds no predictions ({error})", where=path, hint=HINT) from None


def _parsed(parse: Any, line: Any, where: str) -> tuple[str, Record]:
    try:
        parsed: tuple[str, Record] = parse(line)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError("this is no prediction", where=where, hint=HINT) from None
    return parsed


def _from_json(line: str) -> tuple[str, Record]:
    record = json.loads(line)
    label = record["label"]
    if not isinstance(record["id"], str) or not isinstance(label, str | None):
        raise TypeError
    return record["id"], Record(label, {str(k): _probability(p) for k, p in (record["scores"] or {}).items()})


def _from_tsv(line: str) -> tuple[str, Record]:
    return _from_columns([_unescaped(column) for column in line.rstrip("\n").split("\t")])


def _from_columns(columns: list[str]) -> tuple[str, Record]:
    identity, label, probability = columns
    if not probability:
        return identity, Record(None, {})
    return identity, Record(label, {label: _probability(float(probability))})


def _probability(value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError
    return float(value)


def _unescaped(text: str) -> str:
    parts = text.split("\\\\")
    for escape, character in _TSV_ESCAPES.items():
        parts = [part.replace(escape, character) for part in parts]
    return "\\".join(parts)

"""Predictions to evaluate: of a model, of models of a cross-validation, or of a file that `nbtext predict` wrote."""

from __future__ import annotations

import codecs
import csv
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from nbtext.documents.batch import Batch
from nbtext.documents.decompression import suffix_compression
from nbtext.documents.streams import ByteStream, open_stream
from nbtext.errors import InputError, SettingsError
from nbtext.evaluation.outcomes import PredictedBatch
from nbtext.evaluation.tasks import TASKS
from nbtext.model.predictions import Predictions
from nbtext.model.predictor import MOST_PROBABLE, Predictor
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import OnBatch
from nbtext.model.source_prediction import map_batches
from nbtext.model.task import abstain_below
from nbtext.output import FORMULA

if TYPE_CHECKING:
    from nbtext.documents.source import Source
    from nbtext.evaluation.evaluator import Evaluation
    from nbtext.model.fitted_model import FittedModel

HINT = "write it with nbtext predict --to jsonl (or json, tsv, csv)"
ERRORS = (ValueError, TypeError, KeyError, AttributeError, RecursionError)  # of values that are not as in a record
CSV_HEADERS = ("id,label,probability", "id,labels,probabilities")
UNSAFE = re.compile(rf"^'(?={FORMULA})")  # what --spreadsheet-safe adds
TWO_SHARES = re.compile(r"[01]\.\d{6}(.+?)[01]\.\d{6}", re.DOTALL)
_TSV_ESCAPES = {"\\t": "\t", "\\n": "\n", "\\r": "\r"}


def predict_by_model(
    model: FittedModel, source: Source, *, jobs: int, decisions: DecisionSettings = MOST_PROBABLE,
    on_batch: OnBatch | None = None,
) -> Iterator[PredictedBatch]:  # fmt: skip
    """Predict every document of a source with a trained model, in order, as `predict_source` does."""
    model.task.check(decisions, model.labels)
    predictor = Predictor(model)

    def predict(batch: Batch) -> PredictedBatch:
        TASKS[model.task.name].check(batch)
        scores = predictor.score_batch(batch)
        return PredictedBatch(predictor.predict_batch(batch, decisions, scores), batch.columns, scores.scores)

    return map_batches(predict, model, source, jobs=jobs, on_batch=on_batch)


def evaluate_model(model: FittedModel, source: Source, *, jobs: int = 1, on_batch: OnBatch | None = None) -> Evaluation:
    """Return the metrics of a trained model on the labeled documents of a source."""
    evaluator = TASKS[model.task.name].evaluator()
    evaluator.add_all(batch.predictions for batch in predict_by_model(model, source, jobs=jobs, on_batch=on_batch))
    return cast("Evaluation", evaluator.evaluation())


def predict_from_file(
    file: PredictionsFile, source: Source, decisions: DecisionSettings = MOST_PROBABLE
) -> Iterator[PredictedBatch]:
    """Read the predictions for every document of a source from a file.

    Their labels are final: costs do not change them.

    Raises
    ------
    SettingsError
        Prediction sets or thresholds are asked for, which need the model.
    """
    for is_given, option, final in (
        (decisions.threshold or decisions.at_least_one, "--threshold", "labels"),
        (decisions.coverage is not None, "--coverage", "prediction sets"),
    ):
        if is_given:
            hint = f"write the file with nbtext predict {option}, and leave out {option} here"
            what = f"cannot be combined with --predictions, whose {final} are final"
            raise SettingsError(what, where=option, hint=hint)
    for batch in source.batches():
        found = file.of(batch)
        TASKS[found.task].check(batch)
        yield PredictedBatch(abstain_below(found, decisions.min_probability), batch.columns)


@dataclass(frozen=True, slots=True)
class Record:
    """The prediction for one document.

    is_several  Whether it is of a multi-label model.
    labels      The predicted labels.
    scores      The known probabilities, by label.
    label_set   The prediction set; None: there is none.
    """

    is_several: bool
    labels: tuple[str, ...]
    scores: dict[str, float]
    label_set: tuple[str, ...] | None = None


class PredictionsFile:
    """Predictions by the ids of their documents: JSONL, JSON, TSV or CSV of `nbtext predict`, compressed or not.

    JSON holds the probability of every label. TSV and CSV hold only those of the predicted labels and of `--top-k`: of
    one label, the rest is shared equally by the other labels; of several, it is 0. Equal ids are matched in order, so a
    file with different predictions of equal ids must have the order of the documents.

    Raises
    ------
    InputError
        The file cannot be read, or has records of both kinds of models; the message names the line.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._rows, is_several = _read_rows(path)
        self._has_kind = is_several is not None
        self._parse(is_several=bool(is_several))

    def _parse(self, *, is_several: bool) -> None:
        self._is_several = is_several
        self._records: dict[str, list[tuple[int, Record]]] = {}  # with their places in the file
        self._n_taken: Counter[str] = Counter()
        self._last_place = 0
        separator = _find_separator(self._rows) if is_several else None
        for line, row in self._rows:
            try:
                identity, record = _from_json(row) if isinstance(row, dict) else _from_fields(row, separator)
            except ERRORS:
                what = "is not a record of nbtext predict"
                raise InputError(what, where=f"{self._path}:{line}", hint=HINT) from None
            if record.is_several != is_several:
                what = "the file has records of one label and records of several labels"
                raise InputError(what, where=f"{self._path}:{line}", hint=HINT)
            self._records.setdefault(identity, []).append((line, record))
        if self._has_kind:
            self._rows = []
        self._is_ambiguous = any(record != same[0][1] for same in self._records.values() for _, record in same)
        self._classes = tuple(sorted({label for record in self._all() for label in (*record.labels, *record.scores)}))

    def _all(self) -> Iterator[Record]:
        return (record for _, record in chain.from_iterable(self._records.values()))

    def of(self, batch: Batch) -> Predictions:
        """Return the predictions for these documents.

        A label whose probability is not in the file has the probability 0 if there are several.

        Raises
        ------
        InputError
            A document has no prediction, or the file has predictions of one label and the document has several.
        """
        if not self._has_kind:  # lines can be of one label or of several, as TSV without a document of two labels
            self._has_kind = True
            self._parse(is_several=batch.label_lists is not None)
        is_several, records = self._is_several, [self._record(identity) for identity in batch.ids]
        if not self._classes and not is_several:
            hint = "write it with nbtext predict --to jsonl, which keeps the probabilities of documents without a label"
            raise InputError("no record of the file has a predicted label", where=self._path, hint=hint)
        places, n = {label: place for place, label in enumerate(self._classes)}, len(batch)
        sets = [record.label_set for record in records if record.label_set is not None]
        best = [
            record.labels[0] if record.labels else max(record.scores, key=record.scores.__getitem__, default="")
            for record in records
        ]
        return Predictions(
            "several" if is_several else "one", self._classes, batch.ids, [record.labels for record in records],
            np.array([self._row(record) for record in records]).reshape(n, len(self._classes)), np.ones(n), [None] * n,
            batch.list_labels(),
            decided=None if is_several else np.array([places.get(label, 0) for label in best], dtype=np.int64),
            thresholds=np.full(len(self._classes), np.nan) if is_several else None,
            label_sets=sets if len(sets) == n else None,
        )  # fmt: skip

    @property
    def has_all_probabilities(self) -> bool:
        """Whether the probability of every label is known, not only of the predicted one."""
        return all(len(record.scores) in (0, len(self._classes)) for record in self._all())

    def _record(self, identity: str) -> Record:
        # an id whose bytes are not UTF-8 was written with escapes
        escaped = identity.encode("utf-8", "backslashreplace").decode()
        same = self._records.get(identity) or self._records.get(escaped) or []
        n_taken, hint = self._n_taken[identity], "write SOURCE exactly as in the nbtext predict command"
        number = n_taken if len(same) > 1 else 0
        self._n_taken[identity] += 1
        if number >= len(same):
            what = f"the id {identity} has {len(same)} predictions, and more documents"
            raise InputError(what if same else f"there is no prediction for {identity}", where=self._path, hint=hint)
        place, record = same[number]
        if self._is_ambiguous and n_taken == number:  # not a record that an earlier document has, too
            if place < self._last_place:
                what = "documents have equal ids, and the predictions are in another order than the documents"
                raise InputError(what, where=self._path, hint=hint)
            self._last_place = place
        return record

    def _row(self, record: Record) -> list[float]:
        known = [record.scores[label] for label in self._classes if label in record.scores]
        if not known:
            return [math.nan] * len(self._classes)
        others = 0 if record.is_several else len(self._classes) - len(known)
        rest = max(0.0, 1 - sum(known)) / others if others else 0.0
        return [record.scores.get(label, rest) for label in self._classes]


def _read_rows(path: str) -> tuple[list[tuple[int, Any]], bool | None]:
    """Return the JSON objects or the fields of a file, each with its line number (in an array its own number).

    Also whether they are of several labels; None if they can be of one or of several. Fields of TSV keep their escapes
    in columns of joined labels.
    """
    stream = open_stream(path)
    try:
        lines = _lines(stream)
        first = next(lines, "")
        content = chain([first], lines)
        if first[:1] in ("{", "["):
            return _read_json(content, path, is_array=first.startswith("["))
        if not (suffix_compression(path)[0].lower().endswith(".csv") or first.startswith(CSV_HEADERS)):
            rows = [(number, line.rstrip("\r\n").split("\t")) for number, line in enumerate(content, 1) if line]
            return [(number, _TsvFields(row)) for number, row in rows], True if _find_separator(rows) else None
        csv.field_size_limit(sys.maxsize)
        reader = csv.reader(content)
        header = next(reader, [])
        found = [(reader.line_num, [UNSAFE.sub("", cell) for cell in row]) for row in reader]
        return found, header[1:2] == ["labels"]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"contains no predictions ({error})", where=path, hint=HINT) from None
    finally:
        stream.close()


def _read_json(lines: Iterator[str], path: str, *, is_array: bool) -> tuple[list[tuple[int, Any]], bool]:
    rows: list[tuple[int, Any]] = []
    number = 1
    try:
        if is_array:
            rows = list(enumerate(json.loads("".join(lines)), start=1))
        else:
            for number, line in enumerate(lines, start=1):
                rows.append((number, json.loads(line)))
    except ERRORS:
        raise InputError("is not a record of nbtext predict", where=f"{path}:{number}", hint=HINT) from None
    return rows, bool(rows) and isinstance(rows[0][1], dict) and "probabilities" in rows[0][1]


def _lines(stream: ByteStream) -> Iterator[str]:
    """Yield the lines of UTF-8 text with their ends, without a byte order mark."""
    rest = ""
    for text in codecs.iterdecode(iter(stream.read, b""), "utf-8-sig"):
        *lines, rest = (rest + text).split("\n")
        yield from (f"{line}\n" for line in lines)
    if rest:
        yield rest


def _from_json(record: dict[str, Any]) -> tuple[str, Record]:
    """Return the record of an object; raises one of ERRORS if it is not as `nbtext predict` writes it."""
    scores = {str(label): _probability(share) for label, share in (record["scores"] or {}).items()}
    if "probabilities" not in record:
        label = record["label"]
        if not isinstance(record["id"], str) or not isinstance(label, str | None):
            raise TypeError
        label_set = tuple(map(str, record["labels"])) if "labels" in record else None
        return record["id"], Record(False, () if label is None else (label,), scores, label_set)
    labels, shares = tuple(record["labels"]), [_probability(share) for share in record["probabilities"]]
    label_set = tuple(record["label_set"]) if "label_set" in record else None
    if not all(isinstance(each, str) for each in (record["id"], *labels, *(label_set or ()))):
        raise TypeError
    return record["id"], Record(True, labels, scores | dict(zip(labels, shares, strict=True)), label_set)


class _TsvFields(list[str]):
    """The fields of a line of TSV, with its escapes."""


def _find_separator(rows: Sequence[tuple[int, Any]]) -> str:
    """Return what separates joined labels: what is between the probabilities of the first two; "" if none has two."""
    for _, row in rows:
        found = TWO_SHARES.match(row[2]) if isinstance(row, list) and len(row) > 2 else None
        if found:
            return found[1]
    return ""


def _from_fields(fields: list[str], separator: str | None) -> tuple[str, Record]:
    """Return the record of id, label, probability, a prediction set if there is one, and pairs of top labels.

    separator  of labels; None: there is one label
    """
    plain: Callable[[str], str] = _unescape if isinstance(fields, _TsvFields) else str
    identity, label, probability, *others = fields
    joined = others.pop(0) if len(others) % 2 else None
    label_set = None if joined is None else _split(joined, "," if separator is None else separator)
    pairs = zip(others[::2], others[1::2], strict=True)
    scores = {plain(name): _probability(float(share)) for name, share in pairs if share}
    if separator is not None:
        several, shares = _split(label, separator), _split(probability, separator)
        scores |= {name: _probability(float(share)) for name, share in zip(several, shares, strict=True)}
        return plain(identity), Record(True, several, scores, label_set)
    if not probability:
        return plain(identity), Record(False, (), scores, label_set)
    label = plain(label)
    return plain(identity), Record(False, (label,), scores | {label: _probability(float(probability))}, label_set)


def _split(text: str, separator: str) -> tuple[str, ...]:
    """Split joined labels. In TSV, tabs and line ends are escaped, too. An empty separator occurs in no label."""
    part = rf"(?:\\.|(?!{re.escape(separator)})[^\\])+" if separator else r"(?:\\.|[^\\])+"
    return tuple(
        re.sub(r"\\.", lambda match: _TSV_ESCAPES.get(match[0], match[0][1]), found, flags=re.DOTALL)
        for found in re.findall(part, text, re.DOTALL)
    )


def _probability(value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError
    return float(value)


def _unescape(text: str) -> str:
    return re.sub(r"\\[\\tnr]", lambda match: _TSV_ESCAPES.get(match[0], "\\"), text)

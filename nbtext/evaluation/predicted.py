"""Predictions to evaluate: of a model, of models of a cross-validation, or of a file that `nbtext
predict` wrote.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from nbtext.documents.batch import Batch, ReadCount, number_rows
from nbtext.documents.fields import (
    MISSING_KEY,
    SoftLabel,
    find_value,
    format_names,
    is_number,
    read_label,
)
from nbtext.documents.formats import content_suffix
from nbtext.documents.jsonl import parse_object
from nbtext.documents.settings import NO_QUOTING, VALUES, InputSettings
from nbtext.documents.source import Source, open_source
from nbtext.documents.streams import is_url, name_source, peek
from nbtext.errors import InputError, number_of
from nbtext.evaluation.outcomes import PredictedBatch
from nbtext.evaluation.overlap import Overlap
from nbtext.model.fitted_model import FittedModel
from nbtext.model.predictions import Predictions
from nbtext.model.predictor import MOST_PROBABLE, Predictor
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import OnBatch
from nbtext.model.source_prediction import map_batches
from nbtext.model.task import abstain_below
from nbtext.model.tasks import TASKS, find_task
from nbtext.records import Strings, frozen

ID_FIELD = "id"
IN_ORDER = ""  # the key of all predictions, if they have no ids
PREDICTIONS_HINT = "write it with nbtext predict --to jsonl (or json, tsv, csv), or name its fields with --predicted-field"
# of values that are not as in a record
ERRORS = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
NOT_TSV = (".csv", ".json", ".jsonl", ".ndjson")
TWO_SHARES = re.compile(r"[01]\.\d{6}(.+?)[01]\.\d{6}", re.DOTALL)
# id, labels, probabilities, without a header
_own_tsv = re.compile(r"[^\t]*\t[^\t]*\t(?:[01]|\t|\r?\n|\Z)")
_header = re.compile(r'(?:.*[,;|\t])?"?(labels?)"?(?:[,;|\t\r\n]|\Z)')
_TSV_UNESCAPED = {"\\t": "\t", "\\n": "\n", "\\r": "\r"}


def predict_by_model(
    model: FittedModel,
    source: Source,
    *,
    jobs: int,
    decisions: DecisionSettings = MOST_PROBABLE,
    on_batch: OnBatch | None = None,
    overlap: Overlap | None = None,
) -> Iterator[PredictedBatch]:
    """Predict every document of a source with a trained model, in order, as `predict_source`
    does.

    overlap  counts the documents that the model was trained on
    """
    predictor = Predictor(model)
    task = model.kind
    task.check_decisions(decisions, model.labels)

    def predict(batch: Batch) -> PredictedBatch:
        task.check(batch)
        predictions = predictor.predict_batch(batch, decisions)
        if overlap is not None:
            overlap.count(batch, predictions.known)
        return PredictedBatch.of(predictions, batch)

    return map_batches(predict, model, source, jobs=jobs, on_batch=on_batch)


def predict_from_file(
    file: PredictionsFile, source: Source, decisions: DecisionSettings
) -> Iterator[PredictedBatch]:
    """Read the predictions for every document of a source from a file, or from fields of the source
    itself.

    Their labels are final: costs do not change them.
    """
    batches: Iterable[Batch] = source.batches()
    if source.settings.rows_for == VALUES:
        batches = list(batches)
        if not any(map(len, batches)):
            ReadCount().check(source.skipped)
        file.read(batches)
    known = set[str]()
    for number, each in enumerate(batches):
        batch = number_rows(each, number)
        if batch.matrix is not None and batch.features.is_numbered:
            batch.check_texts("--predictions, in a matrix without the names of the labels,")
        found = file.of(batch)
        task = TASKS[found.task]
        task.check(batch)
        task.check_decisions(decisions)
        known.update(found.classes, *(labels or () for labels in found.true_labels))
        yield PredictedBatch.of(abstain_below(found, decisions.min_probability), batch)
    file.finish()
    if decisions.cost is not None:
        decisions.cost.check(known)


class Record(NamedTuple):
    """The prediction for one document.

    labels      The predicted labels.
    scores      The known probabilities, by label.
    """

    labels: Strings
    scores: dict[str, float]


class PredictedRow(NamedTuple):
    """The fields of a prediction, by name; `id` is None if it has none."""

    place: str
    id: str | None
    fields: dict[str, Any]


@frozen
class PredictedFields:
    """The columns or keys that hold predictions.

    label        Of the label, or of the labels; None: `label`, or else `labels`.
    probability  Of the probability, or of those of the labels; None: the one that belongs to the
                 label as in what `nbtext predict` writes: `probability` to `label`, and
                 `my_probability` to `my_label`.
    separator    Between several labels in a text.
    id           Of the id.
    """

    label: str | None = None
    probability: str | None = None
    separator: str | None = None
    id: str = ID_FIELD

    @property
    def names(self) -> Strings:
        """The names that were given."""
        return tuple(name for name in (self.label, self.probability) if name is not None)


class PredictionsFile:
    """Predictions in a file of any format that has columns or keys, compressed or not, by the ids
    of their documents.

    JSON, Parquet and Arrow hold the probability of every label. Tables hold only those of the
    predicted labels: of one label, the rest is shared equally by the other labels; of several, it
    is 0. Equal ids are matched in order. Without ids, all predictions are matched in
    order.

    Parameters
    ----------
    path : str, optional
        The file; None: the documents themselves have the predictions, and `read` gets them.

    Raises
    ------
    InputError
        The file cannot be read; the message names the line.
    """

    def __init__(self, path: str | None, fields: PredictedFields = PredictedFields()) -> None:  # noqa: B008
        self._path = name_source(path) if path else "SOURCE"
        self.fields = fields
        self._is_tsv = False
        if path is not None:
            settings = InputSettings(
                text_field=(), id_field=fields.id, rows_for=VALUES, encoding="utf-8"
            )
            first = ""
            if not is_url(path):
                first = peek(path).decode("utf-8-sig", "replace").partition("\n")[0]
            # the suffix or the content tells the format, as of every source; but text without a
            # suffix may be a table, too
            is_own = content_suffix(path) not in NOT_TSV and _own_tsv.match(first)
            if is_own and not parse_object(first):  # as `nbtext predict` writes it
                self._is_tsv = True
                settings = replace(settings, input_format="tsv", header=False, escape=NO_QUOTING)
            else:
                found = _header.match(first)
                names = fields.names or ((found[1],) if found else ())
                label = names[0] if names else "label"
                settings = replace(settings, label_field=label, other_fields=tuple(names))
            self.read(open_source((path,), settings).batches())

    def read(self, batches: Iterable[Batch]) -> None:
        """Read the predictions of documents whose fields were read."""
        self._rows: list[PredictedRow] = []
        for batch in batches:
            for row, fields in enumerate(batch.fields or ()):
                place = batch.place(row)
                if self._is_tsv:  # without a header; further cells are not read
                    named = dict(zip(("id", "label", "probability"), fields.values(), strict=False))
                    self._rows.append(PredictedRow(place, _unescape(named["id"]), named))
                    continue
                found = _find(fields, self.fields.id)
                identity = found if isinstance(found, str) else batch.ids[row]
                is_missing = found in (MISSING_KEY, None, "")
                self._rows.append(PredictedRow(place, None if is_missing else identity, fields))
        self._n_records = len(self._rows)
        self._is_in_order = self._path == "SOURCE" or any(row.id is None for row in self._rows)
        joined = (
            TWO_SHARES.match(value)
            for row in self._rows
            for name, value in row.fields.items()
            if name.endswith("probabilities" if not self._is_tsv else "probability")
            and isinstance(value, str)
        )
        self._separator = next((found[1] for found in joined if found), "")
        self._records: dict[str, list[Record]] = {}
        self._classes: Strings = ()
        self._n_taken: Counter[str] = Counter()
        self._n_documents = 0
        self._is_several = self._find_kind()
        if self._is_several is not None:
            self._parse()

    def _find_kind(self) -> bool | None:
        """Return whether the predictions are of several labels; None if they can be of one or of
        several.
        """
        if self._separator:
            return True
        is_one = not self._is_tsv and bool(self._rows)
        for row in self._rows:
            name = self._name(row.fields)
            is_named = name.endswith("labels") and self.fields.label is None
            if is_named or isinstance(_find(row.fields, name), list):
                return True
            stem = name.removesuffix("label")
            is_one &= name != stem and stem + "probability" in row.fields
        return False if is_one else None

    def _name(self, row: dict[str, Any]) -> str:
        """Return the name of the field of the label."""
        return self.fields.label or ("label" if "label" in row or "labels" not in row else "labels")

    def _parse(self) -> None:
        for row in self._rows:
            try:
                record = self._read_record(row.fields)
            except ERRORS:
                raise InputError(
                    "is not a record of nbtext predict", where=row.place, hint=PREDICTIONS_HINT
                ) from None
            except InputError as error:
                raise error.locate(row.place) from None
            key = IN_ORDER if self._is_in_order else (row.id or "").strip()
            self._records.setdefault(key, []).append(record)
        self._rows = []
        known = (chain(record.labels, record.scores) for record in self._all())
        self._classes = tuple(sorted(set(chain.from_iterable(known))))

    def _read_record(self, row: dict[str, Any]) -> Record:
        """Return the record of the values of columns or keys; InputError, or one of ERRORS, if a
        value does not fit.
        """
        name = self._name(row)
        given = self.fields
        for wanted in (name, given.probability):
            if wanted is not None and _find(row, wanted) is MISSING_KEY:
                if given.label is None:
                    raise KeyError(wanted)
                raise InputError(
                    f"no column or key `{wanted}`, found {format_names(list(row))}",
                    hint="name it with --predicted-field or --probability-field",
                )
        prefix, label, ending = name.rpartition("label")
        beside = row if label and ending in ("", "s") else {}  # what nbtext predict writes
        labels = self._read_labels(_find(row, name))
        if given.probability is None:
            shares = beside.get(prefix + ("probabilities" if ending else "probability"))
        else:
            shares = _find(row, given.probability)
        if not self._is_several:
            shares = [shares]
        elif isinstance(shares, str):
            shares = _split(shares, self._separator) if self._separator else [shares]
        known = [float(share) for share in shares or () if share not in (None, "")]
        found = beside.get(prefix + "scores")
        if isinstance(found, list):  # of objects
            found = {each["label"]: each["probability"] for each in found}
        scores = {str(label): _probability(share) for label, share in (found or {}).items()}
        if known and labels:
            scores |= dict(zip(labels, map(_probability, known), strict=True))
        return Record(labels, scores)

    def _read_labels(self, value: Any) -> Strings:
        """Return the labels of a value: as they are read from a source, or as `nbtext predict` has
        joined them.
        """
        separator = self.fields.separator if self._is_several else None
        if isinstance(value, str):
            if self._is_several and (self._separator or separator is None):
                return _split(value, self._separator)
            if self._is_tsv:
                return (_unescape(value),) if value else ()
        found = read_label(
            value, self.fields.label or "label", InputSettings(label_separator=separator)
        )
        label = found.label if isinstance(found, SoftLabel) else found
        return label if isinstance(label, tuple) else (label,) if label else ()

    def _all(self) -> Iterator[Record]:
        return chain.from_iterable(self._records.values())

    def finish(self) -> None:
        """Raise InputError unless there were as many documents as predictions, if these have no
        ids.
        """
        if self._is_in_order and self._n_documents != self._n_records:
            raise InputError(
                f"has no ids, and {self._n_records:,} predictions for {self._n_documents:,} documents",
                where=self._path,
                hint="write SOURCE exactly as in the nbtext predict command",
            )

    def of(self, batch: Batch) -> Predictions:
        """Return the predictions for these documents.

        A label whose probability is not in the file has the probability 0 if there are several.

        Raises
        ------
        InputError
            A document has no prediction, or the file has predictions of one label and the document
            has several.
        """
        # lines can be of one label or of several, as TSV without a document of two labels
        if self._is_several is None:
            self._is_several = batch.has_lists
            self._parse()
        n = len(batch)
        self._n_documents += n
        is_several = self._is_several
        keys = [IN_ORDER] * n if self._is_in_order else batch.ids
        records = [self._record(identity) for identity in keys]
        if not self._classes and not is_several:
            raise InputError(
                "no record of the file has a predicted label",
                where=self._path,
                hint="write it with nbtext predict --to jsonl, which keeps the probabilities of documents without a label",
            )
        places = {label: place for place, label in enumerate(self._classes)}
        best = [
            record.labels[0]
            if record.labels
            else max(record.scores, key=record.scores.__getitem__, default="")
            for record in records
        ]
        return Predictions(
            find_task(not is_several),
            self._classes,
            batch.ids,
            [record.labels for record in records],
            np.array([self._row(record) for record in records]).reshape(n, len(self._classes)),
            np.ones(n),
            [None] * n,
            batch.list_labels(),
            decided=None
            if is_several
            else np.array([places.get(label, 0) for label in best], np.int64),
            thresholds=np.full(len(self._classes), np.nan) if is_several else None,
        )

    def assess_probabilities(self) -> tuple[bool, str]:
        """Return whether figures of probabilities can be shown, and what to say if some lack."""
        n_lacking = sum(bool(record.labels) and not record.scores for record in self._all())
        has_all = all(len(record.scores) in (0, len(self._classes)) for record in self._all())
        if not any(record.scores for record in self._all()):
            return False, ""
        if n_lacking:
            what = f"{number_of(n_lacking, 'prediction')} without a probability"
            return False, f"{what}, so that figures of probabilities are left out"
        if has_all:
            return True, ""
        what = "the file has the probabilities only of predicted labels, so that figures of probabilities are"
        how = "left out" if self._is_several else "rough"
        return not self._is_several, f"{what} {how}; nbtext predict --to jsonl writes all"

    def _record(self, identity: str) -> Record:
        # an id whose bytes are not UTF-8 was written with escapes
        escaped = identity.encode("utf-8", "backslashreplace").decode()
        same = self._records.get(identity.strip()) or self._records.get(escaped.strip(), [])
        number = self._n_taken[identity] if len(same) > 1 else 0
        self._n_taken[identity] += 1
        if number >= len(same):
            self.finish()  # says if there are no ids
            what = f"the id {identity} has {len(same)} predictions, and more documents"
            raise InputError(
                what if same else f"there is no prediction for {identity}",
                where=self._path,
                hint="write SOURCE exactly as in the nbtext predict command",
            )
        return same[number]

    def _row(self, record: Record) -> list[float]:
        known = [record.scores[label] for label in self._classes if label in record.scores]
        if not known:
            is_chosen = [float(label in record.labels) for label in self._classes]
            return is_chosen if record.labels else [math.nan] * len(self._classes)
        others = 0 if self._is_several else len(self._classes) - len(known)
        rest = max(0.0, 1 - sum(known)) / others if others else 0.0
        return [record.scores.get(label, rest) for label in self._classes]


def _find(row: dict[str, Any], name: str) -> Any:
    """Return the value of a key, which may be nested, or of a column by its number; MISSING_KEY if
    there is none.
    """
    found = find_value(row, name)
    if found is MISSING_KEY and is_number(name) and 1 <= int(name) <= len(row):
        return list(row.values())[int(name) - 1]
    return found


def _split(text: str, separator: str) -> Strings:
    """Split joined labels. In TSV, tabs and line ends are escaped, too. An empty separator occurs
    in no label.
    """
    part = rf"(?:\\.|(?!{re.escape(separator)})[^\\])+" if separator else r"(?:\\.|[^\\])+"
    return tuple(
        re.sub(
            r"\\.", lambda match: _TSV_UNESCAPED.get(match[0], match[0][1]), found, flags=re.DOTALL
        )
        for found in re.findall(part, text, re.DOTALL)
    )


def _probability(value: Any) -> float:
    if not 0 <= float(value) <= 1:
        raise ValueError
    return float(value)


def _unescape(text: str) -> str:
    return re.sub(r"\\[\\tnr]", lambda match: _TSV_UNESCAPED.get(match[0], "\\"), text)

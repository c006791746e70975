"""Predictions as columns that are added to the rows of a source, in the format of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from nbtext.arrays import Mask
from nbtext.documents.decompression import suffix_compression
from nbtext.documents.formats import (
    FORMATS,
    TEXT_SUFFIX,
    check_suffix,
    content_suffix,
)
from nbtext.documents.rows import ChangedRows, Column, OutputTarget
from nbtext.documents.settings import HEADERS, InputSettings
from nbtext.errors import InputError, SettingsError
from nbtext.model.predictions import Predictions
from nbtext.model.settings import DecisionSettings
from nbtext.model.tasks import TASKS
from nbtext.report.conversion import CONVERSIONS
from nbtext.report.predictions import (
    check_score_names,
    prediction_records,
    top_columns,
    top_fields,
)
from nbtext.report.records import field_text, finite, join_escaped
from nbtext.report.settings import (
    COLUMNS,
    EXPLANATION,
    FIELDS,
    LABEL_LIST,
    SCORES,
    SEVERAL_COLUMNS,
    ColumnSettings,
    PredictionField,
)


def write_columns(
    predictions: Iterable[Predictions],
    target: OutputTarget,
    settings: ColumnSettings,
    decisions: DecisionSettings,
    is_written: Callable[[Predictions], Mask] | None = None,
    to: str | None = None,
) -> None:
    """Write the rows of a source with columns added, each batch as soon as it arrives.

    is_written  returns which rows of a batch are written; None: all
    to          the format; None: that of the suffix of the output, or of the source

    Raises
    ------
    SettingsError
        The suffix of the output names another format than that of the source, or a compression that
        the output does not have; or a table is named, and the format has none; or the predictions
        have no such column.
    InputError
        A column cannot be added.
    """
    added = (_add_columns(batch, settings, decisions, is_written) for batch in predictions)
    first = next(added, None)
    if first is None:  # there is nothing to read
        with target.open():
            return
    rows = _check_formats(first, added)
    found = FORMATS[first.rows.format]
    if to is None:
        # a file .json holds lines if those of the source are in such a file, and else an array
        suffix = content_suffix(target.path)
        suffixes = {*found.suffixes}
        if suffix != content_suffix(first.rows.path):
            suffixes.difference_update(FORMATS["json"].suffixes)
        named = (name for name in CONVERSIONS if suffix in FORMATS[name].suffixes)
        to = found.name if suffix in suffixes else next(named, found.name)
    if to != found.name:
        check_suffix(target.path, FORMATS[to].suffixes, f"the rows are written as {to}")
        CONVERSIONS[to](rows, target)
        return
    own = (*found.suffixes, TEXT_SUFFIX) if found.is_text else found.suffixes
    check_suffix(target.path, own, f"the rows are written as {found.name}, the format of SOURCE")
    plain, compression = suffix_compression(target.path)
    if found.magic and compression is not None:
        raise SettingsError(
            f"{target.path}: {found.name} is not compressed as a whole",
            where="-o",
            hint=f"leave out {target.path[len(plain) :]}",
        )
    if target.table is not None and not found.has_queries:
        raise SettingsError(
            f"{found.name} has no tables", where="--table", hint="leave out --table"
        )
    found.load("writer")(rows, target, InputSettings())


def _check_formats(first: ChangedRows, others: Iterator[ChangedRows]) -> Iterator[ChangedRows]:
    """Yield the same rows; raise InputError for those of another format than the first ones."""
    yield first
    for each in others:
        if each.rows.format != first.rows.format:
            raise InputError(
                f"its format is {each.rows.format}, and that of {first.rows.path} is {first.rows.format}",
                where=each.rows.path,
                hint="write the rows of each file to a file of its own",
            )
        yield each


def _add_columns(
    batch: Predictions,
    settings: ColumnSettings,
    decisions: DecisionSettings,
    is_written: Callable[[Predictions], Mask] | None,
) -> ChangedRows:
    """Return the rows of a batch with the columns that the settings and decisions ask for."""
    top_k = decisions.top_k
    prefix = settings.column_prefix
    is_several = TASKS[batch.task].form.is_list
    names = SEVERAL_COLUMNS if is_several and settings.columns == COLUMNS else settings.columns
    known = [name for name, field in FIELDS.items() if field.is_several in (None, is_several)]
    for name in names:
        if name not in known:
            raise SettingsError(
                f"the predictions of a {'multi' if is_several else 'single'}-label model have no {name!r}",
                where="columns",
                hint=f"choose from {', '.join(known)}",
            )
    fields = {name: FIELDS[name] for name in names}
    if decisions.coverage is not None:
        fields["label_set" if is_several else "labels"] = LABEL_LIST
    if top_k is not None:
        fields["scores"] = SCORES
    if decisions.explain is not None:
        fields["explanation"] = EXPLANATION
    scores = settings.find_scores(batch.classes)
    records = list(prediction_records(batch, top_k, scores))
    nested = []
    for name, field in fields.items():
        values = [finite(record.get(name)) for record in records]
        nested.append(Column(prefix + name, field.kind, values, _cells(field, batch.separator)))
    check_score_names(scores, [*fields, *top_columns(top_k)])
    for name in scores:
        values = [record[name] for record in records]
        nested.append(Column(prefix + name, "number", values, field_text))
    flat = [column for column in nested if column.name != f"{prefix}scores"]
    tops = top_fields(batch, top_k)
    for place, name in enumerate(top_columns(top_k)):
        field = FIELDS[name.partition("_")[0]]
        flat.append(
            Column(prefix + name, field.kind, [fields[place] for fields in tops], field.cell)
        )
    removed = [] if is_written is None else np.flatnonzero(~is_written(batch)).tolist()
    removed += [row for row, reason in enumerate(batch.reasons) if reason in HEADERS]
    return ChangedRows(batch.rows, flat, nested, dict.fromkeys(removed))


def _cells(field: PredictionField, separator: str) -> Callable[[Any], str]:
    """Return the function that returns a value of a field as text."""
    if not field.is_list:
        return field.cell
    return lambda values: join_escaped([field.cell(value) for value in values], separator)

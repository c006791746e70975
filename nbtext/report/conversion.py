"""Write the rows of a source in another format of tables than its own, with columns added."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from nbtext.documents.rows import (
    ChangedRows,
    OutputTarget,
    TableRows,
    TextRows,
    check_new,
    read_fields,
)
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError, number_of
from nbtext.report.records import write_and_flush
from nbtext.report.result import Result, format_result, format_rows

KEYS_HINT = "write JSON lines, whose keys may differ: --to jsonl"


def _write_json(output_format: str, changed: Iterable[ChangedRows], target: OutputTarget) -> None:
    result = Result(changed, (), lambda each: (), records=_list_records)
    with target.open() as file:
        write_and_flush(format_result(result, output_format), file)


def _write_cells(output_format: str, changed: Iterable[ChangedRows], target: OutputTarget) -> None:
    """Write a table, whose columns are those of the first batch; a value that is not a text is
    that of JSON.
    """
    names: list[str] = []
    with target.open() as file:
        for each in changed:
            records = list(_list_fields(each))
            new = [column.name for column in each.flat]
            if not names:
                names = list(dict.fromkeys(name for fields, _ in records for name in fields))
                check_new(each.flat, names, each.rows.path)
                write_and_flush([format_rows([[*names, *new]], output_format)], file)
            rows = []
            for fields, row in records:
                _check_keys(each.rows.path, fields, names)
                added = [column.cells(column.values[row]) for column in each.flat]
                rows.append([*(_cell(fields.get(name)) for name in names), *added])
            write_and_flush([format_rows(rows, output_format)], file)


def _write_columns(
    format_of_rows: str, changed: Iterable[ChangedRows], target: OutputTarget
) -> None:
    """Write a Parquet or Arrow file, whose columns and types are those of the first batch."""
    from nbtext.documents.arrow import table_of_rows, write_arrow, write_parquet

    def convert() -> Iterator[ChangedRows]:
        names: list[str] = []
        schema: Any = None
        for each in changed:
            found = list(_list_fields(each))
            records = [fields for fields, _ in found]
            names = names or list(dict.fromkeys(chain.from_iterable(records)))
            for fields in records:
                _check_keys(each.rows.path, fields, names)
            rows = table_of_rows(records, names, schema, each.rows.path)
            schema = rows.table.schema
            kept = [
                column._replace(values=[column.values[row] for _, row in found])
                for column in each.nested
            ]
            yield ChangedRows(rows, (), kept)

    write = write_parquet if format_of_rows == "parquet" else write_arrow
    write(convert(), target, InputSettings())


def _list_records(each: ChangedRows) -> Iterator[dict[str, Any]]:
    """Yield the fields of each row that is written, with the columns added."""
    for fields, row in _list_fields(each):
        check_new(each.nested, fields, each.rows.path)
        yield fields | {column.name: column.values[row] for column in each.nested}


def _list_fields(each: ChangedRows) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the values of each row that is written, by column or key, and the number of the row."""
    rows = each.rows
    n_rows = len(rows.rows) if isinstance(rows, TextRows) else len(each.nested[0].values)
    for row in range(n_rows):
        if each.labels.get(row, "") is None:
            continue
        where = rows.path
        if isinstance(rows, TextRows):
            where = f"{rows.path}:{rows.rows[row].first_line}"
        if isinstance(rows, TableRows) and any(rows.rows[row].columns[len(rows.names) :]):
            n_more = len(rows.rows[row].columns) - len(rows.names)
            raise InputError(
                f"the row has {number_of(n_more, 'more column')} than the header",
                where=where,
                hint="remove its last columns, or give them names",
            )
        try:
            fields = read_fields(rows, row)
        except (ValueError, RecursionError):
            raise InputError("broken JSON", where=where, hint="each row is one object") from None
        if not isinstance(fields, dict):
            raise InputError(
                "its columns have no names, which another format needs",
                where=rows.path,
                hint="write it in its own format, without --to",
            )
        yield fields, row


def _check_keys(path: str, fields: dict[str, Any], names: list[str]) -> None:
    """Raise InputError if a row has a key that the first rows lack."""
    if more := next((name for name in fields if name not in names), None):
        raise InputError(
            f"a row has the key `{more}`, and the first rows have not", where=path, hint=KEYS_HINT
        )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# what writes rows in each format, each batch as soon as it arrives
CONVERSIONS: dict[str, Callable[[Iterable[ChangedRows], OutputTarget], None]] = {
    "json": partial(_write_json, "json"),  # before lines: both may have the suffix .json
    "jsonl": partial(_write_json, "jsonl"),
    "csv": partial(_write_cells, "csv"),
    "tsv": partial(_write_cells, "quoted tsv"),
    "parquet": partial(_write_columns, "parquet"),
    "arrow": partial(_write_columns, "arrow"),
}

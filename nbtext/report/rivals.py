"""Trained models side by side, for people and programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nbtext.errors import number_of, printable
from nbtext.evaluation.comparison import FIGURES, Duel, Figure, SideBySide, Verdict
from nbtext.report.records import format_json, format_rows
from nbtext.report.terminal import PLAIN, Screen, format_screen, new_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

ABOUT = ("name", "model", "learned", "n_features", "size", "seconds")
ALONE = ("first_alone", "second_alone", "p_value")
ENDS = ("", "_low", "_high")
VERDICT_COLUMNS = (*ABOUT, *(name + end for name in FIGURES for end in ENDS))
DUEL_COLUMNS = ("first", "second", *(name + end for name in FIGURES for end in ENDS), *ALONE)
LEAST = 0.001  # of a probability that is told
LIKELY = 0.05  # what is no less probable than this may be chance


def format_side_by_side(found: SideBySide, *, output_format: str, screen: Screen = PLAIN) -> str:
    """As tables for the screen, json, jsonl, markdown, or (a line a model) as tsv or csv."""
    if output_format == "table":
        return format_screen(_parts(found), screen)
    if output_format in ("json", "jsonl"):
        return format_json(_record(found), output_format=output_format)
    verdicts = format_rows(VERDICT_COLUMNS, map(_verdict_row, found.verdicts), output_format=output_format)
    if output_format != "markdown":
        return verdicts
    return verdicts + "\n" + format_rows(DUEL_COLUMNS, map(_duel_row, found.duels), output_format=output_format)


def _record(found: SideBySide) -> dict[str, Any]:
    models, pairs = (list(map(asdict, each)) for each in (found.verdicts, found.duels))
    return {"documents": found.documents, "labels": found.labels, "models": models, "pairs": pairs}


def _verdict_row(verdict: Verdict) -> list[Any]:
    return [*(getattr(verdict, name) for name in ABOUT), *_numbers(verdict)]


def _duel_row(duel: Duel) -> list[Any]:
    return [duel.first, duel.second, *_numbers(duel), *(getattr(duel, name) for name in ALONE)]


def _numbers(found: Verdict | Duel) -> Iterator[float]:
    for name in FIGURES:
        figure = getattr(found, name)
        yield from (figure.value, figure.low, figure.high)


def _parts(found: SideBySide) -> Iterator[RenderableType]:
    sizes = f"{number_of(found.documents, 'document')}, {number_of(len(found.labels), 'label')}"
    yield f"{sizes}; below each figure its 95 % bootstrap interval"
    yield _verdict_table(found)
    yield _duel_table(found)
    yield from map(sentence, found.duels)


def _verdict_table(found: SideBySide) -> Table:
    table = _wrapped(new_table("model", "accuracy", "macro F1", "log-loss", "time, size"))
    for verdict in found.verdicts:
        figures = (_cell(getattr(verdict, name), "") for name in FIGURES)
        name = f"{printable(verdict.name)}\n{verdict.model}"
        table.add_row(name, *figures, f"{shown_time(verdict.seconds)}\n{shown_size(verdict.size)}")
    return table


def _duel_table(found: SideBySide) -> Table:
    table = _wrapped(new_table("difference", "accuracy", "macro F1", "log-loss", "p"))
    for duel in found.duels:
        figures = (_cell(getattr(duel, name), "+") for name in FIGURES)
        table.add_row(f"{printable(duel.second)}\nless {printable(duel.first)}", *figures, f"{duel.p_value:.2g}")
    return table


def _wrapped(table: Table) -> Table:
    """The table with long names on several lines, so that there is room for the figures."""
    table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
    return table


def _cell(figure: Figure, sign: str) -> str:
    return f"{figure.value:{sign}.4f}\n{interval_of(figure, sign)}"


def interval_of(figure: Figure, sign: str = "") -> str:
    """The ends of its interval, for people."""
    return f"{figure.low:{sign}.3f} … {figure.high:{sign}.3f}"


def sentence(duel: Duel) -> str:
    """What McNemar's test says, in words."""
    first, second = printable(duel.first), printable(duel.second)
    counts = f"{second} alone is right {_times(duel.second_alone)}, {first} alone {_times(duel.first_alone)}"
    probability = f"{duel.p_value:.2g}" if duel.p_value >= LEAST else f"less than {LEAST}"
    if duel.p_value >= LIKELY:
        return f"{counts}: equally good models differ so much with probability {probability} (McNemar)."
    better = second if duel.second_alone > duel.first_alone else first
    return f"{counts}: {better} is the more accurate one; by chance so with probability {probability} (McNemar)."


def _times(number: int) -> str:
    return f"{number:,} times" if number != 1 else "once"


def shown_time(seconds: float) -> str:
    """Seconds for people."""
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1e3:.2f} ms"


def shown_size(size: int | None) -> str:
    """Bytes for people."""
    if size is None:
        return "–"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"

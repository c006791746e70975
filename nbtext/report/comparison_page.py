"""Models compared as a page: trained ones side by side, or as they learn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from nbtext.errors import number_of, printable
from nbtext.evaluation.comparison import SideBySide
from nbtext.evaluation.learning_curves import Comparison, Point
from nbtext.report.page.chart import Chart
from nbtext.report.page.rendering import percent, rendered_page
from nbtext.report.rivals import interval_of, sentence, shown_size, shown_time

MOST_SENTENCES, MOST_PAIRS = 6, 12
Row = tuple[Any, ...]


def rivals_page(found: SideBySide, *, subject: str) -> bytes:
    """The page of trained models side by side; `subject` says on what."""
    charts = [_figures(found), _losses(found), _duels(found), _costs(found)]
    content: dict[str, Any] = {
        "subject": subject,
        "found": found,
        "verdicts": [(each, shown_time(each.seconds), shown_size(each.size)) for each in found.verdicts],
        "sentences": list(map(sentence, found.duels[:MOST_SENTENCES])),
        "n_more_sentences": max(0, len(found.duels) - MOST_SENTENCES),
        "interval": interval_of,
    }
    return rendered_page("rivals.html", content, charts=charts)


def curves_page(found: Comparison, *, subject: str) -> bytes:
    """The page of learning curves."""
    charts = [
        _curves("learning_curves", "Accuracy", list(_points(found, "accuracy"))),
        _curves("learning_losses", "Log-loss", list(_points(found, "log_loss"))),
    ]
    content = {"subject": subject, "found": found, "leaders": list(_leaders(found))}
    return rendered_page("curves.html", content, charts=charts)


def _figures(found: SideBySide) -> Chart:
    rows = [
        (printable(verdict.name), name, figure.value, figure.low, figure.high)
        for verdict in found.verdicts
        for name, figure in (("accuracy", verdict.accuracy), ("macro F1", verdict.macro_f1))
    ]
    best = max(found.verdicts, key=lambda verdict: verdict.accuracy.value)
    words = f"The highest accuracy is that of {printable(best.name)}, {percent(best.accuracy.value)}."
    columns = ("model", "figure", "value", "low", "high")
    return Chart("rivals", "Accuracy and macro F1", words, columns, ("model", "figure", "value", "from", "to"), rows)


def _losses(found: SideBySide) -> Chart:
    rows = [
        (printable(each.name), each.log_loss.value, each.log_loss.low, each.log_loss.high) for each in found.verdicts
    ]
    best = min(found.verdicts, key=lambda verdict: verdict.log_loss.value)
    words = f"The probabilities of {printable(best.name)} cost least, {best.log_loss.value:.4f} nats a document."
    return Chart(
        "rival_losses", "Log-loss", words, ("model", "value", "low", "high"), ("model", "log-loss", "from", "to"), rows
    )


def _duels(found: SideBySide) -> Chart:
    rows = [
        (f"{printable(duel.second)} less {printable(duel.first)}", *_ends(duel.accuracy), duel.p_value)
        for duel in found.duels[:MOST_PAIRS]
    ]
    n_sure = sum(duel.accuracy.low > 0 or duel.accuracy.high < 0 for duel in found.duels)
    words = f"Of {len(found.duels)} differences, {n_sure} leave out 0 with their interval: those are hardly chance."
    if len(rows) < len(found.duels):
        words += f" Drawn are the first {len(rows)}."
    columns = ("pair", "value", "low", "high", "p_value")
    headings = ("models", "accuracy", "from", "to", "McNemar's p")
    return Chart("duels", "Differences in accuracy", words, columns, headings, rows)


def _ends(figure: Any) -> tuple[float, float, float]:
    return figure.value, figure.low, figure.high


def _costs(found: SideBySide) -> Chart:
    rows = [(printable(each.name), each.seconds, each.size or 0, each.accuracy.value) for each in found.verdicts]
    quickest = min(found.verdicts, key=lambda verdict: verdict.seconds)
    words = (
        f"The quickest is {printable(quickest.name)}, {shown_time(quickest.seconds)} for "
        f"{number_of(found.documents, 'document')}. The larger a point, the larger the file."
    )
    columns, headings = ("model", "seconds", "size", "accuracy"), ("model", "seconds", "bytes", "accuracy")
    return Chart("rival_costs", "Time, size and accuracy", words, columns, headings, rows)


def _points(found: Comparison, name: str) -> Iterator[Row]:
    for point in found.points:
        value, deviation = getattr(point, name), getattr(point, f"{name}_deviation") or 0.0
        yield point.model, point.size, value, value - deviation, value + deviation


def _curves(name: str, title: str, rows: list[Row]) -> Chart:
    first, last = rows[0], rows[-1]
    words = (
        f"From {number_of(first[1], 'document')} on the left to {last[1]:,} on the right, on a logarithmic scale; the "
        "band is a standard deviation wide on either side."
    )
    columns = ("model", "size", "value", "low", "high")
    headings = ("model", "documents", title.lower(), "less a deviation", "and one more")
    return Chart(name, title, words, columns, headings, rows, is_tabled=False)


def _leaders(found: Comparison) -> Iterator[tuple[int, Point]]:
    """The most accurate model at the smallest size and at the largest."""
    by_size = [(size, list(points)) for size, points in groupby(found.points, key=lambda point: point.size)]
    for size, points in by_size[:1] + by_size[1:][-1:]:
        yield size, max(points, key=lambda point: point.accuracy)

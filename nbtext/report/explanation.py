"""Explanations for people and programs: each word's part in the answer."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from nbtext.errors import printable
from nbtext.model.explanation import Explanation, Part
from nbtext.report.fields import FORMS, json_list, markdown_field, tsv_field
from nbtext.report.rows import field_text
from nbtext.report.terminal import PLAIN, Screen, drawn, new_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from nbtext.features.occurrences import Locator

IN_A_TABLE = 10  # features that are shown where no number is given; programs get all
COLUMNS = ("id", "label", "against", "part", "feature", "count", "log_odds")
STRONG, WEAK = 0.4, 0.08  # shares of the strongest part that are told apart
# for the label and against it; told apart by the color-blind, and without colors by bold and underlined
STYLES = {2: "bold blue", 1: "blue", 0: "", -1: "yellow", -2: "underline yellow"}
BAR = 24  # characters


class ExplanationWriter:
    """Writes explanations in a form, each as soon as it is there.

    n_features  the strongest features to show; None: ten in a table, all in the forms for programs
    locate      finds the features in the text, for a table
    """

    def __init__(
        self, form: str, *, n_features: int | None = None, locate: Locator | None = None, screen: Screen = PLAIN
    ) -> None:
        self._form, self._n_features, self._locate, self._screen = form, n_features, locate, screen
        self._in_a_table = IN_A_TABLE if n_features is None else n_features

    def write(self, explanations: Iterable[Explanation], file: BinaryIO) -> None:
        """Write all of them, as UTF-8."""
        forms = (self._tables, self._tsv, self._csv, self._jsonl, self._json, self._markdown)
        write = dict(zip(FORMS, forms, strict=True))[self._form]
        for text in write(explanations):
            file.write(text.encode("utf-8", "backslashreplace"))
            file.flush()

    def _jsonl(self, explanations: Iterable[Explanation]) -> Iterator[str]:
        for encoded in self._encoded(explanations):
            yield encoded + "\n"

    def _json(self, explanations: Iterable[Explanation]) -> Iterator[str]:
        return json_list(self._encoded(explanations))

    def _encoded(self, explanations: Iterable[Explanation]) -> Iterator[str]:
        for explanation in explanations:
            yield json.dumps(record(explanation, self._n_features), ensure_ascii=False)

    def _tsv(self, explanations: Iterable[Explanation]) -> Iterator[str]:
        for explanation in explanations:
            yield "".join("\t".join(map(tsv_field, row)) + "\n" for row in _rows(explanation, self._n_features))

    def _csv(self, explanations: Iterable[Explanation]) -> Iterator[str]:
        yield ",".join(COLUMNS) + "\r\n"
        for explanation in explanations:
            target = io.StringIO()
            csv.writer(target).writerows(_rows(explanation, self._n_features))
            yield target.getvalue()

    def _markdown(self, explanations: Iterable[Explanation]) -> Iterator[str]:
        yield f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|\n"
        for explanation in explanations:
            rows = _rows(explanation, self._in_a_table)
            yield "".join(f"| {' | '.join(map(markdown_field, row))} |\n" for row in rows)

    def _tables(self, explanations: Iterable[Explanation]) -> Iterator[str]:
        separator = ""
        for explanation in explanations:
            yield separator + drawn(self._parts(explanation), self._screen)
            separator = "\n"

    def _parts(self, explanation: Explanation) -> Iterator[RenderableType]:
        from rich.text import Text

        yield Text(printable(explanation.id), "bold")
        yield from map(Text, _sentences(explanation))
        weights = part_weights(explanation, self._locate) if self._locate is not None else [()] * len(explanation.texts)
        for text, marks in zip(explanation.texts, weights, strict=True):
            if text:
                yield _marked(text, marks)
        if explanation.parts:
            yield _table(explanation, self._in_a_table)


def record(explanation: Explanation, n_features: int | None = None) -> dict[str, Any]:
    """An explanation as plain data; numbers in full, so that they add up."""
    shown, others = _shown(explanation, n_features)
    names = (
        "id", "label", "probability", "against", "other_probability", "log_odds", "prior", "absent", "temperature",
        "noise", "prior_adjustment", "known",
    )  # fmt: skip
    plain = {name: getattr(explanation, name) for name in names}
    plain["parts"] = [{"feature": p.feature, "count": p.count, "log_odds": p.log_odds} for p in shown]
    plain["other_parts"] = others
    if explanation.label is None:
        plain["reason"] = explanation.reason
    return plain


def part_weights(explanation: Explanation, locate: Locator) -> list[list[float]]:
    """How much each character of each text speaks for the label.

    A feature's part is shared equally by its occurrences, and that of each by the pieces that it is made of.
    """
    of_one = {part.feature: part.log_odds / part.count for part in explanation.parts}
    weights = []
    for text in explanation.texts:
        marks = [0.0] * len(text)
        for feature, spans in locate(text):
            share = of_one.get(feature, 0.0) / max(1, len(spans))
            for start, end in spans if share else ():
                for place in range(start, end):
                    marks[place] += share
        weights.append(marks)
    return weights


def _shown(explanation: Explanation, n_features: int | None) -> tuple[tuple[Part, ...], float]:
    """The strongest parts, and what the others come to."""
    parts = explanation.parts
    if n_features is None:
        return parts, 0.0
    return parts[:n_features], sum(part.log_odds for part in parts[n_features:])


def _rows(explanation: Explanation, n_features: int | None) -> Iterator[list[str]]:
    """A row for the prior, for absent words, for each feature, and for all others together."""
    shown, others = _shown(explanation, n_features)
    head = [explanation.id, explanation.label or "", explanation.against or ""]
    if explanation.against is None:
        yield [*head, "none", "", "", ""]
        return
    yield [*head, "prior", "", "", field_text(explanation.prior)]
    yield [*head, "absent", "", "", field_text(explanation.absent)]
    for part in shown:
        yield [*head, "feature", part.feature, str(part.count), field_text(part.log_odds)]
    if len(shown) < len(explanation.parts):
        yield [*head, "others", "", str(len(explanation.parts) - len(shown)), field_text(others)]


def _sentences(explanation: Explanation) -> Iterator[str]:
    """The answer in words, and the sum that it is."""
    if explanation.label is None:
        yield f"no answer: {printable(explanation.reason or '')}"
        return
    answer = f"{printable(explanation.label)} {explanation.probability:.1%}"
    if explanation.against is None:
        yield f"{answer}: the model knows no other label"
        return
    yield f"{answer}, against {printable(explanation.against)} {explanation.other_probability:.1%}"
    words = sum(part.log_odds for part in explanation.parts)
    absent = f", absent {explanation.absent:+.3f}" if abs(explanation.absent) > 1e-9 else ""
    prior_adjustment = f", shifted by {explanation.prior_adjustment:+.3f}" if explanation.prior_adjustment else ""
    yield (
        f"log-odds {explanation.log_odds:+.3f} = (words {words:+.3f}, prior {explanation.prior:+.3f}{absent}) / "
        f"temperature {explanation.temperature:.3f}{prior_adjustment}; {explanation.known:.0%} of the words are known"
    )


def _marked(text: str, marks: Iterable[float]) -> Text:
    """The text with its words colored by what they say."""
    from rich.text import Text

    weights = list(marks) or [0.0] * len(text)
    strongest = max(map(abs, weights), default=0.0) or 1.0
    marked, start = Text(), 0
    levels = [_level(weight / strongest) for weight in weights]
    for place in range(1, len(text) + 1):
        if place == len(text) or levels[place] != levels[start]:
            marked.append(_lines(text[start:place]), STYLES[levels[start]])
            start = place
    return marked


def _lines(text: str) -> str:
    """The text with its lines, and nothing that a terminal would obey."""
    lines = text.replace("\r\n", "\n").replace("\t", "    ").split("\n")
    return "\n".join(map(printable, lines))


def _level(share: float) -> int:
    size = 2 if abs(share) >= STRONG else 1 if abs(share) >= WEAK else 0
    return size if share > 0 else -size


def _table(explanation: Explanation, n_features: int) -> RenderableType:
    """The strongest parts, with bars to the right for the label and to the left against it."""
    from rich.text import Text

    shown, others = _shown(explanation, n_features)
    strongest = max((abs(part.log_odds) for part in shown), default=0.0) or 1.0
    table = new_table("word", "times", "log-odds", "")
    table.columns[-1].justify = "left"
    for part in shown:
        length = max(1, round(abs(part.log_odds) / strongest * BAR / 2))
        bar = "━" * length
        left = part.log_odds < 0
        drawing = Text(f"{bar:>{BAR // 2}}{'':{BAR // 2}}" if left else f"{'':{BAR // 2}}{bar:<{BAR // 2}}")
        drawing.stylize(STYLES[-1] if left else STYLES[1])
        table.add_row(printable(part.feature), f"{part.count:,}", f"{part.log_odds:+.3f}", drawing)
    if len(shown) < len(explanation.parts):
        table.add_row(f"({len(explanation.parts) - len(shown):,} others)", "", f"{others:+.3f}", "")
    return table

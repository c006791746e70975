"""Explanations for people and programs: each word's part in the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, BinaryIO

from nbtext.errors import printable
from nbtext.model.explanation import Contribution, Explanation
from nbtext.report.records import field_text, format_records, write_text
from nbtext.report.terminal import PLAIN, Screen, format_screen, new_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from nbtext.features.occurrences import Locator

N_FEATURES = 10  # features that are shown where no number is given; programs get all
COLUMNS = ("id", "label", "against", "term", "feature", "count", "log_odds")
STRONG, WEAK = 0.4, 0.08  # shares of the strongest part that are told apart
# for the label and against it; told apart by the color-blind, and without colors by bold and underlined
STYLES = {2: "bold blue", 1: "blue", 0: "", -1: "yellow", -2: "underline yellow"}
BAR = 24  # characters
NEGLIGIBLE = 1e-9  # a term that is smaller is rounding


def write_explanations(
    explanations: Iterable[Explanation],
    file: BinaryIO,
    *,
    output_format: str,
    n_features: int | None = None,
    locate: Locator | None = None,
    screen: Screen = PLAIN,
) -> None:
    """Write explanations, each as soon as it arrives.

    Parameters
    ----------
    n_features : number of features to show, the largest contributions first; None: ten in a table or Markdown, else
        all
    locate : finds the features in a text; a table then shows the text with its words marked
    """
    n_shown = N_FEATURES if n_features is None else n_features
    n_in_rows = n_shown if output_format == "markdown" else n_features
    texts = format_records(
        explanations,
        output_format=output_format,
        columns=COLUMNS,
        rows=lambda explanation: _rows(explanation, n_in_rows),
        records=lambda explanation: [explanation_record(explanation, n_features)],
        table=lambda explanation: format_screen(_parts(explanation, n_shown, locate), screen),
    )
    write_text(_separate(texts) if output_format == "table" else texts, file)


def _separate(texts: Iterable[str]) -> Iterator[str]:
    """Put an empty line between texts."""
    for number, text in enumerate(texts):
        yield "\n" + text if number else text


def _parts(explanation: Explanation, n_features: int, locate: Locator | None) -> Iterator[RenderableType]:
    from rich.text import Text

    yield Text(printable(explanation.id), "bold")
    yield from map(Text, _sentences(explanation))
    weights = part_weights(explanation, locate) if locate is not None else [()] * len(explanation.texts)
    for text, marks in zip(explanation.texts, weights, strict=True):
        if text:
            yield _marked(text, marks)
    if explanation.contributions:
        yield _table(explanation, n_features)


def explanation_record(explanation: Explanation, n_features: int | None = None) -> dict[str, Any]:
    """Return an explanation as plain data; numbers in full, so that the terms add up to the log-odds."""
    shown, others = _shown(explanation, n_features)
    names = ("id", "label", "probability", "against", "other_probability", "log_odds")
    plain: dict[str, Any] = {name: getattr(explanation, name) for name in names}
    plain["terms"] = asdict(explanation.terms)
    plain["contributions"] = [asdict(each) for each in shown]
    plain["other_contributions"] = others
    plain |= {name: getattr(explanation, name) for name in ("temperature", "noise_rate", "known")}
    if explanation.label is None:
        plain["reason"] = explanation.reason
    return plain


def part_weights(explanation: Explanation, locate: Locator) -> list[list[float]]:
    """How much each character of each text speaks for the label.

    A feature's part is shared equally by its occurrences, and that of each by the pieces that it is made of.
    """
    of_one = {part.feature: part.log_odds / part.count for part in explanation.contributions}
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


def _shown(explanation: Explanation, n_features: int | None) -> tuple[tuple[Contribution, ...], float]:
    """The strongest parts, and what the others come to."""
    parts = explanation.contributions
    if n_features is None:
        return parts, 0.0
    return parts[:n_features], sum(part.log_odds for part in parts[n_features:])


def _rows(explanation: Explanation, n_features: int | None) -> Iterator[list[str]]:
    """Yield a row for each term of the log-odds: the features, all other features together, and the other terms."""
    shown, others = _shown(explanation, n_features)
    head = [explanation.id, explanation.label or "", explanation.against or ""]
    if explanation.against is None:
        yield [*head, "none", "", "", ""]
        return
    for part in shown:
        yield [*head, "feature", part.feature, str(part.count), field_text(part.log_odds)]
    if len(shown) < len(explanation.contributions):
        yield [*head, "others", "", str(len(explanation.contributions) - len(shown)), field_text(others)]
    for name, value in asdict(explanation.terms).items():
        yield [*head, name, "", "", field_text(value)]


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
    words = sum(part.log_odds for part in explanation.contributions)
    terms, temperature, noise = explanation.terms, explanation.temperature, explanation.noise_rate
    sum_of = [f"words {words:+.3f}", f"prior {terms.prior:+.3f}"]
    sum_of += [f"absent words {terms.absent:+.3f}"] if abs(terms.absent) > NEGLIGIBLE else []
    sum_of += [f"temperature {temperature:.3f} {terms.temperature:+.3f}"] if temperature != 1 else []
    sum_of += [f"label-noise rate {noise:.2%} {terms.noise:+.3f}"] if noise else []
    sum_of += [f"prior adjustment {terms.prior_adjustment:+.3f}"] if terms.prior_adjustment else []
    yield f"log-odds {explanation.log_odds:+.3f} = {', '.join(sum_of)}"
    yield f"{explanation.known:.0%} of the words are known"


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
    if len(shown) < len(explanation.contributions):
        table.add_row(f"({len(explanation.contributions) - len(shown):,} others)", "", f"{others:+.3f}", "")
    return table

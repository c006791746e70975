"""Explanations as a table with the words marked in the text, as rows for programs, as JSON, and as
a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.errors import number_of, printable
from nbtext.features.analyzer import Locator
from nbtext.model.explanation import Contribution, Explanation
from nbtext.report.records import OutputRow
from nbtext.report.result import Result
from nbtext.report.terminal import name_features, new_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text


N_FEATURES_SHOWN = 10  # shown in a table if no number is given; programs get all
EXPLANATION_COLUMNS = str.split("id label against term feature count log_odds")
NEGLIGIBLE_TERM = 1e-9  # a smaller term is a rounding error
NAMES = {"absent": "absent words", "other_labels": "other labels"}  # of terms, for people
LEVELS = (0.06, 0.2, 0.5)  # shares of the largest weight from which on a mark has level 1, 2, 3
# By level, the last ones of -3 to -1: for the label and against it. The color-blind can tell them
# apart, and without colors bold and
# underlined differ
STYLES = ("", "blue", "blue", "bold blue", "underline yellow", "yellow", "yellow")
TERM_BAR_CHARACTERS = 24  # characters
# on the page
MAX_EXPLAINED_DOCUMENTS = 200
MAX_MARKED_CHARACTERS = 20_000  # of the text of a document
MAX_FEATURES = 25  # of a document, if no number is given


class MarkedText(NamedTuple):
    """A piece of text with one mark: from level 3, strongly for the label, to -3, strongly against
    it; 0: none.
    """

    text: str
    level: int


def highlight(text: str, weights: Sequence[float]) -> list[MarkedText]:
    """Cut a text into runs by the weight of each character, relative to the largest weight."""
    largest = max(map(abs, weights), default=0.0)
    levels = [0] * len(text)
    if largest:
        sizes = (sum(abs(weight) / largest >= level for level in LEVELS) for weight in weights)
        levels = [
            size if weight > 0 else -size for size, weight in zip(sizes, weights, strict=True)
        ]
    runs = []
    start = 0
    for level, group in groupby(levels):
        end = start + sum(1 for _ in group)
        runs.append(MarkedText(text[start:end], level))
        start = end
    return runs


def mark_runs(explanation: Explanation, locate: Locator) -> list[MarkedText]:
    """Return the runs of all texts of a document, a line for each text."""
    pairs = zip(explanation.texts, part_weights(explanation, locate), strict=True)
    return [
        run for text, weights in pairs for run in (*highlight(text, weights), MarkedText("\n", 0))
    ]


def cut_runs(runs: Sequence[MarkedText], maximum: int) -> list[MarkedText]:
    """Return the runs of the first `maximum` characters."""
    kept = []
    n_left = maximum
    for run in runs:
        if n_left <= 0:
            break
        kept.append(MarkedText(run.text[:n_left], run.level))
        n_left -= len(run.text)
    return kept


def explanations_result(
    explanations: Iterable[Explanation],
    *,
    n_features: int | None = None,
    locate: Locator | None = None,
) -> Result[Explanation]:
    """Return explanations as a result.

    Parameters
    ----------
    n_features : int, optional
        Number of features to show, the largest contributions first; None: ten in a table or
        Markdown, else all.
    locate : Locator, optional
        Finds the features in a text; a table then shows the text with its words marked.
    """
    n_shown = N_FEATURES_SHOWN if n_features is None else n_features
    return Result(
        explanations,
        EXPLANATION_COLUMNS,
        lambda explanation: _rows(explanation, n_features),
        layout=lambda explanation, _: _parts(explanation, n_shown, locate),
        records=lambda explanation: [explanation_record(explanation, n_features)],
    )


def _parts(
    explanation: Explanation, n_features: int, locate: Locator | None
) -> Iterator[RenderableType]:
    from rich.text import Text

    yield Text(printable(explanation.id), "bold")
    yield from map(Text, _sentences(explanation))
    weights = (
        part_weights(explanation, locate)
        if locate is not None
        else [[0.0] * len(t) for t in explanation.texts]
    )
    yield from mark_texts(explanation.texts, weights)
    if explanation.contributions:
        yield _table(explanation, n_features)


def mark_texts(texts: Sequence[str], weights: Sequence[Sequence[float]]) -> Iterator[Text]:
    """Yield each text that is not empty, with its words marked and its control characters escaped;
    see part_weights.
    """
    from rich.text import Text

    for text, marks in zip(texts, weights, strict=True):
        if text:
            marked = Text()
            for run in highlight(text, marks):
                lines = run.text.replace("\r\n", "\n").replace("\t", "    ").split("\n")
                marked.append("\n".join(map(printable, lines)), STYLES[run.level])
            yield marked


def explanation_record(explanation: Explanation, n_features: int | None = None) -> dict[str, Any]:
    """Return an explanation as plain data; numbers in full, so that the terms add up to the
    log-odds.
    """
    shown, _, others = _shown(explanation, n_features)
    names = ("id", "label", "probability", "against", "other_probability", "log_odds")
    plain = {name: getattr(explanation, name) for name in names}
    plain["terms"] = asdict(explanation.terms)
    plain["contributions"] = [
        {name: value for name, value in asdict(each).items() if name != "is_untrained" or value}
        for each in shown
    ]
    plain["other_contributions"] = others
    plain["known"] = explanation.known
    if explanation.label is None:
        plain["reason"] = explanation.reason
    return plain


def part_weights(explanation: Explanation, locate: Locator) -> list[list[float]]:
    """Compute the weight of each character of each text.

    The contribution of a feature is shared equally by its occurrences, and that of an occurrence by
    its pieces.
    """
    of_one = {part.feature: part.log_odds / (part.count or 1) for part in explanation.contributions}
    return [
        add_weights(
            text,
            (
                (of_one.get(feature, 0.0) / max(1, len(spans)), spans)
                for feature, spans in locate(text)
            ),
        )
        for text in explanation.texts
    ]


def add_weights(
    text: str, weighed: Iterable[tuple[float, Iterable[tuple[int, int]]]]
) -> list[float]:
    """Return the sum of the weights at each character of a text; `weighed` are weights and the
    spans that have them.
    """
    marks = [0.0] * len(text)
    for weight, spans in weighed:
        for start, end in spans if weight else ():
            for place in range(start, end):
                marks[place] += weight
    return marks


def _shown(
    explanation: Explanation, n_features: int | None
) -> tuple[tuple[Contribution, ...], int, float]:
    """Return the parts with the largest contributions, and the number and the sum of the others."""
    parts = explanation.contributions
    if n_features is None:
        return parts, 0, 0.0
    others = parts[n_features:]
    return parts[:n_features], len(others), sum(part.log_odds for part in others)


def _rows(explanation: Explanation, n_features: int | None) -> Iterator[OutputRow]:
    """Yield a row for each term of the log-odds: the features, all other features together, and the
    other terms.
    """
    shown, n_others, others = _shown(explanation, n_features)
    head = [explanation.id, explanation.label, explanation.against]
    if explanation.against is None:
        yield [*head, "none", "", "", ""]
        return
    for part in shown:
        term = "untrained" if part.is_untrained else "feature"
        yield [*head, term, part.feature, part.count, part.log_odds]
    if n_others:
        yield [*head, "others", "", n_others, others]
    for name, value in asdict(explanation.terms).items():
        yield [*head, name, "", "", value]


def _sentences(explanation: Explanation) -> Iterator[str]:
    """Yield the predicted label, and the terms whose sum is its log-odds."""
    if explanation.label is None:
        yield f"no label: {printable(explanation.reason or '')}"
        return
    answer = f"{printable(explanation.label)} {explanation.probability:.1%}"
    if explanation.against is None:
        yield f"{answer}: the model has no other label"
        return
    yield f"{answer}, against {printable(explanation.against)} {explanation.other_probability:.1%}"
    words = sum(part.log_odds for part in explanation.contributions)
    terms = [("words", words), *_name_terms(explanation)]
    sum_of = [f"{name} {value:+.3f}" for name, value in terms]
    yield f"log-odds {explanation.log_odds:+.3f} = {', '.join(sum_of)}"
    yield f"{explanation.known:.0%} of the words are in the vocabulary"


def _name_terms(explanation: Explanation) -> Iterator[tuple[str, float]]:
    """Yield the name and the value of each term but the words; those that have no effect are left
    out.
    """
    for name, value in asdict(explanation.terms).items():
        if name == "prior" or abs(value) > NEGLIGIBLE_TERM:
            yield NAMES.get(name, name), value


def _table(explanation: Explanation, n_features: int) -> RenderableType:
    """Make a table of the largest contributions, with bars to the right for the label and to the
    left against it.
    """
    from rich.text import Text

    shown, n_others, others = _shown(explanation, n_features)
    strongest = max((abs(part.log_odds) for part in shown), default=0.0) or 1.0
    table = new_table("word", "count", "log-odds", "")
    table.columns[-1].justify = "left"
    half = TERM_BAR_CHARACTERS // 2
    for part, feature in zip(shown, name_features(shown), strict=True):
        bar = "━" * max(1, round(abs(part.log_odds) / strongest * half))
        left = part.log_odds < 0
        drawing = Text(f"{bar:>{half}}{'':{half}}" if left else f"{'':{half}}{bar:<{half}}")
        drawing.stylize(STYLES[-1] if left else STYLES[1])
        count = "" if part.count is None else f"{part.count:,}"
        table.add_row(feature, count, f"{part.log_odds:+.3f}", drawing)
    if n_others:
        table.add_row(f"({n_others:,} others)", "", f"{others:+.3f}", "")
    return table


def render_explanation_page(
    explanations: Iterable[Explanation],
    *,
    subject: str,
    locate: Locator,
    n_features: int | None = None,
) -> bytes:
    """Render the page of the first 200 documents; of further ones only the first is read.

    Parameters
    ----------
    subject : str
        What was explained.
    locate : Locator
        Finds the features in the texts.
    n_features : int, optional
        Number of features of each document, the largest contributions first.
    """
    from nbtext.report.page.rendering import percent, render_page

    found = iter(explanations)
    maximum = MAX_FEATURES if n_features is None else n_features
    documents = []
    for explanation in islice(found, MAX_EXPLAINED_DOCUMENTS):
        shares = (explanation.probability, explanation.other_probability)
        shown = [percent(share, 2) if share is not None else "–" for share in shares]
        documents.append(
            {
                "explanation": explanation,
                "probability": shown[0],
                "other_probability": shown[1],
                "runs": cut_runs(mark_runs(explanation, locate), MAX_MARKED_CHARACTERS),
                "n_more": max(0, sum(map(len, explanation.texts)) - MAX_MARKED_CHARACTERS),
                "rows": list(_sum(explanation, maximum)),
            }
        )
    is_all = next(found, None) is None
    return render_page(
        "explanation.html", {"subject": subject, "documents": documents, "is_all": is_all}
    )


def _sum(explanation: Explanation, maximum: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of the terms whose sum is the log-odds."""
    shown, n_others, others = _shown(explanation, maximum)
    strongest = max((abs(part.log_odds) for part in shown), default=1.0) or 1.0
    for part, feature in zip(shown, name_features(shown), strict=True):
        yield _row(
            "", part.log_odds, feature=feature, count=part.count, share=part.log_odds / strongest
        )
    rest = list(_name_terms(explanation))
    if n_others:
        rest.insert(0, (number_of(n_others, "other word"), others))
    yield from (_row(name, value) for name, value in rest)
    yield _row("log-odds", explanation.log_odds or 0.0, is_total=True)


def _row(name: str, value: float, **facts: Any) -> dict[str, Any]:
    others = {"feature": None, "count": None, "share": None, "is_total": False} | facts
    return {"name": name, "value": repr(value), "shown": f"{value:+.4f}"} | others

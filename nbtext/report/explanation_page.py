"""Explanations as a page: each text with its words marked, and the sum that its label's log-odds are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from nbtext.errors import number_of
from nbtext.model.explanation import Explanation
from nbtext.report.explanation import NEGLIGIBLE, part_weights
from nbtext.report.page.marked import Run, cut, marked_runs
from nbtext.report.page.rendering import percent, rendered_page

if TYPE_CHECKING:
    from nbtext.features.occurrences import Locator

MOST_DOCUMENTS = 200
MOST_SHOWN = 20_000  # characters of a document's text
MOST_FEATURES = 25  # of a document, where no number is given


def explanation_page(
    explanations: Iterable[Explanation], *, subject: str, locate: Locator, n_features: int | None = None
) -> bytes:
    """The page of the first documents; more of them than are shown are not asked for.

    subject     what was explained
    locate      finds the features in the texts
    n_features  the strongest features to list of each
    """
    found = iter(explanations)
    most = MOST_FEATURES if n_features is None else n_features
    documents = [_document(explanation, locate, most) for explanation in islice(found, MOST_DOCUMENTS)]
    is_all = next(found, None) is None
    return rendered_page("explanation.html", {"subject": subject, "documents": documents, "is_all": is_all})


def _document(explanation: Explanation, locate: Locator, most: int) -> dict[str, Any]:
    runs: list[Run] = []
    for text, weights in zip(explanation.texts, part_weights(explanation, locate), strict=True):
        runs += [*marked_runs(text, weights), Run("\n", 0)]
    return {
        "explanation": explanation,
        "probability": percent(explanation.probability, 2) if explanation.probability is not None else "–",
        "chance": percent(explanation.other_probability, 2) if explanation.other_probability is not None else "–",
        "runs": cut(runs, MOST_SHOWN),
        "n_more": max(0, sum(map(len, explanation.texts)) - MOST_SHOWN),
        "rows": list(_sum(explanation, most)),
    }


def _sum(explanation: Explanation, most: int) -> Iterator[dict[str, Any]]:
    """What is added up, line by line, to the log-odds; each number as it is, and as it is shown."""
    shown, others = explanation.contributions[:most], explanation.contributions[most:]
    strongest = max((abs(part.log_odds) for part in shown), default=1.0) or 1.0
    rest = sum(part.log_odds for part in others)
    for part in shown:
        yield _row("", part.log_odds, feature=part.feature, count=part.count, share=part.log_odds / strongest)
    if others:
        yield _row(number_of(len(others), "other word"), rest)
    terms = explanation.terms
    yield _row("prior", terms.prior)
    if abs(terms.absent) > NEGLIGIBLE:
        yield _row("absent words", terms.absent)
    if explanation.temperature != 1:
        yield _row(f"temperature {explanation.temperature:.4f}", terms.temperature)
    if explanation.noise_rate:
        yield _row(f"label-noise rate {explanation.noise_rate:.2%}", terms.noise)
    if terms.prior_adjustment:
        yield _row("prior adjustment", terms.prior_adjustment)
    yield _row("log-odds", explanation.log_odds or 0.0, is_total=True)


def _row(
    name: str,
    value: float,
    *,
    feature: str | None = None,
    count: int | None = None,
    share: float | None = None,
    is_total: bool = False,
) -> dict[str, Any]:
    shown = f"{value:+.4f}"
    return {
        "name": name, "feature": feature, "count": count, "value": repr(value), "shown": shown, "share": share,
        "is_total": is_total,
    }  # fmt: skip

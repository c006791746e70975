"""The page of an evaluation, as a browser shows it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtext.evaluation.metrics import Evaluation, LabelScore, ReliabilityBin
from nbtext.report.evaluation_page import evaluation_page
from nbtext.report.page.rendering import write_page

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)></style>&\"'"


def evaluation_of(*labels: str) -> Evaluation:
    n = len(labels)
    return Evaluation(
        documents=2 * n, unanswered=1, accuracy=0.5, macro_f1=0.25, weighted_f1=0.125, log_loss=1.0, brier_score=0.5,
        expected_calibration_error=0.0625, labels=labels,
        per_label=tuple(LabelScore(label, 0.5, 0.25, 1 / 3, 2) for label in labels),
        confusion_matrix=tuple(tuple(int(i == k) + int(k == 0) for k in range(n)) for i in range(n)),
        reliability=(ReliabilityBin(0.4, 0.6, 4, 0.5, 0.5), ReliabilityBin(0.6, 0.8, 4, 0.7, 0.5)),
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page whose labels and subject want to run something."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(str(path), evaluation_page(evaluation_of("calm", HOSTILE), subject=HOSTILE))
    return path


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_the_page_is_sound(visit: Callable[..., Any], page: Path, width: int, scheme: str) -> None:
    """In light, in dark and on a phone: charts have marks, all fits the screen, axe finds nothing serious."""
    shown = visit(page, width=width, scheme=scheme)
    names = shown.page.eval_on_selector_all("figure[data-chart]", "all => all.map(each => each.dataset.chart)")
    assert names
    assert all(shown.marks(name) > 0 for name in names)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.axe() == []


def test_names_are_shown_and_not_run(visit: Callable[..., Any], page: Path) -> None:
    """Markup in a label or the name of a source is text."""
    shown = visit(page)
    assert HOSTILE in shown.page.locator("h1").inner_text()
    assert shown.page.locator("#labels tbody th").all_inner_texts() == ["calm", HOSTILE]
    assert shown.page.locator("img").count() == 0


def test_the_policy_allows_its_own_scripts_only(page: Path) -> None:
    """Nothing may be fetched, evaluated or sent."""
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page.read_text())
    assert policy is not None
    assert policy[1].startswith("default-src &#39;none&#39;; script-src &#39;sha256-")
    assert "unsafe" not in policy[1]


def test_colors_can_be_chosen(visit: Callable[..., Any], page: Path) -> None:
    """Against what the system says, charts included; it is remembered as far as the browser lets it."""
    shown = visit(page, scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    label = "document.querySelector('svg .role-axis-label text').getAttribute('fill')"
    before = shown.page.evaluate(f"[{background}, {label}]")
    shown.page.get_by_label("Colors").select_option("dark")
    shown.page.evaluate("() => page.drawn")
    after = shown.page.evaluate(f"[{background}, {label}]")
    assert before[0] != after[0] and before[1] != after[1]

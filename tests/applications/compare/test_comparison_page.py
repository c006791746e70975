"""The pages of comparisons, as a browser shows them."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from nbtext.applications.compare.comparison import ComparedModel, Comparison, PairedTest
from nbtext.applications.compare.learning_curves import LearningCurves, Point
from nbtext.applications.compare.results import (
    comparison_overview,
    learning_curves_overview,
    render,
)
from nbtext.evaluation.bootstrap import Estimate
from nbtext.evaluation.metrics import METRICS

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)></style>&\"'"


def estimate(value: float) -> Estimate:
    return Estimate(value, value - 0.01, value + 0.02)


def estimates(accuracy: float, macro_f1: float, log_loss: float) -> dict[str, Estimate]:
    values = {"accuracy": accuracy, "macro_f1": macro_f1, "log_loss": log_loss}
    return {name: estimate(value) for name, value in values.items()}


def comparison(*names: str) -> Comparison:
    results = tuple(
        ComparedModel(
            name,
            "multinomial",
            336,
            2803,
            1000 * (k + 1) if k else None,
            k / 7,
            trained_on=0,
            metrics=estimates(0.7 + k / 100, 0.6, 1.5),
        )
        for k, name in enumerate(names)
    )
    tests = tuple(
        PairedTest(one, other, 3, 1, 0.625 if k else 1e-9, estimates(0.01, 0.0, 0.0))
        for k, (one, other) in enumerate(combinations(names, 2))
    )
    compared = tuple(metric for metric in METRICS.values() if metric.is_compared)
    return Comparison(84, ("calm", HOSTILE), 0, results, tests, compared)


def learning(*models: str) -> LearningCurves:
    points = tuple(
        Point(
            model,
            size,
            {"accuracy": (0.5 + k / 10, 0.6), "log_loss": (1.5, 1.0), "unknown_label": (0, 0)},
        )
        for size in (50, 100)
        for k, model in enumerate(models)
    )
    return LearningCurves(336, 101, ("calm", HOSTILE), 2, points)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of models whose names want to run something, and one of learning curves."""
    folder = tmp_path_factory.mktemp("pages")
    made = {
        "models": comparison_overview(comparison("a.joblib", HOSTILE, "c.joblib")),
        "curves": learning_curves_overview(
            learning("multinomial", "bernoulli", "complement", "logistic", "nbsvm")
        ),
    }
    for name, overview in made.items():
        (folder / f"{name}.html").write_bytes(render(overview, subject=HOSTILE))
    return {name: folder / f"{name}.html" for name in made}


@pytest.mark.exhaustive(every=6)
@pytest.mark.parametrize("name", ["models", "curves"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_is_sound(
    visit: Any, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    """In light, and in the dark of a phone: charts have marks, all fits the screen, axe finds
    nothing serious.
    """
    shown = visit(pages[name], width=width, scheme=scheme)
    charts = shown.page.eval_on_selector_all(
        "figure[data-chart]", "all => all.map(each => each.dataset.chart)"
    )
    assert len(charts) == {"models": 4, "curves": 2}[name]
    assert all(shown.marks(chart) > 0 for chart in charts)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.leads_nowhere() == []
    assert shown.axe() == []


def test_names_are_shown_and_not_run(visit: Any, pages: dict[str, Path]) -> None:
    """Markup in the name of a model or of a source is text, in tables, sentences and charts."""
    shown = visit(pages["models"]).page
    assert HOSTILE in shown.locator("h1").inner_text()
    names = shown.locator("#numbers table").first.locator("tbody th").all_inner_texts()
    assert names == [f"{name}\nmultinomial" for name in ("a.joblib", HOSTILE, "c.joblib")]
    assert HOSTILE in shown.locator(".findings li").first.inner_text()
    assert shown.locator("img").count() == 0


def test_what_the_tests_say(visit: Any, pages: dict[str, Path]) -> None:
    """Each pair of models with its interval and McNemar's p, and the result as a sentence."""
    shown = visit(pages["models"]).page
    cells = shown.locator("#numbers table").last.locator("tbody tr").nth(1).locator("th, td")
    assert [cell.split() for cell in cells.all_inner_texts()] == [
        ["c.joblib", "minus", "a.joblib"],
        ["+0.0100", "+0.000", "…", "+0.030"],
        ["+0.0000", "-0.010", "…", "+0.020"],
        ["+0.0000", "-0.010", "…", "+0.020"],
        ["0.62"],
    ]
    sentences = shown.locator(".findings li").all_inner_texts()
    assert "a.joblib is significantly more accurate (McNemar's test, p = 1e-09)" in sentences[0]
    assert (
        "c.joblib alone is correct on 1 document, and a.joblib alone on 3: the difference is not significant"
        in sentences[1]
    )


def test_each_model_has_its_mark_in_the_legend(visit: Any, pages: dict[str, Path]) -> None:
    """Of five curves: one entry each, no two of them with the same shape and color."""
    shown = visit(pages["curves"]).page
    chart = shown.locator('figure[data-chart="learning_curve_accuracy"] svg')
    assert chart.locator(".role-legend-label text").count() == 5
    looks = chart.locator(".role-legend-symbol path").evaluate_all(
        "all => all.map(each => each.getAttribute('d') + each.getAttribute('fill'))"
    )
    assert len(set(looks)) == 5

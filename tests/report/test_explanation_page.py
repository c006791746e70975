"""The page of explanations, as a browser shows it."""

from pathlib import Path
from typing import Any

import pytest

from nbtext.documents.batch import Batch
from nbtext.features.analyzer import Locator
from nbtext.model.explanation import Explainer, Explanation
from nbtext.report.explanation import MAX_EXPLAINED_DOCUMENTS, render_explanation_page
from nbtext.report.page.rendering import write_page
from nbtext.text_classifier import TextClassifier

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)></style>&\"'"
TEXTS = [f"red sun {HOSTILE} red", "blue sea and sky, sea", "red sky", "blue sun"]
LABELS = [HOSTILE, "cold", HOSTILE, "cold"]
WORDS = [f"w{number:02}" for number in range(60)]


def explained(classifier: TextClassifier, texts: list[str], names: list[str]) -> list[Explanation]:
    return Explainer(classifier.fitted_).explain_batch(Batch(names, (texts,), [None] * len(texts)))


def written(
    path: Path, classifier: TextClassifier, explanations: list[Explanation], **options: Any
) -> Path:
    page = render_explanation_page(
        explanations, subject=HOSTILE, locate=Locator(classifier.feature_settings), **options
    )
    write_page(str(path), page)
    return path


@pytest.fixture(scope="module")
def explanations() -> tuple[TextClassifier, list[Explanation]]:
    """Of documents whose text, label and name want to run something, of one without a word, and of
    a long one.
    """
    classifier = TextClassifier(model="bernoulli").fit([*TEXTS, " ".join(WORDS)], [*LABELS, "cold"])
    texts = [*TEXTS, "!", " ".join(WORDS)]
    return classifier, explained(classifier, texts, [HOSTILE, "b", "c", "d", "empty", "long"])


@pytest.fixture(scope="module")
def page(
    explanations: tuple[TextClassifier, list[Explanation]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    classifier, found = explanations
    return written(tmp_path_factory.mktemp("page") / "why.html", classifier, found)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_is_sound(visit: Any, page: Path, width: int, scheme: str) -> None:
    """In light, and in the dark of a phone: all fits the screen, axe finds nothing serious."""
    shown = visit(page, width=width, scheme=scheme)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.leads_nowhere() == []
    assert shown.axe() == []


def test_texts_are_shown_and_not_run(visit: Any, page: Path) -> None:
    """Markup in a text, a label or a name is text, all of which is there."""
    shown = visit(page).page
    assert HOSTILE in shown.locator("h1").inner_text()
    assert shown.locator("#predictions tbody th").first.inner_text() == HOSTILE
    assert shown.locator("details.card b").first.inner_text() == HOSTILE
    assert shown.locator(".text").first.inner_text().strip() == TEXTS[0]
    assert shown.locator("img").count() == 0


def test_words_are_marked_by_what_they_say(visit: Any, page: Path) -> None:
    """`red` speaks for its label, in each place where it stands."""
    marks = visit(page).page.locator(".text").nth(2).locator("mark")
    assert {mark.inner_text(): mark.get_attribute("class") for mark in marks.all()}[
        "red"
    ].startswith("for")


def test_the_table_adds_up_to_the_score(
    visit: Any, page: Path, explanations: tuple[TextClassifier, list[Explanation]]
) -> None:
    """The words, all others together, and the other terms add up to the log-odds."""
    shown = visit(page).page
    shown.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    tables = shown.locator("table.sum")
    answered = [explanation for explanation in explanations[1] if explanation.against is not None]
    assert tables.count() == len(answered) == 6
    for table, explanation in zip(tables.all(), answered, strict=True):
        names = table.locator("tbody th").all_inner_texts()
        values = [float(data.get_attribute("value")) for data in table.locator("data").all()]
        assert sum(values[:-1]) == pytest.approx(values[-1], abs=1e-9)
        assert values[-1] == explanation.log_odds
        assert "absent words" in names
    assert "35 other words" in names  # of the last one, which has sixty


def test_a_link_opens_its_document(visit: Any, page: Path) -> None:
    """Also one that was closed."""
    shown = visit(page).page
    last = shown.locator("details.card").last
    assert last.get_attribute("open") is None
    shown.locator("#predictions tbody a").last.press("Enter")
    shown.wait_for_function("[...document.querySelectorAll('details.card')].at(-1).open")
    assert last.locator("table.sum").is_visible()


def test_so_many_features_as_asked_for(
    explanations: tuple[TextClassifier, list[Explanation]], tmp_path: Path
) -> None:
    """And not more documents than a page can show; the others are not asked for."""
    classifier, found = explanations
    text = written(tmp_path / "few.html", classifier, found, n_features=2).read_text()
    assert "58 other words" in text
    assert "Only the first" not in text
    text = written(
        tmp_path / "many.html", classifier, found[1:2] * (MAX_EXPLAINED_DOCUMENTS + 1)
    ).read_text()
    assert f"Only the first {MAX_EXPLAINED_DOCUMENTS} documents are shown." in text
    assert text.count('class="sum"') == MAX_EXPLAINED_DOCUMENTS
    assert "There are no documents." in written(tmp_path / "none.html", classifier, []).read_text()

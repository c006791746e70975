"""The page of an evaluation, as a browser shows it."""

import random
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from nbtext.documents.batch import Batch
from nbtext.evaluation.diagnosis import ErrorLog
from nbtext.evaluation.evaluator import Evaluator
from nbtext.evaluation.outcomes import PredictedBatch
from nbtext.features.analyzer import Locator
from nbtext.model.predictor import Predictor
from nbtext.report.evaluation_page import render_evaluation_page
from nbtext.report.page.rendering import write_page
from nbtext.text_classifier import TextClassifier

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)></style>&\"'"
SUBJECTS = {
    "rivers": "water boat bridge flood fish stream mill rain",
    "trains": "rail engine bridge ticket station wheel rain delay",
    HOSTILE: "script alert image style boat ticket onerror quote",
}


def documents_of(subjects: dict[str, str], n: int, seed: int) -> Batch:
    """Short texts of some words of their subject and some of all; each ends in what wants to
    run.
    """
    dice = random.Random(seed)
    every_word = " ".join(subjects.values()).split()
    labels = [label for label in subjects for _ in range(n)]
    texts = [
        " ".join(dice.choices(subjects[label].split(), k=3) + dice.choices(every_word, k=4))
        + f" {HOSTILE}"
        for label in labels
    ]
    ids = [f"{place}/{HOSTILE if place % 7 == 0 else 'letter'}" for place in range(len(labels))]
    return Batch(ids, (texts,), list(labels))


def page_of(
    folder: Path, documents: Batch, classifier: TextClassifier, *, has_model: bool = True
) -> Path:
    """The page about what a model says of some documents; or as if only its answers were known, and
    no names.
    """
    error_log = ErrorLog()
    evaluator = Evaluator()
    predictor = Predictor(classifier.fitted_)
    predictions = predictor.predict_batch(documents)
    if not has_model:
        predictions.ids = [""] * len(documents)
    columns = documents.columns if has_model else None
    error_log.record(PredictedBatch(predictions, columns), evaluator.add(predictions))
    model = classifier.model_ if has_model else None
    diagnosis = error_log.diagnose(evaluator.evaluation(), evaluator, model)
    locate = Locator(classifier.feature_settings) if has_model else None
    path = folder / "report.html"
    write_page(
        str(path),
        render_evaluation_page(
            diagnosis, subject=HOSTILE, settings={"SOURCE": HOSTILE}, locate=locate
        ),
    )
    return path


@pytest.fixture(scope="module")
def documents() -> Batch:
    return documents_of(SUBJECTS, 30, 2)


@pytest.fixture(scope="module")
def classifier() -> TextClassifier:
    learned = documents_of(SUBJECTS, 40, 1)
    return TextClassifier().fit(learned.columns[0], [str(label) for label in learned.labels])


@pytest.fixture(scope="module")
def page(
    documents: Batch, classifier: TextClassifier, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A page whose labels, texts, names of documents and subject all want to run something."""
    return page_of(tmp_path_factory.mktemp("page"), documents, classifier)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_is_sound(visit: Any, page: Path, width: int, scheme: str) -> None:
    """In light, and in the dark of a phone: charts have marks, all fits the screen, axe finds
    nothing serious.
    """
    shown = visit(page, width=width, scheme=scheme)
    names = shown.page.eval_on_selector_all(
        "figure[data-chart]", "all => all.map(each => each.dataset.chart)"
    )
    assert set(names) == {"reliability", "trade_off"}
    assert all(shown.marks(name) > 0 for name in names)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    shown.page.locator("td.wrong1, td.wrong2, td.wrong3, td.wrong4, td.wrong5").first.click()
    assert shown.leads_nowhere() == []
    assert shown.axe() == []


@pytest.fixture(scope="module")
def shown(shared_visit: Any, page: Path) -> Any:
    """The page, for tests that mind nothing of what others did to it."""
    return shared_visit(page)


def test_text_is_shown_and_not_run(shown: Any) -> None:
    """Markup in a text, a label, a document's name or a source's is text."""
    assert HOSTILE in shown.page.locator("h1").inner_text()
    assert sorted(shown.page.locator("#labels tbody th").all_inner_texts()) == sorted(SUBJECTS)
    assert HOSTILE in shown.page.locator("#mistakes .text").first.inner_text()
    assert shown.page.locator("img").count() == 0
    assert shown.page.locator("script:not([type])").count() == 3


def test_a_cell_lists_its_documents(
    shown: Any, documents: Batch, classifier: TextClassifier
) -> None:
    """A click on each cell lists 25 documents of this label with this answer, and no others."""
    expected = defaultdict(set)
    labels = sorted(SUBJECTS)
    for identity, label, answer in zip(
        documents.ids, documents.labels, classifier.predict(documents.columns[0]), strict=True
    ):
        expected[labels.index(str(label)), labels.index(answer)].add(identity)
    for label in range(3):
        for answer in range(3):
            cell = shown.page.locator(f'td[data-label="{label}"][data-predicted="{answer}"]')
            cell.click()
            listed = shown.page.locator("#cell .documents .mono").all_inner_texts()
            own = expected[label, answer]
            assert len(listed) == min(25, len(own)) and own.issuperset(listed)
            assert cell.inner_text() == (str(len(own)) if own else "")
    assert sum(map(len, expected.values())) == 90


def test_by_keyboard(visit: Any, page: Path) -> None:
    """The matrix is one stop of the Tab key; arrows go from cell to cell, and Enter lists
    documents.
    """
    shown = visit(page)
    where = "[document.activeElement.dataset.label, document.activeElement.dataset.predicted].map(Number)"
    shown.page.locator("#order").select_option("name")
    assert shown.page.locator('#matrix td[tabindex="0"]').count() == 1
    shown.page.locator('#matrix td[tabindex="0"]').focus()
    for key, place in (
        ("ArrowRight", [0, 1]),
        ("ArrowDown", [1, 1]),
        ("End", [1, 2]),
        ("ArrowRight", [1, 2]),
        ("Home", [1, 0]),
        ("ArrowUp", [0, 0]),
        ("ArrowUp", [0, 0]),
        ("ArrowDown", [1, 0]),
    ):
        shown.page.keyboard.press(key)
        assert shown.page.evaluate(where) == place
    shown.page.keyboard.press("Enter")
    number = shown.page.evaluate("document.activeElement.textContent")
    assert shown.page.locator("#cell .documents li").count() == int(number)
    shown.page.keyboard.press("Tab")
    assert shown.page.evaluate("document.activeElement.closest('#matrix')") is None


def test_a_pair_leads_to_its_cell(shown: Any) -> None:
    """The button of two labels that are confused lists the documents."""
    button = shown.page.locator("button.choose").first
    number = int(button.inner_text().split()[0])
    button.click()
    assert shown.page.locator("#cell .documents li").count() == number


def test_labels_can_be_put_in_order(shown: Any) -> None:
    """By a click on a heading, and the other way round by another one."""
    column = "[...document.querySelectorAll('table.sortable tbody tr')].map(row => parseFloat(row.cells[3].innerText))"
    recall = shown.page.evaluate(column)
    button = shown.page.get_by_role("button", name="recall")
    button.click()
    assert shown.page.evaluate(column) == sorted(recall, reverse=True)
    button.click()
    assert shown.page.evaluate(column) == sorted(recall)
    assert shown.page.locator("th[aria-sort=ascending]").inner_text().startswith("recall")


def test_colors_can_be_chosen(visit: Any, page: Path) -> None:
    """Against what the system says, charts included; it is remembered as far as the browser lets
    it.
    """
    shown = visit(page, scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    label = "document.querySelector('svg .role-axis-label text').getAttribute('fill')"
    before = shown.page.evaluate(f"[{background}, {label}]")
    shown.page.get_by_label("Colors").select_option("dark")
    shown.page.evaluate("() => page.drawn")
    after = shown.page.evaluate(f"[{background}, {label}]")
    assert before[0] != after[0] and before[1] != after[1]


def test_what_is_not_there_is_said(
    visit: Any, documents: Batch, classifier: TextClassifier, tmp_path: Path
) -> None:
    """Without probabilities, texts and names, a sentence stands in the place of each missing
    part.
    """
    shown = visit(page_of(tmp_path, documents, classifier, has_model=False))
    assert [shown.page.locator(f"#{name}").count() for name in ("mistakes", "words")] == [0, 0]
    missing = shown.page.locator("#settings li").all_inner_texts()
    assert [text.split()[0] for text in missing] == ["Names", "Words"]
    shown.page.locator("#matrix tbody td").first.click()
    assert "names are not on this page" in shown.page.locator("#cell").inner_text()
    assert shown.marks("reliability") > 0


def test_a_hundred_labels(visit: Any, tmp_path: Path) -> None:
    """The matrix fits the screen, can be zoomed until its numbers can be read, and put in order."""
    subjects = {
        f"label {number:03}": f"word{number} more{number} other{number // 2}"
        for number in range(120)
    }
    learned = documents_of(subjects, 3, 1)
    asked = documents_of(subjects, 2, 2)
    classifier = TextClassifier().fit(learned.columns[0], [str(label) for label in learned.labels])
    shown = visit(page_of(tmp_path, asked, classifier))
    size = "document.querySelector('#matrix tbody td').getBoundingClientRect().width"
    first = "document.querySelector('#matrix tbody th').innerText"
    assert shown.page.locator("#matrix tbody td").count() == 100 * 100
    assert shown.page.locator("#labels tbody tr").count() == 120
    assert shown.page.evaluate("matrix.scrollWidth <= matrix.clientWidth")
    assert shown.page.evaluate(size) <= 14
    shown.page.locator("#order").select_option("name")
    assert shown.page.evaluate(first) == "label 000"
    shown.page.locator("#order").select_option("wrong")
    right = "[...document.querySelectorAll('#matrix tbody tr')].map(row => Number(row.querySelector(own(row))?.innerText))"
    own = "row => `td[data-label='${row.children[1].dataset.label}'][data-predicted='${row.children[1].dataset.label}']`"
    found = shown.page.evaluate(f"(() => {{ const own = {own}; return {right}; }})()")
    assert found == sorted(found) and found[0] < found[-1] == 2
    for _ in range(9):
        if shown.page.locator("#larger").is_enabled():
            shown.page.locator("#larger").click()
    assert shown.page.evaluate(size) > 40
    assert "small" not in shown.page.locator("#matrix table").get_attribute("class")


def test_the_policy_allows_its_own_scripts_only(page: Path) -> None:
    """Nothing may be fetched, evaluated or sent."""
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page.read_text())
    assert policy is not None
    assert policy[1].startswith("default-src &#39;none&#39;; script-src &#39;sha256-")
    assert "unsafe" not in policy[1]

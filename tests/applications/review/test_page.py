"""The page of a review, as a browser shows it and as a person uses it."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from made_files import read_rows, write_rows

from nbtext.applications.review.findings import Finding, ReviewedDocument, ReviewResult
from nbtext.applications.review.review_page import shown_findings
from nbtext.errors import printable

MARKUP = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'"
HOSTILE = MARKUP + "\u202e\u2028\u2029\x85\x0b\x0c\x1c."
WORDS = {
    "fruit": "apple banana cherry plum peach sweet ripe juice",
    HOSTILE: "hammer nail screw drill saw bolt steel",
}


def documents() -> list[dict[str, Any]]:
    """Documents of two labels: one has a wrong label, two are equal, one is empty."""
    chance = random.Random(1)
    labels = list(WORDS)
    rows = [
        {
            "id": f"{n}/{HOSTILE}",
            "label": label,
            "text": " ".join(chance.choices(WORDS[label].split(), k=9)) + f" x{n}",
        }
        for n in range(120)
        for label in [labels[n % 2]]
    ]
    rows[8]["label"] = HOSTILE
    rows[8]["text"] = f"apple banana cherry plum juice {HOSTILE}"
    return [*rows, rows[3] | {"id": "copy"}, {"id": "empty", "label": "fruit", "text": ""}]


def write_page(nbtext: Any, folder: Path, rows: list[dict[str, Any]]) -> Path:
    """The page of a review of rows."""
    write_rows(folder / "x.jsonl", rows)
    nbtext("review x.jsonl --report page.html -o found.jsonl -q", cwd=folder).ok()
    return folder / "page.html"


@pytest.fixture(scope="module")
def page(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page whose texts, ids and labels want to run something."""
    return write_page(nbtext, tmp_path_factory.mktemp("review"), documents())


def correct(nbtext: Any, page: Path, folder: Path) -> dict[str, Any]:
    """The labels of the documents by their ids, after the decisions that were downloaded."""
    decisions = str(folder / "decisions.jsonl")
    done = nbtext(f"review x.jsonl --apply {decisions} -q", cwd=page.parent).ok()
    rows = map(json.loads, done.out.strip().split("\n"))
    return {row["id"]: row["label"] for row in rows}


def decisions_of(shown: Any, folder: Path) -> list[dict[str, Any]]:
    """The decisions that the page downloads."""
    with shown.page.expect_download() as started:
        shown.page.locator("#download").click()
    path = folder / "decisions.jsonl"
    started.value.save_as(path)
    return read_rows(path)


@pytest.mark.exhaustive(every=2)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_is_sound(visit: Any, page: Path, width: int, scheme: str) -> None:
    """In light, and in the dark of a phone: it fits the screen, links work, axe finds nothing
    serious.
    """
    shown = visit(page, width=width, scheme=scheme)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    shown.page.locator("[data-decision=remove]").first.click()
    assert shown.leads_nowhere() == []
    assert shown.axe() == []


def test_text_is_shown_and_not_run(visit: Any, page: Path) -> None:
    """Markup in a text or a label is text; characters that change the direction are escaped."""
    shown = visit(page)
    text = shown.page.locator("[data-kind=label_error] .text").first.inner_text()
    assert MARKUP in text
    assert "\\u202e" in text
    assert shown.page.locator("img").count() == 0
    assert shown.page.locator("script:not([type])").count() == 2


def test_words_speak_for_the_labels(visit: Any, page: Path) -> None:
    """In the text of a label error, words of the likely label are marked."""
    shown = visit(page)
    marked = shown.page.locator("[data-kind=label_error] .text mark.for3").all_inner_texts()
    assert set(marked) & set(WORDS["fruit"].split())


def test_decisions_are_downloaded_and_applied(
    visit: Any, nbtext: Any, page: Path, tmp_path: Path
) -> None:
    """Buttons and the list of labels decide; what is downloaded is what --apply reads."""
    shown = visit(page)
    assert decisions_of(shown, tmp_path) == []
    shown.page.locator("[data-kind=label_error] [data-decision=relabel]").first.click()
    shown.page.locator(
        "[data-kind=duplicate] .reviewed:nth-child(2) [data-decision=remove]"
    ).click()
    shown.page.locator("[data-kind=not_text] select.other").select_option(label=printable(HOSTILE))
    assert "3 of" in shown.page.locator("#progress").inner_text()
    expected = [
        {
            "id": f"8/{HOSTILE}",
            "place": "x.jsonl:9",
            "decision": "relabel",
            "label": "fruit",
        },
        {"id": "copy", "place": "x.jsonl:121", "decision": "remove"},
        {"id": "empty", "place": "x.jsonl:122", "decision": "relabel", "label": HOSTILE},
    ]
    found = decisions_of(shown, tmp_path)
    assert found == expected
    cleaned = correct(nbtext, page, tmp_path)
    assert len(cleaned) == 121
    assert (cleaned[f"8/{HOSTILE}"], cleaned["empty"]) == ("fruit", HOSTILE)


def test_keys_decide(visit: Any, page: Path, tmp_path: Path) -> None:
    """j and k go from document to document; a, r, x and u decide about it."""
    shown = visit(page)
    shown.page.locator("#kind").select_option("label_error")
    shown.page.locator("h1").click()
    shown.page.keyboard.press("j")
    shown.page.keyboard.press("r")
    (made,) = decisions_of(shown, tmp_path)
    assert (made["decision"], made["label"]) == ("relabel", "fruit")
    shown.page.locator(".reviewed[data-likely] .text").first.focus()
    shown.page.keyboard.press("x")
    assert [each["decision"] for each in decisions_of(shown, tmp_path)] == ["remove"]
    shown.page.locator(".reviewed[data-likely] .text").first.focus()
    shown.page.keyboard.press("u")
    assert decisions_of(shown, tmp_path) == []


def test_filters(visit: Any, page: Path) -> None:
    """Findings are filtered by kind, by label, and by whether they are decided."""
    shown = visit(page)
    everything = shown.page.locator(".finding:visible").count()
    shown.page.locator("#kind").select_option("duplicate")
    assert shown.page.locator(".finding:visible").count() == 1
    shown.page.locator("#open-only").check()
    for button in shown.page.locator("[data-kind=duplicate] [data-decision=keep]").all():
        button.click()
    shown.page.locator("#kind").select_option("")
    assert shown.page.locator(".finding:visible").count() == everything - 1


@pytest.fixture(scope="module")
def pairs(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of documents with several labels: one lacks a label, one has one label too many, one
    has both errors.
    """
    chance = random.Random(1)
    words = WORDS | {"sea": "wave salt boat harbor sail tide anchor shore"}
    sets = [
        [],
        ["fruit"],
        [HOSTILE],
        ["sea"],
        ["fruit", HOSTILE],
        ["fruit", "sea"],
        ["sea", HOSTILE],
    ]
    rows = []
    for n in range(210):
        labels = sets[n % len(sets)]
        text = " ".join(
            [
                *(word for label in labels for word in chance.choices(words[label].split(), k=7)),
                f"the x{n}",
            ]
        )
        rows.append({"id": f"d{n}", "label": list(labels), "text": text})
    for n, wrong in ((4, ["fruit"]), (5, ["fruit", "sea", HOSTILE]), (13, ["fruit", HOSTILE])):
        rows[n]["label"] = wrong
    return write_page(nbtext, tmp_path_factory.mktemp("pairs"), rows)


def test_labels_are_added_and_removed(visit: Any, nbtext: Any, pairs: Path, tmp_path: Path) -> None:
    """Each finding changes one label; two findings about a document add up, and a second click
    takes one back.
    """
    shown = visit(pairs)
    assert shown.axe() == []
    errors = shown.page.locator("[data-kind=label_error]")
    headings = errors.locator("h3").all_inner_texts()
    assert [sum(word in each for each in headings) for word in (": add ", ": remove ")] == [2, 2]
    marked = errors.filter(has_text="x.jsonl:5").locator(".text mark.for3").all_inner_texts()
    assert set(marked) & set(WORDS[HOSTILE].split())
    for button in errors.locator("[data-decision=relabel]").all():
        button.click()

    def decided() -> dict[str, list[str]]:
        return {each["id"]: sorted(each["label"]) for each in decisions_of(shown, tmp_path)}

    made = {
        "d4": sorted(["fruit", HOSTILE]),
        "d5": ["fruit", "sea"],
        "d13": sorted(["sea", HOSTILE]),
    }
    assert decided() == made
    card = errors.filter(has_text="x.jsonl:14").first
    card.locator("[data-decision=relabel]").click()
    assert len(decided()["d13"]) in (1, 3)
    card.locator("[data-decision=relabel]").click()
    for expected in (sorted(["fruit", "sea", HOSTILE]), made["d13"]):
        card.locator("select.other").select_option("fruit")
        assert decided()["d13"] == expected
    cleaned = correct(nbtext, pairs, tmp_path)
    assert {name: sorted(cleaned[name]) for name in made} == made


def test_the_page_shows_the_first_500_findings() -> None:
    """As the help of `nbtext review` says."""
    document = ReviewedDocument(0, "a", "x.jsonl:1", ("fruit",))
    findings = tuple(Finding("outlier", 1 - n / 1000, (document,)) for n in range(501))
    assert shown_findings(ReviewResult(501, 0, 0.0, None, findings)) == findings[:500]

"""`nbtext review` of documents with several labels: labels to add and to remove, duplicates,
corrections.
"""

import random
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows
from words_of_labels import COMMON, WORDS

Rows = list[dict[str, Any]]


def text_of(chance: random.Random, labels: list[str]) -> str:
    words = [word for label in labels for word in chance.choices(WORDS[label], k=7)]
    return " ".join([*words, *chance.choices(COMMON, k=9)])


@pytest.fixture
def rows() -> Rows:
    """Documents with two labels, one or none. Of 4, 13 and 15 a label is missing; 5, 13 and 20 have
    a wrong one.
    """
    chance = random.Random(1)
    names = list(WORDS)
    sets = [
        [],
        ["fruit"],
        ["tools"],
        ["sea"],
        ["fruit", "tools"],
        ["fruit", "sea"],
        ["sea", "tools"],
    ]
    found = [
        {"id": f"d{n}", "label": list(labels), "text": text_of(chance, labels)}
        for n in range(210)
        for labels in [sets[n % len(sets)]]
    ]
    for n, labels in ((4, ["fruit"]), (5, names), (13, ["fruit", "tools"]), (15, []), (20, names)):
        found[n]["label"] = labels
    return found


WRONG = {
    ("d4", None, "tools"),
    ("d5", "tools", None),
    ("d13", "fruit", None),
    ("d13", None, "sea"),
    ("d15", None, "fruit"),
    ("d20", "fruit", None),
}


def test_labels_to_add_and_to_remove(nbtext: Any, review: Any, rows: Rows) -> None:
    """One finding for each pair of a document and a label, most certain first; the summary
    estimates their number.
    """
    result = review(rows, "--only label_error")
    found = result.records
    pairs = [
        (each["documents"][0]["id"], each.get("label"), each.get("likely_label")) for each in found
    ]
    assert set(pairs) == WRONG
    assert len(pairs) == len(WRONG)
    certainties = [each["certainty"] for each in found]
    assert certainties == sorted(certainties, reverse=True)
    assert min(certainties) > 0.5
    assert "documents lack about" in result.err
    table = nbtext("review x.jsonl --to table -q").out
    assert "remove fruit" in table
    assert "add tools" in table


def test_clean_documents_have_no_label_error(review: Any, rows: Rows) -> None:
    clean = [row for n, row in enumerate(rows) if n not in (4, 5, 13, 15, 20)]
    result = review(clean, "--only label_error")
    assert result.out == ""
    assert "estimated share of wrong labels: 0." in result.err


def test_duplicates_with_other_sets_are_in_conflict(
    review: Any, rows: Rows, tmp_path: Path
) -> None:
    """The order of labels in a list means nothing; another set, or an empty one, is a conflict."""
    same = rows[27] | {"id": "same", "label": rows[27]["label"][::-1]}
    fewer = rows[8] | {"id": "fewer", "label": []}
    empty = {"id": "empty", "text": "", "label": ["sea", "tools"]}
    write_rows(tmp_path / "other.jsonl", [rows[30]])
    records = review([*rows, same, fewer, empty], "--against other.jsonl").records
    found = [(each["finding"], [d["id"] for d in each["documents"]]) for each in records]
    assert [
        each for each in found if each[0] not in ("label_error", "outlier", "near_duplicate")
    ] == [
        ("conflicting_duplicates", ["d8", "fewer"]),
        ("duplicate", ["d27", "same"]),
        ("leak", ["d30", "d30"]),
        ("not_text", ["empty"]),
    ]
    assert ("label_error", ["empty"]) not in found


@pytest.mark.parametrize(
    "rows",
    [[], [{"id": "a", "label": [], "text": "one"}], [{"label": ["a", "b"], "text": "three"}]],
)
def test_too_few_documents(review: Any, rows: Rows) -> None:
    assert review([*rows, {"id": "z", "label": ["a"], "text": "two"}]).out == ""

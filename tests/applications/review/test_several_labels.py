"""`nbtext review` of documents with several labels: labels to add and to remove, duplicates,
corrections.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows
from words_of_labels import COMMON, WORDS


def text_of(chance: random.Random, labels: list[str]) -> str:
    words = [word for label in labels for word in chance.choices(WORDS[label], k=7)]
    return " ".join([*words, *chance.choices(COMMON, k=9)])


@pytest.fixture
def rows() -> list[dict[str, Any]]:
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


def review(nbtext: Any, *arguments: str, cwd: Path) -> tuple[list[dict[str, Any]], str]:
    """The records of a review, and its summary."""
    result = nbtext("review", *arguments, "--to", "jsonl", cwd=cwd).ok()
    return result.records, result.err


def test_labels_to_add_and_to_remove(
    nbtext: Any, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    """One finding for each pair of a document and a label, most certain first; the summary
    estimates their number.
    """
    write_rows(tmp_path / "x.jsonl", rows)
    found, summary = review(nbtext, "x.jsonl", "--only", "label_error", cwd=tmp_path)
    pairs = [
        (each["documents"][0]["id"], each.get("label"), each.get("likely_label")) for each in found
    ]
    assert set(pairs) == WRONG
    assert len(pairs) == len(WRONG)
    certainties = [each["certainty"] for each in found]
    assert certainties == sorted(certainties, reverse=True)
    assert min(certainties) > 0.5
    assert found[0]["documents"][0]["line"] == int(found[0]["documents"][0]["id"][1:]) + 1
    assert "documents lack about" in summary
    table = nbtext("review x.jsonl --to table -q").out
    assert "remove fruit" in table
    assert "add tools" in table


def test_clean_documents_have_no_label_error(
    nbtext: Any, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    clean = [row for n, row in enumerate(rows) if n not in (4, 5, 13, 15, 20)]
    write_rows(tmp_path / "x.jsonl", clean)
    found, summary = review(nbtext, "x.jsonl", "--only", "label_error", cwd=tmp_path)
    assert found == []
    assert "estimated share of wrong labels: 0." in summary


def test_duplicates_with_other_sets_are_in_conflict(
    nbtext: Any, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    """The order of labels in a list means nothing; another set, or an empty one, is a conflict."""
    copies = [
        rows[27] | {"id": "same", "label": rows[27]["label"][::-1]},
        rows[8] | {"id": "fewer", "label": []},
        {"id": "empty", "text": "", "label": ["sea", "tools"]},
    ]
    write_rows(tmp_path / "x.jsonl", [*rows, *copies])
    write_rows(tmp_path / "other.jsonl", [rows[30]])
    found, _ = review(nbtext, "x.jsonl", "--against", "other.jsonl", cwd=tmp_path)
    by_kind: dict[str, list[list[str]]] = {}
    for each in found:
        by_kind.setdefault(each["finding"], []).append(
            [document["id"] for document in each["documents"]]
        )
    assert by_kind["conflicting_duplicates"] == [["d8", "fewer"]]
    assert by_kind["duplicate"] == [["d27", "same"]]
    assert by_kind["leak"] == [["d30", "d30"]]
    assert by_kind["not_text"] == [["empty"]]
    assert ["empty"] not in by_kind.get("label_error", [])


def test_decisions_are_lists(nbtext: Any, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    """The corrected documents have lists of labels, also where the decision is one label."""
    write_rows(tmp_path / "x.jsonl", rows)
    decisions = [
        {"id": "d4", "decision": "relabel", "label": ["fruit", "tools"]},
        {"id": "d15", "decision": "relabel", "label": "fruit"},
        {"id": "d5", "decision": "relabel", "label": []},
        {"id": "d20", "decision": "remove"},
    ]
    write_rows(tmp_path / "decisions.jsonl", decisions)
    nbtext("review x.jsonl --apply decisions.jsonl -o clean.jsonl").ok()
    cleaned = {
        row["id"]: row
        for row in map(json.loads, (tmp_path / "clean.jsonl").read_text().splitlines())
    }
    assert [cleaned[name]["label"] for name in ("d4", "d15", "d5")] == [
        ["fruit", "tools"],
        ["fruit"],
        [],
    ]
    assert len(cleaned) == len(rows) - 1
    assert cleaned["d1"] == rows[1]
    nbtext("train clean.jsonl -o m.joblib").ok()


def test_columns_of_labels(nbtext: Any, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    """A table whose labels are joined by a separator gives the same findings."""
    write_rows(tmp_path / "x.jsonl", rows)
    lines = [
        "id,label,text",
        *(f"{row['id']},{'|'.join(row['label'])},{row['text']}" for row in rows),
    ]
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    expected, _ = review(nbtext, "x.jsonl", "--only", "label_error", cwd=tmp_path)
    found, _ = review(
        nbtext, "x.csv", "--label-separator", "|", "--only", "label_error", cwd=tmp_path
    )
    names = ("certainty", "label", "likely_label")
    assert [[each.get(name) for name in names] for each in found] == [
        [each.get(name) for name in names] for each in expected
    ]


def test_threads_change_nothing(nbtext: Any, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    write_rows(tmp_path / "x.jsonl", rows)
    outputs = {nbtext(f"review x.jsonl -j {jobs} --to jsonl").out for jobs in ("1", "3")}
    assert len(outputs) == 1


@pytest.mark.parametrize(
    "rows",
    [[], [{"id": "a", "label": [], "text": "one"}], [{"label": ["a", "b"], "text": "three"}]],
)
def test_too_few_documents(nbtext: Any, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    write_rows(tmp_path / "x.jsonl", [*rows, {"id": "z", "label": ["a"], "text": "two"}])
    result = nbtext("review x.jsonl")
    assert (result.status, result.out) == (0, "")

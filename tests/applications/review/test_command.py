"""`nbtext review`: records of label errors, duplicates, leaks, outliers, and documents that are not
text.
"""

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows
from words_of_labels import COMMON, WORDS

Rows = list[dict[str, Any]]
FLIPPED = (10, 21, 32)  # documents with another label


def sentence(chance: random.Random, label: str) -> str:
    return " ".join(
        chance.choices(WORDS[label], k=chance.randint(5, 12))
        + chance.choices(COMMON, k=chance.randint(2, 12))
    )


@pytest.fixture
def rows() -> Rows:
    """200 documents of two labels, without any duplicate."""
    chance = random.Random(1)
    labels = [("fruit", "tools")[n % 2] for n in range(200)]
    return [
        {"id": f"d{n}", "text": f"{sentence(chance, label)} number{n}", "label": label}
        for n, label in enumerate(labels)
    ]


def of_kind(result: Any, kind: str) -> Rows:
    return [record for record in result.records if record["finding"] == kind]


def ids(record: dict[str, Any]) -> list[str]:
    return [document["id"] for document in record["documents"]]


def test_label_errors(review: Any, rows: Rows) -> None:
    """Flipped labels are found, with the likely label, the file and the line; the rate is
    estimated.
    """
    for n in FLIPPED:
        rows[n]["label"] = {"fruit": "tools", "tools": "fruit"}[rows[n]["label"]]
    result = review(rows)
    errors = of_kind(result, "label_error")
    assert {record["documents"][0]["id"] for record in errors} == {f"d{n}" for n in FLIPPED}
    (record,) = (each for each in errors if ids(each) == ["d21"])
    assert record["documents"] == [{"id": "d21", "place": "x.jsonl:22", "label": "fruit"}]
    assert (record["label"], record["likely_label"]) == ("fruit", "tools")
    assert 0.5 < record["certainty"] <= 1
    assert "200 documents: label_error 3" in result.err
    assert "estimated share of wrong labels: 1." in result.err


def test_near_duplicates_have_the_lowest_similarity_of_their_group(review: Any) -> None:
    """Of 20, 19 and 17 common words, the pairs have the similarities 0.95, 0.85 and 0.89."""
    words = [f"word{n}" for n in range(20)]
    rows = [{"text": " ".join(words[n:]), "label": "a"} for n in (0, 1, 3)]
    (found,) = of_kind(review(rows), "near_duplicate")
    assert (len(ids(found)), found["certainty"]) == (3, 0.85)


def test_duplicates(review: Any, rows: Rows) -> None:
    """Copies are one record for each content; with different labels they conflict; similar texts
    are near.
    """
    rows.append(rows[0] | {"id": "copy"})
    rows.append(rows[3] | {"id": "conflict", "label": "fruit"})
    rows.append(
        rows[5] | {"id": "near", "text": rows[5]["text"].replace("number5", "number5 please")}
    )
    records = review(rows)
    (copies,) = of_kind(records, "duplicate")
    assert (ids(copies), copies["certainty"]) == (["d0", "copy"], 1.0)
    (conflict,) = of_kind(records, "conflicting_duplicates")
    assert [(each["id"], each["label"]) for each in conflict["documents"]] == [
        ("d3", "tools"),
        ("conflict", "fruit"),
    ]
    (near,) = of_kind(records, "near_duplicate")
    assert ids(near) == ["d5", "near"]
    assert 0.8 <= near["certainty"] < 1


def test_leaks(review: Any, rows: Rows, tmp_path: Path) -> None:
    """Documents that are also in --against, equal or nearly so; those of the other source are
    marked.
    """
    other = [
        rows[7] | {"id": "same", "label": "unknown"},
        rows[9] | {"id": "close", "text": rows[9]["text"] + " thanks"},
        {"id": "more", "text": "nothing of the kind at all"},
    ]
    write_rows(tmp_path / "y.jsonl", other)
    leaks = of_kind(review(rows, "--against y.jsonl"), "leak")
    assert [ids(record) for record in leaks] == [["d7", "same"], ["d9", "close"]]
    assert leaks[0]["documents"][1] == {
        "id": "same",
        "place": "y.jsonl:1",
        "label": "unknown",
        "against": True,
    }
    assert leaks[0]["certainty"] == 1.0 > leaks[1]["certainty"] >= 0.8
    assert of_kind(review(rows), "leak") == []


def test_documents_that_are_not_text(nbtext: Any, rows: Rows, tmp_path: Path) -> None:
    """Empty documents, encoded data, and lines that cannot be read."""
    data = base64.encodebytes(random.Random(1).randbytes(2000)).decode()
    rows += [{"text": "", "label": "fruit"}, {"text": data, "label": "fruit"}]
    write_rows(tmp_path / "x.jsonl", rows)
    with (tmp_path / "x.jsonl").open("a") as file:
        file.write("{broken\n")
    found = of_kind(nbtext("review x.jsonl --to jsonl").ok(), "not_text")
    reasons = {record["documents"][0]["place"]: record["reason"] for record in found}
    assert (reasons["x.jsonl:201"], reasons["x.jsonl:202"]) == ("empty", "encoded data")
    assert "JSON" in reasons["x.jsonl:203"]


def test_outliers(review: Any, rows: Rows) -> None:
    """A document of foreign words is an outlier."""
    text = " ".join(f"fremd{n} wort{n}" for n in range(20))
    rows.append({"id": "foreign", "text": text, "label": "fruit"})
    found = of_kind(review(rows), "outlier")
    assert ids(found[0]) == ["foreign"]
    assert found[0]["certainty"] > 0.99


def test_most_certain_first_and_only_some_kinds(review: Any, rows: Rows, tmp_path: Path) -> None:
    """Records descend by certainty; --only selects kinds; the source is not changed."""
    rows.append(rows[0] | {"id": "copy"})
    rows[10]["label"] = "tools"
    records = review(rows).records
    before = (tmp_path / "x.jsonl").read_bytes()
    certainties = [record["certainty"] for record in records]
    assert certainties == sorted(certainties, reverse=True)
    only = review(rows, "--only duplicate --only label_error").records
    assert only == [
        record for record in records if record["finding"] in ("duplicate", "label_error")
    ]
    assert (tmp_path / "x.jsonl").read_bytes() == before


def test_formats(nbtext: Any, rows: Rows, tmp_path: Path) -> None:
    """TSV has a line for each finding; CSV has a header; the table names places and shows the
    beginning of the text, without control characters.
    """
    rows[0]["text"] = f"ripe\x1b\n{rows[0]['text']}{' plum' * 50}"
    rows += [rows[0] | {"id": "a,b\x1b[31m"}]
    write_rows(tmp_path / "x.jsonl", rows)
    lines = nbtext("review x.jsonl --only duplicate").out.splitlines()
    assert lines == ["duplicate\t1.000000\t\t\t\td0,a\\,b\x1b[31m\tx.jsonl:1,x.jsonl:201"]
    table = nbtext("review x.jsonl --only duplicate --to table").out
    assert "x.jsonl:1" in table
    assert "x.jsonl:201" in table
    assert "ripe\\x1b" in table
    assert table.count("plum") < 50
    assert "…" in table
    assert "\x1b" not in table
    (header, row) = nbtext("review x.jsonl --only duplicate --to csv").rows
    assert header == ["finding", "certainty", "label", "likely_label", "reason", "ids", "places"]
    assert row[6] == "x.jsonl:1,x.jsonl:201"


def test_threads_change_nothing(nbtext: Any, letters: Path) -> None:
    """The output is the same for any number of threads, and of the plain version of the kernel."""
    source = (str(letters / "train"), "--against", str(letters / "test"), "--to", "jsonl")
    one = nbtext("review", *source, "-j", "1").ok()
    assert nbtext("review", *source, "-j", "3").out == one.out
    assert nbtext("review", *source, "-j", "2", NBTEXT_KERNEL="off").out == one.out


def test_without_labels(review: Any, rows: Rows) -> None:
    """Documents without labels are searched for duplicates; the message says that no label was
    judged.
    """
    rows.append(rows[4] | {"id": "copy"})
    unlabeled = [{"id": row["id"], "text": row["text"]} for row in rows]
    result = review(unlabeled, "--only duplicate")
    (record,) = result.records
    assert [document["label"] for document in record["documents"]] == [None, None]
    assert "no label was judged" in result.err


def test_the_page_needs_the_texts_twice(nbtext: Any, rows: Rows, tmp_path: Path) -> None:
    """--report writes a page of the findings; standard input cannot be read again for it."""
    write_rows(tmp_path / "x.jsonl", [*rows, rows[0] | {"id": "copy"}])
    nbtext("review x.jsonl --report p.html --to jsonl").ok()
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert rows[0]["text"] in page
    assert "default-src &#39;none&#39;" in page
    lines = (tmp_path / "x.jsonl").read_bytes()
    nbtext("review - --input-format jsonl --report q.html", input=lines).refused(2, "--report")
    assert not (tmp_path / "q.html").exists()


@pytest.mark.parametrize("content", [b"", b"\n", b"text,label\n"])
def test_no_documents(nbtext: Any, content: bytes, tmp_path: Path) -> None:
    """A review of nothing is an error, as for all commands, and writes nothing."""
    (tmp_path / "x.csv").write_bytes(content)
    for source in ("-", "x.csv"):
        nbtext(f"review {source} --input-format csv -o found.jsonl", input=content).refused(
            1, "SOURCE has no documents to review"
        )
        assert not (tmp_path / "found.jsonl").exists()


def test_a_file_whose_name_ends_like_a_line(nbtext: Any, rows: Rows, tmp_path: Path) -> None:
    """A file of a directory is a whole document, whatever its name is; `--apply` finds it again."""
    for row in [*rows[:20], rows[2] | {"id": "call 10:30"}]:
        folder = tmp_path / "x" / row["label"]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / row["id"]).write_text(row["text"])
    found = nbtext("review x --only duplicate --to jsonl").ok().records
    assert [document["place"] for document in found[0]["documents"]] == [
        "x/fruit/call 10:30",
        "x/fruit/d2",
    ]
    decision = {**found[0]["documents"][0], "decision": "remove"}
    (tmp_path / "decisions.jsonl").write_text(json.dumps(decision) + "\n")
    kept = nbtext("review x --apply decisions.jsonl").ok().records
    assert "x/fruit/call 10:30" not in {record["id"] for record in kept}
    assert len(kept) == 20

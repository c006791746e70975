"""`nbtext review --apply` writes corrected documents."""

import json
from pathlib import Path
from typing import Any

import pytest
from made_files import read_cases, read_rows, write_rows

ROWS = [
    {"id": "a", "text": "red round apple", "label": "fruit"},
    {"id": "b", "text": "hammer and nail", "label": "fruit"},
    {"id": "c", "text": "long yellow banana", "label": "fruit"},
    {"id": "d", "text": "saw and drill", "label": "tools"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_rows(tmp_path / "x.jsonl", ROWS)
    return tmp_path


@pytest.fixture
def apply(nbtext: Any, folder: Path) -> Any:
    """apply(words, *decisions): run `nbtext review` with these words and these decisions."""

    def run(words: str, *decisions: dict[str, Any], **keywords: Any) -> Any:
        write_rows(folder / "d.jsonl", decisions)
        return nbtext(f"review --apply d.jsonl {words}", **keywords)

    return run


def test_applies_decisions(apply: Any, folder: Path) -> None:
    """A document gets another label, one is removed, one is kept; the source stays as it is, and
    cannot be the output.
    """
    decisions = (
        {"id": "b", "place": "x.jsonl:2", "decision": "relabel", "label": "tools"},
        {"id": "c", "decision": "remove"},
        {"id": "a", "decision": "keep"},
    )
    before = (folder / "x.jsonl").read_bytes()
    assert apply("x.jsonl -o clean.jsonl", *decisions).ok().out == ""
    cleaned = read_rows(folder / "clean.jsonl")
    assert cleaned == [ROWS[0], ROWS[1] | {"label": "tools"}, ROWS[3]]
    apply("x.jsonl -o x.jsonl", *decisions).refused(2, "is also an input")
    assert (folder / "x.jsonl").read_bytes() == before


def test_ids_and_labels_that_are_numbers(apply: Any, folder: Path) -> None:
    """They stand for their texts, as in documents: the label 2 is the label `2`."""
    write_rows(
        folder / "x.jsonl", [{"id": 7, "text": "a", "label": 1}, {"id": 8, "text": "b", "label": 2}]
    )
    decision = {"id": 7, "decision": "relabel"}
    found = apply("x.jsonl", decision | {"label": 2}).records
    assert [str(record["label"]) for record in found] == ["2", "2"]
    apply("x.jsonl", decision | {"label": float("nan")}).refused(1, "needs a label")


@pytest.mark.parametrize(
    ("line", "what"),
    read_cases("""
        {broken => is not a JSON object with the id of a document
        {"id": null, "decision": "remove"} => is not a JSON object with the id of a document
        {"id": "a", "decision": "delete"} => not one of keep, relabel, remove
        {"id": "a", "decision": "relabel"} => needs a label
        {"id": "a", "decision": "relabel", "label": [""]} => needs a label
        {"id": "a", "place": 2, "decision": "remove"} => `place` is not a string
        {"id": "zz", "decision": "remove"} => no such document
    """),
)
def test_wrong_decisions(nbtext: Any, folder: Path, line: str, what: str) -> None:
    """Each is one line that names the place, and nothing is written."""
    (folder / "decisions.jsonl").write_text(line + "\n")
    nbtext("review x.jsonl --apply decisions.jsonl -o clean.jsonl").refused(
        1, "decisions.jsonl:1: ", what
    )
    assert not (folder / "clean.jsonl").exists()


@pytest.mark.parametrize("character", list("\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\ufeff"), ids=ascii)
@pytest.mark.parametrize("is_ascii", [True, False])
def test_characters_that_end_a_line_elsewhere(
    nbtext: Any, folder: Path, character: str, is_ascii: bool
) -> None:
    """An id and a label may contain them, escaped or not; a byte order mark may come first."""
    name = f"a{character}b"
    label = f"to{character}ols"
    write_rows(folder / "x.jsonl", [ROWS[0], ROWS[1] | {"id": name}, ROWS[2]])
    made = [{"id": name, "decision": "relabel", "label": label}, {"id": "c", "decision": "remove"}]
    lines = [json.dumps(each, ensure_ascii=is_ascii) + "\n" for each in made]
    (folder / "d.jsonl").write_text("\ufeff" + "\ufeff".join(lines), encoding="utf-8", newline="")
    nbtext("review x.jsonl --apply d.jsonl -o y.jsonl").ok()
    found = [json.loads(line) for line in (folder / "y.jsonl").read_bytes().split(b"\n")[:-1]]
    assert found == [ROWS[0], ROWS[1] | {"id": name, "label": label}]


def test_decisions_about_unreadable_documents(apply: Any, folder: Path) -> None:
    """A line that cannot be read is an error, unless it is removed."""
    with (folder / "x.jsonl").open("a") as file:
        file.write("{broken\n")
    apply("x.jsonl", {"id": "a", "decision": "keep"}).refused(1, "x.jsonl:5")
    decision = {"id": "x.jsonl:5", "place": "x.jsonl:5", "decision": "remove"}
    assert len(apply("x.jsonl", decision).ok().records) == 4


@pytest.mark.parametrize(
    "options", ["--only duplicate", "--against x.jsonl", "--to csv", "-o clean.csv"]
)
def test_options_that_search(apply: Any, options: str) -> None:
    """--only and --against have no effect with --apply; the output is JSON lines."""
    apply(f"x.jsonl {options}", {"id": "a", "decision": "keep"}).refused(2)


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv", "x.parquet", "x.db", "x.mbox"])
def test_documents_with_ids_have_places(nbtext: Any, tmp_path: Path, name: str) -> None:
    """Findings and errors name the file and the line or row, also if documents have ids; and
    --apply knows them.
    """
    options = "--label-field label"
    if name == "x.mbox":
        mails = [
            "From a@b Thu Nov 21 03:37:00 2024\nSubject: red\n"
            f"Message-ID: m{n}\n{header}: y\n\nred round apple\n\n"
            for n, header in enumerate(("X-Label", "X-Label", "X"))
        ]
        (tmp_path / name).write_text("".join(mails).replace("X-Label: y", "X-Label: z", 1))
        options = "--label-field X-Label --id-field Message-ID"
    else:
        labels = ("a", "b", None)
        rows = [{"id": f"m{n}", "text": "red", "label": label} for n, label in enumerate(labels)]
        write_rows(tmp_path / name, rows)
    first = 2 if name == "x.csv" else 1
    nbtext(f"train {name} {options} -o m").refused(
        1, f"{name}:{first + 2}: the document has no label"
    )
    asked = f"review {name} {options}"
    (found,) = nbtext(f"{asked} --only conflicting_duplicates --to jsonl").ok().records
    places = [(document["id"], document["place"]) for document in found["documents"]]
    assert places == [(f"m{n}", f"{name}:{first + n}") for n in range(3)]
    write_rows(tmp_path / "d.jsonl", [found["documents"][0] | {"decision": "remove"}])
    nbtext(f"{asked} --apply d.jsonl -o kept.jsonl").ok()
    assert [row["id"] for row in read_rows(tmp_path / "kept.jsonl")] == ["m1", "m2"]


TABLE = b'id,label,text,note\r\na,fruit,"red, round",x\r\nb,fruit,"hammer\r\nand nail",\r\nc,tools,saw, y \r\n'
DECIDED = [{"id": "b", "decision": "relabel", "label": "tools"}, {"id": "a", "decision": "remove"}]


def test_a_table_stays_a_table(apply: Any, folder: Path) -> None:
    """All columns and line ends stay; -o FILE.jsonl makes objects of all columns; standard input is
    corrected, too.
    """
    (folder / "x.csv").write_bytes(TABLE)
    expected = b'id,label,text,note\r\nb,tools,"hammer\r\nand nail",\r\nc,tools,saw, y \r\n'
    apply("x.csv -o y.csv", *DECIDED).ok()
    assert (folder / "y.csv").read_bytes() == expected
    piped = apply("- --input-format csv", *DECIDED, input=TABLE)
    assert piped.out.encode() == expected
    apply("x.csv -o y.jsonl", *DECIDED).ok()
    assert read_rows(folder / "y.jsonl") == [
        {"id": "b", "label": "tools", "text": "hammer\r\nand nail", "note": ""},
        {"id": "c", "label": "tools", "text": "saw", "note": " y "},
    ]
    assert (folder / "x.csv").read_bytes() == TABLE


def test_several_sources(apply: Any, folder: Path) -> None:
    """Files with the same columns become one; other formats are refused, unless all become JSON
    lines.
    """
    (folder / "x.csv").write_bytes(TABLE)
    (folder / "z.csv").write_bytes(b"id,label,text,note\r\nd,tools,drill,\r\n")
    decision = {"id": "c", "decision": "remove"}
    found = apply("x.csv z.csv", *DECIDED, decision)
    assert found.out == 'id,label,text,note\r\nb,tools,"hammer\r\nand nail",\r\nd,tools,drill,\r\n'
    decision["place"] = "x.csv:5"
    apply("x.csv x.jsonl -o all.csv", decision).refused(
        1, "its format is not csv, the format of the first SOURCE; write JSON lines: -o FILE.jsonl"
    )
    assert not (folder / "all.csv").exists()
    apply("x.csv x.jsonl -o all.jsonl", decision).ok()
    assert len(read_rows(folder / "all.jsonl")) == 6


def test_directories_become_json_lines(apply: Any, folder: Path) -> None:
    """A directory has no rows; fastText keeps its lines."""
    (folder / "a" / "fruit").mkdir(parents=True)
    (folder / "a" / "fruit" / "1.txt").write_text("red")
    (folder / "lines.txt").write_text("__label__fruit red  apple\n__label__fruit saw\n")
    decision = {"id": "a/fruit/1.txt", "decision": "relabel", "label": "tools"}
    assert apply("a", decision).json == {"id": "a/fruit/1.txt", "text": "red", "label": "tools"}
    apply("a -o a.csv", decision).refused(2)
    found = apply("lines.txt", decision | {"id": "lines.txt:2"})
    assert found.out == "__label__fruit red  apple\n__label__tools saw\n"


FULL = [
    {"id": "a", "text": "red apple", "label": "fruit", "n": 10**17 + 1, "more": {"x": [1, None]}},
    {"id": "b", "text": "a nail", "label": "fruit", "n": 2, "more": {"x": []}},
    {"id": "c", "text": "a saw", "label": "tools", "n": None, "more": None},
]
CORRECTED = [FULL[1] | {"label": "tools"}, FULL[2]]


def test_a_json_array_keeps_its_fields(apply: Any, folder: Path) -> None:
    """It stays an array whose other items keep their characters, or becomes JSON lines of all
    fields.
    """
    (folder / "x.json").write_text(json.dumps(FULL, indent=2))
    apply("x.json -o y.json", *DECIDED).ok()
    corrected = json.dumps(CORRECTED, indent=2)
    assert (folder / "y.json").read_text() == apply("x.json", *DECIDED).out == corrected
    apply("x.json -o y.jsonl", *DECIDED).ok()
    assert read_rows(folder / "y.jsonl") == CORRECTED
    removed = [{"id": each["id"], "decision": "remove"} for each in FULL]
    assert apply("x.json", *removed).json == []


def test_a_parquet_file_keeps_its_columns_and_types(apply: Any, folder: Path) -> None:
    """It stays a file of its format with the same schema, or becomes JSON lines of all columns. The
    tests of corrections try each type of label, and the other format.
    """
    pa = pytest.importorskip("pyarrow")
    from datetime import date
    from decimal import Decimal

    from pyarrow import parquet

    table = pa.table(
        {
            "id": ["a", "b"],
            "text": pa.array(["red apple", "a nail"], pa.large_string()),
            "label": pa.array([1, 1], pa.int32()),
            "day": [date(2024, 1, 2)] * 2,
            "price": pa.array([Decimal("1.10")] * 2, pa.decimal128(9, 2)),
            "nested": [{"x": [1.5, None]}] * 2,
        }
    )
    parquet.write_table(table, "x.parquet")
    decisions = (DECIDED[0] | {"label": "2"}, DECIDED[1])
    apply("x.parquet -q -o y.parquet", *decisions).ok()
    found = parquet.read_table("y.parquet")
    assert found.schema.equals(table.schema)
    row = table.to_pylist()[1] | {"label": 2}
    assert found.to_pylist() == [row]
    apply("x.parquet -q -o y.jsonl", *decisions).ok()
    assert read_rows(folder / "y.jsonl") == [
        row | {"label": "2", "day": "2024-01-02", "price": "1.10"}
    ]
    apply("x.parquet -q -o z.parquet", DECIDED[0] | {"label": "two"}).refused(
        1, "does not fit into the column `label`, whose type is int32"
    )
    assert not (folder / "z.parquet").exists()


def test_bytes_are_not_lost(apply: Any, folder: Path) -> None:
    """JSON has no bytes, so such a column is refused."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"id": ["b"], "text": ["a nail"], "label": ["fruit"], "image": [b"\xff\0"]})
    parquet.write_table(table, folder / "x.parquet")
    apply("x.parquet -o y.jsonl", DECIDED[0]).refused(
        1, "JSON cannot hold the value of the column `image`, whose type is bytes"
    )
    assert not (folder / "y.jsonl").exists()
    apply("x.parquet -o y.parquet", DECIDED[0]).ok()
    assert parquet.read_table(folder / "y.parquet").to_pylist()[0]["image"] == b"\xff\0"


def test_a_database_becomes_json_lines_of_all_columns(apply: Any, folder: Path) -> None:
    """The file does not change."""
    rows = [each | {"n": each["n"] or 3, "more": None} for each in FULL]
    write_rows(folder / "x.db", rows)
    before = (folder / "x.db").read_bytes()
    assert apply("x.db", *DECIDED).ok().records == [rows[1] | {"label": "tools"}, rows[2]]
    assert (folder / "x.db").read_bytes() == before
    apply("x.db -o y.db", *DECIDED).refused(2, "the documents are written as jsonl")

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


@pytest.mark.parametrize("name", str.split("x.jsonl x.json x.csv x.parquet x.feather x.db x.mbox"))
def test_documents_with_ids_have_places(nbtext: Any, tmp_path: Path, name: str) -> None:
    """Findings and errors name the file and the line or row, also if documents have ids; and
    --apply knows them.
    """
    rows = [
        {"id": f"m{n}", "text": "red round apple", "label": label}
        for n, label in enumerate(["a", "b", None])
    ]
    options = ["--label-field", "label"]
    if name.endswith((".parquet", ".feather")):
        pytest.importorskip("pyarrow")
    if name == "x.mbox":
        headers = ["X-Label: a", "X-Label: b", "X: y"]
        (tmp_path / name).write_text(
            "".join(
                "From a@b Thu Nov 21 03:37:00 2024\nSubject: red\n"
                f"Message-ID: m{n}\n{header}\n\nred round apple\n\n"
                for n, header in enumerate(headers)
            )
        )
        options = ["--label-field", "X-Label", "--id-field", "Message-ID"]
    else:
        write_rows(tmp_path / name, rows)
    first = 2 if name == "x.csv" else 1
    nbtext("train", name, *options, "-o", "m").refused(
        1, f"{name}:{first + 2}: the document has no label"
    )
    asked = ("review", name, *options)
    (found,) = nbtext(*asked, "--only=conflicting_duplicates", "--to", "jsonl").ok().records
    places = [(document["id"], document["place"]) for document in found["documents"]]
    assert places == [(f"m{n}", f"{name}:{first + n}") for n in range(3)]
    write_rows(tmp_path / "d.jsonl", [found["documents"][0] | {"decision": "remove"}])
    nbtext(*asked, "--apply", "d.jsonl", "-o", "kept.jsonl").ok()
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


@pytest.mark.parametrize("codec", ["utf-8", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_blank_lines_stay(apply: Any, folder: Path, suffix: str, end: str, codec: str) -> None:
    """A row after a blank line gets the label in its own cell."""
    lines = {
        "csv": ["text,label", "", '"hello, dear",spam', "", "", '"b""c",ham', "", "d,ham", ""],
        "tsv": ["text\tlabel", "", "hello, dear\tspam", "", "", 'b"c\tham', "", "d\tham", ""],
        "jsonl": [
            "",
            '{"text": "hello, dear", "label": "spam"}',
            "",
            "",
            '{"text": "b\\"c", "label": "ham"}',
            "",
            '{"text": "d", "label": "ham"}',
            "",
        ],
    }[suffix]
    first = 2 if suffix == "jsonl" else 3  # line of the first document
    (folder / f"q.{suffix}").write_bytes("".join(line + end for line in lines).encode(codec))
    decisions = (
        {"id": f"q.{suffix}:{first}", "decision": "relabel", "label": "ham"},
        {"id": f"q.{suffix}:{first + 3}", "decision": "relabel", "label": "eggs"},
        {"id": f"q.{suffix}:{first + 5}", "decision": "remove"},
    )
    apply(f"q.{suffix} -o y.{suffix}", *decisions).ok()
    kept = [
        line.replace("ham", "eggs").replace("spam", "ham").replace("seggs", "ham") for line in lines
    ]
    del kept[-3:-1]
    assert (folder / f"y.{suffix}").read_bytes().decode(codec) == "".join(
        line + end for line in kept
    )


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


@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_array_keeps_its_fields(apply: Any, folder: Path, indent: int | None) -> None:
    """It stays an array whose other items keep their characters, or becomes JSON lines of all
    fields.
    """
    (folder / "x.json").write_text(json.dumps(FULL, indent=indent))
    apply("x.json -o y.json", *DECIDED).ok()
    corrected = json.dumps(CORRECTED, indent=indent)
    assert (folder / "y.json").read_text() == apply("x.json", *DECIDED).out == corrected
    apply("x.json -o y.jsonl", *DECIDED).ok()
    assert read_rows(folder / "y.jsonl") == CORRECTED
    removed = [{"id": each["id"], "decision": "remove"} for each in FULL]
    assert apply("x.json", *removed).json == []
    assert apply("x.json", removed[2]).json == FULL[:2]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("label_type", ["string", "dictionary", "list", "int"])
def test_a_parquet_file_keeps_its_columns_and_types(
    apply: Any, folder: Path, suffix: str, label_type: str
) -> None:
    """It stays a file of its format with the same schema, or becomes JSON lines of all columns."""
    pa = pytest.importorskip("pyarrow")
    from datetime import date
    from decimal import Decimal

    from pyarrow import feather, parquet

    types = {
        "string": pa.string(),
        "dictionary": pa.dictionary(pa.int8(), pa.string()),
        "list": pa.list_(pa.string()),
        "int": pa.int32(),
    }
    labels: dict[str, list[Any]] = {
        "list": [["fruit"], ["fruit"], ["tools", "fruit"]],
        "int": [1, 1, 2],
    }
    table = pa.table(
        {
            "id": ["a", "b", "c"],
            "text": pa.array(["red apple", "a nail", "a saw"], pa.large_string()),
            "label": pa.array(
                labels.get(label_type, ["fruit", "fruit", "tools"]), types[label_type]
            ),
            "day": pa.array([date(2024, 1, 2)] * 3),
            "price": pa.array([Decimal("1.10")] * 3, pa.decimal128(9, 2)),
            "nested": [{"x": [1.5, float("nan")]}] * 3,
        }
    )
    new = {"int": "2", "list": ["tools", "saws"]}.get(label_type, "tools")
    decisions = (DECIDED[0] | {"label": new}, DECIDED[1])
    is_parquet = suffix == ".parquet"
    (parquet.write_table if is_parquet else feather.write_feather)(table, f"x{suffix}")
    apply(f"x{suffix} -q -o y{suffix}", *decisions).ok()
    found = (parquet if is_parquet else feather).read_table(f"y{suffix}")
    assert found.schema.equals(table.schema)
    expected = table.slice(1).to_pylist()
    expected[0]["label"] = int(new) if label_type == "int" else new
    assert str(found.to_pylist()) == str(expected)
    apply(f"x{suffix} -q -o y.jsonl", *decisions).ok()
    assert read_rows(folder / "y.jsonl")[0] == {
        "id": "b",
        "text": "a nail",
        "label": new,
        "day": "2024-01-02",
        "price": "1.10",
        "nested": {"x": [1.5, None]},
    }
    if label_type == "int":
        apply(f"x{suffix} -q -o z{suffix}", DECIDED[0] | {"label": "two"}).refused(
            1, "does not fit into the column `label`, whose type is int32"
        )
        assert not (folder / f"z{suffix}").exists()


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


def test_columns_of_labels_keep_the_other_columns(apply: Any, folder: Path) -> None:
    """With a column for each label, too."""
    (folder / "x.csv").write_text("id,text,fruit,tools,note\na,red,1,0,x\nb,nail,1,0,y\n")
    decision = DECIDED[0] | {"label": ["tools"]}
    apply("x.csv --label-fields fruit,tools -o y.jsonl", decision).ok()
    assert read_rows(folder / "y.jsonl") == [
        {"id": "a", "text": "red", "fruit": "1", "tools": "0", "note": "x"},
        {"id": "b", "text": "nail", "fruit": 0, "tools": 1, "note": "y"},
    ]

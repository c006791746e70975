"""`nbtext review --apply` writes corrected documents, and `train --exclude-ids` leaves documents
out.
"""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from made_files import read_rows, write_rows

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


def test_applies_decisions(nbtext: Any, folder: Path) -> None:
    """A document gets another label, one is removed, one is kept; the source stays as it is."""
    write_rows(
        folder / "decisions.jsonl",
        [
            {"id": "b", "file": "x.jsonl", "line": 2, "decision": "relabel", "label": "tools"},
            {"id": "c", "decision": "remove"},
            {"id": "a", "decision": "keep"},
        ],
    )
    before = (folder / "x.jsonl").read_bytes()
    result = nbtext("review x.jsonl --apply decisions.jsonl -o clean.jsonl")
    assert (result.status, result.out) == (0, ""), result.err
    cleaned = read_rows(folder / "clean.jsonl")
    assert cleaned == [ROWS[0], ROWS[1] | {"label": "tools"}, ROWS[3]]
    assert (folder / "x.jsonl").read_bytes() == before


def test_ids_and_labels_that_are_numbers(nbtext: Any, folder: Path) -> None:
    """They stand for their texts, as in documents: the label 2 is the label `2`."""
    write_rows(
        folder / "x.jsonl", [{"id": 7, "text": "a", "label": 1}, {"id": 8, "text": "b", "label": 2}]
    )
    write_rows(folder / "decisions.jsonl", [{"id": 7, "decision": "relabel", "label": 2}])
    found = nbtext("review x.jsonl --apply decisions.jsonl").records
    assert [str(record["label"]) for record in found] == ["2", "2"]
    write_rows(
        folder / "decisions.jsonl", [{"id": 7, "decision": "relabel", "label": float("nan")}]
    )
    nbtext("review x.jsonl --apply decisions.jsonl").refused(1, "needs a label")


def test_never_touches_the_source(nbtext: Any, folder: Path) -> None:
    """The output cannot be the source."""
    write_rows(folder / "decisions.jsonl", [{"id": "a", "decision": "remove"}])
    nbtext("review x.jsonl --apply decisions.jsonl -o x.jsonl").refused(2, "is also an input")


def test_places_tell_equal_ids_apart(nbtext: Any, folder: Path) -> None:
    """An id that two documents have needs the file and the line."""
    write_rows(folder / "x.jsonl", [ROWS[0], ROWS[1] | {"id": "a"}])
    write_rows(folder / "decisions.jsonl", [{"id": "a", "decision": "remove"}])
    nbtext("review x.jsonl --apply decisions.jsonl").refused(
        1, "decisions.jsonl:1: several documents have this id: x.jsonl:1 and x.jsonl:2"
    )
    write_rows(
        folder / "decisions.jsonl",
        [{"id": "a", "file": "x.jsonl", "line": 2, "decision": "remove"}],
    )
    assert nbtext("review x.jsonl --apply decisions.jsonl").records == [ROWS[0]]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{broken", "is not a JSON object with the id of a document"),
        ("[1]", "is not a JSON object with the id of a document"),
        ('{"id": null, "decision": "remove"}', "is not a JSON object with the id of a document"),
        ('{"id": "a", "decision": "delete"}', "not one of keep, relabel, remove"),
        ('{"id": "a", "decision": "relabel"}', "needs a label"),
        ('{"id": "a", "decision": "relabel", "label": [""]}', "needs a label"),
        ('{"id": "a", "line": "x", "decision": "remove"}', "not a whole number"),
        ('{"id": "zz", "decision": "remove"}', "no such document"),
    ],
)
def test_wrong_decisions(nbtext: Any, folder: Path, line: str, what: str) -> None:
    """Each is one line that names the place, and nothing is written."""
    (folder / "decisions.jsonl").write_text(line + "\n")
    result = nbtext("review x.jsonl --apply decisions.jsonl -o clean.jsonl").refused(
        1, "decisions.jsonl:1: ", what
    )
    assert result.err.count("\n") == 1
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


def test_two_decisions_for_one_document(nbtext: Any, folder: Path) -> None:
    """They are an error unless they have the same result."""
    first = {"id": "a", "decision": "relabel", "label": "tools"}
    others: list[dict[str, Any]] = [
        {"label": "fruit"},
        {"decision": "keep"},
        {"label": ["tools", "fruit"]},
    ]
    for other in others:
        write_rows(folder / "d.jsonl", [first, first | other])
        nbtext("review x.jsonl --apply d.jsonl -o y.jsonl").refused(
            1, "d.jsonl:2: an earlier line has another decision for this document; keep one of them"
        )
        assert not (folder / "y.jsonl").exists()
    both = first | {"label": ["b", "a"]}
    for same in (
        [first, first, first | {"label": ["tools"]}],
        [both, first | {"label": ["a", "b"]}],
    ):
        write_rows(folder / "d.jsonl", same)
        nbtext("review x.jsonl --apply d.jsonl -o y.jsonl").ok()


def test_decisions_about_unreadable_documents(nbtext: Any, folder: Path) -> None:
    """A line that cannot be read is an error, unless it is removed."""
    with (folder / "x.jsonl").open("a") as file:
        file.write("{broken\n")
    write_rows(folder / "decisions.jsonl", [{"id": "a", "decision": "keep"}])
    nbtext("review x.jsonl --apply decisions.jsonl -o clean.jsonl").refused(1, "x.jsonl:5")
    write_rows(
        folder / "decisions.jsonl",
        [{"id": "x.jsonl:5", "file": "x.jsonl", "line": 5, "decision": "remove"}],
    )
    assert len(nbtext("review x.jsonl --apply decisions.jsonl").ok().out.splitlines()) == 4


def test_options_that_search(nbtext: Any, folder: Path) -> None:
    """--only and --against have no effect with --apply; the output is JSON lines."""
    write_rows(folder / "decisions.jsonl", [{"id": "a", "decision": "keep"}])
    for options in (
        ("--only", "duplicate"),
        ("--against", "x.jsonl"),
        ("--to", "csv"),
        ("-o", "clean.csv"),
    ):
        nbtext("review", "x.jsonl", "--apply", "decisions.jsonl", *options).refused(2)


def test_train_without_some_documents(nbtext: Any, folder: Path) -> None:
    """--exclude-ids leaves documents out, with any number of threads; the model equals that of the
    others.
    """
    write_rows(folder / "y.jsonl", [ROWS[0], ROWS[3]])
    (folder / "ids.txt").write_text("b\nc\nunknown\n")
    result = nbtext("train x.jsonl --exclude-ids ids.txt -o m.joblib").ok()
    assert "skipped 2: listed in --exclude-ids" in result.err
    assert (
        "--exclude-ids lists 3 ids, and 2 documents had one of them; the first id of the others is a\n"
        in result.err
    )
    nbtext("train y.jsonl -o n.joblib").ok()
    assert (folder / "m.joblib").read_bytes() == (folder / "n.joblib").read_bytes()
    nbtext("train m.joblib --exclude-ids ids.txt -o o.joblib").refused(
        2, "SOURCE is a model, whose documents are already counted"
    )


def test_ids_of_no_document(nbtext: Any, folder: Path) -> None:
    """If an id of --exclude-ids is that of no document, a line says so, with an id as it should be;
    else, none does.
    """
    (folder / "ids.txt").write_text("./x.jsonl\n")
    result = nbtext("train x.jsonl --exclude-ids ids.txt -o m.joblib").ok()
    assert (
        "--exclude-ids lists 1 id, and 0 documents had one of them; the first id of the others is a\n"
        in result.err
    )
    (folder / "ids.txt").write_text("b\n")
    assert "lists" not in nbtext("train x.jsonl --exclude-ids ids.txt -o m.joblib").ok().err


def test_an_excluded_document_may_be_unreadable(nbtext: Any, folder: Path) -> None:
    """A document that cannot be used does not stop the training if it is left out."""
    with (folder / "x.jsonl").open("a") as file:
        file.write('{"id": "bad", "text": "no label"}\n')
    nbtext("train x.jsonl -o m.joblib").refused(1)
    (folder / "ids.txt").write_text("bad\n")
    nbtext("train x.jsonl --exclude-ids ids.txt -o m.joblib").ok()


@pytest.mark.parametrize(
    "name", ["x.jsonl", "x.json", "x.csv", "x.parquet", "x.feather", "x.db", "x.mbox"]
)
def test_documents_with_ids_have_places(nbtext: Any, tmp_path: Path, name: str) -> None:
    """Findings and errors name the file and the line or row, also if documents have ids; and
    --apply knows them.
    """
    rows = [
        {"id": f"m{n}", "text": "red round apple", "label": label}
        for n, label in enumerate(["a", "b", None])
    ]
    options = ["--label-field", "label"]
    first = 1
    if name.endswith((".parquet", ".feather")):
        pa = pytest.importorskip("pyarrow")
        write_table = pytest.importorskip(
            "pyarrow.parquet" if name == "x.parquet" else "pyarrow.feather"
        )
        table = pa.Table.from_pylist(rows)
        (write_table.write_table if name == "x.parquet" else write_table.write_feather)(table, name)
    elif name == "x.db":
        with contextlib.closing(sqlite3.connect(name)) as database, database:
            database.execute("create table documents (id, text, label)")
            database.executemany("insert into documents values (:id, :text, :label)", rows)
    elif name == "x.mbox":
        mails = (
            f"From a@b Thu Nov 21 03:37:00 2024\nSubject: red\nMessage-ID: m{n}\nX-Label: {row['label']}"
            for n, row in enumerate(rows)
        )
        (tmp_path / name).write_text(
            "".join(f"{mail}\n\nred round apple\n\n" for mail in mails).replace(
                "X-Label: None", "X: y"
            )
        )
        options = ["--label-field", "X-Label", "--id-field", "Message-ID"]
    elif name == "x.csv":
        (tmp_path / name).write_text(
            "id,text,label\n"
            + "".join(f"{row['id']},{row['text']},{row['label'] or ''}\n" for row in rows)
        )
        first = 2
    else:
        text = (
            json.dumps(rows)
            if name == "x.json"
            else "".join(json.dumps(row) + "\n" for row in rows)
        )
        (tmp_path / name).write_text(text)
    nbtext("train", name, *options, "-o", "m").refused(
        1, f"{name}:{first + 2}: the document has no label"
    )
    (found,) = (
        nbtext("review", name, *options, "--only", "conflicting_duplicates", "--to", "jsonl")
        .ok()
        .records
    )
    places = [
        (document["id"], document["file"], document["line"]) for document in found["documents"]
    ]
    assert places == [(f"m{n}", name, first + n) for n in range(3)]
    write_rows(tmp_path / "d.jsonl", [found["documents"][0] | {"decision": "remove"}])
    kept = nbtext("review", name, *options, "--apply", "d.jsonl", "--to", "jsonl").ok().records
    assert [row["id"] for row in kept] == ["m1", "m2"]


TABLE = b'id,label,text,note\r\na,fruit,"red, round",x\r\nb,fruit,"hammer\r\nand nail",\r\nc,tools,saw, y \r\n'
DECIDED = [{"id": "b", "decision": "relabel", "label": "tools"}, {"id": "a", "decision": "remove"}]


def test_a_table_stays_a_table(nbtext: Any, folder: Path) -> None:
    """All columns and line ends stay; -o FILE.jsonl makes objects of all columns; standard input is
    corrected, too.
    """
    (folder / "x.csv").write_bytes(TABLE)
    write_rows(folder / "d.jsonl", DECIDED)
    command = ("review", "x.csv", "--apply", "d.jsonl")
    expected = b'id,label,text,note\r\nb,tools,"hammer\r\nand nail",\r\nc,tools,saw, y \r\n'
    nbtext(*command, "-o", "y.csv").ok()
    assert (folder / "y.csv").read_bytes() == expected
    assert nbtext(*command).out.encode() == expected
    piped = nbtext("review - --input-format csv --apply d.jsonl", input=TABLE)
    assert piped.out.encode() == expected
    nbtext(*command, "-o", "y.jsonl").ok()
    records = read_rows(folder / "y.jsonl")
    assert records == [
        {"id": "b", "label": "tools", "text": "hammer\r\nand nail", "note": ""},
        {"id": "c", "label": "tools", "text": "saw", "note": " y "},
    ]
    assert (folder / "x.csv").read_bytes() == TABLE


@pytest.mark.parametrize("codec", ["utf-8", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_blank_lines_stay(nbtext: Any, folder: Path, suffix: str, end: str, codec: str) -> None:
    """A row after a blank line gets the label in its own cell, in a copy and as JSON lines."""
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
    write_rows(
        folder / "d.jsonl",
        [
            {"id": f"q.{suffix}:{first}", "decision": "relabel", "label": "ham"},
            {"id": f"q.{suffix}:{first + 3}", "decision": "relabel", "label": "eggs"},
            {"id": f"q.{suffix}:{first + 5}", "decision": "remove"},
        ],
    )
    command = ("review", f"q.{suffix}", "--apply", "d.jsonl")
    nbtext(*command, "-o", f"y.{suffix}").ok()
    kept = [
        line.replace("ham", "eggs").replace("spam", "ham").replace("seggs", "ham") for line in lines
    ]
    del kept[-3:-1]
    assert (folder / f"y.{suffix}").read_bytes().decode(codec) == "".join(
        line + end for line in kept
    )
    if suffix == "jsonl":
        return
    nbtext(*command, "-o", "z.jsonl", "--to", "jsonl").ok()
    records = read_rows(folder / "z.jsonl")
    assert [(each["text"], each["label"]) for each in records] == [
        ("hello, dear", "ham"),
        ('b"c', "eggs"),
    ]


def test_several_sources(nbtext: Any, folder: Path) -> None:
    """Files with the same columns become one; other formats are refused, unless all become JSON
    lines.
    """
    (folder / "x.csv").write_bytes(TABLE)
    (folder / "z.csv").write_bytes(b"id,label,text,note\r\nd,tools,drill,\r\n")
    write_rows(folder / "d.jsonl", [*DECIDED, {"id": "c", "decision": "remove"}])
    found = nbtext("review x.csv z.csv --apply d.jsonl")
    assert found.out == 'id,label,text,note\r\nb,tools,"hammer\r\nand nail",\r\nd,tools,drill,\r\n'
    write_rows(folder / "e.jsonl", [{"id": "c", "file": "x.csv", "decision": "remove"}])
    nbtext("review x.csv x.jsonl --apply e.jsonl -o all.csv").refused(
        1, "its format is not csv, the format of the first SOURCE; write JSON lines: -o FILE.jsonl"
    )
    assert not (folder / "all.csv").exists()
    nbtext("review x.csv x.jsonl --apply e.jsonl -o all.jsonl").ok()
    assert len((folder / "all.jsonl").read_text(encoding="utf-8").splitlines()) == 6


def test_directories_become_json_lines(nbtext: Any, folder: Path) -> None:
    """A directory has no rows; fastText keeps its lines."""
    (folder / "a" / "fruit").mkdir(parents=True)
    (folder / "a" / "fruit" / "1.txt").write_text("red")
    (folder / "lines.txt").write_text("__label__fruit red  apple\n__label__fruit saw\n")
    write_rows(
        folder / "d.jsonl", [{"id": "a/fruit/1.txt", "decision": "relabel", "label": "tools"}]
    )
    found = nbtext("review a --apply d.jsonl")
    assert found.json == {"id": "a/fruit/1.txt", "text": "red", "label": "tools"}
    nbtext("review a --apply d.jsonl -o a.csv").refused(2)
    write_rows(folder / "d.jsonl", [{"id": "lines.txt:2", "decision": "relabel", "label": "tools"}])
    found = nbtext("review lines.txt --apply d.jsonl")
    assert found.out == "__label__fruit red  apple\n__label__tools saw\n"


FULL = [
    {"id": "a", "text": "red apple", "label": "fruit", "n": 10**17 + 1, "more": {"x": [1, None]}},
    {"id": "b", "text": "a nail", "label": "fruit", "n": 2, "more": {"x": []}},
    {"id": "c", "text": "a saw", "label": "tools", "n": None, "more": None},
]
CORRECTED = [FULL[1] | {"label": "tools"}, FULL[2]]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_array_keeps_its_fields(nbtext: Any, folder: Path, indent: int | None) -> None:
    """It stays an array whose other items keep their characters, or becomes JSON lines of all
    fields.
    """
    (folder / "x.json").write_text(json.dumps(FULL, indent=indent))
    write_rows(folder / "d.jsonl", DECIDED)
    command = ("review", "x.json", "--apply", "d.jsonl")
    for output in ("y.json", "-"):
        done = nbtext(*command, "-o", output).ok()
        text = done.out if output == "-" else (folder / output).read_text()
        assert text == json.dumps(CORRECTED, indent=indent)
    nbtext(*command, "-o", "y.jsonl").ok()
    assert read_rows(folder / "y.jsonl") == CORRECTED
    write_rows(folder / "d.jsonl", [{"id": each["id"], "decision": "remove"} for each in FULL])
    assert nbtext(*command).json == []
    write_rows(folder / "d.jsonl", [{"id": "c", "decision": "remove"}])
    assert nbtext(*command).json == FULL[:2]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("label_type", ["string", "dictionary", "list", "int"])
def test_a_parquet_file_keeps_its_columns_and_types(
    nbtext: Any, folder: Path, suffix: str, label_type: str
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
    write_rows(folder / "d.jsonl", [DECIDED[0] | {"label": new}, DECIDED[1]])

    def store(path: Path) -> None:
        parquet.write_table(table, path) if suffix == ".parquet" else feather.write_feather(
            table, str(path)
        )

    def load(path: Path) -> Any:
        return parquet.read_table(path) if suffix == ".parquet" else feather.read_table(str(path))

    store(folder / f"x{suffix}")
    command = ("review", f"x{suffix}", "--apply", "d.jsonl", "-q")
    nbtext(*command, "-o", f"y{suffix}").ok()
    found = load(folder / f"y{suffix}")
    assert found.schema.equals(table.schema)
    expected = table.slice(1).to_pylist()
    expected[0]["label"] = int(new) if label_type == "int" else new
    assert str(found.to_pylist()) == str(expected)
    nbtext(*command, "-o", "y.jsonl").ok()
    first = json.loads((folder / "y.jsonl").read_text().splitlines()[0])
    assert first == {
        "id": "b",
        "text": "a nail",
        "label": new,
        "day": "2024-01-02",
        "price": "1.10",
        "nested": {"x": [1.5, None]},
    }
    if label_type == "int":
        write_rows(folder / "d.jsonl", [{"id": "b", "decision": "relabel", "label": "two"}])
        nbtext(*command, "-o", f"z{suffix}").refused(
            1, "does not fit into the column `label`, whose type is int32"
        )
        assert not (folder / f"z{suffix}").exists()


def test_bytes_are_not_lost(nbtext: Any, folder: Path) -> None:
    """JSON has no bytes, so such a column is refused."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"id": ["b"], "text": ["a nail"], "label": ["fruit"], "image": [b"\xff\0"]})
    parquet.write_table(table, folder / "x.parquet")
    write_rows(folder / "d.jsonl", DECIDED[:1])
    nbtext("review x.parquet --apply d.jsonl -o y.jsonl").refused(
        1, "JSON cannot hold the value of the column `image`, whose type is bytes"
    )
    assert not (folder / "y.jsonl").exists()
    nbtext("review x.parquet --apply d.jsonl -o y.parquet").ok()
    assert parquet.read_table(folder / "y.parquet").to_pylist()[0]["image"] == b"\xff\0"


def test_a_database_becomes_json_lines_of_all_columns(nbtext: Any, folder: Path) -> None:
    """The file does not change; a column of bytes is refused."""
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(folder / "x.db")) as connection:
        connection.execute("create table t (id text, text text, label text, n integer, x real)")
        connection.executemany(
            "insert into t values (?, ?, ?, ?, ?)",
            [
                ("a", "red apple", "fruit", 1, 0.5),
                ("b", "a nail", "fruit", 10**17 + 1, None),
                ("c", "saw", "tools", 3, 2.5),
            ],
        )
        connection.commit()
    before = (folder / "x.db").read_bytes()
    write_rows(folder / "d.jsonl", DECIDED)
    command = ("review", "x.db", "--apply", "d.jsonl")
    done = nbtext(*command).ok()
    assert done.records == [
        {"id": "b", "text": "a nail", "label": "tools", "n": 10**17 + 1, "x": None},
        {"id": "c", "text": "saw", "label": "tools", "n": 3, "x": 2.5},
    ]
    assert (folder / "x.db").read_bytes() == before
    nbtext(*command, "-o", "y.db").refused(2, "the documents are written as jsonl")
    nbtext(*command, "--query", "select id, text, label, x'ff00' as image from t").refused(
        1, "JSON cannot hold the value of the column `image`"
    )


def test_columns_of_labels_keep_the_other_columns(nbtext: Any, folder: Path) -> None:
    """With a column for each label, too."""
    (folder / "x.csv").write_text("id,text,fruit,tools,note\na,red,1,0,x\nb,nail,1,0,y\n")
    write_rows(folder / "d.jsonl", [{"id": "b", "decision": "relabel", "label": ["tools"]}])
    options = ("--label-fields", "fruit,tools", "--apply", "d.jsonl")
    found = nbtext("review", "x.csv", *options, "--to", "jsonl").ok()
    assert found.records == [
        {"id": "a", "text": "red", "fruit": "1", "tools": "0", "note": "x"},
        {"id": "b", "text": "nail", "fruit": 0, "tools": 1, "note": "y"},
    ]

"""`nbtext predict --add-columns`: the rows of a source, in its format, with predictions as further
columns.
"""

import bz2
import csv
import gzip
import io
import json
import lzma
import shlex
from pathlib import Path
from typing import Any

import pytest
from made_files import read_cases

ROWS = [
    {"text": 'the bins, of "street"', "n": 1, "nested": {"a": [1.50, None]}},
    {"text": "taxes\nand fees", "n": 2},
]


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbfid;text;n\r\n7;"the bins; of ""street""";1\r\n\r\n8;taxes\r\n')
    return path


def predictions(nbtext: Any, model: str, *arguments: str, cwd: Path) -> list[dict[str, Any]]:
    return nbtext("predict", *arguments, "-m", model, "--to", "jsonl", cwd=cwd).ok().records


def test_csv(nbtext: Any, model: str, table: Path, tmp_path: Path) -> None:
    """Mark, separator, quotes, line ends and blank lines stay; a short row is filled up."""
    first, second = predictions(nbtext, model, "t.csv", cwd=tmp_path)
    result = nbtext(f"predict t.csv -m {model} --add-columns -o out.csv")
    said = "2 documents to out.csv\n"
    assert (result.status, result.out, result.err) == (0, "", said)
    assert (tmp_path / "out.csv").read_bytes().decode() == (
        '\ufeffid;text;n;label;probability\r\n7;"the bins; of ""street""";1;'
        f"{first['label']};{first['probability']:.6f}\r\n\r\n8;taxes;;{second['label']};{second['probability']:.6f}\r\n"
    )


def test_jsonl_and_json(nbtext: Any, model: str, lines: Path, tmp_path: Path) -> None:
    """Objects keep their bytes; the numbers are those of the records; standard output and input
    work as well.
    """
    found = predictions(nbtext, model, "t.jsonl", cwd=tmp_path)
    for source, given in (("t.jsonl", b""), ("-", lines.read_bytes())):
        result = nbtext(f"predict {source} -m {model} --add-columns", input=given)
        assert (result.status, result.err) == (0, "")
        for line, new, each in zip(
            lines.read_text().splitlines(), result.out.splitlines(), found, strict=True
        ):
            assert new.startswith(line[:-1] + ', "label": ')
            record = json.loads(new)
            assert (record["label"], record["probability"]) == (each["label"], each["probability"])
    (tmp_path / "t.json").write_text(json.dumps(ROWS, indent=1))
    result = nbtext(f"predict t.json -m {model} --add-columns")
    assert [list(record) for record in result.json] == [
        [*row, "label", "probability"] for row in ROWS
    ]


def test_which_columns_and_their_names(
    nbtext: Any, model: str, lines: Path, table: Path, tmp_path: Path
) -> None:
    """Columns are chosen and named; decisions add theirs."""
    ask = (
        f"-m {model} --add-columns --column-prefix nb_ --columns "
        "known,label,outlier,typicality,reason"
    )
    result = nbtext(f"predict t.jsonl {ask} --coverage 0.9 --explain 1").ok()
    found = predictions(
        nbtext, model, "t.jsonl", "--coverage", "0.9", "--explain", "1", cwd=tmp_path
    )
    for line, each in zip(result.out.splitlines(), found, strict=True):
        record = json.loads(line)
        names = ("known", "label", "outlier", "typicality", "reason", "labels", "explanation")
        assert {name: record[f"nb_{name}"] for name in names} == {
            name: each.get(name) for name in names
        }
    result = nbtext(f"predict t.csv {ask} --min-probability 1")
    rows = list(csv.DictReader(io.StringIO(result.out[1:]), delimiter=";"))
    assert (
        rows[0]["nb_label"] == ""
        and "below 1" in rows[0]["nb_reason"]
        and rows[0]["nb_outlier"] in ("true", "false")
    )


def test_documents_that_cannot_be_read(nbtext: Any, model: str, tmp_path: Path) -> None:
    """A row without its text stays, without a label; the reason is a column, and is counted on
    standard error.
    """
    (tmp_path / "t.csv").write_text("id,text\n1,bins\n2\n")
    result = nbtext(f"predict t.csv -m {model} --add-columns --columns label,reason")
    last = result.out.splitlines()[-1]
    assert last.startswith('2,,,"t.csv:3: expected 2 comma-separated columns, found 1')
    assert result.err.startswith("1 document could not be read")


@pytest.mark.parametrize(
    ("suffix", "opened"), [(".gz", gzip.open), (".bz2", bz2.open), (".xz", lzma.open)]
)
def test_compressed(
    nbtext: Any, model: str, table: Path, tmp_path: Path, suffix: str, opened: Any
) -> None:
    """A compressed source is read; an output is compressed if its name says so, without a time in
    it.
    """
    with opened(tmp_path / f"t.csv{suffix}", "wb") as file:
        file.write(table.read_bytes())
    plain = nbtext(f"predict t.csv -m {model} --add-columns").out
    result = nbtext(f"predict t.csv{suffix} -m {model} --add-columns -q -o o.csv{suffix}")
    assert (result.status, result.err) == (0, "")
    with opened(tmp_path / f"o.csv{suffix}", "rb") as file:
        assert file.read().decode() == plain
    before = (tmp_path / f"o.csv{suffix}").read_bytes()
    nbtext(f"predict t.csv -m {model} --add-columns -q -o o.csv{suffix}")
    assert (tmp_path / f"o.csv{suffix}").read_bytes() == before


REFUSED = read_cases("""
    2 => t.csv --columns label,score => --columns: unknown column 'score'; choose from label, probability
    2 => t.csv --columns '' => '' contains no name; separate several names with commas
    2 => t.csv --columns label,label => --columns: name each column once
    2 => t.csv -o out.md => -o: the rows are written as csv, the format of SOURCE; out.md says .md
    2 => t.csv --columns label --column-prefix '' -o t.csv => t.csv is also an input
    1 => labeled.csv => labeled.csv:1: there is a column `label` already; --column-prefix predicted_
    1 => broken.csv -o out.csv => broken.csv:3: a quote that is opened in this row is never closed
    1 => plain.txt => plain.txt: columns can be added only to jsonl, json, csv
    1 => folder => folder: columns can be added only to jsonl, json, csv
    1 => t.csv t.jsonl -o out => t.jsonl: its format is jsonl, and that of t.csv is csv; write
""")


@pytest.mark.usefixtures("lines")
@pytest.mark.parametrize(("status", "arguments", "message"), REFUSED)
def test_refused(
    nbtext: Any,
    model: str,
    table: Path,
    tmp_path: Path,
    status: str,
    arguments: str,
    message: str,
) -> None:
    """What cannot be done is one line, and nothing is written."""
    (tmp_path / "labeled.csv").write_text("text,label\nbins,a\n")
    (tmp_path / "broken.csv").write_text('text,n\nbins,1\n"taxes,2\n')
    (tmp_path / "plain.txt").write_text("bins\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("bins")
    before = table.read_bytes()
    words = shlex.split(arguments)
    nbtext("predict", *words, "-m", model, "--add-columns").refused(int(status), message)
    assert not list(tmp_path.glob("out*")) and table.read_bytes() == before


def test_nothing_to_read(nbtext: Any, model: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("text,n\n")
    (tmp_path / "t.jsonl").write_text("")
    result = nbtext(f"predict t.csv -m {model} --add-columns")
    assert (result.status, result.out) == (0, "text,n,label,probability\n")
    result = nbtext(f"predict t.jsonl -m {model} --add-columns")
    assert (result.status, result.out) == (0, "")

"""`nbtext predict --score`, `--keep`, `--rejected` and `--summary`, in every format."""

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from made_files import read_cases, write_rows

TEXTS = ["the bins of my street", "taxes and fees", "a hole in the road", "bins", "?", "noise"]
SUFFIXES = [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".feather", ".db"]


@pytest.fixture
def records(nbtext: Any, model: str, tmp_path: Path) -> list[dict[str, Any]]:
    """What jsonl says of the documents; one of them cannot be read."""
    lines = [json.dumps({"text": text}) for text in [*TEXTS, None]]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    found: list[dict[str, Any]] = nbtext(f"predict t.jsonl -m {model} --to jsonl").records
    return found


def read_back(nbtext: Any, path: Path) -> list[dict[str, Any]]:
    """Read the rows of a file of any format."""
    match path.suffix:
        case ".jsonl":
            return [json.loads(line) for line in path.read_text().splitlines()]
        case ".json":
            found: list[dict[str, Any]] = json.loads(path.read_text())
            return found
        case ".parquet":
            from pyarrow.parquet import read_table

            return list(read_table(path).to_pylist())
        case ".feather":
            from pyarrow.feather import read_table

            return list(read_table(path).to_pylist())
        case ".db":
            import sqlite3

            connection = sqlite3.connect(path)
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute("select * from predictions")]
    delimiter = "\t" if path.suffix == ".tsv" else ","
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def number(value: Any) -> float | None:
    return None if value in ("", None) else float(value)


def test_scores_in_records(nbtext: Any, model: str, records: list[dict[str, Any]]) -> None:
    """They are those of `scores`, in columns after all others; a document that cannot be read has
    none.
    """
    expected = [
        [each["scores"] and each["scores"][label] for label in ("trash", "taxes")]
        for each in records
    ]
    assert expected[-1] == [None, None]
    ask = f"predict t.jsonl -m {model} --score trash --score taxes=p"
    for output_format, options in (("jsonl", ""), ("json", "--top-k 1")):
        out = nbtext(f"{ask} --to {output_format} {options}").out
        found = json.loads(out if output_format == "json" else f"[{','.join(out.splitlines())}]")
        assert [[each["trash"], each["p"]] for each in found] == expected
        assert [list(each)[-2:] for each in found] == [["trash", "p"]] * len(records)
    header, *rows = csv.reader(io.StringIO(nbtext(f"{ask} --to csv --top-k 2").out))
    assert header[-2:] == ["trash", "p"]
    lines = [line.split("\t") for line in nbtext(f"{ask} --to tsv").out.splitlines()]
    table = nbtext(f"{ask} --to markdown").out.splitlines()
    assert table[0] == "| id | label | probability | trash | p |"
    cells = [line[2:-2].split(" | ") for line in table[2:]]
    for shown in (rows, lines, cells):
        for row, each in zip(shown, expected, strict=True):
            assert [number(cell) for cell in row[-2:]] == [
                value if value is None else pytest.approx(value, abs=1e-6) for value in each
            ]
    assert f"trash {expected[0][0]:.1%}, p " in nbtext(f"{ask} --to table").out


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_that_are_kept(
    nbtext: Any, model: str, records: list[dict[str, Any]], tmp_path: Path, suffix: str
) -> None:
    """Each row is in one of two files, in its order, as it was read, with the same columns."""
    write_rows(tmp_path / f"s{suffix}", [{"text": text, "n": n} for n, text in enumerate(TEXTS)])
    query = ["--query", "select * from t"] if suffix == ".db" else []
    ran = nbtext(
        *f"predict s{suffix} -m {model} --add-columns --score trash=p -o kept{suffix}".split(),
        *("--keep", "trash >= 0.5", "--rejected", f"others{suffix}", *query),
    )
    is_kept = [each["scores"]["trash"] >= 0.5 for each in records[:-1]]
    assert 0 < sum(is_kept) < len(is_kept)
    said = f"kept {sum(is_kept)} of {len(is_kept)} documents; {is_kept.count(False)} written to"
    assert f"{said} others{suffix}\n" in ran.err
    for name, is_own in (("kept", True), ("others", False)):
        rows = read_back(nbtext, tmp_path / f"{name}{suffix}")
        own = [n for n, each in enumerate(is_kept) if each is is_own]
        assert [(int(row["n"]), row["text"]) for row in rows] == [(n, TEXTS[n]) for n in own]
        assert [row["label"] for row in rows] == [records[n]["label"] for n in own]
        for row, n in zip(rows, own, strict=True):
            assert number(row["p"]) == pytest.approx(records[n]["scores"]["trash"], abs=1e-6)


def test_records_that_are_kept(
    nbtext: Any, model: str, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    """The two outputs have the lines that one has without --keep; what cannot be read is
    rejected.
    """
    whole = nbtext(f"predict t.jsonl -m {model} --to jsonl").out.splitlines()
    for operator, bound in ((">=", 0.5), (">", 0.999), ("<", 0.01), ("<=", 1)):
        is_kept = [
            each["scores"] is not None
            and (
                each["scores"]["trash"] >= bound
                if ">" in operator
                else each["scores"]["trash"] <= bound
            )
            for each in records
        ]
        ask = f"predict t.jsonl -m {model} --to jsonl --keep trash{operator}{bound}"
        ran = nbtext(f"{ask} --rejected others.jsonl")
        kept = [line for line, each in zip(whole, is_kept, strict=True) if each]
        assert ran.out.splitlines() == kept
        assert sorted([*kept, *(tmp_path / "others.jsonl").read_text().splitlines()]) == sorted(
            whole
        )
        alone = nbtext(ask)
        assert alone.out.splitlines() == kept
        assert f"{len(whole) - len(kept)} left out" in alone.err


def test_a_failure_of_one_output_leaves_neither(nbtext: Any, model: str, tmp_path: Path) -> None:
    """The outputs are written completely or not at all, together."""
    (tmp_path / "t.csv").write_text("text\nbins\ntaxes\n")
    (tmp_path / "others.db").write_text("no database, but a text")
    ran = nbtext(
        *f"predict t.csv -m {model} --add-columns --keep trash>=0.5 -o kept.csv".split(),
        *("--rejected", "others.csv/"),
    )
    assert ran.status != 0
    assert "others.csv/" in ran.err
    assert not (tmp_path / "kept.csv").exists()


@pytest.mark.parametrize("output_format", str.split("tsv csv jsonl json markdown table"))
def test_a_summary(
    nbtext: Any, model: str, records: list[dict[str, Any]], output_format: str
) -> None:
    """It has the number of documents of each label, and of those without one."""
    counts = Counter(each["label"] for each in records)
    out = nbtext(f"predict t.jsonl -m {model} --summary --to {output_format}").out
    if output_format in ("jsonl", "json"):
        rows = json.loads(out if output_format == "json" else f"[{','.join(out.splitlines())}]")
        found = {each["label"]: each["documents"] for each in rows}
        assert sum(each["share"] for each in rows) == pytest.approx(1)
    else:
        lines = [line.replace("|", " ").split() for line in out.replace(",", " ").splitlines()]
        found = {
            cells[0] if len(cells) == 3 else None: int(cells[-2])
            for cells in lines
            if len(cells) > 1 and cells[-2].isdigit()
        }
    assert {label: n for label, n in found.items() if n} == counts
    assert len(found) == 7


@pytest.mark.parametrize(
    ("options", "part"),
    read_cases("""
        --score trsh => --score: the model has no label 'trsh'; did you mean trash?
        --score trash=id => --score: there is a column id already; name the column
        --score trash=known => there is a column known already
        --score trash=p --score taxes=p => --score: two columns have the name p
        --score trash --to header => cannot be combined with --to header
        --score trash=text --add-columns => there is a column `text` already
        --score trash=label --add-columns => there is a column label already
        --keep trsh>=0.5 => --keep: the model has no label 'trsh'; did you mean trash?
        --keep trash=0.5 => 'trash=0.5' is not LABEL>=P
        --keep trash>=2 => is not LABEL>=P, with a probability P from 0 to 1
        --rejected x.tsv => --rejected: needs --keep
        --keep trash>=0.5 --to tsv --rejected x.csv => --rejected: the format is tsv
        --summary --add-columns => cannot be combined with
    """),
)
def test_what_has_no_meaning(
    nbtext: Any, model: str, tmp_path: Path, options: str, part: str
) -> None:
    (tmp_path / "t.csv").write_text("text,n\nbins,1\n")
    ran = nbtext(f"predict t.csv -m {model} {options}")
    assert ran.status in (1, 2)
    assert part in ran.err


@pytest.mark.parametrize("source", [".csv", ".jsonl", ".parquet", ".db"])
@pytest.mark.parametrize("form", str.split(".csv .tsv .jsonl .json .parquet .arrow"))
def test_rows_in_another_format(
    nbtext: Any, model: str, tmp_path: Path, source: str, form: str
) -> None:
    """All values and the columns that are added arrive, by --to or by the suffix; nbtext reads the
    file again.
    """
    texts = ['the "bins",\tof\nmy street', "taxes", ""]
    write_rows(tmp_path / f"s{source}", [{"text": text, "n": n} for n, text in enumerate(texts)])
    query = ["--query", "select * from t"] if source == ".db" else []
    ask = [f"s{source}", *f"-m {model} --add-columns --score trash=p".split(), *query]
    nbtext("predict", *ask, "-o", f"o{form}").ok()
    scores = [
        each["scores"]["trash"]
        for each in nbtext("predict", f"s{source}", "-m", model, "--to", "jsonl", *query).records
    ]
    suffix = ".feather" if form == ".arrow" else form
    rows = read_back(nbtext, (tmp_path / f"o{form}").rename(tmp_path / f"again{suffix}"))
    assert [row["text"] for row in rows] == texts
    assert [int(row["n"]) for row in rows] == [0, 1, 2]
    assert [number(row["p"]) for row in rows] == pytest.approx(scores, abs=1e-6)
    assert list(rows[0]) == ["text", "n", "label", "probability", "p"]
    again = nbtext(f"predict again{suffix} -m {model} --to jsonl").records
    assert [each["scores"]["trash"] for each in again] == pytest.approx(scores)
    if form not in (".parquet", ".arrow", source):
        piped = nbtext("predict", *ask, "--to", form[1:]).out
        assert piped == (tmp_path / f"again{suffix}").read_text()


@pytest.mark.parametrize(
    ("content", "name", "options", "part"),
    [
        ("text\nbins\n", "t.csv", "--to table", "--to: rows of SOURCE cannot be written as table"),
        ("text\nbins\n", "t.csv", "--to jsonl -o x.csv", "the rows are written as jsonl; x.csv"),
        ("text,label\nbins,a\n", "t.csv", "--to jsonl", "there is a column `label` already"),
        ("text\nbins,more\n", "t.csv", "--to jsonl", "t.csv:2: "),
        (
            "spam\tbins and\nham\tlunch\n",
            "t.tsv",
            "--text-field 2 --to jsonl",
            "its columns have no names",
        ),
        ('{"text": "bins"}\n{"text": \n', "t.jsonl", "--to csv", "t.jsonl:2: broken JSON"),
        (
            '{"text": "bins", "a": 1}\n{"text": "bins", "a": "x"}\n',
            "t.jsonl",
            "-o x.parquet",
            "the values of `a` are of several types",
        ),
    ],
)
def test_rows_that_another_format_cannot_hold(
    nbtext: Any, model: str, tmp_path: Path, content: str, name: str, options: str, part: str
) -> None:
    """One line says where and why, and nothing is written."""
    (tmp_path / name).write_text(content)
    ran = nbtext(f"predict {name} -m {model} --add-columns {options}")
    assert ran.status in (1, 2)
    assert part in ran.err
    assert not (tmp_path / "x.csv").exists() and not (tmp_path / "x.parquet").exists()


def test_a_directory_of_tables(nbtext: Any, model: str, tmp_path: Path) -> None:
    """Each table is written under its name, as by itself; what is there stays, so that a run can be
    continued.
    """
    (tmp_path / "in" / "sub").mkdir(parents=True)
    tables = ["a.csv", "c.jsonl", "sub/b.tsv"]
    for name in tables:
        write_rows(tmp_path / "in" / name, [{"text": text} for text in TEXTS[:3]])
    ask = f"-m {model} --add-columns --score trash=p"
    ran = nbtext(f"predict in {ask} -o out/").ok()
    assert "wrote 3 files to out/" in ran.err
    for name in tables:
        alone = nbtext(f"predict in/{name} {ask}").out
        assert (tmp_path / "out" / name).read_text() == alone
    (tmp_path / "out" / "a.csv").write_text("of somebody else")
    (tmp_path / "out" / "c.jsonl").unlink()
    again = nbtext(f"predict in {ask} -o out").ok()
    assert "wrote 1 file to out; left 2 that were there" in again.err
    assert (tmp_path / "out" / "a.csv").read_text() == "of somebody else"
    assert (tmp_path / "out" / "c.jsonl").read_text() == nbtext(f"predict in/c.jsonl {ask}").out
    nbtext(f"predict in {ask} --to csv -o others/").ok()
    found = sorted(
        str(path.relative_to(tmp_path / "others")) for path in (tmp_path / "others").rglob("*.*")
    )
    assert found == ["a.csv", "c.csv", "sub/b.csv"]
    assert nbtext(f"predict in {ask} -o in/out/").status == 2
    write_rows(tmp_path / "in" / "a.jsonl", [{"text": "bins"}])
    ran = nbtext(f"predict in {ask} --to csv -o more/")
    assert (ran.status, "would both be written to more/a.csv" in ran.err) == (2, True)
    assert not (tmp_path / "more").exists()

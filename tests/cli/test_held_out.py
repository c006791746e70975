"""`evaluate --folds N --held-out FILE`: what each document was predicted to be by a model that did
not see it.
"""

import csv
import gzip
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

WORDS = {"fruit": "apple pear plum cherry ripe sweet", "tool": "hammer saw drill steel iron bolt"}
COLUMNS = ["id", "label", "probability", "true_label", "fold"]


def write_documents(folder: Path, separator: str = "") -> None:
    """Write documents with one label, or with one or two; some have another text, or are hard."""
    rows = [["id", "text", "label", "author", "year"]]
    for number in range(60):
        label = ("fruit", "tool")[number % 2]
        words = WORDS["tool" if number % 10 == 0 else label].split()
        text = " ".join((*words[number % 5 :], f"n{number % 7}"))
        labels = f"{label}{separator}sold" if separator and number % 3 == 0 else label
        rows.append(
            [
                f"=d{number}" if number == 7 else f"d{number}",
                text,
                labels,
                f"a{number % 4}",
                str(2000 + number),
            ]
        )
    with (folder / "d.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def read_table(path: str) -> list[dict[str, Any]]:
    """Return the rows by the names of the columns, in any format."""
    content = Path(path).read_bytes()
    text = (gzip.decompress(content) if path.endswith(".gz") else content).decode()
    name = path.removesuffix(".gz")
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    if name.endswith(".json"):
        return list(json.loads(text))
    if name.endswith(".md"):
        lines = [
            [cell.strip().replace("\\", "") for cell in line.strip("|").split("|")]
            for line in text.splitlines()
        ]
        return [dict(zip(lines[0], line, strict=True)) for line in lines[2:]]
    return list(
        csv.DictReader(
            io.StringIO(text, newline=""), delimiter="\t" if name.endswith(".tsv") else ","
        )
    )


def test_every_format(nbtext: Any, tmp_path: Path) -> None:
    """The rows are in the order of the documents, and count the metrics; -o is as without the
    option.
    """
    write_documents(tmp_path)
    plain = nbtext("evaluate d.csv --folds 3 --to json").ok()
    found = {}
    probabilities = {}
    for name in ("h.csv", "h.tsv", "h.md", "h.jsonl", "h.json", "h.csv.gz", "h"):
        for jobs in ("1", "3"):
            done = nbtext(f"evaluate d.csv --folds 3 --to json --held-out {name} -j {jobs}").ok()
            assert done.out == plain.out
            rows = read_table("h.tsv" if name == "h" else name)
            found[name, jobs] = [
                [str(row[column]) for column in COLUMNS if column != "probability"] for row in rows
            ]
            probabilities[name, jobs] = [float(row["probability"]) for row in rows]
    rows = found["h.csv", "1"]
    first = probabilities["h.csv", "1"]
    assert all(each == rows for each in found.values())
    assert all(each == pytest.approx(first, abs=1e-6) for each in probabilities.values())
    assert [row[0] for row in rows] == [f"{'=' * (n == 7)}d{n}" for n in range(60)]
    assert plain.json["accuracy"] == sum(label == true for _, label, true, _ in rows) / 60 < 1
    assert sorted(Counter(row[3] for row in rows)) == ["1", "2", "3"]
    assert list(read_table("h.csv")[0]) == COLUMNS
    for name in ("h.jsonl", "h.json"):
        again = nbtext(f"evaluate d.csv --predictions {name} --to json").ok().json
        assert again["accuracy"] == plain.json["accuracy"]
        assert again["log_loss"] == pytest.approx(plain.json["log_loss"], abs=1e-5)


def test_each_way_to_split_and_to_train(nbtext: Any, tmp_path: Path) -> None:
    """A group is in one fold; of a time-series split, the earliest part is not held out; a search
    has rows, too.
    """
    write_documents(tmp_path)
    for options, n_rows, n_folds in (
        ("--group-field author", 60, 4),
        ("--order-field year --folds 4", 48, 4),
        ("--folds 2 --model best", 60, 2),
        ("--folds 2 --model combined", 60, 2),
        ("--folds 2 --min-probability 0.9", 60, 2),
    ):
        plain = nbtext("evaluate", "d.csv", *options.split(), "--to", "json").ok()
        done = nbtext(
            "evaluate", "d.csv", *options.split(), "--to", "json", "--held-out", "h.csv"
        ).ok()
        assert done.out == plain.out
        rows = read_table("h.csv")
        assert (len(rows), len({row["fold"] for row in rows})) == (n_rows, n_folds)
        assert (
            sum(row["label"] == row["true_label"] for row in rows) / n_rows
            == plain.json["accuracy"]
        )
        if "author" in options:
            by_group = {(int(row["id"].strip("=d")) % 4, row["fold"]) for row in rows}
            assert len(by_group) == 4
        if "year" in options:
            assert [row["fold"] for row in rows] == sorted(row["fold"] for row in rows)
            assert rows[0]["id"] == "d12"
    piped = nbtext(
        "evaluate - --input-format csv --folds 2 --model combined --held-out p.csv",
        input=(tmp_path / "d.csv").read_bytes(),
    ).ok()
    assert piped.status == 0
    assert [row["id"] for row in read_table("p.csv")] == [
        f"{'=' * (n == 7)}d{n}" for n in range(60)
    ]


def test_several_labels(nbtext: Any, tmp_path: Path) -> None:
    """Labels, probabilities and true labels are joined in tables, and lists in JSON."""
    write_documents(tmp_path, ";")
    command = ["evaluate", "d.csv", "--label-separator", ";", "--folds", "2"]
    plain = nbtext(*command, "--to", "json").ok()
    for name in ("h.csv", "h.jsonl"):
        nbtext(*command, "--held-out", name).ok()
    rows = read_table("h.csv")
    records = read_table("h.jsonl")
    assert list(rows[0]) == ["id", "labels", "probabilities", "true_labels", "fold"]
    assert [row["true_labels"].split(";") for row in rows] == [
        record["true_labels"] for record in records
    ]
    assert rows[0]["true_labels"] == "fruit;sold"
    exact = sum(set(record["labels"]) == set(record["true_labels"]) for record in records) / 60
    assert exact == plain.json["subset_accuracy"]
    again = nbtext(*command[:4], "--predictions", "h.jsonl", "--to", "json").ok().json
    assert again["micro_f1"] == plain.json["micro_f1"]


def test_spreadsheet_safe(nbtext: Any, tmp_path: Path) -> None:
    """It is for the file that is CSV."""
    write_documents(tmp_path)
    command = ["evaluate", "d.csv", "--folds", "2", "--spreadsheet-safe"]
    nbtext(*command, "--held-out", "h.csv", "-o", "r.tsv").ok()
    assert read_table("h.csv")[7]["id"] == "'=d7"
    nbtext(*command, "--held-out", "h.tsv", "-o", "r.csv").ok()
    assert read_table("h.tsv")[7]["id"] == "=d7"
    nbtext(*command, "--held-out", "h.tsv", "-o", "r.tsv").refused(2, "--spreadsheet-safe")


def test_what_is_refused(nbtext: Any, model: str, tmp_path: Path) -> None:
    write_documents(tmp_path)
    nbtext(f"evaluate d.csv -m {model} --held-out h.csv").refused(2, "--held-out: needs --folds or")
    for name, message in (
        ("-", "name a file"),
        ("h.parquet", "cannot have this format"),
        ("absent/h.csv", "cannot be written"),
        ("d.csv", "is also an input"),
    ):
        assert nbtext(f"evaluate d.csv --folds 2 --held-out {name}").refused(
            1 if "absent" in name else 2, message
        )
    gate = ["--fail-under", "log_loss=0"]
    assert nbtext("evaluate", "d.csv", "--folds", "2", "--held-out", "h.csv", *gate).status == 3
    assert not (tmp_path / "h.csv").exists()

"""`evaluate --folds N --held-out FILE`: what each document was predicted to be by a model that did
not see it.
"""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

WORDS = {"fruit": "apple pear plum cherry ripe sweet", "tool": "hammer saw drill steel iron bolt"}
IDS = [f"{'=' * (n == 7)}d{n}" for n in range(60)]


@pytest.fixture(autouse=True)
def documents(tmp_path: Path) -> None:
    """Documents with one label, or with one or two; some have another text, or are hard."""
    rows = [["id", "text", "label", "labels", "author", "year"]]
    for number, identity in enumerate(IDS):
        label = ("fruit", "tool")[number % 2]
        words = WORDS["tool" if number % 10 == 0 else label].split()
        text = " ".join((*words[number % 5 :], f"n{number % 7}"))
        labels = f"{label};sold" if number % 3 == 0 else label
        rows.append([identity, text, label, labels, f"a{number % 4}", str(2000 + number)])
    with (tmp_path / "d.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def read_rows(nbtext: Any, *options: str, **facts: Any) -> tuple[list[dict[str, str]], Any]:
    """Return the rows of --held-out, and the result, which is as without the option."""
    command = ("evaluate", "d.csv", *options, "--to", "json")
    plain = nbtext(*command).ok()
    assert nbtext(*command, "--held-out", "h.csv", **facts).ok().out == plain.out
    with open("h.csv", newline="") as file:
        return list(csv.DictReader(file)), plain.json


def test_rows(nbtext: Any) -> None:
    """They are in the order of the documents, the same for any number of threads, and count the
    metrics, also if they are read back.
    """
    rows, result = read_rows(nbtext, "--folds", "3", "-j", "1")
    assert rows == read_rows(nbtext, "--folds", "3", "-j", "3")[0]
    assert list(rows[0]) == ["id", "label", "probability", "true_label", "fold", "excerpt"]
    assert [row["id"] for row in rows] == IDS
    assert sorted(Counter(row["fold"] for row in rows)) == ["1", "2", "3"]
    again = nbtext("evaluate d.csv --predictions h.csv --to json").ok().json
    assert again["accuracy"] == result["accuracy"] < 1
    assert again["log_loss"] == pytest.approx(result["log_loss"], abs=1e-5)


@pytest.mark.parametrize(
    ("options", "n_rows", "n_folds"),
    [
        ("--group-field author", 60, 4),
        ("--order-field year --folds 4", 48, 4),
        ("--folds 2 --model best", 60, 2),
        ("--folds 2 --model combined", 60, 2),
        ("--folds 2 --min-probability 0.9", 60, 2),
    ],
)
def test_each_way_to_split_and_to_train(
    nbtext: Any, options: str, n_rows: int, n_folds: int
) -> None:
    """A group is in one fold; of a time-series split, the earliest part is not held out; a search
    has rows, too.
    """
    rows, result = read_rows(nbtext, *options.split())
    assert (len(rows), len({row["fold"] for row in rows})) == (n_rows, n_folds)
    n_correct = sum(row["label"] == row["true_label"] for row in rows)
    assert n_correct / n_rows == result["accuracy"]
    if "author" in options:
        assert len({(int(row["id"].strip("=d")) % 4, row["fold"]) for row in rows}) == 4
    if "year" in options:
        assert [row["fold"] for row in rows] == sorted(row["fold"] for row in rows)
        assert rows[0]["id"] == "d12"


def test_a_pipe(nbtext: Any, tmp_path: Path) -> None:
    """It is read once, also where the text is counted again."""
    command = "evaluate - --input-format csv --folds 2 --model combined --held-out h.csv"
    nbtext(command, input=(tmp_path / "d.csv").read_bytes()).ok()
    assert [row.partition(",")[0] for row in Path("h.csv").read_text().splitlines()[1:]] == IDS


def test_several_labels(nbtext: Any) -> None:
    """Labels, probabilities and true labels are joined."""
    several = ("--label-field", "labels", "--label-separator", ";")
    rows, result = read_rows(nbtext, *several, "--folds", "2")
    assert list(rows[0]) == ["id", "labels", "probabilities", "true_labels", "fold", "excerpt"]
    assert rows[0]["true_labels"] == "fruit;sold"
    exact = sum(set(row["labels"].split(";")) == set(row["true_labels"].split(";")) for row in rows)
    assert exact / 60 == result["subset_accuracy"]


@pytest.mark.parametrize("options", ["", "--model best"])
def test_the_beginning_of_the_text(nbtext: Any, tmp_path: Path, options: str) -> None:
    """On one line and without control characters."""
    texts = [f"{['red', 'blue'][n % 2]}\nw{n} \x1b[1m{'long ' * 100 * (n == 3)}" for n in range(12)]
    rows = [{"text": text, "label": "ab"[n % 2]} for n, text in enumerate(texts)]
    write_rows(tmp_path / "t.csv", rows)
    nbtext(f"evaluate t.csv --folds 2 --held-out h.csv {options}").ok()
    with (tmp_path / "h.csv").open(newline="") as file:
        shown = [row["excerpt"] for row in csv.DictReader(file)]
    assert shown[:2] == ["red w0 \\x1b[1m", "blue w1 \\x1b[1m"]
    assert shown[3].endswith("long…") and len(shown[3]) == 110


def test_a_matrix_has_no_text(nbtext: Any, tmp_path: Path) -> None:
    nbtext("vectorize d.csv -o t.npz").ok()
    nbtext("evaluate t.npz --folds 2 --held-out h.csv").ok()
    lines = (tmp_path / "h.csv").read_text().splitlines()[1:]
    assert all(line.endswith(",(a row of a matrix)") for line in lines)


def test_spreadsheet_safe(nbtext: Any, tmp_path: Path) -> None:
    """It is for the files that are CSV."""
    command = "evaluate d.csv --folds 2 --spreadsheet-safe -o"
    nbtext(f"{command} r.tsv --held-out h.csv").ok()
    assert "\n'=d7," in (tmp_path / "h.csv").read_text()
    nbtext(f"{command} r.tsv").refused(2, "--spreadsheet-safe")


def test_what_is_refused(nbtext: Any, model: str, tmp_path: Path) -> None:
    nbtext(f"evaluate d.csv -m {model} --held-out h.csv").refused(2, "--held-out: needs --folds or")
    for name, status, message in (
        ("-", 2, "name a file"),
        ("h.jsonl", 2, "cannot have this format"),
        ("absent/h.csv", 1, "cannot be written"),
        ("d.csv", 2, "is also an input"),
    ):
        nbtext(f"evaluate d.csv --folds 2 --held-out {name}").refused(status, message)
    gate = ["--fail-under", "log_loss=0"]
    assert nbtext("evaluate", "d.csv", "--folds", "2", "--held-out", "h.csv", *gate).status == 3
    assert not (tmp_path / "h.csv").exists()

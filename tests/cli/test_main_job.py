"""The four main commands as a user types them."""

import csv
from itertools import islice
from pathlib import Path
from typing import Any

import joblib
import pytest
from made_files import read_header, write_rows


def test_train_says_what_it_found(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """Training writes the model, and one summary line to standard error; nothing goes to standard
    output.
    """
    result = nbtext(f"train {letters}/train -o model.joblib")
    assert (result.status, result.out) == (0, "")
    assert result.err.startswith("complement: 336 documents, 6 labels, ")
    assert "leave-one-out" in result.err
    (letter,) = islice((letters / "test" / "streets").iterdir(), 1)
    found = joblib.load(tmp_path / "model.joblib").predict([letter.read_text()])
    line = nbtext(f"predict {letter} -m model.joblib").out
    assert found.tolist() == [line.split("\t")[1]]


def test_train_says_what_its_figures_are_of(nbtext: Any, letters: Path) -> None:
    """If leave-one-out scores few documents, or there is one label, the summary states it."""
    result = nbtext(f"train {letters}/train --keep-sample 20 -o m")
    assert result.err.endswith(" (leave-one-out of 20 documents)\n")
    result = nbtext("train - -o m", input=b'{"text": "one word", "label": "x"}\n')
    assert result.err.startswith("multinomial: 1 document, 1 label, 2 features; smoothing 1; ")
    assert result.err.endswith("; there is only one label, which is predicted for every document\n")


def test_through_a_pipe(nbtext: Any, forker: Any, letters: Path, tmp_path: Path) -> None:
    """Without -o the model goes to standard output, the same bytes as to a file."""
    nbtext(f"train {letters}/train -o model.joblib").ok()
    piped = forker().run(["train", str(letters / "train")])
    assert piped.stdout == (tmp_path / "model.joblib").read_bytes()


def test_predict_gives_one_record_for_each_document_in_order(
    nbtext: Any, letters: Path, model: str
) -> None:
    """Over a directory: sorted paths as typed, a label and a probability each."""
    rows = [
        line.split("\t") for line in nbtext(f"predict {letters}/test -m {model}").out.splitlines()
    ]
    expected = sorted(letters.glob("test/*/*.txt"), key=lambda path: path.parts)
    assert [Path(row[0]) for row in rows] == expected
    assert all(0 < float(row[2]) <= 1 for row in rows)
    right = sum(Path(row[0]).parent.name == row[1] for row in rows)
    assert right / len(rows) > 0.8


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_predict_lines(nbtext: Any, model: str, end: bytes) -> None:
    """Lines from standard input, with and without a last line end; an empty line gets its record
    too.
    """
    result = nbtext(
        f"predict - -m {model} --to jsonl",
        input=b"my trash was not collected\n\nparking fine" + end,
    )
    records = result.records
    assert [record["id"] for record in records] == ["1", "2", "3"]
    assert records[0]["label"] == "trash"
    assert (records[1]["label"], records[1]["known"]) == ("noise", 0)
    assert records[2]["label"] == "parking"
    assert sum(records[0]["scores"].values()) == pytest.approx(1, abs=1e-4)


def test_evaluate_a_model(nbtext: Any, letters: Path, model: str) -> None:
    """As JSON: the figures of DESIGN, and a confusion matrix that adds up to the documents."""
    record = nbtext(f"evaluate {letters}/test -m {model} --to json").json
    assert record["documents"] == 84
    assert sum(map(sum, record["confusion_matrix"])) == 84
    assert (
        record["accuracy"] == sum(row[k] for k, row in enumerate(record["confusion_matrix"])) / 84
    )
    assert record["labels"] == ["noise", "parking", "permits", "streets", "taxes", "trash"]


def test_fail_under(nbtext: Any, letters: Path, model: str) -> None:
    """A threshold that is met gives status 0. One that is missed gives the same result, one line,
    and status 3.
    """
    nbtext(f"evaluate {letters}/test -m {model} --fail-under accuracy=0.5,macro_f1=0.5").ok()
    missed = nbtext(f"evaluate {letters}/test -m {model} --fail-under accuracy=0.999")
    assert missed.status == 3
    assert missed.err.count("\n") == 1
    assert "below 0.999" in missed.err
    assert "accuracy\t" in missed.out


def test_fail_under_names_any_label(nbtext: Any, tmp_path: Path) -> None:
    r"""A label may contain `,`, typed as `\,`, and `:`, `=` and `\`, typed as they are; so may the
    name of a column.
    """
    rows = [("red", "a,b"), ("blue", "c:d=e"), ("green", "f\\g")]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("title, long", "label"), *rows * 3])
    nbtext("train", "t.csv", "--text-field", r"title\, long", "-q", "-o", "m").ok()
    thresholds = r"recall:a\,b=0.9,precision:c:d=e=0.9,f1:f\g=0.9,accuracy=1"
    nbtext(f"evaluate t.csv -m m --fail-under {thresholds}").ok()
    rows[0] = ("blue", "a,b")
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("title, long", "label"), *rows * 3])
    missed = nbtext(f"evaluate t.csv -m m --fail-under {thresholds}")
    assert (missed.status, missed.err.splitlines()[-1]) == (
        3,
        "nbtext: recall:a,b is 0.0000, below 0.9; precision:c:d=e is 0.5000, below 0.9; accuracy is 0.6667, below 1",
    )
    nbtext("evaluate t.csv -m m --fail-under recall:a,b=0.9").refused(
        2, r"write \, for a comma in a label"
    )
    missing = nbtext("evaluate", "t.csv", "-m", "m", "--fail-under", r"recall:a\,=0.9").err
    assert r"there is no label a,; did you mean recall:a\,b?" in missing


def test_evaluate_folds(nbtext: Any, letters: Path) -> None:
    """Ten folds, without a model: near to what the test half says, and the same for any number of
    jobs.
    """
    outs = {nbtext(f"evaluate {letters}/train --folds 10 -j {jobs}").out for jobs in ("1", "3")}
    assert len(outs) == 1
    figures = dict(line.split("\t")[:2] for line in outs.pop().splitlines())
    assert figures["documents"] == "336"
    assert float(figures["accuracy"]) > 0.85


def test_the_same_bytes(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """A model does not depend on jobs, hash seed, locale, time zone or kernel.

    Of the input format it only records what a document was.
    """
    rows = [
        {"label": path.parent.name, "text": path.read_text(encoding="utf-8")}
        for path in sorted(letters.glob("train/*/*.txt"))
    ]
    write_rows(tmp_path / "letters.jsonl", rows[::-1])
    write_rows(tmp_path / "letters.csv", rows)
    tokyo = {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "tr_TR.UTF-8"}
    found = []
    for source, jobs, environment in (
        ("letters.jsonl", 2, {}),
        ("letters.csv", 2, {}),
        (letters / "train", 1, {}),
        (letters / "train", 2, tokyo),
        (letters / "train", 7, {"NBTEXT_KERNEL": "off", "LC_ALL": "C"}),
    ):
        nbtext(f"train {source} -j {jobs} -o m.joblib", **environment).ok()
        header = read_header(tmp_path / "m.joblib") | {"checksum": ""}
        unit = header.pop("input")["unit"]
        found.append((unit, header, (tmp_path / "m.joblib").read_bytes()))
    assert [unit for unit, _, _ in found] == ["row"] * 2 + ["file"] * 3
    assert all(header == found[0][1] for _, header, _ in found)
    assert len({model for _, _, model in found}) == 2

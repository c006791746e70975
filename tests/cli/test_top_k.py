"""`nbtext predict --top-k K`: the K most probable labels, in every output format."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

K = 3


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Documents, of which one has no token and one cannot be read."""
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"text": "the bins of my street"}\n{"text": "taxes"}\n{"text": "?"}\n{"text": null}\n'
    )
    return path


@pytest.fixture
def best(nbtext: Any, model: str, texts: Path) -> list[list[tuple[str, float]]]:
    """The labels of each document by decreasing probability, from the records with all labels."""
    records = nbtext(f"predict {texts} -m {model} --to jsonl").records
    return [
        sorted((each["scores"] or {}).items(), key=lambda pair: -pair[1])[:K] for each in records
    ]


def test_every_format(
    nbtext: Any, model: str, texts: Path, best: list[list[tuple[str, float]]]
) -> None:
    """JSON has them in `scores`, the most probable first; tables have two columns for each."""

    def predict(form: str) -> str:
        return str(nbtext(f"predict {texts} -m {model} --top-k {K} --to {form}").ok().out)

    lines = [json.loads(line) for line in predict("jsonl").splitlines()]
    assert [list((each["scores"] or {}).items()) for each in lines] == best
    assert json.loads(predict("json")) == lines
    header, *rows = csv.reader(io.StringIO(predict("csv")))
    assert header[3:] == [
        "label_1",
        "probability_1",
        "label_2",
        "probability_2",
        "label_3",
        "probability_3",
    ]
    assert [row[3::2] for row in rows] == [[name for name, _ in each] or [""] * 3 for each in best]
    for row, each in zip(rows, best, strict=True):
        assert [float(share) for share in row[4::2] if share] == pytest.approx(
            [share for _, share in each], abs=1e-6
        )
    assert [line.split("\t") for line in predict("tsv").splitlines()] == rows
    assert predict("markdown").splitlines()[2].count("|") == 10
    for line, each in zip(predict("table").splitlines(), best, strict=True):
        shown = ", ".join(f"{name} {share:.1%}" for name, share in each)
        assert (f"{{{shown}}}" in line) if each else "{" not in line


def test_more_than_there_are_labels(nbtext: Any, model: str, texts: Path) -> None:
    """Columns without a label stay empty, so that their number is what was asked for."""
    rows = nbtext(f"predict {texts} -m {model} --top-k 8 --to csv").rows
    assert {len(row) for row in rows} == {3 + 16}
    assert rows[1][-4:] == [""] * 4 and rows[1][-5] != ""

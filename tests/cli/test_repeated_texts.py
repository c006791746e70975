"""Texts that repeat by nature: what `train` and `evaluate --folds` say of them."""

import csv
from pathlib import Path
from typing import Any

from made_texts import three_texts


def write(path: Path, texts: list[str], labels: list[Any]) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(texts, labels, strict=True)])
    return path.name


def test_commands(nbtext: Any, tmp_path: Path) -> None:
    """`train` says that copies were left out together, and gives both estimates, with the digits of
    what three texts tell; `evaluate --folds` says that they are in one fold.
    """
    source = write(tmp_path / "t.csv", *three_texts(1))
    trained = nbtext(f"train {source} -o m.joblib")
    assert "1,497 duplicates left out together); accuracy 0.18 for new texts, 0.6" in trained.err
    assert " if texts repeat as they do here" in trained.err
    record = nbtext(f"evaluate {source} --folds 10 --to json").json
    assert record["duplicates"] == 1497
    assert record["accuracy"] < 0.4
    table = nbtext(f"evaluate {source} --folds 10 --to table").out
    assert "1,497 of them repeat another text; equal texts are in one fold" in table
    rows = dict(
        line.split("\t")[:2] for line in nbtext(f"evaluate {source} --folds 10").out.splitlines()
    )
    assert rows["duplicates"] == "1497"

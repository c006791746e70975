"""Texts that repeat by nature: what `train` and `evaluate --folds` say of them, and the option
--duplicates.
"""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.errors import SettingsError

THREE = {
    "refund of my card payment": (0.7, 0.2, 0.1),
    "card payment declined": (0.15, 0.7, 0.15),
    "where is my new card": (0.2, 0.3, 0.5),
}


def three_texts(seed: int, n: int = 1500) -> tuple[list[str], list[str]]:
    """Three texts, each with labels of its own shares."""
    random = np.random.default_rng(seed)
    texts = random.choice(list(THREE), n).tolist()
    return texts, [
        str(random.choice(["refund", "declined", "delivery"], p=THREE[text])) for text in texts
    ]


def write(path: Path, texts: list[str], labels: list[Any]) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(texts, labels, strict=True)])
    return path.name


def test_commands(nbtext: Any, tmp_path: Path) -> None:
    """`train` and `evaluate --folds` say that copies were left out together, and give both
    estimates.
    """
    source = write(tmp_path / "t.csv", *three_texts(1))
    trained = nbtext("train", source, "-o", "m.joblib")
    assert "1,497 duplicates left out together); accuracy 0.1827 for new texts, 0.6" in trained.err
    separate = nbtext("train", source, "-o", "s.joblib", "--duplicates", "separate")
    assert "1,497 duplicates left out one by one); accuracy 0.1" in separate.err
    for options, own in (([], "together"), (["--duplicates", "separate"], "separate")):
        record = nbtext("evaluate", source, "--folds", "10", *options, "--to", "json").json
        repeated = record["repeated"]
        assert (repeated["documents"], repeated["duplicates"], repeated["metric"]) == (
            1497,
            own,
            "accuracy",
        )
        assert repeated[own] == pytest.approx(record["accuracy"])
        assert repeated["together"] < 0.4
        assert repeated["separate"] > 0.6
    table = nbtext("evaluate", source, "--folds", "10", "--to", "table").out
    assert "1,497 of them repeat another text; equal texts are in one fold" in table
    assert "for new texts, 0.6" in table
    rows = dict(
        line.split("\t")[:2]
        for line in nbtext("evaluate", source, "--folds", "10").out.splitlines()
    )
    assert rows["duplicates"] == "1497"
    assert float(rows["accuracy_if_repeated"]) > 0.6 > float(rows["accuracy_for_new_texts"])


def test_folds_by_a_search_and_of_several_labels(nbtext: Any, tmp_path: Path) -> None:
    """A search for each fold takes the setting; with several labels, the estimates are of micro
    F1.
    """
    texts, labels = three_texts(6, 120)
    source = write(tmp_path / "t.csv", texts, labels)
    options = ["--folds", "3", "--model", "best", "--budget", "1s", "--to", "json", "-q"]
    found = [
        nbtext("evaluate", source, *options, "--duplicates", how).json
        for how in ("together", "separate")
    ]
    assert [each["repeated"]["duplicates"] for each in found] == ["together", "separate"]
    assert found[0]["accuracy"] < found[1]["accuracy"]
    lines = [
        json.dumps({"text": text, "label": [label, "card"]})
        for text, label in zip(texts, labels, strict=True)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    record = nbtext("evaluate", "t.jsonl", "--folds", "5", "--to", "json").json
    assert record["repeated"]["metric"] == "micro_f1"
    assert record["repeated"]["together"] == pytest.approx(record["micro_f1"])


def test_what_cannot_be_combined(nbtext: Any, tmp_path: Path) -> None:
    """One line says why, and nothing is written."""
    source = write(tmp_path / "t.csv", *three_texts(1, 60))
    with pytest.raises(SettingsError, match="unknown value"):
        TextClassifier(duplicates="apart")
    nbtext("train", source, "-o", "m.joblib").ok()
    refitted = nbtext("train", "m.joblib", "--duplicates", "separate", "-o", "n.joblib")
    assert refitted.status != 0
    assert "--duplicates: needs retained documents, and the model has none" in refitted.err
    (tmp_path / "words.csv").write_text("refund,refund\ndeclined,declined\n")
    arguments = (
        "train",
        source,
        "--keywords",
        "words.csv",
        "--duplicates",
        "separate",
        "-o",
        "n.joblib",
    )
    found = nbtext(*arguments)
    assert found.status != 0
    assert "cannot be combined with --keywords" in found.err
    assert not (tmp_path / "n.joblib").exists()

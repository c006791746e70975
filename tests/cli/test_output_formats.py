"""The output formats of all commands follow the same conventions."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

COMMANDS = {
    "predict": ("predict", "TEST", "-m", "MODEL"),
    "evaluate": ("evaluate", "TEST", "-m", "MODEL"),
    "inspect": ("inspect", "MODEL", "--features", "2"),
    "explain": ("explain", "TEST", "-m", "MODEL", "--features", "2"),
    "compare": ("compare", "TEST", "-m", "MODEL", "-m", "MODEL"),
    "learning curves": ("compare", "TRAIN", "--models", "multinomial", "--sizes", "50", "--seeds", "1"),
    "diff": ("diff", "MODEL", "MODEL"),
    "sample": ("sample", "-m", "MODEL", "-n", "2"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_line_ends_and_headers(nbtext: Any, letters: Path, model: str, command: str) -> None:
    r"""Lines end with \n. CSV has a header line; TSV has the same rows without it, all of the same width.

    `sample` writes documents for `train`, which takes the names of columns from a header line of TSV too.
    """
    words = {"MODEL": model, "TEST": str(letters / "test" / "trash"), "TRAIN": str(letters / "train")}
    if command in ("evaluate", "compare"):
        words["TEST"] = str(letters / "test")
    asked = [words.get(word, word) for word in COMMANDS[command]]
    table, tabs = (nbtext(*asked, "--to", name) for name in ("csv", "tsv"))
    assert (table.status, tabs.status) == (0, 0), table.err + tabs.err
    assert "\r" not in table.out + tabs.out
    header, *rows = csv.reader(io.StringIO(table.out, newline=""))
    lines = tabs.out.splitlines()[command == "sample" :]
    assert len(lines) == len(rows) > 0
    assert {len(row) for row in rows} == {line.count("\t") + 1 for line in lines} == {len(header)}


def test_evaluate_has_the_same_figures_in_csv(nbtext: Any, letters: Path, model: str) -> None:
    """The summary and the precision, recall and F1 of each label are in every format."""
    asked = ("evaluate", str(letters / "test"), "-m", model, "--to")
    record = nbtext(*asked, "json").json
    rows = list(csv.DictReader(io.StringIO(nbtext(*asked, "csv").out)))
    found = {(row["metric"], row["label"]): float(row["value"]) for row in rows}
    for name in ("accuracy", "macro_f1", "log_loss"):
        assert found[name, ""] == pytest.approx(record[name], abs=1e-6)
    for score in record["per_label"]:
        for name in ("precision", "recall", "f1", "support"):
            assert found[name, score["label"]] == pytest.approx(score[name], abs=1e-6)


def test_scores_of_many_labels_sum_to_one(nbtext: Any, tmp_path: Path) -> None:
    """3,000 labels: rounding adds up to less than 1e-6."""
    lines = (json.dumps({"text": f"word{k} common", "label": f"label{k}"}) + "\n" for k in range(3000))
    (tmp_path / "many.jsonl").write_text("".join(lines))
    nbtext("train", "many.jsonl", "-o", "m", "-q").ok()
    found = nbtext("predict", "-", "-m", "m", "--to", "jsonl", input=b"word7 common\ncommon\n")
    for line in found.out.splitlines():
        assert abs(sum(json.loads(line)["scores"].values()) - 1) <= 1e-6

"""`train --model best`, as a user types it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def few(letters: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every second of the letters to three departments: with more, the same is tried."""
    folder = tmp_path_factory.mktemp("few")
    for half in ("train", "test"):
        for label in ("noise", "parking", "taxes"):
            (folder / half / label).mkdir(parents=True)
            for path in sorted((letters / half / label).iterdir())[::2]:
                (folder / half / label / path.name).symlink_to(path)
    return folder


def test_the_model_that_was_found_is_trained(nbtext: Any, few: Path, tmp_path: Path) -> None:
    """The table of what was tried goes to standard error; the model is as good as it says, and the same again."""
    for file, jobs in (("a", "1"), ("b", "2")):
        trained = nbtext(
            "train", str(few / "train"), "-o", file, "--model", "best", "--budget", "10m", "-j", jobs, cwd=tmp_path
        )
        assert trained.status == 0, trained.err
        assert trained.out == ""
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert "tried " in trained.err
    assert "estimated by 5-fold cross-validation\n" in trained.err
    rows = [re.split(r"\s{2,}", line.strip()) for line in trained.err.splitlines() if line[:1] == " "][2:]
    marked = [row for row in rows if len(row) == 4]
    assert len(marked) == 1
    best = max(rows, key=lambda row: (float(row[1]), -float(row[2])))
    assert [float(figure) for figure in marked[0][1:3]] == [float(figure) for figure in best[1:3]]
    assert "nbsvm" in trained.err
    found = nbtext("evaluate", str(few / "test"), "-m", "a", "--to", "json", cwd=tmp_path)
    assert json.loads(found.out)["accuracy"] > 0.9


def test_a_budget_of_0_tries_one_candidate(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """With a budget of 0 one candidate is tried, and the table reports how many were not."""
    said = nbtext("train", str(letters / "train"), "-o", str(tmp_path / "m"), "--model", "best", "--budget", "0s").err
    assert "tried 1 model on 336 documents; no time for 18 more (--budget)" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["-"],
            "nbtext: --model: best reads the texts several times, which standard input and a matrix do not allow; "
            "give files or directories",
        ),
        (
            ["x.jsonl", "--budget", "soon"],
            "nbtext: Invalid value for '--budget': 'soon' is not a time; write 30s or 5m",
        ),
        (["x.jsonl", "--budget", "-3s"], "nbtext: --budget: -3.0 is not a time; write 30s or 5m"),
    ],
)
def test_what_cannot_be_searched(nbtext: Any, tmp_path: Path, arguments: list[str], says: str) -> None:
    """One line each."""
    (tmp_path / "x.jsonl").write_text('{"text": "red", "label": "apple"}\n')
    result = nbtext("train", *arguments, "--model", "best", "-o", "m", input=b"", cwd=tmp_path)
    assert result.status == 2
    assert result.err.startswith(says)

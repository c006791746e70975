"""Models that TextClassifier fitted to a matrix, and the commands, which have texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtext import TextClassifier


@pytest.mark.parametrize(
    "command",
    ["predict t.csv -m m.joblib", "explain t.csv -m m.joblib", "evaluate t.csv -m m.joblib",
     "prevalence t.csv -m m.joblib", "update m.joblib t.csv -o u.joblib", "forget m.joblib t.csv -o u.joblib"],
)  # fmt: skip
def test_texts_are_refused(nbtext: Any, tmp_path: Path, command: str) -> None:
    """In one line; nothing is written."""
    TextClassifier().fit(np.array([[1, 0], [0, 2], [3, 0]]), ["a", "b", "a"]).save(tmp_path / "m.joblib")
    (tmp_path / "t.csv").write_text("text,label\nred,a\n")
    result = nbtext(*command.split(), cwd=tmp_path)
    assert (result.status, result.out, result.err.count("\n")) == (1, "", 1)
    assert "the model was trained on the columns of a matrix, not on words" in result.err
    assert not (tmp_path / "u.joblib").exists()


def test_what_needs_no_text_works(nbtext: Any, tmp_path: Path) -> None:
    """The columns are named by their numbers."""
    TextClassifier().fit(np.array([[1, 0], [0, 2], [3, 0]]), ["a", "b", "a"]).save(tmp_path / "m.joblib")
    assert nbtext("inspect", "m.joblib", cwd=tmp_path).status == 0
    assert nbtext("merge", "m.joblib", "m.joblib", "-o", "n.joblib", cwd=tmp_path).status == 0
    assert nbtext("diff", "m.joblib", "n.joblib", cwd=tmp_path).status == 0

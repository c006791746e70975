"""`nbtext diff` as a user types it."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_two_models(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """The result has sizes, settings, and features whose log-odds changed; it is the same without the kernel."""
    halves = [str(letters / half) for half in ("train", "test")]
    assert nbtext("train", *halves, "--ngrams", "1,2", "-q", "-o", "b.joblib", cwd=tmp_path).status == 0
    result = nbtext("diff", model, "b.joblib", "--features", "2", cwd=tmp_path)
    assert (result.status, result.err) == (0, "")
    assert "size\t\tdocuments\t336\t420\n" in result.out
    assert "setting\t\tngrams\t–\t1,2\n" in result.out
    assert sum(line.startswith("log-odds\t") for line in result.out.splitlines()) == 12
    assert nbtext("diff", model, "b.joblib", "--features", "2", cwd=tmp_path, NBTEXT_KERNEL="off").out == result.out
    assert "in both" in nbtext("diff", model, "b.joblib", "--to", "table", cwd=tmp_path).out

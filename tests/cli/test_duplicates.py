"""The training summary counts duplicates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LINES = "red round apple\tapple\ngreen round\tapple\nlong yellow\tbanana\nlong green ripe\tbanana\n"


def test_the_summary_says_how_many_there_are(nbtext: Any, tmp_path: Path) -> None:
    """`train X X` counts the copies, with any number of threads."""
    (tmp_path / "x.tsv").write_text("text\tlabel\n" + LINES * 40, encoding="utf-8")
    trained = [nbtext("train", "x.tsv", "-o", "m.joblib", "--force", "-j", jobs, cwd=tmp_path) for jobs in ("1", "3")]
    (said,) = {each.err for each in trained}
    assert "156 duplicates" in said


def test_no_fold_tests_on_a_copy(nbtext: Any, tmp_path: Path) -> None:
    """`evaluate --folds` of X X finds no copy of a test document among the training documents."""
    rows = [f"only{n} {'red' if n % 2 else 'green'}\t{'a' if (n // 2) % 2 else 'b'}" for n in range(40)]
    (tmp_path / "x.tsv").write_text("\n".join(["text\tlabel", *rows * 2, ""]), encoding="utf-8")
    result = nbtext("evaluate", "x.tsv", "--folds", "5", "--fail-under", "accuracy=0.9", cwd=tmp_path)
    assert result.status == 3, result.err

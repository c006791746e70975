"""The training summary counts duplicates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LINES = "red round apple\tapple\ngreen round\tapple\nlong yellow\tbanana\nlong green ripe\tbanana\n"


def test_the_summary_says_how_many_there_are(nbtext: Any, tmp_path: Path) -> None:
    """`train X X` counts the copies, with any number of threads."""
    (tmp_path / "x.tsv").write_text("text\tlabel\n" + LINES * 40, encoding="utf-8")
    outputs = {
        nbtext("train", tmp_path / "x.tsv", "-o", tmp_path / f"m{jobs}.joblib", "-j", str(jobs)).err for jobs in (1, 3)
    }
    (said,) = {output.replace("m3.joblib", "m1.joblib") for output in outputs}
    assert "156 duplicates" in said

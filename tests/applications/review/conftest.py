"""A review of rows, as the command is typed."""

from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows


@pytest.fixture
def review(nbtext: Any, tmp_path: Path) -> Any:
    """review(rows, words): store the rows in x.jsonl, and review it with the options of the words;
    the findings are JSON lines.
    """

    def run(rows: list[dict[str, Any]], words: str = "") -> Any:
        write_rows(tmp_path / "x.jsonl", rows)
        return nbtext(f"review x.jsonl --to jsonl {words}").ok()

    return run

"""Every Python block of a guide runs, one after the other, in a folder with the demo corpus."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from console import BLOCK, TOP

PAGES = [
    "README.md",
    *sorted(str(path.relative_to(TOP)) for path in (TOP / "nbtext" / "guides").glob("*.md")),
]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in (TOP / page).read_text(encoding="utf-8")]
)
def test_python_blocks(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its assertions hold."""
    monkeypatch.chdir(tmp_path)
    os.symlink(TOP / "corpora" / "letters", "letters")
    text = (TOP / page).read_text(encoding="utf-8")
    blocks = [block for _, language, block in BLOCK.findall(text) if language == "python"]
    assert len(blocks) == text.count("```python")
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)

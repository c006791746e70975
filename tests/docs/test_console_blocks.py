"""Every console block of the documentation does what it shows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from console import BLOCK, TOP, played

PAGES = ["README.md", *sorted(str(path.relative_to(TOP)) for path in (TOP / "nbtext" / "guides").glob("*.md"))]


@pytest.mark.parametrize("page", [page for page in PAGES if "```console" in (TOP / page).read_text(encoding="utf-8")])
def test_console_blocks(page: str, tmp_path: Path) -> None:
    """The commands of a page, run one after the other in an empty folder beside the corpora, print what it shows."""
    text = (TOP / page).read_text(encoding="utf-8")
    for command, shown, printed in played(text, tmp_path):
        assert printed == shown, f"{page}: $ {command}\n{printed}"


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_passed_over(page: str) -> None:
    """Each begins and ends at the beginning of a line, where the test above sees it."""
    text = (TOP / page).read_text(encoding="utf-8")
    assert text.count("```console") == sum(language == "console" for _, language, _ in BLOCK.findall(text))

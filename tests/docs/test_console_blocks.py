"""Every console block of the documentation does what it shows."""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from console import BLOCK, TOP, played

FOREIGN = ("node", "cc", "curl")
PAGES = [
    "README.md",
    *sorted(str(path.relative_to(TOP)) for path in (TOP / "nbtext" / "guides").glob("*.md")),
]


@pytest.mark.exhaustive(every=4)
@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```console" in (TOP / page).read_text(encoding="utf-8")]
)
def test_console_blocks(forker: Any, page: str, tmp_path: Path) -> None:
    """The commands of a page, run one after the other in an empty folder beside the corpora, print
    what it shows.
    """
    text = (TOP / page).read_text(encoding="utf-8")
    folder = tmp_path / "folder"
    programs = tmp_path / "programs"
    folder.mkdir()
    programs.mkdir()
    forker().write_command(programs)
    for command, shown, printed in played(text, folder, programs):
        assert without_times(printed) == without_times(shown) or lacks_program(command), (
            f"{page}: $ {command}\n{printed}"
        )


def without_times(output: str) -> str:
    """The output with all times in seconds, as in `0.3 s`, made equal."""
    return re.sub(r"\d\.\d s\b", "0.0 s", output)


def lacks_program(command: str) -> bool:
    """Whether it needs a program that nbtext does not ask for, and that is not here; CI has them
    all.
    """
    lacking = [
        name for name in FOREIGN if re.search(rf"\b{name} ", command) and shutil.which(name) is None
    ]
    assert not (lacking and "CI" in os.environ), f"CI has {lacking}"
    return bool(lacking)


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_passed_over(page: str) -> None:
    """Each begins and ends at the beginning of a line, where the test above sees it."""
    text = (TOP / page).read_text(encoding="utf-8")
    assert text.count("```console") == sum(
        language == "console" for _, language, _ in BLOCK.findall(text)
    )

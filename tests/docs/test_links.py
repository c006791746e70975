"""What a page links to is there."""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PAGES = sorted(
    page for folder in (".", ".github", "corpora") for page in (TOP / folder).glob("*.md")
)
PAGES += sorted((TOP / "nbtext").rglob("*.md"))
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")


def anchors(page: Path) -> set[str]:
    """The names by which headings are linked to, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link to a file that there is, and to a heading that it has."""
    text = re.sub(
        r"^```.*?^```$|`[^`\n]*`",
        "",
        page.read_text(encoding="utf-8"),
        flags=re.MULTILINE | re.DOTALL,
    )
    for path, anchor in LINK.findall(text):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


def test_each_guide_is_in_the_list() -> None:
    """The page of the guides links to all of them, at most fourteen."""
    folder = TOP / "nbtext" / "guides"
    linked = {path for path, _ in LINK.findall((folder / "README.md").read_text(encoding="utf-8"))}
    assert linked == {page.name for page in folder.glob("*.md")} - {"README.md"}
    assert len(linked) < 15

"""What a release says of itself."""

import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

from nbtext import __version__

TOP = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))
from lowest import lowest, pinned  # noqa: E402

PYPROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def test_the_version_is_in_one_place() -> None:
    """`nbtext/__init__.py`; the package's metadata has it from there."""
    assert PYPROJECT["project"]["dynamic"] == ["version"]
    assert version("nbtext") == __version__


def test_the_package_holds_what_it_reads() -> None:
    """Every file that is neither Python nor compiled is named in pyproject.toml: a wheel has it,
    too.
    """
    package = TOP / "nbtext"
    held = {
        path
        for each in PYPROJECT["tool"]["setuptools"]["package-data"]["nbtext"]
        for path in package.glob(each)
    }
    files = {
        path
        for path in package.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".c", ".so")
    }
    assert files and sorted(files - held) == []


def test_the_changelog_is_in_order() -> None:
    """What is not released comes first, then the versions with their days, latest first; no kind of
    change twice.
    """
    releases = re.split(r"^## ", (TOP / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    assert releases[0].startswith("[Unreleased]\n")
    heads = [re.match(r"\[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d\n", text) for text in releases[1:]]
    assert all(heads), "## [1.2.3] - 2026-01-31"
    versions = [Version(head[1]) for head in heads if head]
    assert versions == sorted(set(versions), reverse=True)
    assert all(found <= Version(__version__) for found in versions)
    for text in releases:
        kinds = re.findall(r"^### (.*)$", text, re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds]
        assert all(
            line.startswith(("- ", "  ", "### ", "[", "|"))
            for line in text.splitlines()[1:]
            if line
        )


def test_every_requirement_has_a_lowest_version() -> None:
    """`make lowest` installs these and runs tests on them; joblib's is where payloads in object
    arrays are refused.
    """
    lines = lowest(PYPROJECT)
    assert {line.partition("==")[0] for line in lines} >= {
        "click",
        "cython",
        "joblib",
        "numpy",
        "pytest",
    }
    assert "joblib==1.6" in lines
    with pytest.raises(ValueError, match="has no lowest version"):
        pinned("numpy")

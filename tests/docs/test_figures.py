"""Figures in the documentation are those of the benchmarks, and the picture shows what nbtext
prints.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
RESULTS = TOP / "tests" / "benchmarks" / "results"
BENCHMARKS = TOP / "nbtext" / "guides" / "benchmarks.md"
WRITTEN = re.compile(r">([^<]*)</text>")
FIGURE = re.compile(r"(?<![\w.,])(?:[+-]?\d\.\d{4}|\d[\d,]*(?:\.\d+)?(?= (?:ms|s|MB|KB)\b))")
N_BYTES = re.compile(r"\d{1,3}(?:,\d{3})+")
# the pages of results that have the figures of a section
SECTIONS = [
    (TOP / "README.md", "Speed and accuracy", ("speed", "accuracy", "search")),
    (BENCHMARKS, "Speed", ("speed",)),
    (BENCHMARKS, "Accuracy", ("accuracy", "speed")),
    (BENCHMARKS, "Model search", ("search",)),
    (BENCHMARKS, "Words, pairs of words and characters together", ("combined",)),
    (BENCHMARKS, "Few documents of each label", ("few", "vectors")),
    (BENCHMARKS, "Models of a limited size", ("size",)),
]


def section(page: Path, title: str) -> str:
    """What a page says below a heading."""
    return page.read_text(encoding="utf-8").split(f"## {title}\n", 1)[1].split("\n## ")[0]


def differences() -> set[str]:
    """By how much `best` is ahead of the default, and of the best pipeline, on each corpus."""
    found = set()
    for line in section(RESULTS / "search.md", "All training documents").splitlines():
        default, best, *pipelines = [float(each) for each in re.findall(r"0\.\d{4}", line)] or [
            0,
            0,
        ]
        found.add(f"{best - default:+.4f}")
        found.add(f"{best - max(pipelines, default=0):.4f}")
    return found


@pytest.mark.parametrize(("page", "title", "names"), SECTIONS)
def test_figures(page: Path, title: str, names: tuple[str, ...]) -> None:
    """Each figure of a section is one of its results, or a difference of two of them."""
    measured = "".join((RESULTS / f"{name}.md").read_text(encoding="utf-8") for name in names)
    sizes = [int(size.replace(",", "")) for size in N_BYTES.findall(measured)]
    known = {f"{size / unit:.3g}" for size in sizes for unit in (1e3, 1e6)} | differences()
    found = FIGURE.findall(section(page, title))
    assert len(found) >= 4
    assert [figure for figure in found if figure not in known and figure not in measured] == []


def test_the_search_is_never_much_worse_than_the_default() -> None:
    """No difference of the table is below -0.003."""
    found = re.findall(r"(?<=\| )[+-]0\.\d{4}", section(BENCHMARKS, "Model search"))
    assert len(found) > 60
    assert min(map(float, found)) >= -0.003


def test_the_picture(tmp_path: Path) -> None:
    """What a terminal shows now is what it shows there; `python tests/docs/picture.py` draws it
    anew.
    """
    script = TOP / "tests" / "docs" / "picture.py"
    subprocess.run([sys.executable, script, tmp_path / "now.svg"], check=True)
    now, there = (
        path.read_text(encoding="utf-8")
        for path in (tmp_path / "now.svg", script.with_name("terminal.svg"))
    )
    assert WRITTEN.findall(now) == WRITTEN.findall(there) != []

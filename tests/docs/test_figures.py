"""Figures in the documentation are those of the benchmarks, and the picture shows what nbtext prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[2]
GUIDES = TOP / "nbtext" / "guides"
RESULTS = TOP / "tests" / "benchmarks" / "results"

FIGURE = re.compile(
    r"[\d,.]+ (?:ms|s|MB)\b|1/[\d.]+\d|\d{4}-\d\d-\d\d|(?<=\| )\d[\d.]+(?= \|$)|\d\.\d+(?= times)", re.MULTILINE
)
WRITTEN = re.compile(r">([^<]*)</text>")
SIZES = ("22 MB", "500 MB")  # of the corpora


def test_speed() -> None:
    """Each time, size and ratio of the section is one of the last whole run, and so is its date."""
    _, section = (GUIDES / "benchmarks.md").read_text(encoding="utf-8").split("## Speed\n")
    measured = (RESULTS / "speed.md").read_text(encoding="utf-8")
    figures = FIGURE.findall(section.split("\n## ")[0])
    assert len(figures) > 35
    for figure in set(figures) - set(SIZES):
        assert figure in measured, figure
    assert (RESULTS / "speed.svg").is_file()


def test_accuracy() -> None:
    """Each figure of four digits is in the results file."""
    _, section = (GUIDES / "benchmarks.md").read_text(encoding="utf-8").split("## Accuracy\n")
    measured = (RESULTS / "accuracy.md").read_text(encoding="utf-8")
    figures = re.findall(r"0\.\d{3,4}", section.split("\n## ")[0])
    assert len(figures) > 20
    assert [figure for figure in figures if figure not in measured] == []


def test_reliability() -> None:
    """Each figure of the table is one of the last run's; those of the texts and of the fuzzers are sums of its rows."""
    _, section = (GUIDES / "security.md").read_text(encoding="utf-8").split("`make torture` wrote these figures")
    measured = (RESULTS / "reliability.md").read_text(encoding="utf-8")
    texts = re.findall(r"^.{28} +1  crashes 0  ", measured, re.MULTILINE)
    fuzzed = re.findall(r"^\w+ +([\d,]+) +\d+ +\d+ +0$", measured, re.MULTILINE)
    sums = {str(len(texts)), f"{sum(int(number.replace(',', '')) for number in fuzzed):,}"}
    figures = re.findall(r"\b[\d,.]*\d\b", section.split("\n\n")[1])
    assert len(figures) == 11
    assert [figure for figure in figures if figure not in measured and figure not in sums] == []


def test_the_picture(tmp_path: Path) -> None:
    """What a terminal shows now is what it shows there; `python tests/docs/picture.py` draws it anew."""
    script = TOP / "tests" / "docs" / "picture.py"
    subprocess.run([sys.executable, script, tmp_path / "now.svg"], check=True)
    now, there = (path.read_text(encoding="utf-8") for path in (tmp_path / "now.svg", script.with_name("terminal.svg")))
    assert WRITTEN.findall(now) == WRITTEN.findall(there) != []


def test_the_figures_of_the_readme() -> None:
    """Each time and accuracy in the README is also on the page of benchmarks, which the tests above check."""
    _, section = (TOP / "README.md").read_text(encoding="utf-8").split("## Speed and accuracy\n")
    page = (GUIDES / "benchmarks.md").read_text(encoding="utf-8")
    figures = re.findall(r"[\d,.]+ (?:ms|s|MB)\b|0\.\d{4}", section.split("\n## ")[0])
    assert len(figures) > 12
    assert [figure for figure in figures if figure not in page] == []

"""The figures that the README shows are those that the benchmarks wrote, and its picture is of what nbtext prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[2]
RESULTS = TOP / "tests" / "benchmarks" / "results"

FIGURE = re.compile(
    r"[\d,.]+ (?:ms|s|MB)\b|1/[\d.]+\d|\d{4}-\d\d-\d\d|(?<=\| )\d[\d.]+(?= \|$)|\d\.\d+(?= times)", re.MULTILINE
)
WRITTEN = re.compile(r">([^<]*)</text>")
SIZES = ("22 MB", "500 MB")  # of the corpora


def test_speed() -> None:
    """Each time, size and ratio of the section is one of the last whole run, and so is its date."""
    _, section = (TOP / "README.md").read_text(encoding="utf-8").split("## How fast it is\n")
    measured = (RESULTS / "speed.md").read_text(encoding="utf-8")
    figures = FIGURE.findall(section.split("\n## ")[0])
    assert len(figures) > 35
    for figure in set(figures) - set(SIZES):
        assert figure in measured, figure
    assert (RESULTS / "speed.svg").is_file()


def test_accuracy() -> None:
    """Each figure of four digits is one of the table's."""
    _, section = (TOP / "README.md").read_text(encoding="utf-8").split("## How right it is\n")
    measured = (RESULTS / "accuracy.md").read_text(encoding="utf-8")
    figures = re.findall(r"0\.\d{3,4}", section.split("\n## ")[0])
    assert len(figures) > 20
    assert [figure for figure in figures if figure not in measured] == []


def test_reliability() -> None:
    """Each figure of the table is one of the last run's; those of the texts and of the fuzzers are sums of its rows."""
    _, section = (TOP / "README.md").read_text(encoding="utf-8").split("What `make torture` tried")
    measured = (RESULTS / "reliability.md").read_text(encoding="utf-8")
    texts = re.findall(r"^.{28} +1  crashes 0  ", measured, re.MULTILINE)
    fuzzed = re.findall(r"^\w+ +([\d,]+) +\d+ +\d+ +0$", measured, re.MULTILINE)
    sums = {str(len(texts)), f"{sum(int(number.replace(',', '')) for number in fuzzed):,}"}
    figures = re.findall(r"\b[\d,.]*\d\b", section.split("\n\n")[1])
    assert len(figures) == 7
    assert [figure for figure in figures if figure not in measured and figure not in sums] == []


def test_the_picture(tmp_path: Path) -> None:
    """What a terminal shows now is what it shows there; `python tests/docs/picture.py` draws it anew."""
    script = TOP / "tests" / "docs" / "picture.py"
    subprocess.run([sys.executable, script, tmp_path / "now.svg"], check=True)
    now, there = (path.read_text(encoding="utf-8") for path in (tmp_path / "now.svg", script.with_name("terminal.svg")))
    assert WRITTEN.findall(now) == WRITTEN.findall(there) != []

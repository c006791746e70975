"""CSV for spreadsheets: cells that begin like a formula, as a user types it."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from nbtext.output import escape_formulas

EVIL = ("=1+1", "+cmd", "-cmd|x", "@SUM(A1)", "\ttab", "\rreturn")


@pytest.fixture
def model(nbtext: Any, tmp_path: Path) -> str:
    """Labels and ids that begin like formulas."""
    lines = [
        json.dumps({"id": f"{EVIL[n % 6]}{n}", "text": f"word{n % 3} more", "label": EVIL[n % 3]})
        + "\n"
        for n in range(24)
    ]
    (tmp_path / "t.jsonl").write_text("".join(lines))
    nbtext("train t.jsonl -o m.joblib").ok()
    return "m.joblib"


COMMANDS = [
    ["predict", "t.jsonl", "-m", "m.joblib"],
    ["predict", "t.jsonl", "-m", "m.joblib", "-o", "out.csv"],
    ["explain", "t.jsonl", "-m", "m.joblib"],
    ["evaluate", "t.jsonl", "-m", "m.joblib"],
    ["inspect", "m.joblib"],
    ["sample", "m.joblib"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_cell_is_a_formula(nbtext: Any, model: str, tmp_path: Path, command: list[str]) -> None:
    """With the option, such cells begin with a quote; all others are as without it."""
    found = []
    for options in ([], ["--spreadsheet-safe"]):
        result = nbtext(*command, "--to", "csv", *options).ok()
        written = (
            (tmp_path / "out.csv").read_bytes().decode() if "out.csv" in command else result.out
        )
        found.append(list(csv.reader(io.StringIO(written, newline=""))))
    plain, safe = found
    assert len(plain) == len(safe)
    n_escaped = 0
    for row, shown in zip(plain, safe, strict=True):
        for cell, seen in zip(row, shown, strict=True):
            assert seen in (cell, "'" + cell)
            if cell.startswith(tuple("=@\t\r")) or (
                cell.startswith(tuple("+-")) and not is_number(cell)
            ):
                assert seen == "'" + cell
                n_escaped += 1
            else:
                assert seen == cell
    assert n_escaped > 0


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_exported_weights(nbtext: Any, model: str, tmp_path: Path) -> None:
    """`export --to csv` has the option as well, and other formats do not."""
    nbtext(f"export {model} -o weights.csv --spreadsheet-safe").ok()
    header = next(csv.reader(io.StringIO((tmp_path / "weights.csv").read_text())))
    assert header[3:] == ["'" + label for label in sorted(EVIL[:3])]
    for arguments in (
        ["export", model, "--to", "js", "-o", "x.mjs"],
        ["predict", "t.jsonl", "-m", model, "--to", "tsv"],
    ):
        assert (
            nbtext(*arguments, "--spreadsheet-safe")
            .refused(2)
            .err.startswith("nbtext: --spreadsheet-safe: ")
        )
    assert not (tmp_path / "x.mjs").exists()


@pytest.mark.parametrize(
    ("rows", "safe"),
    [
        ("a,-1.5,+2e-3\n", "a,-1.5,+2e-3\n"),
        ('=1,"a\n=b",-\n', "'=1,\"a\n=b\",'-\n"),
        ('"=""x""",@y\r\n', '"\'=""x""",\'@y\r\n'),
    ],
)
def test_cells(rows: str, safe: str) -> None:
    """Numbers stay numbers; quoting and line ends stay as they are."""
    assert escape_formulas(rows) == safe

"""Commands with a token pattern, and a text that is too long for one."""

from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

LONG = "word " * 1_040_000  # 5.2 million characters


@pytest.fixture
def source(nbtext: Any, tmp_path: Path) -> Path:
    """A model with a token pattern, and documents whose second one is too long."""
    rows = [
        {"label": label, "text": f"{label} text number {n}"}
        for n in range(4)
        for label in ("a", "b")
    ]
    write_rows(tmp_path / "train.jsonl", rows)
    nbtext("train train.jsonl --token-pattern [a-z]+ -o m.joblib").ok()
    rows = [{"label": "a", "text": text} for text in ("a text", LONG, "a text number")]
    write_rows(tmp_path / "new.jsonl", rows)
    return tmp_path


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_one_long_text_has_its_own_record(nbtext: Any, source: Path, jobs: str) -> None:
    """The documents before and after it are labeled."""
    result = nbtext(f"predict new.jsonl -m m.joblib --to jsonl -j {jobs}", cwd=source)
    records = result.records
    assert [record["label"] for record in records] == ["a", None, "a"]
    assert "too long for a custom token pattern" in records[1]["reason"]
    assert result.status == 0, result.err


def test_explain_goes_on_after_it(nbtext: Any, source: Path) -> None:
    """As predict does."""
    result = nbtext("explain new.jsonl -m m.joblib --to jsonl", cwd=source)
    assert len(result.out.splitlines()) == 3, result.err


@pytest.mark.parametrize(
    "command", [["train"], ["vectorize", "--min-df", "1"]], ids=lambda command: str(command[0])
)
def test_what_learns_names_it(nbtext: Any, source: Path, command: list[str]) -> None:
    """Training stops with an error that names the document, as for any document that cannot be
    read.
    """
    nbtext(
        command[0],
        "new.jsonl",
        "--token-pattern",
        "[a-z]+",
        *command[1:],
        "-o",
        "out.npz",
        cwd=source,
    ).refused(
        1,
        "new.jsonl:2: a text has more than 5,000,000 characters, which is too long for a custom token pattern",
    )


def test_a_set_that_other_programs_read_in_another_way(nbtext: Any, source: Path) -> None:
    """Python has no POSIX classes; it would only warn, and match other characters."""
    nbtext("train train.jsonl --token-pattern [[:alpha:]]+ -o n.joblib", cwd=source).refused(
        2, "--token-pattern: invalid regular expression: possible nested set at position 1; write "
    )

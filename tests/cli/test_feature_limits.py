"""Limits of document frequency that leave no feature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("command", ["train", "vectorize"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--min-df", "50"], "nbtext: --min-df: 50 is more than the number of documents, 4\n"),
        (
            ["--min-df", "3", "--max-df", "2"],
            "nbtext: --max-df: 2 allows 2 documents of 4, but --min-df 3 needs 3; raise --max-df, or lower --min-df\n",
        ),
    ],
)
def test_the_option_that_was_given_is_named(
    nbtext: Any, tmp_path: Path, command: str, options: list[str], message: str
) -> None:
    """An option that was not given is never blamed."""
    (tmp_path / "t.tsv").write_text("label\ttext\na\tone word\nb\ttwo words\na\tred\nb\tblue\n")
    result = nbtext(command, "t.tsv", *options, "-o", "out.npz", cwd=tmp_path)
    assert (result.status, result.err) == (2, message)


def test_only_given_limits_are_blamed(nbtext: Any, tmp_path: Path) -> None:
    """Without --max-df, nobody is told to raise it."""
    (tmp_path / "t.tsv").write_text("label\ttext\na\tone word\nb\ttwo words\n")
    result = nbtext("train", "t.tsv", "--min-df", "2", "-o", "m", cwd=tmp_path)
    assert (result.status, "--max-df" in result.err) == (1, False)
    assert "lower --min-df" in result.err

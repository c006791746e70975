"""Nouns are singular after 1: `1 document`, `1 label`, `1 feature`."""

from pathlib import Path
from typing import Any

import pytest

from nbtext.errors import number_of


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0 words"), (1, "1 word"), (2000, "2,000 words"), (1.0, "1 word"), (0.25, "0.25 words")],
)
def test_a_number_and_its_noun(number: float, said: str) -> None:
    """The noun is singular beside 1 alone."""
    assert number_of(number, "word") == said


def test_what_commands_say(nbtext: Any, tmp_path: Path) -> None:
    """`1 document`, on standard error, in a summary and in an evaluation."""
    (tmp_path / "one.tsv").write_bytes(b"text\tlabel\nsnow sno\xffw snow\tweather\n")
    trained = nbtext("train one.tsv -o m --max-features 1")
    assert trained.err.startswith("replaced 1 invalid byte in 1 document; ")
    assert "multinomial: 1 document, 1 label, 1 feature; " in trained.err
    inspected = nbtext("inspect m --to table").out
    assert "1 document, 1 label, 1 feature, 2 occurrences of features" in inspected
    assert "  1 document, prior 1.0000; features by " in inspected
    assert nbtext("evaluate one.tsv -m m --to table").out.startswith("1 document\n")

"""Errors about documents: each names the file, the line, what is wrong, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

LABELED = '{"id": "t-1", "text": "red", "label": "a"}\n'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "x.jsonl",
            LABELED + '{"id": "t-2", "text": "green", "class": "b"}\n',
            "x.jsonl:2: the document has no label; its keys or columns are: id, text, class; name the key",
        ),
        (
            "x.jsonl",
            LABELED + '\n{"id": "t-2", "text": "green", "label": null, "meta": {"a": [1]}}\n',
            "x.jsonl:3: the document has no label; its keys or columns are: id, text, label, meta;",
        ),
        (
            "x.csv",
            'id,text,class\n"7","red\napple",b\n',
            "x.csv:2: the document has no label; its keys or columns are: id, text, class; name the key",
        ),
        (
            "x.jsonl",
            LABELED + '{"id": "t-2", "text": "red", "label": "%s"}\n' % ("x" * 1001),
            "x.jsonl:2: the label xxx",
        ),
        ("x.tsv", "text\tlabel\tid\nred\t%s\tt-1\n" % ("x" * 10_000_000), "x.tsv:2: the label xxxxxxxxxxxxxxxxxxxx"),
    ],
)
def test_training_names_file_and_line(nbtext: Any, tmp_path: Path, name: str, content: str, message: str) -> None:
    """Errors name file and line, also if documents have ids."""
    (tmp_path / name).write_text(content)
    result = nbtext("train", name, "-o", "m.joblib", cwd=tmp_path)
    assert (result.status, result.err.count("\n")) == (1, 1)
    assert message in result.err
    assert len(result.err) < 400


def test_evaluate_says_why_a_document_cannot_be_read(nbtext: Any, model: str, tmp_path: Path) -> None:
    """A document that cannot be read has no label either, but that is not the reason."""
    (tmp_path / "noise").mkdir()
    (tmp_path / "noise" / "1.txt").write_text("loud music, loud music")
    ran = nbtext("evaluate", ".", "-m", model, "--max-document-bytes", "9", cwd=tmp_path)
    assert ran.status == 1
    assert "1.txt: the document has more than 9 bytes" in ran.err

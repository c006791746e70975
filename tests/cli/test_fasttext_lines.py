"""Lines of fastText: blank ones, and ones without a label."""

from pathlib import Path
from typing import Any

import pytest

ONE = ["__label__a red", "__label__b blue", "__label__a red round", "__label__b blue long"] * 6


def lines_of(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def test_blank_lines_are_skipped(nbtext: Any, tmp_path: Path) -> None:
    """They are skipped, as in CSV; the numbers of the other lines stay, and so do the bytes of the
    file.
    """
    (tmp_path / "plain.txt").write_text(lines_of(ONE))
    (tmp_path / "blank.txt").write_text(
        "\n" + lines_of([*ONE[:2], "", " \t ", "\u00a0", *ONE[2:]]) + "\r\n"
    )
    for name in ("plain", "blank"):
        nbtext(f"train {name}.txt -o {name}.joblib").ok()
    assert (tmp_path / "plain.joblib").read_bytes() == (tmp_path / "blank.joblib").read_bytes()
    ids = [
        row.split("\t")[0]
        for row in nbtext("predict blank.txt -m blank.joblib").ok().out.splitlines()
    ]
    assert ids[:3] == ["blank.txt:2", "blank.txt:3", "blank.txt:7"]
    assert len(ids) == len(ONE)
    (tmp_path / "d.jsonl").write_text(
        '{"id": "blank.txt:7", "decision": "relabel", "label": "b"}\n'
    )
    nbtext("review blank.txt --apply d.jsonl -o new.txt").ok()
    old = (tmp_path / "blank.txt").read_text()
    new = (tmp_path / "new.txt").read_text()
    assert new == old.replace("__label__a red round", "__label__b red round", 1)


@pytest.mark.parametrize(
    "command", [("train", "t.txt", "-o", "x.joblib"), ("evaluate", "t.txt", "-m", "m.joblib")]
)
def test_a_line_without_a_label_is_unlabeled_where_one_is_meant(
    nbtext: Any, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """As a document without a label in any other format."""
    (tmp_path / "one.txt").write_text(lines_of(ONE))
    nbtext("train one.txt -o m.joblib").ok()
    (tmp_path / "t.txt").write_text(lines_of([*ONE, "nothing here"]))
    nbtext(*command).refused(1, "t.txt:25: the document has no label", "--skip-unlabeled")
    assert "skipped 1: without a label" in nbtext(*command, "--skip-unlabeled").ok().err

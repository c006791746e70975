"""Blank lines among those of fastText."""

from pathlib import Path
from typing import Any

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

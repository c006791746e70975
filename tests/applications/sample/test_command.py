"""`nbtext sample` as a user types it."""

from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows


def test_a_record_a_line(nbtext: Any, model: str) -> None:
    """Without --to, a pipe gets a JSON record for each document, with its label and its text."""
    result = nbtext(f"sample -m {model} --label trash -n 5 --length 40 --seed 1").ok()
    assert result.err == ""
    records = result.records
    assert [record["label"] for record in records] == ["trash"] * 5
    assert [len(record["text"].split()) for record in records] == [40] * 5


@pytest.mark.parametrize("form", ["jsonl", "tsv", "csv"])
def test_train_reads_it_back(nbtext: Any, letters: Path, model: str, form: str) -> None:
    """A model that was trained on what another one made up labels real letters nearly as well."""
    drawn = f"drawn.{form}"
    nbtext(f"sample -m {model} -n 300 --to {form} -o {drawn}").ok()
    trained = nbtext(f"train {drawn} --model multinomial -o again.joblib")
    assert trained.err.startswith("multinomial: 300 documents, 6 labels, ")
    assert nbtext(f"evaluate {letters}/test -m again.joblib --to json").json["accuracy"] > 0.75


def test_another_seed_gives_other_documents(nbtext: Any, model: str) -> None:
    outs = {nbtext(f"sample -m {model} -n 4 --seed {seed}").out for seed in ("3", "4", "3")}
    assert len(outs) == 2


def test_control_characters_on_a_terminal(nbtext: Any, on_a_terminal: Any, tmp_path: Path) -> None:
    """Control characters in words and labels are escaped on a terminal, and kept in JSON."""
    write_rows(
        tmp_path / "odd.jsonl",
        ({"text": "a\x1b[31mb \x9bz", "label": f"x\x1b[{n}m"} for n in (1, 2)),
    )
    options = r"--model multinomial --token-pattern \S+ --no-lowercase"
    nbtext(f"train odd.jsonl {options} -o odd").ok()
    shown = on_a_terminal("sample", "-m", str(tmp_path / "odd"), "-n", "9")
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert "\\x1b[31m" in shown
    records = nbtext("sample -m odd -n 9").records
    words = {word for record in records for word in record["text"].split()}
    assert words == {"a\x1b[31mb", "\x9bz"}

"""The output formats of all commands follow the same conventions."""

from pathlib import Path
from typing import Any

import pytest

FORMATS = ("table", "tsv", "csv", "jsonl", "json", "markdown")
PARSED = {"csv": "rows", "jsonl": "records", "json": "json"}  # formats, and how a result is read
COMMANDS = {
    "predict": "predict {letters}/test -m {model}",
    "evaluate": "evaluate {letters}/test -m {model}",
    "inspect": "inspect {model} --features 2",
    "explain": "explain {letters}/test/trash -m {model} --features 2",
    "compare": "compare {letters}/test -m {model} -m {model}",
    "learning curves": "compare {letters}/train --models multinomial --sizes 50 --seeds 2",
    "diff": "diff {model} {model}",
    "sample": "sample -m {model} -n 2 --seed 3",
    "prevalence": "prevalence {letters}/test -m {model}",
    "review": "review {letters}/test",
}


def words_of(command: str, letters: Path, model: str) -> list[str]:
    return COMMANDS[command].format(letters=letters, model=model).split()


@pytest.mark.exhaustive(every=5)  # which neither 6 formats nor 9 commands are a multiple of
@pytest.mark.parametrize("form", FORMATS)
# which measures seconds
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "compare"])
def test_every_format(
    nbtext: Any, letters: Path, model: str, tmp_path: Path, command: str, form: str
) -> None:
    """-o writes what standard output would show, in every format; without the kernel and by more
    threads, the same.
    """
    asked = [*words_of(command, letters, model), "--to", form]
    shown = nbtext(*asked, COLUMNS="80").ok()
    assert "\r" not in shown.out
    if form in PARSED:
        assert getattr(shown, PARSED[form])
    jobs = ("-j", "3") if command not in ("inspect", "diff", "sample") else ()
    written = nbtext(
        *asked, *jobs, "-o", "out", COLUMNS="80", NBTEXT_KERNEL="off", PYTHONHASHSEED="7"
    ).ok()
    said = "84 documents to out\n" * (command == "predict")
    assert (written.out, written.err) == ("", shown.err + said)
    assert (tmp_path / "out").read_bytes().decode() == shown.out


# which may find nothing
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "review"])
def test_headers(nbtext: Any, letters: Path, model: str, command: str) -> None:
    r"""Lines end with \n. CSV has a header line; TSV has the same rows without it, all of the same
    width.

    `sample` writes documents for `train`, which takes the names of columns from a header line of
    TSV too.
    """
    table, tabs = (
        nbtext(*words_of(command, letters, model), "--to", name).ok() for name in ("csv", "tsv")
    )
    assert "\r" not in table.out + tabs.out
    header, *rows = table.rows
    lines = tabs.out.splitlines()[command == "sample" :]
    assert len(lines) == len(rows) > 0
    assert {len(row) for row in rows} == {line.count("\t") + 1 for line in lines} == {len(header)}

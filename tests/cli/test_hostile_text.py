"""Untrusted texts, labels and names, through the commands as typed."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

from nbtext.kernel import HAS_KERNEL

HOSTILE = "\x1b]0;owned\x07\x1b[31m[bold red]<script>alert(1)</script>\u202e\x9b2J\x08\x7f|`*_\\"
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.mark.exhaustive
def test_a_token_that_is_too_long_is_said(nbtext: Any, tmp_path: Path) -> None:
    """Every command leaves it out, says so, and does the rest."""
    word = "a" * 70_000
    (tmp_path / "t.jsonl").write_text(
        f'{{"text": "red {word} round", "label": "x"}}\n{{"text": "green", "label": "y"}}\n'
    )
    said = "skipped 1: token of more than 65,535 bytes\n"
    for kernel in ("require", "off") if HAS_KERNEL else ("off",):
        result = nbtext("train t.jsonl -o m.joblib", NBTEXT_KERNEL=kernel).ok()
        assert result.err.startswith(said)
        assert "3 features" in result.err
        for command, more in (
            ("predict t.jsonl -m m.joblib", ""),
            ("predict t.jsonl -m m.joblib --explain 2 --to jsonl", ""),
            ("explain t.jsonl -m m.joblib", ""),
            ("evaluate t.jsonl -m m.joblib", "the model was trained on 2 of 2 documents"),
            ("vectorize t.jsonl -o x.npz", "2 documents to x.npz"),
        ):
            result = nbtext(command, NBTEXT_KERNEL=kernel).ok()
            assert result.err.startswith(said + more), command
            assert result.err.count("\n") == 1 + bool(more), command


def test_labels_and_names_never_reach_a_terminal_as_they_are(nbtext: Any, tmp_path: Path) -> None:
    """Escape sequences in labels, ids, paths and column names are spelled out in all that is said
    to people.
    """
    records = [
        {"text": f"word{n % 3} more", "label": HOSTILE + str(n % 2), "id": HOSTILE}
        for n in range(20)
    ]
    write_rows(tmp_path / "t.jsonl", records)
    nbtext("train t.jsonl -o m.joblib").ok()
    for command in ("predict", "evaluate"):
        for form in ("table", "markdown"):
            result = nbtext(f"{command} t.jsonl -m m.joblib --to {form}").ok()
            assert not CONTROLS.search(result.out + result.err)
            assert "\\x1b" in result.out
    name = os.fsencode(HOSTILE.replace("/", "")) + b"\xff\n\t"
    os.mkdir(os.path.join(os.fsencode(tmp_path), name))
    for arguments in (
        ["train", os.fsdecode(name), "-o", "x"],
        ["predict", "t.jsonl", "-m", os.fsdecode(name)],
    ):
        result = nbtext(*arguments).refused(1)
        assert not CONTROLS.search(result.err)
        assert result.err.count("\n") == 1
    (tmp_path / "t.csv").write_text(f'"{HOSTILE}",b\nx,y\n')
    assert not CONTROLS.search(nbtext("train t.csv -o x").refused(1).err)


PAGES = {
    "evaluate t.jsonl -m m.joblib --report x.html": (),
    "evaluate t.jsonl -m several.joblib --label-separator ; --report x.html": (),
    "evaluate t.jsonl --folds 3 --report x.html": (),
    "explain t.jsonl -m m.joblib -o x.html": (),
    "review t.jsonl --report x.html": (),
    "review t.jsonl --label-separator ; --report x.html": (),
    "compare t.jsonl --report x.html": ("-m", HOSTILE.replace("/", ""), "-m", "m.joblib"),
}


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("line", PAGES)
def test_no_page_holds_control_characters(nbtext: Any, tmp_path: Path, line: str) -> None:
    """Neither in what is shown, nor in attributes, nor in the data of its scripts."""
    rows = [
        {"text": f"{'sun sea' if n % 3 else 'cup tea'} w{n} {HOSTILE}", "id": f"{n}{HOSTILE}"}
        | {"label": HOSTILE.replace("script", f"{n % 3 // 2};{n % 2}") if n % 5 else "plain"}
        for n in range(60)
    ]
    write_rows(tmp_path / "t.jsonl", [*rows, rows[1]])
    name = tmp_path / HOSTILE.replace("/", "")
    nbtext("train t.jsonl -q -o m.joblib").ok()
    name.write_bytes((tmp_path / "m.joblib").read_bytes())
    nbtext("train t.jsonl -q --label-separator ; -o several.joblib").ok()
    nbtext(*line.split(), *PAGES[line]).ok()
    page = (tmp_path / "x.html").read_text()
    assert not CONTROLS.search(re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL))


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("form", str.split("table tsv csv jsonl json markdown"))
@pytest.mark.parametrize("command", str.split("predict explain evaluate inspect sample"))
def test_data_shown_on_a_terminal_are_harmless(
    nbtext: Any, on_a_terminal: Any, tmp_path: Path, command: str, form: str
) -> None:
    """Piped on they stay what they are; a terminal gets nothing of them that it would obey."""
    record = {"text": "red word", "label": HOSTILE, "id": HOSTILE}
    (tmp_path / "t.jsonl").write_text(
        json.dumps(record) + "\n" + json.dumps({**record, "label": "y"}) + "\n"
    )
    model = str(tmp_path / "m")
    nbtext(f"train t.jsonl -o {model}").ok()
    asked = {"inspect": [model], "sample": ["-m", model]}.get(
        command, [str(tmp_path / "t.jsonl"), "-m", model]
    )
    assert not CONTROLS.search(
        on_a_terminal(command, *asked, "--to", form, TERM="dumb").replace("\r\n", "\n")
    )


def test_a_terminal_by_another_name(nbtext: Any, on_a_terminal: Any, tmp_path: Path) -> None:
    """It is spared what it would obey as /dev/stdout too."""
    (tmp_path / "t.jsonl").write_text(
        json.dumps({"text": "red", "label": HOSTILE, "id": HOSTILE}) + "\n"
    )
    model = str(tmp_path / "m")
    texts = str(tmp_path / "t.jsonl")
    nbtext(f"train {texts} -o {model}").ok()
    for form in ("jsonl", "csv"):
        shown = on_a_terminal(
            "predict", texts, "-m", model, "--to", form, "-o", "/dev/stdout", TERM="dumb"
        )
        assert "owned" in shown
        assert not CONTROLS.search(shown.replace("\r\n", "\n"))

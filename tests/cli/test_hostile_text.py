"""Untrusted texts, labels and names, through the commands as typed."""

import csv
import io
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
@pytest.mark.parametrize(
    "label", ["a\nb", "a\tb", 'a"b,c', "", "\\t", "a\rb", "\ud800", HOSTILE], ids=ascii
)
def test_any_label_comes_back_whole(nbtext: Any, tmp_path: Path, label: str) -> None:
    """From JSONL to a model, and from there to JSONL and CSV; in TSV on one line, in one column."""
    write_rows(
        tmp_path / "t.jsonl",
        ({"text": text, "label": one} for text, one in (("red", label or "e"), ("green", "x"))),
    )
    label = label or "e"
    nbtext("train t.jsonl -o m.joblib --smoothing 0.1").ok()
    asked = ["predict", "t.jsonl", "-m", "m.joblib"]
    written = label.encode("utf-8", "backslashreplace").decode()
    as_json = nbtext(*asked, "--to", "jsonl").records
    assert as_json[0]["label"] == (
        label if written == label else written.replace("\\ud800", "\ud800")
    )
    nbtext(*asked, "-o", "t.csv", "--to", "csv").ok()
    rows = list(csv.reader(io.StringIO((tmp_path / "t.csv").read_bytes().decode(), newline="")))
    assert rows[1][1] == written
    assert [line.count("\t") for line in nbtext(*asked).out.split("\n")] == [2, 2, 0]


JSON_LINES: list[tuple[str, str]] = [
    ('{"text": "a", "text": "red", "label": "x"}', ""),
    ('{"text": "red", "label": ' + "9" * 5000 + "}", ""),
    ('{"text": "red", "id": 1e999999}', ""),
    ('{"text": "\\ud800 red \\udfff"}', ""),
    ('{"text": "red", "more": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deep"),
    ('{"text": "red", "more": ' + '{"a":' * 100_000, "nested too deep"),
    ('{"text": "red"', "broken JSON"),
    ("\x00" * 100, "broken JSON"),
    ('{"text": 7}', ""),
    ('{"text": {"a": 1}}', "expected a string"),
]


def test_hostile_json_has_its_answer(nbtext: Any, model: str, tmp_path: Path) -> None:
    """Duplicate keys, huge numbers, lone surrogates, depth: a record each, and a reason where it
    cannot be read.
    """
    (tmp_path / "t.jsonl").write_text("\n".join(line for line, _ in JSON_LINES))
    result = nbtext(f"predict t.jsonl -m {model} --to jsonl")
    assert (result.status, result.err.count("\n")) == (0, 1)
    assert result.err.startswith("5 documents could not be read; the first is t.jsonl:")
    records = result.records
    assert len(records) == len(JSON_LINES)
    for record, (line, reason) in zip(records, JSON_LINES, strict=True):
        assert (
            reason in record.get("reason", "")
            if reason
            else not record.get("reason", "").startswith("t.jsonl")
        ), line


def test_hostile_tables_have_their_answer(nbtext: Any, model: str, tmp_path: Path) -> None:
    """NULs, and a quote that is never closed, in CSV."""
    (tmp_path / "nul.csv").write_bytes(b"text,id\nred\x00round,1\n\x00,2\n")
    assert nbtext(f"predict nul.csv -m {model}").ok().out.count("\n") == 2
    (tmp_path / "open.csv").write_text('text,id\n"red round,1\nnever closed,2\n')
    assert "open.csv:2: a quote is opened" in nbtext("train open.csv -o x").err


def test_hostile_mail_has_its_answer(nbtext: Any, model: str, tmp_path: Path) -> None:
    """Parts nested 1,000 deep, boundaries that are missing, charsets that do not exist, headers
    without end.
    """
    deep = (
        "".join(f'Content-Type: multipart/mixed; boundary="{n}"\n\n--{n}\n' for n in range(1000))
        + "\nparking fine"
    )
    mails = {
        "deep": deep,
        "no-boundary": "Content-Type: multipart/mixed\n\nparking fine",
        "charset": 'Content-Type: text/plain; charset="klingon; \x1b[31m"\n\nparking fine',
        "encoding": "Content-Transfer-Encoding: base64\n\n!!!! parking",
        "header": "Subject: " + "=?utf-8?q?a?= " * 100_000 + "\n\nparking",
        "parameters": "Content-Type: text/plain; " + "a*0*=b;" * 100_000 + "\n\nparking",
        "rfc822": "Content-Type: message/rfc822\n\n" * 1000 + "parking",
    }
    for name, mail in mails.items():
        (tmp_path / f"{name}.eml").write_text(mail)
    result = nbtext(
        "predict", *(f"{name}.eml" for name in mails), "-m", model, "--to", "jsonl"
    ).ok()
    assert result.err.startswith("replaced 3 invalid bytes in 1 document;")  # of what was no base64
    assert [json.loads(line)["id"].split(".")[0] for line in result.out.splitlines()] == list(mails)


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

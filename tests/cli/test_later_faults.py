"""A fault in a later source, or in the middle of one: outputs and the error are the same for any
number of threads.
"""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

COMMANDS = (
    "predict {} -m m --to jsonl",
    "predict {} -m m --add-columns",
    "evaluate {} -m m",
    "prevalence {} -m m",
    "train {} -o x",
    "train {} --model nbsvm -o x",
    "update m {} -o x",
    "review {}",
    "vectorize {} -o x",
)
N_LINES = 60_000  # some blocks of lines


def write_lines(path: str, n_lines: int = 10, start: int = 0) -> bytes:
    rows = (
        {"text": f"{'red apple' if n % 2 else 'iron saw'} {n}", "label": "ab"[n % 2]}
        for n in range(start, start + n_lines)
    )
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    Path(path).write_bytes(content)
    return content


def missing(folder: Path) -> str:
    return "missing.jsonl"


def cut_gzip(folder: Path) -> str:
    packed = gzip.compress(write_lines("long", N_LINES), mtime=0)
    (folder / "x.jsonl.gz").write_bytes(packed[: len(packed) * 2 // 3])
    return "x.jsonl.gz"


def no_text_column(folder: Path) -> str:
    (folder / "x.csv").write_text("one,label\nred,a\n")
    return "x.csv"


def open_quote(folder: Path) -> str:
    rows = "".join(f"red apple {n},a\n" for n in range(N_LINES))
    (folder / "x.csv").write_text(f'text,label\n{rows}"open,b\n{rows}')
    return "x.csv"


def broken_json(folder: Path) -> str:
    content = write_lines("long", N_LINES)
    middle = content.index(b"\n", len(content) // 2) + 1
    (folder / "x.jsonl").write_bytes(
        content[:middle] + b'{"text": broken\n' + content[middle:] + b"[1\n"
    )
    return "x.jsonl"


def without_label(folder: Path) -> str:
    content = write_lines("long", N_LINES)
    middle = content.index(b"\n", len(content) // 2) + 1
    more = b'{"text": "no label"}\n'
    (folder / "x.jsonl").write_bytes(content[:middle] + more + content[middle:] + more)
    return "x.jsonl"


FAULTS = (missing, cut_gzip, no_text_column, open_quote, broken_json, without_label)


@pytest.mark.exhaustive(every=5)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_the_same_records_and_the_same_error(
    nbtext: Any, tmp_path: Path, command: str, fault: Callable[[Path], str]
) -> None:
    for number in range(10):
        write_lines(f"{number}.jsonl", 1, number)
    write_lines("t.jsonl", 100)
    (tmp_path / "end.csv").write_text("words,label\nred,a\n")
    nbtext("train t.jsonl --model multinomial -q -o m").ok()
    sources = [*(f"{number}.jsonl" for number in range(10)), fault(tmp_path), "9.jsonl", "end.csv"]
    given = [part for word in command.split() for part in (sources if word == "{}" else [word])]
    first, other = [nbtext(*given, "-j", jobs) for jobs in ("1", "3")]
    assert first.status == 1
    assert (other.status, other.err) == (1, first.err)
    assert other.out == first.out
    if "--to jsonl" in command and fault is not missing:  # which is found at once
        assert len(first.out.splitlines()) >= 10

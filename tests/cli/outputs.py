"""All commands with all files that they write, for tests that put something else in the place of
these files.
"""

import csv
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from made_files import read_cases, write_rows

from nbtext.cli.command import Command, FileType
from nbtext.cli.main import LazyGroup, cli

CSV = "id,text,label\n1,red round,apple\n2,yellow long,banana\n3,green round,apple\n4,long old,banana\n"
# of each command that names an output, what it needs beside it
COMMANDS = {
    name: words.split()
    for name, words in read_cases("""
        train => d.csv -q
        predict => d.csv -m m
        evaluate => d.csv -m m
        prevalence => d.csv -m m
        vectorize => d.csv
        label => d.csv
        inspect => m
        explain => d.csv -m m
        compare => d.csv -m m -m n
        diff => m n
        sample => m
        review => d.csv
        update => m e.csv
        forget => m one.csv
        merge => m n
        calibrate => m d.csv
        export => m --to csv
    """)
}
# further ways to write a file
WAYS = [
    line.split()
    for line in """
predict d.csv -m m --to jsonl
predict d.csv -m m --to json
predict d.csv -m m --to csv
predict d.csv -m m --to markdown
predict d.csv -m m --to fasttext
predict d.csv -m m --add-columns
predict d.jsonl -m m --add-columns
predict d.db -m m --add-columns
predict d.parquet -m m --add-columns
predict d.arrow -m m --add-columns
vectorize d.csv --to svmlight
vectorize d.csv --to mtx
export m --to c
export m --to js
export m --to joblib --max-model-bytes 9KB
review d.csv --apply decisions.jsonl
review d.parquet --apply decisions.jsonl
review d.db --apply decisions.jsonl
""".strip().splitlines()
]


def list_files(*, is_output: bool) -> list[tuple[str, str]]:
    """Return each command with each of its options and arguments that name a file that it writes,
    or that it reads.
    """
    assert isinstance(cli, LazyGroup)
    context = click.Context(cli)
    found = []
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert isinstance(command, Command)
        command.add_options()
        kinds = ((each.opts[-1], each.type) for each in command.params)
        found += [
            (name, option)
            for option, kind in kinds
            if isinstance(kind, FileType) and kind.is_output == is_output
        ]
    return found


OUTPUTS = list_files(is_output=True)
# of each option that the command cannot have as above
OTHERS = {
    "--held-out": ["d.csv", "--folds", "2"],
    "--rejected": ["d.csv", "-m", "m", "--keep", "apple>=0.5", "-q"],
}
EVERY = [[name, *OTHERS.get(option, COMMANDS.get(name, [])), option] for name, option in OUTPUTS]
APPENDED = "label"  # it needs a terminal; its file must be a regular one, because it is read again


def make_originals(folder: Path, run: Callable[..., Any]) -> None:
    """Write the same documents in several formats, and two models, which `run` trains in the
    folder.
    """
    (folder / "d.csv").write_text(CSV)
    (folder / "one.csv").write_text(CSV[: CSV.index("2,")])
    (folder / "e.csv").write_text(CSV.replace("green", "blue"))
    rows = list(csv.DictReader(CSV.splitlines()))
    for form in ("jsonl", "db", "parquet", "arrow"):
        write_rows(folder / f"d.{form}", rows)
    (folder / "decisions.jsonl").write_text(
        '{"id": "1", "decision": "relabel", "label": "banana"}\n'
    )
    for name, source in (("m", "d.csv"), ("n", "e.csv")):
        run("train", source, "--keep-sample", "9", "--model", "multinomial", "-q", "-o", name)


def suffix_of(command: list[str]) -> str:
    """Return the suffix that the name of the output of a command needs."""
    return ".html" if command[-1] == "--report" else ""


def complete(command: list[str], output: str) -> list[str]:
    """Return a command with its output, which is the last word, or that of -o."""
    words = command if command[-1].startswith("-") and len(command[-1]) > 2 else [*command, "-o"]
    words = words if words[-1] not in ("--add-columns",) else [*words, "-o"]
    if "--add-columns" in words:
        words = [*words[:-1], "--column-prefix", "new_", words[-1]]
    return [*words, output]


def make_special(path: Path, kind: int, device: int) -> None:
    """Make a device file of a kind; PermissionError if device files cannot be made or opened
    here.
    """
    os.mknod(path, kind | 0o600, device)
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:  # there may be no device behind the file
        if isinstance(error, PermissionError):
            raise


def received(path: Path, run: Callable[[], Any]) -> bytes:
    """Return what a FIFO receives while a function runs."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    parts: list[bytes] = []
    is_ended = threading.Event()

    def drain() -> None:
        while True:
            was_ended = is_ended.is_set()
            try:
                data = os.read(handle, 1 << 16)
            except BlockingIOError:
                data = b""
            parts.append(data)
            if not data and was_ended:
                return
            time.sleep(0 if data else 0.002)

    reader = threading.Thread(target=drain)
    reader.start()
    try:
        run()
    finally:
        is_ended.set()
        reader.join()
        os.close(handle)
    return b"".join(parts)

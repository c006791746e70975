"""What an output may be: a file is replaced, a pipe or a character device is written to, anything else is refused."""

import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest

from nbtext.cli.command import ROLES, FileType
from nbtext.cli.main import LazyGroup, cli

CSV = "id,text,label\n1,red round,apple\n2,yellow long,banana\n3,green round,apple\n4,long old,banana\n"
COMMANDS = {  # of each command that names an output, what it needs beside it
    "train": ["d.csv", "-q"],
    "predict": ["d.csv", "-m", "m"],
    "evaluate": ["d.csv", "-m", "m"],
    "prevalence": ["d.csv", "-m", "m"],
    "vectorize": ["d.csv"],
    "label": ["d.csv"],
    "inspect": ["m"],
    "explain": ["d.csv", "-m", "m"],
    "compare": ["d.csv", "-m", "m", "-m", "n"],
    "diff": ["m", "n"],
    "sample": ["m"],
    "review": ["d.csv"],
    "update": ["m", "e.csv"],
    "forget": ["m", "one.csv"],
    "merge": ["m", "n"],
    "calibrate": ["m", "d.csv"],
    "export": ["m", "--to", "csv"],
}
WAYS = [  # further ways to write a file
    *(["predict", "d.csv", "-m", "m", "--to", form] for form in ("jsonl", "json", "csv", "markdown", "fasttext")),
    *(["predict", f"d.{form}", "-m", "m", "--add-columns"] for form in ("csv", "jsonl", "db", "parquet", "arrow")),
    ["vectorize", "d.csv", "--to", "svmlight"],
    ["vectorize", "d.csv", "--to", "mtx"],
    *(["export", "m", "--to", form] for form in ("c", "js", "sklearn-json")),
    ["export", "m", "--to", "joblib", "--max-model-bytes", "9KB"],
    ["review", "d.csv", "--apply", "decisions.jsonl"],
    ["review", "d.parquet", "--apply", "decisions.jsonl"],
    ["review", "d.db", "--apply", "decisions.jsonl"],
]  # fmt: skip


def list_outputs() -> list[tuple[str, str]]:
    """Return each command with each of its options whose role is to be written, as the settings say."""
    assert isinstance(cli, LazyGroup)
    context = click.Context(cli)
    found = []
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        kinds = ((each.opts[-1], each.type) for each in command.params)
        found += [(name, option) for option, kind in kinds if isinstance(kind, FileType) and kind.is_output]
    return found


OUTPUTS = list_outputs()
OTHERS = {"--held-out": ["d.csv", "--folds", "2"]}  # of each option that the command cannot have as above
EVERY = [[name, *OTHERS.get(option, COMMANDS.get(name, [])), option] for name, option in OUTPUTS]
APPENDED = "label"  # it needs a terminal; its file must be a regular one, because it is read again


def test_all_outputs_are_tried() -> None:
    """A new command or option with an output is among those of this file."""
    assert {name for name, _ in OUTPUTS} == COMMANDS.keys()
    assert {role for role, kind in ROLES.items() if kind.is_output} == {"output", "new model", "exported model"}


@pytest.fixture(scope="module")
def originals(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same documents in several formats, and two models."""
    import sqlite3

    import pyarrow as pa
    from pyarrow import csv, feather, parquet

    folder = tmp_path_factory.mktemp("originals")
    (folder / "d.csv").write_text(CSV)
    (folder / "one.csv").write_text(CSV[: CSV.index("2,")])
    (folder / "e.csv").write_text(CSV.replace("green", "blue"))
    rows = [line.split(",") for line in CSV.splitlines()]
    columns = '{"id": "%s", "text": "%s", "kind": "%s"}\n'
    (folder / "d.jsonl").write_text("".join(columns % tuple(row) for row in rows[1:]))
    table = csv.read_csv(folder / "d.csv").cast(pa.schema([(name, pa.string()) for name in rows[0]]))
    parquet.write_table(table, folder / "d.parquet")
    feather.write_feather(table, folder / "d.arrow")
    connection = sqlite3.connect(folder / "d.db")
    connection.execute("create table documents (id, text, kind)")
    connection.executemany("insert into documents values (?, ?, ?)", rows[1:])
    connection.commit()
    connection.close()
    (folder / "decisions.jsonl").write_text('{"id": "1", "decision": "relabel", "label": "banana"}\n')
    for name, source in (("m", "d.csv"), ("n", "e.csv")):
        nbtext("train", source, "--keep-sample", "9", "--model", "multinomial", "-q", "-o", name, cwd=folder).ok()
    return folder


@pytest.fixture
def folder(originals: Path, tmp_path: Path) -> Path:
    shutil.copytree(originals, tmp_path, dirs_exist_ok=True)
    return tmp_path


def complete(command: list[str], output: str) -> list[str]:
    """Return a command with its output, which is the last word, or that of -o."""
    words = command if command[-1].startswith("-") and len(command[-1]) > 2 else [*command, "-o"]
    words = words if words[-1] not in ("--add-columns",) else [*words, "-o"]
    if "--add-columns" in words:
        words = [*words[:-1], "--column-prefix", "new_", words[-1]]
    return [*words, output]


def make_special(path: Path, kind: int, device: int) -> None:
    try:
        os.mknod(path, kind | 0o600, device)
        with suppress_missing():
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except PermissionError:
        pytest.skip("device files cannot be made or opened here")


@contextmanager
def suppress_missing() -> Iterator[None]:
    """Ignore that there is no device behind the file."""
    try:
        yield
    except OSError as error:
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


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if stat.S_ISREG(path.lstat().st_mode)}


@pytest.mark.parametrize("command", [*EVERY, *WAYS], ids=" ".join)
def test_a_pipe_is_written_to(nbtext: Any, folder: Path, command: list[str]) -> None:
    """A FIFO, and a link to one, get the bytes that a file gets, and stay what they are."""
    if command[0] == APPENDED:
        os.mkfifo(folder / "pipe")
        nbtext(*complete(command, "pipe"), cwd=folder).refused(2)
        assert stat.S_ISFIFO((folder / "pipe").lstat().st_mode)
        return
    suffix = ".html" if command[-1] in ("--report", "--html") else ""
    nbtext(*complete(command, f"file{suffix}"), cwd=folder).ok()
    expected = (folder / f"file{suffix}").read_bytes()
    (folder / f"file{suffix}").unlink()
    fifo, link = folder / f"pipe{suffix}", folder / f"link{suffix}"
    os.mkfifo(fifo)
    link.symlink_to(fifo.name)
    before = contents(folder)
    for name in (fifo, link):
        found = received(fifo, lambda name=name: nbtext(*complete(command, name.name), cwd=folder).ok())
        assert found == expected or (command[0] == "compare" and len(found) > len(expected) // 2)  # it shows times
        assert stat.S_ISFIFO(fifo.lstat().st_mode)
        assert link.is_symlink()
        assert contents(folder) == before


@pytest.mark.parametrize("command", [*EVERY, *WAYS], ids=" ".join)
def test_a_character_device_is_written_to(nbtext: Any, folder: Path, command: list[str]) -> None:
    """A copy of the null device, and a link to it, stay what they are."""
    suffix = ".html" if command[-1] in ("--report", "--html") else ""
    device, link = folder / f"null{suffix}", folder / f"link{suffix}"
    make_special(device, stat.S_IFCHR, os.makedev(1, 3))
    link.symlink_to(device.name)
    before = contents(folder)
    for name in (device, link):
        ran = nbtext(*complete(command, name.name), cwd=folder)
        if command[0] == APPENDED:
            ran.refused(2)
        else:
            ran.ok()
        assert (device.stat().st_rdev, link.is_symlink()) == (os.makedev(1, 3), True)
        assert contents(folder) == before


@pytest.mark.parametrize("kind", ["socket", "block device", "directory"])
@pytest.mark.parametrize("command", [*EVERY, *WAYS], ids=" ".join)
def test_anything_else_is_refused(nbtext: Any, folder: Path, command: list[str], kind: str) -> None:
    """One line says what it is; it stays, and so does all else."""
    suffix = ".html" if command[-1] in ("--report", "--html") else ""
    special, link = folder / f"special{suffix}", folder / f"link{suffix}"
    with socket.socket(socket.AF_UNIX) as server:
        if kind == "socket":
            server.bind(special.name)
        elif kind == "directory":
            special.mkdir()
        else:
            make_special(special, stat.S_IFBLK, os.makedev(240, 77))
        link.symlink_to(special.name)
        before, status = contents(folder), special.stat()
        for name in (special, link):
            ran = nbtext(*complete(command, name.name), cwd=folder)
            if kind == "directory" and command[0] == APPENDED:
                ran.refused(2)  # before, because there is no terminal
            else:
                ran.refused(1, name.name, "directory" if kind == "directory" else f"it is a {kind}")
            assert (special.stat().st_ino, special.stat().st_mode) == (status.st_ino, status.st_mode)
            assert contents(folder) == before


@pytest.mark.parametrize(
    "command",
    [
        "train d.csv --force -q",
        "predict d.csv -m m",
        "predict d.db -m m --add-columns",
        "predict d.arrow -m m --add-columns",
    ],
)
def test_an_open_file_is_written_to(folder: Path, command: str) -> None:
    """`/dev/fd/N`, as of a process substitution, is a pipe or a file that the shell has opened, also after it went."""
    arguments = [sys.executable, "-m", "nbtext", *complete(command.split(), "{}")]

    def run(output: str, descriptor: int) -> None:
        words = [word.format(output) for word in arguments]
        subprocess.run(words, cwd=folder, pass_fds=[descriptor], stdin=subprocess.DEVNULL, check=True)

    with open(folder / "expected", "wb") as file:
        run("expected", file.fileno())
    expected = (folder / "expected").read_bytes()
    (folder / "expected").unlink()
    assert expected
    with open(folder / "log", "wb") as file:
        file.write(b"first ")
        file.flush()
        run(f"/dev/fd/{file.fileno()}", file.fileno())
        assert (folder / "log").read_bytes() == b"first " + expected
        os.rename(folder / "log", folder / "moved")
        (folder / "link").symlink_to(f"/dev/fd/{file.fileno()}")
        run("link", file.fileno())
        assert (folder / "moved").read_bytes() == b"first " + expected * 2
        (folder / "moved").unlink()
        run(f"/dev/fd/{file.fileno()}", file.fileno())
        assert not [path.name for path in folder.iterdir() if "moved" in path.name]
    os.mkfifo(folder / "pipe")
    reading = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    writing = os.open(folder / "pipe", os.O_WRONLY)
    found = received(folder / "pipe", lambda: run(f"/dev/fd/{writing}", writing))
    os.close(reading)
    os.close(writing)
    assert found == expected


@pytest.mark.parametrize("command", ["update {} e.csv", "forget {} d.csv", "calibrate {} d.csv"])
def test_a_model_from_a_pipe_is_not_replaced(nbtext: Any, folder: Path, command: str) -> None:
    """Without -o the changed model would go into the pipe from which it was read."""
    os.mkfifo(folder / "pipe")
    hint = "is not a regular file, so that the changed model cannot replace it; name the new file with -o"
    nbtext(*command.format("pipe").split(), cwd=folder).refused(2, "MODEL: pipe", hint)
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)


def test_a_device_for_answers_and_feedback(nbtext: Any, folder: Path) -> None:
    """`demo` and `serve` write into directories: something else in their place is refused."""
    os.mkfifo(folder / "pipe")
    nbtext("demo", "pipe", cwd=folder).refused(2, "pipe")
    nbtext("serve", "-m", "m", "--port", "0", "--feedback-dir", "pipe", cwd=folder).refused(1, "pipe")
    (folder / "feedback").mkdir()
    os.mkfifo(folder / "feedback" / "m.jsonl")
    nbtext("serve", "-m", "m", "--port", "0", "--feedback-dir", "feedback", cwd=folder).refused(1, "m.jsonl")

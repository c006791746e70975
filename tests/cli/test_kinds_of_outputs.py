"""What an output may be: a file is replaced, a pipe or a character device is written to, anything
else is refused.
"""

import os
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import DELETED
from outputs import (
    APPENDED,
    COMMANDS,
    EVERY,
    OUTPUTS,
    WAYS,
    complete,
    make_originals,
    make_special,
    received,
    suffix_of,
)

from nbtext.cli.command import ROLES


def test_all_outputs_are_tried() -> None:
    """A new command or option with an output is among those of this file."""
    assert {name for name, _ in OUTPUTS} == COMMANDS.keys() - DELETED
    assert {role for role, kind in ROLES.items() if kind.is_output} == {
        "output",
        "new model",
        "exported model",
    }


@pytest.fixture(scope="module")
def originals(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same documents in several formats, and two models."""
    folder = tmp_path_factory.mktemp("originals")
    make_originals(folder, lambda *words: nbtext(*words, cwd=folder).ok())
    return folder


@pytest.fixture
def folder(originals: Path, tmp_path: Path) -> Path:
    shutil.copytree(originals, tmp_path, dirs_exist_ok=True)
    return tmp_path


def make_device(path: Path, kind: int, device: int) -> None:
    try:
        make_special(path, kind, device)
    except PermissionError:
        pytest.skip("device files cannot be made or opened here")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if stat.S_ISREG(path.lstat().st_mode)
    }


@pytest.mark.parametrize("command", [*EVERY, *WAYS], ids=" ".join)
def test_a_pipe_is_written_to(nbtext: Any, folder: Path, command: list[str]) -> None:
    """A FIFO, and a link to one, get the bytes that a file gets, and stay what they are."""
    if command[0] == APPENDED:
        os.mkfifo(folder / "pipe")
        nbtext(*complete(command, "pipe")).refused(2)
        assert stat.S_ISFIFO((folder / "pipe").lstat().st_mode)
        return
    suffix = suffix_of(command)
    nbtext(*complete(command, f"file{suffix}")).ok()
    expected = (folder / f"file{suffix}").read_bytes()
    (folder / f"file{suffix}").unlink()
    fifo = folder / f"pipe{suffix}"
    link = folder / f"link{suffix}"
    os.mkfifo(fifo)
    link.symlink_to(fifo.name)
    before = contents(folder)
    for name in (fifo, link):
        found = received(fifo, lambda name=name: nbtext(*complete(command, name.name)).ok())
        # it shows times
        assert found == expected or (command[0] == "compare" and len(found) > len(expected) // 2)
        assert stat.S_ISFIFO(fifo.lstat().st_mode)
        assert link.is_symlink()
        assert contents(folder) == before


@pytest.mark.parametrize("command", [*EVERY, *WAYS], ids=" ".join)
def test_a_character_device_is_written_to(nbtext: Any, folder: Path, command: list[str]) -> None:
    """A copy of the null device, and a link to it, stay what they are."""
    suffix = suffix_of(command)
    device = folder / f"null{suffix}"
    link = folder / f"link{suffix}"
    make_device(device, stat.S_IFCHR, os.makedev(1, 3))
    link.symlink_to(device.name)
    before = contents(folder)
    for name in (device, link):
        ran = nbtext(*complete(command, name.name))
        if command[0] == APPENDED:
            ran.refused(2)
        else:
            ran.ok()
        assert (device.stat().st_rdev, link.is_symlink()) == (os.makedev(1, 3), True)
        assert contents(folder) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize(
    "command",
    ["train d.csv --force -q", "predict d.csv -m m", "predict d.arrow -m m --add-columns"],
)
def test_a_full_device_is_said(nbtext: Any, folder: Path, command: str) -> None:
    nbtext(*complete(command.split(), "/dev/full")).refused(1, "no space left on device")


@pytest.mark.parametrize("kind", ["socket", "block device", "directory"])
@pytest.mark.parametrize("command", [*EVERY, *WAYS], ids=" ".join)
def test_anything_else_is_refused(nbtext: Any, folder: Path, command: list[str], kind: str) -> None:
    """One line says what it is; it stays, and so does all else."""
    suffix = suffix_of(command)
    special = folder / f"special{suffix}"
    link = folder / f"link{suffix}"
    with socket.socket(socket.AF_UNIX) as server:
        if kind == "socket":
            server.bind(special.name)
        elif kind == "directory":
            special.mkdir()
        else:
            make_device(special, stat.S_IFBLK, os.makedev(240, 77))
        link.symlink_to(special.name)
        before = contents(folder)
        status = special.stat()
        for name in (special, link):
            ran = nbtext(*complete(command, name.name))
            if kind == "directory" and command[0] == APPENDED:
                ran.refused(2)  # before, because there is no terminal
            else:
                ran.refused(1, name.name, "directory" if kind == "directory" else f"it is a {kind}")
            assert (special.stat().st_ino, special.stat().st_mode) == (
                status.st_ino,
                status.st_mode,
            )
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
    """`/dev/fd/N`, as of a process substitution, is a pipe or a file that the shell has opened,
    also after it went.
    """
    arguments = [sys.executable, "-m", "nbtext", *complete(command.split(), "{}")]

    def run(output: str, descriptor: int) -> None:
        words = [word.format(output) for word in arguments]
        subprocess.run(
            words, cwd=folder, pass_fds=[descriptor], stdin=subprocess.DEVNULL, check=True
        )

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
    nbtext(command.format("pipe")).refused(2, "MODEL: pipe", hint)
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)


def test_a_device_for_answers_and_feedback(nbtext: Any, folder: Path) -> None:
    """`demo` and `serve` write into directories: something else in their place is refused."""
    os.mkfifo(folder / "pipe")
    nbtext("demo pipe").refused(2, "pipe")
    nbtext("serve -m m --port 0 --feedback-dir pipe").refused(1, "pipe")
    (folder / "feedback").mkdir()
    os.mkfifo(folder / "feedback" / "m.jsonl")
    nbtext("serve -m m --port 0 --feedback-dir feedback").refused(1, "m.jsonl")

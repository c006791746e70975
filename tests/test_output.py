"""Output files are written completely or not at all."""

import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nbtext.errors import OutputError
from nbtext.output import atomic_output


def write(path: Path | str, content: bytes = b"new") -> None:
    with atomic_output(str(path)) as file:
        file.write(content)


def test_a_new_file_has_what_was_written(tmp_path: Path) -> None:
    """What is written arrives, and nothing else is left in the folder."""
    write(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["model"]


def test_until_the_end_the_old_file_stands(tmp_path: Path) -> None:
    """Readers see the old file until the new one is complete."""
    target = tmp_path / "model"
    target.write_bytes(b"old")
    with atomic_output(str(target)) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_after_an_error_the_old_file_stands(tmp_path: Path, error: type[BaseException]) -> None:
    """After any exception, also an interrupt, the old file is there and no temporary one."""
    target = tmp_path / "model"
    target.write_bytes(b"old")
    with pytest.raises(error), atomic_output(str(target)) as file:
        file.write(b"half")
        raise error
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]


def test_permissions_are_those_of_the_umask_or_of_the_old_file(tmp_path: Path) -> None:
    """A new file obeys the umask; a replaced one keeps its permissions."""
    target = tmp_path / "model"
    umask = os.umask(0o027)
    try:
        write(target)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    target.chmod(0o604)
    write(target, b"newer")
    assert stat.S_IMODE(target.stat().st_mode) == 0o604


def test_a_symbolic_link_is_written_through(tmp_path: Path) -> None:
    """The file that a link names is replaced, and the link stays a link."""
    (tmp_path / "v1").write_bytes(b"old")
    (tmp_path / "current").symlink_to("v1")
    write(tmp_path / "current")
    assert (tmp_path / "current").is_symlink()
    assert (tmp_path / "v1").read_bytes() == b"new"


def test_a_long_name_is_no_obstacle(tmp_path: Path) -> None:
    """A file may have the longest name that the file system knows."""
    write(tmp_path / ("ß" * 127))
    assert len(os.listdir(tmp_path)) == 1


def test_a_pipe_is_written_to_directly(tmp_path: Path) -> None:
    """A FIFO stays a FIFO, and gets the bytes; so does /dev/null."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(fifo.read_bytes()))
    reader.start()
    write(fifo)
    reader.join()
    assert received == [b"new"]
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    write("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_dash_is_standard_output() -> None:
    """`-` writes to standard output, and so does /dev/stdout."""
    for path in ("-", "/dev/stdout"):
        code = f"from nbtext.output import atomic_output\nwith atomic_output({path!r}) as file: file.write(b'new')"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert done.stdout == b"new"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing/model", "make its folder first"),
        ("folder", "name a file in it"),
        ("folder/", "name a file in it"),
    ],
)
def test_what_cannot_be_written_is_said(tmp_path: Path, name: str, says: str) -> None:
    """A missing folder, and a folder in the place of the file, are named with the remedy."""
    (tmp_path / "folder").mkdir()
    target = f"{tmp_path}/{name}"
    with pytest.raises(OutputError) as caught:
        write(target)
    assert caught.value.where == target
    assert says in str(caught.value)


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """When the space runs out the error says so, the old file stands, and the temporary one is
    gone.
    """
    target = tmp_path / "model"
    target.write_bytes(b"old")
    with file_size_limit(1000), pytest.raises(OutputError, match="limit of file sizes"):
        write(target, bytes(100_000))
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]


def test_a_closed_pipe_stays_a_closed_pipe() -> None:
    """`| head` ends quietly: BrokenPipeError is left to the command line."""
    code = (
        "from nbtext.output import atomic_output\n"
        "try:\n"
        "    with atomic_output('-') as file: file.write(bytes(1 << 20))\n"
        "except BrokenPipeError: raise SystemExit(42)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    process.stdout.close()
    assert process.wait() in (42, 120)


@contextmanager
def file_size_limit(n_bytes: int) -> Iterator[None]:
    """As on a full disk, writing more fails."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)

"""Systems without what Linux has: the same commands give the same bytes when those names are taken
away. Paths with drive letters, line ends and code pages of Windows.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# What macOS or Windows does not have. `os.fork` and `fcntl` are needed by Dask and by pytest, not
# by nbtext.
TAKE_AWAY = """
import asyncio, os, select, signal, sys
os.environ["NBTEXT_KERNEL"] = "off"  # it needs POSIX
for name in ("sched_getaffinity", "O_TMPFILE", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_NOFOLLOW", "fchmod", "statvfs",
             "ST_RDONLY", "pread", "preadv", "posix_fadvise", "geteuid", "getuid", "O_DIRECTORY", "mkfifo", "sendfile",
             "nice"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("poll", "epoll"):
    delattr(select, name)
for name in ("setitimer", "SIGVTALRM", "ITIMER_VIRTUAL", "SIGPIPE", "pthread_sigmask", "SIGALRM", "SIGHUP", "SIGKILL"):
    delattr(signal, name)
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
"""
PROGRAM = f"""
take_away = {TAKE_AWAY!r}
exec(take_away)
from nbtext.__main__ import main
sys.argv[0] = "nbtext"
main()
"""

COMMANDS = [
    "train {letters}/train -o {out}/m",
    "predict {letters}/test -m {out}/m -o {out}/predictions.tsv",
    "predict {letters}/test -m {out}/m -j 2",
    "predict {letters}/test -m {out}/m -o {out}/predictions.tsv",
    "predict - -m {out}/m",
    "evaluate {letters}/test -m {out}/m --to tsv",
    "explain {letters}/test -m {out}/m --to jsonl",
    "update {out}/m {letters}/test",
    "forget {out}/m {letters}/test -o {out}/m2",
    "merge {out}/m {out}/m2 -o {out}/m3",
    "train {letters}/train --token-pattern \\w+ -o {out}/pattern",
    "vectorize {letters}/train -o {out}/matrix.npz",
    "train {out}/matrix.npz -o {out}/m4",
    "export {out}/m --to js -o {out}/m.js",
    "sample -m {out}/m",
    "train {letters}/train -o {out}/no/such/folder/m",
    "train {out}/nothing -o {out}/m5",
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: tmp_path_factory.mktemp(name) for name in ("linux", "elsewhere")}


def run_elsewhere(*arguments: str, input: bytes = b"") -> tuple[int, str, str]:
    """Run a command without what Linux has; return its status and outputs."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], input=input, capture_output=True, check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.exhaustive(every=4)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_without_what_linux_has(
    nbtext: Any, folders: dict[str, Path], letters: Path, command: str
) -> None:
    """Each command has the same status, output, errors and files."""
    results = []
    for name, folder in folders.items():
        arguments = [word.format(letters=letters, out=folder) for word in command.split()]
        if name == "linux":
            result = nbtext(*arguments, input=b"the bins\n")
            status = result.status
            out = result.out
            err = result.err
        else:
            status, out, err = run_elsewhere(*arguments, input=b"the bins\n")
        assert "internal error" not in err
        texts = [text.replace(str(folder), "") for text in (out, err)]
        results.append((status, texts, {path.name: path.read_bytes() for path in folder.iterdir()}))
    assert results[0] == results[1]


TABLE = 'text,label\n"the bins\nagain",trash\nthe park,parking\nbins late,trash\npark now,parking\n'


def test_paths_with_drive_letters_and_line_ends_of_windows(
    nbtext: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`C:\\x.csv` is a file: neither a URL, nor a name with a part."""
    monkeypatch.chdir(tmp_path)
    table = "C:\\x.csv"
    model = "D:\\models\\m"
    Path(table).write_bytes(TABLE.replace("\n", "\r\n").encode())
    Path("plain.csv").write_text(TABLE)
    for source, name in ((table, model), ("plain.csv", "m")):
        assert nbtext(f"train {source} -o {name}").status == 0
    assert Path(model).read_bytes() == Path("m").read_bytes()
    rows = nbtext(f"predict {table} -m {model} --to jsonl").records
    assert [row["id"] for row in rows] == [f"{table}:{line}" for line in (2, 4, 5, 6)]
    assert [row["label"] for row in rows] == ["trash", "parking"] * 2
    changed = "E:\\out.csv"
    options = f"--add-columns --column-prefix predicted_ -o {changed}"
    assert nbtext(f"predict {table} -m {model} {options}").status == 0
    assert Path(changed).read_bytes().count(b"\r\n") == TABLE.count("\n")
    assert nbtext(f"evaluate {table} -m {model}").status == 0
    wrong = nbtext("predict", "F:\\missing.csv", "-m", model)
    assert (wrong.status, wrong.err.count("\n")) == (1, 1)
    assert "cannot be read" in wrong.err


@pytest.mark.parametrize("code_page", ["cp1252", "cp437", "ascii"])
def test_what_a_code_page_lacks(tmp_path: Path, code_page: str) -> None:
    """Results are UTF-8, whatever the code page; messages escape what it lacks."""
    (tmp_path / "x.jsonl").write_text(
        '{"text": "the b\u00fcns", "label": "\u4e2d"}\n{"text": "park", "label": "parking"}\n',
        encoding="utf-8",
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "nbtext", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONIOENCODING": code_page},
            capture_output=True,
            check=True,
        )

    assert b"only one document: parking, \\u4e2d" in run("train", "x.jsonl", "-o", "m").stderr
    lines = run("predict", "x.jsonl", "-m", "m").stdout.decode("utf-8").splitlines()
    assert [line.split("\t")[1] for line in lines] == ["\u4e2d", "parking"]

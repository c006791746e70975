"""Every file that a command reads may be a pipe, such as <(command): it is read once, from its
front.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from command_line import DELETED
from outputs import list_files, make_originals

FILES = {  # beside those that every test of files has
    "words": "red\nround\nlong\n",
    "keywords": "apple,red,round\nbanana,yellow,long\n",
    "costs": "true,predicted,cost\napple,banana,5\n",
    "names": "apple: red round\nbanana: yellow long\n",
    "t.vec": "red 1 0\nround .9 .1\nyellow 0 1\nlong .1 .9\n",
    "picture": "\x89PNG\r\n\x1a\n\xff\xfe",
}
EM = "train d.csv --model multinomial -q -o out"
CASES = {  # of each command: options and arguments, each with the whole command; {} is the file
    "train": {
        "sources": "train {d.csv} -q -o out",
        "--like": "train d.csv -q -o out --like {m}",
        "--stop-words": "train d.csv -q -o out --stop-words {words}",
        "--vocabulary": "train d.csv -q -o out --vocabulary {words}",
        "--unlabeled": f"{EM} --em 1 --unlabeled {{unlabeled.csv}}",
        "--keywords": "train unlabeled.csv -q -o out --keywords {keywords}",
        "--names": "train -q -o out --vectors t.vec --names {names}",
    },
    "predict": {
        "sources": "predict {d.csv} -m m",
        "--model-file": "predict d.csv -m {m}",
        "--cost": "predict d.csv -m m --cost {costs}",
    },
    "evaluate": {
        "sources": "evaluate {d.csv} -m m",
        "--model-file": "evaluate d.csv -m {m}",
        "--predictions": "evaluate d.csv --predictions {predictions}",
        "--cost": "evaluate d.csv -m m --cost {costs}",
        "--stop-words": "evaluate d.csv --folds 2 --stop-words {words}",
        "--vocabulary": "evaluate d.csv --folds 2 --vocabulary {words}",
        "--names": "evaluate d.csv --folds 2 --vectors t.vec --names {names}",
    },
    "prevalence": {"sources": "prevalence {d.csv} -m m", "--model-file": "prevalence d.csv -m {m}"},
    "vectorize": {
        "sources": "vectorize {d.csv} -o out",
        "--like": "vectorize d.csv --like {m} -o out",
        "--stop-words": "vectorize d.csv --stop-words {words} -o out",
        "--vocabulary": "vectorize d.csv --vocabulary {words} -o out",
    },
    "inspect": {
        "model": "inspect {m}",
        "--model-file": "inspect -m {m}",
    },
    "explain": {"sources": "explain {d.csv} -m m", "--model-file": "explain d.csv -m {m}"},
    "compare": {
        "sources": "compare {d.csv} --models bernoulli",
        "--model-file": "compare d.csv -m {m} -m n",
        "--stop-words": "compare d.csv --stop-words {words}",
        "--vocabulary": "compare d.csv --vocabulary {words}",
        "--names": "compare d.csv --vectors t.vec --names {names}",
    },
    "diff": {"before": "diff {m} n", "after": "diff m {n}"},
    "sample": {"model": "sample {m}", "--model-file": "sample -m {m}"},
    "review": {
        "sources": "review {d.csv}",
        "--against": "review d.csv --against {e.csv}",
        "--apply": "review d.csv --apply {decisions.jsonl}",
        "--stop-words": "review d.csv --stop-words {words}",
    },
    "update": {
        "model": "update {m} e.csv -o out",
        "--model-file": "update -m {m} e.csv -o out",
        "sources": "update m {e.csv} -o out",
    },
    "forget": {
        "model": "forget {m} one.csv -o out",
        "--model-file": "forget -m {m} one.csv -o out",
        "sources": "forget m {one.csv} -o out",
    },
    "merge": {"models": "merge {m} n -o out"},
    "calibrate": {
        "model": "calibrate {m} d.csv -o out",
        "--model-file": "calibrate -m {m} d.csv -o out",
        "sources": "calibrate m {d.csv} -o out",
    },
    "export": {
        "model": "export {m} --to csv",
        "--model-file": "export -m {m} --to csv",
        "--documents": "export m --to joblib --max-model-bytes 9KB --documents {d.csv} -o out",
    },
}
ELSEWHERE = ("label", "serve")  # they run until they are left
EVERY = [command for options in CASES.values() for command in options.values()]


def test_all_inputs_are_tried() -> None:
    """A new command or option that reads a file is among those of this file."""
    known = {
        (name, option)
        for name, options in CASES.items()
        for option in options
        if not DELETED.intersection((name, option))
    }
    assert known == {each for each in list_files(is_output=False) if each[0] not in ELSEWHERE}


@pytest.fixture
def folder(nbtext: Any, tmp_path: Path) -> Path:
    make_originals(tmp_path, lambda *words: nbtext(*words).ok())
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content.encode("latin-1"))
    (tmp_path / "unlabeled.csv").write_text("id,text\n1,red round\n2,yellow old\n3,long blue\n")
    nbtext("train d.csv --hash-bits 9 -q -o hashed").ok()
    nbtext("predict d.csv -m m -o predictions").ok()
    return tmp_path


def feed(path: Path, content: bytes, run: Callable[[], Any]) -> Any:
    """Return what a function returns that reads a FIFO; who opens it again finds its end, as of a
    pipe.
    """
    os.mkfifo(path)
    is_ended = threading.Event()

    def write() -> None:
        with open(path, "wb", buffering=0) as file, suppress(BrokenPipeError):
            file.write(content)
        while not is_ended.wait(0.01):
            with suppress(OSError):
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return run()
    finally:
        is_ended.set()
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))  # for a writer that was not met
        writer.join()


def answers(nbtext: Any, folder: Path, command: str) -> tuple[Any, ...]:
    ran = nbtext(command.replace("{", "").replace("}", ""), cwd=folder)
    output = folder / "out"
    content = output.read_bytes() if output.exists() else b""
    output.unlink(missing_ok=True)
    if command.startswith("compare"):  # it shows times
        return ran.status, len(ran.out.splitlines())
    return ran.status, ran.out, ran.err, content


def status_of_both(nbtext: Any, folder: Path, command: str, original: str = "") -> int:
    """Return the status of a command, whose result and messages are the same from a FIFO as from a
    file.

    original  the file whose content is read; "" is the one that the command names
    """
    name = command[command.index("{") + 1 : command.index("}")]
    path = folder / name
    content = (folder / (original or name)).read_bytes()
    path.write_bytes(content)
    expected = answers(nbtext, folder, command)
    path.unlink()
    assert feed(path, content, lambda: answers(nbtext, folder, command)) == expected
    return int(expected[0])


@pytest.mark.parametrize("command", EVERY)
def test_a_pipe_is_read_like_a_file(nbtext: Any, folder: Path, command: str) -> None:
    assert status_of_both(nbtext, folder, command) == 0


@pytest.mark.parametrize(
    "command", [each for each in EVERY if any(f"{{{name}}}" in each for name in FILES)]
)
def test_a_picture_from_a_pipe_is_refused_like_a_file(
    nbtext: Any, folder: Path, command: str
) -> None:
    """Naming what it is opens it no second time."""
    assert status_of_both(nbtext, folder, command, "picture") == 1


def test_a_fifo_is_opened_once(folder: Path) -> None:
    """The writer of a named pipe writes once: who opens it again waits for ever."""
    command = f"mkfifo p.csv; cat d.csv > p.csv & {sys.executable} -m nbtext train p.csv -o out"
    subprocess.run(command, shell=True, check=True, cwd=folder, timeout=60)

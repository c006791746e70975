"""`nbtext label` in a real pseudo-terminal: its keys, its screen, and what it leaves when it is
ended.
"""

import fcntl
import os
import pty
import re
import select
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from made_files import read_rows, write_rows

from nbtext.applications.label.session import ANSWERS_A_NAME

SECONDS = 60
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
DOCUMENTS = {
    "g1": "the goal of the match and the team",
    "g2": "a match of the league and its player",
    "b1": "flour in the oven with butter",
    "b2": "sugar and butter for the oven",
    "s1": "the planet in its orbit of the star",
    "s2": "an orbit of the comet and the moon",
}
LABELS = {"g": "sport", "b": "baking", "s": "space"}
ROWS = [{"text": text, "label": LABELS[name[0]]} for name, text in DOCUMENTS.items()]
HOSTILE = {
    "h\x1b[2J1": "clear \x1b[2J\x1b[31m red \x07 bell \x9b1m end",
    "h2": "left \u202e right \u2066 isolate \u200f mark",
    "h3": "日本語の長い文章 " * 40 + "e\u0301\u0301 combined 👩‍👩‍👧 emoji",
    "h4": "שלום עולם العربية " * 5,
    "h5": "x" * 5000,
}


class Terminal:
    """nbtext label in a terminal of its own."""

    def __init__(self, *arguments: str, cwd: Path, columns: int = 80, lines: int = 24) -> None:
        main, side = pty.openpty()
        self.main = os.fdopen(main, "r+b", buffering=0)
        termios.tcsetwinsize(side, (lines, columns))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nbtext", "label", *arguments],
            stdin=side,
            stdout=side,
            stderr=side,
            cwd=cwd,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  the controlling terminal
            env=os.environ | {"TERM": "xterm", "COLUMNS": "", "LINES": ""},
        )
        os.close(side)
        self.shown = ""

    def screen(self) -> list[str]:
        """The lines of the last screen that was drawn, without styles."""
        return ANSI.sub("", self.shown.rpartition("\x1b[H")[2]).split("\r\n")

    def wait(self, text: str) -> list[str]:
        """Read until a complete screen contains a text; return the lines of the screen."""
        while not (self.shown.endswith("\x1b[J") and text in "\n".join(self.screen())):
            assert select.select([self.main], [], [], SECONDS)[0], f"{text!r}: {self.screen()}"
            self.shown += self.main.read(1 << 16).decode("utf-8", "replace")
        return self.screen()

    def press(self, keys: str, text: str) -> list[str]:
        """Press keys, and wait for a text."""
        self.shown = ""
        self.main.write(keys.encode())
        return self.wait(text)

    def end(self, keys: str = "") -> int:
        """Press keys, and return the status when the program has ended; `shown` has the last
        output.
        """
        self.main.write(keys.encode())
        status = self.process.wait(SECONDS)
        with suppress(OSError):  # the other side is closed
            while True:
                self.shown += self.main.read(1 << 16).decode("utf-8", "replace")
        return status


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    """start(*arguments): nbtext label of the documents, with answers in labels.jsonl."""
    write_rows(
        tmp_path / "docs.jsonl", ({"id": name, "text": text} for name, text in DOCUMENTS.items())
    )
    running: list[Terminal] = []

    def begin(*arguments: str, source: str = "docs.jsonl", **size: int) -> Terminal:
        running.append(Terminal(source, "-o", "labels.jsonl", *arguments, cwd=tmp_path, **size))
        return running[-1]

    yield begin
    for each in running:
        each.process.kill()
        each.process.wait()
        each.main.close()


def answers(folder: Path) -> dict[str, Any]:
    return {row["id"]: row["label"] for row in read_rows(folder / "labels.jsonl")}


def shown_id(screen: list[str]) -> str:
    return screen[0].rpartition(" · ")[2].strip()


def test_all_keys(start: Any, tmp_path: Path, nbtext: Any) -> None:
    """Labels by key and by name, Enter, skip, undo, search, scroll, quit; then the file trains a
    model.
    """
    terminal = start("--labels", "sport,baking")
    screen = terminal.wait("no prediction yet")
    assert len(screen) <= 24
    assert max(map(len, screen)) <= 80
    assert "1 sport" in "\n".join(screen) and "2 baking" in "\n".join(screen)
    assert DOCUMENTS[shown_id(screen)] in "\n".join(screen)
    terminal.press("\r9\x1b[A\x1b[B\x1b[99~", "0 answers")
    given: dict[str, str] = {}
    while len(given) < 3:
        name = shown_id(screen)
        label = LABELS[name[0]]
        keys = {
            "sport": "1",
            "baking": "2",
            "space": "nspaX\x7fce\r" if "space" not in given.values() else "nspa\t\r",
        }
        screen = terminal.press(keys[label], f"{len(given) + 1} answer")
        given[name] = label
        assert answers(tmp_path) == given  # on the disk before the next document is shown
    assert "prediction: " in "\n".join(screen)
    skipped = shown_id(screen)
    screen = terminal.press("s", "3 left")
    assert shown_id(screen) != skipped
    terminal.press("u", f" · {skipped}")
    terminal.press("su", f" · {skipped}")
    last, label = given.popitem()
    terminal.press("u", f" · {last}")
    assert answers(tmp_path) == given
    terminal.press("nabc\x1b", "Enter accept")  # Esc leaves the prompt
    terminal.press("/zebra\r", "no document without an answer contains 'zebra'")
    word = DOCUMENTS[last].split()[-1]
    screen = terminal.press(f"/{word.upper()}\r", " 1 left")
    assert shown_id(screen) == last
    terminal.press("/\r", " 4 left")
    terminal.press("n" + "x" * 1001 + "\r", "has 1,001 characters")
    assert terminal.end("q") == 0
    assert terminal.shown.rindex("labels.jsonl: 2 answers") > terminal.shown.index("\x1b[?1049l")
    assert "2 documents" in nbtext("train labels.jsonl -o m.joblib --model multinomial").ok().err


@pytest.mark.exhaustive(every=2)
@pytest.mark.parametrize("more", [(), ("--multi-label",)], ids=["one", "several"])
def test_keys_stay_the_same(start: Any, tmp_path: Path, nbtext: Any, more: tuple[str, ...]) -> None:
    """A second session has the keys of the first one, whatever was answered, undone or typed; the
    file is still one that train reads.
    """
    done = "\r" if more else ""
    terminal = start("--labels", "sport,baking", *more)
    terminal.wait("2 baking")
    terminal.press("nwater\r" + done, "1 answer")
    terminal.press("u", "0 answers")
    terminal.press("nair\r" + done, "1 answer")
    terminal.press("2" + done, "2 answers")
    assert terminal.end("q") == 0
    for options in ((), ("--labels", "fire,baking")):
        terminal = start(*options, *more)
        screen = "\n".join(terminal.wait("2 answers"))
        for key in ("1 sport", "2 baking", "3 water", "4 air"):
            assert key in screen
        assert ("5 fire" in screen) is bool(options)
        assert terminal.end("q") == 0
    assert "2 documents, 2 labels" in nbtext("train labels.jsonl -o m.joblib").ok().err


@pytest.mark.exhaustive(every=2)
@pytest.mark.parametrize("ending", ["\x03", "kill", "lost"])
def test_nothing_is_lost(start: Any, tmp_path: Path, ending: str) -> None:
    """An answer survives Ctrl-C, kill -9 and a lost terminal; the next run goes on, and can
    undo it.
    """
    terminal = start("--labels", "sport,baking")
    name = shown_id(terminal.wait("no prediction yet"))
    following = shown_id(terminal.press("1", "1 answer"))
    before = (tmp_path / "labels.jsonl").read_bytes()
    if ending == "\x03":
        assert terminal.end(ending) == 130
        assert termios.tcgetattr(terminal.main)[3] & termios.ECHO
        assert "nbtext: interrupted" in terminal.shown
    elif ending == "lost":
        terminal.main.close()
        terminal.process.wait(SECONDS)
    else:
        terminal.process.kill()
        terminal.process.wait()
    assert (tmp_path / "labels.jsonl").read_bytes() == before
    if ending != "kill":
        return
    again = start("--labels", "sport,baking")
    assert shown_id(again.wait("1 answer")) == following
    again.press("u", f" · {name}")
    assert answers(tmp_path) == {}


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (20, 8)])
def test_hostile_texts(start: Any, tmp_path: Path, columns: int, lines: int) -> None:
    """Control and bidirectional characters are escaped, and no line is longer than the terminal,
    whatever its size.
    """
    rows = [{"id": name, "text": text} for name, text in HOSTILE.items()]
    write_rows(tmp_path / "hostile.jsonl", rows)
    terminal = start(
        "--labels",
        "a\x1b[2Jb," + ",".join(f"label {n}" for n in range(70)),
        source="hostile.jsonl",
        columns=columns,
        lines=lines,
    )
    terminal.wait("left")
    from rich.cells import cell_len

    for number in range(1, len(HOSTILE) + 1):
        screen = terminal.screen()
        assert len(screen) <= lines
        assert max(map(cell_len, screen)) <= columns
        plain = terminal.shown.rpartition("\x1b[H")[2]
        assert not re.search(r"\x1b\[2J|[\x07\x9b\u202e\u2066\u200f]", plain)
        assert all(code.endswith(("m", "K", "J", "H")) for code in ANSI.findall(plain))
        terminal.press("1", f"{number} answer")
    termios.tcsetwinsize(terminal.main, (19, 61))
    screen = terminal.press("u", "answers")
    assert (len(screen) <= 19, max(map(cell_len, screen)) <= 61) == (True, True)


def test_an_existing_model_and_one_of_keywords(start: Any, tmp_path: Path, nbtext: Any) -> None:
    """Both predict from the first document on; Enter accepts, and the model file stays."""
    write_rows(tmp_path / "train.jsonl", ROWS)
    (tmp_path / "words.csv").write_text("sport,match\nbaking,oven,flour\nspace,orbit\n")
    nbtext("train train.jsonl -o m.joblib").ok()
    nbtext("train docs.jsonl --keywords words.csv -o k.joblib").ok()
    model = (tmp_path / "m.joblib").read_bytes()
    for name_of_model in ("m.joblib", "k.joblib"):
        terminal = start("-m", name_of_model)
        name = shown_id(terminal.wait("prediction: "))
        assert f"prediction: {LABELS[name[0]]}" in "\n".join(terminal.screen())
        terminal.press("\r", "1 answer")
        assert answers(tmp_path) == {name: LABELS[name[0]]}
        terminal.press("u", "0 answers")
        assert terminal.end("q") == 0
    assert (tmp_path / "m.joblib").read_bytes() == model


@pytest.mark.exhaustive
def test_errors(start: Any, tmp_path: Path, nbtext: Any) -> None:
    """Each is one line, and nothing is written: no terminal, an empty source, a file in use."""
    nbtext("label docs.jsonl -o labels.jsonl").refused(
        2, "label needs a terminal, and standard input is not one"
    )
    (tmp_path / "empty.jsonl").write_text("")
    terminal = start(source="empty.jsonl")
    assert terminal.end() == 1
    assert "no documents to label" in terminal.shown
    assert not (tmp_path / "labels.jsonl").exists()
    first = start("--labels", "sport")
    first.wait("no prediction yet")
    second = start("--labels", "sport")
    assert second.end() == 1
    assert "another nbtext process is writing it" in second.shown
    first.press("1", "1 answer")


def test_hints_of_resuming(start: Any, tmp_path: Path, nbtext: Any) -> None:
    """What the hint says can be typed, and the answers stay as they are."""
    write_rows(tmp_path / "train.jsonl", ROWS)
    nbtext("train train.jsonl -o m -q", cwd=tmp_path).ok()

    def refuse(*arguments: str, hint: str) -> None:
        terminal = start(*arguments)
        assert terminal.end() == 2
        assert hint in terminal.shown

    advice = "start without this model, or with one of several labels"
    refuse("-m", "m", "--multi-label", hint=advice)
    row = {"id": "g1", "text": DOCUMENTS["g1"], "label": ["sport"]}
    write_rows(tmp_path / "labels.jsonl", [row])
    refuse("-m", "m", hint=advice)
    write_rows(tmp_path / "several.jsonl", [each | {"label": [each["label"]]} for each in ROWS])
    nbtext("train several.jsonl -o several -q", cwd=tmp_path).ok()
    for arguments in ((), ("-m", "several"), ("-m", "several", "--multi-label")):
        terminal = start(*arguments)
        terminal.wait("1 answer")
        assert terminal.end("q") == 0
    assert read_rows(tmp_path / "labels.jsonl") == [row]


def test_names_of_labels(start: Any, tmp_path: Path, nbtext: Any) -> None:
    """They have keys, predict each document, and say which one is uncertain, before any answer;
    later, they stand for the labels that no answer has.
    """
    names = {"baking": "oven flour", "space": "orbit planet", "sport": "match goal"}
    (tmp_path / "names.txt").write_text("".join(f"{each}: {names[each]}\n" for each in names))
    nbtext("label docs.jsonl -o labels.jsonl --names names.txt").refused(2, "--names: needs --vec")
    with (tmp_path / "table.vec").open("w") as table:
        for row, words in enumerate(names.values()):
            axis = " ".join(str(float(row == each)) for each in range(3))
            table.writelines(f"{word} {axis}\n" for word in words.split())
    given = ("--vectors", "table.vec", "--names", "names.txt")
    terminal = start(*given)
    screen = terminal.wait("prediction: ")
    for key in ("1 baking", "2 space", "3 sport"):
        assert key in "\n".join(screen)
    for number in range(1, len(DOCUMENTS)):
        assert f"prediction: {LABELS[shown_id(screen)[0]]}" in "\n".join(screen)
        screen = terminal.press("\r", f"{number} answer")
    assert terminal.end("q") == 0
    assert ANSWERS_A_NAME == 2  # chosen on training documents
    rows = [{"id": "x", "text": DOCUMENTS[name], "label": LABELS[name[0]]} for name in ("g1", "b1")]
    write_rows(tmp_path / "labels.jsonl", rows * 3)
    terminal = start(*given)
    terminal.wait("6 answers")
    assert "prediction: space" in "\n".join(terminal.press("/comet\r", " 1 left"))
    assert terminal.end("q") == 0
    (tmp_path / "labels.jsonl").unlink()
    texts = ["goal match kick"] * 3 + ["goal oven cup"] * 2 + ["oven flour", "planet orbit"] * 2
    write_rows(tmp_path / "mixed.jsonl", ({"text": text} for text in texts))
    terminal = start(*given, source="mixed.jsonl")
    assert "cup" in "\n".join(terminal.wait("prediction: "))
    assert terminal.end("q") == 0


@pytest.mark.parametrize("more", [(), ("--multi-label",)], ids=["one", "several"])
def test_texts_without_spaces_have_characters(
    start: Any, tmp_path: Path, more: tuple[str, ...]
) -> None:
    """Their words hardly repeat, so an answer says something of no other text."""
    texts = {
        "u1": "今期の売上高は増加した",
        "u2": "売上高は大きく増加している",
        "d1": "原料価格の下落で損失",
        "d2": "大きな損失で価格が下落",
    }
    write_rows(tmp_path / "j.jsonl", ({"id": name, "text": text} for name, text in texts.items()))
    terminal = start("--labels", "up,down", *more, source="j.jsonl")
    screen = terminal.wait("no prediction yet")
    done = "\r" if more else ""
    for n in (1, 2, 3):
        key = "1" if shown_id(screen)[0] == "u" else "2"
        screen = terminal.press(key + done, f"{n} answer")
    expected = "up" if shown_id(screen)[0] == "u" else "down"
    assert f"prediction: {expected}" in "\n".join(screen)
    assert terminal.end("q") == 0

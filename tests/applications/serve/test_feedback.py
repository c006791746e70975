"""Feedback is on the disk before it is confirmed, whenever the service is killed, and `nbtext
update` learns it.
"""

import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from made_files import read_rows
from waiting import wait_until

from nbtext.applications.serve.feedback import open_feedback
from nbtext.errors import OutputError

TOP = Path(__file__).parents[3]
Running = Any  # see conftest.py
Start = Any
PATH = "/v1/models/letters/feedback"
FIRST = {"text": "first", "label": "noise"}
SECOND = {"text": "second", "label": "noise"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of the feedback."""
    return tmp_path / "letters.jsonl"


@pytest.fixture
def service(start: Start, model: Path, tmp_path: Path) -> Running:
    """A service that stores feedback."""
    return start("-m", model, "--feedback-dir", tmp_path)


def test_feedback_is_stored(start: Start, nbtext: Any, model: Path, tmp_path: Path) -> None:
    """JSON and JSON lines become lines that `nbtext update` reads; nothing is stored of a request
    that is refused.
    """
    service = start("-m", model, "--feedback-dir", tmp_path / "new" / "dir")
    path = tmp_path / "new" / "dir" / "letters.jsonl"
    documents = [{"text": "a\nb", "label": "taxes", "id": 7}, {"text": "", "label": "noise"}]
    assert service.post(PATH, documents).value == {"stored": 2}
    lines = '{"text": "ä", "label": "parking", "other": 1}\n\n{"text": "y", "label": "parking"}'
    answer = service.post(PATH, lines.encode("utf-8-sig"), content_type="application/jsonl")
    assert answer.value == {"stored": 2}
    assert [(each["id"], each["text"], each["label"]) for each in read_rows(path)] == [
        ("7", "a\nb", "taxes"),
        ("2", "", "noise"),
        ("1", "ä", "parking"),
        ("3", "y", "parking"),
    ]
    before = path.read_bytes()
    for body, message in (
        ([FIRST, {"text": "y"}], "2: the document has no label; its keys or columns are: text"),
        ({"text": "x", "label": "nose"}, "the model has no label 'nose'; did you mean noise?"),
        ({"text": "x", "label": "n" * 1001}, "the maximum is 1,000"),
    ):
        service.post(PATH, body).refused(400, message)
    service.post(PATH, "x", content_type="text/plain").refused(400, "the document has no label")
    service.post(PATH, FIRST, origin="https://evil.example").refused(403, "another origin")
    assert service.post("/v1/models/other/feedback", FIRST).status == 404
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o600
    copy = tmp_path / "copy.joblib"
    copy.write_bytes(model.read_bytes())
    nbtext(f"update {copy} {path}").ok()


def test_an_empty_label_is_none(start: Start, model: Path, path: Path) -> None:
    """Of one document, of one among several, and of a line; also where new labels are accepted."""
    growing = start("-m", model, "--feedback-dir", path.parent, "--new-labels")
    for label in ("", " ", None):
        row = {"text": "x", "label": label}
        for body, where in ((row, 1), ([FIRST, row], 2)):
            growing.post(PATH, body).refused(400, f"{where}: the document has no label")
        line = json.dumps(row)
        assert growing.post(PATH, line, content_type="application/jsonl").status == 400
    assert path.read_bytes() == b""
    assert growing.post(PATH, {"text": "x", "label": "brand new"}).value == {"stored": 1}


@pytest.mark.parametrize(
    ("options", "names"),
    [("message", ["message"]), ("subject,body --separate-fields", ["subject", "body"])],
)
def test_the_keys_of_text_and_label(
    start: Start, nbtext: Any, tmp_path: Path, options: str, names: list[str]
) -> None:
    """Those of the training data are accepted, and `label`; a message names the keys of this
    model.
    """
    rows = [[*names, "category"], ["red"] * len(names) + ["a"], ["blue"] * len(names) + ["b"]]
    (tmp_path / "t.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    nbtext(f"train t.csv --text-field {options} --label-field category -o m.joblib").ok()
    service = start("-m", tmp_path / "m.joblib", "--feedback-dir", tmp_path / "f")
    path = "/v1/models/m/feedback"
    text = dict.fromkeys(names, "red")
    for label in ({"category": "a"}, {"label": "a"}, {"category": "a", "label": "not this one"}):
        assert service.post(path, [text | label]).value == {"stored": 1}
    stored = read_rows(tmp_path / "f" / "m.jsonl")
    assert [each["category"] for each in stored] == ["a"] * 3
    assert all(each.keys() == {"id", *names, "category", "time"} for each in stored)
    nbtext("update m.joblib f/m.jsonl").ok()
    service.post(path, {"txt": "red", "label": "a"}).refused(
        400, f"no key `{names[0]}`, found txt, label"
    )
    service.post(path, [text | {"label": "a"}, text]).refused(400, "2: the document has no label")


def test_feedback_is_off_by_default(start: Start, model: Path) -> None:
    start("-m", model).post(PATH, FIRST).refused(404, "this service stores no feedback")


def test_two_services_do_not_share_a_file(
    service: Running, start: Start, model: Path, tmp_path: Path
) -> None:
    assert service.post(PATH, FIRST).status == 200
    second = start("-m", model, "--feedback-dir", tmp_path)
    assert second.process.wait(timeout=30) == 1
    assert "another nbtext process is writing it" in second.said[-1]


def test_a_file_that_is_moved_away(service: Running, path: Path, tmp_path: Path) -> None:
    """Later lines go to a new file."""
    service.post(PATH, FIRST)
    path.rename(tmp_path / "moved")
    service.post(PATH, SECOND)
    assert [each["text"] for each in read_rows(tmp_path / "moved")] == ["first"]
    assert [each["text"] for each in read_rows(path)] == ["second"]


LINE = b'{"id": "1", "text": "x", "label": "a", "time": "2026-01-01T00:00:00+00:00"}'


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (b"", b""),
        (LINE + b"\n", LINE + b"\n"),
        (LINE + b'\n{"id": 2', LINE + b"\n"),
        (LINE + b"\n" + LINE, LINE + b"\n" + LINE + b"\n"),
        (LINE + b'\n{"id": "' + b"x" * 200_000, LINE + b"\n"),
    ],
)
def test_a_line_that_was_not_completed(path: Path, content: bytes, kept: bytes) -> None:
    """It was not confirmed to anybody, and would spoil the next one."""
    path.write_bytes(content)
    open_feedback(str(path)).close()
    assert path.read_bytes() == kept


@pytest.mark.parametrize(
    "content",
    [
        b"precious, no newline",
        b'["id", "time"]\n',
        b"text,label\nx,a",
        b'{"id": "1',
        b"\n",
        LINE + b"\na note",
        LINE + b'\n{"a": 1}',
        LINE + b"\n\n" + LINE,
        LINE + b'\n{"a"\n',
        LINE + b"\n" + b"[" * 9_999,
    ],
)
def test_a_file_of_somebody_else_is_refused(path: Path, content: bytes) -> None:
    """Only an unfinished line after lines of a service may be removed."""
    path.write_bytes(content)
    with pytest.raises(
        OutputError,
        match=r"letters\.jsonl:[123]: has a line that nbtext serve did not store; name another",
    ):
        open_feedback(str(path))
    assert path.read_bytes() == content


def test_a_service_beside_a_file_of_somebody_else(
    start: Start, model: Path, tmp_path: Path, path: Path
) -> None:
    """The service does not start; if the file comes later, its feedback is refused, and the file
    stays.
    """
    path.write_text("precious, no newline")
    refused = start("-m", model, "--feedback-dir", tmp_path)
    assert refused.process.wait(timeout=30) == 1
    assert "letters.jsonl:1: has a line" in refused.said[-1]
    assert path.read_text() == "precious, no newline"
    path.unlink()
    service = start("-m", model, "--feedback-dir", tmp_path)
    assert service.post(PATH, FIRST).status == 200
    stored = path.read_text() + "a note"
    path.write_text(stored)  # in the open file
    assert service.post(PATH, SECOND).status == 507
    assert path.read_text() == stored
    path.unlink()
    path.write_text("precious, no newline")  # in its place
    assert service.post(PATH, SECOND).status == 507
    assert path.read_text() == "precious, no newline"
    path.unlink()
    assert service.post(PATH, SECOND).status == 200


def test_a_file_that_cannot_be_written(
    start: Start, model: Path, tmp_path: Path, path: Path
) -> None:
    """The client is told, and a part of a line is not left behind."""
    limit = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))"
    )
    service = start("-m", model, "--feedback-dir", tmp_path, before=limit)
    answers = [service.post(PATH, {"text": "x" * 100, "label": "noise"}) for _ in range(30)]
    answers[-1].refused(507, "file too large")
    statuses = [each.status for each in answers]
    assert set(statuses) == {200, 507}
    assert [each["text"] for each in read_rows(path)] == ["x" * 100] * statuses.count(200)
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.exhaustive
def test_no_confirmed_feedback_is_lost(
    start: Start, model: Path, tmp_path: Path, path: Path
) -> None:
    """Killed at any moment: what was confirmed is in the file, once, and the file holds whole lines
    only.
    """
    confirmed: list[str] = []
    dice = random.Random(3)
    for turn in range(5):
        service = start("-m", model, "--feedback-dir", tmp_path)

        def send(client: int, turn: int = turn, service: Running = service) -> None:
            connection = service.connect()
            try:
                for number in range(100_000):
                    name = f"{turn}.{client}.{number}"
                    body = [{"text": f"{name} " + "x" * 3000, "label": "noise", "id": name}]
                    connection.request(
                        "POST", PATH, json.dumps(body), {"content-type": "application/json"}
                    )
                    if connection.getresponse().read() == b'{"stored":1}':
                        confirmed.append(name)
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()

        threads = [threading.Thread(target=send, args=(client,)) for client in range(8)]
        for thread in threads:
            thread.start()
        goal = len(confirmed) + 50 + dice.randrange(50)
        wait_until(lambda goal=goal: len(confirmed) >= goal)
        assert service.end(signal.SIGKILL) == -signal.SIGKILL
        for thread in threads:
            thread.join()
    open_feedback(str(path)).close()
    stored = [row["id"] for row in read_rows(path)]
    assert len(confirmed) > 200
    assert set(confirmed) <= set(stored)
    assert len(stored) == len(set(stored))


def test_a_model_learns(start: Start, model: Path, tmp_path: Path) -> None:
    """The script of the guide, as it stands there: the service answers by what it has learned, each
    text once.
    """
    folder = tmp_path / "feedback"
    (script,) = re.findall(
        r"```sh\n(.*?)```", (TOP / "nbtext" / "guides" / "serve.md").read_text(), re.DOTALL
    )
    (tmp_path / "learn").write_text(script)
    (tmp_path / "nbtext").write_text(f'#!/bin/sh\nexec {sys.executable} -m nbtext "$@"\n')
    (tmp_path / "nbtext").chmod(0o755)
    environment = {
        **os.environ,
        "PYTHONPATH": str(TOP),
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
    }

    def learn() -> tuple[int, bytes]:
        done = subprocess.run(
            ["sh", "learn"], cwd=tmp_path, env=environment, capture_output=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    before = model.read_bytes()
    copied = tmp_path / "letters.joblib"
    copied.write_bytes(before)
    service = start("-m", copied, "--feedback-dir", folder, "--new-labels")
    assert (learn(), copied.read_bytes()) == ((0, b""), before), "there is nothing to learn"
    assert service.predict({"text": "xylophone lessons"})["known"] == 0
    for _ in range(5):
        service.post(PATH, {"text": "xylophone lessons in the xylophone hall", "label": "music"})
    copied.rename(tmp_path / "away")
    assert learn()[0] == 1, "there is no model to update"
    (tmp_path / "away").rename(copied)
    service.post(PATH, [{"text": "the bins", "label": "trash"}] * 3)
    assert learn() == (0, b""), "also what the last run could not learn"
    wait_until(lambda: service.label_of("xylophone lessons") == "music")
    learned = sorted((folder / "learned").iterdir())
    assert sum(len(path.read_bytes().splitlines()) for path in learned) == 8
    after = copied.read_bytes()
    assert (learn(), copied.read_bytes()) == ((0, b""), after), "nothing is learned twice"
    assert service.post(PATH, {"text": "a zither", "label": "music"}).value == {"stored": 1}, (
        "to a new file"
    )
    assert "zither" in (folder / "letters.jsonl").read_text()

"""Feedback is on the disk before it is confirmed, and is learned exactly once, whenever the service is killed."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from nbtext.errors import OutputError
from nbtext.serve.feedback import FeedbackFile
from nbtext.serve.learning import Learned, Progress, learn, progress_path
from nbtext.text_classifier import TextClassifier

TOP = Path(__file__).parents[2]
Running = Any  # see conftest.py
Start = Any
PATH = "/v1/models/letters/feedback"


def update(model: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`nbtext update MODEL`."""
    return subprocess.run(
        [sys.executable, "-m", "nbtext", "update", str(model), *arguments, "-q"],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(TOP)},
    )  # fmt: skip


def wait_until(is_so: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


@pytest.fixture
def copied(model: Path, tmp_path: Path) -> Path:
    """A model that may be changed."""
    (tmp_path / "letters.joblib").write_bytes(model.read_bytes())
    return tmp_path / "letters.joblib"


def test_feedback_is_stored(start: Start, model: Path, tmp_path: Path) -> None:
    """JSON and JSON lines become lines that `nbtext update` reads; nothing is stored of a request that is refused."""
    service = start("-m", model, "--feedback-dir", tmp_path / "new" / "dir")
    path = tmp_path / "new" / "dir" / "letters.jsonl"
    assert service.post(PATH, {"text": "the bins", "label": "trash", "other": 1}).value == {"stored": 1}
    assert service.post(PATH, [{"text": "a\nb", "label": "taxes", "id": 7}, {"text": "", "label": "noise"}]).value == {
        "stored": 2
    }
    lines = b'{"text": "x", "label": "parking"}\n\n{"text": "y", "label": "parking"}'
    assert service.post(PATH, lines, content_type="application/x-ndjson").value == {"stored": 2}
    stored = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(each["id"], each["text"], each["label"]) for each in stored] == [
        ("1", "the bins", "trash"), ("7", "a\nb", "taxes"), ("2", "", "noise"), ("1", "x", "parking"),
        ("3", "y", "parking"),
    ]  # fmt: skip
    before = path.read_bytes()
    for body, headers, status, message in (
        ([{"text": "x", "label": "noise"}, {"text": "y"}], {}, 400, "document 2: there is no label"),
        ({"text": "x", "label": "nose"}, {}, 400, "the model has no label 'nose'; did you mean noise?"),
        ({"label": "noise"}, {}, 400, "no key `text`"),
        ({"text": "x", "label": "n" * 1001}, {}, 400, "the maximum is 1,000"),
        ("x", {"content_type": "text/plain"}, 415, "feedback has labels"),
        ('{"text": "x", "label": "noise"}', {"content_type": "text/plain"}, 415, "feedback has labels"),
        ({"text": "x", "label": "noise"}, {"origin": "https://evil.example"}, 403, "another origin"),
    ):
        answer = service.post(PATH, body, **headers)
        assert (answer.status, message in answer.value["error"]) == (status, True), answer
    assert service.post("/v1/models/other/feedback", {"text": "x", "label": "noise"}).status == 404
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o600
    copy = tmp_path / "copy.joblib"
    copy.write_bytes(model.read_bytes())
    assert update(copy, str(path)).stderr == ""


def test_new_labels(start: Start, model: Path, tmp_path: Path) -> None:
    service = start("-m", model, "--feedback-dir", tmp_path, "--new-labels")
    assert service.post(PATH, {"text": "x", "label": "brand new"}).value == {"stored": 1}


def test_feedback_is_off_by_default(service: Running) -> None:
    answer = service.post(PATH, {"text": "x", "label": "noise"})
    assert (answer.status, answer.value["error"]) == (404, "this service stores no feedback")


def test_two_services_do_not_share_a_file(start: Start, model: Path, tmp_path: Path) -> None:
    start("-m", model, "--feedback-dir", tmp_path)
    second = start("-m", model, "--feedback-dir", tmp_path)
    assert second.process.wait(timeout=30) == 1
    assert "another nbtext process is writing it" in second.said[-1]


def test_a_file_that_is_moved_away(start: Start, model: Path, tmp_path: Path) -> None:
    """Later lines go to a new file."""
    service, path = start("-m", model, "--feedback-dir", tmp_path), tmp_path / "letters.jsonl"
    service.post(PATH, {"text": "first", "label": "noise"})
    path.rename(tmp_path / "moved")
    service.post(PATH, {"text": "second", "label": "noise"})
    assert "first" in (tmp_path / "moved").read_text()
    assert "second" in path.read_text()
    assert "second" not in (tmp_path / "moved").read_text()


def test_a_file_that_can_be_opened_again(start: Start, model: Path, tmp_path: Path) -> None:
    """After a new file could not be opened, later lines go to it as soon as it can."""
    service, path = start("-m", model, "--feedback-dir", tmp_path), tmp_path / "letters.jsonl"
    path.unlink()
    path.mkdir()
    answer = service.post(PATH, {"text": "first", "label": "noise"})
    assert (answer.status, "is a directory" in answer.value["error"]) == (507, True)
    path.rmdir()
    assert service.post(PATH, {"text": "second", "label": "noise"}).status == 200
    assert "second" in path.read_text()


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (b"", b""),
        (b'{"a": 1}\n', b'{"a": 1}\n'),
        (b'{"a": 1}\n{"b": 2', b'{"a": 1}\n'),
        (b'{"a": 1}\n{"b": 2}', b'{"a": 1}\n{"b": 2}\n'),
        (b'{"b": "' + b"x" * 200_000, b""),
        (b'{"a": 1}\n' + b'{"b": "' + b"x" * 200_000, b'{"a": 1}\n'),
    ],
)
def test_a_line_that_was_not_completed(tmp_path: Path, content: bytes, kept: bytes) -> None:
    """It was not confirmed to anybody, and would spoil the next one."""
    path = tmp_path / "f.jsonl"
    path.write_bytes(content)
    FeedbackFile(str(path)).close()
    assert path.read_bytes() == kept


def test_a_file_that_cannot_be_written(start: Start, model: Path, tmp_path: Path) -> None:
    """The client is told, and a part of a line is not left behind."""
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "letters.jsonl").mkdir()
    with pytest.raises(OutputError):
        FeedbackFile(str(tmp_path / "dir" / "letters.jsonl"))
    program = (
        "import resource, runpy, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500)); sys.argv[0] = 'nbtext';"
        "runpy.run_module('nbtext', run_name='__main__')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, "serve", "-m", str(model), "--port", "0", "--feedback-dir", str(tmp_path)],
        stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(TOP)},
    )  # fmt: skip
    with process:
        assert process.stderr is not None
        port = int(process.stderr.readline().partition(";")[0].rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        statuses = []
        for _ in range(30):
            body = json.dumps({"text": "x" * 100, "label": "noise"})
            connection.request("POST", PATH, body, {"content-type": "application/json"})
            response = connection.getresponse()
            statuses.append(response.status)
            answer = response.read()
        connection.close()
        process.terminate()
        process.stderr.read()
    stored = (tmp_path / "letters.jsonl").read_bytes()
    assert set(statuses) == {200, 507}
    assert b"file too large" in answer
    assert [json.loads(line)["text"] for line in stored.splitlines()] == ["x" * 100] * statuses.count(200)
    assert stored.endswith(b"\n")


@pytest.mark.exhaustive
def test_no_confirmed_feedback_is_lost(start: Start, model: Path, tmp_path: Path) -> None:
    """Killed at any moment: what was confirmed is in the file, once, and the file holds whole lines only."""
    confirmed: list[str] = []
    dice, path = random.Random(3), tmp_path / "letters.jsonl"
    for turn in range(5):
        service = start("-m", model, "--feedback-dir", tmp_path)

        def send(client: int, turn: int = turn, service: Running = service) -> None:
            connection = service.connect()
            try:
                for number in range(100_000):
                    name = f"{turn}.{client}.{number}"
                    body = [{"text": f"{name} " + "x" * 3000, "label": "noise", "id": name}] * 1
                    connection.request("POST", PATH, json.dumps(body), {"content-type": "application/json"})
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
    FeedbackFile(str(path)).close()
    stored = [json.loads(line)["id"] for line in path.read_bytes().splitlines()]
    assert len(confirmed) > 200
    assert set(confirmed) <= set(stored)
    assert len(stored) == len(set(stored))


def test_a_model_learns(start: Start, copied: Path, tmp_path: Path) -> None:
    """The service answers by what it has learned, and the model file has the bytes that `nbtext update` gives it."""
    expected = tmp_path / "expected.joblib"
    expected.write_bytes(copied.read_bytes())
    service = start("-m", copied, "--feedback-dir", tmp_path, "--learn", "--new-labels")
    ask = {"text": "xylophone lessons"}
    assert service.post("/v1/predict", ask).value["label"] is not None
    for _ in range(5):
        service.post(PATH, {"text": "xylophone lessons in the xylophone hall", "label": "music"})
    wait_until(lambda: service.post("/v1/predict", ask).value["label"] == "music")
    service.post(PATH, [{"text": "the bins", "label": "trash"}] * 3)
    wait_until(lambda: b'nbtext_learned_documents_total{model="letters"} 8.0' in service.get("/metrics").body)
    assert update(expected, str(tmp_path / "letters.jsonl")).returncode == 0
    assert copied.read_bytes() == expected.read_bytes()
    assert service.end() == 0
    again = start("-m", copied, "--feedback-dir", tmp_path, "--learn")
    time.sleep(3)
    assert copied.read_bytes() == expected.read_bytes(), "nothing is learned twice"
    assert again.log("learn") == []


@pytest.mark.exhaustive
def test_learning_beside_other_programs(start: Start, copied: Path, tmp_path: Path) -> None:
    """`nbtext update` between two updates of the service changes the same model; nothing is lost."""
    (tmp_path / "other.jsonl").write_text('{"text": "a zither", "label": "noise"}\n' * 4)
    expected = tmp_path / "expected.joblib"
    expected.write_bytes(copied.read_bytes())
    service = start("-m", copied, "--feedback-dir", tmp_path, "--learn")
    service.post(PATH, {"text": "first", "label": "noise"})
    wait_until(lambda: service.log("learn") != [])
    assert update(copied, str(tmp_path / "other.jsonl")).returncode == 0
    service.post(PATH, {"text": "second", "label": "taxes"})
    wait_until(lambda: len(service.log("learn")) == 2)
    assert service.end() == 0
    assert update(expected, str(tmp_path / "letters.jsonl"), str(tmp_path / "other.jsonl")).returncode == 0
    assert copied.read_bytes() == expected.read_bytes()


def test_a_model_that_cannot_learn(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "linear.joblib"
    TextClassifier(model="logistic").fit(["red", "blue"] * 5, ["a", "b"] * 5).save(path)
    service = start("-m", path, "--feedback-dir", tmp_path, "--learn")
    assert service.process.wait(timeout=30) == 1
    assert "linear.joblib: documents cannot be added to or removed from logistic models" in service.said[-1]


def feedback(path: Path, *texts: str) -> None:
    with path.open("a") as file:
        for text in texts:
            file.write(json.dumps({"text": text, "label": "noise"}) + "\n")


class Killed(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize("step", ["before the record", "after the record", "after the model"])
def test_killed_while_it_learns(copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """At each step between reading and the end: the next update learns what is missing, and nothing twice."""
    from nbtext.serve import learning

    path, expected = tmp_path / "letters.jsonl", tmp_path / "expected.joblib"
    feedback(path, "one", "two")
    assert learn(str(copied), str(path)) == Learned(2)
    expected.write_bytes(copied.read_bytes())
    feedback(path, "three", "four")

    def kill(*arguments: Any) -> None:
        if step == "after the model":
            saved(*arguments)
        raise Killed

    saved = learning.save_model
    with monkeypatch.context() as patch:
        patch.setattr(learning, "atomic_output" if step == "before the record" else "save_model", kill)
        with pytest.raises(Killed):
            learn(str(copied), str(path))
    feedback(path, "five")
    assert learn(str(copied), str(path)).n_documents == (1 if step == "after the model" else 3)
    assert learn(str(copied), str(path)) == Learned()
    rest = tmp_path / "rest.jsonl"
    feedback(rest, "three", "four", "five")
    update(expected, str(rest))
    assert copied.read_bytes() == expected.read_bytes()


def test_another_file_of_feedback(copied: Path, tmp_path: Path) -> None:
    """A file that was moved away is followed by one that is learned from its beginning."""
    path = tmp_path / "letters.jsonl"
    feedback(path, "one", "two")
    assert learn(str(copied), str(path)) == Learned(2)
    path.unlink()
    feedback(path, "three")
    assert learn(str(copied), str(path)) == Learned(1)
    path.unlink()
    feedback(path, "a longer text than before", "another one")
    assert learn(str(copied), str(path)) == Learned(2)


def test_lines_that_are_no_documents(copied: Path, tmp_path: Path) -> None:
    """They are counted and passed over, once; an incomplete line waits."""
    path = tmp_path / "letters.jsonl"
    path.write_text('nothing\n{"text": "x"}\n{"text": "y", "label": "noise"}\n{"text": "z", "la')
    assert learn(str(copied), str(path)) == Learned(1, 2)
    assert learn(str(copied), str(path)) == Learned()
    with path.open("a") as file:
        file.write('bel": "noise"}\n[]\n')
    assert learn(str(copied), str(path)) == Learned(1, 1)
    path.write_text(path.read_text() + "3\n")
    before = copied.read_bytes()
    assert learn(str(copied), str(path)) == Learned(0, 1)
    assert copied.read_bytes() == before
    assert learn(str(copied), str(path)) == Learned()
    assert Progress(**json.loads(Path(progress_path(str(path))).read_text())).end == path.stat().st_size

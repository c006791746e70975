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


@pytest.fixture
def copied(model: Path, tmp_path: Path) -> Path:
    """A model that may be changed."""
    (tmp_path / "letters.joblib").write_bytes(model.read_bytes())
    return tmp_path / "letters.joblib"


def test_labels_and_ids_are_read_as_from_a_file(start: Start, model: Path, tmp_path: Path) -> None:
    """They are spelled as Python spells them, without white space at their ends, in JSON and in
    JSON lines.
    """
    service = start("-m", model, "--feedback-dir", tmp_path / "new", "--new-labels")
    path = tmp_path / "new" / "letters.jsonl"
    items = (
        '{"text": "x", "label": " noise\\u00a0", "id": " 9 "}',
        '{"text": "x", "label": 1.50, "id": true}',
        '{"text": "x", "label": true, "id": 1e3}',
        '{"text": "x", "label": 7, "id": "\\t"}',
    )
    for item in items:
        assert service.post(PATH, item.encode(), content_type="application/json").value == {
            "stored": 1
        }
    assert service.post(
        PATH, "\n".join(items).encode(), content_type="application/x-ndjson"
    ).value == {"stored": 4}
    stored = read_rows(path)
    expected = [("noise", "9"), ("1.5", "True"), ("True", "1000.0"), ("7", "1")]
    assert [(each["label"], each["id"]) for each in stored[:4]] == expected
    assert [(each["label"], each["id"]) for each in stored[4:]] == [*expected[:3], ("7", "4")]
    answer = service.post(PATH, {"text": "x", "label": " "})
    assert (answer.status, "there is no label" in answer.value["error"]) == (400, True)


def test_feedback_is_stored(start: Start, nbtext: Any, model: Path, tmp_path: Path) -> None:
    """JSON and JSON lines become lines that `nbtext update` reads; nothing is stored of a request
    that is refused.
    """
    service = start("-m", model, "--feedback-dir", tmp_path / "new" / "dir")
    path = tmp_path / "new" / "dir" / "letters.jsonl"
    assert service.post(PATH, {"text": "the bins", "label": "trash", "other": 1}).value == {
        "stored": 1
    }
    assert service.post(
        PATH, [{"text": "a\nb", "label": "taxes", "id": 7}, {"text": "", "label": "noise"}]
    ).value == {"stored": 2}
    lines = b'{"text": "x", "label": "parking"}\n\n{"text": "y", "label": "parking"}'
    assert service.post(PATH, lines, content_type="application/x-ndjson").value == {"stored": 2}
    stored = read_rows(path)
    assert [(each["id"], each["text"], each["label"]) for each in stored] == [
        ("1", "the bins", "trash"),
        ("7", "a\nb", "taxes"),
        ("2", "", "noise"),
        ("1", "x", "parking"),
        ("3", "y", "parking"),
    ]
    before = path.read_bytes()
    for body, headers, status, message in (
        (
            [{"text": "x", "label": "noise"}, {"text": "y"}],
            {},
            400,
            "document 2: there is no label",
        ),
        (
            {"text": "x", "label": "nose"},
            {},
            400,
            "the model has no label 'nose'; did you mean noise?",
        ),
        ({"label": "noise"}, {}, 400, "no key `text`"),
        ({"text": "x", "label": "n" * 1001}, {}, 400, "the maximum is 1,000"),
        ("x", {"content_type": "text/plain"}, 400, "there is no label; its key is `label`"),
        (
            {"text": "x", "label": "noise"},
            {"origin": "https://evil.example"},
            403,
            "another origin",
        ),
    ):
        answer = service.post(PATH, body, **headers)
        assert (answer.status, message in answer.value["error"]) == (status, True), answer
    assert service.post("/v1/models/other/feedback", {"text": "x", "label": "noise"}).status == 404
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o600
    copy = tmp_path / "copy.joblib"
    copy.write_bytes(model.read_bytes())
    nbtext(f"update {copy} {path}").ok()


def test_an_empty_label_is_none(start: Start, model: Path, tmp_path: Path) -> None:
    """Of one document, of one among several, and of a line; also where new labels are accepted."""
    service = start("-m", model, "--feedback-dir", tmp_path, "--new-labels")
    row = {"text": "x", "label": ""}
    for body, where in ((row, ""), ([{"text": "x", "label": "noise"}, row], "document 2: ")):
        answer = service.post(PATH, body)
        assert answer.status == 400
        assert answer.value["error"].startswith(f"{where}there is no label; its key is `label`")
    assert service.post(PATH, json.dumps(row), content_type="application/jsonl").status == 400
    assert service.post(PATH, {"text": "x", "label": None}).status == 400
    assert (tmp_path / "letters.jsonl").read_bytes() == b""


def test_lines_with_a_byte_order_mark(start: Start, model: Path, tmp_path: Path) -> None:
    service = start("-m", model, "--feedback-dir", tmp_path)
    lines = '{"text": "ä", "label": "noise"}\n{"text": "b", "label": "noise"}'.encode("utf-8-sig")
    assert service.post(PATH, lines, content_type="application/jsonl").value == {"stored": 2}
    stored = read_rows(tmp_path / "letters.jsonl")
    assert [each["text"] for each in stored] == ["ä", "b"]


TABLES = {  # options of `train`, and the keys of a text
    "one": ("message", ("message",)),
    "joined": ("subject,body", ("subject", "body")),
    "separate": ("subject,body --separate-fields", ("subject", "body")),
}


@pytest.mark.parametrize("kind", TABLES)
def test_the_keys_of_text_and_label(start: Start, nbtext: Any, tmp_path: Path, kind: str) -> None:
    """Those of the training data are accepted, and `text` and `label`; a message names the keys of
    this model.
    """
    options, names = TABLES[kind]
    header = ",".join((*names, "category"))
    rows = [
        f"{','.join([word] * len(names))},{label}"
        for word, label in (("red", "a"), ("blue", "b"), ("green", "b"))
    ]
    (tmp_path / "t.csv").write_text("\n".join([header, *rows, ""]))
    names_of = f"--text-field {options} --label-field category"
    nbtext(*f"train t.csv --model multinomial {names_of} -o m.joblib".split()).ok()
    service = start("-m", tmp_path / "m.joblib", "--feedback-dir", tmp_path / "f")
    path = "/v1/models/m/feedback"
    texts = [dict.fromkeys(names, "red"), *([{"text": "red"}] if kind != "separate" else [])]
    for text in texts:
        for label in (
            {"category": "a"},
            {"label": "a"},
            {"category": "a", "label": "not this one"},
        ):
            body = json.dumps(text | label)
            for content_type in ("application/json", "application/jsonl"):
                assert service.post(path, body, content_type=content_type).value == {"stored": 1}
            assert service.post(path, [text | label] * 2).value == {"stored": 2}
    stored = read_rows(tmp_path / "f" / "m.jsonl")
    assert {each["category"] for each in stored} == {"a"}
    assert all(each.keys() == {"id", *names, "category", "time"} for each in stored)
    nbtext("update m.joblib f/m.jsonl").ok()
    for body, messages in (
        ({"txt": "red", "label": "a"}, (f"no key `{names[0]}`, found txt, label",)),
        ([texts[0] | {"label": "a"}, {"txt": "x"}], ("document 2: no key",)),
        (
            [texts[-1] | {"label": "a"}, texts[-1]],
            ("document 2: there is no label; its key is `category` or `label`",),
        ),
        (texts[0], ("there is no label; its key is `category` or `label`",)),
    ):
        for answer in (service.post(path, body), service.post("/v1/predict", body)):
            if answer.status == 200:
                continue
            assert answer.status == 400
            assert all(each in answer.value["error"] for each in messages), answer.value["error"]


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
    service = start("-m", model, "--feedback-dir", tmp_path)
    path = tmp_path / "letters.jsonl"
    service.post(PATH, {"text": "first", "label": "noise"})
    path.rename(tmp_path / "moved")
    service.post(PATH, {"text": "second", "label": "noise"})
    assert "first" in (tmp_path / "moved").read_text()
    assert "second" in path.read_text()
    assert "second" not in (tmp_path / "moved").read_text()


def test_a_file_that_can_be_opened_again(start: Start, model: Path, tmp_path: Path) -> None:
    """After a new file could not be opened, later lines go to it as soon as it can."""
    service = start("-m", model, "--feedback-dir", tmp_path)
    path = tmp_path / "letters.jsonl"
    path.unlink()
    path.mkdir()
    answer = service.post(PATH, {"text": "first", "label": "noise"})
    assert (answer.status, "is a directory" in answer.value["error"]) == (507, True)
    path.rmdir()
    assert service.post(PATH, {"text": "second", "label": "noise"}).status == 200
    assert "second" in path.read_text()


LINE = b'{"id": "1", "text": "x", "label": "a", "time": "2026-01-01T00:00:00+00:00"}'


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (b"", b""),
        (LINE + b"\n", LINE + b"\n"),
        (LINE + b'\n{"id": 2', LINE + b"\n"),
        (LINE + b"\n{", LINE + b"\n"),
        (LINE + b"\n" + LINE, LINE + b"\n" + LINE + b"\n"),
        (LINE + b'\n{"id": "' + b"x" * 200_000, LINE + b"\n"),
    ],
)
def test_a_line_that_was_not_completed(tmp_path: Path, content: bytes, kept: bytes) -> None:
    """It was not confirmed to anybody, and would spoil the next one."""
    path = tmp_path / "f.jsonl"
    path.write_bytes(content)
    open_feedback(str(path)).close()
    assert path.read_bytes() == kept


@pytest.mark.parametrize(
    "content",
    [
        b"precious, no newline",
        b'[{"id": "1", "time": "x"}]',
        b'["id", "time"]\n',
        b"text,label\nx,a",
        b'{"id": "1',
        b"\n",
        b"\0" * 9,
        b'{"a": 1}',
        LINE + b"\na note",
        LINE + b'\n{"a": 1}',
        LINE + b"\n\n" + LINE,
        LINE + b'\n{"a"\n',
        LINE + b"\n" + b"[" * 9_999,
    ],
)
def test_a_file_of_somebody_else_is_refused(tmp_path: Path, content: bytes) -> None:
    """Only an unfinished line after lines of a service may be removed."""
    path = tmp_path / "f.jsonl"
    path.write_bytes(content)
    with pytest.raises(
        OutputError,
        match=r"f\.jsonl:[123]: has a line that nbtext serve did not store; name another",
    ):
        open_feedback(str(path))
    assert path.read_bytes() == content


def test_a_service_beside_a_file_of_somebody_else(
    start: Start, model: Path, tmp_path: Path
) -> None:
    """The service does not start; if the file comes later, its feedback is refused, and the file
    stays.
    """
    path = tmp_path / "letters.jsonl"
    path.write_text("precious, no newline")
    refused = start("-m", model, "--feedback-dir", tmp_path)
    assert refused.process.wait(timeout=30) == 1
    assert "letters.jsonl:1: has a line" in refused.said[-1]
    assert path.read_text() == "precious, no newline"
    path.unlink()
    service = start("-m", model, "--feedback-dir", tmp_path)
    assert service.post(PATH, {"text": "first", "label": "noise"}).status == 200
    stored = path.read_text()
    with path.open("a") as file:
        file.write("a note")  # in the open file
    assert service.post(PATH, {"text": "second", "label": "noise"}).status == 507
    assert path.read_text() == stored + "a note"
    path.unlink()
    path.write_text("precious, no newline")  # in its place
    assert service.post(PATH, {"text": "second", "label": "noise"}).status == 507
    assert path.read_text() == "precious, no newline"
    path.unlink()
    assert service.post(PATH, {"text": "second", "label": "noise"}).status == 200


def test_a_file_that_cannot_be_written(start: Start, model: Path, tmp_path: Path) -> None:
    """The client is told, and a part of a line is not left behind."""
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "letters.jsonl").mkdir()
    with pytest.raises(OutputError):
        open_feedback(str(tmp_path / "dir" / "letters.jsonl"))
    program = (
        "import resource, runpy, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500)); sys.argv[0] = 'nbtext';"
        "runpy.run_module('nbtext', run_name='__main__')"
    )
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            program,
            "serve",
            "-m",
            str(model),
            "--port",
            "0",
            "--feedback-dir",
            str(tmp_path),
        ],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TOP)},
    )
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
    assert [json.loads(line)["text"] for line in stored.splitlines()] == [
        "x" * 100
    ] * statuses.count(200)
    assert stored.endswith(b"\n")


@pytest.mark.exhaustive
def test_no_confirmed_feedback_is_lost(start: Start, model: Path, tmp_path: Path) -> None:
    """Killed at any moment: what was confirmed is in the file, once, and the file holds whole lines
    only.
    """
    confirmed: list[str] = []
    dice = random.Random(3)
    path = tmp_path / "letters.jsonl"
    for turn in range(5):
        service = start("-m", model, "--feedback-dir", tmp_path)

        def send(client: int, turn: int = turn, service: Running = service) -> None:
            connection = service.connect()
            try:
                for number in range(100_000):
                    name = f"{turn}.{client}.{number}"
                    body = [{"text": f"{name} " + "x" * 3000, "label": "noise", "id": name}] * 1
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


def test_a_model_learns(start: Start, nbtext: Any, copied: Path, tmp_path: Path) -> None:
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

    def learn() -> tuple[int, str]:
        done = subprocess.run(
            ["sh", "learn"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    before = copied.read_bytes()
    expected = tmp_path / "expected.joblib"
    expected.write_bytes(before)
    service = start("-m", copied, "--feedback-dir", folder, "--new-labels")
    assert (learn(), copied.read_bytes()) == ((0, ""), before), "there is nothing to learn"
    ask = {"text": "xylophone lessons"}
    assert service.post("/v1/predict", ask).value["known"] == 0
    for _ in range(5):
        service.post(PATH, {"text": "xylophone lessons in the xylophone hall", "label": "music"})
    copied.rename(tmp_path / "away")
    assert learn()[0] == 1, "there is no model to update"
    (tmp_path / "away").rename(copied)
    service.post(PATH, [{"text": "the bins", "label": "trash"}] * 3)
    assert learn() == (0, ""), "also what the last run could not learn"
    wait_until(lambda: service.post("/v1/predict", ask).value["label"] == "music")
    learned = sorted((folder / "learned").iterdir())
    assert sum(len(path.read_bytes().splitlines()) for path in learned) == 8
    nbtext("update", str(expected), *map(str, learned)).ok()
    assert copied.read_bytes() == expected.read_bytes()
    assert (learn(), copied.read_bytes()) == ((0, ""), expected.read_bytes()), (
        "nothing is learned twice"
    )
    assert service.post(PATH, {"text": "a zither", "label": "music"}).value == {"stored": 1}, (
        "to a new file"
    )
    assert "zither" in (folder / "letters.jsonl").read_text()

"""Several models, their reload while requests run, and the end of the service."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from waiting import wait_until

from nbtext.text_classifier import TextClassifier

Running = Any  # see conftest.py
Start = Any
RED = TextClassifier(model="multinomial").fit(["red", "blue"], ["warm", "cold"])
GREEN = TextClassifier(model="multinomial").fit(["red", "blue"], ["grün", "kalt"])


def replace(path: Path, content: bytes) -> None:
    """Replace a file as `nbtext train -o` does."""
    temporary = path.with_suffix(".new")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def error_of(service: Running) -> Any:
    """Why the first model could not be loaded again, or None."""
    return service.get("/v1/models").value["models"][0]["error"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A model of red texts."""
    RED.save(tmp_path / "m.joblib")
    return tmp_path / "m.joblib"


def test_several_models(start: Start, path: Path, model: Path) -> None:
    """Each by its name; the first one without."""
    service = start("-m", path, "-m", f"town.hall={model}")
    for query, text, label in (
        ("", "red", "warm"),
        ("?model=m", "red", "warm"),
        ("?model=town.hall", "bins", "trash"),
    ):
        answer = service.post(f"/v1/predict{query}", {"text": text})
        assert answer.value["label"] == label
    found = service.get("/v1/models").value["models"]
    assert [each["name"] for each in found] == ["m", "town.hall"]
    assert found[1]["labels"] == ["noise", "parking", "permits", "streets", "taxes", "trash"]
    assert (found[1]["error"], found[1]["fields"]) == (None, ["text"])


def test_a_replaced_model(start: Start, path: Path) -> None:
    """It is loaded; a broken one is not, and everybody can see why the old one still answers."""
    service = start("-m", path)
    good = path.read_bytes()
    for content in (good[:-1], b"", good[:100] + b"x" + good[101:]):
        GREEN.save(path)
        wait_until(lambda: service.label_of("red") == "grün")
        replace(path, content)
        wait_until(lambda: error_of(service) is not None)
        assert service.label_of("red") == "grün"
        assert service.get("/readyz").status == 200
        replace(path, good)
        wait_until(lambda: error_of(service) is None)
        assert service.label_of("red") == "warm"
    path.unlink()
    wait_until(lambda: error_of(service) is not None)
    assert "does not exist" in error_of(service)
    assert service.label_of("red") == "warm"
    metrics = service.get("/metrics").body.decode()
    assert 'nbtext_model_reloads_total{model="m",result="failed"} 4.0' in metrics
    assert service.end() == 0
    errors = [each["error"] for each in service.log("reload") if each["error"] is not None]
    assert len(errors) == 4
    assert str(path) in errors[0]


def test_a_file_that_comes_back(start: Start, tmp_path: Path, path: Path) -> None:
    """The model's error ends when the same file is there again."""
    service = start("-m", path)
    path.rename(tmp_path / "away")
    wait_until(lambda: error_of(service) is not None)
    (tmp_path / "away").rename(path)
    wait_until(lambda: error_of(service) is None)
    assert service.label_of("red") == "warm"


@pytest.mark.parametrize("kind", ["fifo", "folder", "link to a device"])
def test_something_else_in_the_place_of_a_model(
    start: Start, tmp_path: Path, path: Path, kind: str
) -> None:
    """It is told, the old model goes on answering, and the watch goes on: a model that comes back
    is loaded.
    """
    service = start("-m", path)
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    wait_until(lambda: error_of(service) is not None)
    assert service.label_of("red") == "warm"
    path.rename(tmp_path / "away")
    GREEN.save(path)
    wait_until(lambda: service.label_of("red") == "grün")
    assert error_of(service) is None
    assert service.end() == 0


def test_any_error_while_a_model_is_loaded(start: Start, path: Path) -> None:
    """It is told, and the watch goes on."""
    before = (
        "from nbtext.applications.serve import models\n"
        "load, n_calls = models.load_model_file, []\n"
        "def disturb(path, **options):\n"
        "    n_calls.append(path)\n"
        "    if len(n_calls) == 2:\n"
        "        {}[path]\n"
        "    return load(path, **options)\n"
        "models.load_model_file = disturb\n"
    )
    service = start("-m", path, before=before)
    GREEN.save(path)
    wait_until(lambda: error_of(service) is not None)
    assert "cannot be loaded: KeyError" in error_of(service)
    assert service.label_of("red") == "warm"
    GREEN.save(path)
    wait_until(lambda: service.label_of("red") == "grün")
    assert service.end() == 0


@pytest.mark.exhaustive
def test_no_request_fails_while_models_are_replaced(
    start: Start, tmp_path: Path, path: Path
) -> None:
    """Requests of all kinds run all the time; each is answered by one model or the other."""
    service = start("-m", path)
    is_over = threading.Event()
    contents = []
    for each in (GREEN, RED):
        each.save(tmp_path / "other.joblib")
        contents.append((tmp_path / "other.joblib").read_bytes())
    answers: list[set[str]] = []

    def ask() -> None:
        connection = service.connect()
        while not is_over.is_set():
            connection.request(
                "POST", "/v1/predict", '["red", "red"]', {"content-type": "application/json"}
            )
            response = connection.getresponse()
            assert response.status == 200
            answers.append({each["label"] for each in json.loads(response.read())})
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(20):
        replace(path, contents[number % 2])
        time.sleep(0.15)
    is_over.set()
    for thread in threads:
        thread.join()
    assert all(len(labels) == 1 for labels in answers), "no answer mixes two models"
    assert set.union(*answers) == {"warm", "grün"}


def test_it_finishes_what_it_has_begun(start: Start, model: Path) -> None:
    """After SIGTERM: a request whose body is still coming is answered, new connections are refused,
    status 0.
    """
    service = start("-m", model)
    body = json.dumps({"text": "bins"}).encode()
    begun = service.begin("/v1/predict", f"Content-Length: {len(body)}")
    begun.sendall(body[:5])
    service.wait_for_requests(1)
    service.process.send_signal(signal.SIGTERM)

    def is_refused() -> bool:
        try:
            socket.create_connection(("127.0.0.1", service.port), timeout=30).close()
        except ConnectionRefusedError:
            return True
        return False

    wait_until(is_refused)
    assert service.process.poll() is None
    begun.sendall(body[5:])
    answer = b"".join(iter(lambda: begun.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"connection: close" in answer
    begun.close()
    assert service.end() == 0
    assert [each["status"] for each in service.log("request") if each["model"]] == [200]


def test_interrupted(start: Start, model: Path) -> None:
    """Ctrl-C ends it as it ends any command."""
    service = start("-m", model)
    assert service.post("/v1/predict", {"text": "bins"}).status == 200
    assert service.end(signal.SIGINT) == 130
    assert service.said[-1] == "nbtext: interrupted"


def test_quiet(start: Start, model: Path) -> None:
    """-q says nothing, and logs nothing."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "nbtext", "serve", "-q", "-m", str(model), "--port", str(port)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )

    def is_up() -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=30) as answer:
                return bool(answer.status == 200)
        except URLError:
            return False

    wait_until(is_up)
    process.terminate()
    assert process.communicate(timeout=30) == (b"", b"")
    assert process.returncode == 0

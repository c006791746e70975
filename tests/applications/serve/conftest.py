"""Runs the service as a user does: the real program, called by real clients."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest
from waiting import wait_until

from nbtext.text_classifier import TextClassifier

TOP = Path(__file__).parents[3]
SECONDS = 30  # that anything may take
ADDRESS = re.compile(r" on http://([^ ;]+):(\d+);")


@dataclass(frozen=True)
class Answer:
    """What the service answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        """The JSON of the body."""
        return json.loads(self.body, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))

    @property
    def lines(self) -> list[Any]:
        """The JSON of each line of the body."""
        return [json.loads(line) for line in self.body.splitlines()]

    def refused(self, status: int, message: str) -> Self:
        """It refuses with this status and one line, which has this message."""
        error = self.value["error"]
        assert (self.status, message in error, "\n" in error) == (status, True, False), self
        return self


@dataclass
class Running:
    """A running service."""

    process: subprocess.Popen[str]
    port: int = 0
    said: list[str] = field(default_factory=list)
    seconds: float = SECONDS

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.seconds)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Ask on a new connection; a body that is neither bytes nor str is sent as JSON."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes | str):
            body = json.dumps(body)
            given = {"content-type": "application/json", **given}
        connection = self.connect()
        try:
            connection.request(method, path, body, given)
            response = connection.getresponse()
            return Answer(
                response.status,
                {key.lower(): value for key, value in response.getheaders()},
                response.read(),
            )
        finally:
            connection.close()

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.ask("POST", path, body, **headers)

    def predict(self, body: Any) -> Any:
        """What the first model says of a document, or of several."""
        return self.post("/v1/predict", body).value

    def label_of(self, text: str) -> Any:
        """The label of a text, by the first model."""
        return self.predict({"text": text})["label"]

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, **headers)

    def begin(self, path: str, *lines: str, receive_bytes: int = 0) -> socket.socket:
        """Send the head of a request with JSON, with these lines, on a connection of its own."""
        connection = socket.socket()
        connection.settimeout(SECONDS)
        if receive_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        connection.connect(("127.0.0.1", self.port))
        head = (f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json")
        connection.sendall("\r\n".join((*head, *lines, "\r\n")).encode())
        return connection

    def wait_for_requests(self, number: int) -> None:
        """Wait until so many requests are in progress."""
        line = f"nbtext_requests_in_progress {number}.0".encode()
        wait_until(lambda: line in self.get("/metrics").body)

    def end(self, sign: int = signal.SIGTERM) -> int:
        """Send a signal, and return how the process ended."""
        if self.process.poll() is None:
            self.process.send_signal(sign)
        status = self.process.wait(timeout=SECONDS)
        self.reader.join(timeout=SECONDS)
        return status

    def log(self, event: str) -> list[dict[str, Any]]:
        """The log's lines of a kind, so far."""
        lines = [json.loads(line) for line in self.said if line.startswith("{")]
        return [line for line in lines if line["event"] == event]

    def read(self) -> None:
        """Read what it says until it ends."""
        is_ready = threading.Event()

        def read_all() -> None:
            assert self.process.stderr is not None
            for line in self.process.stderr:
                self.said.append(line.rstrip("\n"))
                if found := ADDRESS.search(line):
                    self.port = int(found[2])
                    is_ready.set()
            is_ready.set()

        self.reader = threading.Thread(target=read_all, daemon=True)
        self.reader.start()
        assert is_ready.wait(SECONDS)


Start = Callable[..., Running]


@pytest.fixture(scope="session")
def letters() -> tuple[list[str], list[str]]:
    """The texts and the labels of the corpus that nbtext ships."""
    paths = sorted((TOP / "corpora" / "letters" / "train").glob("*/*.txt"))
    return [path.read_text() for path in paths], [path.parent.name for path in paths]


@pytest.fixture(scope="session")
def model(letters: Any, tmp_path_factory: Any) -> Path:
    """A model of letters to a town hall."""
    path = tmp_path_factory.mktemp("model") / "letters.joblib"
    TextClassifier(model="multinomial").fit(*letters).save(path)
    return path


@pytest.fixture(scope="module")
def start(forker: Any) -> Iterator[Start]:
    """start(*arguments, before="", **environment): run `nbtext serve` on a free port; it ends with
    the module's tests.

    before  Python code that its process runs first
    """
    started: list[Running] = []

    def run(*arguments: object, before: str = "", **environment: str) -> Running:
        process = forker().popen(
            ["serve", "--port", "0", *map(str, arguments)],
            before=before,
            env={**os.environ, "PYTHONPATH": str(TOP), "PYTHONWARNINGS": "error", **environment},
            stderr=subprocess.PIPE,
            text=True,
            cwd=TOP,
        )
        found = Running(process)
        started.append(found)
        found.read()
        return found

    yield run
    for each in started:
        each.end(signal.SIGKILL)
        if each.process.stderr is not None:
            each.process.stderr.close()
    assert [line for each in started for line in each.said if "Traceback" in line] == []


@pytest.fixture(scope="module")
def service(start: Start, model: Path) -> Running:
    """A service of one model, for tests that leave it as it is."""
    return start("-m", model)

"""Hostile clients: no request stops the service, takes unbounded memory or disk, or holds its place
for ever.
"""

import gzip
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import wait_until

from nbtext.documents.jsonl import has_more_values
from nbtext.text_classifier import TextClassifier

Running = Any  # see conftest.py
Start = Any
TICKS = os.sysconf("SC_CLK_TCK")
SIZE = 15_900_000  # just below the default limit of a body
LETTER = "my neighbour drills all night and the bins were not emptied "
JSON = "application/json"
JSONL = "application/jsonl"
TEXT = "text/plain"


def fill(part: bytes, start: bytes = b"[", end: bytes = b"0]") -> bytes:
    return start + part * ((SIZE - len(start) - len(end)) // len(part)) + end


@pytest.fixture(scope="module")
def slow(tmp_path_factory: Any) -> Path:
    """A model whose token pattern can take exponential time."""
    path = tmp_path_factory.mktemp("slow") / "slow.joblib"
    TextClassifier(model="multinomial", token_pattern="(?:a+)+b|[a-z]+").fit(
        ["red", "blue"], ["x", "y"]
    ).save(path)
    return path


def processor_seconds(service: Running) -> float:
    """The time of the processor that the service has taken, without its other processes."""
    fields = Path(f"/proc/{service.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak_megabytes(service: Running) -> int:
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


@contextmanager
def longest_wait(
    service: Running, request: Callable[[], Any] | None = None
) -> Iterator[Callable[[], float]]:
    """Ask the health check all the time; the result is the longest time that an answer took.

    Other programs may use the machine, so that an answer takes no longer than the processor works
    for the service.
    """
    found = [0.0]
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.wait(0.02):
            used = processor_seconds(service)
            start = time.monotonic()
            try:
                assert service.get("/healthz").status == 200
                seconds = time.monotonic() - start
            except OSError:
                seconds = 1e9
            found.append(min(seconds, processor_seconds(service) - used + 1 / TICKS))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield lambda: max(found)
    finally:
        is_over.set()
        thread.join()


LETTERS = json.dumps([LETTER * 24] * 9999).encode()
HOSTILE: dict[str, list[tuple[str, str, Callable[[], bytes]]]] = {
    "values": [
        ("predict", JSON, lambda: fill(b"[],")),
        ("predict", JSON, lambda: fill(b"[" * 400 + b"]" * 400 + b",")),
        ("explain", JSON, lambda: fill(b"[", b"", b"")),
        ("predict", JSONL, lambda: fill(b"[],", b'{"text": "x", "a": [', b"0]}\n")),
    ],
    "keys": [
        ("predict", JSON, lambda: json.dumps(dict.fromkeys(range(1_100_000), "")).encode()),
        *[("predict", JSON, lambda: json.dumps(dict.fromkeys(range(240_000), "")).encode())] * 5,
    ],
    "strings": [
        ("predict", JSON, lambda: fill(b'"",')),
        ("explain", JSON, lambda: fill(rb"\"", b'["', b',"]')),
        ("predict", JSON, lambda: fill(b"1", b"[", b"]")),
        ("predict", JSON, lambda: fill(rb"\u00e4", b'{"text": "', b'"}')),
        ("predict", JSONL, lambda: fill(b"[", b'{"text": "x", "a": ', b"\n")),
    ],
    "explanations": [
        *[("explain?marks=true", JSON, lambda: LETTERS)] * 3,
        ("explain", TEXT, lambda: LETTER.encode() * (SIZE // len(LETTER))),
        ("predict?explain=1000", JSON, lambda: LETTERS),
    ],
    "others": [
        *[("predict?model=slow", JSON, lambda: json.dumps({"text": "a" * 27}).encode())] * 3,
        ("predict", JSON, lambda: gzip.compress(random.Random(1).randbytes(SIZE - 10_000), 1)),
        ("predict", JSON, lambda: LETTERS),
        ("predict", JSONL, lambda: b"[]\n" * 100_000),
        ("explain", TEXT, lambda: b"the bins\n" * (SIZE // 9)),
    ],
    "encodings": [
        ("predict", f"{TEXT}; charset={name}", lambda: fill(b"x", b"", b"-a"))
        for name in ("punycode", "idna", "unicode_escape", "utf-7", "hz", "cp037", "zlib")
    ],
}


@pytest.mark.exhaustive(every=6)
@pytest.mark.parametrize("kind", HOSTILE)
def test_no_request_blocks_the_health_check(
    start: Start, model: Path, slow: Path, kind: str
) -> None:
    """The worst requests in parallel, as large as they may be: the health check is answered
    meanwhile.

    On a loaded machine an answer may take some seconds.
    """
    service = start("-m", model, "-m", slow, "--timeout", 5)
    service.seconds = 20
    base = peak_megabytes(service)

    def post(request: tuple[str, str, bytes]) -> int:
        path, content_type, body = request
        try:
            return int(service.post(f"/v1/{path}", body, content_type=content_type).status)
        except OSError:
            return 0  # an answer of JSON lines was cut

    requests = [(path, content_type, make()) for path, content_type, make in HOSTILE[kind]]
    with longest_wait(service) as wait, ThreadPoolExecutor(len(requests)) as pool:
        statuses = list(pool.map(post, requests))
    assert wait() < 5, (kind, statuses)
    assert {*statuses} <= {0, 200, 400, 413, 415, 503}
    assert peak_megabytes(service) - base < 700
    assert service.label_of("bins") == "trash"


@given(st.text(alphabet='"\\,[{]a', max_size=60).map(str.encode), st.integers(0, 20))
def test_values_of_json(data: bytes, maximum: int) -> None:
    """Commas and opening brackets count, except in strings."""
    number = 0
    is_in_string = False
    is_escaped = False
    for byte in data.decode():
        was_escaped = is_escaped
        is_escaped = byte == "\\" and not is_escaped
        if was_escaped and byte in '"\\':
            continue
        if byte == '"':
            is_in_string = not is_in_string
        elif not is_in_string:
            number += byte in ",[{"
    assert has_more_values(data, maximum) == (number > maximum)


def test_many_values(service: Running) -> None:
    """A body is refused; commas in a text are not values."""
    many = b'{"text": "bins", "a": [' + b"0," * 250_000 + b"0]}"
    for path, kind in (("predict", JSON), ("predict", JSONL), ("explain", JSON)):
        service.post(f"/v1/{path}", many, content_type=kind).refused(
            413, "the JSON has more than 250,000 values; send"
        )
    commas = json.dumps({"text": "bins" + ',["\\' * 200_000}).encode()
    assert service.post("/v1/predict", commas, content_type=JSON).value["label"] == "trash"
    assert service.post("/v1/predict", commas, content_type=JSONL).lines[0]["label"] == "trash"


def test_explanations_of_long_texts(service: Running) -> None:
    """They are refused, each by itself, with the length that is possible."""
    short, long = ("bins " * number for number in (10_000, 10_001))
    reason = "the document has 50,005 characters, and the maximum for an explanation is 50,000"
    lines = "".join(json.dumps(each) + "\n" for each in ({"text": short}, {"text": long}))
    for answer in (
        service.post("/v1/explain", [short, long]).value,
        service.post("/v1/explain?marks=true", [short, long]).value,
        service.post("/v1/predict?explain=3", lines, content_type=JSONL).lines,
    ):
        assert [each["label"] for each in answer] == ["trash", None]
        assert reason in answer[1]["reason"]
    assert service.label_of(long) == "trash"


def test_explanations_in_parts(service: Running) -> None:
    """Documents are explained a few at a time, with the same result."""
    texts = [f"{LETTER}{number}" for number in range(100)]
    answers = service.post(
        "/v1/explain?marks=true", [{"text": each, "id": each} for each in texts]
    ).value
    assert [each["id"] for each in answers] == texts
    one = service.post("/v1/explain?marks=true", {"text": texts[60], "id": texts[60]}).value
    assert answers[60] == one


@pytest.mark.exhaustive
def test_large_requests_take_turns(start: Start, model: Path) -> None:
    """Three of the largest explanations keep nobody waiting, end at their time, and then take no
    more of it.
    """
    service = start("-m", model, "--timeout", 6)
    with ThreadPoolExecutor(3) as pool:
        large = [
            pool.submit(service.post, "/v1/explain?marks=true", LETTERS, content_type=JSON)
            for _ in range(3)
        ]
        service.wait_for_requests(3)
        for _ in range(5):
            used = processor_seconds(service)
            start_time = time.monotonic()
            assert service.label_of("bins") == "trash"
            assert min(time.monotonic() - start_time, processor_seconds(service) - used) < 5
        answers = [each.result() for each in large]
    assert [(each.status, each.value["error"]) for each in answers] == [
        (503, "the request took too long")
    ] * 3
    time.sleep(1)
    used = processor_seconds(service)
    time.sleep(1)
    assert processor_seconds(service) - used < 0.5


def sockets(service: Running) -> int:
    """The number of its open sockets."""
    folder = Path(f"/proc/{service.process.pid}/fd")
    found = 0
    for each in folder.iterdir():
        try:
            found += os.readlink(each).startswith("socket:")
        except FileNotFoundError:
            continue
    return found


@pytest.fixture(scope="module")
def many(tmp_path_factory: Any) -> Path:
    """A model of 300 labels, so that an answer is far larger than its request."""
    path = tmp_path_factory.mktemp("many") / "many.joblib"
    names = [f"label{number}" for number in range(300)]
    TextClassifier(model="multinomial").fit(names, names).save(path)
    return path


def test_a_large_answer_that_is_not_read(start: Start, many: Path) -> None:
    """It does not stay in memory for ever: here 30 MB, with the probabilities of 300 labels."""
    service = start("-m", many, "--timeout", 5)
    body = json.dumps(["label1"] * 4000).encode()
    # its address, and two of its event loop
    service.get("/healthz")
    wait_until(lambda: sockets(service) == 3)
    head = f"Content-Length: {len(body)}"
    with service.begin("/v1/predict", head, receive_bytes=4096) as connection:
        connection.sendall(body)
        service.wait_for_requests(1)
        service.wait_for_requests(0)
        wait_until(lambda: sockets(service) == 3)


def test_an_answer_that_is_read_slowly(start: Start, model: Path) -> None:
    """It may take longer than the time limit, as long as 100 KB are read in that time, here in five
    times of it.
    """
    service = start("-m", model, "--timeout", 1)
    body = json.dumps(["bins"] * 9999).encode()
    head = (f"Content-Length: {len(body)}", "Connection: close")
    with service.begin("/v1/predict", *head, receive_bytes=4096) as connection:
        threading.Thread(target=connection.sendall, args=(body,), daemon=True).start()
        time.sleep(0.5)
        answer = bytearray()
        begun = time.monotonic()
        while part := connection.recv(1 << 16):
            answer += part
            time.sleep(max(0.0, min(begun + 5, begun + len(answer) / 250_000) - time.monotonic()))
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.count(b'"label":"trash"') == body.count(b"bins")

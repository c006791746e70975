"""Hostile clients: no request stops the service, takes unbounded memory or disk, or holds its place
for ever.
"""

import asyncio
import codecs
import encodings
import gzip
import json
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from nbtext.applications.serve.batching import Batcher
from nbtext.applications.serve.guard import BodyMemory, Lease
from nbtext.applications.serve.requests import CHARSETS, TEXT, MarkReader, parse_documents
from nbtext.documents.charsets import text_codec
from nbtext.documents.jsonl import has_more_values
from nbtext.documents.settings import InputSettings
from nbtext.text_classifier import TextClassifier

Running = Any  # see conftest.py
Start = Any
TICKS = os.sysconf("SC_CLK_TCK")
SIZE = 15_900_000  # just below the default limit of a body
LETTER = "my neighbour drills all night and the bins were not emptied "
JSON = "application/json"
JSONL = "application/jsonl"


def text(charset: str) -> str:
    return f"text/plain; charset={charset}"


def fill(part: bytes, start: bytes = b"[", end: bytes = b"0]") -> bytes:
    return start + part * ((SIZE - len(start) - len(end)) // len(part)) + end


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


HOSTILE: dict[str, list[tuple[str, str, Callable[[], bytes]]]] = {
    "values": [
        ("predict", JSON, lambda: fill(b"[],")),
        ("predict", JSON, lambda: fill(b"[" * 400 + b"]" * 400 + b",")),
        ("explain", JSON, lambda: fill(b"[", b"", b"")),
        ("predict", JSONL, lambda: fill(b"[],", b'{"text": "x", "a": [', b"0]}\n")),
    ],
    "keys": [
        (
            "predict",
            JSON,
            lambda: b"{" + b",".join(b'"%x":""' % i for i in range(1_100_000)) + b"}",
        ),
        *[
            (
                "predict",
                JSON,
                lambda: b"{" + b",".join(b'"%x":""' % i for i in range(240_000)) + b"}",
            )
        ]
        * 5,
    ],
    "strings": [
        ("predict", JSON, lambda: fill(b'"",')),
        ("predict", JSON, lambda: fill(b",", b'["', b'"]')),
        ("explain", JSON, lambda: fill(rb"\"", b'["', b',"]')),
        ("predict", JSON, lambda: fill(b"1", b"[", b"]")),
        ("predict", JSONL, lambda: fill(b"[", b'{"text": "x", "a": ', b"\n")),
    ],
    "charsets": [
        (
            "predict",
            text("punycode"),
            lambda: b"a-" + random.Random(1).randbytes(200_000).hex().encode(),
        ),
        ("predict", text("cp424"), lambda: b"\x80" * SIZE),
        ("explain", text("cp1255"), lambda: b"\xff" * SIZE),
        ("predict", text("utf-7"), lambda: b"\xff" * SIZE),
    ],
    "explanations": [
        *[("explain?marks=true", JSON, lambda: json.dumps([LETTER * 24] * 9999).encode())] * 3,
        ("explain", TEXT, lambda: LETTER.encode() * (SIZE // len(LETTER))),
        ("predict?explain=1000", JSON, lambda: json.dumps([LETTER * 24] * 9999).encode()),
    ],
    "others": [
        *[("predict?model=slow", JSON, lambda: json.dumps({"text": "a" * 27}).encode())] * 3,
        ("predict", JSON, lambda: gzip.compress(random.Random(1).randbytes(SIZE - 10_000), 1)),
        ("predict", JSON, lambda: json.dumps([LETTER * 24] * 9999).encode()),
        ("predict", JSONL, lambda: b"[]\n" * 100_000),
    ],
}


@pytest.mark.exhaustive(every=6)
@pytest.mark.parametrize("kind", HOSTILE)
def test_no_request_blocks_the_health_check(
    start: Start, model: Path, slow: Path, kind: str
) -> None:
    """The worst requests in parallel, as large as they may be: the health check is answered within
    a second.
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
    assert wait() < 1, (kind, statuses)
    assert {*statuses} <= {0, 200, 400, 413, 415, 503}
    assert peak_megabytes(service) - base < 700
    assert service.post("/v1/predict", {"text": "bins"}).value["label"] == "trash"


@pytest.mark.parametrize(
    "name",
    [
        "punycode",
        "idna",
        "unicode_escape",
        "raw_unicode_escape",
        "rot13",
        "zlib",
        "hex",
        "undefined",
        "os",
        "",
    ],
)
def test_charsets_that_are_no_encodings_of_text(service: Running, name: str) -> None:
    """Some of them take quadratic time; mails know the same ones."""
    answer = service.post("/v1/predict", b"a-" + b"bins" * 100, content_type=text(name))
    assert (answer.status, answer.value) == (415, {"error": "the character set is not known"})


def test_names_of_charsets_are_not_kept() -> None:
    """Python remembers each name that it is asked for."""
    before = len(encodings._cache)  # type: ignore[attr-defined]
    for number in range(50):
        for name in (f"x{number}", f"utf-8{'-' * number}", f"u{'.' * number}tf8"):
            try:
                parse_documents(b"x", TEXT, name, InputSettings(), 10)
            except HTTPException as error:
                assert error.status_code == 415
    assert len(encodings._cache) - before < 10  # type: ignore[attr-defined]


def test_a_long_text_in_each_charset() -> None:
    """It is decoded in parts, to the same text."""
    data = random.Random(2).randbytes(100_000)
    for name in sorted(CHARSETS):
        codec = text_codec(name)
        if codec is None:
            continue
        # decoded as encodings without a mark, in the order of this machine
        if codec in ("utf-16", "utf-32"):
            text = codecs.BOM_UTF8.decode() + "bins" * 10_000
            assert parse_documents(
                text.encode(codec), TEXT, name, InputSettings(), 1
            ).batch.columns[0] == [text]
            continue
        assert parse_documents(data, TEXT, name, InputSettings(), 1).batch.columns[0] == [
            data.decode(codec, "replace")
        ]


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
    """A body is refused; of JSON lines, only the line; commas in a text are not values."""
    many = b"[" + b"0," * 250_000 + b"0]"
    for path, kind in (("predict", JSON), ("explain", JSON)):
        answer = service.post(f"/v1/{path}", many, content_type=kind)
        assert (
            answer.status,
            answer.value["error"].startswith("the JSON has more than 250,000 values; send"),
        ) == (413, True)
    lines = b'{"text": "bins"}\n{"text": "bins", "a": %s}\n{"text": "bins"}\n' % many
    answers = service.post("/v1/predict", lines, content_type=JSONL).lines
    assert [each["label"] for each in answers] == ["trash", None, "trash"]
    assert answers[1]["reason"] == "2: the JSON has more than 250,000 values"
    commas = json.dumps({"text": "bins" + ',["\\' * 200_000}).encode()
    assert service.post("/v1/predict", commas, content_type=JSON).value["label"] == "trash"
    assert service.post("/v1/predict", commas, content_type=JSONL).lines[0]["label"] == "trash"


def test_explanations_of_long_texts(service: Running) -> None:
    """They are refused, each by itself, with the length that is possible; marks need more memory,
    so theirs is less.
    """
    short, long, longest = ("bins " * number for number in (2, 12_000, 41_000))
    answer = service.post("/v1/explain", [short, long, longest]).value
    assert [each["label"] for each in answer] == ["trash", "trash", None]
    assert (
        "the document has 205,000 characters, and the maximum for an explanation is 200,000"
        in answer[2]["reason"]
    )
    marked = service.post("/v1/explain?marks=true", [short, long]).value
    assert [each["label"] for each in marked] == ["trash", None]
    assert "the maximum for marks is 50,000; leave out `marks`" in marked[1]["reason"]
    body = "".join(json.dumps({"text": each}) + "\n" for each in (short, long, longest))
    lines = service.post("/v1/predict?explain=3", body, content_type=JSONL).lines
    assert [each["label"] for each in lines] == ["trash", "trash", None]
    assert "leave out `explain`" in lines[2]["reason"]
    assert service.post("/v1/predict", {"text": longest}).value["label"] == "trash"


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
    body = json.dumps([LETTER * 24] * 9999).encode()
    with ThreadPoolExecutor(3) as pool:
        large = [
            pool.submit(service.post, "/v1/explain?marks=true", body, content_type=JSON)
            for _ in range(3)
        ]
        while b"nbtext_requests_in_progress 3.0" not in service.get("/metrics").body:
            time.sleep(0.05)
        for _ in range(5):
            used = processor_seconds(service)
            start_time = time.monotonic()
            assert service.post("/v1/predict", {"text": "bins"}).value["label"] == "trash"
            assert min(time.monotonic() - start_time, processor_seconds(service) - used) < 2
        answers = [each.result() for each in large]
    assert [(each.status, each.value["error"]) for each in answers] == [
        (503, "the request took too long")
    ] * 3
    time.sleep(1)
    used = processor_seconds(service)
    time.sleep(1)
    assert processor_seconds(service) - used < 0.5
    assert b"\nnbtext_body_bytes_in_progress 0.0" in service.get("/metrics").body


def test_the_memory_of_a_request_counts_until_its_thread_has_ended() -> None:
    """Also if it was given up before; what has not begun is released at once."""
    memory = BodyMemory(1000)
    is_over = threading.Event()
    has_begun = threading.Event()

    def work() -> None:
        has_begun.set()
        assert is_over.wait(10)

    async def request(batcher: Batcher, function: Callable[[], None]) -> None:
        lease = Lease(memory)
        lease.add(300)
        try:
            await batcher.parse(function, lease)
        finally:
            lease.end()

    async def run() -> None:
        batcher = Batcher(1)
        first = asyncio.create_task(request(batcher, work))
        await asyncio.to_thread(has_begun.wait, 10)
        second = asyncio.create_task(request(batcher, partial(pytest.fail, "it was given up")))
        await asyncio.sleep(0.01)
        assert memory.used == 600
        for task in (first, second):
            task.cancel()
        await asyncio.wait((first, second))
        assert memory.used == 300
        is_over.set()
        await asyncio.to_thread(batcher.stop)
        while memory.used:
            await asyncio.sleep(0.01)

    # in this thread, the browser of other tests may have an event loop
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, asyncio.wait_for(run(), 20)).result()


@pytest.mark.exhaustive
def test_a_slow_pattern_keeps_its_own_model_waiting_only(
    start: Start, model: Path, slow: Path
) -> None:
    """Also more hostile texts than there are threads."""
    service = start("-m", model, "-m", slow, "--timeout", 3, "-j", 2)
    with ThreadPoolExecutor(4) as pool:
        hostile = [
            pool.submit(service.post, "/v1/predict?model=slow", {"text": "a" * 30})
            for _ in range(4)
        ]
        while b"nbtext_requests_in_progress 4.0" not in service.get("/metrics").body:
            time.sleep(0.05)
        for _ in range(10):
            assert service.post("/v1/predict", {"text": "bins"}).value["label"] == "trash"
        assert not any(each.done() for each in hostile)
        assert {each.result().status for each in hostile} == {503}


def connect(
    service: Running, path: str, kind: str, head: str, receive_bytes: int = 0
) -> socket.socket:
    """Send the head of a request."""
    connection = socket.socket()
    connection.settimeout(30)
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.connect(("127.0.0.1", service.port))
    connection.sendall(
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n{head}\r\n\r\n".encode()
    )
    return connection


def open_files(service: Running) -> list[str]:
    """What the descriptors of the service refer to."""
    folder = Path(f"/proc/{service.process.pid}/fd")
    found = []
    for each in folder.iterdir():
        try:
            found.append(os.readlink(each))
        except FileNotFoundError:
            continue
    return found


def sockets(service: Running) -> int:
    return sum(each.startswith("socket:") for each in open_files(service))


def wait_until(is_so: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def test_a_stream_that_is_not_read(start: Start, model: Path) -> None:
    """The client is slowed down, no file has its answers, and then it is ended, with its
    connection.
    """
    service = start("-m", model, "--timeout", 2)
    lines = b'{"text": "bins"}\n' * 20_000
    before = sockets(service)
    files = open_files(service)
    base = peak_megabytes(service)
    with connect(service, "/v1/predict", JSONL, "Content-Length: 1000000000") as connection:
        connection.settimeout(1)
        sent = 0
        with pytest.raises(TimeoutError):
            for _ in range(200):
                connection.sendall(lines)
                sent += len(lines)
                assert {each for each in open_files(service) if each.startswith("/")} <= {*files}
        assert sent < 60_000_000
        wait_until(lambda: b"nbtext_requests_in_progress 0.0" in service.get("/metrics").body)
        wait_until(lambda: sockets(service) <= before)
    assert peak_megabytes(service) - base < 100
    assert service.post("/v1/predict", {"text": "bins"}).value["label"] == "trash"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of 300 labels, so that an answer is far larger than its request."""
    path = tmp_path_factory.mktemp("many") / "many.joblib"
    names = [f"label{number}" for number in range(300)]
    TextClassifier(model="multinomial").fit(names, names).save(path)
    return path


def test_answers_count_in_the_memory_of_all_requests(start: Start, many: Path) -> None:
    """A request whose answer has no room is refused, a stream waits for its reader, and both
    release what they had.
    """
    service = start("-m", many, "--max-body-bytes", 1_000_000, "--max-total-body-bytes", 1_000_000)
    answer = service.post("/v1/predict", ["label1"] * 4000)
    assert (answer.status, "use up the memory" in answer.value["error"]) == (503, True)
    assert len(service.post("/v1/predict?top_k=1", ["label1"] * 4000).value) == 4000
    lines = service.post("/v1/predict", b'{"text": "label1"}\n' * 2000, content_type=JSONL).lines
    assert [each["label"] for each in lines] == ["label1"] * 2000
    assert b"\nnbtext_body_bytes_in_progress 0.0" in service.get("/metrics").body


def test_a_large_answer_that_is_not_read(start: Start, many: Path) -> None:
    """It does not stay in memory for ever: here 30 MB, with the probabilities of 300 labels."""
    service = start("-m", many, "--timeout", 5)
    body = json.dumps(["label1"] * 4000).encode()
    before = sockets(service)
    with connect(service, "/v1/predict", JSON, f"Content-Length: {len(body)}", 4096) as connection:
        connection.sendall(body)
        wait_until(lambda: b"nbtext_requests_in_progress 1.0" in service.get("/metrics").body)
        wait_until(lambda: b"nbtext_requests_in_progress 0.0" in service.get("/metrics").body)
        wait_until(lambda: sockets(service) <= before)
    assert b"\nnbtext_body_bytes_in_progress 0.0" in service.get("/metrics").body


@pytest.mark.parametrize(
    ("path", "kind", "body"),
    [
        ("/v1/predict", JSONL, b'{"text": "bins"}\n' * 20_000),
        ("/v1/predict", JSON, json.dumps(["bins"] * 9999).encode()),
    ],
)
def test_an_answer_that_is_read_slowly(
    start: Start, model: Path, path: str, kind: str, body: bytes
) -> None:
    """It may take longer than the time limit, as long as 100 KB are read in that time, here in five
    times of it.
    """
    service = start("-m", model, "--timeout", 1)
    with connect(
        service, path, kind, f"Content-Length: {len(body)}\r\nConnection: close", 4096
    ) as connection:
        threading.Thread(target=connection.sendall, args=(body,), daemon=True).start()
        time.sleep(0.5)
        answer = bytearray()
        begun = time.monotonic()
        while part := connection.recv(1 << 16):
            answer += part
            time.sleep(max(0.0, min(begun + 5, begun + len(answer) / 250_000) - time.monotonic()))
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.count(b'"label":"trash"') == body.count(b"bins")


@pytest.mark.parametrize(
    "sent", [b"\n", b" ", b"x"], ids=["blank lines", "blanks", "a line without end"]
)
def test_a_stream_without_documents_does_not_keep_its_place(
    start: Start, model: Path, sent: bytes
) -> None:
    """Bytes alone do not begin its time again: only documents do."""
    service = start("-m", model, "--timeout", 1, "--max-requests", 5)
    clients = [connect(service, "/v1/predict", JSONL, "Content-Length: 100000") for _ in range(5)]
    wait_until(lambda: b"nbtext_requests_in_progress 5.0" in service.get("/metrics").body)
    assert service.post("/v1/predict", {"text": "bins"}).status == 503
    statuses = []
    for _ in range(12):
        for client in clients:
            try:
                client.sendall(sent)
            except OSError:
                continue  # it was ended
        time.sleep(0.3)
        statuses.append(service.post("/v1/predict", {"text": "bins"}).status)
    for client in clients:
        client.close()
    assert statuses[-1] == 200


@given(
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-be", "utf-32-be"]),
    st.text(max_size=20),
    st.lists(st.integers(0, 90), max_size=8),
)
def test_a_mark_decides_the_encoding(name: str, line: str, cuts: list[int]) -> None:
    """In parts of any size."""
    mark = "\ufeff" if name.endswith("be") else ""
    text = line.replace("\ufeff", "")
    data = (mark + text).encode(name)
    places = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    reader = MarkReader()
    found = [reader.feed(data[a:b]) for a, b in pairwise(places)]
    if name == "utf-16" and text.startswith("\0"):
        return  # the first bytes are the mark of UTF-32
    assert b"".join((*found, reader.feed(b"", is_last=True))).decode() == text

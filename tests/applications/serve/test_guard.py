"""Who may ask, how much, and how long: hosts, origins, tokens, limits and time."""

import asyncio
import gzip
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from made_files import read_cases
from waiting import wait_until

from nbtext.applications.serve.guard import Guard, Log
from nbtext.applications.serve.settings import ServeSettings, parse_model_file, read_tokens
from nbtext.errors import InputError, SettingsError

Running = Any  # see conftest.py
Start = Any
TOKENS = ("correct-horse-battery", "staple+/=~other-token")
DOCUMENT = {"text": "the bins were not emptied"}


@pytest.fixture(scope="module")
def guarded(start: Start, model: Path, tmp_path_factory: Any) -> Running:
    """A service with two tokens."""
    path = tmp_path_factory.mktemp("tokens") / "tokens"
    path.write_text("\n".join(TOKENS))
    return start("-m", model, "--token-file", path)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST:8000", "[::1]:99"])
def test_own_hosts(service: Running, host: str) -> None:
    """This machine's names, with the port of a tunnel too."""
    assert service.post("/v1/predict", DOCUMENT, host=host).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "", "[::1", "::1"],
)
@pytest.mark.parametrize("path", ["/v1/predict", "/healthz", "/metrics"])
def test_foreign_hosts(service: Running, host: str, path: str) -> None:
    """A name that leads here by DNS rebinding is refused on every path."""
    answer = service.ask("POST" if "predict" in path else "GET", path, DOCUMENT, host=host)
    answer.refused(403, "Host")


def test_allowed_hosts(start: Start, model: Path) -> None:
    """--allowed-host adds names; others stay refused."""
    service = start("-m", model, "--allowed-host", "Texts.example.org", "--allowed-host", "other")
    assert [
        service.get("/healthz", host=name).status
        for name in ("texts.example.org:443", "other", "localhost")
    ] == [200, 200, 200]
    assert service.get("/healthz", host="example.org").status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://localhost.evil.example"},
        {"sec_fetch_site": "cross-site"},
    ],
)
def test_other_origins(service: Running, headers: dict[str, str]) -> None:
    """A page of another site cannot post, with any content type that needs no preflight, and sees
    no answer.
    """
    for kind in ("text/plain", "application/json"):
        answer = service.post("/v1/predict", json.dumps(DOCUMENT), content_type=kind, **headers)
        assert answer.status == 403
        assert "access-control-allow-origin" not in answer.headers
    preflight = service.ask(
        "OPTIONS", "/v1/predict", None, access_control_request_method="POST", **headers
    )
    assert preflight.status in (403, 405)
    assert not any(name.startswith("access-control") for name in preflight.headers)


BODY = json.dumps(DOCUMENT).encode()


def send_raw(service: Running, lines: list[str], body: bytes = BODY, *, length: bool = True) -> int:
    """Send a request with these lines of a head at once; return the status."""
    head = ["POST /v1/predict HTTP/1.1", *lines, "Connection: close"] + [
        f"Content-Length: {len(body)}"
    ] * length
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as connection:
        connection.sendall("".join(f"{line}\r\n" for line in head).encode() + b"\r\n" + body)
        return int(connection.recv(1000).split(b" ", 2)[1])


HOST = "Host: localhost"
KIND = "Content-Type: application/json"
CHUNKED = "Transfer-Encoding: chunked"


@pytest.mark.parametrize(
    "trailer", ["Host: localhost", "Origin: http://evil.example", "Content-Type: text/plain"]
)
def test_trailers_are_no_headers(service: Running, trailer: str) -> None:
    """What follows a body changes nothing that was said before it: a second header is refused, and
    one that comes with the body is the first one.
    """
    body = b"%x\r\n%b\r\n0\r\n%b\r\n\r\n" % (len(BODY), BODY, trailer.encode())
    given = send_raw(service, [HOST, KIND, CHUNKED], body, length=False)
    assert given == (403 if trailer.startswith("Origin") else 400)
    foreign = ["Host: evil.example", KIND, CHUNKED]
    assert send_raw(service, foreign, body, length=False) in (400, 403)
    foreign = [HOST, KIND, CHUNKED, "Origin: http://evil.example"]
    assert send_raw(
        service, foreign, body.replace(b"evil.example", b"localhost"), length=False
    ) in (400, 403)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Host: evil.example", HOST),
        (HOST, "Host: evil.example"),
        ("Origin: http://evil.example", "Origin: http://localhost"),
        ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-origin"),
        ("Authorization: Bearer a", "Authorization: Bearer b"),
        (KIND, "Content-Type: text/plain"),
        ("Content-Encoding: gzip", "Content-Encoding: identity"),
        (f"Content-Length: {len(BODY)}", "Content-Length: 3"),
        (CHUNKED, "Transfer-Encoding: identity"),
        (CHUNKED, f"Content-Length: {len(BODY)}"),
    ],
)
def test_headers_that_are_given_twice(service: Running, first: str, second: str) -> None:
    """A second one overrides nothing: the request is refused."""
    others = [line for line in (HOST, KIND) if line.partition(":")[0] not in first + second]
    is_framed = first.startswith(("Content-Length", "Transfer"))
    assert send_raw(service, [*others, first, second], length=not is_framed) == 400


@pytest.mark.parametrize("coding", ["deflate", "br", "gzip, identity", "GZIP"])
@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/jsonl"])
def test_compressed_bodies_are_refused(service: Running, coding: str, kind: str) -> None:
    """A body that is compressed is not read as text."""
    answer = service.post(
        "/v1/predict", gzip.compress(BODY), content_type=kind, content_encoding=coding
    )
    answer.refused(415, "content encoding")
    plain = service.post("/v1/predict", BODY, content_type=kind, content_encoding="identity")
    assert plain.status == 200


def test_other_transfer_encodings_are_refused(service: Running) -> None:
    for coding in ("gzip, chunked", "gzip", "identity"):
        given = send_raw(service, [HOST, KIND, f"Transfer-Encoding: {coding}"], length=False)
        assert given == 400


def test_own_origin(service: Running) -> None:
    own = f"127.0.0.1:{service.port}"
    answer = service.post(
        "/v1/predict", DOCUMENT, host=own, origin=f"http://{own}", sec_fetch_site="same-origin"
    )
    assert answer.status == 200


@pytest.mark.parametrize("token", TOKENS)
def test_each_token_is_good(guarded: Running, token: str) -> None:
    assert guarded.post("/v1/predict", DOCUMENT, authorization=f"Bearer {token}").status == 200
    assert guarded.get("/v1/models", authorization=f"bearer  {token} ").status == 200


@pytest.mark.parametrize(
    "header",
    [
        "",
        TOKENS[0],
        f"Basic {TOKENS[0]}",
        "Bearer",
        "Bearer ",
        f"Bearer {TOKENS[0]}x",
        f"Bearer {TOKENS[0][:-1]}",
        f"Bearer {TOKENS[0]} {TOKENS[1]}",
        "Bearer \xe4",
    ],
)
def test_without_a_good_token(guarded: Running, header: str) -> None:
    """Every path but health and the page asks for it, and tells nothing else."""
    for method, path in (
        ("POST", "/v1/predict"),
        ("POST", "/v1/explain"),
        ("GET", "/v1/models"),
        ("GET", "/metrics"),
        ("GET", "/nothing"),
        ("POST", "/v1/models/letters/feedback"),
    ):
        answer = guarded.ask(method, path, DOCUMENT, authorization=header)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert answer.value == {"error": "a valid bearer token is needed"}


def test_health_needs_no_token(guarded: Running) -> None:
    assert [guarded.get(path).status for path in ("/healthz", "/readyz")] == [200, 200]


def test_tokens_are_in_no_log(guarded: Running) -> None:
    guarded.post("/v1/predict?model=" + TOKENS[0], DOCUMENT, authorization=f"Bearer {TOKENS[0]}")
    wait_until(lambda: guarded.log("request") != [])
    assert not any(TOKENS[0] in line for line in guarded.said)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ":1: is not a token"),
        (b"short\n", ":1: is not a token"),
        (b"correct-horse\nwith a blank\n", ":2: is not a token"),
        (b"\xff12345678", "is not UTF-8"),
    ],
)
def test_bad_token_files(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "tokens").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_tokens(str(tmp_path / "tokens"))


def test_a_client_that_leaves_before_an_error_is_told_takes_no_place() -> None:
    """The error cannot be sent; the next request is answered, although only one may be."""
    guard = Guard((), ServeSettings(max_requests=1), open_paths=(), log=Log(None))
    statuses = []

    async def send(message: Any) -> None:
        statuses.append(message.get("status"))
        if len(statuses) == 1:
            raise OSError

    for _ in range(2):
        scope: Any = {
            "type": "http",
            "method": "GET",
            "path": "/x",
            "client": None,
            "root_path": "",
        }
        scope["headers"] = [(b"host", b"localhost")]
        # a browser of another test may have an event loop in this thread
        with suppress(OSError), ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, guard(scope, send, send)).result()
    assert statuses[:2] == [404, 404]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.org", ""])
def test_other_machines_need_a_token(host: str) -> None:
    """Unless --insecure says that this is meant."""
    with pytest.raises(SettingsError, match="not a loopback address"):
        ServeSettings(host=host)
    assert not ServeSettings(host=host, insecure=True).is_local
    assert not ServeSettings(host=host, token_file="x").is_local
    assert all(ServeSettings(host=each).is_local for each in ("127.0.0.1", "localhost", "::1"))


@pytest.mark.parametrize(
    ("text", "name", "path"),
    read_cases("""
        letters.joblib => letters => letters.joblib
        news=a/b.joblib => news => a/b.joblib
        a/b=c.joblib => b-c => a/b=c.joblib
        my model é.joblib => my-model- => my model é.joblib
        v=a=b => v => a=b
    """),
)
def test_model_names(text: str, name: str, path: str) -> None:
    found = parse_model_file(text)
    assert (found.name, found.path) == (name, path)


def test_limits_of_bodies_and_documents(start: Start, model: Path) -> None:
    """413 says what to do instead, also of a body without a declared length."""
    service = start("-m", model, "--max-body-bytes", 100_000)
    assert service.post("/v1/predict", ["bins"] * 10_000).status == 200
    service.post("/v1/predict", ["bins"] * 10_001).refused(
        413, "10,001 documents are too many; send at most 10,000 at once"
    )
    for path in ("/v1/predict", "/v1/explain"):
        service.post(path, {"text": "x" * 100_000}).refused(413, "more than 100,000 bytes")
    chunk = b"20000\r\n" + b"x" * 0x20000 + b"\r\n"
    assert send_raw(service, [HOST, KIND, CHUNKED], chunk, length=False) == 413


def test_overload_and_time(start: Start, model: Path) -> None:
    """Requests above the limit get 503 at once, slow ones after their time; health and metrics are
    always answered.
    """
    service = start("-m", model, "--max-requests", 2, "--timeout", 1.5)
    slow = [service.begin("/v1/predict", "Content-Length: 100") for _ in range(2)]
    slow[0].sendall(b"{")
    service.wait_for_requests(2)
    refused = service.post("/v1/predict", DOCUMENT)
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert refused.value == {"error": "too many requests at the same time"}
    assert service.get("/healthz").status == 200
    assert b"nbtext_requests_in_progress 2.0" in service.get("/metrics").body
    for connection in slow:
        answer = b"".join(iter(lambda connection=connection: connection.recv(4096), b""))  # type: ignore[misc]
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1\r\n" in answer
        assert answer.endswith(b'{"error":"the request took too long"}')
        connection.close()
    assert service.post("/v1/predict", DOCUMENT).status == 200


@pytest.mark.parametrize("path", ["predict", "explain"])
def test_a_client_that_goes_away(start: Start, model: Path, path: str) -> None:
    """The log and the metrics have the status 499, and no error of the service."""
    service = start("-m", model)
    with service.begin(f"/v1/{path}", "Content-Length: 100") as connection:
        connection.sendall(b"{")
        time.sleep(0.2)
    wait_until(lambda: service.log("request") != [])
    assert [each["status"] for each in service.log("request")] == [499]
    assert service.log("error") == []
    assert (
        f'nbtext_requests_total{{route="/v1/{path}",status="499"}} 1.0'
        in service.get("/metrics").body.decode()
    )


def test_many_broken_requests(service: Running) -> None:
    """None of them disturbs the others."""
    for data in (
        b"\x00\xff" * 100,
        b"GET\r\n\r\n",
        b"POST /v1/predict HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /%ff%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", service.port), timeout=30) as connection:
            connection.sendall(data)
            assert connection.recv(100).startswith((b"HTTP/1.1 4", b"")), data
    assert service.post("/v1/predict", DOCUMENT).status == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods(service: Running, method: str) -> None:
    answer = service.ask(method, "/v1/predict")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_the_log_has_no_texts(start: Start, model: Path) -> None:
    """A line of JSON for each request, with what it used; nothing that was sent."""
    service = start("-m", model)
    secret = {"text": "secret", "id": "secret"}
    service.post("/v1/predict?model=secret", secret, user_agent="secret", x_other="secret")
    service.post("/v1/predict", ["secret", "secret"])
    service.get("/secret?secret")
    service.post("/v1/predict", '{"secret', content_type="application/json")
    assert service.end() == 0
    requests = service.log("request")
    assert [(each["route"], each["status"], each["documents"]) for each in requests] == [
        ("/v1/predict", 404, 0),
        ("/v1/predict", 200, 2),
        ("", 404, 0),
        ("/v1/predict", 400, 0),
    ]
    assert (requests[1]["model"], requests[1]["bytes_in"]) == ("letters", 20)
    assert not any("secret" in line for line in service.said)

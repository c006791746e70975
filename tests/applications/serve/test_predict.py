"""`POST /v1/predict`: the same records as `nbtext predict`, for JSON, JSON lines and plain text."""

import json
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

from nbtext.text_classifier import TextClassifier

TOP = Path(__file__).parents[3]
Running = Any  # see conftest.py
Start = Any
JSONL = {"content_type": "application/jsonl"}
ODD_LINES = (
    b'{"text": "the bins were not emptied", "id": 7}\r\n\n  \n{"text": "pothole", "id": "a\\u0000b\\udfff"}\n{"id": "none"}\n'
    b'[1]\n{"text": null}\n{"text": "caf\xff"}\nnot json\n{"text": "\\ud800 lone"}\n'
    b'{"text": ""}\n{"text": "no newline"}'
)


@pytest.fixture
def predicted(nbtext: Any, model: Path) -> Callable[[bytes], list[Any]]:
    """What `nbtext predict` writes for JSON lines, without the hints of its reasons, which name
    options and commands.
    """

    def predict(lines: bytes) -> list[Any]:
        options = ("-m", str(model), "--input-format", "jsonl", "--to", "jsonl")
        out = nbtext("predict", "-", *options, input=lines).ok().out
        out = re.sub(r"; (name the column or key of the text|jq )[^\"]*(?=\")", "", out)
        return [json.loads(line) for line in out.splitlines()]

    return predict


def test_an_object_and_an_array(service: Running, predicted: Any) -> None:
    """An object is answered by an object, an array by an array, with the records of the command."""
    texts = ["my neighbour drills all night", "the bins were not emptied", "!"]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    expected = predicted(lines)
    one = service.post("/v1/predict", {"text": texts[0]})
    assert (one.status, one.headers["content-type"]) == (200, "application/json")
    assert one.value == expected[0]
    assert service.predict([{"text": text} for text in texts]) == expected
    assert service.predict(texts) == expected
    assert service.predict([]) == []


def test_json_lines(service: Running, predicted: Any) -> None:
    """Lines are answered by lines as the command answers them, whatever is wrong with one of
    them.
    """
    answer = service.post("/v1/predict", ODD_LINES, **JSONL)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/jsonl")
    assert answer.lines == predicted(ODD_LINES)
    assert len(answer.lines) == 11 - 1
    assert service.post("/v1/predict", b"", **JSONL).body == b""


def test_plain_text(service: Running) -> None:
    """The whole body is one text, in UTF-8; another character set is refused."""
    text = "Die Mülltonne wurde nicht geleert.\n\nThe bins were not emptied."
    expected = service.predict({"text": text})
    assert service.post("/v1/predict", text.encode(), content_type="text/plain").value == expected
    kind = 'Text/Plain; Charset="ISO-8859-1"'
    service.post("/v1/predict", text.encode("latin-1"), content_type=kind).refused(415, "UTF-8")


def test_odd_values(service: Running) -> None:
    """Numbers are ids, unusual items have a reason, and half of an emoji does no harm."""
    items = [
        {"text": "bins", "id": 17},
        {"text": "bins", "id": 1.5},
        {"text": 12},
        3,
        None,
        {"text": ["x"]},
        {"a": 1},
    ]
    answer = service.predict(items)
    assert [each["id"] for each in answer[:4]] == ["17", "1.5", "3", "4"]
    assert [each.get("reason") is None for each in answer] == [True] * 3 + [False] * 4
    assert service.predict({"text": "bins \ud83d"})["label"] == "trash"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "broken JSON: "),
        (b"\xff", "broken JSON: "),
        (b"", "broken JSON: "),
        (b'{"text": "x"} {"text": "y"}', "broken JSON: "),
        (b'["x\ny"]', "broken JSON: "),
        (rb'{"text": "\ud800"', "broken JSON: "),
        (b"3", "expected an object"),
        (b'{"txet": "x"}', "no key `text`, found txet"),
        (b"[" * 100_000, "broken JSON: "),
    ],
)
def test_bad_bodies(service: Running, body: bytes, message: str) -> None:
    service.post("/v1/predict", body, content_type="application/json").refused(400, message)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content_type": "application/xml"},
        {"content_type": "application/x-www-form-urlencoded"},
    ],
)
def test_other_types_of_content(service: Running, headers: dict[str, str]) -> None:
    answer = service.post("/v1/predict", b"{}", **headers)
    answer.refused(415, "expected one of application/json, ")
    error = answer.value["error"]
    (kind,) = re.findall("curl -H 'Content-Type: ([^']*)' -d 'TEXT'", error)
    (body,) = re.findall("curl --json '([^']*)'", error)
    assert service.post("/v1/predict", b"TEXT", content_type=kind).status == 200
    assert service.post("/v1/predict", body, content_type="application/json").status == 200


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("model=unknown", 404, "there is no model 'unknown'; there are letters"),
        (
            "modle=letters",
            400,
            "there is no option 'modle'; there are at_least_one, coverage, explain, ",
        ),
        ("min_probability=nan", 400, "min_probability: "),
        ("coverage=2", 400, "coverage: 2 is not above 0 and below 1"),
        ("top_k=1001", 400, "top_k: 1001 is not a valid value; give a number from 1 to 1,000"),
        ("x=" + "y" * 5000, 400, "there is no option 'x'"),
        ("top_k", 400, "top_k: '' is not a whole number"),
    ],
)
def test_bad_options(service: Running, query: str, status: int, message: str) -> None:
    service.post(f"/v1/predict?{query}", {"text": "x"}).refused(status, message)


def test_decisions(service: Running) -> None:
    """Abstention, prediction sets and explanations, as the options of the command."""
    document = {"text": "the bins on my street"}
    sure = service.post("/v1/predict?min_probability=0.999", document).value
    assert sure["label"] is None and "below 0.999" in sure["reason"]
    sets = service.post("/v1/predict?coverage=0.99", document).value
    assert set(sets["labels"]) <= set(sets["scores"]) and len(sets["labels"]) > 1
    top = service.post("/v1/predict?top_k=2", document).value["scores"]
    assert list(top) == sorted(sets["scores"], key=sets["scores"].get, reverse=True)[:2]
    words = service.post("/v1/predict?explain=2&model=letters", document).value["explanation"]
    assert [each["feature"] for each in words] == ["bins", "street"]


def test_fields(start: Start, nbtext: Any, tmp_path: Path) -> None:
    """A model of several fields takes their keys; a text alone is refused."""
    (tmp_path / "t.csv").write_text("subject,body,label\nred,sun,a\nblue,sea,b\nred,sky,a\n")
    nbtext(
        "train t.csv --model multinomial --text-field subject,body --separate-fields -q -o fields.joblib",
    ).ok()
    service = start("-m", tmp_path / "fields.joblib")
    assert service.predict({"subject": "red", "body": ""})["label"] == "a"
    assert service.post("/v1/predict", {"subject": "blue"}).status == 400
    assert service.post("/v1/predict", "red", content_type="text/plain").status == 415
    assert service.get("/v1/models").value["models"][0]["fields"] == ["subject", "body"]


def test_the_keys_of_the_training_table(start: Start, nbtext: Any, tmp_path: Path) -> None:
    """Rows are taken as the model was trained on them; `text` is the whole text of fields that are
    joined.
    """
    (tmp_path / "t.csv").write_text("subject,body,queue\nred,sun,a\nblue,sea,b\nred,sky,a\n")
    nbtext("train t.csv --text-field subject,body --label-field queue -o joined.joblib").ok()
    service = start("-m", tmp_path / "joined.joblib")
    row = {"subject": "blue", "body": "boat"}
    expected = service.predict(row)
    assert expected["label"] == "b"
    assert service.predict(["blue boat"]) == [expected]
    assert service.post("/v1/predict", json.dumps(row), **JSONL).lines == [expected]
    assert service.post("/v1/predict", "blue boat", content_type="text/plain").value == expected
    # blank lines do not decide which key has the text
    lines = '\n{"text": "blue boat"}\n'
    assert service.post("/v1/predict", lines, **JSONL).lines == [{**expected, "id": "2"}]


def test_many_requests_at_once(service: Running, predicted: Any, letters: Any) -> None:
    """Documents of several requests are predicted together, and each request gets its own
    answer.
    """
    texts = letters[0][:200]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    expected = [each | {"id": "1"} for each in predicted(lines)]
    local = threading.local()
    connections = []

    def ask(text: str) -> Any:
        if not hasattr(local, "connection"):
            local.connection = service.connect()
            connections.append(local.connection)
        local.connection.request(
            "POST", "/v1/predict", json.dumps({"text": text}), {"content-type": "application/json"}
        )
        return json.loads(local.connection.getresponse().read())

    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(ask, texts * 5))
    for connection in connections:
        connection.close()
    assert answers == expected * 5


def test_one_bad_request_among_many(service: Running) -> None:
    """An error of one request in a batch is not the error of the others."""

    def ask(number: int) -> int:
        query = "?coverage=0.9" if number % 2 else "?label=x"
        return service.post(f"/v1/predict{query}", {"text": "bins"}).status

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(ask, range(64))) == [400, 200] * 32


def test_a_byte_order_mark(service: Running, predicted: Any) -> None:
    """It is left out of the first text, as in the files of the command."""
    encoding = "utf-8-sig"
    lines = '{"text": "the bins were not emptied", "id": "ü"}\n{"text": "pothole"}\n'.encode(
        encoding
    )
    answer = service.post("/v1/predict", lines, **JSONL).lines
    assert [each["label"] for each in answer] == ["trash", "streets"]
    assert answer == predicted(lines)
    for body, kind in (('{"text": "bins"}', "application/json"), ("bins", "text/plain")):
        marked = service.post("/v1/predict", body.encode(encoding), content_type=kind)
        assert marked.value == service.post("/v1/predict", body, content_type=kind).value


def test_hostile_labels(start: Start, tmp_path: Path) -> None:
    """Labels and texts that look like markup, headers or numbers that JSON has not stay what they
    are.
    """
    labels = ["</script><script>alert(1)</script>", "a\r\nSet-Cookie: x=1", "NaN", "\x00\x1b[31m"]
    path = tmp_path / "hostile.joblib"
    TextClassifier(model="multinomial").fit(["red", "blue", "green", "white"], labels).save(path)
    service = start("-m", path)
    for text, label in zip(["red", "blue", "green", "white"], labels, strict=True):
        answer = service.post("/v1/predict", {"text": text, "id": label})
        assert (answer.value["label"], answer.value["id"]) == (label, label)
        assert "set-cookie" not in answer.headers
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert service.end() == 0
    assert not any(character < " " for line in service.said for character in line)


@pytest.mark.exhaustive
def test_a_pattern_that_takes_for_ever(start: Start, tmp_path: Path) -> None:
    """A hostile text delays the requests of its own model only, and is stopped; then all is as
    before.
    """
    slow = tmp_path / "slow.joblib"
    fast = tmp_path / "fast.joblib"
    TextClassifier(model="multinomial", token_pattern="(?:a+)+b|[a-z]+").fit(
        ["red", "blue"], ["x", "y"]
    ).save(slow)
    TextClassifier(model="multinomial").fit(["red", "blue"], ["x", "y"]).save(fast)
    service = start("-m", slow, "-m", fast, "--timeout", 500)
    patient = replace(service, seconds=500)  # the limit is ten seconds of the processor
    assert service.label_of("red") == "x"
    assert service.post("/v1/explain?marks=true", {"text": "red"}).value["marks"] == [["red", 3]]
    with ThreadPoolExecutor(1) as pool:
        hostile = pool.submit(patient.post, "/v1/predict", {"text": "a" * 60})
        time.sleep(0.5)
        for _ in range(20):
            assert service.post("/v1/predict?model=fast", {"text": "red"}).value["label"] == "x"
        assert not hostile.done()
        answer = hostile.result()
    answer.refused(400, "takes too long")
    assert service.label_of("blue") == "y"
    (child,) = (
        Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children")
        .read_text()
        .split()[-1:]
    )
    service.process.kill()
    service.process.wait()
    # the other process ends with the service
    wait_until(lambda: not Path(f"/proc/{child}").exists())


def test_errors_name_no_options_of_the_command_line(
    start: Start, model: Path, letters: Any, tmp_path: Path
) -> None:
    """A client cannot give them: errors name keys and query options, in the records of a stream,
    too.
    """
    TextClassifier(model="gaussian", calibrate=False).fit(*letters).save(tmp_path / "g")
    bodies: list[Any] = [
        [[]],
        {"body": "x"},
        [{"text": None}],
        {"text": "x", "label": "nothing"},
        {"text": "x", "label": {"a": 1}},
        [{"text": "x" * 2000, "label": "y" * 5000}] * 30,
    ]
    queries = ("coverage=0.9", "min_probability=2", "top_k=0", "label=none", "model=g")
    service = start(
        *("-m", model, "-m", f"g={tmp_path / 'g'}", "--feedback-dir", tmp_path),
        *("--max-body-bytes", 20_000),
    )
    answers = [
        service.post("/v1/predict", "x", host="evil.example"),
        start("-m", model).post("/v1/models/letters/feedback", {"text": "x", "label": "a"}),
    ]
    answers += [
        service.post(f"/v1/{each}?{query}", json.dumps(body), content_type=kind)
        for body in bodies
        for query in queries
        for each in ("predict", "explain", "models/letters/feedback")
        for kind in ("application/json", "application/jsonl")
    ]
    assert {400, 403, 404, 413} <= {answer.status for answer in answers}
    for answer in answers:
        assert b"--" not in answer.body, answer.body

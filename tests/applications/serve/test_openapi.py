"""`/openapi.json` is valid, describes every route, and what the service answers is what it
describes.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from nbtext.applications import serve
from nbtext.applications.serve.app import ROUTES
from nbtext.applications.serve.openapi import describe
from nbtext.applications.serve.requests import ExplainOptions, PredictOptions
from nbtext.settings import list_all_settings

OAS31Validator = pytest.importorskip("openapi_schema_validator").OAS31Validator
openapi = pytest.importorskip("openapi_spec_validator")

Running = Any  # see conftest.py
Start = Any
DOCUMENT = describe()


def test_it_is_valid(service: Running) -> None:
    answer = service.get("/openapi.json")
    assert answer.value == DOCUMENT
    openapi.validate(answer.value, cls=openapi.OpenAPIV31SpecValidator)


def test_it_describes_every_route_and_option() -> None:
    assert set(DOCUMENT["paths"]) == set(ROUTES) - {"/openapi.json"}
    for path, record in (("/v1/predict", PredictOptions), ("/v1/explain", ExplainOptions)):
        known = {field.name for field, _ in list_all_settings(record)}
        assert {each["name"] for each in DOCUMENT["paths"][path]["post"]["parameters"]} == known


def test_it_describes_every_status(start: Start, model: Path, tmp_path: Path) -> None:
    """Those that the code can answer, but 405, which an operation that is described never has; and
    507 as an answer.
    """
    folder = Path(serve.__file__).parent
    code = "".join(path.read_text() for path in folder.glob("*.py"))
    answered = set(re.findall(r"(?:HTTPException|error_response)\(\s*(\d{3})", code)) | {"200"}
    assert {"400", "500", "503", "507"} <= answered
    for operations in DOCUMENT["paths"].values():
        for operation in operations.values():
            assert answered - {"405"} == set(operation["responses"])
    service = start("-m", model, "--feedback-dir", tmp_path)
    (tmp_path / "letters.jsonl").unlink()
    (tmp_path / "letters.jsonl").mkdir()
    path = "/v1/models/{name}/feedback"
    answer = service.post(path.format(name="letters"), {"text": "x", "label": "noise"})
    assert str(answer.status) in DOCUMENT["paths"][path]["post"]["responses"]


@pytest.mark.parametrize(
    ("path", "body", "schema"),
    [
        ("/v1/predict", {"text": "the bins"}, "Prediction"),
        ("/v1/predict?explain=3&coverage=0.9", {"text": "the bins"}, "Prediction"),
        ("/v1/predict", {"text": "!"}, "Prediction"),
        ("/v1/explain?marks=true", {"text": "the bins"}, "Explanation"),
        ("/v1/explain", {"text": "!"}, "Explanation"),
        ("/v1/models", None, "Models"),
        ("/v1/predict", {}, "Error"),
    ],
)
def test_answers_are_as_described(service: Running, path: str, body: Any, schema: str) -> None:
    """Each key of an answer is described, and has the type that is described."""
    answer = service.ask("GET" if body is None else "POST", path, body).value
    described = DOCUMENT["components"]["schemas"][schema] | {"components": DOCUMENT["components"]}
    OAS31Validator(described | {"additionalProperties": False}).validate(answer)

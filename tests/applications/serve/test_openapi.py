"""`/openapi.json` is valid, and what the service answers is what it describes."""

from typing import Any

import pytest

from nbtext.applications.serve.openapi import describe
from nbtext.applications.serve.requests import ExplainOptions, PredictOptions
from nbtext.settings import list_all_settings

OAS31Validator = pytest.importorskip("openapi_schema_validator").OAS31Validator
openapi = pytest.importorskip("openapi_spec_validator")

Running = Any  # see conftest.py
DOCUMENT = describe()


def test_it_is_valid(service: Running) -> None:
    answer = service.get("/openapi.json")
    assert answer.value == DOCUMENT
    openapi.validate(answer.value, cls=openapi.OpenAPIV31SpecValidator)


def test_it_describes_every_option() -> None:
    for path, record in (("/v1/predict", PredictOptions), ("/v1/explain", ExplainOptions)):
        known = {field.name for field, _ in list_all_settings(record)}
        assert {each["name"] for each in DOCUMENT["paths"][path]["post"]["parameters"]} == known


@pytest.mark.parametrize(
    ("path", "body", "schema"),
    [
        ("/v1/predict", {"text": "the bins"}, "Prediction"),
        ("/v1/predict?explain=3&coverage=0.9", {"text": "the bins"}, "Prediction"),
        ("/v1/predict", {"text": "!"}, "Prediction"),
        ("/v1/explain?marks=true", {"text": "the bins"}, "Explanation"),
        ("/v1/explain", {"text": "!"}, "Explanation"),
    ],
)
def test_answers_are_as_described(service: Running, path: str, body: Any, schema: str) -> None:
    """Each key of an answer is described, and has the type that is described."""
    answer = service.post(path, body).value
    described = DOCUMENT["components"]["schemas"][schema] | {"components": DOCUMENT["components"]}
    OAS31Validator(described | {"additionalProperties": False}).validate(answer)

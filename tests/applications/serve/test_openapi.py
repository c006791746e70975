"""`/openapi.json` is valid, and describes every option."""

from typing import Any

import pytest

from nbtext.applications.serve.openapi import describe_service
from nbtext.applications.serve.requests import ExplainOptions, PredictOptions
from nbtext.settings import list_all_settings

openapi = pytest.importorskip("openapi_spec_validator")

Running = Any  # see conftest.py
DOCUMENT = describe_service()


def test_it_is_valid(service: Running) -> None:
    answer = service.get("/openapi.json")
    assert answer.value == DOCUMENT
    openapi.validate(answer.value, cls=openapi.OpenAPIV31SpecValidator)


def test_it_describes_every_option() -> None:
    for path, record in (("/v1/predict", PredictOptions), ("/v1/explain", ExplainOptions)):
        known = {field.name for _, field, _ in list_all_settings(record)}
        assert {each["name"] for each in DOCUMENT["paths"][path]["post"]["parameters"]} == known

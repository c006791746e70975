"""The description of the service in OpenAPI 3.1, for clients and generators of clients."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from nbtext import __version__
from nbtext.applications.serve.requests import JSON, JSONL, TEXT, ExplainOptions, PredictOptions
from nbtext.settings import list_all_settings

Schema = dict[str, Any]
NULLABLE_TEXT: Schema = {"type": ["string", "null"]}
NULLABLE_NUMBER: Schema = {"type": ["number", "null"]}
PROBABILITY: Schema = {"type": "number", "minimum": 0, "maximum": 1}
JSON_TYPES = {"int": "integer", "float": "number", "bool": "boolean"}
ERRORS = {
    "400": "The request is wrong; the message says how.",
    "401": "A bearer token is needed (--token-file).",
    "403": "The request comes from another host or origin.",
    "404": "There is no such model, or feedback is off.",
    "413": "The body, or the number of documents, is above the limit.",
    "415": "The content type is not supported.",
    "500": "The service failed; its log names the place.",
    "501": "The body has a transfer encoding other than chunked.",
    "503": "There are too many requests, or it took too long; try again after Retry-After seconds.",
    "507": "The feedback could not be stored, such as on a full disk.",
}


def describe() -> Schema:
    """Return the OpenAPI document."""
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    open_to_all: list[Schema] = [{}]
    labeled = _reference("LabeledDocument")
    of_labeled = {
        JSON: {"schema": {"oneOf": [labeled, _list_of(labeled)]}},
        JSONL: {"schema": labeled},
    }
    status = {JSON: {"schema": _object(status={"type": "string"})}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "nbtext", "version": __version__, "description": "Text classification."},
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
        "paths": {
            "/v1/predict": _operation(
                "Predict the labels of documents.",
                _either("Prediction"),
                _documents(),
                _parameters(PredictOptions),
            ),
            "/v1/explain": _operation(
                "Explain predictions.",
                _either("Explanation", "Explanations", streamed=False),
                _documents(streamed=False),
                _parameters(ExplainOptions),
            ),
            "/v1/models": _operation("List the models.", {JSON: {"schema": _reference("Models")}}),
            "/v1/models/{name}/feedback": _operation(
                "Store labeled documents (--feedback-dir), for `nbtext update`.",
                {JSON: {"schema": _reference("Stored")}},
                of_labeled,
                [name],
            ),
            "/healthz": _operation(
                "Tell whether the process is alive.", status, security=open_to_all
            ),
            "/readyz": _operation(
                "Tell whether requests are accepted.", status, security=open_to_all
            ),
            "/metrics": _operation("Return metrics for Prometheus.", {TEXT: {}}),
        },
    }


def _parameters(record: type[Any]) -> list[Schema]:
    """Return the description of each option of a request."""
    found = []
    for field, each in list_all_settings(record):
        kind = str(field.type).partition(" ")[0]
        schema: Schema = {"type": JSON_TYPES.get(kind, "string")}
        if kind in ("int", "float"):
            bounds = {"minimum": each.low, "maximum": each.high}
            schema |= {name: bound for name, bound in bounds.items() if math.isfinite(bound)}
        description = re.split(r"(?<=[.])\s+", each.help)[0]
        found.append(
            {"name": field.name, "in": "query", "description": description, "schema": schema}
        )
    return found


def _operation(
    summary: str,
    answer: Schema,
    body: Schema | None = None,
    parameters: Sequence[Schema] = (),
    **others: Any,
) -> Schema:
    """Return the only operation of a path: POST if it has a body."""
    error = {JSON: {"schema": _reference("Error")}}
    responses: Schema = {"200": {"description": "Success.", "content": answer}}
    responses |= {
        status: {"description": meaning, "content": error} for status, meaning in ERRORS.items()
    }
    operation: Schema = {
        "summary": summary,
        "parameters": list(parameters),
        "responses": responses,
        **others,
    }
    if body is None:
        return {"get": operation}
    return {"post": operation | {"requestBody": {"required": True, "content": body}}}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _list_of(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _documents(*, streamed: bool = True) -> Schema:
    document = _reference("Document")
    many = _list_of({"oneOf": [document, {"type": "string"}]})
    kinds: Schema = {
        JSON: {
            "schema": {"oneOf": [document, many]},
            "examples": {
                "object": {"value": {"text": "my neighbour drills all night"}},
                "array": {
                    "value": [
                        {"id": "a", "text": "my neighbour drills all night"},
                        "the bins are full",
                    ]
                },
            },
        },
        TEXT: {"schema": {"type": "string"}},
    }
    return kinds | ({JSONL: {"schema": document}} if streamed else {})


def _either(*names: str, streamed: bool = True) -> Schema:
    one = (
        _reference(names[0]) if len(names) == 1 else {"anyOf": [_reference(name) for name in names]}
    )
    kinds: Schema = {JSON: {"schema": {"oneOf": [one, _list_of(one)]}}}
    return kinds | ({JSONL: {"schema": one}} if streamed else {})


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _schemas() -> Schema:
    text = {"type": "string"}
    number = {"type": "number"}
    training = "the model was trained with are accepted, too; separate fields need them."
    document = _object(id=text, text=text) | {"description": f"The keys that {training}"}
    label = {
        "oneOf": [text, _list_of(text)],
        "description": "A list, if the model predicts several labels.",
    }
    labeled = _object(id=text, text=text, label=label) | {
        "description": f"The keys of text and label that {training}"
    }
    contribution = _object(feature=text, count={"type": "integer"}, log_odds=number)
    run = {"type": "array", "prefixItems": [text, {"type": "integer", "minimum": -3, "maximum": 3}]}
    return {
        "Document": document,
        "LabeledDocument": labeled,
        "Prediction": _object(
            id=text,
            label=NULLABLE_TEXT,
            probability=NULLABLE_NUMBER,
            known=PROBABILITY,
            outlier={"type": ["boolean", "null"]},
            typicality=NULLABLE_NUMBER,
            scores={"type": ["object", "null"], "additionalProperties": PROBABILITY},
            labels=_list_of(text),
            probabilities=_list_of(PROBABILITY),
            label_set=_list_of(text),
            explanation=_list_of(_object(feature=text, log_odds=number)),
            reason=text,
        ),
        "Explanation": _object(
            id=text,
            label=NULLABLE_TEXT,
            probability=NULLABLE_NUMBER,
            against=NULLABLE_TEXT,
            other_probability=NULLABLE_NUMBER,
            log_odds=NULLABLE_NUMBER,
            terms={"type": "object", "additionalProperties": number},
            contributions=_list_of(contribution),
            other_contributions=number,
            temperature=number,
            noise_rate=number,
            known=PROBABILITY,
            marks=_list_of(run),
            reason=NULLABLE_TEXT,
        ),
        "Explanations": _object(
            id=text, explanations=_list_of(_reference("Explanation")), reason=text
        )
        | {
            "required": ["explanations"],
            "description": "Of a model that predicts several labels: each predicted label by its words.",
        },
        "Models": _object(
            models=_list_of(
                _object(
                    name=text,
                    model=text,
                    labels=_list_of(text),
                    fields=_list_of(text),
                    several_labels={"type": "boolean"},
                    n_features={"type": "integer"},
                    estimated_accuracy=NULLABLE_NUMBER,
                    loaded_at=number,
                    error=NULLABLE_TEXT,
                )
            )
        ),
        "Stored": _object(stored={"type": "integer"}),
        "Error": _object(error=text) | {"required": ["error"]},
    }

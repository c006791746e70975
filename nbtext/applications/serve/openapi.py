"""The description of the service in OpenAPI 3.1, for clients and generators of clients.

The schemas of bodies and answers are those of the types in this file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypedDict

import msgspec

from nbtext import __version__
from nbtext.applications.serve.guard import HEALTH_PATHS
from nbtext.applications.serve.requests import JSON, JSONL, TEXT, ExplainOptions, PredictOptions
from nbtext.settings import list_all_settings

Schema = dict[str, Any]
Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]
REFERENCE = "#/components/schemas/{name}"
TYPES = {"int": int, "float": float, "bool": bool}  # of options; others are texts


class Document(TypedDict, total=False):
    """The keys that the model was trained with are accepted, too; separate fields need them."""

    id: str
    text: str


class LabeledDocument(Document, total=False):
    """The keys of text and label that the model was trained with are accepted, too.

    A label is a list, if the model predicts several labels.
    """

    label: str | list[str]


class Weight(TypedDict):
    """A feature and its weight."""

    feature: str
    log_odds: float


class Contribution(Weight):
    """The contribution of a feature to the log-odds of a label."""

    count: int


class Prediction(TypedDict, total=False):
    """A label, or several labels, with their probabilities."""

    id: str
    label: str | None
    probability: float | None
    known: Probability
    outlier: bool | None
    typicality: float | None
    scores: dict[str, Probability] | None
    labels: list[str]
    probabilities: list[Probability]
    label_set: list[str]
    explanation: list[Weight]
    reason: str


class Explanation(TypedDict, total=False):
    """The terms of the log-odds of a label.

    Of a model that predicts several labels, `explanations` has one for each of them.
    """

    id: str
    label: str | None
    probability: float | None
    against: str | None
    other_probability: float | None
    log_odds: float | None
    terms: dict[str, float]
    contributions: list[Contribution]
    other_contributions: float
    known: Probability
    marks: list[tuple[str, Annotated[int, msgspec.Meta(ge=-3, le=3)]]]
    explanations: list[Explanation]
    reason: str | None


class Model(TypedDict):
    """A model that is served."""

    name: str
    model: str
    labels: list[str]
    fields: list[str]
    several_labels: bool
    n_features: int
    estimated_accuracy: float | None
    loaded_at: float
    error: str | None


class Models(TypedDict):
    """All models of the service."""

    models: list[Model]


class Stored(TypedDict):
    """The number of documents that were stored."""

    stored: int


class Status(TypedDict):
    """The state of the service."""

    status: str


class Error(TypedDict):
    """What is wrong, in one line."""

    error: str


class Operation(NamedTuple):
    """The only operation of a path.

    answer   the types of its answers, by content type
    body     the types of its bodies, by content type; empty: it is a GET
    options  the record of its options
    """

    summary: str
    answer: Mapping[str, Any]
    body: Mapping[str, Any] = {}
    options: type[Any] | None = None


FAILED = "The request is wrong, or cannot be answered; the message says why, and Retry-After when."
DOCUMENTS = {JSON: Document | list[Document | str], TEXT: str, JSONL: Document}
OPERATIONS = {
    "/v1/predict": Operation(
        "Predict the labels of documents.",
        {JSON: Prediction | list[Prediction], JSONL: Prediction},
        DOCUMENTS,
        PredictOptions,
    ),
    "/v1/explain": Operation(
        "Explain predictions.",
        {JSON: Explanation | list[Explanation], JSONL: Explanation},
        DOCUMENTS,
        ExplainOptions,
    ),
    "/v1/models": Operation("List the models.", {JSON: Models}),
    "/v1/models/{name}/feedback": Operation(
        "Store labeled documents (--feedback-dir), for `nbtext update`.",
        {JSON: Stored},
        {JSON: LabeledDocument | list[LabeledDocument], JSONL: LabeledDocument},
    ),
    "/healthz": Operation("Tell whether the process is alive.", {JSON: Status}),
    "/readyz": Operation("Tell whether requests are accepted.", {JSON: Status}),
    "/metrics": Operation("Return metrics for Prometheus.", {TEXT: str}),
}


def describe() -> Schema:
    """Return the OpenAPI document."""
    components: Schema = {}

    def content(types: Mapping[str, Any]) -> Schema:
        """Return the schema of each content type, and add what it refers to."""
        schemas, named = msgspec.json.schema_components(types.values(), ref_template=REFERENCE)
        components.update(named)
        return {kind: {"schema": schema} for kind, schema in zip(types, schemas, strict=True)}

    def describe_operation(path: str, operation: Operation) -> Schema:
        found: Schema = {
            "summary": operation.summary,
            "parameters": [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in re.findall(r"{(\w+)}", path)
            ],
            "responses": {
                "200": {"description": "Success.", "content": content(operation.answer)},
                "default": {"description": FAILED, "content": content({JSON: Error})},
            },
        }
        if operation.options is not None:
            found["parameters"] += _parameters(operation.options)
        if path in HEALTH_PATHS:
            found["security"] = [{}]
        if not operation.body:
            return {"get": found}
        return {
            "post": {**found, "requestBody": {"required": True, "content": content(operation.body)}}
        }

    return {
        "openapi": "3.1.0",
        "info": {"title": "nbtext", "version": __version__, "description": "Text classification."},
        "security": [{}, {"token": []}],
        "paths": {path: describe_operation(path, each) for path, each in OPERATIONS.items()},
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _parameters(record: type[Any]) -> list[Schema]:
    """Return the description of each option of a request."""
    found = []
    for field, each in list_all_settings(record):
        kind = TYPES.get(str(field.type).partition(" ")[0], str)
        limits = msgspec.Meta(
            ge=each.low if math.isfinite(each.low) else None,
            le=each.high if math.isfinite(each.high) else None,
        )
        found.append(
            {
                "name": field.name,
                "in": "query",
                "description": re.split(r"(?<=[.])\s+", each.help)[0],
                "schema": msgspec.json.schema(Annotated[kind, limits]),
            }
        )
    return found

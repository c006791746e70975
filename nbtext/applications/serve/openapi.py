"""The description of the requests with JSON in OpenAPI 3.1, for clients and generators of clients.

The records in the answers are those that the commands print, which have no schema.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TypedDict

import msgspec

from nbtext import __version__
from nbtext.applications.serve.requests import JSON, ExplainOptions, PredictOptions
from nbtext.settings import list_all_settings, type_of_values

Schema = dict[str, Any]
REFERENCE = "#/components/schemas/{name}"
OPTION_TYPES = (int, float, bool)  # of options; others are texts


class Document(TypedDict, total=False):
    """The keys that the model was trained with are accepted, too; separate fields need them.

    A label is for feedback; it is a list if the model predicts several labels.
    """

    id: str
    text: str
    label: str | list[str]


JsonObject = dict[str, Any]
RequestDocuments = Document | list[Document | str]


class Operation(NamedTuple):
    """The only operation of a path.

    body     the type of its body; None: it is a GET
    options  the record of its options
    """

    summary: str
    body: Any = None
    options: type[Any] | None = None


OPERATIONS = {
    "/v1/predict": Operation("Predict the labels of documents.", RequestDocuments, PredictOptions),
    "/v1/explain": Operation("Explain predictions.", RequestDocuments, ExplainOptions),
    "/v1/models": Operation("List the models."),
    "/v1/models/{name}/feedback": Operation(
        "Store labeled documents (--feedback-dir), for `nbtext update`.", RequestDocuments
    ),
}


def describe_service() -> Schema:
    """Return the OpenAPI document."""
    components: Schema = {}

    def content(kind: Any, description: str) -> Schema:
        """Return the description of JSON of a type, and add what it refers to."""
        (schema,), named = msgspec.json.schema_components([kind], ref_template=REFERENCE)
        components.update(named)
        return {"description": description, "content": {JSON: {"schema": schema}}}

    paths: Schema = {}
    for path, operation in OPERATIONS.items():
        found: Schema = {
            "summary": operation.summary,
            "parameters": [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in re.findall(r"{(\w+)}", path)
            ],
            "responses": {
                "200": content(JsonObject | list[JsonObject], "Success."),
                "default": content(dict[str, str], "The key `error` says in one line why not."),
            },
        }
        if operation.options is not None:
            for own, field, each in list_all_settings(operation.options):
                kind = type_of_values(own, field)
                found["parameters"].append(
                    {
                        "name": field.name,
                        "in": "query",
                        "description": re.split(r"(?<=[.])\s+", each.help)[0],
                        "schema": msgspec.json.schema(kind if kind in OPTION_TYPES else str),
                    }
                )
        method = "get"
        if operation.body is not None:
            method = "post"
            found["requestBody"] = content(operation.body, "Documents.")
        paths[path] = {method: found}
    return {
        "openapi": "3.1.0",
        "info": {"title": "nbtext", "version": __version__},
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }

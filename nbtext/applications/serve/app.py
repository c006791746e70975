"""The application: its routes, and what they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from functools import partial
from importlib.resources import files
from mimetypes import guess_type
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from nbtext.appended_file import AppendedFile
from nbtext.applications.serve import requests
from nbtext.applications.serve.batching import Batcher, run_parser
from nbtext.applications.serve.feedback import feedback_lines
from nbtext.applications.serve.guard import HEALTH_PATHS, USAGE, Guard, Log, json_response
from nbtext.applications.serve.models import ModelSlot, ServedModel
from nbtext.applications.serve.openapi import describe_service
from nbtext.applications.serve.requests import JSON, JSONL, Documents
from nbtext.applications.serve.settings import ServeSettings
from nbtext.errors import OutputError
from nbtext.output import convert_errors
from nbtext.records import frozen_object

PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
# Answers that need no token: those of the health checks are the same, because a service that stops
# accepts no connection.
OPEN = [
    *[Route(path, json_response({"status": "ok"}), methods=["GET"]) for path in HEALTH_PATHS],
    Route("/openapi.json", json_response(describe_service()), methods=["GET"]),
    *[
        Route(
            f"/{file.name}".removesuffix("index.html"),
            Response(file.read_bytes(), headers=PAGE_HEADERS, media_type=guess_type(file.name)[0]),
            methods=["GET"],
        )
        for file in (files(__package__) / "page").iterdir()
    ],
]


@frozen_object
class Service:
    """The endpoints, and what they share.

    slots     the models by their names, at least one
    feedback  the file of the feedback for each model, by its name; empty: feedback is refused
    writer    the thread that writes to these files
    """

    slots: Mapping[str, ModelSlot]
    settings: ServeSettings
    batcher: Batcher
    feedback: Mapping[str, AppendedFile]
    writer: ThreadPoolExecutor = field(default_factory=partial(ThreadPoolExecutor, 1))

    def guard(self, log: Log) -> Guard:
        """Return the ASGI application."""
        routes = [
            Route("/v1/predict", partial(self.answer, requests.PredictOptions), methods=["POST"]),
            Route("/v1/explain", partial(self.answer, requests.ExplainOptions), methods=["POST"]),
            Route("/v1/models", self.models),
            Route("/v1/models/{name}/feedback", self.store_feedback, methods=["POST"]),
            Route("/metrics", self.metrics),
            *OPEN,
        ]
        open_paths = [route.path for route in OPEN]
        return Guard(routes, self.settings, open_paths=open_paths, log=log)

    async def answer(self, kind: Any, request: Request) -> Response:
        """Answer `POST /v1/predict` and `POST /v1/explain` with a record for each document."""
        options = requests.parse_options(request.scope["query_string"], kind)
        model = requests.find_model(self.slots, options.model, request.scope[USAGE]).current
        documents = await self._read_documents(request, model)
        records = await self.batcher.records(model, documents.batch, options.settings)
        media_type = JSONL if documents.form == requests.LINES else JSON
        return Response(documents.join(records), media_type=media_type)

    async def _read_documents(self, request: Request, model: ServedModel) -> Documents:
        """Return the documents of the body."""
        kind = requests.content_type(request)
        body = await requests.read_body(request, self.settings.max_body_bytes)
        parse = partial(requests.parse_documents, body, kind, model.input_settings)
        documents = await run_parser(parse, len(body))
        request.scope[USAGE].n_documents = len(documents.batch)
        return documents

    async def store_feedback(self, request: Request) -> Response:
        """Answer `POST /v1/models/NAME/feedback`: the labeled documents are on the disk."""
        usage = request.scope[USAGE]
        slot = requests.find_model(self.slots, request.path_params["name"], usage)
        file = self.feedback.get(slot.file.name)
        if file is None:
            raise HTTPException(404, "this service stores no feedback")
        model = slot.current
        batch = (await self._read_documents(request, model)).batch
        prepare = partial(feedback_lines, batch, model, new_labels=self.settings.new_labels)
        lines = await run_parser(prepare, usage.bytes_in)
        try:
            with convert_errors(file.path):
                await asyncio.get_running_loop().run_in_executor(self.writer, file.append, lines)
        except OutputError as error:
            raise HTTPException(
                507, f"the feedback was not stored: its file {error.what}"
            ) from None
        return json_response({"stored": len(batch)})

    async def models(self, request: Request) -> Response:
        """Answer `GET /v1/models`."""
        found = []
        for slot in self.slots.values():
            fitted = slot.current.fitted
            found.append(
                {
                    "name": slot.file.name,
                    "model": fitted.model_settings.model,
                    "labels": fitted.labels,
                    "fields": fitted.feature_settings.fields or ("text",),
                    "several_labels": fitted.kind.form.is_list,
                    "error": slot.error,
                }
            )
        return json_response({"models": found})

    async def metrics(self, request: Request) -> Response:
        """Answer `GET /metrics`."""
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

"""The application: its routes, and what they answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import Any

from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from nbtext.applications.serve import requests
from nbtext.applications.serve.batching import Batcher, predict_stream
from nbtext.applications.serve.feedback import FeedbackFile, feedback_lines
from nbtext.applications.serve.guard import (
    USAGE,
    Guard,
    Log,
    Metrics,
    error_response,
    in_http_terms,
    json_response,
)
from nbtext.applications.serve.models import ModelStore, ServedModel
from nbtext.applications.serve.openapi import describe
from nbtext.applications.serve.requests import JSON, JSONL, TEXT, Documents
from nbtext.applications.serve.settings import ServeSettings
from nbtext.errors import NbtextError, OutputError

PREDICT_PATH = "/v1/predict"
SMALL_BODY = 1 << 16  # bytes that are parsed in a few milliseconds, and so in the event loop
ROUTES = {  # path: method and endpoint of the service
    PREDICT_PATH: ("POST", "predict"),
    "/v1/explain": ("POST", "explain"),
    "/v1/models": ("GET", "models"),
    "/v1/models/{name}/feedback": ("POST", "feedback"),
    "/healthz": ("GET", "healthz"),
    "/readyz": ("GET", "readyz"),
    "/metrics": ("GET", "metrics"),
    "/openapi.json": ("GET", "openapi"),
}
ERRORS = (HTTPException, NbtextError)  # that a request may cause
PAGE = {  # path: file of the page and its type
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/csv.js": ("csv.js", "text/javascript"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Service:
    """The endpoints, and what they share.

    Parameters
    ----------
    feedback
        The file of the feedback for each model, by its name; empty: feedback is refused.

    Attributes
    ----------
    app : Guard
        The ASGI application.
    """

    def __init__(
        self,
        store: ModelStore,
        settings: ServeSettings,
        *,
        batcher: Batcher,
        metrics: Metrics,
        log: Log,
        tokens: Sequence[bytes],
        feedback: Mapping[str, FeedbackFile],
    ) -> None:
        self._store = store
        self._settings = settings
        self._batcher = batcher
        self._metrics = metrics
        self._feedback = feedback
        self.is_draining = False
        routes = [
            Route(path, getattr(self, name), methods=[method])
            for path, (method, name) in ROUTES.items()
            if path != PREDICT_PATH
        ]
        routes += [Route(path, _page_endpoint(*file), name=path) for path, file in PAGE.items()]
        self.app = Guard(
            Starlette(routes=routes, exception_handlers=dict.fromkeys(ERRORS, _answer_error)),
            settings,
            direct={PREDICT_PATH: self.predict},
            routes={route.endpoint: route.path for route in routes},
            open_paths=frozenset({"/healthz", "/readyz", "/openapi.json", *PAGE}),
            free_paths=frozenset({"/healthz", "/readyz", "/metrics"}),
            tokens=tokens,
            metrics=metrics,
            log=log,
        )

    async def predict(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer `POST /v1/predict`. The most frequent request bypasses Starlette's routing and
        requests.
        """
        if scope["method"] != "POST":
            raise HTTPException(405, headers={"Allow": "POST"})
        options = requests.parse_options(scope["query_string"], requests.PredictOptions)
        usage = scope[USAGE]
        model = requests.find_model(self._store, options.model, usage).current
        kind, charset = requests.content_type(scope)
        if kind == JSONL:
            await predict_stream(
                scope,
                receive,
                send,
                model=model,
                decisions=options.decisions,
                batcher=self._batcher,
                max_line_bytes=self._settings.max_body_bytes,
            )
            return
        documents = await self._read_documents(scope, receive, kind, charset, model)
        usage.n_documents = len(documents.batch)
        answer = await self._batcher.predict(model, documents, options.decisions, usage.lease)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async def _read_documents(
        self, scope: Scope, receive: Receive, kind: str, charset: str, model: ServedModel
    ) -> Documents:
        """Return the documents of the whole body; a large one is parsed outside the event loop."""
        limit = self._settings.max_body_bytes
        body = await requests.read_body(scope, receive, limit)
        settings = model.input_settings(limit)
        maximum = self._settings.max_documents
        parse = partial(requests.parse_documents, body, kind, charset, settings, maximum)
        return (
            parse()
            if len(body) <= SMALL_BODY
            else await self._batcher.parse(parse, scope[USAGE].lease)
        )

    async def explain(self, request: Request) -> Response:
        """Answer `POST /v1/explain`: the terms of the log-odds of each document."""
        scope = request.scope
        options = requests.parse_options(scope["query_string"], requests.ExplainOptions)
        usage = scope[USAGE]
        model = requests.find_model(self._store, options.model, usage).current
        kind, charset = requests.content_type(scope)
        if kind == JSONL:
            raise HTTPException(415, "explanations are not streamed; send JSON or plain text")
        documents = await self._read_documents(scope, request.receive, kind, charset, model)
        usage.n_documents = len(documents.batch)
        answer = await self._batcher.explain(model, documents, options.explanation, usage.lease)
        return Response(answer, media_type=JSON)

    async def feedback(self, request: Request) -> Response:
        """Answer `POST /v1/models/NAME/feedback`: the labeled documents are on the disk."""
        scope = request.scope
        slot = requests.find_model(self._store, request.path_params["name"], scope[USAGE])
        if slot.file.name not in self._feedback:
            raise HTTPException(404, "this service stores no feedback")
        kind, charset = requests.content_type(scope)
        if kind == TEXT:
            raise HTTPException(415, f"feedback has labels; send {JSON} or {JSONL}")
        model = slot.current
        new_labels = self._settings.new_labels
        batch = (await self._read_documents(scope, request.receive, kind, charset, model)).batch
        settings = model.input_settings(self._settings.max_body_bytes)
        lines = await self._batcher.parse(
            partial(feedback_lines, batch, model, settings, new_labels=new_labels),
            scope[USAGE].lease,
        )
        try:
            await self._feedback[slot.file.name].append(lines)
        except OutputError as error:
            raise HTTPException(
                507, f"the feedback was not stored: its file {error.what}"
            ) from None
        scope[USAGE].n_documents = len(batch)
        return json_response({"stored": len(batch)})

    async def openapi(self, request: Request) -> Response:
        """Answer `GET /openapi.json`."""
        return json_response(describe())

    async def models(self, request: Request) -> Response:
        """Answer `GET /v1/models`."""
        return json_response({"models": list(map(_describe, self._store.slots.values()))})

    async def healthz(self, request: Request) -> Response:
        """Answer `GET /healthz`: the process is alive."""
        return json_response({"status": "ok"})

    async def readyz(self, request: Request) -> Response:
        """Answer `GET /readyz`: requests are accepted."""
        return (
            error_response(503, "stopping") if self.is_draining else json_response({"status": "ok"})
        )

    async def metrics(self, request: Request) -> Response:
        """Answer `GET /metrics`."""
        for name, slot in self._store.slots.items():
            self._metrics.loaded.labels(name).set(slot.current.loaded_at)
        self._metrics.active.set(len(self.app.active))
        self._metrics.body_bytes.set(self.app.memory.used)
        return Response(self._metrics.text(), media_type=CONTENT_TYPE_LATEST)


def _page_endpoint(name: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a file of the page."""
    content = (files(__package__) / "page" / name).read_bytes()

    async def answer(request: Request) -> Response:
        return Response(content, headers=PAGE_HEADERS, media_type=media_type)

    return answer


async def _answer_error(request: Request, error: Exception) -> Response:
    if isinstance(error, NbtextError):
        error = HTTPException(400, str(in_http_terms(error)))
    assert isinstance(error, HTTPException)
    return error_response(error.status_code, error.detail, error.headers)


def _describe(slot: Any) -> dict[str, Any]:
    """Return the description of a model in the answer to `GET /v1/models`."""
    fitted = slot.current.fitted
    estimate = fitted.estimate
    return {
        "name": slot.file.name,
        "model": fitted.model_settings.model,
        "labels": fitted.labels,
        "fields": fitted.feature_settings.fields or ("text",),
        "several_labels": not fitted.task.is_exclusive,
        "n_features": fitted.scorer.n_features,
        "estimated_accuracy": getattr(estimate, "accuracy", None),
        "loaded_at": slot.current.loaded_at,
        "error": slot.error,
    }

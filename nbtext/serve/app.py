"""The application: its routes, and what they answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from nbtext.errors import NbtextError
from nbtext.report.explanation import explanation_record
from nbtext.serve.batching import Batcher
from nbtext.serve.bodies import JSONL, content_type, parse_documents
from nbtext.serve.guard import USAGE, Guard, Paths, error_response, json_response
from nbtext.serve.models import ModelStore
from nbtext.serve.monitoring import METRICS_TYPE, Log, Metrics
from nbtext.serve.requests import EXPLAIN, PREDICT, Closed, find_model, header, parse_options, read_body
from nbtext.serve.settings import ServeSettings
from nbtext.serve.streaming import predict_stream


class Service:
    """The endpoints, and what they share.

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
        tokens: Sequence[bytes] = (),
    ) -> None:
        self._store, self._settings, self._batcher, self._metrics = store, settings, batcher, metrics
        self.is_draining = False
        routes = [
            Route("/healthz", self.healthz),
            Route("/readyz", self.readyz),
            Route("/metrics", self.metrics),
            Route("/v1/models", self.models),
            Route("/v1/explain", self.explain, methods=["POST"]),
        ]
        paths = Paths(
            direct={"/v1/predict": self.predict},
            routes={route.endpoint: route.path for route in routes},
            open=frozenset({"/healthz", "/readyz"}),
            free=frozenset({"/healthz", "/readyz", "/metrics"}),
        )
        starlette = Starlette(routes=routes, exception_handlers={HTTPException: _answer_error})
        self.app = Guard(starlette, paths, settings, tokens=tokens, metrics=metrics, log=log)

    async def predict(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer `POST /v1/predict`. It is called most, so it does without Starlette's routing and requests."""
        if scope["method"] != "POST":
            raise HTTPException(405, headers={"Allow": "POST"})
        options = parse_options(scope["query_string"], PREDICT)
        usage = scope[USAGE]
        model = find_model(self._store, options.model, usage).current
        kind, charset = content_type(header(scope, b"content-type"))
        limit = self._settings.max_body_bytes
        try:
            if kind == JSONL:
                await predict_stream(
                    scope, receive, send, model=model, decisions=options.decisions, batcher=self._batcher,
                    max_line_bytes=limit,
                )  # fmt: skip
                return
            body = await read_body(scope, receive, limit)
            documents = parse_documents(body, kind, charset, model.input_settings(limit), self._settings.max_documents)
            usage.n_documents = len(documents.batch)
            answer = await self._batcher.predict(model, documents, options.decisions)
        except Closed:
            return
        except NbtextError as error:
            raise HTTPException(400, str(error)) from None
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))],
            }
        )
        await send({"type": "http.response.body", "body": answer})

    async def explain(self, request: Request) -> Response:
        """Answer `POST /v1/explain`: the terms of the log-odds of each document."""
        scope = request.scope
        options = parse_options(scope["query_string"], EXPLAIN)
        usage = scope[USAGE]
        model = find_model(self._store, options.model, usage).current
        kind, charset = content_type(header(scope, b"content-type"))
        if kind == JSONL:
            raise HTTPException(415, "explanations are not streamed; send JSON or plain text")
        limit = self._settings.max_body_bytes
        body = await read_body(scope, request.receive, limit)

        def work() -> bytes:
            documents = parse_documents(body, kind, charset, model.input_settings(limit), self._settings.max_documents)
            usage.n_documents = len(documents.batch)
            explanations = model.explainer.explain_batch(documents.batch, label=options.label, against=options.against)
            return bytes(documents.encode(explanation_record(each, options.features) for each in explanations))

        try:
            return Response(await self._batcher.run(work), media_type="application/json")
        except NbtextError as error:
            raise HTTPException(400, str(error)) from None

    async def models(self, request: Request) -> Response:
        """Answer `GET /v1/models`."""
        return json_response({"models": [_describe(slot) for slot in self._store.slots.values()]})

    async def healthz(self, request: Request) -> Response:
        """Answer `GET /healthz`: the process is alive."""
        return json_response({"status": "ok"})

    async def readyz(self, request: Request) -> Response:
        """Answer `GET /readyz`: requests are accepted."""
        if self.is_draining:
            return error_response(503, "stopping")
        return json_response({"status": "ok"})

    async def metrics(self, request: Request) -> Response:
        """Answer `GET /metrics`."""
        for name, slot in self._store.slots.items():
            self._metrics.loaded.labels(name).set(slot.current.loaded_at)
        self._metrics.active.set(self.app.n_active)
        return Response(self._metrics.text(), media_type=METRICS_TYPE)


async def _answer_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_response(error.status_code, error.detail, error.headers)


def _describe(slot: Any) -> dict[str, Any]:
    """Return what `GET /v1/models` tells of a model."""
    fitted = slot.current.fitted
    estimate = fitted.estimate
    return {
        "name": slot.file.name,
        "model": fitted.model_settings.model,
        "labels": fitted.labels,
        "fields": fitted.feature_settings.fields or ("text",),
        "n_features": fitted.scorer.n_features,
        "estimated_accuracy": None if estimate is None else estimate.accuracy,
        "loaded_at": slot.current.loaded_at,
        "error": slot.error,
    }

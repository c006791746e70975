"""Monitoring of the service: metrics for Prometheus, and a log of requests, without texts."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TextIO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from nbtext.errors import printable

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30)
BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
MAX_LINES = 100_000  # of the log that wait to be written
FLUSH_SECONDS = 0.1
METRICS_TYPE = CONTENT_TYPE_LATEST


@dataclass(slots=True)
class Usage:
    """What one request used.

    route        the path of its endpoint; "" if there is none
    model        the name of its model; "" if it has none
    n_documents  documents that were predicted, explained or stored
    bytes_in, bytes_out  sizes of the bodies
    """

    route: str = ""
    model: str = ""
    n_documents: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


class Metrics:
    """Counts requests and documents. The values of Prometheus labels come from the service, never from a request."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=True)
        ProcessCollector(registry=self._registry)
        registry = self._registry
        self.requests = Counter("nbtext_requests", "Requests.", ("route", "status"), registry=registry)
        self.seconds = Histogram(
            "nbtext_request_seconds", "Time of a request.", ("route",), buckets=SECONDS, registry=registry
        )
        self.documents = Counter("nbtext_documents", "Documents.", ("route", "model"), registry=registry)
        self.batches = Histogram(
            "nbtext_batch_documents", "Documents that were predicted together.", buckets=BATCH_SIZES, registry=registry
        )
        self.active = Gauge("nbtext_requests_in_progress", "Requests in progress.", registry=registry)
        self.body_bytes = Gauge(
            "nbtext_body_bytes_in_progress", "Memory that the bodies of requests in progress use.", registry=registry
        )
        self.loaded = Gauge(
            "nbtext_model_loaded_timestamp_seconds", "When the model was loaded.", ("model",), registry=registry
        )
        self.reloads = Counter("nbtext_model_reloads", "Replaced model files.", ("model", "result"), registry=registry)
        self._children: dict[tuple[str, ...], Any] = {}

    def count_request(self, usage: Usage, status: int, seconds: float) -> None:
        """Count a request that has been answered."""
        key = (usage.route, str(status))
        if (child := self._children.get(key)) is None:
            child = self._children[key] = (self.requests.labels(*key), self.seconds.labels(usage.route))
        child[0].inc()
        child[1].observe(seconds)
        if usage.n_documents:
            place = ("", usage.route, usage.model)
            if (child := self._children.get(place)) is None:
                child = self._children[place] = self.documents.labels(usage.route, usage.model)
            child.inc(usage.n_documents)

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return bytes(generate_latest(self._registry))


class Log:
    """Writes a JSON object on a line for each event, in a thread, so that a slow reader delays no request.

    Parameters
    ----------
    file
        Where the lines go; None: nowhere.
    """

    def __init__(self, file: TextIO | None = sys.stderr) -> None:
        self._file = file
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        if file is not None:
            self._thread.start()

    def write(self, event: str, **details: Any) -> None:
        """Add a line."""
        if self._file is None:
            return
        time_now = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")
        self._lines.append(json.dumps({"time": time_now, "event": event, **details}, ensure_ascii=False))

    def write_request(self, client: str, method: str, status: int, seconds: float, usage: Usage) -> None:
        """Add the line of a request; it has no path, because anything may be written there."""
        self.write(
            "request", client=client, method=method, route=usage.route, status=status, seconds=round(seconds, 6),
            model=usage.model, documents=usage.n_documents, bytes_in=usage.bytes_in, bytes_out=usage.bytes_out,
        )  # fmt: skip

    def stop(self) -> None:
        """Write the lines that are left."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stopped.wait(FLUSH_SECONDS):
            self._flush()
        self._flush()

    def _flush(self) -> None:
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        if lines and self._file is not None:
            try:
                self._file.write("".join(printable(line) + "\n" for line in lines))
                self._file.flush()
            except (OSError, ValueError):  # its reader is gone
                self._file = None

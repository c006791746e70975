"""What a served model computes: predictions and explanations, in this process or in a separate one."""

from __future__ import annotations

import os
import signal
import threading
import weakref
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import get_context, parent_process
from typing import Any, Protocol

from nbtext.documents.batch import Batch
from nbtext.errors import InputError
from nbtext.features.analyzer import has_own_pattern
from nbtext.features.occurrences import Locator
from nbtext.model.explanation import Explainer, Explanation
from nbtext.model.fitted_model import FittedModel
from nbtext.model.predictions import Predictions
from nbtext.model.predictor import Predictor
from nbtext.model.settings import DecisionSettings
from nbtext.model.task import OneLabel
from nbtext.report.explanation import Run, explanation_record, highlight, part_weights
from nbtext.settings import setting

MAX_FEATURES = 1000  # of an explanation
MAX_EXPLAINED = 20  # predicted labels of a document, each with the text: an answer is a multiple of its request
MAX_EXPLAINED_CHARACTERS = 200_000  # of a document; for each, an explanation may need 1 KB of memory
MAX_MARKED_CHARACTERS = 50_000  # of a document whose text is marked


def parse_count(text: str) -> int:
    """Return a number of features, at most MAX_FEATURES."""
    if not text.isdecimal() or len(text) > 9:
        raise ValueError(f"{text!r} is not a whole number")
    return min(int(text), MAX_FEATURES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationSettings:
    """What an explanation shows: the options of /v1/explain."""

    label: str | None = setting(None, "Label to explain; the predicted one by default.")
    against: str | None = setting(None, "Label to compare with; the most probable other one by default.")
    features: int | None = setting(None, "Number of contributions; all by default.", low=0, parse=parse_count)
    marks: bool = setting(False, "Whether to add the text in runs, each with its weight.")


class Engine(Protocol):
    """Computes with a model; several threads may share it.

    Attributes
    ----------
    pool : ThreadPoolExecutor, optional
        The only threads that should wait for it, if it can take long; None: any threads.
    """

    pool: ThreadPoolExecutor | None

    def predict(self, batch: Batch, decisions: DecisionSettings) -> Predictions:
        """Return the predictions for a batch, with explanations if the decisions ask for them."""

    def explain(self, batch: Batch, settings: ExplanationSettings) -> list[dict[str, Any]]:
        """Return the explanation of each document as plain data."""


class LocalEngine:
    """Computes in the thread that calls it."""

    pool: ThreadPoolExecutor | None = None

    def __init__(self, fitted: FittedModel) -> None:
        self._fitted = fitted
        self._predictor = Predictor(fitted)

    def predict(self, batch: Batch, decisions: DecisionSettings) -> Predictions:
        """See Engine."""
        self._fitted.task.check(decisions, self._fitted.labels)
        if decisions.explain is None:
            return self._predictor.predict_batch(batch, decisions)
        batch = _refuse_long_texts(batch, MAX_EXPLAINED_CHARACTERS, "an explanation", "explain")
        return self._explainer.predict_batch(batch, decisions)

    def explain(self, batch: Batch, settings: ExplanationSettings) -> list[dict[str, Any]]:
        """See Engine."""
        if settings.marks:
            batch = _refuse_long_texts(batch, MAX_MARKED_CHARACTERS, "marks", "marks")
        else:
            batch = _refuse_long_texts(batch, MAX_EXPLAINED_CHARACTERS, "an explanation", "")
        found = self._explainer.explain_documents(
            batch, label=settings.label, against=settings.against, most=MAX_EXPLAINED
        )
        if isinstance(self._fitted.task, OneLabel):
            return [self._record(each, settings) for (each,) in found]
        return [
            {"id": each[0].id, "explanations": [self._record(one, settings) for one in each if one.label is not None]}
            | ({} if each[0].reason is None else {"reason": each[0].reason})
            for each in found
        ]

    def _record(self, explanation: Explanation, settings: ExplanationSettings) -> dict[str, Any]:
        record = explanation_record(explanation, settings.features)
        if settings.marks:
            runs: list[Run] = []
            for text, weights in zip(explanation.texts, part_weights(explanation, self._locator), strict=True):
                runs += [Run("\n", 0)] * bool(runs) + highlight(text, weights)
            record["marks"] = runs
        return record

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self._fitted)

    @cached_property
    def _locator(self) -> Locator:
        return Locator(self._fitted.feature_settings)


class ProcessEngine:
    """Computes in a separate process, for models with a token pattern.

    A pattern can take exponential time, in which Python's matcher lets no other thread run. Only a main thread can
    stop it, see `nbtext.features.regex_timeout`: in the other process it is the main thread that computes.
    """

    def __init__(self, fitted: FittedModel) -> None:
        self._fitted = fitted
        self._process = self._start()
        self.pool: ThreadPoolExecutor | None = ThreadPoolExecutor(1, thread_name_prefix="wait")
        weakref.finalize(self, self.pool.shutdown, wait=False)

    def predict(self, batch: Batch, decisions: DecisionSettings) -> Predictions:
        """See Engine."""
        found: Predictions = self._call("predict", batch, decisions)
        return found

    def explain(self, batch: Batch, settings: ExplanationSettings) -> list[dict[str, Any]]:
        """See Engine."""
        found: list[dict[str, Any]] = self._call("explain", batch, settings)
        return found

    def _call(self, method: str, *arguments: Any) -> Any:
        process = self._process
        try:
            return process.submit(_compute, method, *arguments).result()
        except BrokenProcessPool:  # killed, such as by a lack of memory; the next call finds a new process
            if self._process is process:
                self._process = self._start()
            raise

    def _start(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=_initialize, initargs=(self._fitted,)
        )  # fmt: skip
        weakref.finalize(self, pool.shutdown, wait=False)
        return pool


def _refuse_long_texts(batch: Batch, maximum: int, purpose: str, option: str) -> Batch:
    """Return a batch in which each document of more than `maximum` characters is a problem without texts."""
    lengths = [sum(map(len, texts)) for texts in zip(*batch.columns, strict=True)]
    too_long = [row for row, length in enumerate(lengths) if length > maximum]
    if not too_long:
        return batch
    hint = f"leave out `{option}`, or send a part of it" if option else "send a part of it"
    columns: tuple[list[str], ...] = tuple(map(list, batch.columns))
    problems = dict(batch.problems)
    for row in too_long:
        what = f"the document has {lengths[row]:,} characters, and the maximum for {purpose} is {maximum:,}"
        problems[row] = InputError(what, where=batch.place(row), hint=hint)
        for column in columns:
            column[row] = ""
    return replace(batch, columns=columns, problems=problems)


def make_engine(fitted: FittedModel) -> Engine:
    """Return the engine of a model."""
    return ProcessEngine(fitted) if has_own_pattern(fitted.feature_settings) else LocalEngine(fitted)


_engine: LocalEngine  # of the process that a ProcessEngine starts


def _initialize(fitted: FittedModel) -> None:
    global _engine  # noqa: PLW0603  the process computes with one model
    for each in (signal.SIGINT, signal.SIGTERM):  # the service ends it
        signal.signal(each, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _engine = LocalEngine(fitted)


def _end_with_parent() -> None:
    """End this process when the process of the service ends."""
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _compute(method: str, *arguments: Any) -> Any:
    return getattr(_engine, method)(*arguments)

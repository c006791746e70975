"""What a served model computes: predictions and explanations, in this process or in a separate one."""

from __future__ import annotations

import os
import signal
import threading
import weakref
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context, parent_process
from typing import Any, Protocol

from nbtext.documents.batch import Batch
from nbtext.features.analyzer import has_own_pattern
from nbtext.features.occurrences import Locator
from nbtext.model.explanation import Explainer, Explanation
from nbtext.model.fitted_model import FittedModel
from nbtext.model.multilabel_explanation import MultilabelExplainer, refuse_against
from nbtext.model.multilabel_predictions import AnyPredictions
from nbtext.model.multilabel_predictor import MultilabelPredictor
from nbtext.model.predictor import Predictor
from nbtext.model.settings import DecisionSettings, check_decisions
from nbtext.report.explanation import Run, explanation_record, highlight, part_weights

MAX_EXPLAINED = 20  # predicted labels of a document, each with the text: an answer is a multiple of its request


@dataclass(frozen=True, slots=True)
class ExplanationSettings:
    """What an explanation shows.

    label, against  the labels to explain and to compare with; None: the most probable ones
    features        number of contributions; None: all
    marks           whether to add the text in runs, each with its weight
    """

    label: str | None = None
    against: str | None = None
    features: int | None = None
    marks: bool = False


class Engine(Protocol):
    """Computes with a model; several threads may share it."""

    def predict(self, batch: Batch, decisions: DecisionSettings) -> AnyPredictions:
        """Return the predictions for a batch, with explanations if the decisions ask for them."""

    def explain(self, batch: Batch, settings: ExplanationSettings) -> list[dict[str, Any]]:
        """Return the explanation of each document as plain data."""


class LocalEngine:
    """Computes in the thread that calls it."""

    def __init__(self, fitted: FittedModel) -> None:
        self._fitted = fitted
        self._predictor = Predictor(fitted) if fitted.multilabel is None else MultilabelPredictor(fitted)

    def predict(self, batch: Batch, decisions: DecisionSettings) -> AnyPredictions:
        """See Engine."""
        check_decisions(decisions, self._fitted.labels, is_multilabel=self._fitted.multilabel is not None)
        if decisions.explain is None:
            return self._predictor.predict_batch(batch, decisions)
        explainer = self._explainer if self._fitted.multilabel is None else self._set_explainer
        return explainer.predict_batch(batch, decisions)

    def explain(self, batch: Batch, settings: ExplanationSettings) -> list[dict[str, Any]]:
        """See Engine."""
        if self._fitted.multilabel is None:
            explanations = self._explainer.explain_batch(batch, label=settings.label, against=settings.against)
            return [self._record(each, settings) for each in explanations]
        refuse_against(settings.against)
        found = self._set_explainer.explain_documents(batch, label=settings.label, most=MAX_EXPLAINED)
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
    def _set_explainer(self) -> MultilabelExplainer:
        return MultilabelExplainer(self._fitted)

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
        self._pool = self._start()

    def predict(self, batch: Batch, decisions: DecisionSettings) -> AnyPredictions:
        """See Engine."""
        found: AnyPredictions = self._call("predict", batch, decisions)
        return found

    def explain(self, batch: Batch, settings: ExplanationSettings) -> list[dict[str, Any]]:
        """See Engine."""
        found: list[dict[str, Any]] = self._call("explain", batch, settings)
        return found

    def _call(self, method: str, *arguments: Any) -> Any:
        pool = self._pool
        try:
            return pool.submit(_compute, method, *arguments).result()
        except BrokenProcessPool:  # killed, such as by a lack of memory; the next call finds a new process
            if self._pool is pool:
                self._pool = self._start()
            raise

    def _start(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=_initialize, initargs=(self._fitted,)
        )  # fmt: skip
        weakref.finalize(self, pool.shutdown, wait=False)
        return pool


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

"""The models that are served: what they compute, in this process or in a separate one, and how they
are replaced.

Each is loaded again when its file is replaced, while the old one continues to answer.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import weakref
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import cached_property
from multiprocessing import get_context, parent_process
from typing import Any

from nbtext.applications.serve.guard import dumps
from nbtext.applications.serve.settings import ModelFile
from nbtext.artifact.model import load_model_file
from nbtext.documents.batch import Batch
from nbtext.documents.settings import InputSettings, ModelInput
from nbtext.errors import InputError, NbtextError
from nbtext.features.analyzer import Locator, has_own_pattern
from nbtext.model.explanation import Explainer, Explanation
from nbtext.model.fitted_model import FittedModel
from nbtext.model.predictions import Predictions
from nbtext.model.predictor import Predictor
from nbtext.model.settings import DecisionSettings
from nbtext.records import frozen, frozen_object
from nbtext.report.explanation import MarkedText, explanation_record, highlight, part_weights
from nbtext.report.predictions import prediction_records
from nbtext.settings import Settings, setting

# predicted labels of a document, each with the text: an answer is a multiple of its request
MAX_EXPLAINED_LABELS = 20
# of a document; for each, an explanation with marks may need several KB of memory
MAX_EXPLAINED_CHARACTERS = 50_000
SECONDS_BETWEEN_CHECKS = 0.5


@frozen(kw_only=True)
class ExplanationSettings(Settings):
    """What an explanation shows: the options of /v1/explain."""

    label: str | None = setting(None, "Label to explain; the predicted one by default.")
    against: str | None = setting(
        None, "Label to compare with; the most probable other one by default."
    )
    features: int | None = setting(None, "Number of contributions; all by default.", low=0)
    marks: bool = setting(False, "Whether to add the text in runs, each with its weight.")


Answers = DecisionSettings | ExplanationSettings  # what is computed


class LocalEngine:
    """Computes with a model in the thread that calls it; several threads may share it.

    Attributes
    ----------
    pool : ThreadPoolExecutor, optional
        The only threads that should wait for it, if it can take long; None: any threads.
    """

    pool: ThreadPoolExecutor | None = None

    def __init__(self, fitted: FittedModel) -> None:
        self._fitted = fitted
        fitted.check_takes_texts()
        self._predictor = Predictor(fitted)

    def answer(self, batch: Batch, settings: Answers) -> list[bytes]:
        """Return the encoded prediction of each document of a batch, or its explanation."""
        if isinstance(settings, ExplanationSettings):
            return list(map(dumps, self._explain(batch, settings)))
        found = self._predict(batch, settings)
        return list(map(dumps, prediction_records(found, settings.top_k)))

    def _predict(self, batch: Batch, decisions: DecisionSettings) -> Predictions:
        self._fitted.kind.check_decisions(decisions, self._fitted.labels)
        if decisions.explain is None:
            return self._predictor.predict_batch(batch, decisions)
        return self._explainer.predict_batch(_refuse_long_texts(batch), decisions)

    def _explain(self, batch: Batch, settings: ExplanationSettings) -> Iterator[dict[str, Any]]:
        found = self._explainer.explain_documents(
            _refuse_long_texts(batch),
            label=settings.label,
            against=settings.against,
            most=MAX_EXPLAINED_LABELS,
        )
        for each in found:
            if not self._fitted.kind.form.is_list:
                yield self._record(each[0], settings)
                continue
            shown = [self._record(one, settings) for one in each if one.label is not None]
            yield {"id": each[0].id, "explanations": shown, "reason": each[0].reason}

    def _record(self, explanation: Explanation, settings: ExplanationSettings) -> dict[str, Any]:
        record = explanation_record(explanation, settings.features)
        if settings.marks:
            runs: list[MarkedText] = []
            for text, weights in zip(
                explanation.texts, part_weights(explanation, self._locator), strict=True
            ):
                runs += [MarkedText("\n", 0)] * bool(runs) + highlight(text, weights)
            record["marks"] = runs
        return record

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self._fitted)

    @cached_property
    def _locator(self) -> Locator:
        return Locator(self._fitted.feature_settings)


class ProcessEngine:
    """Computes like LocalEngine in a separate process, for models with a token pattern.

    A pattern can take exponential time, in which Python's matcher lets no other thread run. Only a
    main thread can stop it, see `nbtext.features.analyzer`: in the other process it is the main
    thread that computes.
    """

    def __init__(self, fitted: FittedModel) -> None:
        self._fitted = fitted
        self._process = self._start()
        self.pool: ThreadPoolExecutor | None = ThreadPoolExecutor(1, thread_name_prefix="wait")
        weakref.finalize(self, self.pool.shutdown, wait=False)

    def answer(self, batch: Batch, settings: Answers) -> list[bytes]:
        """Return what LocalEngine.answer returns."""
        process = self._process
        try:
            return process.submit(_answer, batch, settings).result()
        except BrokenProcessPool:
            # killed, such as by a lack of memory; the next call finds a new process
            if self._process is process:
                self._process = self._start()
            raise

    def _start(self) -> ProcessPoolExecutor:
        context = get_context("spawn")
        return ProcessPoolExecutor(
            1, mp_context=context, initializer=_initialize, initargs=(self._fitted,)
        )


def _refuse_long_texts(batch: Batch) -> Batch:
    """Return a batch in which each document that is too long for an explanation is a problem
    without texts.
    """
    columns: tuple[list[str], ...] = tuple(map(list, batch.columns))
    problems = dict(batch.problems)
    for row, texts in enumerate(zip(*batch.columns, strict=True)):
        length = sum(map(len, texts))
        if length > MAX_EXPLAINED_CHARACTERS:
            what = f"the document has {length:,} characters, and the maximum for an explanation is {MAX_EXPLAINED_CHARACTERS:,}"
            problems[row] = InputError(what, where=batch.place(row), hint="send a part of it")
            for column in columns:
                column[row] = ""
    return replace(batch, columns=columns, problems=problems)


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


def _answer(batch: Batch, settings: Answers) -> list[bytes]:
    return _engine.answer(batch, settings)


@frozen_object
class ServedModel:
    """A loaded model; several threads may share it.

    Attributes
    ----------
    engine
        Computes its predictions and explanations.
    """

    fitted: FittedModel
    engine: LocalEngine | ProcessEngine

    @property
    def input(self) -> ModelInput:
        """The keys of the rows that it was trained on; `text` and `label` of other documents."""
        known = self.fitted.input
        return known if known.unit == "row" else ModelInput()

    @cached_property
    def input_settings(self) -> InputSettings:
        """How documents are read for this model: by the keys of `input`; several labels are one
        list.
        """
        known = self.input
        fields = self.fitted.feature_settings.fields
        return InputSettings(
            text_field=fields or known.text_field,
            label_field=known.label_field,
            separate_fields=bool(fields),
        )


class ModelSlot:
    """The place of a model in the service.

    Attributes
    ----------
    current : ServedModel
        The model that answers.
    error : str, optional
        Why the file that replaced it cannot be used; None: `current` is the file's model.
    """

    def __init__(self, file: ModelFile) -> None:
        self.file = file
        self._seen = _read_state(file.path)
        self.current = self._load()
        self.error: str | None = None

    def reload(self) -> bool:
        """Load the model again if its file has changed since the last call, and return whether it
        has.

        If the new file cannot be used, the old model stays.
        """
        state = _read_state(self.file.path)
        if state == self._seen:
            return False
        self._seen = state
        try:
            self.current = self._load()
            self.error = None
        except NbtextError as error:
            self.error = str(error)
        except Exception as error:  # whatever a file causes, the thread watches all of them
            self.error = f"cannot be loaded: {type(error).__name__}"
        return True

    def _load(self) -> ServedModel:
        fitted = load_model_file(self.file.path, is_file=True).fitted
        engine = (
            ProcessEngine(fitted)
            if has_own_pattern(fitted.feature_settings)
            else LocalEngine(fitted)
        )
        return ServedModel(fitted, engine)


def _read_state(path: str) -> tuple[int, ...]:
    """Return what changes when a file is replaced; nothing if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


async def watch(slots: Collection[ModelSlot], on_reload: Callable[[ModelSlot], None]) -> None:
    """Load each model whose file has changed, until cancelled."""
    while True:
        await asyncio.sleep(SECONDS_BETWEEN_CHECKS)
        for slot in slots:
            if await asyncio.to_thread(slot.reload):
                on_reload(slot)

"""The models that are served. Each is loaded again when its file is replaced, while the old one continues to answer."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nbtext.artifact.model import load_model
from nbtext.documents.batch import Batch
from nbtext.documents.settings import InputSettings, ModelInput
from nbtext.errors import ArtifactError, NbtextError
from nbtext.model.fitted_model import FittedModel
from nbtext.model.predictor import MOST_PROBABLE
from nbtext.serve.engine import Engine, make_engine
from nbtext.serve.settings import ModelFile

SECONDS_BETWEEN_CHECKS = 0.5
FileState = tuple[int, int, int, int]  # device, inode, size, time of the last change in nanoseconds
OnReload = Callable[["ModelSlot"], None]


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A loaded model; several threads may share it.

    Attributes
    ----------
    engine : Engine
        Computes its predictions and explanations.
    loaded_at : float
        Seconds since the epoch.
    """

    name: str
    fitted: FittedModel
    engine: Engine
    loaded_at: float

    def input_settings(self, max_document_bytes: int) -> InputSettings:
        """Return how documents are read for this model: by the keys of the rows that it was trained on.

        They are `text` and `label` if it was trained on other documents, or on columns without names.
        """
        known = self.fitted.input
        if known.unit != "row" or any(name.isdecimal() for name in (*known.text_field, known.label_field)):
            known = ModelInput()
        fields = self.fitted.feature_settings.fields
        return InputSettings(
            text_field=fields or known.text_field,
            label_field=known.label_field,
            separate_fields=bool(fields),
            max_document_bytes=max_document_bytes,
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
        self._seen: FileState | None = _read_state(file.path)
        self.current = self._load()
        self.error: str | None = None

    def reload(self) -> bool:
        """Load the model again if its file has changed since the last call, and return whether it has.

        If the new file cannot be used, the old model stays.
        """
        try:
            seen, self._seen = self._seen, None  # a file that comes back as it was is loaded again
            self._seen = _read_state(self.file.path)
            if self._seen == seen:
                return False
            self.current = self._load()
            self.error = None
        except (NbtextError, OSError, MemoryError) as error:
            message = str(error) or type(error).__name__
            if message == self.error:
                return False
            self.error = message
        return True

    def _load(self) -> ServedModel:
        fitted = load_model(self.file.path).fitted
        model = ServedModel(self.file.name, fitted, make_engine(fitted), time.time())
        columns = tuple([""] for _ in model.fitted.feature_settings.fields or ("text",))
        model.engine.predict(Batch(["1"], columns, [None]), MOST_PROBABLE)  # the first call is slower
        return model


def _read_state(path: str) -> FileState:
    try:
        status = os.stat(path)
    except OSError as error:
        raise ArtifactError(f"cannot be read: {(error.strerror or str(error)).lower()}", where=path) from None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class ModelStore:
    """All models of the service; a thread watches their files."""

    def __init__(self, files: Sequence[ModelFile], on_reload: OnReload = lambda slot: None) -> None:
        self.slots = {file.name: ModelSlot(file) for file in files}
        self.default = next(iter(self.slots.values()))
        self._on_reload = on_reload
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="reload", daemon=True)

    def start(self) -> None:
        """Watch the files until `stop`."""
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(timeout=1)

    def _watch(self) -> None:
        """Load each model whose file has changed."""
        while not self._stopped.wait(SECONDS_BETWEEN_CHECKS):
            for slot in self.slots.values():
                if slot.reload():
                    self._on_reload(slot)

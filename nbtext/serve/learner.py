"""Updates models with their feedback, each in a separate process, one update after the other."""

from __future__ import annotations

import asyncio
import json
import sys

from nbtext.serve.learning import Learned
from nbtext.serve.models import ModelStore
from nbtext.serve.monitoring import Log, Metrics
from nbtext.serve.settings import ModelFile

COLLECT_SECONDS = 1.0  # between feedback and its update, so that one update learns the feedback of many requests
RETRY_SECONDS = 10.0  # after an update that failed, such as one that found the model locked


class Learner:
    """Updates one model with its feedback.

    Parameters
    ----------
    model, feedback
        The model, and the path of its feedback.
    store
        Loads the model that has learned.
    """

    def __init__(self, model: ModelFile, feedback: str, *, store: ModelStore, metrics: Metrics, log: Log) -> None:
        self._name, self._model, self._feedback, self._store = model.name, model.path, feedback, store
        self._metrics, self._log = metrics, log
        self._is_wanted = asyncio.Event()

    def notify(self) -> None:
        """Wake up `run`, because there is feedback to learn."""
        self._is_wanted.set()

    async def run(self) -> None:
        """Learn the feedback in the file, and new feedback as it arrives, until this is cancelled."""
        self.notify()  # feedback that the last process has not learned
        while True:
            await self._is_wanted.wait()
            await asyncio.sleep(COLLECT_SECONDS)
            self._is_wanted.clear()
            learned = await self._learn()
            if learned.n_documents:
                await asyncio.to_thread(self._store.check)
            if learned.n_documents or learned.n_skipped or learned.error:
                self._metrics.learned.labels(self._name).inc(learned.n_documents)
                self._log.write(
                    "learn", model=self._name, documents=learned.n_documents, skipped=learned.n_skipped,
                    error=learned.error,
                )  # fmt: skip
            if learned.error:
                await asyncio.sleep(RETRY_SECONDS)
            if learned.error or learned.has_more:
                self.notify()

    async def _learn(self) -> Learned:
        """Run the update. It is not a child of the terminal's session, so that Ctrl-C does not cut it short."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "nbtext.serve.learning", self._model, self._feedback,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        output, _ = await process.communicate()
        try:
            return Learned(**json.loads(output))
        except (ValueError, TypeError):
            return Learned(error=f"the update ended with status {process.returncode}")

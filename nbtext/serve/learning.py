"""Learning from feedback: `python -m nbtext.serve.learning MODEL FEEDBACK` updates a model by the lines that are new.

The service runs it as a process of its own, so that it takes neither time nor memory of the requests. The model is
locked and replaced as `nbtext update` does it, and the result is the same.

Each line is learned exactly once, even if the process is killed. Before the model is replaced, a file beside the
feedback, NAME.learned, records the digest of the model so far and the bytes of feedback that the next one has learned.
If the model still has that digest, it was not replaced.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from hashlib import sha256

from nbtext.artifact.model import load_model, save_model
from nbtext.documents.blocks import LineBlock
from nbtext.errors import ModelError, NbtextError
from nbtext.model import growth
from nbtext.model.corpus_counts import CorpusCounter
from nbtext.model.fitted_model import TrainedModel
from nbtext.output import atomic_output, lock_file
from nbtext.serve.bodies import parse_lines
from nbtext.serve.models import input_settings_of

DIGEST_BYTES = 32  # at the end of a model file
MAX_BYTES = 64_000_000  # of feedback that are learned at once
CHECKED_BYTES = 4096  # before a place in the feedback, by which it is known to be the same file


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of the feedback a model has learned.

    model       digest of the model file before the last update, in hexadecimal; "" if there was nothing to learn
    start, end  bytes of the feedback that it had learned before that update, and after it
    check       digest of the bytes before `end`
    """

    model: str = ""
    start: int = 0
    end: int = 0
    check: str = ""


@dataclass(frozen=True, slots=True)
class Learned:
    """What an update did.

    n_documents  documents that were learned
    n_skipped    lines that are not labeled documents
    has_more     whether there is more feedback to learn
    error        why nothing was learned
    """

    n_documents: int = 0
    n_skipped: int = 0
    has_more: bool = False
    error: str | None = None


def progress_path(feedback: str) -> str:
    return f"{feedback.removesuffix('.jsonl')}.learned"


def check_learning(model: str) -> None:
    """Raise ModelError, which names the file, unless its model can learn more."""
    try:
        growth.check_growth(load_model(model))
    except ModelError as error:
        raise error.locate(model) from None


def learn(model: str, feedback: str) -> Learned:
    """Update a model by the lines of feedback that it has not learned."""
    with lock_file(model):
        digest = _model_digest(model)
        start = _find_start(feedback, digest)
        data, has_more = _read_lines(feedback, start)
        if not data:
            return Learned()
        trained = load_model(model)
        end = start + len(data)
        changed, n_documents, n_skipped = _update(trained, data)
        progress = Progress(digest if n_documents else "", start, end, _check(feedback, end))
        with atomic_output(progress_path(feedback)) as file:
            file.write(json.dumps(asdict(progress)).encode())
        if n_documents:
            save_model(changed, model)
    return Learned(n_documents, n_skipped, has_more)


def _update(trained: TrainedModel, data: bytes) -> tuple[TrainedModel, int, int]:
    """Return the model that has learned these lines, and how many were documents and how many were not."""
    growth.check_growth(trained)
    features = trained.fitted.feature_settings
    counter = CorpusCounter(features, sample_size=growth.growth_sample_size(trained))
    batch = parse_lines(LineBlock(data, 1, len(data)), input_settings_of(trained.fitted, MAX_BYTES))
    if trained.fitted.multilabel is None:  # a line with several labels is not of this model
        batch.labels = [labels[0] if labels and len(labels) == 1 else None for labels in batch.list_labels()]
        batch.label_lists = None
    unusable = {*batch.problems, *(row for row, labels in enumerate(batch.list_labels()) if labels is None)}
    kept = batch.drop(unusable)
    if not len(kept):
        return trained, 0, len(unusable)
    counter.add(kept)
    return growth.update(trained, counter.finish()), len(kept), len(unusable)


def _model_digest(path: str) -> str:
    with open(path, "rb") as file:
        file.seek(-DIGEST_BYTES, os.SEEK_END)
        return file.read().hex()


def _find_start(feedback: str, digest: str) -> int:
    """Return the number of bytes of feedback that a model has learned; 0 if the feedback is another file by now."""
    try:
        with open(progress_path(feedback), encoding="utf-8") as file:
            progress = Progress(**json.load(file))
    except (OSError, ValueError, TypeError):
        return 0
    if _check(feedback, progress.end) != progress.check:
        return 0
    return progress.start if progress.model == digest else progress.end


def _check(feedback: str, end: int) -> str:
    with open(feedback, "rb") as file:
        file.seek(max(0, end - CHECKED_BYTES))
        return sha256(file.read(min(end, CHECKED_BYTES))).hexdigest()


def _read_lines(feedback: str, start: int) -> tuple[bytes, bool]:
    """Return complete lines from a place on, and whether more follow."""
    with open(feedback, "rb") as file:
        file.seek(start)
        data = file.read(MAX_BYTES)
        is_all = not file.read(1)
    return data[: data.rfind(b"\n") + 1], not is_all


def main(model: str, feedback: str) -> None:
    """Learn, and print the result as JSON."""
    os.nice(5)  # requests come first
    try:
        learned = learn(model, feedback)
    except (NbtextError, OSError) as error:
        learned = Learned(error=str(error))
    sys.stdout.write(json.dumps(asdict(learned)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Counting a source in parallel: each thread takes pieces of it until none is left, and the corpora add up."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from operator import add
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from nbtext.bayes.leave_one_out import Run, one_by_one
from nbtext.documents.batch import Batch
from nbtext.errors import SettingsError
from nbtext.features.analyzer import has_own_pattern
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.reservoir import Bound
from nbtext.model.settings import MOST_PROBABLE, DecisionSettings

if TYPE_CHECKING:
    from nbtext.documents.source import Chunk, Source
    from nbtext.model.predictions import Predictions
    from nbtext.model.text_classifier import TextClassifier

Question = TypeVar("Question")
Answer = TypeVar("Answer")
MANY_LABELS = 256
MOST_PROBABILITIES = 1 << 22  # of documents that are answered at once, one a label: 32 MiB
OnBatch = Callable[["Chunk", Batch], None]


@dataclass(frozen=True, slots=True)
class Counting:
    """How documents are counted, wherever that is done.

    settings     what of a text is counted
    sample_size  documents kept for leave-one-out; None keeps all
    """

    settings: FeatureSettings
    sample_size: int | None

    def count(self, chunks: Iterable[Chunk], on_batch: OnBatch, bound: Bound | None = None) -> CorpusCounts:
        """The tally of some documents; threads that count others of the same source share a bound."""
        builder = CorpusCounter(self.settings, sample_size=self.sample_size, bound=bound)
        for chunk in chunks:
            batch = chunk.batch()
            builder.add(batch)
            on_batch(chunk, batch)
        return builder.finish()


class Executor(Protocol):
    """Who counts a source: it has parts of it counted, and adds the corpora up."""

    def tally(self, source: Source, counting: Counting, on_batch: OnBatch | None = None) -> CorpusCounts:
        """Count every document of a source. The result does not depend on who counts, nor into which parts it is cut.

        on_batch  is told of what was counted, one piece at a time
        raises    InputError: a document cannot be read, or has no label
        """


@dataclass(frozen=True, slots=True)
class Threads:
    """So many threads of this process; each counts what it can get until none is left."""

    jobs: int

    def tally(self, source: Source, counting: Counting, on_batch: OnBatch | None = None) -> CorpusCounts:
        """See Executor. A token pattern is tried in this thread: no other could help, and only here it can be ended."""
        chunks, is_one = _peeked(source.chunks())
        pieces, bound = _Shared(chunks, on_batch), Bound(counting.sample_size)

        def count() -> CorpusCounts:
            try:
                return counting.count(pieces, pieces.done, bound)
            except BaseException:
                pieces.stop()
                raise

        if self.jobs == 1 or is_one or has_own_pattern(counting.settings):
            return count()
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                counted = [pool.submit(count) for _ in range(self.jobs)]
                return reduce(add, [each.result() for each in counted])
            finally:
                pieces.stop()


def tally_source(
    source: Source,
    settings: FeatureSettings,
    *,
    jobs: int,
    sample_size: int | None,
    on_batch: OnBatch | None = None,
) -> CorpusCounts:
    """Count every document of a source in `jobs` threads; see Executor."""
    return Threads(jobs).tally(source, Counting(settings, sample_size), on_batch)


@contextmanager
def threads(jobs: int) -> Iterator[Run[Any]]:
    """What makes some calls in this many threads, and gives their results in order."""
    if jobs == 1:
        yield one_by_one
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(jobs) as pool:
        yield lambda calls: list(pool.map(lambda call: call(), calls))


def _peeked(chunks: Iterator[Chunk]) -> tuple[Iterator[Chunk], bool]:
    """The same chunks, and whether there is but one (or none), which no second thread could help with."""
    first = list(islice(chunks, 2))
    return chain(first, chunks), len(first) < 2


class _Shared:
    """The chunks of a source, handed out to whichever thread asks."""

    def __init__(self, chunks: Iterator[Chunk], on_batch: OnBatch | None) -> None:
        self._chunks = chunks
        self._on_batch = on_batch
        self._lock = threading.Lock()
        self._is_stopped = False

    def __iter__(self) -> Iterator[Chunk]:
        while True:
            with self._lock:
                chunk = None if self._is_stopped else next(self._chunks, None)
            if chunk is None:
                return
            yield chunk

    def done(self, chunk: Chunk, batch: Batch) -> None:
        if self._on_batch is not None:
            with self._lock:
                self._on_batch(chunk, batch)

    def stop(self) -> None:
        """Nothing is handed out from here on."""
        self._is_stopped = True


def predict_source(
    classifier: TextClassifier,
    source: Source,
    *,
    jobs: int,
    decisions: DecisionSettings = MOST_PROBABLE,
    on_batch: OnBatch | None = None,
) -> Iterator[Predictions]:
    """Answer every document of a source, in order, a batch at a time.

    Text from a pipe is answered as it comes, in this thread; else a few batches are read ahead in `jobs` threads.
    """
    if decisions.cost is not None:
        decisions.cost.check(classifier.labels)
    yield from answered(
        lambda batch: classifier.predict_batch(batch, decisions), classifier, source, jobs=jobs, on_batch=on_batch
    )


def answered(
    ask: Callable[[Batch], Answer],
    classifier: TextClassifier,
    source: Source,
    *,
    jobs: int,
    on_batch: OnBatch | None = None,
) -> Iterator[Answer]:
    """What is answered to each batch of a source, in order, as `predict_source` does it."""

    def answer(chunk: Chunk) -> tuple[Chunk, Batch, Answer]:
        batch = chunk.batch()
        return chunk, batch, ask(batch)

    check_fields(classifier.features.fields, source.field_names)
    chunks = _bounded(source.chunks(), len(classifier.labels))
    if source.is_live or has_own_pattern(classifier.features):
        jobs = 1
    if jobs > 1:
        chunks, is_one = _peeked(chunks)
        jobs = 1 if is_one else jobs
    for chunk, batch, found in in_order(answer, chunks, jobs=jobs):
        if on_batch is not None:
            on_batch(chunk, batch)
        yield found


def _bounded(chunks: Iterator[Chunk], n_labels: int) -> Iterator[Chunk]:
    """The same documents; with very many labels in smaller chunks, so that the probabilities of one stay bounded."""
    if n_labels <= MANY_LABELS:
        return chunks
    size = max(1, MOST_PROBABILITIES // n_labels)
    return chain.from_iterable(_parts(chunk, size) for chunk in chunks)


def _parts(chunk: Chunk, size: int) -> Iterator[Chunk]:
    """The documents of a chunk, which is read here and now, a few at a time."""
    from nbtext.documents.source import ReadChunk

    for number, part in enumerate(chunk.batch().parts(size)):
        yield ReadChunk(part, 0 if number else chunk.size)


def check_fields(learned: tuple[str, ...], given: tuple[str, ...]) -> None:
    """The text fields that are kept apart are those that the model learned from."""
    if learned == given:
        return
    if learned:
        hint = f"give --text-field {','.join(learned)} --separate-fields"
        raise SettingsError(f"the model keeps the fields {', '.join(learned)} apart", hint=hint)
    raise SettingsError("the model has learned from joined fields", where="--separate-fields", hint="leave it out")


def in_order(answer: Callable[[Question], Answer], chunks: Iterator[Question], *, jobs: int) -> Iterator[Answer]:
    """The answer to each chunk, in order; a few are read ahead in this many threads."""
    if jobs == 1:
        yield from map(answer, chunks)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(jobs) as pool:
        try:
            begun = deque(pool.submit(answer, chunk) for chunk in islice(chunks, 2 * jobs))
            while begun:
                found = begun.popleft().result()
                begun.extend(pool.submit(answer, chunk) for chunk in islice(chunks, 1))
                yield found
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

"""Counting the documents of a source in parallel."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from nbtext.documents.batch import Batch
from nbtext.documents.settings import already_counted
from nbtext.errors import InputError, SettingsError
from nbtext.features.analyzer import has_own_pattern
from nbtext.features.settings import FeatureSettings
from nbtext.features.stored_documents import Spill
from nbtext.model.corpus_counts import Bound, CorpusCounter, CorpusCounts, add_counts
from nbtext.parallel import return_memory, take, thread_pool
from nbtext.records import dataclass
from nbtext.settings import join_list, refuse

if TYPE_CHECKING:
    from nbtext.documents.batch import Block
    from nbtext.documents.source import Source

OnBatch = Callable[["Block", Batch], None]


@dataclass(frozen=True, slots=True)
class CountingTask:
    """How documents are counted, in a thread or by a worker of a cluster.

    settings     the features to count
    sample_size  documents retained for leave-one-out; None retains all
    is_labeled   whether the labels matter; otherwise all documents are counted as one class
    spill        where the threads of this process leave documents that are too many for memory, if
                 all are retained
    """

    settings: FeatureSettings
    sample_size: int | None
    is_labeled: bool = True
    spill: Spill | None = None

    def count(
        self, blocks: Iterable[Block], on_batch: OnBatch, bound: Bound | None = None
    ) -> CorpusCounts:
        """Return the counts of some documents; threads that count others of the same source share a
        bound.
        """

        def start() -> CorpusCounter:
            return CorpusCounter(
                self.settings, sample_size=self.sample_size, bound=bound, spill=self.spill
            )

        corpus_counter = start()
        counts = None
        for block in blocks:
            batch = block.batch()
            if not self.is_labeled:
                batch.labels = [""] * len(batch)
            if corpus_counter.is_full(batch):
                part = corpus_counter.finish()
                corpus_counter = start()
                counts = part if counts is None else counts + part
            corpus_counter.add(batch)
            on_batch(block, batch)
            if self.spill is not None:
                self.spill.read(block.size)
            del batch  # its texts, before the next block is read
        return corpus_counter.finish() if counts is None else counts + corpus_counter.finish()


class Executor(Protocol):
    """Counts a source in parts, and adds the parts' counts."""

    def count(
        self, source: Source, task: CountingTask, on_batch: OnBatch | None = None
    ) -> CorpusCounts:
        """Return the counts of all documents of a source; they do not depend on the parts.

        on_batch  is called with each counted block and batch, one at a time
        raises    InputError: a document cannot be read, or has no label
        """


@dataclass(frozen=True, slots=True)
class ThreadExecutor:
    """Counts in threads of this process; each takes the next block until none is left."""

    jobs: int

    def count(
        self, source: Source, task: CountingTask, on_batch: OnBatch | None = None
    ) -> CorpusCounts:
        """See Executor. A user's token pattern is matched in the main thread, where it can time
        out.
        """
        jobs = self.jobs if source.first_matrix() is None else 1  # weights are counted together
        return ThreadExecutor(jobs).count_blocks(source.blocks(), task, on_batch)

    def count_blocks(
        self, blocks: Iterator[Block], task: CountingTask, on_batch: OnBatch | None
    ) -> CorpusCounts:
        """Count blocks; see `count`."""
        blocks, is_single = peek_blocks(blocks)
        shared = _SharedBlocks(blocks, on_batch)
        bound = Bound(task.sample_size)

        def count_blocks() -> CorpusCounts:
            try:
                return task.count(shared, shared.report, bound)
            except Exception as error:
                shared.fail(error)
                raise
            finally:
                shared.stop()

        if self.jobs == 1 or is_single or has_own_pattern(task.settings):
            return count_blocks()
        try:
            with thread_pool(self.jobs) as pool:
                try:
                    parts: Iterator[CorpusCounts] = pool.map(
                        lambda _: count_blocks(), range(self.jobs)
                    )
                    counted = [next(parts)]
                    for part in parts:
                        counted.append(part)
                        del part  # so that `add_counts` can free it
                        counted.append(add_counts(counted))
                finally:
                    shared.stop()
        except Exception as error:  # threads that were counting earlier blocks have ended, too
            raise shared.first_error or error from None
        return_memory()
        return counted.pop()


def count_source(
    source: Source,
    settings: FeatureSettings,
    *,
    jobs: int,
    sample_size: int | None,
    on_batch: OnBatch | None = None,
    has_several: bool = False,
    change: Callable[[Batch], Batch] | None = None,
) -> CorpusCounts:
    """Return the counts of all documents of a source, counted in `jobs` threads; see Executor.

    has_several  whether documents may have several labels, or none
    change       is called with each batch, and returns what is counted
    raises       InputError: some have, and they should not
    """
    blocks = source.blocks()
    if not has_several:
        blocks = (block.map(_set_single_labels) for block in blocks)
    if change is not None:
        blocks = (block.map(change) for block in blocks)
    jobs = jobs if source.first_matrix() is None else 1
    return ThreadExecutor(jobs).count_blocks(blocks, CountingTask(settings, sample_size), on_batch)


def source_features(source: Source, features: FeatureSettings) -> FeatureSettings:
    """Return the settings of the features of a source: those given, with its text fields; of a
    matrix, its own.

    raises  SettingsError: settings are given for a matrix, whose documents are already counted
    """
    matrix = source.first_matrix()
    if matrix is None:
        return replace(features, fields=source.field_names)
    for each in fields(FeatureSettings):
        if getattr(features, each.name) != each.default:
            raise refuse(each.name, already_counted())
    features = matrix.features
    assert isinstance(features, FeatureSettings)  # for the types
    return features


def label_numbered(batch: Batch, labels: Sequence[str]) -> Batch:
    """Return a batch whose labels are numbers with their names among the labels of a model; others
    as they are.

    raises  InputError: there are fewer labels
    """
    if batch.matrix is None or not batch.features.is_numbered:
        return batch
    names = {str(number): label for number, label in enumerate(labels)}
    for row, own in enumerate(batch.list_labels()):
        for label in own or ():
            if label not in names:
                what = f"the label {label} is not the number of a label of the model, from 0 to {len(labels) - 1:,}"
                raise InputError(
                    what, where=batch.place(row), hint="make the matrix with vectorize --like MODEL"
                )
    batch.labels = [
        tuple(map(names.__getitem__, given)) if isinstance(given, tuple) else names.get(given or "")
        for given in batch.labels
    ]
    return batch


def _set_single_labels(batch: Batch) -> Batch:
    batch.labels = batch.single_labels()
    return batch


def read_batches(source: Source, on_batch: OnBatch | None = None) -> Iterator[Batch]:
    """Yield the batches of a source, in order and in this thread; `on_batch` is called after each
    was used.
    """
    for block in source.blocks():
        batch = block.batch()
        yield batch
        if on_batch is not None:
            on_batch(block, batch)


def peek_blocks(blocks: Iterator[Block]) -> tuple[Iterator[Block], bool]:
    """Return the same blocks, and whether there is at most one, so that a second thread would have
    nothing to do.
    """
    first, blocks = take(blocks, 1)
    if not first or not first[0].is_large:  # no block is read beside a large one
        second, blocks = take(blocks, 1)
        first += second
    return chain(first, blocks), len(first) < 2 and not (first and first[0].is_large)


class _SharedBlocks:
    """The blocks of a source, shared by threads; each block is given to one thread. No block
    follows a large one before that has been counted.
    """

    def __init__(self, blocks: Iterator[Block], on_batch: OnBatch | None) -> None:
        self._blocks = blocks
        self._on_batch = on_batch
        self._lock = threading.Lock()
        self._has_large = self._is_stopped = False
        self._n_blocks = 0
        self._numbers: dict[int, int] = {}  # of the block that a thread counts
        self._errors: dict[int, Exception] = {}  # by the number of the block

    def __iter__(self) -> Iterator[Block]:
        while True:
            # not a Condition: an interrupt while Python code enters it would leave it locked
            with self._lock:
                is_waiting = self._has_large and not self._is_stopped
                if not is_waiting:
                    self._n_blocks += 1
                    self._numbers[threading.get_ident()] = self._n_blocks
                block = None if self._is_stopped or is_waiting else next(self._blocks, None)
                is_large = block is not None and block.is_large
                self._has_large |= is_large
            if is_waiting:
                time.sleep(0.01)  # until the large block has been counted
            elif block is None:
                return
            else:
                yield block
            if is_large:
                self._has_large = False

    def report(self, block: Block, batch: Batch) -> None:
        """Call `on_batch`, one thread at a time."""
        if self._on_batch is not None:
            with self._lock:
                self._on_batch(block, batch)

    def fail(self, error: Exception) -> None:
        """Keep the error of the block that this thread counts, or cannot get."""
        self._errors[self._numbers.get(threading.get_ident(), 0)] = error

    @property
    def first_error(self) -> Exception | None:
        """The error of the first block that has one, which all threads would find alone."""
        return self._errors[min(self._errors)] if self._errors else None

    def stop(self) -> None:
        """End the iteration of all threads."""
        self._is_stopped = True


def check_fields(learned: tuple[str, ...], given: tuple[str, ...]) -> None:
    """Raise SettingsError unless the source has the same separate text fields as the training
    documents.
    """
    if learned == given:
        return
    if learned:
        hint = f"give --text-field {join_list(learned)} --separate-fields"
        raise SettingsError(f"the model needs the separate fields {', '.join(learned)}", hint=hint)
    what = "the model was trained with joined text fields"
    raise SettingsError(what, where="separate_fields", hint="leave out this option")

"""Counting the documents of a source in parallel."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from itertools import chain
from typing import TYPE_CHECKING

from nbtext.documents.batch import Batch, Block
from nbtext.documents.settings import already_counted
from nbtext.errors import InputError, SettingsError
from nbtext.features.analyzer import has_own_pattern
from nbtext.features.settings import FeatureSettings
from nbtext.features.stored_documents import Spill
from nbtext.model.corpus_counts import Bound, CorpusCounter, CorpusCounts, add_counts
from nbtext.parallel import parallel_map, return_memory, take
from nbtext.records import Strings, frozen
from nbtext.settings import join_list, refuse

if TYPE_CHECKING:
    from nbtext.documents.source import Source

OnBatch = Callable[[Block, Batch], None]


@frozen
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

    def start(self, bound: Bound) -> CorpusCounter:
        """Return a counter that has counted nothing; those of one source share a bound."""
        return CorpusCounter(
            self.settings, sample_size=self.sample_size, bound=bound, spill=self.spill
        )


def count_in_threads(
    source: Source, task: CountingTask, jobs: int, on_batch: OnBatch | None = None
) -> CorpusCounts:
    """Return the counts of all documents of a source, counted in `jobs` threads; see
    `count_blocks`.
    """
    jobs = jobs if source.first_matrix() is None else 1  # weights are counted together
    return count_blocks(source.blocks(), task, jobs, on_batch)


def count_blocks(
    blocks: Iterator[Block], task: CountingTask, jobs: int, on_batch: OnBatch | None = None
) -> CorpusCounts:
    """Return the counts of all documents of some blocks; they do not depend on the threads, each of
    which takes the next block until none is left.

    A user's token pattern is matched in the main thread, where it can time out.

    on_batch  is called with each counted block and batch, one at a time
    raises    InputError: a document cannot be read, or has no label
    """
    blocks, is_single = peek_blocks(blocks)
    jobs = 1 if is_single or has_own_pattern(task.settings) else jobs
    bound = Bound(task.sample_size)
    counters = [task.start(bound) for _ in range(jobs)]  # those that no thread uses
    parts: list[CorpusCounts] = []
    lock = threading.Lock()

    def count(block: Block) -> None:
        batch = block.batch()
        if not task.is_labeled:
            batch = batch.set_label("")
        corpus_counter = counters.pop()
        try:
            if corpus_counter.is_full(batch):
                parts.append(corpus_counter.finish())
                corpus_counter = task.start(bound)
            corpus_counter.add(batch)
        finally:
            counters.append(corpus_counter)
        with lock:
            if on_batch is not None:
                on_batch(block, batch)
        if task.spill is not None:
            task.spill.read(block.size)

    for _ in parallel_map(count, blocks, jobs=jobs, is_large=lambda block: block.is_large):
        pass
    for part in parallel_map(CorpusCounter.finish, counters, jobs=jobs):
        parts.append(part)
        del part  # so that `add_counts` can free it
        while len(parts) > 1:
            parts.append(add_counts([parts.pop(), parts.pop()]))
    if jobs > 1:
        return_memory()
    return parts.pop()


def set_single_labels(batch: Batch) -> Batch:
    """Return a batch of documents with one label each; InputError if one has several, or none."""
    batch.labels = batch.single_labels()
    return batch


def count_source(
    source: Source,
    settings: FeatureSettings,
    *,
    jobs: int,
    sample_size: int | None,
    on_batch: OnBatch | None = None,
    change: Callable[[Batch], Batch] = set_single_labels,
) -> CorpusCounts:
    """Return the counts of all documents of a source, counted in `jobs` threads.

    change  is called with each batch, and returns what is counted
    """
    blocks = (block.map(change) for block in source.blocks())
    jobs = jobs if source.first_matrix() is None else 1
    return count_blocks(blocks, CountingTask(settings, sample_size), jobs, on_batch)


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
    found: FeatureSettings = matrix.features
    return found


def count_unlabeled(
    source: Source, features: FeatureSettings, *, jobs: int, on_batch: OnBatch | None
) -> CorpusCounts:
    """Return the counts of all documents of a source, without their labels.

    All documents are retained: 8 bytes for each distinct word of each document.

    raises  InputError: a document cannot be read, or there is none
    """
    features = source_features(source, features)
    task = CountingTask(features, None, is_labeled=False)
    counts = count_in_threads(source, task, jobs, on_batch)
    if not counts.statistics.n_documents:
        raise InputError("the source has no documents to train on", where="‹unlabeled›")
    return counts


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
                raise InputError(
                    f"the label {label} is not the number of a label of the model, from 0 to {len(labels) - 1:,}",
                    where=batch.place(row),
                    hint="make the matrix with vectorize --like MODEL",
                )
    batch.labels = [
        tuple(map(names.__getitem__, given)) if isinstance(given, tuple) else names.get(given or "")
        for given in batch.labels
    ]
    return batch


def read_batches(source: Source, on_batch: OnBatch | None) -> Iterator[Batch]:
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


def check_fields(learned: Strings, given: Strings) -> None:
    """Raise SettingsError unless the source has the same separate text fields as the training
    documents.
    """
    if learned == given:
        return
    if learned:
        raise SettingsError(
            f"the model needs the separate fields {', '.join(learned)}",
            hint=f"give ‹text_field› {join_list(learned)} ‹separate_fields›",
        )
    raise SettingsError(
        "the model was trained with joined text fields",
        where="separate_fields",
        hint="leave out this option",
    )

"""The fold on Dask: each shard is counted by some worker, and the corpora are added up as a tree.

Dask's scheduler sees to everything else: who does what, and that what a lost worker had done is done again. Any way
of doing it gives the same bytes, because corpora add up exactly.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtext.cluster.plain import Record, Report, error_of, report_of, tally_of
from nbtext.cluster.work import (
    TOKENS_BY,
    Answering,
    add_up,
    answer_shard,
    count_shard,
    count_shard_lines,
    report_of_work,
    stamp_of,
)
from nbtext.documents.shards import Shard, number_lines
from nbtext.documents.streams import unreadable
from nbtext.errors import OutputError, SettingsError
from nbtext.features.analyzer import has_own_pattern
from nbtext.output import atomic_output

if TYPE_CHECKING:
    from distributed import Client, Future

    from nbtext.documents.source import Source
    from nbtext.model.corpus_counts import CorpusCounts
    from nbtext.model.settings import DecisionSettings
    from nbtext.model.source_counting import CountingTask, OnBatch

ADDED_AT_ONCE = 4  # corpora; a worker has as many in memory
AHEAD = 4  # shards for each thread of the cluster, whose answers may wait for those before them
PART = "part-{:05}.{}"  # the file of a shard's answers


@dataclass(frozen=True, slots=True)
class Workers:
    """An Executor: those of a Dask cluster.

    client       a connection to its scheduler
    shard_bytes  of a piece that one of them gets; None: what suits their number
    """

    client: Client
    shard_bytes: int | None

    def count(self, source: Source, task: CountingTask, on_batch: OnBatch | None = None) -> CorpusCounts:
        """Count every document of a source; see nbtext.model.source_counting.Executor."""
        if has_own_pattern(task.settings):
            raise SettingsError("a worker could not stop one that takes for ever", where="--token-pattern")
        shards = source.shards(self.shard_bytes, n_readers=self._n_threads())
        counted = [self._submit(count_shard, shard, source.settings, task, TOKENS_BY) for shard in shards]
        reports = [self._submit(report_of_work, each, priority=1) for each in counted]
        total = self._added_up(counted)
        del counted  # so that each is let go of as soon as it is added
        self._watch(reports, on_batch)
        return tally_of(total.result()["tally"])

    def _added_up(self, corpora: Sequence[Future]) -> Future:
        """The sum of some corpora, by a tree of additions; those near the root come first, so that little waits."""
        priority = 0
        while len(corpora) > 1:
            priority += 1
            groups = [corpora[start : start + ADDED_AT_ONCE] for start in range(0, len(corpora), ADDED_AT_ONCE)]
            corpora = [self._submit(add_up, list(group), priority=priority) for group in groups]
        return corpora[0]

    def _watch(self, reports: Sequence[Future], on_batch: OnBatch | None) -> None:
        """Wait for all; raise the first problem in the order of the documents, as one thread would have met it."""
        from distributed import as_completed

        places = {report.key: place for place, report in enumerate(reports)}
        first: tuple[int, Report] | None = None
        for done in as_completed(reports):
            if done.status == "cancelled":
                continue
            report = report_of(done.result())
            if report.problem is None:
                _tell(on_batch, report)
            elif first is None or places[done.key] < first[0]:
                first = places[done.key], report
                self.client.cancel(list(reports[first[0] + 1 :]))
        if first is not None:
            _check(first[1])

    def answer(self, source: Source, answering: Answering, output: str, on_batch: OnBatch | None = None) -> None:
        """Write the records of every document of a source, in order.

        output  a file, which is written whole or not at all; or a folder (there already, or with a / at its end), into
                which the workers write a file a shard, each whole or not at all
        raises  InputError: a whole file cannot be used; OutputError
        """
        if output.endswith(os.sep) or os.path.isdir(output):
            for _ in self._answers(source, answering, on_batch, folder=_empty_folder(output)):
                pass
            return
        with atomic_output(output) as file:
            for answers in self._answers(source, answering, on_batch):
                file.write(answers)

    def _answers(
        self, source: Source, answering: Answering, on_batch: OnBatch | None, *, folder: str | None = None
    ) -> Iterator[bytes]:
        """The records of each shard in order, unless they go to a folder."""
        work = (
            (answer_shard, shard, source.settings, answering, TOKENS_BY, _target(folder, place, answering.form))
            for place, shard in enumerate(self._numbered(source))
        )
        for record in self._in_order(work):
            report = report_of(record["report"])
            _check(report)
            _tell(on_batch, report)
            yield record["answers"]

    def _numbered(self, source: Source) -> list[Shard]:
        """The shards of a source, which know the numbers of their lines."""
        shards = source.shards(self.shard_bytes, n_readers=self._n_threads())
        if all(shard.byte_range is None for shard in shards):
            return shards
        found = [
            each if isinstance(each, int) else _failed(each)
            for each in self._in_order((count_shard_lines, shard, source.settings) for shard in shards)
        ]
        return number_lines(shards, found)

    def _in_order(self, work: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """What each piece of work comes to, in order; only some are begun before the first has been taken."""
        n_ahead = AHEAD * self._n_threads()
        begun: deque[Future] = deque()
        for each in work:
            begun.append(self._submit(*each))
            if len(begun) > n_ahead:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()

    def _n_threads(self) -> int:
        return max(1, sum(map(int, self.client.nthreads().values())))

    def _submit(self, function: Callable[..., Any], *arguments: Any, priority: int = 0) -> Future:
        return self.client.submit(function, *arguments, pure=False, priority=priority)


def answering_by(model: str, decisions: DecisionSettings, form: str) -> Answering:
    """How the model at this path answers; InputError where it cannot be read."""
    try:
        return Answering(model, stamp_of(model), decisions, form)
    except OSError as error:
        raise unreadable(model, error) from None


def _empty_folder(path: str) -> str:
    """The folder at this path, made where it is missing; OutputError where it holds parts already."""
    os.makedirs(path, exist_ok=True)
    if any(name.startswith("part-") for name in os.listdir(path)):
        raise OutputError("holds parts of other answers", where=path, hint="name a new folder")
    return path


def _target(folder: str | None, place: int, form: str) -> str | None:
    return os.path.join(folder, PART.format(place, form)) if folder is not None else None


def _tell(on_batch: OnBatch | None, report: Report) -> None:
    if on_batch is not None:
        on_batch(report, report.batch())


def _check(report: Report) -> None:
    """Raise the error that a worker has met, if any."""
    if report.problem is not None:
        raise error_of(report.problem)


def _failed(record: Record) -> int:
    _check(report_of(record))
    return 0

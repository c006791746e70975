"""The tasks of a worker, without a cluster."""

import pickle
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nbtext.artifact.model import read_counts, write_counts
from nbtext.cluster.executor import Workers, prediction_task
from nbtext.cluster.work import (
    TOKEN_VERSIONS,
    Report,
    add_counts,
    count_shard,
    error_of,
    predict_shard,
    report_of,
)
from nbtext.documents.batch import Batch
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import InputError
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.predictor import MOST_PROBABLE
from nbtext.model.source_counting import CountingTask

PLAIN = (bool, int, str, bytes, type(None), np.ndarray)


def corpus_of_texts(*texts: str, **settings: Any) -> CorpusCounts:
    builder = CorpusCounter(FeatureSettings(**settings), sample_size=2)
    builder.add(Batch(list(texts), (list(texts),), ["ä", "b"][: len(texts)]))
    return builder.finish()


def leaves(data: Any) -> Any:
    """Every value of nested dictionaries and lists."""
    if isinstance(data, dict | list):
        for each in data.values() if isinstance(data, dict) else data:
            yield from leaves(each)
    else:
        yield data


@pytest.mark.parametrize("settings", [{}, {"hash_bits": 5}], ids=str)
def test_counts_are_sent_as_plain_data(settings: dict[str, Any]) -> None:
    """Numbers, texts and arrays of numbers, from which the same counts is made; one without
    documents too.
    """
    for corpus in (corpus_of_texts("one two two", "é", **settings), corpus_of_texts(**settings)):
        record = write_counts(corpus)
        assert all(isinstance(each, PLAIN) for each in leaves(record))
        assert not any(
            each.dtype.hasobject for each in leaves(record) if isinstance(each, np.ndarray)
        )
        again = read_counts(pickle.loads(pickle.dumps(record)))
        assert (again.labels, again.vocabulary, again.sample_size) == (
            corpus.labels,
            corpus.vocabulary,
            2,
        )
        for mine, theirs in zip(again.statistics.entries, corpus.statistics.entries, strict=True):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)
        for name in ("indptr", "indices", "counts", "classes", "hashes"):
            mine = getattr(again.sample, name)
            theirs = getattr(corpus.sample, name)
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)


def test_an_error_of_a_document_is_a_result(tmp_path: Path) -> None:
    """A worker returns the error of a document as a result; sums that would include its shard are
    None.
    """
    (tmp_path / "x.txt").write_text("no label\n")
    source = open_source([str(tmp_path / "x.txt")], InputSettings())
    (shard,) = source.shards(100)
    counting = CountingTask(FeatureSettings(), 2)
    record = count_shard(shard, source.settings, counting, TOKEN_VERSIONS)
    error = error_of(report_of(record["report"]).problem)  # type: ignore[arg-type]
    assert isinstance(error, InputError)
    assert str(error).startswith(f"{tmp_path}/x.txt:1: the document has no label; ")
    assert add_counts([record, {"counts": write_counts(corpus_of_texts("a"))}]) == {"counts": None}


def test_a_worker_of_another_version(tmp_path: Path) -> None:
    """A worker with another version of nbtext or Unicode, whose tokens may differ, refuses to count
    and predict.
    """
    (tmp_path / "x.txt").write_text("__label__a one\n")
    source = open_source([str(tmp_path / "x.txt")], InputSettings())
    (shard,) = source.shards(100)
    others = ("nbtext 0.0.1", "Unicode 1.0")
    counted = count_shard(shard, source.settings, CountingTask(FeatureSettings(), 2), others)
    asked = prediction_task(str(tmp_path / "x.txt"), MOST_PROBABLE, "tsv")
    answered = predict_shard(shard, source.settings, asked, others, None)
    for record in (counted, answered):
        said = str(error_of(report_of(record["report"]).problem))  # type: ignore[arg-type]
        assert said.startswith("a worker runs nbtext ")
        assert said.endswith(
            "and the command runs nbtext 0.0.1, Unicode 1.0; install the same versions"
        )


def test_the_first_problem_in_the_order_of_the_documents_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whichever shard fails first, and the work after it is cancelled."""
    reports = [
        Report(problem=("InputError", "is broken", f"{name}.txt", "") if name in "bd" else None)
        for name in "abcd"
    ]
    cancelled: list[str] = []

    class Future:
        status = "finished"

        def __init__(self, place: int) -> None:
            self.key = "abcd"[place]
            self.result = lambda: asdict(reports[place])

    client = SimpleNamespace(cancel=lambda futures: cancelled.extend(each.key for each in futures))
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (3, 0, 1, 2)):
        fake = SimpleNamespace(
            as_completed=lambda futures, order=order: [futures[place] for place in order]
        )
        monkeypatch.setitem(sys.modules, "distributed", fake)
        with pytest.raises(InputError, match=r"b\.txt: is broken"):
            Workers(client)._watch([Future(place) for place in range(4)], None)  # type: ignore[arg-type,misc]
    assert cancelled.count("c") == 3

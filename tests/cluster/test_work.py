"""The tasks of a worker, without a cluster."""

import pickle
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from nbtext.cluster.executor import Workers, prediction_task
from nbtext.cluster.work import (
    TOKEN_VERSIONS,
    Report,
    add_reports,
    count_shard,
    predict_shard,
)
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import InputError
from nbtext.features.settings import FeatureSettings
from nbtext.model.predictor import MOST_PROBABLE
from nbtext.model.source_counting import CountingTask


def test_an_error_of_a_document_is_a_result(tmp_path: Path) -> None:
    """A worker returns the error of a document as a result; sums that would include its shard are
    None.
    """
    (tmp_path / "x.txt").write_text("no label\n")
    source = open_source([str(tmp_path / "x.txt")], InputSettings())
    (shard,) = source.shards(100)
    counting = CountingTask(FeatureSettings(), 2)
    report = count_shard(shard, source.settings, counting, TOKEN_VERSIONS)
    error = pickle.loads(pickle.dumps(report)).problem
    assert isinstance(error, InputError)
    assert str(error).startswith(f"{tmp_path}/x.txt:1: the document has no label; ")
    (tmp_path / "x.txt").write_text("__label__a one\n")
    (shard,) = source.shards(100)
    counted = count_shard(shard, source.settings, counting, TOKEN_VERSIONS)
    assert add_reports([counted, counted]).result.statistics.n_documents == 2
    assert add_reports([report, counted]).result is None


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
    for report in (counted, answered):
        said = str(report.problem)
        assert said.startswith("a worker runs nbtext ")
        assert said.endswith(
            "and the command runs nbtext 0.0.1, Unicode 1.0; install the same versions"
        )


def test_the_first_problem_in_the_order_of_the_documents_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whichever shard fails first, and the work after it is cancelled."""
    reports = [
        Report(problem=InputError("is broken", where=f"{name}.txt") if name in "bd" else None)
        for name in "abcd"
    ]
    cancelled: list[str] = []

    class Future:
        status = "finished"

        def __init__(self, place: int) -> None:
            self.key = "abcd"[place]
            self.result = lambda: reports[place]

    client = SimpleNamespace(cancel=lambda futures: cancelled.extend(each.key for each in futures))
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (3, 0, 1, 2)):
        fake = SimpleNamespace(
            as_completed=lambda futures, order=order: [futures[place] for place in order]
        )
        monkeypatch.setitem(sys.modules, "distributed", fake)
        with pytest.raises(InputError, match=r"b\.txt: is broken"):
            Workers(client)._watch([Future(place) for place in range(4)], None)  # type: ignore[arg-type,misc]
    assert cancelled.count("c") == 3

"""Linear models of documents that the workers of a cluster keep: the model of one machine, up to
the tolerance.

Here the workers are lists in this process; tests/cli/test_cluster.py has real ones.
"""

import pickle
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_blocks import TF_IDF, assert_alike, corpus

from nbtext.artifact.model import load_model, read_counts, save_model
from nbtext.bayes.settings import ModelSettings
from nbtext.cluster import work
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import Source, open_shard, open_source
from nbtext.errors import ConvergenceWarning
from nbtext.features.settings import FeatureSettings
from nbtext.kernel import HAS_KERNEL
from nbtext.linear import blocks, distributed
from nbtext.linear.distributed import add_updates
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.source_counting import CountingTask, OnBatch
from nbtext.model.training import train_on_source

pytestmark = pytest.mark.skipif(
    not HAS_KERNEL, reason="without the kernel, the command fits all linear models"
)
Record = dict[str, Any]


class Parts:
    """Parts of documents in this process, which send and forget as workers do.

    lost  the calls of `run` before which the state of a part is lost, and the number of the part
    """

    def __init__(self, counted: Iterable[Record], lost: Iterable[tuple[int, int]]) -> None:
        self._parts = list(counted)
        self._lost = list(lost)
        self._results: list[Record | None] = [None] * len(self._parts)
        self.n_lost = self.n_runs = 0

    def restrict(self, columns: Any, n_features: int) -> "Parts":
        return self

    def prepare(self, final: Record) -> Any:
        self._parts = [work.prepare_part(each, _sent(final)) for each in self._parts]
        return [
            np.concatenate([each[name] for each in self._parts]) for name in ("hashes", "classes")
        ]

    def run(self, function: Callable[..., Record], *given: Record) -> Record:
        self.n_runs += 1
        for number, part in self._lost:
            if number == self.n_runs:
                self._results[part] = None
                self.n_lost = self.n_lost + 1
        pairs = zip(self._parts, self._results, strict=True)
        self._results = [function(part, before, *map(_sent, given)) for part, before in pairs]
        return add_updates([_sent(each["update"]) for each in self._results if each is not None])


def _sent(record: Record) -> Any:
    return pickle.loads(pickle.dumps(record))


class Workers:
    """An executor of so many workers; all documents are too many for the memory of the command."""

    def __init__(self, n: int = 3, lost: Iterable[tuple[int, int]] = ()) -> None:
        self._n = n
        self._lost = lost

    def count(
        self, source: Source, task: CountingTask, on_batch: OnBatch | None = None
    ) -> CorpusCounts:
        shards = source.shards(Path(source._files[0].paths[0]).stat().st_size // (2 * self._n))
        counted = [
            work.count_shard(each, source.settings, task, work.TOKEN_VERSIONS) for each in shards
        ]
        parts = [work.add_counts(counted[first :: self._n]) for first in range(self._n)]
        if task.n_returned is None:
            return read_counts(work.add_counts(parts)["counts"])
        summaries = [work.summarize(each, task.n_returned) for each in parts]
        self.parts = Parts(parts, self._lost)
        return replace(read_counts(work.add_counts(summaries)["counts"]), stored=self.parts)


def train(
    source: str, executor: Any = None, *, features: dict[str, Any] | None = None, **settings: Any
) -> TrainedModel:
    return train_on_source(
        open_source([source], InputSettings()),
        FeatureSettings(**features or {}),
        ModelSettings(**{"model": "nbsvm", **settings}),
        jobs=2,
        executor=executor,
    )


@pytest.mark.parametrize("n_labels", [2, 3, 9])
@pytest.mark.parametrize(
    ("settings", "features"),
    [
        ({}, {}),
        ({}, {**TF_IDF, "ngrams": (1, 2)}),
        ({}, {**TF_IDF, "view": ("word:1", "char_wb:2,3")}),
        ({"loss": "logistic"}, TF_IDF),
        ({"C": 30.0}, {}),
        ({"model": "svm"}, TF_IDF),
        ({"class_weight": (("l0", 3.0), ("l1", 0.5))}, {}),
        ({}, {"min_df": 3, "max_features": 40}),
        ({}, {"vocabulary": ("w3", "w1", "w2", "only0", "w5", "w7", "nowhere")}),
        ({"keep_sample": 20}, {"tf": "binary"}),
    ],
)
def test_the_model_of_one_machine(
    settings: dict[str, Any], features: dict[str, Any], n_labels: int, tmp_path: Path
) -> None:
    """Its weights, up to the tolerance, and its sample; about its estimate, which is of one
    fold.
    """
    source = corpus(tmp_path / "documents.txt", n_labels=n_labels)
    expected = train(source, features=features, **settings)
    found = train(source, Workers(), features=features, **settings)
    assert_alike(found.fitted, expected.fitted)
    assert (
        expected.fitted.hyperparameters.is_converged
        is found.fitted.hyperparameters.is_converged
        is True
    )
    assert found.fitted.estimate.accuracy == pytest.approx(
        expected.fitted.estimate.accuracy, abs=0.1
    )
    assert found.fitted.estimate.duplicates == expected.fitted.estimate.duplicates
    save_model(found, tmp_path / "found")
    save_model(expected, tmp_path / "expected")
    again = load_model(tmp_path / "found")
    other = load_model(tmp_path / "expected")
    np.testing.assert_allclose(again.fitted.scorer.deltas, found.fitted.scorer.deltas)
    if "keep_sample" in settings:
        for name in ("hashes", "indices", "counts", "classes"):
            np.testing.assert_array_equal(
                getattr(again.counts.sample, name), getattr(other.counts.sample, name)
            )


def test_hashed_features(tmp_path: Path) -> None:
    """They have no vocabulary by which workers find the columns."""
    source = corpus(tmp_path / "documents.txt")
    features = {"hash_bits": 8, "norm": "l2"}
    found, expected = (
        train(source, executor, features=features).fitted.scorer.weights()
        for executor in (Workers(), None)
    )
    assert np.linalg.norm(found - expected) <= 0.02 * np.linalg.norm(expected)


@pytest.mark.parametrize("n", [1, 2, 8])
def test_any_number_of_workers(n: int, tmp_path: Path) -> None:
    source = corpus(tmp_path / "documents.txt")
    assert_alike(
        train(source, Workers(n), features=TF_IDF).fitted, train(source, features=TF_IDF).fitted
    )


def test_labels_that_one_worker_holds(tmp_path: Path) -> None:
    """A source that is sorted by label is as good."""
    source = corpus(tmp_path / "documents.txt")
    Path(source).write_text("\n".join(sorted(Path(source).read_text().splitlines())) + "\n")
    assert_alike(
        train(source, Workers(), features=TF_IDF).fitted, train(source, features=TF_IDF).fitted
    )


@pytest.mark.parametrize(
    "lost", [[(9, 0)], [(2, 1), (5, 1), (6, 2)], [(number, 0) for number in range(3, 7)]]
)
def test_lost_states(lost: list[tuple[int, int]], tmp_path: Path) -> None:
    """The part of a lost worker begins again, and the weights are the same."""
    source = corpus(tmp_path / "documents.txt")
    executor = Workers(lost=lost)
    assert_alike(
        train(source, executor, features=TF_IDF).fitted, train(source, features=TF_IDF).fitted
    )
    assert executor.parts.n_lost == len(lost)


@pytest.mark.parametrize("back", [0, 1, 2])
def test_a_state_that_is_lost_at_the_end(back: int, tmp_path: Path) -> None:
    """The dual variables of classes that have converged are found again; features of one document
    need them.
    """
    source = corpus(tmp_path / "documents.txt")
    executor = Workers()
    expected = train(source, executor, features=TF_IDF, calibrate=False)
    lost = Workers(lost=[(executor.parts.n_runs - back, 1)])
    found = train(source, lost, features=TF_IDF, calibrate=False)
    assert_alike(found.fitted, expected.fitted)
    assert found.fitted.vocabulary is not None
    single = np.array([term.startswith("only") for term in found.fitted.vocabulary.terms])
    weights, others = (each.fitted.scorer.weights()[:, single] for each in (found, expected))
    assert np.linalg.norm(weights - others) < 0.02 * np.linalg.norm(others)
    assert lost.parts.n_runs > executor.parts.n_runs


def test_few_rounds(tmp_path: Path) -> None:
    """28, 7 and 172, and one exchange before and one after them.

    Without acceleration, there are 85 of the first problem. If a feature counts as often as there
    are parts, or with two passes in a round, 29. With one pass of the logistic loss, 64 of the
    second one. If the dual objective may seem to fall by a tenth of the tolerance, 203 of the third
    one.
    """
    source = corpus(tmp_path / "documents.txt")
    for settings, features, most in (
        ({}, TF_IDF, 30),
        ({"loss": "logistic"}, TF_IDF, 9),
        ({"C": 30.0}, {}, 174),
    ):
        executor = Workers()
        train(source, executor, features=features, calibrate=False, **settings)
        assert executor.parts.n_runs <= most


def test_a_search_for_c_and_groups_of_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each C continues from the last one. Labels whose weights do not fit into memory are solved
    one after another.
    """
    source = corpus(tmp_path / "documents.txt")
    C = train(source, features=TF_IDF, C="auto").fitted.hyperparameters.C
    monkeypatch.setattr(blocks, "MAX_WEIGHT_BYTES", 1)
    found = train(source, Workers(), features=TF_IDF, C="auto").fitted
    assert C is not None and found.hyperparameters.C in (
        C / 10,
        C / 10**0.5,
        C,
        C * 10**0.5,
        C * 10,
    )
    assert_alike(found, train(source, features=TF_IDF, C=found.hyperparameters.C).fitted)


def test_it_says_that_it_did_not_converge(tmp_path: Path) -> None:
    """After as many rounds as one machine makes passes, at most."""
    source = corpus(tmp_path / "documents.txt")
    make = distributed.DistributedOneVsRest._solve_group
    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.warns(ConvergenceWarning, match="did not converge"),
    ):
        patch.setattr(
            distributed.DistributedOneVsRest,
            "_solve_group",
            lambda self, problem, solver: make(self, problem, solver._replace(max_iter=3)),
        )
        assert train(source, Workers()).fitted.hyperparameters.is_converged is False


def test_the_summary_of_a_part(tmp_path: Path) -> None:
    """It is what counting with a sample of that size gives."""
    source = open_source([corpus(tmp_path / "documents.txt")], InputSettings())
    (shard,) = source.shards(1 << 20)
    tasks = CountingTask(FeatureSettings(), None), CountingTask(FeatureSettings(), 50)
    whole, expected = (
        task.count(open_shard(shard, source.settings).blocks(), lambda *_: None) for task in tasks
    )
    counted = work.count_shard(shard, source.settings, tasks[0], work.TOKEN_VERSIONS)
    found = read_counts(work.summarize(counted, 50)["counts"])
    assert work.count_entries(counted) == len(whole.sample.indices)
    assert (found.sample_size, found.below, found.labels, found.vocabulary) == (
        expected.sample_size,
        expected.below,
        expected.labels,
        expected.vocabulary,
    )
    for name in ("indptr", "indices", "counts", "classes", "hashes"):
        np.testing.assert_array_equal(getattr(found.sample, name), getattr(expected.sample, name))

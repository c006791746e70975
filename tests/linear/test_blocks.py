"""Linear models of documents in blocks: the model that is fitted in memory, up to the tolerance of
the solver.
"""

import json
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.bayes.settings import ModelSettings
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import OutputError
from nbtext.features import stored_documents
from nbtext.features.settings import FeatureSettings
from nbtext.features.stored_documents import ArrayFile, MappedArrays, Spill
from nbtext.kernel import HAS_KERNEL
from nbtext.linear import blocks, one_vs_rest
from nbtext.model.fitted_model import FittedModel, TrainedModel
from nbtext.model.training import Training, train_model

pytestmark = pytest.mark.skipif(
    not HAS_KERNEL, reason="without the kernel, all documents stay in memory"
)
WORDS = [f"w{number}" for number in range(60)]
TF_IDF = {"tf": "log", "idf": "smooth", "norm": "l2"}


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets the limits of memory to those of small corpora, or of others."""

    def limit(entries: int = 500, run: int = 300, block: int = 700) -> None:
        monkeypatch.setattr(stored_documents, "MAX_ENTRIES_IN_MEMORY", entries)
        monkeypatch.setattr(stored_documents, "RUN_ENTRIES", run)
        monkeypatch.setattr(stored_documents, "STORED_BLOCK_ENTRIES", block)
        monkeypatch.setattr(blocks, "MIN_BLOCKS", 5)

    return limit


def corpus(
    path: Path, n: int = 400, n_labels: int = 3, seed: int = 1, *, is_reversed: bool = False
) -> str:
    """A file of fastText lines whose labels have words of their own; some lines are repeated, some
    have no word.
    """
    random = np.random.default_rng(seed)
    lines = []
    for number in range(n):
        label = number % n_labels
        weights = np.arange(1, 61) ** -0.7 * (1 + 4 * (np.arange(60) % n_labels == label))
        words = random.choice(WORDS, size=random.integers(3, 15), p=weights / weights.sum())
        lines.append(f"__label__l{label} {' '.join(words)} only{number}\n")
    lines += [*lines[:40], *["__label__l0 \n"] * 9]
    path.write_text("".join(lines[::-1] if is_reversed else lines))
    return str(path)


def train(
    source: str,
    *,
    jobs: int = 2,
    features: dict[str, Any] | None = None,
    weight_field: str | None = None,
    **settings: Any,
) -> TrainedModel:
    opened = open_source([source], InputSettings(weight_field=weight_field))
    given = Training(
        labeled=lambda: nullcontext((opened, None)),
        settings=ModelSettings(**{"model": "nbsvm", **settings}),
        features=FeatureSettings(**features or {}),
        jobs=jobs,
    )
    return train_model(given)


def assert_alike(found: FittedModel, expected: FittedModel, error: float = 0.02) -> None:
    """Their weights differ by little: half the square of the distance is at most the gap, relative
    to the objective.
    """
    assert found.labels == expected.labels
    assert found.vocabulary is not None and expected.vocabulary is not None
    assert found.vocabulary.terms == expected.vocabulary.terms
    weights = found.scorer.weights()
    others = expected.scorer.weights()
    assert np.linalg.norm(weights - others) <= error * np.linalg.norm(others)
    np.testing.assert_allclose(found.scorer.bias, expected.scorer.bias, atol=error)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize(
    ("settings", "features"),
    [
        ({}, {}),
        ({}, {**TF_IDF, "ngrams": (1, 2)}),
        ({"loss": "logistic"}, TF_IDF),
        ({"C": 30.0}, {}),
        ({"model": "svm"}, TF_IDF),
        ({"class_weight": {"l0": 3.0, "l1": 0.5}}, {}),
        ({}, {"min_df": 3, "max_features": 40}),
        # of whose words some occur in no document
        ({}, {"vocabulary": ("aaaa", *WORDS[::2], "zzzz")}),
        ({"calibrate": False}, {"tf": "binary"}),
    ],
)
def test_the_model_in_memory(
    settings: dict[str, Any],
    features: dict[str, Any],
    n_labels: int,
    tmp_path: Path,
    blocked: Callable[..., None],
) -> None:
    """Its weights, up to the tolerance, and about its estimate."""
    source = corpus(tmp_path / "documents.txt", n_labels=n_labels)
    expected = train(source, features=features, **settings)
    blocked()
    found = train(source, features=features, **settings)
    assert_alike(found.fitted, expected.fitted)
    assert (
        expected.fitted.hyperparameters.is_converged
        is found.fitted.hyperparameters.is_converged
        is True
    )
    if settings.get("calibrate", True):
        assert found.fitted.estimate.accuracy == pytest.approx(
            expected.fitted.estimate.accuracy, abs=0.1
        )
        assert found.fitted.estimate.duplicates == expected.fitted.estimate.duplicates == 40
        # a fifth of the 440 documents with words, up to the end of duplicates, and of the 9 others
        assert 89 <= found.fitted.estimate.documents <= 93


def test_weights_of_documents(tmp_path: Path, blocked: Callable[..., None]) -> None:
    """Documents with weights are stored, too: their model is the one in memory."""
    lines = Path(corpus(tmp_path / "documents.txt")).read_text().splitlines()
    rows = []
    for number, line in enumerate(lines):
        label, _, text = line.removeprefix("__label__").partition(" ")
        rows.append(json.dumps({"label": label, "text": text, "weight": 1 + number % 5 / 2}))
    (tmp_path / "documents.jsonl").write_text("\n".join(rows))
    source = str(tmp_path / "documents.jsonl")
    expected = train(source, weight_field="weight")
    blocked()
    found = train(source, weight_field="weight")
    assert found.fitted.estimate.folds == 1
    assert_alike(found.fitted, expected.fitted)
    plain = train(str(tmp_path / "documents.txt")).fitted.scorer.weights()
    weights = expected.fitted.scorer.weights()
    assert np.linalg.norm(plain - weights) > 0.1 * np.linalg.norm(weights)


def test_a_search_for_c(tmp_path: Path, blocked: Callable[..., None]) -> None:
    """Every C is tried with a model of the fold; the weights are those of the C that is found."""
    source = corpus(tmp_path / "documents.txt")
    blocked()
    found = train(source, features=TF_IDF, C="auto").fitted
    C = found.hyperparameters.C
    assert C is not None and 0.01 <= C <= 100
    blocked(1 << 40)
    assert_alike(found, train(source, features=TF_IDF, C=C).fitted)


def test_few_visits(
    tmp_path: Path, blocked: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """101: there are 64 blocks, which are visited in another order each time, and duplicates are in
    different ones.

    In the same order each time, there are 302 visits; with 20 blocks 115, and with five 156.
    """
    source = corpus(tmp_path / "documents.txt")
    visits = []
    n_blocks = blocks.MIN_BLOCKS
    visit = one_vs_rest.OneVsRest._visit
    monkeypatch.setattr(
        one_vs_rest.OneVsRest, "_visit", lambda *each: (visits.append(0), visit(*each))
    )
    blocked()
    monkeypatch.setattr(blocks, "MIN_BLOCKS", n_blocks)
    train(source, calibrate=False)
    assert len(visits) <= 110


def test_documents_of_a_gigabyte_are_stored(tmp_path: Path) -> None:
    """Up to 16.8 million entries, which take about 60 bytes each, all documents are in memory."""
    spill = Spill(str(tmp_path))
    one = np.zeros(1, np.int32)
    for n_entries, is_begun in ((1 << 24, False), (1, True)):
        indices = np.broadcast_to(one, n_entries)
        documents = stored_documents.DocumentTable(
            np.array([0, n_entries]), indices, indices, one, np.zeros(1, np.uint64)
        )
        assert spill.add(documents) is spill.is_begun is is_begun
    spill.close()


@pytest.mark.parametrize("model", ["nbsvm", "svm"])
def test_the_same_numbers_for_any_threads_and_order(
    model: str, tmp_path: Path, blocked: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks are ranges of hashes; and classes that are solved one after the other have the same
    weights.
    """
    blocked()
    sources = [
        corpus(tmp_path / "forward.txt"),
        corpus(tmp_path / "backward.txt", is_reversed=True),
    ]
    first = train(sources[0], jobs=1, model=model)
    for source, jobs, most in (
        (sources[0], 3, 1 << 28),
        (sources[1], 2, 1 << 28),
        (sources[0], 2, 1),
    ):
        monkeypatch.setattr(one_vs_rest, "MAX_WEIGHT_BYTES", most)
        other = train(source, jobs=jobs, model=model)
        for name in ("bias", "indptr", "classes", "deltas"):
            assert (
                getattr(first.fitted.scorer, name).tobytes()
                == getattr(other.fitted.scorer, name).tobytes()
            )
        assert first.fitted.estimate == other.fitted.estimate
        assert first.counts.sample.hashes.tobytes() == other.counts.sample.hashes.tobytes()


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 80))
def test_blocks_hold_each_document_once(seed: int, run: int, block: int) -> None:
    """All blocks together are the documents that are counted in memory, in their order."""
    import tempfile

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        source = open_source(
            [corpus(Path(folder) / "documents.txt", n=20, seed=seed)], InputSettings()
        )
        from nbtext.model.source_counting import CountingTask, count_in_threads

        expected = count_in_threads(source, CountingTask(FeatureSettings(), None), 2).sample
        for name, limit in (
            ("MAX_ENTRIES_IN_MEMORY", 0),
            ("RUN_ENTRIES", run),
            ("STORED_BLOCK_ENTRIES", block),
        ):
            patch.setattr(stored_documents, name, limit)
        spill = Spill(folder)
        counts = count_in_threads(source, CountingTask(FeatureSettings(), None, spill=spill), 2)
        assert counts.stored is not None
        bounds = counts.stored.part_bounds
        documents = stored_documents.concatenate(
            [counts.stored.load(part) for part in range(len(bounds) - 1)]
        )
        spill.close()
        for name in ("indptr", "indices", "counts", "classes", "hashes"):
            np.testing.assert_array_equal(getattr(documents, name), getattr(expected, name))
        sizes = [int(each) for each in np.diff(expected.indptr[bounds])]
        assert max(sizes) <= max(block, np.diff(expected.indptr).max())


def test_several_labels_stay_in_memory(tmp_path: Path, blocked: Callable[..., None]) -> None:
    """Their model has the same bytes, although its documents were stored meanwhile."""
    lines = corpus(tmp_path / "one.txt").replace("one.txt", "several.txt")
    Path(lines).write_text(
        (tmp_path / "one.txt").read_text().replace("__label__l0", "__label__l0 __label__l2")
    )
    expected = train(lines)
    blocked()
    found = train(lines)
    assert found.fitted.scorer.deltas.tobytes() == expected.fitted.scorer.deltas.tobytes()
    assert found.counts.has_all_documents and found.counts.stored is None


def test_the_documents_of_a_thread_that_ends_early(
    tmp_path: Path, blocked: Callable[..., None]
) -> None:
    """One counter has stored its documents, and another one has not: their sum has all of them, as
    they are in memory.
    """
    from nbtext.model.corpus_counts import CorpusCounter

    blocked(entries=40, run=10)
    sources = [
        open_source([corpus(tmp_path / f"{n}.txt", n=n, seed=n)], InputSettings()) for n in (20, 5)
    ]
    spill = Spill(str(tmp_path))
    stored, expected = [], []
    for source in sources:
        for parts, place in ((stored, spill), (expected, None)):
            counter = CorpusCounter(FeatureSettings(), sample_size=None, spill=place)
            for block in source.blocks():
                counter.add(block.batch())
            parts.append(counter.finish())
    both = stored[0] + stored[1]
    assert both.stored is not None
    documents = both.stored.first(len(both.stored))
    for name in ("indptr", "indices", "counts", "classes", "hashes"):
        np.testing.assert_array_equal(
            getattr(documents, name), getattr((expected[0] + expected[1]).sample, name)
        )
    spill.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder that is empty at the end, too."""
    empty = tmp_path / "temporary"
    empty.mkdir()
    yield empty
    assert os.listdir(empty) == []


def test_too_little_space(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said when the first documents are stored, before the work."""
    import shutil

    said: list[Any] = []
    spill = Spill(str(folder), 1_000_000, lambda *each: said.append(each))
    spill.read(10_000)
    monkeypatch.setattr(stored_documents, "MAX_ENTRIES_IN_MEMORY", 5)
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9 - 9000, 9000)
    )
    documents = stored_documents.DocumentTable(
        np.array([0, 4, 6]),
        np.arange(6, dtype=np.int32),
        np.ones(6, np.int32),
        np.array([0, 1], np.int32),
        np.array([3, 4], np.uint64),
    )
    with pytest.raises(
        OutputError,
        match=r"need about 0\.0 GB, and 0\.0 GB are free; free some space, or set TMPDIR",
    ):
        spill.add(documents)
    # 14 bytes for an entry, 40 for a document of one problem, of a hundredth of the source
    assert said == [((6 * 14 + 2 * 40) * 100, str(folder))]


def test_a_full_disk(folder: Path) -> None:
    """The error names the folder; the system writes a part of the array before it."""
    file = ArrayFile(str(folder))
    whole = np.arange(1000)
    place = file.append(whole)
    np.testing.assert_array_equal(file.read(place), whole)
    np.testing.assert_array_equal(file.read(place.part(10, 20)), np.arange(10, 20))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8100, limits[1]))
    try:
        for array in whole[:20], whole:  # the first of which fits a buffer
            with pytest.raises(
                OutputError, match=r"a temporary file in .*: cannot be written: file too large"
            ):
                file.append(array)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    file.close()


def test_mapped_arrays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They keep what was written when their pages go, and a disk that is too small is an error at
    first.
    """
    shapes: list[list[tuple[Any, int]]] = [
        [(np.int32, 3), (np.float64, 5000)],
        [(np.uint8, 0)],
        [(np.float64, 2)],
    ]
    mapped = MappedArrays(str(folder), shapes)
    (first, second), (none,), (last,) = mapped.groups
    assert [len(each) for each in (first, second, none, last)] == [3, 5000, 0, 2]
    first[:] = [1, 2, 3]
    second[:] = np.arange(5000)
    last[:] = [7, 8]
    for group in range(3):
        mapped.release(group)
        mapped.fetch(group)
    np.testing.assert_array_equal(second, np.arange(5000))
    assert [*first, *last] == [1, 2, 3, 7, 8]

    def refuse(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(
        OutputError,
        match=r"a temporary file in .*: cannot be written: no space left on device; free",
    ):
        MappedArrays(str(folder), shapes)

"""Documents are scored by a model of all documents of other groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from corpora_by_hand import MODELS, labeled_matrices, read_by, sample_of
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from nbtext.bayes import grouped_leave_one_out
from nbtext.bayes.class_statistics import WeightedPrior, log_prior
from nbtext.bayes.gaussian import Moments
from nbtext.bayes.grouped_leave_one_out import group_leave_one_out
from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.bayes.left_out_groups import count_group_hapaxes
from nbtext.features.document_counts import DocumentCounts

WEIGHTED = ("multinomial", "complement", "normalized complement", "gaussian")


@st.composite
def grouped_corpora(draw: st.DrawFn) -> Any:
    """Counts, classes, groups of a few documents in any order, and which documents are scored."""
    counts, classes, n_classes = draw(labeled_matrices(fewest_a_class=2, fewest_classes=2, maximum=3))
    n = len(counts)
    groups = np.array(draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), dtype=np.int64)
    scored = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True))
    return counts, classes, n_classes, groups, np.array(scored, dtype=np.int64)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("prior", ["empirical", "uniform", "weighted"])
@settings(max_examples=25, deadline=None)
@given(
    corpus=grouped_corpora(),
    smoothings=st.sampled_from([(0.0,), (0.01, 1.0)]),
    is_weighted=st.booleans(),
    at_once=st.sampled_from([1, 1 << 20]),
)
def test_equals_refits_without_the_group(
    name: str, prior: str, corpus: Any, smoothings: tuple[float, ...], is_weighted: bool, at_once: int
) -> None:
    """The scores of a document are those of a model of all documents of other groups, to 1e-9, in parts of any size."""
    counts, classes, n_classes, groups, scored = corpus
    model = MODELS[name]
    if model.is_binary:
        counts = np.minimum(counts, 1)
    documents = sample_of(counts, classes)
    if is_weighted and name in WEIGHTED:
        documents = replace(documents, counts=documents.counts.astype(np.float64))
    chosen: Any = WeightedPrior(tuple(float(k + 1) for k in range(n_classes))) if prior == "weighted" else prior
    statistics = read_by(name, counts, classes, n_classes)
    corpus_left = group_leave_one_out(
        LeaveOneOut(statistics, documents, count_group_hapaxes(statistics, documents, groups), model, chosen),
        groups, scored,
    )  # fmt: skip
    judged = corpus_left.drop_single_documents()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(grouped_leave_one_out, "AT_ONCE", at_once)
        found = judged.scores(*smoothings)
        known = [judged.ignore_hapaxes(scores, each) for scores, each in zip(found, smoothings, strict=True)]
    kept = [row for row in scored.tolist() if len(np.unique(classes[groups != groups[row]])) == n_classes]
    assert found.shape == (len(smoothings), len(kept), n_classes)
    for place, row in enumerate(kept):
        others = groups != groups[row]
        refitted = read_by(name, counts[others], classes[others], n_classes)
        if isinstance(statistics, Moments) and isinstance(refitted, Moments):  # fixed, as the vocabulary is
            refitted = replace(refitted, largest_variance=statistics.largest_variance)
        for s, smoothing in enumerate(smoothings):
            scorer = model.compile(refitted, smoothing=smoothing).with_prior(
                log_prior(refitted.class_documents, chosen)
            )
            expected = score(scorer, counts[[row]], classes[[row]])
            np.testing.assert_allclose(found[s, place], expected, rtol=1e-9, atol=1e-9)
            if model.unseen_in_groups is not None and not is_weighted:
                is_known = (counts[others] > 0).any(axis=0)
                expected = score(scorer, np.where(is_known, counts[[row]], 0), classes[[row]])
                np.testing.assert_allclose(known[s][place], expected, rtol=1e-9, atol=1e-9)
                assert judged.n_known[place] == np.where(is_known, counts[row], 0).sum()


@settings(max_examples=25, deadline=None)
@given(corpus=grouped_corpora(), size=st.integers(1, 4))
def test_parts_have_the_scores_of_the_whole(corpus: Any, size: int) -> None:
    """The parts of a corpus, with and without groups, have the scores of its documents, in their order."""
    counts, classes, n_classes, groups, scored = corpus
    documents, statistics = sample_of(counts, classes), read_by("multinomial", counts, classes, n_classes)
    n_hapax = count_group_hapaxes(statistics, documents, groups)
    alone = LeaveOneOut(statistics, documents, n_hapax, MODELS["multinomial"], "empirical")
    for whole in (alone, group_leave_one_out(alone, groups, np.sort(scored))):
        parts = list(whole.split(size, start=1))
        assert sum(len(part.documents) for part in parts) == len(whole.documents) - 1
        for part, start in zip(parts, range(1, len(whole.documents), size), strict=True):
            known = part.ignore_hapaxes(part.scores(0.5)[0], 0.5)
            expected = whole.ignore_hapaxes(whole.scores(0.5)[0], 0.5)[start : start + size]
            np.testing.assert_allclose(known, expected, rtol=1e-12, atol=1e-12)


def score(scorer: Any, counts: NDArray[np.int64], classes: NDArray[np.int64]) -> Any:
    alone = sample_of(counts, classes)
    return scorer.scores(alone.indptr, alone.indices, alone.counts)[0]


def corpus_of(groups: NDArray[np.int64], *, jobs: int = 1) -> Any:
    """A larger corpus at random, so that there are several parts."""
    random = np.random.default_rng(1)
    classes = random.integers(0, 3, len(groups))
    counts = random.poisson(0.3 + 0.5 * (np.arange(30) % 3 == classes[:, None]))
    documents: DocumentCounts = sample_of(counts, classes)
    statistics = read_by("complement", counts, classes, 3)
    alone = LeaveOneOut(statistics, documents, None, MODELS["complement"], "uniform", jobs)
    return alone, group_leave_one_out(alone, groups, np.arange(len(groups)))


def test_groups_of_one_document_are_leave_one_out() -> None:
    """If each document is a group of its own, the scores are those of leave-one-out."""
    alone, grouped = corpus_of(np.arange(200)[::-1].copy())
    np.testing.assert_allclose(grouped.scores(0.1, 1.0), alone.scores(0.1, 1.0), rtol=1e-10, atol=1e-10)


def test_a_model_without_a_function_for_groups_is_refitted() -> None:
    """An event model need not know about groups: the scores are the same."""
    grouped = corpus_of(np.arange(200) % 50)[1]
    refitted = replace(grouped, model=replace(grouped.model, leave_groups_out=None))
    np.testing.assert_allclose(refitted.scores(0.1, 1.0), grouped.scores(0.1, 1.0), rtol=1e-9, atol=1e-9)


def test_the_scores_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits with one thread and with three."""
    monkeypatch.setattr(grouped_leave_one_out, "AT_ONCE", 500)
    groups = np.arange(300) % 60
    assert len(corpus_of(groups)[1]._split()) > 5
    one, three = (corpus_of(groups, jobs=jobs)[1].scores(0.1) for jobs in (1, 3))
    assert one.tobytes() == three.tobytes()


def test_a_group_that_holds_a_whole_class_is_not_scored() -> None:
    """Without the only group of a label, no model would know the label."""
    counts, classes = np.ones((6, 2), dtype=np.int64), np.array([0, 0, 1, 1, 1, 0])
    statistics = read_by("multinomial", counts, classes, 2)
    corpus = LeaveOneOut(statistics, sample_of(counts, classes), None, MODELS["multinomial"], "empirical")
    grouped = group_leave_one_out(corpus, np.array([0, 0, 1, 2, 2, 0]), np.arange(6))
    assert grouped.drop_single_documents().rows.tolist() == [3, 4, 5]

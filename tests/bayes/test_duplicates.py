"""Documents of equal content are left out together, so that duplicates do not flatter the estimate,
or one by one.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from corpora_by_hand import MODELS, labeled_matrices, leave_one_out, read_by, sample_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from nbtext import TextClassifier
from nbtext.bayes.class_statistics import count_classes, log_prior
from nbtext.bayes.gaussian import Moments
from nbtext.bayes.leave_one_out import LeaveOneOut, ScoredCorpus, count_hapaxes
from nbtext.features.document_table import DocumentTable

TEXTS = [
    "red round apple",
    "green round apple",
    "red sweet apple",
    "long yellow",
    "long green ripe",
    "yellow sweet long",
]
LABELS = ["apple", "apple", "apple", "banana", "banana", "banana"]
# the third feature is in one document only, and the fourth is all that another one has
HAPAXES = (
    np.array([[2, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 0], [0, 2, 0, 0], [0, 0, 0, 1]]),
    np.array([0, 0, 1, 1, 0]),
    2,
)
OF_WEIGHTS = ("multinomial", "dirichlet", "complement", "normalized complement")


def with_content_hashes(counts: NDArray[np.int64], classes: NDArray[np.int64]) -> DocumentTable:
    """The documents, equal rows with equal hashes, in the order of these."""
    _, numbers = np.unique(counts, axis=0, return_inverse=True)
    sample = replace(sample_of(counts, classes), hashes=numbers.reshape(-1).astype(np.uint64))
    return sample.smallest(None)


def in_order(
    corpus: Any, *, is_binary: bool
) -> tuple[DocumentTable, NDArray[np.int64], NDArray[np.int64]]:
    """The documents of a corpus in the order of their hashes, as dense rows, and their classes."""
    counts, classes, _ = corpus
    documents = with_content_hashes(np.minimum(counts, 1) if is_binary else counts, classes)
    rows = np.zeros((len(documents), counts.shape[1]), dtype=np.int64)
    rows[documents.entry_documents, documents.indices] = documents.counts
    return documents, rows, documents.classes.astype(np.int64)


@st.composite
def corpora_with_duplicates(draw: st.DrawFn) -> Any:
    """Corpora in which some documents occur again, with the same or another label; each class has
    enough others.
    """
    counts, classes, n_classes = draw(
        labeled_matrices(fewest_a_class=2, fewest_classes=2, maximum=3)
    )
    again = draw(
        st.lists(
            st.tuples(st.integers(0, len(counts) - 1), st.integers(0, n_classes - 1)), max_size=6
        )
    )
    rows = np.array([row for row, _ in again], dtype=np.int64)
    labels = np.array([label for _, label in again], dtype=np.int64)
    return np.concatenate((counts, counts[rows])), np.concatenate((classes, labels)), n_classes


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("prior", ["empirical", "uniform"])
@settings(max_examples=60)
@given(
    corpus=corpora_with_duplicates(),
    smoothing=st.sampled_from([0.0, 0.01, 1.0]),
    is_weighted=st.booleans(),
    is_alone=st.booleans(),
)
def test_equals_refits_without_all_copies(
    name: str, prior: str, corpus: Any, smoothing: float, is_weighted: bool, is_alone: bool
) -> None:
    """The scores of a document are those of a model of all documents with other content, or of all
    others, with the prior of all documents, to 1e-9.
    """
    model = MODELS[name]
    n_classes = corpus[2]
    documents, counts, classes = in_order(corpus, is_binary=model.is_binary)
    if is_weighted and name in (*OF_WEIGHTS, "gaussian"):
        documents = replace(documents, counts=documents.counts.astype(np.float64))
    statistics = read_by(name, counts, classes, n_classes)
    (found,) = leave_one_out(
        statistics,
        documents,
        model=model,
        smoothings=[smoothing],
        prior=prior,
        is_alone=is_alone,
    )
    for i in range(len(counts)):
        others = others_than(counts, i, is_alone)
        if len(np.unique(classes[others])) < n_classes:
            continue
        refitted = read_by(name, counts[others], classes[others], n_classes)
        # fixed, as the vocabulary is
        if isinstance(statistics, Moments) and isinstance(refitted, Moments):
            refitted = replace(refitted, largest_variance=statistics.largest_variance)
        scorer = model.compile(refitted, smoothing=smoothing).with_prior(
            log_prior(statistics.class_documents, prior)
        )
        alone = sample_of(counts[[i]], classes[[i]])
        expected = scorer.scores(alone.indptr, alone.indices, alone.counts)[0]
        np.testing.assert_allclose(found[i], expected, rtol=1e-9, atol=1e-9)


def others_than(counts: NDArray[np.int64], i: int, is_alone: bool) -> NDArray[np.bool_]:
    """Which documents remain if the i-th is left out."""
    return np.arange(len(counts)) != i if is_alone else (counts != counts[i]).any(axis=1)


@pytest.mark.parametrize(
    "name", sorted(MODELS.keys() - {"gaussian"})
)  # in which such a feature is the same in all classes
@settings(max_examples=60)
@given(
    corpus=corpora_with_duplicates(),
    smoothing=st.sampled_from([0.01, 1.0]),
    is_alone=st.booleans(),
    weight=st.sampled_from([None, 0.3, 1.7]),
)
@example(corpus=HAPAXES, smoothing=1.0, is_alone=False, weight=None)
def test_features_of_one_group_are_out_of_vocabulary(
    name: str, corpus: Any, smoothing: float, is_alone: bool, weight: float | None
) -> None:
    """A feature that occurs only in a document (and its duplicates) is out of vocabulary when it is
    left out (with them); also where only a part of the documents is scored, and where its counts
    are weighted.
    """
    model = MODELS[name]
    n_classes = corpus[2]
    documents, counts, classes = in_order(corpus, is_binary=model.is_binary)
    statistics = read_by(name, counts, classes, n_classes)
    hapaxes = count_hapaxes(statistics, documents)
    factors = np.ones(counts.shape[1])
    if weight is not None and name in OF_WEIGHTS:
        factors = weight ** np.arange(counts.shape[1])
        documents = documents.weigh(documents.counts * factors[documents.indices])
        statistics = count_classes(documents, counts.shape[1], n_classes)
    sums = count_hapaxes(statistics, documents.binarize() if name == "categorical" else documents)
    left_out = LeaveOneOut(statistics, documents, hapaxes, model, "empirical", hapax_sums=sums)
    if is_alone:
        left_out = left_out.alone
    (scores,) = left_out.scores(smoothing)
    found = left_out.ignore_hapaxes(scores, smoothing)
    judged = left_out.drop_single_documents()
    if len(judged.documents):
        again = judged.ignore_hapaxes(judged.scores(smoothing)[0], smoothing)
        assert len(again) == len(judged.documents)
    if is_alone:
        rows = np.flatnonzero(statistics.class_documents[classes] > 1)
        np.testing.assert_allclose(
            again if len(rows) else found[:0], found[rows], rtol=1e-9, atol=1e-9
        )
    for i in range(len(counts)):
        others = others_than(counts, i, is_alone)
        if len(np.unique(classes[others])) < n_classes:
            continue
        refitted = read_by(name, counts[others], classes[others], n_classes)
        if not documents.is_counted:
            refitted = count_classes(
                documents.take(np.flatnonzero(others)), counts.shape[1], n_classes
            )
        prior = log_prior(statistics.class_documents, "empirical")
        scorer = model.compile(refitted, smoothing=smoothing).with_prior(prior)
        is_known = (counts[others] > 0).any(axis=0)
        known = sample_of(np.where(is_known, counts[[i]], 0), classes[[i]])
        expected = scorer.scores(
            known.indptr, known.indices, known.counts * factors[known.indices]
        )[0]
        np.testing.assert_allclose(found[i], expected, rtol=1e-9, atol=1e-9)
        assert left_out.n_known[i] == known.totals[0]


def test_equal_hashes_of_unequal_documents_are_no_duplicates() -> None:
    """A model file may contain any hashes, so documents with equal hashes are compared by their
    counts.
    """
    documents = replace(
        sample_of(np.array([[1, 0], [0, 1], [0, 1]]), np.array([0, 1, 1])),
        hashes=np.zeros(3, np.uint64),
    )
    corpus = LeaveOneOut(
        count_classes(documents, 2, 2), documents, None, MODELS["multinomial"], "empirical"
    )
    assert corpus.contents.tolist() == [0, 1, 1]
    assert corpus.left_out.copies.tolist() == [1, 2, 2]


def test_a_doubled_corpus_is_no_better() -> None:
    """The estimate for a corpus that contains each document twice is that of the corpus, and the
    duplicates are counted.
    """
    texts = [*TEXTS * 3, "red", "yellow", "ripe"]
    labels = [*LABELS * 3, "banana", "apple", "banana"]
    first, second = (
        TextClassifier().fit(texts * times, labels * times).fitted_.estimate for times in (1, 2)
    )
    assert first is not None
    assert second is not None
    assert second.accuracy == first.accuracy < 1
    assert (first.duplicates, second.duplicates) == (12, 33)


@pytest.mark.parametrize("name", ["multinomial", "dirichlet", "complement"])
@settings(max_examples=40)
@given(corpus=corpora_with_duplicates(), jobs=st.sampled_from([1, 3]))
def test_each_document_is_scored_once(name: str, corpus: Any, jobs: int) -> None:
    """Scores of the first documents, of more, and with other smoothings are those of all documents
    at once.
    """
    counts, classes, n_classes = corpus
    documents = with_content_hashes(counts, classes)
    statistics = count_classes(documents, counts.shape[1], n_classes)
    unseen = count_hapaxes(statistics, documents)
    left_out = LeaveOneOut(statistics, documents, unseen, MODELS[name], "empirical", jobs)
    scored = ScoredCorpus(left_out)
    expected = left_out.scores(0.1, 1.0)
    asked: list[LeaveOneOut] = []
    with pytest.MonkeyPatch.context() as patch:
        score = LeaveOneOut.scores
        patch.setattr(
            LeaveOneOut, "scores", lambda self, *given: (asked.append(self), score(self, *given))[1]
        )
        for size in (2, 4, len(documents)):
            first = left_out.first(size)
            for smoothing, all_scores in zip((0.1, 1.0), expected, strict=True):
                (found,) = scored.scores(size, smoothing)
                np.testing.assert_array_equal(found, all_scores[: len(first.documents)])
                known = first.ignore_hapaxes(found, smoothing)
                np.testing.assert_array_equal(
                    known, left_out.ignore_hapaxes(all_scores, smoothing)[: len(known)]
                )
    assert sum(len(each.documents) for each in asked) == 2 * len(documents)


@pytest.mark.parametrize("name", ["bernoulli", "categorical", "gaussian"])
def test_numbers_of_copies_do_not_multiply_the_work(name: str) -> None:
    """Each number of copies changes what the absence of a feature says, but equal entries are
    weighed once.
    """
    random = np.random.default_rng(4)
    contents = random.poisson(0.02, (20, 8000))
    rows = np.repeat(np.arange(20), np.arange(1, 21))
    classes = rows % 2
    documents, counts, own = in_order(
        (contents[rows], classes, 2), is_binary=MODELS[name].is_binary
    )
    statistics = read_by(name, counts, own, 2)
    left_out = LeaveOneOut(statistics, documents, None, MODELS[name], "empirical").left_out
    parts = list(left_out.group_entries(statistics))
    assert [copies for copies, *_ in parts] == list(range(1, 21))
    assert sum(len(statistics.classes[entries]) for _, _, entries, _ in parts) < len(
        statistics.classes
    )
    for _, rows_of, entries, numbers in parts:
        found = np.bincount(statistics.classes[entries], numbers, 2)
        (k,) = np.unique(left_out.classes[rows_of])
        assert found[k] == (statistics.classes == k).sum()

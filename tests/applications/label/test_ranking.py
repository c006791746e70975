"""The ranking: uncertain and typical documents first, no near duplicates in a row."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import ComplementNB

from nbtext.applications.label.pool import PoolDocument, count_pool
from nbtext.applications.label.ranking import Ranking
from nbtext.bayes.class_statistics import ClassStatistics, count_classes
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounts

TOPICS = (
    "goal match team league player referee stadium",
    "flour oven butter sugar recipe dough bake",
    "planet orbit star telescope comet galaxy moon",
)


def count(texts: list[str]) -> CorpusCounts:
    return count_pool(
        [PoolDocument(str(row), (text,)) for row, text in enumerate(texts)], FeatureSettings()
    )


def make_texts(n: int, seed: int = 0) -> tuple[list[str], list[int]]:
    """Texts of five words of a topic each, and the topics."""
    random = np.random.default_rng(seed)
    topics = random.integers(0, len(TOPICS), n)
    return [" ".join(random.choice(TOPICS[topic].split(), 5)) for topic in topics], topics.tolist()


def statistics_of(counts: CorpusCounts, rows: list[int], topics: list[int]) -> ClassStatistics:
    """The statistics of some documents with their topics, without topics that none has."""
    known, classes = np.unique(np.array(topics)[rows], return_inverse=True)
    documents = counts.sample.take(np.array(rows, dtype=np.int64))
    documents = replace(documents, classes=classes.astype(np.int32))
    return count_classes(documents, counts.statistics.n_features, len(known))


def ranking_of(counts: CorpusCounts) -> Ranking:
    return Ranking(counts.sample, counts.statistics.n_features)


def test_rows_are_in_the_order_of_the_documents() -> None:
    texts, _ = make_texts(1300)
    counts = count(texts)
    assert counts.vocabulary is not None
    for row in (0, 511, 512, 1299):
        columns = counts.sample.slice(row, row + 1).indices
        assert {counts.vocabulary.term(int(j)) for j in columns} == set(texts[row].split())


def test_small_and_empty_pools() -> None:
    for texts in (["one"], ["", ""], ["a b", "word word", "word"], []):
        counts = count(texts) if texts else count(["x y"])
        ranking = ranking_of(counts)
        is_open = np.ones(len(counts.sample), dtype=bool)
        assert ranking.choose(is_open, None) is not None
        assert ranking.choose(~is_open, None) is None


def words_in(texts: list[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The binary counts of words in two documents or more and in at most 0.3 of all, and their unit
    TF-IDF vectors.
    """
    counts = CountVectorizer(min_df=2, max_df=0.3).fit_transform(texts).toarray()
    binary = np.minimum(counts, 1.0)
    weights = (binary + np.log(np.maximum(counts, 1))) * np.log(len(texts) / binary.sum(axis=0))
    return binary, weights / np.linalg.norm(weights, axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(4))
def test_the_choice_is_that_of_the_definition(seed: int) -> None:
    """Uncertainty and choice equal those of a dense implementation with scikit-learn's complement
    Naive Bayes.

    With fewer documents than dimensions, the vectors have the cosines of the TF-IDF weights.
    """
    random = np.random.default_rng(seed)
    words = [*" ".join(TOPICS).split(), *(f"w{n}" for n in range(20))]
    topics = [n % 3 for n in range(60)]
    texts = [
        " ".join(random.choice([*words, *5 * TOPICS[topic].split()], random.integers(4, 20)))
        for topic in topics
    ]
    binary, vectors = words_in(texts)
    sharpened = np.maximum(vectors @ vectors.T, 0) ** 3
    counts = count(texts)
    ranking = ranking_of(counts)
    is_open = np.ones(60, dtype=bool)
    labeled = list[int]()
    for _ in range(20):
        covered = sharpened[labeled].max(axis=0) if labeled else np.zeros(60)
        uncertainty = np.ones(60)
        known = sorted({topics[row] for row in labeled})
        if len(known) > 1:
            model = ComplementNB(alpha=1.0).fit(binary[labeled], [topics[row] for row in labeled])
            temperature = 2 * (2 / len(known)) * np.sqrt(binary.sum(axis=1, keepdims=True))
            scores = binary @ model.feature_log_prob_.T / temperature
            shares = np.sort(np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True), axis=1)
            uncertainty = 1 - (shares[:, -1] - shares[:, -2])
        statistics = statistics_of(counts, labeled, topics)
        np.testing.assert_allclose(ranking.compute_uncertainty(statistics), uncertainty, atol=1e-5)
        gains = np.maximum(sharpened - covered, 0) @ uncertainty
        row = ranking.choose(is_open, statistics)
        assert row is not None
        assert gains[row] == pytest.approx(gains[is_open].max(), rel=1e-4)
        is_open[row] = False
        labeled.append(row)
        ranking.add([row])

"""Model search by the training documents alone: the candidates, the race, and the model that it
returns.
"""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from searched_texts import LABELS, MARKS, TEXTS, counting, found, made_corpus, raced, usual

from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.documents.batch import Batch
from nbtext.errors import InputError
from nbtext.evaluation.search import (
    BOTH,
    BOTH_LONG,
    CHARACTERS,
    GIVEN,
    PAIRS,
    TRIPLES,
    WORDS,
    Candidate,
    find_promising,
    search_model,
    select_words,
)
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter
from nbtext.model.training import train_on_counts


def test_the_default_model_comes_first_and_linear_models_are_there() -> None:
    """What linear models try stands in their records; it may be nothing."""
    listed = usual()
    assert (listed[0].features, listed[0].model_settings.model) == (FeatureSettings(), AUTO)
    assert {each.model_settings.model for each in listed} == {
        AUTO,
        *(name for name, record in LINEAR_MODELS.items() if record.searched),
    }
    assert {"nbsvm", "logistic", "stacked"} < {each.model_settings.model for each in listed}
    assert {each.feature_set for each in listed} == {
        WORDS,
        PAIRS,
        TRIPLES,
        CHARACTERS,
        BOTH,
        BOTH_LONG,
    }
    assert len(set(listed)) == len(listed)


@pytest.mark.parametrize(
    ("features", "given"),
    [
        (FeatureSettings(ngrams=(1, 3)), "ngrams"),
        (FeatureSettings(analyzer="char", ngrams=(3, 3)), "analyzer"),
        (FeatureSettings(hash_bits=10), "hash_bits"),
        (FeatureSettings(token_pattern=r"\S+ ?"), "token_pattern"),
        (FeatureSettings(vocabulary=("apple", "berry")), "vocabulary"),
    ],
)
def test_given_features_are_kept(features: FeatureSettings, given: str) -> None:
    """Only models and weightings are tried, and the corpus is read once."""
    listed = usual(given, features=features)
    assert {each.feature_set for each in listed} == {GIVEN}
    assert {replace(each.features, tf="count", idf="none", norm="none") for each in listed} == {
        features
    }
    readings: list[FeatureSettings] = []
    search_model(listed, counting(TEXTS, LABELS, readings))
    assert len(readings) == 1


def test_given_settings_are_kept() -> None:
    """A weighting; and with a smoothing or a prior only the models that have one."""
    weighted = usual("tf", features=FeatureSettings(tf="log"))
    assert {each.features.tf for each in weighted} == {"log"}
    for settings_ in (ModelSettings(smoothing=0.5), ModelSettings(prior="uniform")):
        assert {each.model_settings.model for each in usual(model=settings_)} == {AUTO}
    stemmed = usual(features=FeatureSettings(stop_words=("the",)))
    assert {each.features.token_pattern for each in stemmed} == {None}


@settings(max_examples=30)
@given(
    texts=st.lists(st.text("ab é!?漢_ .", max_size=12), min_size=1, max_size=8),
    fields=st.sampled_from([(), ("body",), ("b", "ab", "a b")]),
)
def test_words_are_columns_of_pairs(texts: list[str], fields: tuple[str, ...]) -> None:
    """Counts, hashes and order are those of reading the texts for words only."""
    counts = []
    for features in (
        FeatureSettings(fields=fields),
        FeatureSettings(fields=fields, ngrams=(1, 2), token_pattern=MARKS),
    ):
        counter = CorpusCounter(features, sample_size=None)
        columns = tuple(texts[::-1] if k % 2 else texts for k in range(max(1, len(fields))))
        counter.add(
            Batch(
                list(map(str, range(len(texts)))),
                columns,
                ["a", "b", *["a"] * len(texts)][: len(texts)],
            )
        )
        counts.append(counter.finish())
    alone, pairs = counts
    words = select_words(pairs, FeatureSettings(fields=fields))
    assert alone.vocabulary is not None
    assert words.vocabulary is not None
    assert words.vocabulary.terms == alone.vocabulary.terms
    for ours, theirs in zip(words.statistics.entries, alone.statistics.entries, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for name in ("indptr", "indices", "counts", "classes", "hashes"):
        np.testing.assert_array_equal(getattr(words.sample, name), getattr(alone.sample, name))


def test_long_texts_are_read_once() -> None:
    """And short ones again, for words and character n-grams together; or, without a stack, also for
    triples.
    """
    for n_words, candidates, n_readings in (
        (60, usual(), 1),
        (60, raced(), 1),
        (10, usual(), 2),
        (10, raced(), 3),
    ):
        readings: list[FeatureSettings] = []
        search_model(candidates, counting(*made_corpus(60, n_words), readings))
        assert len(readings) == n_readings


def test_characters_are_counted_beside_few_long_texts() -> None:
    """Up to two million words, from a thousand documents on; with more, they take too much time and
    memory.
    """

    def promising(n: int, factor: int = 1) -> tuple[str, ...]:
        pairs = counting(*made_corpus(n, 60))(FeatureSettings(ngrams=(1, 2), token_pattern=MARKS))
        statistics = replace(pairs.statistics, occurrences=pairs.statistics.occurrences * factor)
        return find_promising(replace(pairs, statistics=statistics), FeatureSettings())

    assert promising(1023) == ()
    assert promising(1100) == promising(1100, 31) == (BOTH_LONG,)
    assert promising(1100, 32) == ()


def test_character_ngrams_win_where_words_are_not_separated() -> None:
    """Long texts of two made-up words each, among noise, in Thai letters without a space."""
    random = Random(5)
    letters = "กขคงจฉชซ"
    keys = {"a": "กขคง", "b": "จฉชซ"}
    labels = ["a" if i % 2 else "b" for i in range(120)]
    texts = [
        "".join(random.choice([*letters, keys[label]]) for _ in range(30)) + f" {i}"
        for i, label in enumerate(labels)
    ]
    texts = [" ".join([text] * 30) for text in texts]  # so many words that only the script tells
    pairs = counting(texts, labels)(FeatureSettings(ngrams=(1, 2), token_pattern=MARKS))
    assert find_promising(pairs, FeatureSettings()) == (CHARACTERS, BOTH)
    search = found(texts, labels, candidates=raced())
    trained = search.model
    assert search.best.candidate.feature_set == CHARACTERS
    assert trained.fitted.feature_settings.analyzer == "char_wb"
    search = found(texts, labels)
    assert search.best.candidate.feature_set == BOTH


def test_the_model_is_that_of_training_with_the_chosen_settings() -> None:
    """The same weights, calibration and retained documents as without a search."""
    for texts, labels in ((TEXTS, LABELS), made_corpus(200, 40)):
        search = found(texts, labels)
        trained = search.model
        chosen = search.best.candidate
        counts = counting(texts, labels)(chosen.features)
        alone = train_on_counts(counts, chosen.features, chosen.model_settings)
        assert alone.fitted.feature_settings == trained.fitted.feature_settings
        assert alone.fitted.model_settings == trained.fitted.model_settings
        np.testing.assert_array_equal(alone.fitted.scorer.deltas, trained.fitted.scorer.deltas)
        assert repr(alone.fitted.calibration) == repr(trained.fitted.calibration)
        np.testing.assert_array_equal(counts.sample.hashes, trained.counts.sample.hashes)


@pytest.mark.parametrize("candidates", [usual(), raced()], ids=["stacks", "others"])
@pytest.mark.parametrize("seed", range(4))
def test_the_default_is_replaced_only_by_what_is_better_in_both(
    seed: int, candidates: list[Candidate]
) -> None:
    """Of random labels, some candidate is always more accurate by chance. It must have a lower
    log-loss, too.
    """
    random = Random(seed)
    texts = [" ".join(random.choices([f"w{k}" for k in range(40)], k=8)) for _ in range(60)]
    labels = [random.choice("abc") for _ in texts]
    search = found(texts, labels, candidates=candidates)
    default = search.results[0]
    best = search.best
    assert best is default or (
        best.accuracy >= default.accuracy and best.log_loss < default.log_loss
    )


ODD = {
    "labels with one document": [*["a"] * 20, *["b"] * 20, *"cdefghij"],
    "one document in a hundred": ["rare" if i % 100 == 7 else "usual" for i in range(400)],
    "fifty labels with five documents": [f"label {i % 50}" for i in range(250)],
}


@pytest.mark.exhaustive(plain=3)
@pytest.mark.parametrize("labels", ODD.values(), ids=ODD)
def test_odd_corpora_are_searched(labels: list[str]) -> None:
    """With empty documents and duplicates, too: the result is no less accurate than the default by
    its estimate.
    """
    random = Random(1)
    texts = [
        "" if i % 9 == 0 else f"{label} I? w{random.randrange(30)}"
        for i, label in enumerate(labels)
    ]
    texts = texts + texts[:10]
    labels = labels + labels[:10]
    search = found(texts, labels)
    trained = search.model
    assert set(trained.fitted.labels) == set(labels)
    assert search.best.accuracy >= search.results[0].accuracy
    assert not search.untried


def test_goals_are_met_by_the_winner() -> None:
    """Decision offsets are fitted to the chosen model only."""
    candidates = usual(model=ModelSettings(optimize="macro_f1"))
    texts, labels = made_corpus(120, 5)
    trained = search_model(candidates, counting(texts, labels[60:] + labels[1:61])).model
    assert trained.fitted.model_settings.optimize == "macro_f1"
    assert trained.fitted.estimate is not None
    assert trained.fitted.estimate.optimized is not None


@pytest.mark.exhaustive(plain=2)
def test_the_linear_models_of_most_features_are_fitted() -> None:
    """Without a stack, two of them."""
    texts, labels = made_corpus(2100, 60)
    search = found(texts, labels, candidates=raced())
    linear = [each for each in search.results if each.candidate.is_linear]
    assert [(each.candidate.feature_set, each.n_documents) for each in linear] == [
        (PAIRS, 2100)
    ] * 2


@pytest.mark.exhaustive(plain=2)
def test_linear_models_of_several_labels_are_compared_on_a_subset() -> None:
    """The best two of them are fitted to all documents."""
    texts, labels = made_corpus(2100, 60)
    search = found(texts, [(label, "all") for label in labels])
    linear = [each.n_documents for each in search.results if each.candidate.is_linear]
    assert sorted(linear) == [1024] * (len(linear) - 2) + [2100] * 2
    assert len(linear) >= 4


def test_a_stack_of_fewer_features_is_tried_if_one_is_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is too large is said."""
    pairs = counting(TEXTS, LABELS)(FeatureSettings(ngrams=(1, 2), token_pattern=MARKS))
    monkeypatch.setattr("nbtext.evaluation.search.MAX_STACK_WORK", 2 * len(pairs.sample.indices))
    search = found(TEXTS, LABELS)
    assert [each.candidate.feature_set for each in search.results] == [WORDS, PAIRS]
    assert [(each.feature_set, each.is_stacked) for each in search.untried] == [(BOTH, True)]


def test_one_of_each_label() -> None:
    """Nothing can be left out, so the default model is trained."""
    texts = ["red", "blue", "green", "black", "white"]
    labels = list("abcde")
    search = found(texts, labels)
    trained = search.model
    assert trained.fitted.estimate is None
    assert trained.fitted.feature_settings == FeatureSettings()
    assert not search.best.candidate.is_linear


def test_too_few_documents() -> None:
    """There is nothing to choose by."""
    with pytest.raises(
        InputError, match="needs at least 5 documents; found 3 documents; name a model with model"
    ):
        found(TEXTS[:3], LABELS[:3])


def test_documents_with_several_labels() -> None:
    """Candidates are compared by micro F1; those that give each document one label are not
    tried.
    """
    search = found(TEXTS, [("red", "fruit") if i % 2 else ("blue",) for i in range(40)])
    model = search.model
    assert model.fitted.task.name == "several"
    models = {result.candidate.model_settings.model for result in search.results}
    assert {"auto", "nbsvm"} <= models
    assert "logistic" not in models | {each.model_settings.model for each in search.untried}
    assert {result.metric for result in search.results} == {"micro_f1"}
    estimate = model.fitted.estimate
    assert estimate is not None
    assert search.best.accuracy == pytest.approx(estimate.metric, abs=0.05)


def topics_by_chance(seed: int, share: float) -> tuple[list[str], list[tuple[str, ...]]]:
    """80 texts of one or two of 15 topics. Of the words of a topic, this share are its own, and the
    others of any.
    """
    random = Random(seed)
    texts = []
    labels = []
    for _ in range(80):
        topics = random.sample(range(15), random.choice((1, 1, 2)))
        words = [f"w{random.randrange(100)}" for _ in range(random.randrange(1, 10))]
        for topic in topics * 2:
            own = topic if random.random() < share else random.randrange(15)
            words.append(f"t{own}x{random.randrange(4)}")
        texts.append(" ".join(words))
        labels.append(tuple(f"topic {topic}" for topic in topics))
    return texts, labels


@pytest.mark.parametrize(("seed", "share"), [(0, 0.7), (1, 0.7), (2, 0.7), (0, 1.0)])
def test_micro_f1_decides_between_models_of_several_labels(seed: int, share: float) -> None:
    """The log-loss has no veto: it decides only between models whose micro F1 is equal in the
    table.
    """
    texts, labels = topics_by_chance(seed, share)
    search = found(texts, list(labels), candidates=usual("ngrams"))
    highest = max(round(each.accuracy, 4) for each in search.results)
    equal = [each for each in search.results if round(each.accuracy, 4) == highest]
    assert search.best is min(equal, key=lambda each: each.log_loss)


@pytest.mark.parametrize("is_repeated", [True, False])
def test_the_weighting_of_a_stack_is_chosen_on_a_subset(is_repeated: bool) -> None:
    """Where only the repetition of words tells the labels apart, binary counts know nothing."""
    random = Random(3)
    words = [f"w{k}" for k in range(30)]
    texts = []
    labels = ["ab"[i % 2] for i in range(600)]
    for label in labels:  # the same words and pairs of words in each
        often = words[:8] if label == "a" and is_repeated else words[8:16]
        texts.append(
            " ".join(
                word for word in words for _ in range(random.randint(2, 9 if word in often else 4))
            )
        )
    search = found(texts, labels)
    n_documents = {
        each.candidate.weighting: each.n_documents
        for each in search.results
        if each.candidate.is_stacked
    }
    assert n_documents == {
        "binary-l2": 300 if is_repeated else 600,
        "log-l2": 600 if is_repeated else 300,
    }
    binary = next(each for each in search.results if each.candidate.weighting == "binary-l2")
    assert binary.log_loss > 0.65  # equal documents are not told apart by rounding

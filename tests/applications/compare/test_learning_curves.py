"""Learning curves: fair parts, and models that know of nothing but their part."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.applications.compare.learning_curves import (
    _sizes,
    compute_learning_curves,
    growing_order,
)
from nbtext.applications.compare.settings import CurveSettings
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import SettingsError
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.source_counting import count_source
from nbtext.model.training import train_on_counts
from nbtext.text_classifier import TextClassifier

WORDS = ("red", "green", "blue", "sea", "sun", "sky", "and", "the")


def texts_of(n: int) -> tuple[list[str], list[str]]:
    """Texts, each with a word of its own, and labels that their words tell."""
    dice = random.Random(7)
    labels = [dice.choice(("cold", "cold", "warm")) for _ in range(n)]
    favorites = {"cold": ("blue", "sea"), "warm": ("red", "sun")}
    texts = [
        " ".join([f"id{i}", *dice.choices(WORDS + favorites[label] * 2, k=6)])
        for i, label in enumerate(labels)
    ]
    return texts, labels


def corpus_of_texts(texts: list[str], labels: list[str], features: FeatureSettings) -> CorpusCounts:
    builder = CorpusCounter(features, sample_size=None)
    builder.add(Batch([str(i) for i in range(len(texts))], (texts,), list(labels)))
    return builder.finish()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(0, 9))
def test_every_beginning_is_stratified(drawn: list[int], seed: int) -> None:
    """It holds each class in its share of all documents, give or take one document and rounding."""
    classes = np.unique(np.array(drawn), return_inverse=True)[1].astype(np.int32)
    order = growing_order(classes, seed=seed)
    assert sorted(order) == list(range(len(classes)))
    n_classes = classes.max() + 1
    for size in range(1, len(classes) + 1):
        held = np.bincount(classes[order[:size]], minlength=n_classes)
        assert (
            np.abs(held - size * np.bincount(classes) / len(classes)).max() <= n_classes / 2 + 0.5
        )


@pytest.mark.parametrize(
    "options", [{}, {"hash_bits": 8}, {"idf": "smooth", "norm": "l2"}, {"min_df": 2}], ids=str
)
@pytest.mark.parametrize(
    "model", ["multinomial", "dirichlet", "bernoulli", "complement", "categorical", "gaussian"]
)
def test_a_part_is_what_training_on_it_alone_gives(model: str, options: dict[str, object]) -> None:
    """The same scorer, choice and features as if no other document had been read."""
    texts, labels = texts_of(40)
    # type: ignore[arg-type]
    features = FeatureSettings(**options)
    model_settings = ModelSettings(model=model)
    everything = corpus_of_texts(texts, labels, features)
    documents = np.arange(0, 40, 2)
    part = everything.take(documents).drop_unused_features()
    if everything.vocabulary is not None:
        assert part.vocabulary is not None
        chosen = [int(term[2:]) for term in part.vocabulary.terms if term.startswith("id")]
    else:
        rows = {
            hash_: i
            for i in range(40)
            for hash_ in corpus_of_texts(
                texts[i : i + 1], labels[i : i + 1], features
            ).sample.hashes
        }
        chosen = [rows[hash_] for hash_ in part.sample.hashes]
    assert len(chosen) == 20
    alone = TextClassifier.from_settings(features, model_settings).fit(
        [texts[i] for i in chosen], [labels[i] for i in chosen]
    )
    ours = TextClassifier.from_model(train_on_counts(part, features, model_settings))
    assert ours.fitted_.vocabulary == alone.fitted_.vocabulary
    np.testing.assert_allclose(
        ours.predict_log_proba(texts), alone.predict_log_proba(texts), atol=1e-12
    )


def test_the_whole_corpus_is_training_and_evaluating() -> None:
    """As the largest part with other documents to judge by, a corpus gives what train and evaluate
    give.
    """
    from nbtext.evaluation.evaluator import Evaluator
    from nbtext.model.source_prediction import predict_source

    letters = Path(__file__).parents[3] / "corpora" / "letters"
    train, test = (str(letters / half) for half in ("train", "test"))
    features = FeatureSettings()
    corpora = [
        count_source(open_source([path], InputSettings()), features, jobs=1, sample_size=None)
        for path in (train, test)
    ]
    curves = CurveSettings(models=("multinomial",), sizes=(336,), seeds=1)
    found = compute_learning_curves(
        corpora[0], curves, features=features, model_settings=[ModelSettings()], test=corpora[1]
    )
    model = train_on_counts(corpora[0], features, ModelSettings())
    evaluator = Evaluator()
    for predictions in predict_source(model.fitted, open_source([test], InputSettings()), jobs=1):
        evaluator.add(predictions)
    (point,) = found.points
    assert point.mean("accuracy") == evaluator.evaluation().metrics["accuracy"]
    assert point.mean("log_loss") == pytest.approx(
        evaluator.evaluation().metrics["log_loss"], abs=1e-12
    )
    assert (point.deviation("accuracy"), found.test_documents) == (None, 84)


def test_settings_that_make_no_sense() -> None:
    """Each is told from what would."""
    with pytest.raises(SettingsError, match="once"):
        CurveSettings(models=("bernoulli", "bernoulli"))
    texts, labels = texts_of(10)
    corpus = corpus_of_texts(texts, labels, FeatureSettings())
    with pytest.raises(
        SettingsError, match="10 is more than the 9 documents that can be used for training"
    ):
        compute_learning_curves(
            corpus,
            CurveSettings(models=("multinomial",), sizes=(10,)),
            features=FeatureSettings(),
            model_settings=[ModelSettings()],
        )


def test_sizes_double_up_to_seventy_percent() -> None:
    """The rest judges; with test documents, all are trained on."""
    assert _sizes(None, 1000, has_test=False) == [50, 100, 200, 400, 700]
    assert _sizes(None, 1000, has_test=True) == [50, 100, 200, 400, 800, 1000]
    assert _sizes(None, 2, has_test=False) == [1]

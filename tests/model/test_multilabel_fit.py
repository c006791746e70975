"""The fit of several labels: titles after long documents, the plain version, and threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.bayes import plain, relevance_leave_one_out
from nbtext.bayes.label_selection import MultilabelFit
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch
from nbtext.errors import ModelError
from nbtext.features.kernel import HAS_KERNEL
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.fitting import train_on_counts
from nbtext.model.multilabel_predictor import MultilabelPredictor, fit_of

Documents = Sequence[tuple[str, tuple[str, ...]]]
TEXTS = st.lists(st.sampled_from(["apple", "pear", "plum", "straße", "x1"]), max_size=6).map(" ".join)
DOCUMENTS = st.lists(
    st.tuples(TEXTS, st.lists(st.sampled_from(["b", "a", "ä"]), max_size=3).map(tuple)), min_size=1, max_size=10
)


def train(documents: Documents, *, jobs: int = 1, **options: Any) -> TrainedModel:
    """A model of some documents."""
    features, counter = FeatureSettings(), CorpusCounter(FeatureSettings(), sample_size=1000)
    texts, lists = [text for text, _ in documents], [labels for _, labels in documents]
    counter.add(Batch(texts, (texts,), [None] * len(texts), label_lists=lists))
    return train_on_counts(counter.finish(), features, ModelSettings(keep_sample=1000, **options), jobs=jobs)


def predict(model: TrainedModel, texts: list[str]) -> Any:
    return MultilabelPredictor(model.fitted).predict_batch(Batch(texts, (texts,), [None] * len(texts)))


def numbers_of(fit: MultilabelFit) -> list[float]:
    """All numbers of a fit that predictions use."""
    c = fit.combination
    common = [*c.weights, c.exponent, c.intercept, c.prior_weight, c.slope]
    return [fit.smoothing.mu, fit.smoothing.alpha or 0.0, *common, *c.biases.tolist(), *fit.thresholds.tolist()]


def test_titles_are_predicted_by_a_model_of_long_documents() -> None:
    """Words typical of a label give it to texts that are a hundredth as long as the training documents."""
    random, n_topics = np.random.default_rng(5), 6
    common, topics = [f"common{i}" for i in range(300)], [[f"topic{k}x{i}" for i in range(30)] for k in range(n_topics)]
    documents = []
    for _ in range(300):
        own = random.choice(n_topics, size=random.integers(0, 3), replace=False)
        words = [*random.choice(common, 300), *(word for k in own for word in random.choice(topics[k], 25))]
        documents.append((" ".join(words), tuple(f"label{k}" for k in own)))
    model = train(documents)
    titles = [[words[0], f"{words[1]} common7", f"{words[2]} {words[3]}"] for words in topics]
    found = predict(model, [title for each in titles for title in each])
    assert found.predicted == [(f"label{k}",) for k in range(n_topics) for _ in range(3)]
    found = predict(model, ["common1", "common2 common3", "unknown"])
    assert found.predicted == [(), (), ()]
    shares = [np.mean([label in labels for _, labels in documents]) for label in model.fitted.labels]
    np.testing.assert_allclose(found.probabilities[2], shares, atol=0.01)  # without evidence


@settings(max_examples=25, deadline=None)
@given(DOCUMENTS, st.sampled_from([None, "macro_f1"]))
def test_the_plain_version_fits_the_same_model(documents: Documents, optimize: str | None) -> None:
    if not HAS_KERNEL:
        pytest.skip("the kernel is not compiled")
    try:
        compiled = train(documents, optimize=optimize)
    except ModelError:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relevance_leave_one_out, "left_out_products", plain.left_out_products)
        patch.setattr(relevance_leave_one_out, "MAX_ENTRIES", 3)  # the plain version takes small blocks
        uncompiled = train(documents, optimize=optimize)
    assert numbers_of(fit_of(compiled.fitted)) == numbers_of(fit_of(uncompiled.fitted))
    texts = [text for text, _ in documents]
    one, other = (predict(model, texts).probabilities for model in (compiled, uncompiled))
    np.testing.assert_array_equal(one, other)


def test_threads_do_not_change_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relevance_leave_one_out, "MAX_CELLS", 8)  # some documents in a block
    labels: list[tuple[str, ...]] = [(), ("fruit",), ("car", "fruit"), ("car",)]
    documents = [(f"word{i % 7} text{i % 4} n{i % 11} n{i}", labels[i % 4]) for i in range(60)]
    one, other = (numbers_of(fit_of(train(documents, jobs=jobs).fitted)) for jobs in (1, 3))
    assert one == other

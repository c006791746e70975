"""The fit of several labels: titles after long documents, the plain version, and threads."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.bayes import binary_relevance, label_calibration, plain
from nbtext.bayes.label_calibration import MultilabelFit, keep_cells
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch
from nbtext.errors import ModelError
from nbtext.features.settings import FeatureSettings
from nbtext.kernel import HAS_KERNEL
from nbtext.model.corpus_counts import CorpusCounter
from nbtext.model.fitted_model import FittedModel, TrainedModel
from nbtext.model.predictor import Predictor
from nbtext.model.training import train_on_counts

Documents = Sequence[tuple[str, tuple[str, ...]]]
TEXTS = st.lists(st.sampled_from(["apple", "pear", "plum", "straße", "x1"]), max_size=6).map(
    " ".join
)
DOCUMENTS = st.lists(
    st.tuples(TEXTS, st.lists(st.sampled_from(["b", "a", "ä"]), max_size=3).map(tuple)),
    min_size=1,
    max_size=10,
)


def train(
    documents: Documents, *, jobs: int = 1, keep_sample: int = 1000, **options: Any
) -> TrainedModel:
    """A model of some documents."""
    features = FeatureSettings()
    counter = CorpusCounter(FeatureSettings(), sample_size=keep_sample)
    texts = [text for text, _ in documents]
    lists = [labels for _, labels in documents]
    counter.add(Batch(texts, (texts,), lists))
    return train_on_counts(
        counter.finish(), features, ModelSettings(keep_sample=keep_sample, **options), jobs=jobs
    )


def fit_of(model: FittedModel) -> MultilabelFit:
    return model.task.fit


def predict(model: TrainedModel, texts: list[str]) -> Any:
    return Predictor(model.fitted).predict_batch(Batch(texts, (texts,), [None] * len(texts)))


def numbers_of(fit: MultilabelFit) -> list[float]:
    """All numbers of a fit that predictions use."""
    c = fit.combination
    common = [*c.weights, c.exponent, c.intercept, c.prior_weight, c.slope]
    return [
        fit.smoothing.mu,
        fit.smoothing.alpha or 0.0,
        *common,
        *c.biases.tolist(),
        *fit.thresholds.tolist(),
    ]


def test_titles_are_predicted_by_a_model_of_long_documents() -> None:
    """Words typical of a label give it to texts that are a hundredth as long as the training
    documents.
    """
    random = np.random.default_rng(5)
    n_topics = 6
    common = [f"common{i}" for i in range(300)]
    topics = [[f"topic{k}x{i}" for i in range(30)] for k in range(n_topics)]
    documents = []
    for _ in range(300):
        own = random.choice(n_topics, size=random.integers(0, 3), replace=False)
        words = [
            *random.choice(common, 300),
            *(word for k in own for word in random.choice(topics[k], 25)),
        ]
        documents.append((" ".join(words), tuple(f"label{k}" for k in own)))
    model = train(documents)
    titles = [[words[0], f"{words[1]} common7", f"{words[2]} {words[3]}"] for words in topics]
    found = predict(model, [title for each in titles for title in each])
    assert found.labels == [(f"label{k}",) for k in range(n_topics) for _ in range(3)]
    found = predict(model, ["common1", "common2 common3", "unknown"])
    assert found.labels == [(), (), ()]
    shares = [
        np.mean([label in labels for _, labels in documents]) for label in model.fitted.labels
    ]
    np.testing.assert_allclose(found.probabilities[2], shares, atol=0.01)  # without evidence


@settings(max_examples=25)
@given(DOCUMENTS, st.sampled_from([None, "macro_f1"]))
def test_the_plain_version_fits_the_same_model(documents: Documents, optimize: str | None) -> None:
    if not HAS_KERNEL:
        pytest.skip("the kernel is not compiled")
    try:
        compiled = train(documents, optimize=optimize)
    except ModelError:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binary_relevance, "left_out_products", plain.left_out_products)
        # the plain version takes small blocks
        patch.setattr(binary_relevance, "CELLS_SCORED_AT_ONCE", 3)
        uncompiled = train(documents, optimize=optimize)
    assert numbers_of(fit_of(compiled.fitted)) == numbers_of(fit_of(uncompiled.fitted))
    texts = [text for text, _ in documents]
    one, other = (predict(model, texts).probabilities for model in (compiled, uncompiled))
    np.testing.assert_array_equal(one, other)


def test_threads_do_not_change_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary_relevance, "CELLS_SCORED_AT_ONCE", 8)  # some documents in a block
    labels: list[tuple[str, ...]] = [(), ("fruit",), ("car", "fruit"), ("car",)]
    documents = [(f"word{i % 7} text{i % 4} n{i % 11} n{i}", labels[i % 4]) for i in range(60)]
    one, other = (numbers_of(fit_of(train(documents, jobs=jobs).fitted)) for jobs in (1, 3))
    assert one == other


def tagged_titles(n: int, n_labels: int, seed: int) -> Documents:
    """Titles of a few words with tags, most of which are rare, or none."""
    random = np.random.default_rng(seed)
    shares = 1 / np.arange(1, n_labels + 1)
    found = []
    for _ in range(n):
        own = random.choice(
            n_labels, size=random.integers(0, 4), replace=False, p=shares / shares.sum()
        )
        words = [f"tag{k}x{random.integers(4)}" for k in own for _ in range(random.integers(1, 3))]
        words += [f"common{i}" for i in random.integers(200, size=random.integers(1, 6))]
        found.append((" ".join(words), tuple(f"label{k}" for k in sorted(own.tolist()))))
    return found


@pytest.mark.parametrize("optimize", [None, "macro_f1"])
def test_many_labels_have_calibrated_probabilities(optimize: str | None) -> None:
    """Also the improbable labels of a document, of which only some are kept; no document gets
    dozens of labels.
    """
    model = train(tagged_titles(600, 200, 2), optimize=optimize)
    test = tagged_titles(1000, 200, 100)
    assert len(model.fitted.labels) > label_calibration.MAX_FULLY_KEPT_LABELS
    found = predict(model, [text for text, _ in test])
    n_true = sum(len(labels) for _, labels in test)
    assert found.probabilities.sum() == pytest.approx(n_true, rel=0.1)
    assert max(map(len, found.labels)) < 15
    hits = sum(
        len({*labels} & {*each}) for each, (_, labels) in zip(found.labels, test, strict=True)
    )
    micro_f1 = 2 * hits / (n_true + sum(map(len, found.labels)))
    assert micro_f1 > 0.6
    estimate = fit_of(model.fitted).estimate
    assert estimate is not None
    if optimize is None:
        assert estimate.micro_f1 == pytest.approx(micro_f1, abs=0.04)


@pytest.mark.parametrize("minimum", [-np.inf, 1.0, 9.0])
def test_kept_pairs_stand_for_all(minimum: float) -> None:
    """Each pair is kept with a weight, or stands for others that are not; own labels are always
    there once.
    """
    random = np.random.default_rng(0)
    scores = random.normal(size=(3000, 150))
    is_own = random.random((3000, 150)) < 0.01
    rows, labels, weights = keep_cells(scores, is_own, 0, minimum)
    assert weights.sum() == pytest.approx(3000 * 150, rel=0.01)
    assert (weights[is_own[rows, labels]] == 1).all()
    assert is_own[rows, labels].sum() == is_own.sum()
    sums = np.bincount(labels, weights * scores[rows, labels], minlength=150)
    np.testing.assert_allclose(
        sums, scores.sum(axis=0), atol=5 * np.sqrt(3000 * 150 / label_calibration.SAMPLED)
    )
    np.testing.assert_array_equal(
        np.unique(rows[scores[rows, labels] == scores.max(axis=1)[rows]]), np.arange(3000)
    )
    parts = [
        keep_cells(scores[k : k + 100], is_own[k : k + 100], k, minimum)
        for k in range(0, 3000, 100)
    ]
    np.testing.assert_array_equal(np.concatenate([part[1] for part in parts]), labels)


def test_precision_at_1_is_of_documents_with_a_label() -> None:
    """As that of `evaluate`."""
    documents = [
        *[(f"apple pear n{i}", ("fruit",)) for i in range(20)],
        *[(f"rain wind m{i}", ()) for i in range(20)],
    ]
    estimate = fit_of(train(documents).fitted).estimate
    assert estimate is not None
    assert estimate.precision_at_1 == 1


def test_labels_of_a_single_document_do_not_spoil_the_others() -> None:
    """Twenty documents get a further label of their own: the other labels are found as before."""
    documents = tagged_titles(300, 12, 4)
    test = tagged_titles(600, 12, 5)
    marked = [
        (text, (*labels, f"own{i}") if i < 20 else labels)
        for i, (text, labels) in enumerate(documents)
    ]
    found = []
    for each in (documents, marked):
        predicted = predict(train(each), [text for text, _ in test]).labels
        hits = sum(
            len({*labels} & {*own}) for labels, (_, own) in zip(predicted, test, strict=True)
        )
        found.append(
            2
            * hits
            / sum(len(labels) + len(own) for labels, (_, own) in zip(predicted, test, strict=True))
        )
    assert found[0] > 0.75
    assert found[1] > found[0] - 0.03


@pytest.mark.parametrize("n_retained", [0, 1, 2])
def test_macro_f1_is_of_labels_that_retained_documents_have(n_retained: int) -> None:
    """A label with one retained document, and others that were only counted, has an F1; one without
    any has none.

    Its threshold is then that of all labels. Documents of other labels reach it here, so its F1 of
    0 counts.
    """
    documents = [
        (f"{'apple pear' if i % 2 else 'rain wind'} n{i}", ("fruit" if i % 2 else "sky",))
        for i in range(60)
    ]
    rare = [(f"lynx owl fox z{i}", ("wood",)) for i in range(8)]
    hashes = {
        text: int(train([(text, labels)]).counts.sample.hashes[0])
        for text, labels in [*documents, *rare]
    }
    bound = sorted(hashes[text] for text, _ in rare)[n_retained]
    # the last one is not scored: copies of it may be missing
    size = sum(each <= bound for each in hashes.values())
    model = train([*documents, *rare], keep_sample=size, optimize="macro_f1")
    fit = fit_of(model.fitted)
    wood = model.fitted.labels.index("wood")
    assert len(model.counts.sample) == size
    assert fit.estimate is not None
    assert fit.estimate.macro_f1 == pytest.approx(1.0 if n_retained else 2 / 3)
    assert fit.estimate.label_f1[wood] == (n_retained > 0)
    assert (wood in fit.fallback) == (n_retained == 0)
    assert predict(model, ["lynx owl fox"]).labels[0] == ("wood",)

"""Weights of documents, and soft labels: exact counts, and the same models as of repeated
documents.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.documents.batch import Batch
from nbtext.documents.fields import SoftLabel, split_shares
from nbtext.errors import InputError, ModelError
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.text_classifier import TextClassifier

TEXTS = [
    "the cat sat",
    "the dog sat down",
    "a cat ran",
    "the dog ran and ran",
    "cat and dog and cat",
    "down the road",
    "the cat sat",
    "road and down",
]
LABELS = ["x", "y", "x", "y", "x", "y", "y", "x"]
FRACTIONS = [128, 300, 256, 512, 77, 256, 1000, 640]


def count(
    texts: Sequence[str], labels: Sequence[str], weights: Sequence[int] | None = None
) -> CorpusCounts:
    counter = CorpusCounter(FeatureSettings(), sample_size=None)
    ids = [str(row) for row in range(len(texts))]
    counter.add(Batch(ids, (list(texts),), list(labels), weights=weights))
    return counter.finish()


def arrays(counts: CorpusCounts) -> list[tuple[str, bytes]]:
    statistics = counts.statistics
    columns = (statistics.class_documents, *statistics.entries)
    return [(column.dtype.str, column.tobytes()) for column in columns]


def test_a_weight_of_two_is_the_document_twice() -> None:
    times = [2, 1, 3, 1, 2, 1, 1, 2]
    repeated = count(
        [text for text, n in zip(TEXTS, times, strict=True) for _ in range(n)],
        [label for label, n in zip(LABELS, times, strict=True) for _ in range(n)],
    )
    weighed = count(TEXTS, LABELS, [256 * n for n in times])
    assert arrays(weighed) == arrays(repeated)
    assert weighed.sample.n_documents == repeated.statistics.n_documents
    assert arrays(replace(weighed, statistics=weighed.count(weighed.sample))) == arrays(repeated)


def test_sums_of_weights_are_exact() -> None:
    """Parts add up to the whole, and what is subtracted leaves the rest, byte for byte."""
    whole = count(TEXTS, LABELS, FRACTIONS)
    one = count(TEXTS[:3], LABELS[:3], FRACTIONS[:3])
    other = count(TEXTS[3:], LABELS[3:], FRACTIONS[3:])
    assert arrays(one + other) == arrays(whole)
    assert arrays(whole - other) == arrays(one)
    assert whole.statistics.class_documents.tolist() == [
        sum(w for w, label in zip(FRACTIONS, LABELS, strict=True) if label == name) / 256
        for name in "xy"
    ]
    assert not whole.statistics.is_fractional
    halves = [count(TEXTS, LABELS, [128] * 8)] * 2
    assert arrays(halves[0] + halves[1]) == arrays(count(TEXTS, LABELS))


@pytest.mark.parametrize(
    "name", sorted(EVENT_MODELS.keys() - {"gaussian"})
)  # whose ε is of all documents
@pytest.mark.parametrize("weights", [FRACTIONS, [512, 256, 256, 768, 256, 256, 512, 256]])
def test_leave_one_out_subtracts_the_weights(name: str, weights: list[int]) -> None:
    """Scores of a text are those of a refit without its whole weight, with the prior of all."""
    model = EVENT_MODELS[name]
    counts = count(TEXTS, LABELS, weights)

    def summarize(corpus: CorpusCounts) -> CorpusCounts:
        sample = corpus.sample.binarize() if model.is_binary else corpus.sample
        statistics = corpus.statistics.binarize() if model.is_binary else corpus.statistics
        if model.sufficient_statistics is not None:
            statistics = model.sufficient_statistics(statistics, sample, n_values=3)
        return replace(corpus, statistics=statistics, sample=sample)

    whole = summarize(counts)
    prior = "empirical"
    corpus = LeaveOneOut(whole.statistics, whole.sample, None, model, prior)
    (scores,) = corpus.scores(0.5)
    for row in range(len(whole.sample)):
        is_left_out = counts.sample.hashes == counts.sample.hashes[row]
        rest = summarize(counts.take(np.flatnonzero(~is_left_out)))
        scorer = model.compile(rest.statistics, smoothing=0.5)
        one = whole.sample.slice(row, row + 1)
        documents = whole.statistics.class_documents
        expected = scorer.scores(one.indptr, one.indices, one.counts)[0]
        expected = expected + np.log(documents / documents.sum())
        assert scores[row] == pytest.approx(expected, abs=1e-9)


def test_shares_are_rounded_to_the_weight() -> None:
    thirds = dict.fromkeys("abc", 1 / 3)
    assert split_shares(thirds) == {"a": 86, "b": 85, "c": 85}
    assert split_shares({"a": 0.999, "b": 0.001}) == {"a": 256}
    assert split_shares({"a": 0.7, "b": 0.3}, 1000) == {"a": 700, "b": 300}


def test_a_soft_label_is_weighted_documents_of_one_text() -> None:
    soft = SoftLabel((("x", 0.25), ("y", 0.75)))
    batch = Batch(["1", "2"], (TEXTS[:2],), ["y", "x"], weights=[512, 256], shares={0: soft})
    counter = CorpusCounter(FeatureSettings(), sample_size=None)
    counter.add(batch)
    expected = count([TEXTS[0], TEXTS[0], TEXTS[1]], ["x", "y", "x"], [128, 384, 256])
    assert arrays(counter.finish()) == arrays(expected)
    assert batch.take([0]).spread().labels == ["x", "y"]


def test_the_library_takes_weights_and_shares() -> None:
    """Weights are repeated texts; shares are weights, as a table or as dicts."""
    repeated = TextClassifier().fit([*TEXTS, *TEXTS], [*LABELS, *LABELS])
    twice = TextClassifier().fit(TEXTS, LABELS, sample_weight=[2] * len(TEXTS))
    assert np.array_equal(twice.predict_proba(TEXTS), repeated.predict_proba(TEXTS))
    assert len(twice.leave_one_out_predict_proba_) == len(TEXTS)
    shares = np.array([[0.75, 0.25] if label == "x" else [0, 1.0] for label in LABELS])
    soft = TextClassifier(model="multinomial").fit(TEXTS, shares)
    assert soft.classes_.tolist() == [0, 1]
    named = TextClassifier(model="multinomial").fit(
        TEXTS, [{"x": one, "y": other} for one, other in shares.tolist()]
    )
    assert named.predict(TEXTS).tolist() == [["x", "y"][k] for k in soft.predict(TEXTS)]
    before = arrays(named.model_.counts)
    named.partial_fit(["a bird"], ["y"], sample_weight=[0.5]).forget(["a bird"], ["y"], [0.5])
    assert arrays(named.model_.counts) == before


@pytest.mark.parametrize("weights", [[-1] * 8, [float("nan")] * 8, [0.001] * 8, [1] * 7])
def test_wrong_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(InputError):
        TextClassifier().fit(TEXTS, LABELS, sample_weight=weights)


@pytest.mark.parametrize("share", [2.0, -0.5, float("nan"), float("inf")])
def test_shares_must_sum_to_one(share: float) -> None:
    with pytest.raises(InputError, match="sum to 1"):
        TextClassifier().fit(TEXTS, [{"x": share, "y": 0.5}] * 8)


@pytest.mark.parametrize("model", ["svm", "nbsvm", "logistic"])
def test_linear_models_take_weights(model: str) -> None:
    """A weight is the document as often, up to the tolerance of the solver."""
    times = [2, 1, 3, 1, 2, 1, 1, 2]
    repeated = TextClassifier(model=model, C=1.0, calibrate=False).fit(
        [text for text, n in zip(TEXTS, times, strict=True) for _ in range(n)],
        [label for label, n in zip(LABELS, times, strict=True) for _ in range(n)],
    )
    weighed = TextClassifier(model=model, C=1.0, calibrate=False).fit(
        TEXTS, LABELS, sample_weight=times
    )
    assert weighed.predict_proba(TEXTS) == pytest.approx(repeated.predict_proba(TEXTS), abs=2e-3)


def test_weights_of_one_leave_no_trace() -> None:
    """The model has the bytes of one without weights; and so has one that forgot those with."""
    plain = count(TEXTS, LABELS)
    weighed = count(TEXTS, LABELS, [256] * 8)
    grown = plain + count(["a bird"], ["y"], [300])
    for each in (weighed, grown - count(["a bird"], ["y"], [300])):
        assert arrays(each) == arrays(plain)
        assert each.sample.weights is None


def test_a_part_of_a_weight_can_be_forgotten() -> None:
    """The rest of the document stays, as if it had been counted with that weight."""
    whole = count(TEXTS, LABELS, FRACTIONS)
    rest = whole - count(TEXTS[2:3], LABELS[2:3], [100])
    expected = count(TEXTS, LABELS, [*FRACTIONS[:2], 156, *FRACTIONS[3:]])
    assert arrays(rest) == arrays(expected)
    assert rest.sample.weights is not None and expected.sample.weights is not None
    assert rest.sample.weights.tolist() == expected.sample.weights.tolist()
    with pytest.raises(ModelError):
        whole - count(TEXTS[2:3], LABELS[2:3], [400])


def test_gaussian_scores_with_weights_are_those_of_repeated_documents() -> None:
    """Its ε is that of all documents, so a refit without some of them has another one."""
    model = EVENT_MODELS["gaussian"]
    assert model.sufficient_statistics is not None
    times = [2, 1, 3, 1, 2, 1, 1, 2]
    scores = []
    for texts, labels, weights in (
        (TEXTS, LABELS, [256 * n for n in times]),
        (
            [text for text, n in zip(TEXTS, times, strict=True) for _ in range(n)],
            [label for label, n in zip(LABELS, times, strict=True) for _ in range(n)],
            None,
        ),
    ):
        counts = count(texts, labels, weights)
        sample = counts.sample
        statistics = model.sufficient_statistics(counts.statistics, sample, n_values=0)
        (found,) = LeaveOneOut(statistics, sample, None, model, "empirical").scores(0.5)
        # one row of each text and label
        pairs = np.column_stack((sample.hashes, sample.classes))
        scores.append(found[np.unique(pairs, axis=0, return_index=True)[1]])
    assert scores[0] == pytest.approx(scores[1], abs=1e-9)


@pytest.mark.parametrize("model", ["multinomial", "svm"])
def test_weights_do_not_narrow_the_interval(model: str) -> None:
    """Of texts that count a hundred times, there are as many as of those that count once."""
    texts = [
        f"{word} {other}" for word in ("red", "blue") for other in ["one", "two", "three", "four"]
    ]
    labels = ["x"] * 4 + ["y"] * 4
    intervals = [
        TextClassifier(model=model).fit(texts, labels, [weight] * 8).fitted_.estimate.interval
        for weight in (1, 100)
    ]
    assert intervals[0] == pytest.approx(intervals[1])

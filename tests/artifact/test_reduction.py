"""Models of a limited size: which features stay, what their weights become, and what the
calibration is fitted to.
"""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored import assemble, take_apart

from nbtext import TextClassifier, load_model, save_model
from nbtext.artifact import storage
from nbtext.artifact.model import measure_model
from nbtext.artifact.reduction import keep_features, limit_size, rank_features
from nbtext.bayes.scorer import LinearScorer
from nbtext.errors import ArtifactError, ModelError
from nbtext.features.counting import align_documents
from nbtext.model.fitted_model import DocumentNumbers, TrainedModel, make_trained_model
from nbtext.model.predictor import Predictor

LETTERS = Path(__file__).parents[2] / "corpora" / "letters"
TFIDF: dict[str, Any] = {"tf": "binary", "idf": "smooth", "norm": "l2"}
KINDS: dict[str, dict[str, Any]] = {
    "auto": {},
    "complement": {"model": "complement"},
    "normalized complement": {"model": "complement", "normalize_weights": True},
    "bernoulli": {"model": "bernoulli"},
    "dirichlet": {"model": "dirichlet"},
    "multinomial of tf-idf": {"model": "multinomial", **TFIDF},
    "nbsvm": {"model": "nbsvm", "ngrams": (1, 2), **TFIDF},
    "svm": {"model": "svm", "optimize": "macro_f1"},
    "logistic": {"model": "logistic", "calibrate": False},
    "stacked": {"model": "stacked", "ngrams": (1, 2), "tf": "binary", "norm": "l2"},
    "stacked, views": {
        "model": "stacked",
        "view": ("word:1", "char_wb:1,3"),
        "tf": "binary",
        "norm": "l2",
    },
    "characters": {
        "model": "nbsvm",
        "analyzer": "char_wb",
        "ngrams": (2, 4),
        "tf": "binary",
        "norm": "l2",
    },
}


def letters(half: str) -> tuple[list[str], list[str]]:
    paths = sorted((LETTERS / half).glob("*/*"))
    return [path.read_text(encoding="utf-8") for path in paths], [
        path.parent.name for path in paths
    ]


@pytest.fixture(scope="module", params=KINDS, ids=str)
def trained(request: pytest.FixtureRequest) -> TrainedModel:
    return TextClassifier(**KINDS[request.param]).fit(*letters("train")).model_


def accuracy(model: TrainedModel) -> float:
    texts, labels = letters("test")
    task = model.fitted.task
    _, classes = task.judge(*Predictor(model.fitted).score([texts]).evidence)
    return float(
        np.mean(
            [task.labels[k] == label for k, label in zip(classes.tolist(), labels, strict=True)]
        )
    )


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_model_of_a_limited_size(trained: TrainedModel, share: float, tmp_path: Path) -> None:
    """It has at most the bytes that are allowed, and little less; it predicts from its file as in
    memory.
    """
    all_features = rank_features(trained.fitted, np.ones(trained.fitted.scorer.n_features))
    largest = measure_model(small_of(trained, all_features))
    smallest = measure_model(small_of(trained, all_features[:1]))
    max_bytes = int(smallest + share * (largest - smallest))
    found = limit_size(trained, max_bytes)
    save_model(found.model, tmp_path / "small")
    n_bytes = (tmp_path / "small").stat().st_size
    assert 0.9 * max_bytes < n_bytes == found.n_bytes <= max_bytes
    loaded = load_model(tmp_path / "small")
    texts, _ = letters("test")
    np.testing.assert_array_equal(
        Predictor(loaded.fitted_).score([texts]).scores,
        Predictor(found.model.fitted).score([texts]).scores,
    )
    assert loaded.fitted_.full_features == trained.fitted.scorer.n_features
    posteriors = loaded.fitted_.calibration.mean_posteriors
    np.testing.assert_allclose(posteriors.means.sum(1), 1)
    save_model(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "small").read_bytes()
    assert found.model.fitted.estimate.accuracy == found.accuracy[0]
    assert abs(accuracy(found.model) - found.accuracy[0]) < 0.1
    assert found.accuracy[0] > 0.8 and found.accuracy[1] > 0.85


def small_of(model: TrainedModel, features: Any) -> TrainedModel:
    small = keep_features(model.fitted, features, DocumentNumbers.of(model.statistics))
    return TrainedModel(small, None)


def test_all_features_in_8_bits_predict_the_same(trained: TrainedModel) -> None:
    """The estimate of a model that keeps all features that documents share is that of the model in
    full, nearly.
    """
    fitted = trained.fitted
    small = small_of(trained, rank_features(fitted, np.ones(fitted.scorer.n_features)))
    assert accuracy(small) == pytest.approx(accuracy(trained), abs=0.025)


@given(
    weights=st.lists(
        st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=1, max_size=9
    ),
    seed=st.integers(0, 99),
)
def test_weights_in_8_bits(weights: list[list[float]], seed: int) -> None:
    """Each weight is a whole multiple of the scale of its class, and differs from the original by
    half of it.
    """
    dense = np.array(weights)
    n = len(dense)
    scorer = LinearScorer(
        np.zeros(3),
        np.zeros(3),
        np.arange(n + 1) * 3,
        np.tile(np.arange(3, dtype=np.int32), n),
        dense.ravel(),
    )
    found = scorer.quantize()
    np.testing.assert_array_equal(found.codes * found.scales[found.classes], found.deltas)
    assert (found.codes != 0).all()
    largest = np.abs(dense).max(axis=0)
    assert (np.abs(found.weights().T - dense) <= found.scales * 0.5000001).all()
    assert np.allclose(found.scales[largest > 0] * 127, np.maximum(largest[largest > 0], 127e-100))


def test_weights_in_8_bits_are_rounded_further() -> None:
    """Those of a feature to a power of two times the scale, which is at most the step and more than
    half of it.
    """
    dense = np.random.default_rng(1).normal(size=(200, 3))
    steps = np.repeat([0.0, 0.02, 0.3, 5.0], 50)
    scorer = LinearScorer(
        np.zeros(3),
        np.zeros(3),
        np.arange(201) * 3,
        np.tile(np.arange(3, dtype=np.int32), 200),
        dense.ravel(),
    )
    found = scorer.quantize(steps)
    units = (
        2.0 ** np.maximum(np.floor(np.log2(np.maximum(steps[:, None], 1e-9) / found.scales)), 0)
        * found.scales
    )
    assert (np.abs(found.weights().T - dense) <= 0.5000001 * units).all()
    multiples = found.weights().T / units
    is_largest = np.abs(found.weights().T) >= 126.5 * found.scales
    np.testing.assert_allclose(multiples[~is_largest], np.rint(multiples[~is_largest]), atol=1e-6)
    assert np.diff(found.indptr)[150:].sum() < 50 and np.diff(found.indptr)[:50].sum() > 140


def test_mean_scores_stay() -> None:
    """Those of training documents: what is lost by rounding, and with features, is not missed from
    some labels only.
    """
    model = TextClassifier(model="nbsvm", ngrams=(1, 2), **TFIDF).fit(*letters("train")).model_
    small = limit_size(model, 12_000).model.fitted
    counts = model.counts
    assert len(counts.sample) <= 2048 and small.vocabulary is not None
    means = [
        each.evidence(align_documents(counts.sample, counts.vocabulary, each.vocabulary))[0].mean(
            axis=0
        )
        for each in (model.fitted, small)
    ]
    np.testing.assert_allclose(means[0], means[1], rtol=1e-9)
    assert abs(small.scorer.bias - model.fitted.scorer.bias).max() > 1e-3


def test_the_most_important_features_stay() -> None:
    """Those with the largest weight times the root of their document frequency; ties by column."""
    model = TextClassifier(model="svm").fit(*letters("train"))
    scorer = model.fitted_.scorer
    frequencies = model.counts_.statistics.document_frequencies.astype(float)
    importance = np.abs(scorer.weights()).max(axis=0) * np.sqrt(frequencies)
    order = rank_features(model.fitted_, frequencies)
    assert len(order) == (importance > 0).sum()
    np.testing.assert_allclose(importance[order], np.sort(importance[importance > 0])[::-1])
    small = keep_features(model.fitted_, order[:100], DocumentNumbers(1, (1,) * 6))
    assert small.vocabulary is not None and model.fitted_.vocabulary is not None
    assert set(small.vocabulary) <= {model.fitted_.vocabulary.term(j) for j in order[:100].tolist()}


def test_frequencies_follow_from_the_idf(tmp_path: Path) -> None:
    """A linear model without counts becomes the same smaller model as one with them."""
    model = TextClassifier(model="nbsvm", ngrams=(1, 2), **TFIDF).fit(*letters("train"))
    model.save(tmp_path / "model")
    texts, labels = letters("test")
    held_out = TextClassifier(ngrams=(1, 2)).fit(texts, labels).counts_
    found = [
        limit_size(each.model_, 30_000, documents=held_out)
        for each in (model, load_model(tmp_path / "model"))
    ]
    assert list(found[0].model.fitted.vocabulary or ()) == list(
        found[1].model.fitted.vocabulary or ()
    )
    assert found[0].accuracy == found[1].accuracy
    assert found[0].accuracy is not None
    assert found[0].accuracy[0] == accuracy(found[0].model)
    assert found[0].accuracy[1] == accuracy(model.model_)


def test_only_kept_features_are_known(tmp_path: Path) -> None:
    """Coverage, length and norm of a document count no others."""
    model = TextClassifier(model="nbsvm", **TFIDF).fit(*letters("train")).model_
    small = limit_size(model, 12_000).model.fitted
    assert small.vocabulary is not None and model.fitted.vocabulary is not None
    kept = small.vocabulary.term(3)
    gone = next(term for term in model.fitted.vocabulary if term not in small.vocabulary.columns)
    found = Predictor(small).score([[f"{kept} {gone} {gone}", kept]])
    assert found.n_known.tolist() == [1, 1] and found.n_tokens.tolist() == [3, 1]
    np.testing.assert_array_equal(found.scores[0], found.scores[1])


def test_probabilities_are_calibrated_after_it() -> None:
    """With the temperature of the model in full, the log-loss of new documents would be larger."""
    model = TextClassifier(model="nbsvm", ngrams=(1, 2), **TFIDF).fit(*letters("train")).model_
    found = limit_size(model, 12_000).model.fitted
    texts, labels = letters("test")
    classes = [found.labels.index(label) for label in labels]
    evidence = Predictor(found).score([texts]).evidence
    earlier = replace(found.task, calibration=model.fitted.calibration)
    losses = [
        -task.log_probabilities(*evidence)[np.arange(len(classes)), classes].mean()
        for task in (found.task, earlier)
    ]
    assert losses[0] < losses[1] - 0.01


def test_several_labels() -> None:
    """Their calibration stays, and nothing is estimated."""
    texts, labels = letters("train")
    lists = [[label] if k % 3 else [label, "third"] for k, label in enumerate(labels)]
    for options in ({}, {"model": "svm"}):
        model = TextClassifier(**options).fit(texts, lists).model_
        found = limit_size(model, 20_000)
        assert found.n_bytes <= 20_000 and found.accuracy is None
        assert found.model.fitted.estimate is None
        assert Predictor(found.model.fitted).score([texts]).scores.shape[0] == len(texts)


@pytest.mark.parametrize("model", ["svm", "multinomial"])
def test_a_part_of_the_training_documents(model: str) -> None:
    """If only some are retained, Naive Bayes models hold out some of these; linear models are not
    estimated again.
    """
    trained = TextClassifier(model=model).fit(*letters("train")).model_
    counts = replace(trained.counts, sample=trained.counts.sample.first(100), sample_size=100)
    found = limit_size(make_trained_model(trained.fitted, counts), 16_000)
    assert (found.accuracy is None) == (model == "svm")


@pytest.mark.parametrize(
    "options", [{"hash_bits": 14}, {"model": "gaussian"}, {"model": "categorical"}]
)
def test_what_cannot_be_smaller(options: dict[str, Any]) -> None:
    """It says so in one line."""
    model = TextClassifier(**options).fit(*letters("train")).model_
    with pytest.raises(ModelError, match="cannot be made smaller"):
        limit_size(model, 3000)


ROWS = [
    np.arange(2000, dtype=np.uint16),
    np.zeros(5000, dtype=np.uint8),
    np.arange(600) % 7 / 4,
    np.zeros((30, 9)),
    np.array([], dtype=np.uint8),
    np.array([3], dtype=np.uint64),
    np.repeat(np.arange(9), 999).astype(np.uint32),
    np.array([5, 4] * 99, dtype=np.uint8),
    np.tile(np.array([-5, 127], dtype=np.int8), 99),
]


def test_compressed_arrays(tmp_path: Path) -> None:
    """They are read as they were written; those that do not become smaller stay as they are."""
    record = {f"a{number}": row for number, row in enumerate(ROWS)}
    storage.save(record, str(tmp_path / "packed"), is_packed=True)
    storage.save(record, str(tmp_path / "plain"))
    assert (tmp_path / "packed").stat().st_size < 0.1 * (tmp_path / "plain").stat().st_size
    found = storage.load(str(tmp_path / "packed"))
    for name, row in record.items():
        read = found[name].read()
        np.testing.assert_array_equal(read, row)
        assert read.shape == row.shape
        assert found[name].is_differences or read.dtype == row.dtype
    assert found["a4"].n_packed is None


def packed(**changes: Any) -> dict[str, Any]:
    """The header's entry of a compressed array of 1,000 zeros, with wrong values."""
    return {"dtype": "|u1", "shape": [1000], "offset": 0, "checksum": 0, "zlib": 17} | changes


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"zlib": 0}, "impossible size"),
        ({"zlib": -5}, "impossible size"),
        ({"zlib": 17.0}, "impossible size"),
        ({"zlib": 17, "shape": [(1 << 22) + 1]}, "impossible size"),
        ({"zlib": 17, "shape": [1 << 40], "dtype": "<f8"}, "impossible size"),
        ({"differences": False}, "differences"),
        ({"differences": True, "dtype": "<f8"}, "differences"),
        ({"differences": True, "dtype": "|i1"}, "differences"),
        ({"differences": True, "shape": [10, 100]}, "differences"),
        ({"lzma": 17}, 'does not know "lzma" of an array'),
    ],
)
def test_impossible_compressed_arrays_are_refused(
    wrong: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """Before memory is allocated for them."""
    storage.save({"a": packed(**wrong)}, str(tmp_path / "model"))
    with pytest.raises(ArtifactError, match=message):
        storage.load(str(tmp_path / "model"))


def test_differences_need_compression(tmp_path: Path) -> None:
    place = packed(differences=True)
    del place["zlib"]
    storage.save({"a": place}, str(tmp_path / "model"))
    with pytest.raises(ArtifactError, match="differences"):
        storage.load(str(tmp_path / "model"))


@pytest.mark.parametrize("n_items", [999, 1001, 1 << 22])
def test_other_lengths_than_stated_are_refused(n_items: int, tmp_path: Path) -> None:
    """No more than the stated bytes are decompressed, and no fewer are accepted."""
    path = tmp_path / "model"
    storage.save({"a": np.zeros(1000, dtype=np.uint8)}, str(path), is_packed=True)
    header, data = take_apart(path.read_bytes())
    assert '"shape":[1000]' in header
    path.write_bytes(assemble(header.replace("[1000]", f"[{n_items}]").rstrip(), data))
    with pytest.raises(ArtifactError, match="cannot be decompressed"):
        storage.load(str(path))["a"].read()


def test_damaged_compressed_bytes(tmp_path: Path) -> None:
    """Each flipped bit is noticed, by the checksum or by decompression."""
    path = tmp_path / "model"
    storage.save({"a": np.arange(3000, dtype=np.uint32) // 7}, str(path), is_packed=True)
    content = path.read_bytes()
    for place in range(len(content) - 40, len(content) - 2):
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with pytest.raises(ArtifactError, match="is damaged"):
            storage.load(str(path))["a"].read()


def test_unpacking_is_bounded() -> None:
    """Bytes that decompress to more than stated, other bytes, and bytes that follow, are an
    error.
    """

    def read(stored: Any, n_bytes: int) -> Any:
        content: Any = SimpleNamespace(data_start=0, take=lambda start, stop: stored)
        shape = (n_bytes,)
        return storage.StoredArray(content, "|u1", shape, 0, crc32(stored.data), len(stored)).read()

    bomb = np.frombuffer(storage.compress(bytes(1 << 24), 9), dtype=np.uint8)
    for stored, n_bytes in (
        (bomb, 100),
        (bomb, 1 << 25),
        (bomb[:-4], 1 << 24),
        (bomb[4:], 1 << 24),
        (np.append(bomb, np.uint8(0)), 1 << 24),
    ):
        with pytest.raises(ArtifactError, match="cannot be decompressed"):
            read(stored, n_bytes)
    assert len(read(bomb, 1 << 24)) == 1 << 24


def test_a_file_that_claims_many_documents(tmp_path: Path) -> None:
    """The number of documents of a file is not the length of an array."""
    model = TextClassifier(model="svm", **TFIDF).fit(*letters("train"))
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model").model_
    numbers = replace(loaded.fitted.documents, total=2**53)
    many = make_trained_model(replace(loaded.fitted, documents=numbers), None)
    assert limit_size(many, 30_000).n_bytes <= 30_000

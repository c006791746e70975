"""Multi-label models: trained, saved, predicted and grown; grown models equal trained ones to the
byte.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.artifact.model import load_model_file, save_model_file
from nbtext.bayes.label_calibration import MultilabelFit
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import InputError, ModelError
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.fitted_model import TrainedModel, make_trained_model
from nbtext.model.growth import forget_counts, merge_models, refit, update_with_counts
from nbtext.model.inspection import inspect_model
from nbtext.model.predictor import Predictor
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import count_source
from nbtext.model.training import sample_size, train_on_counts
from nbtext.report.inspection import inspection_result
from nbtext.report.result import format_result
from nbtext.report.training import format_approximation

Documents = Sequence[tuple[str, tuple[str, ...]]]
LABELED = InputSettings(label_field="labels")
TEXTS = st.lists(st.sampled_from(["apple", "pear", "plum", "straße", "x1"]), max_size=6).map(
    " ".join
)
DOCUMENTS = st.lists(
    st.tuples(TEXTS, st.lists(st.sampled_from(["b", "a", "ä"]), max_size=3).map(tuple)),
    min_size=1,
    max_size=10,
)
FRUIT: list[tuple[str, tuple[str, ...]]] = [
    ("apple pear fruit sweet", ("fruit",)),
    ("apple plum fruit garden", ("fruit", "garden")),
    ("tree garden spade earth", ("garden",)),
    ("garden rose spade plum", ("garden", "fruit")),
    ("engine wheel oil road", ("car",)),
    ("wheel road drive engine", ("car",)),
    ("weather rain wind", ()),
    ("rain cloud sky wind", ()),
    ("pear apple sweet market", ("fruit",)),
    ("oil engine market price", ("car", "price")),
] * 3


def count(
    documents: Documents, features: FeatureSettings, *, size: int | None = None
) -> CorpusCounts:
    """The counts of documents, counted in two batches."""
    counter = CorpusCounter(features, sample_size=size)
    half = len(documents) // 2
    for part in (documents[:half], documents[half:]):
        ids = list(map(str, range(len(part))))
        texts = [text for text, _ in part]
        counter.add(Batch(ids, (texts,), [labels for _, labels in part]))
    return counter.finish()


def train(
    documents: Documents, *, features: FeatureSettings | None = None, **options: Any
) -> TrainedModel:
    features = features or FeatureSettings()
    settings = ModelSettings(**options)
    return train_on_counts(
        count(documents, features, size=sample_size(features, settings)), features, settings
    )


def model_bytes(model: TrainedModel, folder: Path) -> bytes:
    path = folder / "model"
    save_model_file(model, path)
    return path.read_bytes()


def fit_of(model: TrainedModel) -> MultilabelFit:
    return model.fitted.task.fit


def _saved(model: TrainedModel, folder: Path) -> Path:
    save_model_file(model, folder / "saved")
    return folder / "saved"


def test_unreadable_documents_and_those_of_unknown_words_have_no_labels() -> None:
    """The latter if --min-known asks for it."""
    predictor = Predictor(train(FRUIT).fitted)
    batch = Batch(["1", "2"], (["", ""],), [None] * 2, problems={1: InputError("is missing")})
    decisions = DecisionSettings(threshold=(("", 0.0),), at_least_one=True, min_known=0.1)
    found = predictor.predict_batch(batch, decisions)
    assert found.labels == [(), ()]
    assert found.reasons == [
        "the share 0.000000 of the tokens is known, below 0.1",
        "is missing",
    ]
    assert np.isnan(found.probabilities[1]).all()


@settings(max_examples=15)
@given(DOCUMENTS, DOCUMENTS)
def test_grown_models_are_trained_models(first: Documents, second: Documents) -> None:
    options: dict[str, Any] = {"keep_sample": 1000}
    try:
        one = train(first, **options)
        other = train(second, **options)
        both = train([*first, *second], **options)
    except ModelError:
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder)
        expected = model_bytes(both, path)
        assert model_bytes(update_with_counts(one, other.counts), path) == expected
        assert model_bytes(merge_models([other, one]), path) == expected
        reloaded = load_model_file(_saved(one, path))
        assert model_bytes(update_with_counts(reloaded, other.counts), path) == expected
        assert model_bytes(forget_counts(both, other.counts), path) == model_bytes(one, path)


@given(DOCUMENTS, st.integers(0, 10))
def test_lists_that_come_late_count_as_if_they_had_come_first(
    documents: Documents, n_single: int
) -> None:
    features = FeatureSettings()
    single = [(text, labels[0]) for text, labels in documents if len(set(labels)) == 1][:n_single]
    counter = CorpusCounter(features)
    counter.add(
        Batch(
            [text for text, _ in single],
            ([text for text, _ in single],),
            [label for _, label in single],
        )
    )
    part = counter.finish()
    whole = count([*((text, (label,)) for text, label in single), *documents], features)
    late = part + count(documents, features)
    assert late.labels == whole.labels
    assert late.label_sets == whole.label_sets
    for mine, other in zip(late.statistics.entries, whole.statistics.entries, strict=True):
        np.testing.assert_array_equal(mine, other)
    np.testing.assert_array_equal(late.sample.classes, whole.sample.classes)
    np.testing.assert_array_equal(late.sample.hashes, whole.sample.hashes)


def test_counts_do_not_depend_on_how_many_sets_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text(
        "".join(json.dumps({"text": text, "labels": labels}) + "\n" for text, labels in FRUIT * 50)
    )

    def counted(jobs: int) -> CorpusCounts:
        source = open_source([str(path)], LABELED)
        return count_source(
            source, FeatureSettings(), jobs=jobs, sample_size=20, change=lambda batch: batch
        )

    whole = counted(1)
    monkeypatch.setattr("nbtext.model.corpus_counts.MAX_SETS", 1)
    parts = counted(3)
    assert parts.labels == whole.labels
    assert parts.label_sets == whole.label_sets
    for mine, other in zip(parts.statistics.entries, whole.statistics.entries, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_forgetting_a_document_with_fewer_labels_is_refused() -> None:
    model = train(FRUIT)
    with pytest.raises(ModelError, match="not trained on"):
        forget_counts(model, count([("never seen", ("fruit",))], FeatureSettings()))
    kept = train(FRUIT, keep_sample=100)
    with pytest.raises(ModelError, match="not trained on"):
        forget_counts(kept, count([(FRUIT[1][0], ("fruit",))], FeatureSettings()))


def test_a_model_without_a_sample_keeps_its_thresholds() -> None:
    model = load_and_update(train(FRUIT))
    assert set(model.fitted.approximate) >= {"thresholds", "calibration"}
    said = "approximate (not fitted to all documents): smoothing, calibration, thresholds"
    assert (format_approximation(model) or "").startswith(said)
    assert "thresholds" in "".join(format_result(inspection_result(inspect_model(model)), "table"))
    assert model.fitted.labels == ("car", "fruit", "garden", "news", "price")
    earlier = dict(zip(train(FRUIT).fitted.labels, fit_of(train(FRUIT)).thresholds, strict=True))
    for label, threshold in zip(
        model.fitted.labels, fit_of(model).thresholds.tolist(), strict=True
    ):
        assert threshold == earlier.get(label, np.median(list(earlier.values())))


def load_and_update(model: TrainedModel) -> TrainedModel:
    """The model after it was saved, loaded and trained on a document with a new label."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        loaded = load_model_file(_saved(model, Path(folder)))
        return update_with_counts(
            loaded, count([("paper today", ("news", "fruit"))], FeatureSettings(), size=0)
        )


@pytest.mark.parametrize(
    "features",
    [
        {"tf": "binary"},
        {"ngrams": (1, 2)},
        {"min_df": 4},
        {"hash_bits": 6},
        {"vocabulary": ("apple", "oil")},
    ],
)
def test_features_of_all_kinds(features: dict[str, Any], tmp_path: Path) -> None:
    model = train(FRUIT, features=FeatureSettings(**features), keep_sample=100)
    assert fit_of(model).estimate is not None
    half = train(FRUIT[:15], features=FeatureSettings(**features), keep_sample=100)
    rest = count(FRUIT[15:], FeatureSettings(**features))
    assert model_bytes(update_with_counts(half, rest), tmp_path) == model_bytes(model, tmp_path)
    assert load_model_file(_saved(model, tmp_path)).counts.label_sets == model.counts.label_sets


@pytest.mark.parametrize(
    "documents",
    [
        [("apple pear", ("a",))],
        [("apple pear", ("a",)), ("plum", ("a",))],
        [("apple pear", ("a", "b")), ("plum", ("a", "b"))],
        [("apple pear", ("a",)), ("apple pear", ("b",)), ("apple pear", ())],
        [("", ("a",)), ("", ("b",)), ("pear", ())],
        [*FRUIT, ("single", ("rare",))],
        [(text, (*labels, "all")) for text, labels in FRUIT],
    ],
)
def test_extreme_corpora_give_finite_models(documents: Documents, tmp_path: Path) -> None:
    for optimize in (None, "macro_f1"):
        model = load_model_file(_saved(train(documents, optimize=optimize), tmp_path))
        found = Predictor(model.fitted).predict_batch(Batch(["1"], (["apple plum rare"],), [None]))
        assert np.isfinite(found.probabilities).all()


def test_refit_changes_what_is_maximized() -> None:
    model = train(FRUIT, keep_sample=100)
    again = refit(model, {"optimize": "macro_f1"})
    assert (
        fit_of(again).thresholds.tolist()
        == fit_of(train(FRUIT, keep_sample=100, optimize="macro_f1")).thresholds.tolist()
    )
    empty = make_trained_model(model.fitted, count(FRUIT, FeatureSettings(), size=0))
    assert fit_of(refit(empty, {})).thresholds.tolist() == fit_of(model).thresholds.tolist()
    with pytest.raises(ModelError, match="thresholds: needs retained documents"):
        refit(empty, {"optimize": "macro_f1"})

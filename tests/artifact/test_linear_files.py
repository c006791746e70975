"""Files of linear models: no counts, weights of float32, equal rows of weights once; and
predictions from a part.
"""

from itertools import pairwise
from pathlib import Path
from sys import gettrace, settrace
from threading import Thread
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored import load

from nbtext import TextClassifier, load_model, save_model
from nbtext.bayes import scorer as scorers
from nbtext.bayes.scorer import ClassWeights, LinearScorer
from nbtext.documents.batch import Batch
from nbtext.documents.names import are_ascending, find_terms, pack_names
from nbtext.features.csr import running_sums
from nbtext.features.vocabulary import Vocabulary
from nbtext.kernel import HAS_KERNEL, PLAIN_VERSIONS
from nbtext.model.predictor import Predictor

TFIDF: dict[str, Any] = {"tf": "binary", "idf": "smooth", "norm": "l2"}
RANDOM = np.random.default_rng(5)
TEXTS = [
    " ".join(f"w{number:03}" for number in RANDOM.zipf(1.3, 30) if number < 999) for _ in range(300)
]
LABELS = ["abc"[len(text) % 3] for text in TEXTS]
LISTS = [
    [label] if len(text) % 2 else [label, "d"] for text, label in zip(TEXTS, LABELS, strict=True)
]
MODELS = [("nbsvm", LABELS), ("svm", LABELS), ("logistic", LABELS), ("nbsvm", LISTS)]


@pytest.mark.parametrize(("model", "labels"), MODELS)
def test_memory_and_file_agree(model: str, labels: list[Any], tmp_path: Path) -> None:
    """Weights and idf are rounded when they are fitted: a file of float32 loses nothing, and it
    holds no counts.
    """
    fitted = TextClassifier(model=model, ngrams=(1, 2), **TFIDF).fit(TEXTS, labels)
    fitted.save(tmp_path / "model")
    record = load(tmp_path / "model")
    assert "counts" not in record
    assert (
        record["scorer"]["deltas"].dtype
        == record["views"][0]["weighting"]["idf"].dtype
        == np.float32
    )
    loaded = load_model(tmp_path / "model")
    for name in ("bias", "indptr", "classes", "deltas", "rows"):
        np.testing.assert_array_equal(
            getattr(loaded.fitted_.scorer, name), getattr(fitted.fitted_.scorer, name)
        )
    np.testing.assert_array_equal(loaded.fitted_.weighting.idf, fitted.fitted_.weighting.idf)
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    assert loaded.model_.statistics.n_documents == 300
    save_model(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_equal_rows_are_stored_once() -> None:
    """The words that only one document holds have equal weights, so that most features share a row
    of them.
    """
    scorer = TextClassifier(model="svm", ngrams=(1, 3)).fit(TEXTS, LABELS).fitted_.scorer
    assert len(scorer.indptr) - 1 < scorer.n_columns / 4


@pytest.mark.skipif(not HAS_KERNEL, reason="only dual coordinate descent gives weights that are 0")
def test_features_without_weights_are_known(tmp_path: Path) -> None:
    """They count for the length, the norm and the coverage of a document, as when the model was
    fitted: none goes.
    """
    texts = [f"{side} {side[0]}{number}" for side in ("left", "right") for number in range(20)]
    # far beyond the margin
    texts += [f"{side} {side} {side} {side} far{side}" for side in ("left", "right")]
    labels = [text.partition(" ")[0] for text in texts]
    trained = TextClassifier(model="svm", C=10.0, tf="log", norm="l2").fit(texts, labels)
    scorer = trained.fitted_.scorer
    vocabulary = trained.fitted_.vocabulary
    unused = np.flatnonzero(np.diff(scorer.indptr)[scorer.rows] == 0)
    assert [vocabulary.term(j) for j in unused.tolist()] == ["farleft", "farright"]
    trained.save(tmp_path / "model")
    found = Predictor(load_model(tmp_path / "model").fitted_).score([["left farleft", "left"]])
    assert found.n_known.tolist() == [2, 1]
    bias = scorer.bias[1]
    # by its norm
    assert found.scores[0, 1] - bias == pytest.approx((found.scores[1, 1] - bias) / 2**0.5)


@st.composite
def sparse_scorers(draw: st.DrawFn) -> LinearScorer:
    n_classes = draw(st.integers(1, 4))
    n_features = draw(st.integers(0, 9))
    rows = draw(
        st.lists(
            st.dictionaries(st.integers(0, n_classes - 1), st.sampled_from([0.5, -0.5, 2.0])),
            min_size=n_features,
            max_size=n_features,
        )
    )
    entries = [sorted(row.items()) for row in rows]
    flat = [entry for row in entries for entry in row]
    base = draw(st.sampled_from([None, np.arange(n_features) / 4]))
    return LinearScorer(
        np.arange(n_classes) / 8,
        np.ones(n_classes),
        running_sums(np.array([len(row) for row in entries], dtype=int)),
        np.array([k for k, _ in flat], dtype=np.int32),
        np.array([value for _, value in flat], dtype=np.float64),
        base,
        None if base is None else np.full(n_classes, 0.5),
    )


@given(scorer=sparse_scorers(), block=st.integers(1, 4))
@settings(max_examples=200)
def test_shared_rows_change_nothing(scorer: LinearScorer, block: int) -> None:
    """Scores, dense weights, and what inspection and explanations read are the same, to the last
    bit.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scorers, "FEATURES_HASHED_AT_ONCE", block)
        shared = scorer.share_rows()
    n = scorer.n_columns
    columns = np.arange(scorer.n_columns)
    assert shared.n_columns == n
    entries = {
        tuple(zip(scorer.classes[a:b].tolist(), scorer.deltas[a:b].tolist(), strict=True))
        for a, b in zip(scorer.indptr[:-1], scorer.indptr[1:], strict=True)
    }
    assert len(shared.indptr) - 1 == len(entries)
    np.testing.assert_array_equal(shared.weights(), scorer.weights())
    rows = (
        np.array([0, n, n, (n + 1) // 2 + n]),
        np.append(columns, columns[: (n + 1) // 2]).astype(np.int32),
    )
    values = np.linspace(0.1, 2, len(rows[1]))
    np.testing.assert_array_equal(shared.scores(*rows, values), scorer.scores(*rows, values))
    np.testing.assert_array_equal(
        PLAIN_VERSIONS["score_rows"](*rows, values, shared),
        PLAIN_VERSIONS["score_rows"](*rows, values, scorer),
    )
    one = ClassWeights(scorer)
    other = ClassWeights(shared)
    np.testing.assert_allclose(other.sums(), one.sums(), rtol=1e-15)
    for k in range(scorer.n_classes):
        np.testing.assert_array_equal(other.of(k), one.of(k))
        np.testing.assert_array_equal(
            shared.column_weights(columns, k), scorer.column_weights(columns, k)
        )
    part = columns[::2]
    np.testing.assert_array_equal(shared.restrict(part).weights(), scorer.weights()[:, part])


def test_equal_hashes_of_different_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are compared: where different ones have the same hash, none is shared."""
    scorer = TextClassifier(model="svm").fit(TEXTS, LABELS).fitted_.scorer
    plain = scorer.restrict(np.arange(scorer.n_columns))
    monkeypatch.setattr(scorers, "mix64", np.zeros_like)
    assert plain.share_rows() is plain


def test_weights_too_large_for_float32() -> None:
    """They become its largest number, not infinite."""
    found = scorers.round_to_float32(np.array([1e300, -1e300, 0.1, 1e-300]))
    assert found.tolist() == [
        np.finfo(np.float32).max,
        -np.finfo(np.float32).max,
        float(np.float32(0.1)),
        0.0,
    ]


LONG_VOCABULARY = Vocabulary.from_terms(f"w{number:05}" for number in range(50_000))
FEW = [
    ["w00001 w00002 W00002 unknown"],
    ["nothing"],
    [""],
    ["w00001", "w49999 w49999 w00005"],
]


@pytest.mark.parametrize("texts", FEW)
@pytest.mark.parametrize(
    "options", [{"model": "svm", **TFIDF}, {"model": "complement"}, {"model": "bernoulli"}]
)
def test_a_few_texts_are_predicted_by_a_part(texts: list[str], options: dict[str, Any]) -> None:
    """The first texts, if they are short, give the same bits, and the large vocabulary is not
    prepared for them.
    """
    training = [" ".join(LONG_VOCABULARY.terms[k::100]) for k in range(100)]
    fitted = TextClassifier(**options).fit(training, ["ab"[k % 2] for k in range(100)]).fitted_
    whole = Predictor(fitted)
    brief = Predictor(fitted, is_brief=True)
    batches = [Batch([""] * len(texts), (texts,), [None] * len(texts)) for _ in range(2)]
    for expected, found in zip(whole.score([texts]), brief.score([texts]), strict=True):
        np.testing.assert_array_equal(expected, found)
    assert "_counter" not in vars(brief)
    for predictor, batch in zip((whole, brief), batches, strict=True):
        predictor.note_too_long(batch)
    assert batches[0].notes == batches[1].notes
    brief.score([texts])
    assert "_counter" in vars(brief)  # more texts may follow


def test_threads_note_tokens_that_are_too_long_once() -> None:
    """Whatever line one thread has come to when another one does the same."""
    training = [" ".join(f"w{number}" for number in range(k, 140_000, 100)) for k in range(100)]
    fitted = TextClassifier(model="svm").fit(training, ["ab"[k % 2] for k in range(100)]).fitted_
    code = Predictor.note_too_long.__code__
    for stop in {line for *_, line in code.co_lines() if line}:
        predictor = Predictor(fitted, is_brief=True)
        predictor.score([["𠀀" * 16_400]])
        batches = [Batch([""], ([""],), [None]) for _ in range(2)]
        other = Thread(target=predictor.note_too_long, args=(batches[1],))

        def trace(
            frame: FrameType, event: str, _: Any, stop: int = stop, other: Thread = other
        ) -> Any:
            if event == "line" and frame.f_lineno == stop and not other.ident:
                other.start()
                other.join(0.2)
            return trace if frame.f_code is code else None

        before = gettrace()
        settrace(trace)
        predictor.note_too_long(batches[0])
        settrace(before)
        if other.ident:  # else no statement begins on the line
            other.join()
            assert sum(sum(batch.notes.values()) for batch in batches) == 1


def test_a_long_text_is_predicted_by_the_whole_vocabulary() -> None:
    """Looking up each of its words would take longer than preparing the vocabulary."""
    fitted = TextClassifier(model="svm").fit(TEXTS, LABELS).fitted_
    brief = Predictor(fitted, is_brief=True)
    brief.score([TEXTS])
    assert "_counter" in vars(brief)


@given(
    st.lists(st.text(st.sampled_from("ab\0é"), max_size=4), max_size=8),
    st.lists(st.text("ab\0é", max_size=4)),
)
def test_sorted_names(names: list[str], wanted: list[str]) -> None:
    """Both versions agree with Python about their order, and about the place of each name."""
    packed = pack_names(names)
    is_sorted = all(a.encode() < b.encode() for a, b in pairwise(names))
    assert are_ascending(*packed) == PLAIN_VERSIONS["are_ascending"](*packed) == is_sorted
    vocabulary = Vocabulary.from_terms(names)
    expected = [vocabulary.columns.get(name, -1) for name in wanted]
    places = find_terms(vocabulary.blob, vocabulary.offsets, *pack_names(wanted))
    assert places.tolist() == expected

"""A review with a model: its documents are left out of it exactly, and new documents are judged by
it as it is.
"""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nbtext.bayes import label_noise
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import Source, open_source
from nbtext.features.settings import FeatureSettings
from nbtext.model.fitted_model import TrainedModel, make_trained_model
from nbtext.model.fitting import fit_model
from nbtext.model.predictor import Predictor
from nbtext.model.review import (
    LABEL_ERROR,
    Finding,
    ModelJudge,
    ReviewedCorpus,
    ReviewReader,
    single_label,
    weigh_words,
)
from nbtext.model.training import train_on_source

WORDS = ("apple", "pear", "plum", "saw", "nail", "drill", "wave", "boat")
OWN = {"fruit": WORDS[:3], "tools": WORDS[3:6], "sea": WORDS[6:]}
Rows = list[dict[str, Any]]


def make_rows(n: int, seed: int = 1, *, several: bool = False) -> Rows:
    """Documents of few words, so that every word is in many of them, and some documents are
    equal.
    """
    chance = np.random.default_rng(seed)
    rows = Rows()
    for number in range(n):
        labels = (
            [name for name in OWN if chance.random() < 0.4]
            if several
            else [str(chance.choice(list(OWN)))]
        )
        words = [str(word) for label in labels for word in chance.choice(OWN[label], 3)]
        words += [str(word) for word in chance.choice(WORDS, chance.integers(1, 4))]
        rows.append(
            {"id": str(number), "text": " ".join(words), "label": labels if several else labels[0]}
        )
    return rows


def open_rows(folder: Path, rows: Rows, name: str = "x") -> Source:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return open_source([str(path)], InputSettings())


def read(folder: Path, rows: Rows, features: FeatureSettings, name: str = "y") -> ReviewedCorpus:
    reader = ReviewReader(features)
    reader.read(open_rows(folder, rows, name))
    return reader.finish()


@pytest.fixture
def posteriors(monkeypatch: pytest.MonkeyPatch) -> list[NDArray[np.float64]]:
    """What the noise is estimated from: the posteriors of the documents that are judged."""
    found: list[NDArray[np.float64]] = []
    estimate: Callable[..., Any] = label_noise.estimate_noise

    def keep(values: NDArray[np.float64], *others: Any) -> Any:
        found.append(values)
        return estimate(values, *others)

    monkeypatch.setattr(label_noise, "estimate_noise", keep)
    return found


def refit_without(model: TrainedModel, text: str) -> TrainedModel:
    """The model without all documents of a text, with the same smoothing and calibration."""
    fitted = model.fitted
    counts = model.counts
    words = {word: text.split().count(word) for word in text.split()}
    assert counts.vocabulary is not None
    terms = counts.vocabulary.terms
    rows = [
        {terms[j]: int(n) for j, n in zip(one.indices, one.counts, strict=True)}
        for one in (counts.sample.slice(row, row + 1) for row in range(len(counts.sample)))
    ]
    others = counts.without(np.array([row == words for row in rows]))
    known = fitted.task.transfer(fitted.labels, fitted.hyperparameters)
    return make_trained_model(
        fit_model(others, fitted.feature_settings, fitted.model_settings, selection=known), others
    )


MODELS: list[dict[str, Any]] = [
    {"model": "auto"},
    {"model": "multinomial"},
    {"model": "complement", "prior": "empirical"},
    {"model": "bernoulli"},
    {"model": "multinomial", "smoothing": 0.5, "calibrate": False},
    {"model": "categorical", "keep_sample": 1000},
]


@pytest.mark.parametrize("keep_sample", [None, 1000, 20])
@pytest.mark.parametrize("settings", MODELS, ids=lambda each: "-".join(map(str, each.values())))
def test_training_documents_are_left_out(
    settings: dict[str, Any],
    keep_sample: int | None,
    posteriors: list[NDArray[np.float64]],
    tmp_path: Path,
) -> None:
    """Each posterior is that of the model that is trained without the document and its copies.

    Also of a model that retains none of its documents, or only some of them.
    """
    rows = make_rows(60)
    features = FeatureSettings(vocabulary=WORDS)
    model_settings = ModelSettings(**{"keep_sample": keep_sample} | settings)
    model = train_on_source(open_rows(tmp_path, rows), features, model_settings)
    if model_settings.keep_sample is None:  # as in a model file
        stored = replace(model.counts, sample=model.counts.sample.smallest(0), sample_size=0)
        judge = ModelJudge(make_trained_model(model.fitted, stored))
    else:
        judge = ModelJudge(model)
    corpus = read(tmp_path, rows, features)
    judge.judge(corpus, list(map(single_label, corpus.documents)))
    (found,) = posteriors
    complete = train_on_source(
        open_rows(tmp_path, rows), features, replace(model_settings, keep_sample=1000)
    )
    complete = make_trained_model(model.fitted, complete.counts)
    for row in range(0, 60, 7):
        refitted = Predictor(refit_without(complete, rows[row]["text"]).fitted)
        temperature = refitted.model.calibration.temperature
        if temperature is not None:
            calibration = replace(
                refitted.model.calibration, temperature=replace(temperature, noise=0.0)
            )
            refitted = Predictor(
                replace(refitted.model, task=replace(refitted.model.task, calibration=calibration))
            )
        expected = np.exp(refitted.log_probabilities(refitted.score([[rows[row]["text"]]])))
        np.testing.assert_allclose(found[row], expected[0], atol=1e-9)


@pytest.mark.parametrize(
    ("features", "settings"),
    [
        (FeatureSettings(), {"model": "multinomial"}),
        (FeatureSettings(idf="smooth"), {"model": "multinomial"}),
        (FeatureSettings(min_df=3, ngrams=(1, 2)), {"model": "bernoulli"}),
        (FeatureSettings(hash_bits=8), {"model": "multinomial"}),
        (FeatureSettings(tf="log", norm="l2"), {"model": "multinomial", "keep_sample": 1000}),
        (FeatureSettings(), {"model": "gaussian", "keep_sample": 1000}),
    ],
    ids=lambda each: str(each) if isinstance(each, dict) else "",
)
def test_new_documents_are_judged_as_predicted(
    features: FeatureSettings,
    settings: dict[str, Any],
    posteriors: list[NDArray[np.float64]],
    tmp_path: Path,
) -> None:
    """The posterior and the likelihood of a document with an unknown word are those of `nbtext
    predict`.
    """
    model = train_on_source(
        open_rows(tmp_path, make_rows(200)), features, ModelSettings(**settings)
    )
    temperature = model.fitted.calibration.temperature
    assert temperature is not None
    calibration = replace(model.fitted.calibration, temperature=replace(temperature, noise=0.0))
    model = make_trained_model(
        replace(model.fitted, task=replace(model.fitted.task, calibration=calibration)),
        model.counts,
    )
    new = [{**row, "text": f"{row['text']} new{row['id']}"} for row in make_rows(7, seed=2)]
    corpus = read(tmp_path, new, features)
    judgment = ModelJudge(model).judge(corpus, list(map(single_label, corpus.documents)))
    predictor = Predictor(model.fitted)
    scores = predictor.score([[row["text"] for row in new]])
    np.testing.assert_allclose(
        posteriors[0], np.exp(predictor.log_probabilities(scores)), atol=1e-12
    )
    batch = next(iter(open_rows(tmp_path, new).batches()))
    predicted = predictor.predict_batch(batch)
    if predicted.likelihoods is not None:
        np.testing.assert_allclose(judgment.likelihoods, predicted.likelihoods, atol=1e-12)
        assert judgment.distribution is model.fitted.calibration.likelihoods


def test_labels_that_were_changed_after_training(
    posteriors: list[NDArray[np.float64]], tmp_path: Path
) -> None:
    """A model that retains its documents subtracts each from the label that it had, whatever it is
    now.
    """
    rows = make_rows(60)
    changed = {"fruit": "sea", "sea": "tools", "tools": "fruit"}
    model = train_on_source(
        open_rows(tmp_path, rows), FeatureSettings(), ModelSettings(keep_sample=1000)
    )
    for given in (rows, [row | {"label": changed[row["label"]]} for row in rows]):
        corpus = read(tmp_path, given, FeatureSettings())
        ModelJudge(model).judge(corpus, list(map(single_label, corpus.documents)))
    np.testing.assert_array_equal(*posteriors)


def test_more_copies_than_the_model_was_trained_on(
    posteriors: list[NDArray[np.float64]], tmp_path: Path
) -> None:
    """Only as many copies are left out as the counts of the model can contain."""
    rows = make_rows(60)
    rows = [
        row
        for number, row in enumerate(rows)
        if row["text"] not in [each["text"] for each in rows[:number]]
    ]
    model = train_on_source(
        open_rows(tmp_path, rows), FeatureSettings(), ModelSettings(keep_sample=1000)
    )
    corpus = read(tmp_path, [rows[3]] * 500 + [rows[4]], FeatureSettings())
    bare = make_trained_model(
        model.fitted, replace(model.counts, sample=model.counts.sample.smallest(0), sample_size=0)
    )
    for each in (model, bare):
        ModelJudge(each).judge(corpus, list(map(single_label, corpus.documents)))
    exact, bounded = posteriors
    assert np.isfinite(bounded).all()
    np.testing.assert_allclose(exact[500], bounded[500], atol=1e-9)
    assert (exact[:500] == exact[0]).all()


@pytest.mark.parametrize("keep_sample", [None, 1000, 20])
def test_several_labels(
    keep_sample: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The probability of each pair is that of the model without the document and its copies; new
    ones are predicted.
    """
    rows = make_rows(80, several=True)
    features = FeatureSettings(vocabulary=WORDS)
    model = train_on_source(
        open_rows(tmp_path, rows), features, ModelSettings(keep_sample=keep_sample)
    )
    counts = model.counts
    if keep_sample is None:
        stored = replace(counts, sample=counts.sample.smallest(0), sample_size=0).drop_unused_sets()
        model = make_trained_model(model.fitted, stored)
    found: list[tuple[NDArray[Any], ...]] = []
    judge_pairs = label_noise.find_wrong_pairs
    monkeypatch.setattr(
        label_noise,
        "find_wrong_pairs",
        lambda *pairs: (found.append(pairs), judge_pairs(*pairs))[1],
    )
    new = [{**row, "text": f"{row['text']} new"} for row in make_rows(3, seed=5, several=True)]
    corpus = read(tmp_path, [*rows, *new], FeatureSettings())
    noise = ModelJudge(model).judge_pairs(
        corpus, [document.labels for document in corpus.documents]
    )
    ((documents, labels, is_given, probabilities),) = found
    assert (noise.n_documents, noise.n_given) == (83, int(is_given.sum()))
    complete = make_trained_model(
        model.fitted,
        train_on_source(
            open_rows(tmp_path, rows), features, ModelSettings(keep_sample=1000)
        ).counts,
    )
    for row in [*range(0, 80, 11), 80, 81]:
        text = [*rows, *new][row]["text"]
        refitted = complete.fitted if row >= 80 else refit_without(complete, text).fitted
        expected = np.exp(
            Predictor(refitted).log_probabilities(Predictor(refitted).score([[text]]))
        )[0]
        own = documents == row
        np.testing.assert_allclose(probabilities[own], expected[labels[own]], atol=1e-9)
        assert {model.fitted.labels[k] for k in labels[own & is_given]} == set(
            [*rows, *new][row]["label"]
        )


@pytest.mark.parametrize("several", [False, True])
def test_words_of_a_label_error_are_weighed_without_its_document(
    tmp_path: Path, several: bool
) -> None:
    """The log-odds of a word is a ratio of shares of documents with it, with half a document added
    to each count.
    """
    rows = make_rows(60, several=several)
    corpus = read(tmp_path, rows, FeatureSettings())
    sets = [set(row["label"]) if several else {row["label"]} for row in rows]
    words = [set(row["text"].split()) for row in rows]

    def share(word: str, own: int, *, of: str, with_label: bool = True) -> float:
        others = [n for n in range(len(rows)) if n != own and (of in sets[n]) == with_label]
        return (sum(word in words[n] for n in others) + 0.5) / (len(others) + 1)

    document = next(each for each in corpus.documents if each.labels == ("fruit",))
    own = int(document.id)
    errors = [("fruit", None), (None, "sea")] if several else [("fruit", "sea")]
    findings = [Finding(LABEL_ERROR, 0.9, (document,), label, likely) for label, likely in errors]
    for finding, weights in zip(findings, weigh_words(corpus, findings), strict=True):
        assert weights is not None
        assert weights.keys() == words[own]
        for word, weight in weights.items():
            given = finding.label
            likely = finding.likely_label
            against = (
                share(word, own, of=given)
                if given
                else share(word, own, of=likely or "", with_label=False)
            )
            speaks = (
                share(word, own, of=likely)
                if likely
                else share(word, own, of=given or "", with_label=False)
            )
            assert weight == pytest.approx(math.log(speaks / against), rel=1e-9)


@pytest.mark.parametrize(("n_rare", "is_judged"), [(2, False), (3, True)])
def test_a_label_of_one_other_document_is_not_judged(
    tmp_path: Path, n_rare: int, is_judged: bool
) -> None:
    """Without its own document, a label of two has one left, which says nothing about the absence
    of the label.
    """
    rows = make_rows(60, several=True)
    for n in range(n_rare):
        rows[n] = {
            "id": str(n),
            "text": f"apple pear saw {WORDS[n + 4]} boat wave wave",
            "label": ["fruit", "rare"],
        }
    model = train_on_source(
        open_rows(tmp_path, rows),
        FeatureSettings(vocabulary=WORDS),
        ModelSettings(keep_sample=1000),
    )
    corpus = read(tmp_path, rows, FeatureSettings())
    noise = ModelJudge(model).judge_pairs(
        corpus, [document.labels for document in corpus.documents]
    )
    n_given = sum(len(row["label"]) for row in rows)
    assert noise.n_given == (n_given if is_judged else n_given - n_rare)

"""With many labels, memory stays bounded and the results stay the same."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtext.bayes import leave_one_out, smoothing
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.evaluation import cross_validation as folds
from nbtext.evaluation import evaluator
from nbtext.evaluation.cross_validation import cross_validate_source
from nbtext.evaluation.evaluator import Evaluation, Evaluator
from nbtext.evaluation.settings import FoldSettings
from nbtext.features.settings import FeatureSettings
from nbtext.model import source_prediction
from nbtext.model.source_prediction import predict_source
from nbtext.text_classifier import TextClassifier

N_LABELS = 40
LINES = [
    f'{{"text": "word{number % N_LABELS} more copy{number}", "label": "label {number % N_LABELS}"}}'
    for number in range(200)
]
BROKEN = [*LINES[:7], "{", *LINES[7:]]


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the number of labels of these tests count as many."""
    monkeypatch.setattr(source_prediction, "MANY_LABELS", 10)
    for module in (source_prediction, folds):
        monkeypatch.setattr(module, "MAX_BATCH_PROBABILITIES", 3 * N_LABELS)


def test_answers_are_the_same_a_few_at_a_time(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Each document keeps its place, its problem and its probabilities, for one thread and for
    several.
    """
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(BROKEN))
    classifier = TextClassifier(smoothing=1.0).fit(
        ["word1 more", "word2 more", *LINES], ["a", "b", *map(str, range(200))]
    )

    def answers(
        jobs: int,
    ) -> tuple[list[int], list[str], list[tuple[str, ...]], list[str | None], np.ndarray]:
        predictions = list(
            predict_source(classifier.fitted_, open_source([str(path)], InputSettings()), jobs=jobs)
        )
        ids = [identity for each in predictions for identity in each.ids]
        labels = [labels for each in predictions for labels in each.labels]
        reasons = [reason for each in predictions for reason in each.reasons]
        return (
            list(map(len, predictions)),
            ids,
            labels,
            reasons,
            np.concatenate([p.probabilities for p in predictions]),
        )

    whole = answers(1)
    request.getfixturevalue("few_at_once")
    for jobs in (1, 3):
        parts = answers(jobs)
        assert max(parts[0]) < 3 < max(whole[0])
        assert parts[1:4] == whole[1:4]
        np.testing.assert_array_equal(parts[4], whole[4])


def evaluated(path: Path) -> Evaluation:
    evaluator = Evaluator()
    source = open_source([str(path)], InputSettings())
    validated = cross_validate_source(
        source, FoldSettings(folds=5), features=FeatureSettings(), model_settings=ModelSettings()
    )
    for batch in validated.predictions:
        evaluator.add(batch.predictions)
    return evaluator.evaluation()


def test_folds_are_the_same_a_few_at_a_time(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Cross-validation gives the same figures to rounding."""
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(LINES))
    whole = evaluated(path)
    request.getfixturevalue("few_at_once")
    parts = evaluated(path)
    assert parts.confusion_matrix == whole.confusion_matrix
    assert "log_loss" in whole.metrics
    assert parts.metrics == pytest.approx(whole.metrics, abs=1e-12)


def test_confusions_of_very_many_labels_are_no_matrix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All other figures are there."""
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(LINES))
    whole = evaluated(path)
    monkeypatch.setattr(evaluator, "MAX_CONFUSED", N_LABELS - 1)
    without = evaluated(path)
    assert whole.confusion_matrix is not None
    assert without.confusion_matrix is None
    assert (without.metrics["accuracy"], without.per_label) == (
        whole.metrics["accuracy"],
        whole.per_label,
    )


@pytest.mark.parametrize("model", ["multinomial", "dirichlet", "complement", "bernoulli"])
def test_leave_one_out_looks_at_all_documents_in_blocks(
    monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """With many labels, the first documents fit the calibration, and all are in the estimate."""
    random = np.random.default_rng(4)
    labels = [str(n % 10) for n in range(200)]
    texts = [f"word{label} more{random.integers(9)} word{random.integers(10)}" for label in labels]
    settings = {"model": model, "smoothing": 0.3, "calibrate": False}  # blocks do not choose these
    whole = TextClassifier(**settings).fit(texts, labels).fitted_
    monkeypatch.setattr(smoothing, "SCORES_AT_ONCE", 300)
    blocks = TextClassifier(**settings).fit(texts, labels).fitted_
    assert blocks.estimate == replace(whole.estimate, log_loss=blocks.estimate.log_loss)
    assert blocks.estimate.documents == 200
    assert blocks.estimate.log_loss == pytest.approx(whole.estimate.log_loss, rel=1e-12)
    assert blocks.calibration.outlier_threshold == whole.calibration.outlier_threshold
    np.testing.assert_allclose(
        blocks.calibration.nonconformity.points, whole.calibration.nonconformity.points, rtol=1e-9
    )
    choices = [
        TextClassifier(model=model).fit(texts[::step], labels[::step]).fitted_ for step in (1, -1)
    ]
    assert [fitted.estimate for fitted in choices] == [choices[0].estimate] * 2
    assert choices[0].estimate.documents == 200
    assert choices[0].calibration.temperature == choices[1].calibration.temperature


def test_scores_of_one_block_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """No leave-one-out scores are computed of more documents at once than SCORES_AT_ONCE allows, up
    to duplicates.
    """
    n_at_once = []
    counted = leave_one_out.LeaveOneOut.scores

    def count(*arguments: Any) -> Any:
        scores = counted(*arguments)
        n_at_once.append(scores.shape[1] * scores.shape[2])
        return scores

    monkeypatch.setattr(smoothing, "SCORES_AT_ONCE", 300)
    monkeypatch.setattr(leave_one_out.LeaveOneOut, "scores", count)
    texts = [f"word{n % 9} more{n}" for n in range(100)]
    labels = [str(n % 10) for n in range(100)]
    assert TextClassifier(model="auto").fit(texts, labels).fitted_.estimate.documents == 100
    assert max(n_at_once) <= 300


def test_decisions_are_fitted_to_the_first_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """What decisions achieve is measured on the documents that they are fitted to; there are no
    others.
    """
    texts = [f"word{n % 9} more{n}" for n in range(100)]
    labels = [str(n % 10) for n in range(100)]
    monkeypatch.setattr(smoothing, "SCORES_AT_ONCE", 300)
    fitted = TextClassifier(model="multinomial", optimize="accuracy").fit(texts, labels).fitted_
    assert fitted.estimate.documents == 30


def test_of_very_many_labels_few_documents_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the time of training does not grow with documents times labels."""
    monkeypatch.setattr(smoothing, "MANY_LABELS", 10)
    monkeypatch.setattr(smoothing, "MAX_JUDGED", 50 * N_LABELS)
    texts = [f"word{number % N_LABELS} copy{number}" for number in range(200)]
    for model in ("auto", "multinomial", "bernoulli", "categorical"):
        fitted = TextClassifier(model=model).fit(texts, [text.split()[0] for text in texts]).fitted_
        assert fitted.estimate.documents <= 50

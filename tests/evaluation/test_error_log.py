"""The error log of an evaluation keeps the right examples, in bounded memory."""

import numpy as np
import pytest
from outcomes_by_chance import predictions_of, probabilities_of, recorded

from nbtext.evaluation import diagnosis as module
from nbtext.evaluation.diagnosis import (
    ErrorLog,
    Example,
    ExamplesByCell,
    PredictedBatch,
    ThinnedRows,
    TopExamples,
)
from nbtext.evaluation.evaluator import Evaluator
from nbtext.model.settings import DecisionSettings


def example(name: str) -> Example:
    return Example(name, "a", "b", 0.5)


def test_outcomes_add_up_to_the_evaluation() -> None:
    """The judge's figures can be had from what is kept of each document."""
    error_log, evaluator, probabilities, _ = recorded(730, 4)
    evaluation = evaluator.evaluation()
    outcomes = evaluator.outcomes()
    assert len(outcomes) == 730
    assert outcomes.is_correct.mean() == evaluation.metrics["accuracy"]
    assert outcomes.log_losses.mean() == pytest.approx(evaluation.metrics["log_loss"])
    assert outcomes.squared_errors.mean() == pytest.approx(evaluation.metrics["brier_score"])
    kept, step = error_log.probabilities(evaluation.labels)
    assert step == 1
    assert kept == pytest.approx(probabilities)
    before = error_log.before_calibration
    assert before is not None
    # the scores were the logarithms of the probabilities
    assert [part.documents for part in before.bins()] == [
        part.documents for part in evaluation.reliability
    ]
    assert before.error == pytest.approx(evaluation.metrics["expected_calibration_error"])


def test_every_document_is_listed_in_its_cell() -> None:
    """With its own name and answer, the surest first."""
    error_log, evaluator, *_ = recorded(300, 3)
    matrix = evaluator.evaluation().confusion_matrix
    assert matrix is not None
    cells = error_log.listed.cells()
    for (label, answer), documents in cells.items():
        assert len(documents) == matrix["abc".index(label)]["abc".index(str(answer))]
        assert {(each.label, each.predicted) for each in documents} == {(label, answer)}
        assert [each.probability for each in documents] == sorted(
            (each.probability for each in documents), reverse=True
        )
        assert all((f"text of {each.id}",) == each.texts for each in documents if label != answer)


def test_the_worst_mistakes() -> None:
    """They are the wrong predictions with the highest probability, in decreasing order."""
    error_log, evaluator, probabilities, true = recorded(600, 4)
    wrong = sorted(
        (-row.max(), place)
        for place, row in enumerate(probabilities)
        if row.argmax() != true[place]
    )
    worst = [each.id for _, each in error_log.mistakes.rank_examples()]
    assert worst == [f"document {place}" for _, place in wrong[: module.N_TOP]]
    assert evaluator.evaluation().documents == 600


def test_labels_may_differ_from_batch_to_batch() -> None:
    """A label that a batch's model does not know has probability zero there."""
    error_log = ErrorLog()
    for n_labels in (2, 4, 3):
        probabilities, true = probabilities_of(50, n_labels, n_labels)
        predictions = predictions_of(probabilities, true)
        error_log.record(PredictedBatch(predictions), Evaluator().add(predictions))
    kept, _ = error_log.probabilities(("a", "b", "c", "d"))
    assert kept.shape == (150, 4)
    assert kept.sum(axis=1) == pytest.approx(1)
    assert (kept[:50, 2:] == 0).all() and (kept[100:, 3] == 0).all() and (kept[50:100] > 0).all()


def test_a_threshold_is_no_lack_of_an_answer() -> None:
    """A document that was left unanswered for its low probability can be answered; one that has no
    label for another reason cannot.
    """
    probabilities, true = probabilities_of(20, 3, 1)
    probabilities[3] = (0.5, 0.3, 0.2)
    predictions = predictions_of(probabilities, true)
    predictions.labels = [
        None if row in (3, 4) or p < 0.4 else label
        for row, (label, p) in enumerate(zip(predictions.labels, predictions.best, strict=True))
    ]
    predictions.probabilities[4] = (0.9, 0.05, 0.05)
    evaluator = Evaluator(DecisionSettings(min_probability=0.6))
    is_answerable = evaluator.add(predictions).is_answerable
    assert is_answerable[3] and not is_answerable[4]


def test_rows_are_thinned() -> None:
    """However many rows are added, every n-th is kept, in order, within the limit."""
    thinned = ThinnedRows(100)
    rows = np.arange(3000.0).reshape(1000, 3)
    for start in range(0, 1000, 70):
        thinned.add(rows[start : start + 70])
    assert thinned.step == 32
    assert (thinned.rows() == rows[::32]).all()


def test_a_examples_keeps_the_surest_of_each_cell() -> None:
    """Not more than it has room for, and something of every cell."""
    examples = ExamplesByCell(20)
    numbers = np.random.default_rng(1).random(500)
    for place, probability in enumerate(numbers.tolist()):
        cell = ("a", "b") if place % 50 else ("b", "a")
        examples.add(place, probability, cell, lambda place=place: example(str(place)))  # type: ignore[misc]
    cells = examples.cells()
    assert examples.counts == {("a", "b"): 490, ("b", "a"): 10}
    assert sum(map(len, cells.values())) == 20
    for cell, documents in cells.items():
        of_cell = [place for place in range(500) if (place % 50 > 0) == (cell == ("a", "b"))]
        surest = sorted(of_cell, key=lambda place: -numbers[place])[: len(documents)]
        assert [each.id for each in documents] == list(map(str, surest))


def test_more_cells_than_room() -> None:
    """The cells with the most documents are kept."""
    examples = ExamplesByCell(5)
    for place in range(60):
        examples.add(
            place, 0.5, (str(place % 12 if place < 48 else place % 3), None), lambda: example("x")
        )
    cells = examples.cells()
    assert len(cells) == 5
    assert {("0", None), ("1", None), ("2", None)} <= cells.keys()


def test_the_worst_are_few() -> None:
    """Of examples with equal rank the first are kept."""
    worst = TopExamples(3)
    for place, rank in enumerate([1, 5, 2, 5, 5, 0]):
        worst.add(place, rank, lambda place=place: example(str(place)))  # type: ignore[misc]
    assert [(rank, each.id) for rank, each in worst.rank_examples()] == [
        (5, "1"),
        (5, "3"),
        (5, "4"),
    ]

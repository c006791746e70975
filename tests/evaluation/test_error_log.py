"""The error log of an evaluation keeps the right examples, in bounded memory."""

import pytest
from outcomes_by_chance import predictions_of, probabilities_of, recorded

from nbtext.evaluation import diagnosis as module
from nbtext.evaluation.diagnosis import (
    Example,
    TopExamples,
)
from nbtext.evaluation.evaluator import Evaluator
from nbtext.model.settings import DecisionSettings


def example(name: str) -> Example:
    return Example(name, "a", "b", 0.5)


def test_outcomes_add_up_to_the_evaluation() -> None:
    """The judge's figures can be had from what is kept of each document."""
    _, evaluator, *_ = recorded(730, 4)
    evaluation = evaluator.evaluation()
    outcomes = evaluator.outcomes()
    assert len(outcomes) == 730
    assert outcomes.is_correct.mean() == evaluation.metrics["accuracy"]
    assert outcomes.log_losses.mean() == pytest.approx(evaluation.metrics["log_loss"])
    assert outcomes.squared_errors.mean() == pytest.approx(evaluation.metrics["brier_score"])


def test_every_document_is_listed_in_its_cell() -> None:
    """With its own name and answer, the surest first; of many, the surest 25."""
    error_log, evaluator, *_ = recorded(300, 3)
    matrix = evaluator.evaluation().confusion_matrix
    assert matrix is not None
    for (label, answer), top in error_log.examples.items():
        documents = top.rank_examples()
        assert len(documents) == min(
            module.N_TOP, matrix["abc".index(label)]["abc".index(str(answer))]
        )
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
    worst = [each.id for each in error_log.mistakes.rank_examples()]
    assert worst == [f"document {place}" for _, place in wrong[: module.N_TOP]]
    assert evaluator.evaluation().documents == 600


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


def test_the_worst_are_few() -> None:
    """Of examples with equal rank the first are kept."""
    worst = TopExamples(3)
    for place, rank in enumerate([1, 5, 2, 5, 5, 0]):
        worst.add(place, rank, lambda place=place: example(str(place)))  # type: ignore[misc]
    assert [each.id for each in worst.rank_examples()] == ["1", "3", "4"]

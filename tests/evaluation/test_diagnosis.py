"""What a page says of an evaluation is what the model and the documents say."""

from collections import Counter
from dataclasses import astuple
from pathlib import Path

import pytest
from outcomes_by_chance import recorded

from nbtext.documents.batch import Batch
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.evaluation.diagnosis import (
    TARGETS,
    Diagnosis,
    ErrorLog,
    find_common_words,
)
from nbtext.evaluation.evaluator import Evaluation, Evaluator
from nbtext.evaluation.predicted import predict_by_model
from nbtext.model.explanation import Explainer
from nbtext.text_classifier import TextClassifier

LETTERS = Path(__file__).parents[2] / "corpora" / "letters"


@pytest.fixture(scope="module")
def classifier() -> TextClassifier:
    return TextClassifier(model="multinomial").fit_source(
        open_source((str(LETTERS / "train"),), InputSettings())
    )


@pytest.fixture(scope="module")
def judged(classifier: TextClassifier) -> tuple[Evaluation, Diagnosis]:
    """The letters, by a model of their other half."""
    error_log = ErrorLog()
    evaluator = Evaluator()
    source = open_source((str(LETTERS / "test"),), InputSettings())
    for batch in predict_by_model(classifier.fitted_, source, jobs=1):
        error_log.record(batch, evaluator.add(batch.predictions))
    evaluation = evaluator.evaluation()
    return evaluation, error_log.diagnose(evaluation, evaluator, classifier.model_)


def test_pairs_and_their_words(
    judged: tuple[Evaluation, Diagnosis], classifier: TextClassifier
) -> None:
    """The words' parts, weighed over the documents that were mixed up, are those of their
    explanations.
    """
    _, diagnosis = judged
    assert [pair.documents for pair in diagnosis.confusions.pairs] == [3, 2, 1, 1]
    confusion = diagnosis.confusions.pairs[0].confusions[0]
    assert confusion[:3] == ("trash", "streets", 2)
    everyday = find_common_words(classifier.model_)
    sums = Counter[str]()
    for noted in diagnosis.confusions.listed["trash", "streets"]:
        batch = Batch([noted.id], ([Path(noted.id).read_text()],), ["trash"])
        (explanation,) = Explainer(classifier.fitted_).explain_batch(
            batch, label="streets", against="trash"
        )
        for part in explanation.contributions:
            sums[part.feature] += part.log_odds / 2
    strongest = sorted(
        (word for word in sums if word not in everyday), key=lambda word: (-sums[word], word)
    )
    assert [word.feature for word in confusion.words] == strongest[: len(confusion.words)]
    assert [word.log_odds for word in confusion.words] == pytest.approx(
        [sums[word] for word in strongest[:10]]
    )


def test_find_common_words(classifier: TextClassifier) -> None:
    """Those that a fifth of the letters hold, by a count of one's own."""
    texts = [set(classifier_words(path)) for path in LETTERS.glob("train/*/*.txt")]
    seen = Counter(word for text in texts for word in text)
    assert find_common_words(classifier.model_) == {
        word for word, number in seen.items() if number > 0.2 * len(texts)
    }
    hashed = TextClassifier(hash_bits=10).fit(["a b c dd", "dd ee"], ["x", "y"])
    assert find_common_words(hashed.model_) == frozenset()


def classifier_words(path: Path) -> list[str]:
    from nbtext.features.analyzer import Analyzer
    from nbtext.features.settings import FeatureSettings

    return Analyzer(FeatureSettings())(path.read_text())


def test_mistakes_are_explained_against_the_truth(judged: tuple[Evaluation, Diagnosis]) -> None:
    """Each with its whole text, the surest first, and parts that add up."""
    evaluation, diagnosis = judged
    assert len(diagnosis.mistakes) == round(
        evaluation.documents * (1 - evaluation.metrics["accuracy"])
    )
    sureness = [mistake.document.probability for mistake in diagnosis.mistakes]
    assert sureness == sorted(sureness, reverse=True)
    for document, explanation in ((each.document, each.explanation) for each in diagnosis.mistakes):
        assert (explanation.label, explanation.against) == (document.predicted, document.label)
        assert explanation.texts == (Path(document.id).read_text(),)
        assert explanation.probability == pytest.approx(document.probability)
        total = sum(astuple(explanation.terms)) + sum(
            part.log_odds for part in explanation.contributions
        )
        assert explanation.log_odds == pytest.approx(total)


def test_trust(judged: tuple[Evaluation, Diagnosis]) -> None:
    """There is a target for each share that should be right."""
    _, diagnosis = judged
    assert diagnosis.is_calibrated
    assert [target.accuracy for target in diagnosis.targets] == list(TARGETS)
    assert diagnosis.has_names


def test_without_a_model() -> None:
    """What needs one is not there; all else is."""
    error_log, evaluator, *_ = recorded(200, 3)
    diagnosis = error_log.diagnose(evaluator.evaluation(), evaluator)
    assert (diagnosis.top_features, diagnosis.mistakes) == (None, ())
    assert not diagnosis.is_calibrated
    assert diagnosis.confusions.pairs and not diagnosis.confusions.pairs[0].confusions[0].words

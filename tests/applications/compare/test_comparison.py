"""Trained models side by side: figures as evaluate gives them, McNemar's test by hand, intervals by
other means.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from nbtext.applications.compare.comparison import NamedModel, compare_models, mcnemar
from nbtext.documents.batch import join_batches
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import Source, open_source
from nbtext.errors import InputError
from nbtext.evaluation.evaluator import Evaluator
from nbtext.model.source_prediction import predict_source
from nbtext.text_classifier import TextClassifier

LETTERS = Path(__file__).parents[3] / "corpora" / "letters"


def read(part: str) -> Source:
    return open_source([str(LETTERS / part)], InputSettings())


@pytest.fixture(scope="module")
def candidates() -> list[NamedModel]:
    """Three models of the demo corpus, one of which has seen half of the labels."""
    batch = join_batches(list(read("train").batches()))
    half = batch.take([row for row, label in enumerate(batch.labels) if str(label) < "permits"])
    return [
        NamedModel("multinomial", TextClassifier().fit_source(read("train")).model_, 1000),
        NamedModel(
            "bernoulli",
            TextClassifier(model="bernoulli", max_features=80).fit_source(read("train")).model_,
        ),
        NamedModel(
            "half",
            TextClassifier().fit(half.columns[0], half.single_labels()).model_,
        ),
    ]


@pytest.mark.parametrize(
    ("first", "second", "numerator"), [(0, 1, 2), (1, 2, 8), (2, 10, 158), (6, 6, 4096), (0, 0, 1)]
)
def test_mcnemar_by_hand(first: int, second: int, numerator: int) -> None:
    """Twice the lower tail of n tosses of a coin: for 2 against 10, 2 (1 + 12 + 66) / 4096."""
    assert mcnemar(first, second) == pytest.approx(numerator / 2 ** (first + second), rel=1e-12)
    assert mcnemar(second, first) == mcnemar(first, second)


def test_figures_are_those_of_evaluate(candidates: list[NamedModel]) -> None:
    """Accuracy, macro F1 and log-loss of each model; where one does not know half of the labels,
    the log-loss of all is that of the documents whose label each of them knows.
    """
    found = compare_models(candidates, read("test"))
    assert (found.documents, len(found.labels)) == (84, 6)
    known = set(candidates[2].model.fitted.labels)
    for candidate, result in zip(candidates, found.results, strict=True):
        evaluator = Evaluator()
        losses = []
        for batch in predict_source(candidate.model.fitted, read("test"), jobs=1):
            evaluator.add(batch)
            for row, (label,) in zip(batch.probabilities, batch.true_labels, strict=True):
                if label in known:
                    losses.append(-np.log(row[batch.classes.index(label)]))
        assert found.unknown_label == 84 - len(losses) > 0
        expected = dict(evaluator.evaluation().metrics) | {"log_loss": np.mean(losses)}
        for name in ("accuracy", "macro_f1", "log_loss"):
            figure = result.metrics[name]
            assert figure.value == pytest.approx(expected[name], abs=1e-12)
            assert figure.low < figure.value < figure.high
        assert (result.size, result.model) == (
            candidate.size,
            candidate.model.fitted.model_settings.model,
        )


def test_each_pair(candidates: list[NamedModel]) -> None:
    """Who alone was right is counted document by document; differences are those of the figures."""
    found = compare_models(candidates, read("test"))
    right = {}
    for candidate in candidates:
        answers = predict_source(candidate.model.fitted, read("test"), jobs=1)
        right[candidate.name] = [
            label == true
            for batch in answers
            for label, true in zip(batch.labels, batch.true_labels, strict=True)
        ]
    results = {result.name: result for result in found.results}
    assert [(test.first, test.second) for test in found.tests] == [
        ("multinomial", "bernoulli"),
        ("multinomial", "half"),
        ("bernoulli", "half"),
    ]
    for test in found.tests:
        pairs = list(zip(right[test.first], right[test.second], strict=True))
        assert (test.only_first, test.only_second) == (
            pairs.count((True, False)),
            pairs.count((False, True)),
        )
        assert test.p_value == mcnemar(test.only_first, test.only_second)
        for name in ("accuracy", "macro_f1", "log_loss"):
            difference = (
                results[test.second].metrics[name].value - results[test.first].metrics[name].value
            )
            assert test.differences[name].value == pytest.approx(difference, abs=1e-12)


def test_intervals_are_paired(candidates: list[NamedModel]) -> None:
    """The interval of a difference is that of the differences of single documents: (n₀₁ + n₁₀ - d²
    n) / n², nearly normal here, and much narrower than two independent models' would be.
    """
    test = compare_models(candidates, read("test")).tests[0]
    n = 84
    d = test.differences["accuracy"].value
    error = np.sqrt((test.only_first + test.only_second) / n - d * d) / np.sqrt(n)
    half_width = norm.ppf(0.975) * error
    assert (
        test.differences["accuracy"].high - test.differences["accuracy"].low
    ) / 2 == pytest.approx(half_width, rel=0.15)


def test_a_model_and_itself(candidates: list[NamedModel]) -> None:
    """Differ by nothing, with certainty."""
    model = candidates[0].model
    (test,) = compare_models([NamedModel("a", model), NamedModel("b", model)], read("test")).tests
    assert test.p_value == 1
    assert (test.only_first, test.only_second) == (0, 0)
    for figure in test.differences.values():
        assert (figure.value, figure.low, figure.high) == (0, 0, 0)


def test_no_tokens_and_unknown_labels(tmp_path: Path, candidates: list[NamedModel]) -> None:
    """A document without a word is a wrong answer of every model; one without a label is
    refused.
    """
    (tmp_path / "texts.csv").write_text(
        "text,label\nparking,parking\n!,taxes\nnever heard,unknown\n"
    )
    found = compare_models(candidates, open_source([str(tmp_path / "texts.csv")], InputSettings()))
    assert found.results[0].metrics["accuracy"].value == pytest.approx(1 / 3)
    assert "unknown" in found.labels
    (tmp_path / "texts.csv").write_text("text,label\nparking,\n")
    with pytest.raises(InputError, match="the document has no label"):
        compare_models(candidates, open_source([str(tmp_path / "texts.csv")], InputSettings()))

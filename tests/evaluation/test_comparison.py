"""Trained models side by side: figures as evaluate gives them, McNemar's test by hand, intervals by other means."""

from __future__ import annotations

from itertools import count
from math import comb
from pathlib import Path
from time import thread_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from nbtext.documents.settings import ReadingSettings
from nbtext.documents.source import Source, open_source
from nbtext.errors import InputError, SettingsError
from nbtext.evaluation.comparison import Contestant, SideBySide, mcnemar, side_by_side
from nbtext.evaluation.metrics import Judge
from nbtext.model.source_prediction import predict_source
from nbtext.text_classifier import TextClassifier

LETTERS = Path(__file__).parents[2] / "corpora" / "letters"


def read(part: str) -> Source:
    return open_source([str(LETTERS / part)], ReadingSettings())


@pytest.fixture(scope="module")
def contestants() -> list[Contestant]:
    """Three models of the demo corpus, one of which has seen half of the labels."""
    half = [document for document in read("train").documents() if str(document.label) < "permits"]
    return [
        Contestant("multinomial", TextClassifier().fit_source(read("train")).model_, 1000),
        Contestant("bernoulli", TextClassifier(model="bernoulli", max_features=80).fit_source(read("train")).model_),
        Contestant("half", TextClassifier().fit([d.text for d in half], [str(d.label) for d in half]).model_),
    ]


def compared(contestants: list[Contestant], source: Source, *, jobs: int = 1) -> SideBySide:
    return side_by_side(contestants, source, clock=count().__next__, jobs=jobs)


@pytest.mark.parametrize(
    ("first", "second", "numerator"), [(0, 1, 2), (1, 2, 8), (2, 10, 158), (6, 6, 4096), (0, 0, 1)]
)
def test_mcnemar_by_hand(first: int, second: int, numerator: int) -> None:
    """Twice the lower tail of n tosses of a coin: for 2 against 10, 2 (1 + 12 + 66) / 4096."""
    assert mcnemar(first, second) == pytest.approx(numerator / 2 ** (first + second), rel=1e-12)
    assert mcnemar(second, first) == mcnemar(first, second)


@given(first=st.integers(0, 400), second=st.integers(0, 400))
def test_mcnemar_is_the_binomial_test(first: int, second: int) -> None:
    """As SciPy has it, and as summing up binomial coefficients gives it."""
    n, least = first + second, min(first, second)
    if n == 0:
        return
    expected = min(1.0, 2 * sum(comb(n, k) for k in range(least + 1)) / 2**n)
    assert mcnemar(first, second) == pytest.approx(expected, rel=1e-9)
    assert mcnemar(first, second) == pytest.approx(binomtest(first, n).pvalue, rel=1e-9)


def test_figures_are_those_of_evaluate(contestants: list[Contestant]) -> None:
    """Accuracy, macro F1 and log-loss of each model, where one does not know half of the labels too."""
    found = compared(contestants, read("test"))
    assert (found.documents, len(found.labels)) == (84, 6)
    for contestant, verdict in zip(contestants, found.verdicts, strict=True):
        judge = Judge()
        judge.add_all(predict_source(contestant.model.fitted, read("test"), jobs=1))
        expected = judge.evaluation()
        for name in ("accuracy", "macro_f1", "log_loss"):
            figure = getattr(verdict, name)
            assert figure.value == pytest.approx(getattr(expected, name), abs=1e-12)
            assert figure.low < figure.value < figure.high
        assert (verdict.size, verdict.model) == (contestant.size, contestant.model.fitted.model_settings.model)


def test_each_pair(contestants: list[Contestant]) -> None:
    """Who alone was right is counted document by document; differences are those of the figures."""
    found = compared(contestants, read("test"))
    right = {}
    for contestant in contestants:
        answers = predict_source(contestant.model.fitted, read("test"), jobs=1)
        right[contestant.name] = [
            label == true for batch in answers for label, true in zip(batch.labels, batch.true_labels, strict=True)
        ]
    verdicts = {verdict.name: verdict for verdict in found.verdicts}
    assert [(duel.first, duel.second) for duel in found.duels] == [
        ("multinomial", "bernoulli"), ("multinomial", "half"), ("bernoulli", "half")
    ]  # fmt: skip
    for duel in found.duels:
        pairs = list(zip(right[duel.first], right[duel.second], strict=True))
        assert (duel.first_alone, duel.second_alone) == (pairs.count((True, False)), pairs.count((False, True)))
        assert duel.p_value == mcnemar(duel.first_alone, duel.second_alone)
        for name in ("accuracy", "macro_f1", "log_loss"):
            difference = getattr(verdicts[duel.second], name).value - getattr(verdicts[duel.first], name).value
            assert getattr(duel, name).value == pytest.approx(difference, abs=1e-12)


def test_intervals_are_paired(contestants: list[Contestant]) -> None:
    """The interval of a difference is that of the differences of single documents: (n₀₁ + n₁₀ - d² n) / n², nearly
    normal here, and much narrower than two independent models' would be."""
    duel = compared(contestants, read("test")).duels[0]
    n, d = 84, duel.accuracy.value
    error = np.sqrt((duel.first_alone + duel.second_alone) / n - d * d) / np.sqrt(n)
    half_width = norm.ppf(0.975) * error
    assert (duel.accuracy.high - duel.accuracy.low) / 2 == pytest.approx(half_width, rel=0.15)


def test_a_model_and_itself(contestants: list[Contestant]) -> None:
    """Differ by nothing, with certainty."""
    model = contestants[0].model
    (duel,) = compared([Contestant("a", model), Contestant("b", model)], read("test")).duels
    assert duel.p_value == 1
    assert (duel.first_alone, duel.second_alone) == (0, 0)
    for figure in (duel.accuracy, duel.macro_f1, duel.log_loss):
        assert (figure.value, figure.low, figure.high) == (0, 0, 0)


def test_any_number_of_threads(contestants: list[Contestant]) -> None:
    """Gives the same, but for the time that is taken."""
    one, three = (side_by_side(contestants, read("train"), clock=lambda: 0.0, jobs=jobs) for jobs in (1, 3))
    assert one == three
    timed = side_by_side(contestants, read("test"), clock=thread_time)
    assert all(verdict.seconds > 0 for verdict in timed.verdicts)


def test_silence_and_strangers(tmp_path: Path, contestants: list[Contestant]) -> None:
    """A document without a word is a wrong answer of every model; one without a label is refused."""
    (tmp_path / "texts.csv").write_text("text,label\nparking,parking\n!,taxes\nnever heard,unknown\n")
    found = compared(contestants, open_source([str(tmp_path / "texts.csv")], ReadingSettings()))
    assert found.verdicts[0].accuracy.value == pytest.approx(1 / 3)
    assert "unknown" in found.labels
    (tmp_path / "texts.csv").write_text("text,label\nparking,\n")
    with pytest.raises(InputError, match="the document has no label"):
        compared(contestants, open_source([str(tmp_path / "texts.csv")], ReadingSettings()))


def test_one_model_alone(contestants: list[Contestant]) -> None:
    """Has nothing to be compared with."""
    with pytest.raises(SettingsError, match="nothing to be compared with"):
        compared(contestants[:1], read("test"))

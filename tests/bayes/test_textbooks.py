"""Worked examples of the textbooks, with their arithmetic."""

import numpy as np
import pytest
from corpora_by_hand import sample_of, statistics_of

from nbtext.bayes.categorical import compile_categorical, count_values
from nbtext.bayes.class_statistics import count_classes, log_prior
from nbtext.bayes.multinomial import compile_multinomial
from nbtext.bayes.scorer import LinearScorer

# Manning, Raghavan, Schütze 2008, table 13.1; columns: beijing chinese japan macao shanghai tokyo
CHINA = np.array(
    [
        [1, 2, 0, 0, 0, 0],  # Chinese Beijing Chinese
        [0, 2, 0, 0, 1, 0],  # Chinese Chinese Shanghai
        [0, 1, 0, 1, 0, 0],  # Chinese Macao
        [0, 1, 1, 0, 0, 1],  # Tokyo Japan Chinese: not China
    ]
)
IS_CHINA = np.array([1, 1, 1, 0])
QUESTION = np.array([[0, 3, 1, 0, 0, 1]])  # Chinese Chinese Chinese Tokyo Japan


def joint_probabilities(scorer: LinearScorer, question: np.ndarray) -> np.ndarray:
    sample = sample_of(question, np.zeros(len(question), dtype=int))
    return np.exp(scorer.scores(sample.indptr, sample.indices, sample.counts))


def test_manning_multinomial() -> None:
    """P(c|d) ∝ 3/4 · (3/7)³ · 1/14 · 1/14 ≈ 0.0003, P(not c|d) ∝ 1/4 · (2/9)³ · 2/9 · 2/9 ≈ 0.0001
    (example 13.1).
    """
    statistics = statistics_of(CHINA, IS_CHINA, 2)
    scorer = compile_multinomial(statistics, smoothing=1).with_prior(
        log_prior(statistics.class_documents, "empirical")
    )
    # P(chinese|c) = (5 + 1) / (8 + 6) = 3/7; P(tokyo|c) = P(japan|c) = (0 + 1) / (8 + 6) = 1/14
    # P(chinese|not c) = P(tokyo|not c) = P(japan|not c) = (1 + 1) / (3 + 6) = 2/9
    expected = [1 / 4 * (2 / 9) ** 5, 3 / 4 * (3 / 7) ** 3 * (1 / 14) ** 2]
    np.testing.assert_allclose(joint_probabilities(scorer, QUESTION), [expected], rtol=1e-12)
    assert [round(value, 4) for value in expected] == [0.0001, 0.0003]


def test_manning_bernoulli() -> None:
    """P(c|d) ∝ 3/4 · 4/5 · 1/5 · 1/5 · (1 − 2/5)³ ≈ 0.005, P(not c|d) ∝ 1/4 · 2/3 · 2/3 · 2/3 · (1
    − 1/3)³ ≈ 0.022.
    """
    statistics = statistics_of(CHINA, IS_CHINA, 2)
    scorer = compile_categorical(statistics, smoothing=1).with_prior(
        log_prior(statistics.class_documents, "empirical")
    )
    # P(chinese|c) = (3 + 1) / (3 + 2) = 4/5; japan, tokyo: (0 + 1) / (3 + 2) = 1/5; the other
    # three: 2/5 (example 13.2)
    expected = [1 / 4 * (2 / 3) ** 3 * (2 / 3) ** 3, 3 / 4 * 4 / 5 * 1 / 5 * 1 / 5 * (3 / 5) ** 3]
    found = joint_probabilities(scorer, np.minimum(QUESTION, 1))
    np.testing.assert_allclose(found, [expected], rtol=1e-12)
    assert [round(value, 3) for value in expected] == [0.022, 0.005]


# DS 4400 (Elhamifar): seven mails by the words free, CAPS and call now; class 0 has three, class 1
# four. P(x1=1|0) = 2/3, P(x2=1|0) = 0, P(x3=1|0) = 2/3; P(x1=1|1) = 2/4, P(x2=1|1) = 0, P(x3=1|1) =
# 3/4
MAILS = np.array(list(map(list, ["101", "100", "001", "101", "101", "001", "000"])), dtype=int)
IS_SPAM = np.array([0, 0, 0, 1, 1, 1, 1])


def test_three_words_need_smoothing() -> None:
    """x = (0, 1, 0): no class has ever seen the second word; both probabilities are nothing, and
    smoothing decides.
    """
    statistics = statistics_of(MAILS, IS_SPAM, 2)
    unseen = np.array([[0, 1, 0]])
    unsmoothed = compile_categorical(statistics, smoothing=0).with_prior(
        log_prior(statistics.class_documents, "empirical")
    )
    assert (joint_probabilities(unsmoothed, unseen) < 1e-14).all()
    smoothed = compile_categorical(statistics, smoothing=1).with_prior(
        log_prior(statistics.class_documents, "empirical")
    )
    # class 0: 2/5 · 1/5 · 2/5 · 3/7; class 1: 3/6 · 1/6 · 2/6 · 4/7
    expected = [2 / 5 * 1 / 5 * 2 / 5 * 3 / 7, 3 / 6 * 1 / 6 * 2 / 6 * 4 / 7]
    np.testing.assert_allclose(joint_probabilities(smoothed, unseen), [expected], rtol=1e-12)


# Mitchell, Machine Learning, 1997, table 3.2: days by outlook (0 sunny, 1 overcast, 2 rain),
# temperature (0 hot, 1 mild, 2 cool), humidity (0 high, 1 normal) and wind (0 weak, 1 strong)
DAYS = np.array(
    list(
        map(
            list,
            [
                "0000",
                "0001",
                "1000",
                "2100",
                "2210",
                "2211",
                "1211",
                "0100",
                "0210",
                "2110",
                "0111",
                "1101",
                "1010",
                "2101",
            ],
        )
    ),
    dtype=int,
)
IS_PLAYED = np.array([0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0])


def test_mitchell_play_tennis() -> None:
    """Sunny, cool, high, strong: 9/14 · 2/9 · 3/9 · 3/9 · 3/9 = .0053 and 5/14 · 3/5 · 1/5 · 4/5 ·
    3/5 = .0206.
    """
    sample = sample_of(DAYS, IS_PLAYED)
    statistics = count_values(count_classes(sample, 4, 2), sample, n_values=3)
    scorer = compile_categorical(statistics, smoothing=0).with_prior(
        log_prior(statistics.class_documents, "empirical")
    )
    # section 6.9.1
    expected = [5 / 14 * 3 / 5 * 1 / 5 * 4 / 5 * 3 / 5, 9 / 14 * 2 / 9 * 3 / 9 * 3 / 9 * 3 / 9]
    np.testing.assert_allclose(
        joint_probabilities(scorer, np.array([[0, 2, 0, 1]])), [expected], rtol=1e-12
    )
    assert [round(value, 4) for value in expected] == [0.0206, 0.0053]


@pytest.mark.parametrize(("prior", "shares"), [("uniform", [0.5, 0.5]), ((1.0, 3.0), [0.25, 0.75])])
def test_priors(prior: str, shares: list[float]) -> None:
    """A prior is what it says, whatever the documents of each class are."""
    np.testing.assert_allclose(np.exp(log_prior(np.array([2, 9]), prior)), shares)

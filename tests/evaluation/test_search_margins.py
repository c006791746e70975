"""The margins of a model search: what they admit, and the errors of chance that they prevent."""

from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any, cast

import numpy as np
import pytest
from searched_texts import usual

from nbtext.bayes.settings import ModelSettings
from nbtext.evaluation import search
from nbtext.evaluation.search import Budget, Candidate, CandidateResult


@dataclass
class Known:
    """A search whose candidates have known accuracies."""

    accuracies: dict[Candidate, float]
    n_scored: int = 100
    rounds: dict[Candidate, tuple[int, float]] = field(default_factory=dict)
    n_documents: int = 10**6

    def get(self, candidate: Candidate) -> Any:
        return self

    def has_time(self, candidate: Candidate, corpus: Any, n_fits: float = 1.0) -> bool:
        return True

    def fit(self, candidate: Candidate, corpus: Any, *, folds: int = 5) -> Any:
        return search._Fit(candidate, cast(Any, None), (self.accuracies[candidate], 0.0))

    @property
    def results(self) -> dict[Candidate, CandidateResult]:
        return {
            each: CandidateResult(each, "accuracy", accuracy, 0.5, 0, self.n_scored, "", 0.0)
            for each, accuracy in self.accuracies.items()
        }


def candidates(n: int) -> list[Candidate]:
    first = next(each for each in usual() if each.is_linear)
    return [replace(first, model_settings=ModelSettings(model="svm", C=float(k + 1))) for k in range(n)]


def test_candidates_near_the_best_one_stay_in_the_race(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within 1.5 standard errors of a difference: with 4,096 documents and 0.9, that is 0.0099; others leave."""
    monkeypatch.setattr(search, "take_documents", lambda corpus, size: corpus)
    monkeypatch.setattr(Candidate, "is_small", lambda candidate, corpus: True)
    monkeypatch.setattr(search, "RACE_SIZES", (256, 4096))
    listed = candidates(6)
    error = sqrt(2 * 0.9 * 0.1 / 4096)
    accuracies = [0.9, 0.8, 0.8, 0.9 - 1.49 * error, 0.9 - 1.51 * error, 0.9 - 1.0 * error]
    known = Known(dict(zip(listed, accuracies, strict=True)))
    left = search._race(listed, cast(Any, known), cast(Any, known))
    assert left == [listed[0], listed[5], listed[3]]
    assert known.rounds[listed[1]] == (4096, 0.8)


@pytest.mark.parametrize(("n", "deviations"), [(100, 1.5), (400, 1.25), (10_000, 1.05)])
def test_what_is_clearly_better(n: int, deviations: float) -> None:
    """It is by one standard error of a difference, and with few documents by more: 5 / √n more."""
    (other,) = candidates(1)
    known = Known({other: 0.7}, n_scored=n)
    fit = known.fit(other, None)
    error = sqrt(2 * 0.7 * 0.3 / n)
    assert search._is_clear(0.7 + (deviations + 0.001) * error, fit, cast(Any, known))
    assert not search._is_clear(0.7 + (deviations - 0.001) * error, fit, cast(Any, known))


def test_the_margin_of_few_documents_prevents_changes_by_chance() -> None:
    """Of 20 candidates that are equally good, the best one of 60 documents is clear of the first half as often."""
    (other,) = candidates(1)
    random, n = np.random.default_rng(1), 60
    is_clear, without = [], []
    for _ in range(2000):
        is_right = random.random((n, 21)) < 0.7
        shared = random.random(n) < 0.5  # candidates agree on half of the documents
        accuracies = np.where(shared[:, None], is_right[:, :1], is_right).mean(axis=0)
        known = Known({other: float(accuracies[0])}, n_scored=n)
        best = float(accuracies[1:].max())
        is_clear.append(search._is_clear(best, known.fit(other, None), cast(Any, known)))
        without.append(best > accuracies[0] + sqrt(2 * accuracies[0] * (1 - accuracies[0]) / n))
    assert np.mean(is_clear) < 0.5 * np.mean(without)


def test_a_fit_begins_with_a_third_more_time_than_it_should_take() -> None:
    """Predicted times err, and a fit that does not end in time is lost: 13 s must be left for one of 10 s."""
    for left, is_allowed in ((13.1, True), (12.9, False)):
        assert Budget(left, lambda: 0.0).allows(10.0) is is_allowed

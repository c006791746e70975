"""What a discriminative model says of documents that it was not fitted to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.bayes.settings import ModelSettings
from nbtext.linear.logistic import logistic
from nbtext.linear.nbsvm import nbsvm
from nbtext.linear.solving import Aim, Corpus, Fit, Start, in_threads

LINEAR_MODELS: dict[str, Callable[..., Fit]] = {"logistic": logistic, "nbsvm": nbsvm}
ENOUGH = 1e-3  # the tolerance of folds: what they say of penalties and temperatures has more error than that
PATIENCE = 30  # rounds, for the same reason
ALWAYS_IN = -1  # the fold of a document that is never held out


def dealt(classes: NDArray[np.int32], n_folds: int, *, seed: int) -> NDArray[np.int64]:
    """The fold of each document, 0 to n_folds - 1: the documents of each class dealt out in a shuffled order.

    A document that is alone in its class is never held out, for without it nothing is known of the class: -1.
    """
    shuffled = np.random.default_rng(seed).permutation(len(classes))
    by_class = shuffled[np.argsort(classes[shuffled], kind="stable")]
    has_company = np.bincount(classes)[classes[by_class]] > 1
    folds = np.full(len(classes), ALWAYS_IN, dtype=np.int64)
    folds[by_class[has_company]] = np.arange(has_company.sum()) % n_folds  # on from class to class: equally large
    return folds


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Documents that are held out fold by fold, each time from the same model with another penalty."""

    corpus: Corpus
    settings: ModelSettings

    @cached_property
    def folds(self) -> NDArray[np.int64]:
        return dealt(self.corpus.sample.classes, self.settings.folds, seed=self.settings.seed)

    @cached_property
    def judged(self) -> NDArray[np.int64]:
        """The documents that are held out once."""
        return np.flatnonzero(self.folds != ALWAYS_IN)

    def scores(
        self, penalty: float, *, start: Start | list[Start] | None = None, jobs: int = 1
    ) -> tuple[Floats, list[Start]]:
        """Scores (n_judged, n_classes) of the judged documents by models without them, and where these stopped.

        start  from where to go on: a fit to all documents, or what this gave for another penalty
        """
        scores = np.zeros((len(self.folds), self.corpus.n_classes))

        def of_fold(fold: int) -> Start:
            training = np.flatnonzero(self.folds != fold)
            held_out = self.corpus.of(np.flatnonzero(self.folds == fold)).sample
            before = start.of(training) if isinstance(start, Start) else start[fold] if start is not None else None
            fit_model = LINEAR_MODELS[self.settings.model]
            fit = fit_model(
                self.corpus.of(training), Aim(penalty, ENOUGH, PATIENCE), settings=self.settings, start=before
            )
            scores[self.folds == fold] = fit.scorer.scores(held_out.indptr, held_out.indices, held_out.counts)
            return fit.start

        stops = in_threads(of_fold, range(self.settings.folds), jobs=jobs)
        return scores[self.judged], stops

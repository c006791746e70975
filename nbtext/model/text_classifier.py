"""The one object that is trained, saved and asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.leave_one_out import Run, one_by_one
from nbtext.bayes.outliers import log_likelihood_per_token, typicality, with_unknown_tokens
from nbtext.bayes.priors import log_prior
from nbtext.bayes.quantiles import Quantiles
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch
from nbtext.errors import InputError
from nbtext.features.counting import Counter, counter
from nbtext.features.csr import running_sums
from nbtext.features.plain_settings import as_settings
from nbtext.features.regex_timeout import refuse_long_texts
from nbtext.features.rows import Rows
from nbtext.features.settings import FeatureSettings
from nbtext.model.conventions import (
    check_paired,
    classifier_tags,
    listed_texts,
    named_labels,
    refuse_unfitted,
)
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts, note_too_long
from nbtext.model.decisions import decided
from nbtext.model.fitting import FittedModel, check_hashing, read, sample_size
from nbtext.model.folding import Counting, Executor, OnBatch, Threads, threads
from nbtext.model.predictions import Predictions
from nbtext.model.settings import MOST_PROBABLE, DecisionSettings

if TYPE_CHECKING:
    from nbtext.documents.matrix import Matrix
    from nbtext.documents.source import Source

Counted = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]
NO_TOKEN = "the document holds no token"
COUNTERS = ("_counter", "_viewer")  # of this process


def _no_parameter(name: str) -> str:
    return f"Invalid parameter {name!r} for estimator TextClassifier: it has no such setting"


class TextClassifier:
    """Learns labels from texts, and says how far each answer can be trusted.

    A scikit-learn classifier over texts. Its parameters are the fields of FeatureSettings and ModelSettings. Texts are
    any sequence of str: a list, an array, a column of pandas or polars. Labels that are no texts (numbers, say) are
    given back as they were; a model file holds them as texts.

    classes_    (n_classes,), the labels, sorted
    counts_      the counts it learned
    fitted_    the model that they were read as

    >>> classifier = TextClassifier(model="bernoulli").fit(["red round", "yellow long"], ["apple", "banana"])
    >>> classifier.predict(["red"]).tolist()
    ['apple']
    """

    fitted_: FittedModel
    labels: tuple[str, ...]
    _values: Mapping[str, Any] = {}  # of labels that are no texts: what each was

    def __init__(self, **options: Any) -> None:
        self.features = FeatureSettings()
        self.modelling = ModelSettings()
        for name in options:
            if name not in self.get_params():
                raise TypeError(_no_parameter(name))
        self.set_params(**options)

    @classmethod
    def of(cls, features: FeatureSettings, modelling: ModelSettings) -> TextClassifier:
        """A classifier with these settings, not trained yet."""
        classifier = cls()
        classifier.features, classifier.modelling = features, modelling
        return classifier

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every setting by its name."""
        return {
            field.name: getattr(settings, field.name)
            for settings in (self.features, self.modelling)
            for field in fields(settings)
        }

    def set_params(self, **options: Any) -> TextClassifier:
        """Change settings by their names; ValueError where there is none of that name, as in scikit-learn."""
        for name in options:
            if name not in self.get_params():
                raise ValueError(_no_parameter(name))
        names = {field.name for field in fields(self.features)}
        features = {name: options.pop(name) for name in list(options) if name in names}
        made = replace(self.features, **as_settings(FeatureSettings, features))
        self.modelling = replace(self.modelling, **as_settings(ModelSettings, options))
        self.features = made
        return self

    def __repr__(self) -> str:
        default = TextClassifier().get_params()
        given = (f"{name}={value!r}" for name, value in self.get_params().items() if value != default[name])
        return f"TextClassifier({', '.join(given)})"

    def fit(self, X: Iterable[str], y: Sequence[str]) -> TextClassifier:
        """Learn from texts X and their labels y, of the same length; InputError where they are not."""
        check_hashing(self.features, self.modelling)
        self._values = {}
        return self.fit_tally(self._tallied(X, y, sample_size(self.features, self.modelling)))

    def _tallied(self, X: Iterable[str], y: Sequence[Any], size: int | None) -> CorpusCounts:
        """The tally of texts and their labels, with a sample of this size."""
        texts = listed_texts(X)
        labels, values = named_labels(y)
        check_paired(len(texts), len(labels))
        ids = [str(number) for number in range(1, len(texts) + 1)]
        builder = CorpusCounter(self.features, sample_size=size)
        builder.add(Batch(ids, (texts,), list(labels)))
        self._values = {**self._values, **values}
        return builder.finish()

    def fit_source(
        self, source: Source, *, jobs: int = 1, on_batch: OnBatch | None = None, executor: Executor | None = None
    ) -> TextClassifier:
        """Learn from all documents of a source, in this many threads; the result does not depend on their number.

        executor  counts the documents instead of threads; `nbtext.cluster` has one for Dask
        """
        check_hashing(self.features, self.modelling)
        self.features = replace(self.features, fields=source.field_names)
        size = sample_size(self.features, self.modelling)
        tally = (executor or Threads(jobs)).tally(source, Counting(self.features, size), on_batch)
        if not tally.labels:
            raise InputError("there is no document to learn from")
        with threads(jobs) as run:
            return self.fit_tally(tally, run=run, jobs=jobs)

    def partial_fit(self, X: Iterable[str], y: Sequence[str], classes: Sequence[str] | None = None) -> TextClassifier:
        """Learn from more texts X and their labels y, new labels included; `classes` need not be known before."""
        from nbtext.model.growth import check_growth, learn, more_sample_size

        if "labels" not in self.__dict__:
            return self.fit(X, y)
        check_growth(self)
        return learn(self, self._tallied(X, y, more_sample_size(self)))

    def forget(self, X: Iterable[str], y: Sequence[str]) -> TextClassifier:
        """Take texts X with their labels y out again; ModelError, and no change, where they were never learned."""
        from nbtext.model.growth import forget

        return forget(self, self._tallied(X, y, None))

    def merge(self, *others: TextClassifier) -> TextClassifier:
        """Learn what others have learned by the same settings."""
        from nbtext.model.growth import merge

        return merge([self, *others])

    def fit_matrix(self, matrix: Matrix) -> TextClassifier:
        """Learn from a matrix of documents, and by its settings classify text."""
        from nbtext.model.matrices import features_of, tally_of

        self.features = features_of(matrix)
        return self.fit_tally(tally_of(matrix, self.features, keep_sample=self.modelling.keep_sample))

    def fit_tally(self, tally: CorpusCounts, *, run: Run[Any] = one_by_one, jobs: int = 1) -> TextClassifier:
        """Learn from counts."""
        reading = read(tally, self.features, self.modelling, run=run, jobs=jobs)
        return self.restore(tally.labels, reading, lambda: tally)

    def restore(
        self, labels: tuple[str, ...], reading: FittedModel, tally: Callable[[], CorpusCounts]
    ) -> TextClassifier:
        """Become what was learned before; the tally is called for only when it is needed."""
        self.labels, self.fitted_, self._counts = labels, reading, tally
        for cached in ("counts_", *COUNTERS):
            self.__dict__.pop(cached, None)
        return self

    def name_labels(self, values: Iterable[Any]) -> TextClassifier:
        """Give these values back as labels, where they are no texts, instead of the texts that they are written as."""
        _, self._values = named_labels(values)
        return self

    @cached_property
    def counts_(self) -> CorpusCounts:
        self._require_fitted()
        return self._counts()

    @property
    def classes_(self) -> NDArray[Any]:
        return np.asarray(self._label_values[self._order])

    @property
    def _label_values(self) -> NDArray[Any]:
        """What each of the labels stands for."""
        self._require_fitted()
        return np.array([self._values.get(label, label) for label in self.labels])

    @property
    def _order(self) -> NDArray[np.int64] | slice:
        """The places of the classes among the labels: texts and numbers are not sorted alike."""
        return np.argsort(self._label_values) if self._values else slice(None)

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle keeps: the counts, and not the way to them nor what is made of them."""
        if "fitted_" not in self.__dict__:
            return dict(self.__dict__)
        kept = {name: value for name, value in vars(self).items() if name not in COUNTERS}
        return {**kept, "counts_": self.counts_, "_counts": None}

    def _require_fitted(self) -> None:
        if "fitted_" not in self.__dict__:
            refuse_unfitted(self)

    def __sklearn_is_fitted__(self) -> bool:
        return "fitted_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        return classifier_tags(takes_texts=True)

    @property
    def class_log_prior_(self) -> NDArray[np.float64]:
        """The logarithm of each class's prior probability, of a model of counts: shape (n_classes,)."""
        if self.fitted_.unlabeled is not None:
            return np.array(self.fitted_.unlabeled.log_prior)
        return log_prior(self.counts_.statistics.class_documents, self.modelling.effective_prior)

    @cached_property
    def _counter(self) -> Counter:
        return counter(self.features, self.fitted_.features)

    @cached_property
    def _viewer(self) -> Counter:
        """Another one, for looking at what was answered: what is too long is said once."""
        return counter(self.features, self.fitted_.features)

    def predict_batch(self, batch: Batch, decisions: DecisionSettings = MOST_PROBABLE) -> Predictions:
        """Answer every document of a batch, in order; one that cannot be answered says why."""
        refuse_long_texts(batch, self.features)
        return self.answers(batch, self.counted(batch.columns), decisions)

    def answers(self, batch: Batch, found: Counted, decisions: DecisionSettings = MOST_PROBABLE) -> Predictions:
        """Answer a batch by what `counted` found in it."""
        scores, n_tokens, n_known = found
        note_too_long(batch, self._counter)
        choice = self.fitted_.choice
        log_posterior = choice.log_posterior(scores, n_known)
        probabilities, chosen = np.exp(log_posterior), choice.decided(log_posterior)
        labels: list[str | None] = [self.labels[k] for k in chosen.tolist()]
        reasons: list[str | None] = [None] * len(batch)
        for row in np.flatnonzero(n_tokens == 0).tolist():
            labels[row], reasons[row] = None, NO_TOKEN
        for row, problem in batch.problems.items():
            labels[row], reasons[row] = None, str(problem)
            probabilities[row] = np.nan
        known = np.divide(n_known, n_tokens, out=np.zeros(len(batch)), where=n_tokens > 0)
        unflagged: list[bool | None] = [None] * len(batch)
        answers = Predictions(
            batch.ids, labels, self.labels, probabilities, known, unflagged, reasons, batch.labels, chosen
        )
        if choice.likelihoods is not None:
            self._flag(answers, choice.likelihoods, scores, n_tokens, n_known)
        answers = decided(answers, choice, decisions)
        if decisions.explain is None:
            return answers
        from nbtext.model.explanation import with_explanations

        return with_explanations(self, batch, found, answers, n_features=decisions.explain)

    def _flag(
        self,
        answers: Predictions,
        typical: Quantiles,
        scores: NDArray[np.float64],
        n_tokens: NDArray[np.int64],
        n_known: NDArray[np.int64],
    ) -> None:
        """Say of each document how likely it is, and whether that makes it an outlier."""
        complete = with_unknown_tokens(scores, self.fitted_.scorer.default, n_tokens - n_known)
        likelihoods = log_likelihood_per_token(complete, n_tokens)
        answers.likelihoods, answers.typicality = likelihoods, typicality(likelihoods, typical)
        lowest = self.fitted_.choice.outlier_threshold
        if lowest is not None:
            answers.outliers = [None if math.isnan(found) else found < lowest for found in likelihoods.tolist()]

    def predict(self, X: Iterable[str]) -> NDArray[np.str_]:
        """The label of each text, shape (n_documents,): the most probable one unless `optimize` shifts the decision."""
        log_posterior = self._log_posterior(X)
        return np.asarray(self._label_values[self.fitted_.choice.decided(log_posterior)])

    def predict_proba(self, X: Iterable[str]) -> NDArray[np.float64]:
        """The probability of each label, shape (n_documents, n_classes), in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Iterable[str]) -> NDArray[np.float64]:
        """The natural logarithm of each label's probability, shape (n_documents, n_classes)."""
        return np.asarray(self._log_posterior(X)[:, self._order])

    def _log_posterior(self, X: Iterable[str]) -> NDArray[np.float64]:
        """The same in the order of the labels."""
        self._require_fitted()
        scores, _, n_known = self.counted((listed_texts(X),))
        return self.fitted_.choice.log_posterior(scores, n_known)

    def rows(self, columns: tuple[list[str], ...]) -> Rows:
        """The counts of the features that the model knows."""
        return self._viewer.rows(columns)

    def score(self, X: Iterable[str], y: Sequence[str]) -> float:
        """The share of texts whose label is predicted right; InputError where there are none, or not as many labels."""
        predicted = self.predict(X)
        check_paired(len(predicted), len(y))
        if not len(predicted):
            raise InputError("there is no text to judge by")
        return float((predicted == np.array(y)).mean())

    def counted(self, columns: tuple[list[str], ...]) -> Counted:
        """The scores of texts by their fields, shape (n_documents, n_classes), and the tokens of each: all, known."""
        if self.fitted_.scorer.derivation is not None:
            return self._derived_scores(columns)
        return self._counter.scores(columns, self.fitted_.weighting, self.fitted_.scorer)

    def _derived_scores(self, columns: tuple[list[str], ...]) -> Counted:
        """The same where the scorer looks at more than the features' weights: by way of the matrix."""
        rows = self._counter.rows(columns)
        weights = self.fitted_.weighting.weights(rows.indptr, rows.indices, rows.counts)
        scores = self.fitted_.scorer.scores(rows.indptr, rows.indices, weights)
        return scores, rows.n_tokens, np.diff(running_sums(rows.counts)[rows.indptr])

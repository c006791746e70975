"""`TextClassifier`: the Python interface of nbtext, a classifier of texts with the interface of
scikit-learn.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.arrays import Array, Floats, Integers
from nbtext.bayes.prevalence import Prevalence
from nbtext.bayes.settings import BEST, ModelSettings
from nbtext.documents.source import Source
from nbtext.errors import AssumptionWarning, InputError, SettingsError
from nbtext.features.analyzer import has_own_pattern
from nbtext.features.matrix import Matrix
from nbtext.features.settings import FeatureSettings
from nbtext.features.word_lists import describe_unmatched
from nbtext.model import growth, sklearn_compat
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.explanation import Explainer, Explanation
from nbtext.model.fitted_model import FittedModel, TrainedModel, make_trained_model
from nbtext.model.fitting import leave_one_out_probabilities
from nbtext.model.predictor import Predictor, Scores, decide
from nbtext.model.sklearn_compat import GivenDocuments, GivenLabels
from nbtext.model.source_counting import CountingTask, count_in_threads
from nbtext.model.training import (
    Training,
    check_features,
    find_step,
    sample_size,
    train_model,
    train_on_counts,
)
from nbtext.numerics import exp
from nbtext.parallel import parallel_map
from nbtext.registry import load_method

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


class TextClassifier:
    """A classifier of texts, by Naive Bayes or a linear model.

    It follows scikit-learn's conventions without importing it. Texts are any iterable of str, such
    as a list or a column of pandas. Labels are str, int, float or bool, all of one kind. The
    parameters are those of `nbtext train`. model="best" searches the most accurate model as `nbtext
    train --model best` does. After a vectorizer, X may be its matrix of
    counts or weights, (n_documents, n_columns), sparse or an array: then the columns are the
    features.

    Attributes
    ----------
    classes_ : (n_classes,)
        The labels, sorted; the numbers of the columns if `y` was an indicator matrix.
    class_log_prior_ : (n_classes,)
        Natural logarithm of each class's prior probability.
    leave_one_out_predict_proba_ : (n_documents, n_classes)
        After `fit`: the probabilities of each text under the model of all others (about 4,096 of
        them make the estimate of model="auto"). NaN for texts not left out: the only one of a
        label, and all but 16,384 of many.
    model_ : TrainedModel
        The fitted model (`fitted_`) and the counts that it was fitted to (`counts_`), as plain
        data.

    Examples
    --------
    >>> classifier = TextClassifier(model="bernoulli")
    >>> classifier = classifier.fit(["red round", "yellow long"], ["apple", "banana"])
    >>> classifier.predict(["red"]).tolist()
    ['apple']
    """

    feature_settings: FeatureSettings
    model_settings: ModelSettings
    _model: TrainedModel | None = None
    _predictor: Predictor | None = None
    _rows: Integers | None = None  # the text of each document of the retained sample
    _n_fitted: int = 0
    _is_search: bool = False  # model="best"

    def __init__(self, **parameters: Any) -> None:
        self.feature_settings = FeatureSettings()
        self.model_settings = ModelSettings()
        if unknown := sorted(parameters.keys() - self.get_params().keys()):
            raise TypeError(f"TextClassifier() got an unexpected keyword argument {unknown[0]!r}")
        self.set_params(**parameters)

    @classmethod
    def from_settings(
        cls, features: FeatureSettings, model_settings: ModelSettings
    ) -> TextClassifier:
        """Return a classifier with these settings, not fitted yet."""
        classifier = cls()
        classifier.feature_settings = features
        classifier.model_settings = model_settings
        return classifier

    @classmethod
    def from_model(cls, model: TrainedModel) -> TextClassifier:
        """Return a classifier that predicts with a trained model.

        Its parameters are those of the model, without what only the documents of the model had:
        fields.
        """
        features, settings = model.fitted.requested_settings
        return cls.from_settings(replace(features, fields=()), settings)._become(model)

    @classmethod
    def from_sklearn(cls, pipeline: Any) -> TextClassifier:
        """Return the classifier that equals to a fitted scikit-learn pipeline of Naive Bayes.

        Its steps are CountVectorizer or TfidfVectorizer, optionally TfidfTransformer, then
        MultinomialNB, BernoulliNB or ComplementNB; ModelError if they have an option that nbtext
        does not support. nbtext does not load pickles, which can execute any code.
        """
        return cls.from_model(load_method("from_sklearn")(pipeline))

    def to_sklearn(self) -> Pipeline:
        """Return the fitted scikit-learn pipeline with the labels and probabilities of this model
        without its calibration: scikit-learn has no temperature that depends on the length of a
        text. Where labels depend on that temperature, the model is refused.

        ImportError: scikit-learn is not installed. ModelError: no pipeline predicts as this model
        does, such as one of several labels. A pipeline counts words of any length, nbtext those of
        at most 65,535 bytes.
        """
        return load_method("to_sklearn")(self.fitted_)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> TextClassifier:
        """Return the classifier of a model file, without executing code; ArtifactError if it is not
        a valid model.
        """
        from nbtext.artifact.model import load_model_file

        return cls.from_model(load_model_file(path))

    def save(self, path: str | PathLike[str]) -> None:
        """Write a model file, completely or not at all; equal classifiers give equal bytes."""
        from nbtext.artifact.model import save_model_file

        save_model_file(self.model_, path)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters by name."""
        found = sklearn_compat.list_parameters(self.feature_settings, self.model_settings)
        return found | {"model": BEST} if self._is_search else found

    def set_params(self, **parameters: Any) -> TextClassifier:
        """Change parameters by name; they take effect at the next `fit`.

        Raises
        ------
        ValueError
            There is no such parameter, or a value is invalid. Then nothing changes.
        """
        is_search = parameters["model"] == BEST if "model" in parameters else self._is_search
        known = {**parameters, "model": BEST} if is_search else parameters
        changed = sklearn_compat.change_parameters(
            known, self.feature_settings, self.model_settings
        )
        self.feature_settings, self.model_settings = changed
        self._is_search = is_search
        return self

    def __repr__(self) -> str:
        given = (f"{name}={value!r}" for name, value in self._given.items())
        return f"TextClassifier({', '.join(given)})"

    @property
    def _given(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        default = TextClassifier().get_params()
        return {name: value for name, value in self.get_params().items() if value != default[name]}

    def fit(
        self,
        X: Iterable[str],
        y: Sequence[Any] | None = None,
        sample_weight: Sequence[float] | None = None,
        *,
        unlabeled: Iterable[str] | None = None,
        **options: Any,
    ) -> TextClassifier:
        """Fit to texts X and labels y; InputError if they are not texts and labels, or their
        lengths differ.

        y  a label for each text; or a list of labels for each, or an indicator matrix, and
           `predict` returns the same; or soft labels: shares (n_documents, n_labels) that sum to 1
           in each row, or a dict of them for each text. None: the options are `keywords`
        sample_weight  (n_documents,), how often each text counts, from 1/256 on in steps of 1/256;
                       None: once
        unlabeled  further texts, without labels
        options  what else `nbtext train` can learn from: `em=10` of unlabeled texts, and
                 `keywords={"spam": ("free", "prize money"), …}`
        """
        for name, sentence in describe_unmatched(self.feature_settings).items():
            warnings.warn(f"{name}: {sentence}", AssumptionWarning, stacklevel=2)
        features = self.feature_settings
        settings = self.model_settings
        documents = sklearn_compat.read_documents(X, features)
        given = None
        if y is not None or "keywords" not in options:
            given = sklearn_compat.read_labels(y, sample_weight)
        source = GivenDocuments(documents, given)
        source.batch.row_numbers = range(source.n_documents)
        if isinstance(documents, Matrix):
            self._refuse_search("X is a matrix")
            check_features(features, settings, is_counted=True)
            task = CountingTask(features, sample_size(features, settings))
            counts = count_in_threads(source, task, 1)
            sklearn_compat.check_matrix_settings(features, settings, counts)
            model = train_on_counts(counts, features, settings)
            model = replace(model, fitted=replace(model.fitted, input=documents.input))
        else:
            texts = sklearn_compat.list_texts(unlabeled or (), features)
            others = None if unlabeled is None else GivenDocuments(texts, None)
            model = self._train(source, others, options)
        counts = model.counts
        rows = counts.sample.rows
        counts = replace(counts, sample=replace(counts.sample, rows=None))
        self._become(make_trained_model(model.fitted, counts), given)
        self._rows = rows
        self._n_fitted = source.n_documents
        return self

    def _train(
        self, source: Source, unlabeled: Source | None, options: Mapping[str, Any], jobs: int = 1
    ) -> TrainedModel:
        """Return a model of a source, with options of applications."""
        given = self._given
        others = {} if unlabeled is None else {"unlabeled": unlabeled}
        step = find_step("train", {**given, **others, **options})
        for name in options:
            if not hasattr(step and step.settings, name):
                raise TypeError(f"fit() got an unexpected keyword argument {name!r}")
        return train_model(
            Training(
                labeled=lambda: nullcontext((source, None)),
                unlabeled=None if unlabeled is None else lambda: nullcontext((unlabeled, None)),
                settings=self.model_settings,
                features=self.feature_settings,
                way=BEST if self._is_search else None,
                given=given,
                step=step,
                jobs=jobs,
            )
        )

    def _refuse_search(self, because: str) -> None:
        """Raise SettingsError if the model is to be searched, but there are no texts that can be
        counted again.
        """
        if self._is_search:
            raise SettingsError(
                f"best needs texts, but {because}", where="model", hint="choose one model"
            )

    def fit_source(
        self, source: Source, *, jobs: int = 1, unlabeled: Source | None = None, **options: Any
    ) -> TextClassifier:
        """Fit to all documents of a source, in `jobs` threads; the result does not depend on their
        number.

        The fields of the source decide whether their words are different features. See `fit` for
        unlabeled documents and options.
        SettingsError: a model is to be searched, and the source is a matrix.
        """
        if self.feature_settings.fields not in ((), source.field_names):
            raise SettingsError("the source has other fields", where="fields", hint="leave it out")
        return self._become(self._train(source, unlabeled, options, jobs))

    def fit_matrix(self, matrix: Matrix) -> TextClassifier:
        """Fit to a matrix of documents; its settings, not those of this classifier, make features
        of texts to predict.

        InputError if a parameter of features is given that is not that of the matrix.
        """
        from nbtext.model.matrices import train_on_matrix

        self._refuse_search("they are a matrix")
        sklearn_compat.refuse_features(
            self.feature_settings, "the matrix has its features", asdict(matrix.features)
        )
        return self._become(train_on_matrix(matrix, self.model_settings))

    def partial_fit(
        self,
        X: Iterable[str],
        y: Sequence[Any],
        classes: Sequence[Any] | None = None,
        sample_weight: Sequence[float] | None = None,
    ) -> TextClassifier:
        """Train on more texts X and their labels y (see `fit`); new labels are added, and `classes`
        is ignored.
        """
        if self._model is None:
            return self.fit(X, y, sample_weight)
        growth.check_growth(self._model)
        given = sklearn_compat.read_labels(y, sample_weight)
        counts = self._count_more(X, given, growth.growth_sample_size(self._model))
        model = growth.update_with_counts(self._model, counts)
        if model.fitted.label_columns is not None and given.n_columns is not None:
            n_columns = max(given.n_columns, model.fitted.label_columns)
            model = replace(model, fitted=replace(model.fitted, label_columns=n_columns))
        return self._become(model)

    def forget(
        self, X: Iterable[str], y: Sequence[Any], sample_weight: Sequence[float] | None = None
    ) -> TextClassifier:
        """Remove texts X with their labels y from the model, as if it had not been trained on them.

        ModelError, and no change, if the counts show that the model was not trained on them.
        """
        given = sklearn_compat.read_labels(y, sample_weight)
        return self._become(growth.forget_counts(self.model_, self._count_more(X, given, None)))

    def merge(self, *others: TextClassifier) -> TextClassifier:
        """Add the training documents of other classifiers with the same parameters."""
        return self._become(growth.merge_models([self.model_, *(other.model_ for other in others)]))

    def predict(self, X: Iterable[str], *, jobs: int = 1) -> Any:
        """Return the label of each text, shape (n_documents,), None where `min_precision` withholds
        it; with several labels, a tuple for each, or a matrix.

        jobs  number of threads that count the features of texts; the result does not depend on it
        """
        scores = self._score(X, jobs)
        found = decide(self.fitted_.task, scores.evidence, scores.known)
        return sklearn_compat.convert_labels(self.fitted_, found.labels)

    def predict_proba(self, X: Iterable[str], *, jobs: int = 1) -> Floats:
        """Return the probability of each label, shape (n_documents, n_classes), in the order of
        `classes_`.
        """
        return exp(self.predict_log_proba(X, jobs=jobs))

    def predict_log_proba(self, X: Iterable[str], *, jobs: int = 1) -> Floats:
        """Return the natural logarithms of the probabilities, shape (n_documents, n_classes)."""
        return self._arrange(self._log_posterior(X, jobs), absent=-np.inf)

    def decision_function(self, X: Iterable[str], *, jobs: int = 1) -> Floats:
        """Return log-probabilities plus decision offsets; the largest one determines the label.

        Shape (n_documents, n_classes); with two labels (n_documents,), the log-odds of the second
        one. If texts have several labels, log-odds minus those of the threshold; a label is
        predicted from 0 on.
        """
        return sklearn_compat.decision_values(self.fitted_, self._log_posterior(X, jobs))

    def score(self, X: Iterable[str], y: Sequence[Any]) -> float:
        """Return the accuracy on texts X with labels y; with several labels, all of a text must be
        correct.
        """
        return sklearn_compat.accuracy(self.predict(X), y)

    def explain(
        self, X: Iterable[str], *, label: Any = None, against: Any = None
    ) -> list[Explanation]:
        """Return for each text the terms that add up to the log-odds of its label.

        label    the label to explain; None: the predicted one
        against  the label to compare with; None: the most probable other one
        """
        label, against = (None if each is None else str(each) for each in (label, against))
        batch = sklearn_compat.text_batch(
            sklearn_compat.list_texts(X, self.fitted_.feature_settings)
        )
        return Explainer(self.fitted_).explain_batch(batch, label=label, against=against)

    def prevalence(self, X: Iterable[str]) -> Prevalence:
        """Estimate the share of each label among texts X, with 95 % intervals, as `nbtext
        prevalence` does.
        """
        texts = sklearn_compat.list_texts(X, self.fitted_.feature_settings)
        found: Prevalence = load_method("prevalence")(self.model_, texts)
        return found

    @property
    def model_(self) -> TrainedModel:
        if self._model is None:
            sklearn_compat.refuse_unfitted(self)
        return self._model

    @property
    def fitted_(self) -> FittedModel:
        return self.model_.fitted

    @property
    def counts_(self) -> CorpusCounts:
        return self.model_.counts

    @property
    def leave_one_out_predict_proba_(self) -> Floats:
        if self._rows is None:
            raise AttributeError(
                "leave_one_out_predict_proba_ exists only after fit, not after load or partial_fit"
            )
        rows, found = leave_one_out_probabilities(self.model_)
        spread = np.full((self._n_fitted, len(self.classes_)), np.nan)
        spread[self._rows[rows]] = self._arrange(found, absent=0)
        return spread

    @property
    def classes_(self) -> Array:
        return sklearn_compat.label_values(self.fitted_)

    @property
    def class_log_prior_(self) -> Floats:
        return self._arrange(self.fitted_.log_prior, absent=-np.inf)

    def _arrange(self, values: Floats, *, absent: float) -> Floats:
        return sklearn_compat.arrange_columns(self.fitted_, values, absent=absent)

    def _become(self, model: TrainedModel, given: GivenLabels | None = None) -> TextClassifier:
        """Predict with a model, whose labels are of the type of the given ones."""
        if given is not None:
            fitted = replace(model.fitted, label_type=given.type, label_columns=given.n_columns)
            model = replace(model, fitted=fitted)
        self._model = model
        self._predictor = None
        self._rows = None
        return self

    def _count_more(self, X: Any, given: GivenLabels, size: int | None) -> CorpusCounts:
        """Return the counts of texts or rows that are added to the model, or removed from it."""
        fitted = self.fitted_
        settings = fitted.feature_settings
        documents = sklearn_compat.read_documents(X, settings, fitted)
        if given.labels and given.type != fitted.label_type:
            raise InputError(
                f"the labels are {given.type}, and those of the model are {fitted.label_type}"
            )
        return count_in_threads(GivenDocuments(documents, given), CountingTask(settings, size), 1)

    def _log_posterior(self, X: Iterable[str], jobs: int) -> Floats:
        """Return log-probabilities in the order of the model's classes."""
        return self.fitted_.task.log_probabilities(*self._score(X, jobs).evidence)

    def _score(self, X: Iterable[str], jobs: int) -> Scores:
        if jobs < 1:
            raise ValueError(f"jobs is a number of threads, at least 1, not {jobs}")
        documents = sklearn_compat.read_documents(X, self.fitted_.feature_settings, self.fitted_)
        if self._predictor is None:
            self._predictor = Predictor(self.fitted_)
        predictor = self._predictor

        def score(part: list[str] | Matrix) -> Scores:
            return predictor.score(part if isinstance(part, Matrix) else (part,))

        if isinstance(documents, Matrix) or len(documents) <= jobs:
            return score(documents)
        jobs = 1 if has_own_pattern(self.fitted_.feature_settings) else jobs
        size = -(-len(documents) // jobs)
        parts = [documents[start : start + size] for start in range(0, len(documents), size)]
        scores = zip(*parallel_map(score, parts, jobs=jobs), strict=True)
        return Scores(*map(np.concatenate, scores))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_predictor": None}

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None

    def __sklearn_tags__(self) -> Any:
        return sklearn_compat.classifier_tags()


def restore(stored: dict[str, Any]) -> TextClassifier:
    """Return the classifier of the entries of a model file, as checked as by `load`: `joblib.load`
    calls it, because the file names it.
    """
    from nbtext.artifact.model import restore_model

    return TextClassifier.from_model(restore_model(stored.get("header"), stored.get("data")))


sklearn_compat.document_parameters(TextClassifier, FeatureSettings, ModelSettings)

"""`TextClassifier`: the Python interface of nbtext, a classifier of texts with the interface of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.settings import GROUP_FIELD, ModelSettings
from nbtext.errors import in_python_terms
from nbtext.features.settings import FeatureSettings
from nbtext.model import growth
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.explanation import Explanation
from nbtext.model.fitted_model import FittedModel, TrainedModel
from nbtext.model.groups import name_groups
from nbtext.model.left_out import leave_one_out_probabilities
from nbtext.model.multilabel_explanation import explain_batch
from nbtext.model.predictor import Predictor
from nbtext.model.sklearn_compat import (
    change_parameters,
    classifier_tags,
    list_parameters,
    list_texts,
    refuse_unfitted,
    spread_rows,
    text_batch,
)
from nbtext.model.sklearn_multilabel import (
    accuracy,
    arrange_columns,
    count_columns,
    count_texts,
    decide,
    decision_values,
    label_values,
)
from nbtext.model.training import check_hashing, sample_size, train_on_counts, train_on_source

if TYPE_CHECKING:
    from nbtext.documents.matrix import Matrix
    from nbtext.documents.source import Source
    from nbtext.model.prevalence import Prevalence


@in_python_terms
class TextClassifier:
    """A classifier of texts, by Naive Bayes or a linear model.

    It follows scikit-learn's conventions without importing it. Texts are any iterable of str, such as a list or a
    column of pandas. Labels are str, int, float or bool, all of one kind. The parameters are those of `nbtext train`.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"}
        The unit of features: words, characters, or characters within words.
    ngrams : (int, int)
        The shortest and the longest n-gram.
    token_pattern : str, optional
        A regular expression for a token; None is ``(?u)\\b\\w\\w+\\b``.
    lowercase : bool
        Convert texts to lower case.
    strip_accents : {"unicode", "ascii"}, optional
        Remove accents, or all characters that are not ASCII afterwards.
    stop_words : tuple of str or "english"
        Words that are not features.
    stem : str, optional
        Stem words by Snowball's algorithm for this language.
    fields : tuple of str
        Text fields whose words are different features. `fit_source` sets it.
    min_df, max_df : int or float
        Leave out features in fewer, or more, documents: an int is a number of documents, a float a share of them.
    max_features : int, optional
        Keep only the most frequent features.
    vocabulary : tuple of str, optional
        The features to count; all others are ignored.
    hash_bits : int, optional
        Hash features into 2^hash_bits columns; no vocabulary is kept.
    select : (str, int), optional
        ("mi", n) or ("chi2", n): keep the n features with the highest mutual information or chi-squared statistic.
    tf, idf, norm : str
        Term-frequency scaling: "count", "binary", "relative" or "log"; inverse-document-frequency variant: "none",
        "plain", "plus-one" or "smooth"; norm to which each document is scaled: "none", "l1" or "l2".
    model : str
        "auto" selects multinomial or complement, on counts or binary counts, by leave-one-out accuracy. Others:
        "multinomial", "bernoulli", "complement", "categorical", "gaussian", "logistic", "nbsvm" or "svm".
    smoothing : float, optional
        Additive smoothing of an event model; None selects it by leave-one-out.
    prior : "empirical", "uniform" or tuple of float, optional
        Class priors, or a weight for each label in sorted order; None is "uniform" for complement, else "empirical".
    class_weight : "balanced" or dict of label to float, optional
        How many documents one of a label counts as, in the class prior or a linear model's loss; "balanced": equal sums
    calibrate : bool
        Calibrate probabilities with leave-one-out scores.
    optimize : {"accuracy", "macro_f1", "log_loss"}, optional
        Fit decision offsets (for log_loss a prior adjustment) that optimize this metric on leave-one-out scores.
    min_recall, min_precision : dict of label to float, optional
        Minimum recall or precision of labels on new documents, such as {"ham": 0.995}, by decision offsets that are
        chosen on leave-one-out scores.
    confidence : float
        Probability that new documents meet each of these targets.
    normalize_weights : bool
        complement: scale each class's weights to sum to 1.
    values : int
        categorical: distinguish the counts 0 to values - 1; larger counts are values - 1.
    keep_sample : int, optional
        Retain the counts of this many documents, so that updates select the smoothing again.
    group : {"near-duplicates", "field"}, optional
        What leave-one-out leaves out together: near duplicates, or the `groups` that `fit` is given, which sets this.
    C : float or "auto"
        logistic, nbsvm, svm: inverse regularization strength; "auto" selects it by cross-validation.
    loss : {"squared-hinge", "logistic"}
        nbsvm: loss function.
    interpolation, ratio_smoothing : float
        nbsvm: from 0 (log-count ratios alone) to 1 (support vector machine); additive smoothing of the ratios.
    folds, seed : int
        logistic, nbsvm, svm: folds for calibration and the selection of C; seed of the order of documents.

    Attributes
    ----------
    classes_ : (n_classes,)
        The labels, sorted; the numbers of the columns if `y` was an indicator matrix.
    class_log_prior_ : (n_classes,)
        Natural logarithm of each class's prior probability.
    leave_one_out_predict_proba_ : (n_documents, n_classes)
        After `fit`: the probabilities of each text under the model of all others (about 4,096 of them make the estimate
        of model="auto"). NaN for texts not left out: the only one of a label, and all but 16,384 of many.
    model_ : TrainedModel
        The fitted model (`fitted_`) and the counts that it was fitted to (`counts_`), as plain data.

    Examples
    --------
    >>> classifier = TextClassifier(model="bernoulli").fit(["red round", "yellow long"], ["apple", "banana"])
    >>> classifier.predict(["red"]).tolist()
    ['apple']
    """

    feature_settings: FeatureSettings
    model_settings: ModelSettings
    _model: TrainedModel | None = None
    _predictor: Predictor | None = None
    _rows: NDArray[np.int64] | None = None  # the text of each document of the retained sample
    _n_fitted: int = 0
    _n_columns: int | None = None  # of the indicator matrix of labels

    def __init__(  # noqa: PLR0913 - scikit-learn reads the parameters from here
        self,
        *,
        analyzer: str = "word",
        ngrams: tuple[int, int] = (1, 1),
        token_pattern: str | None = None,
        lowercase: bool = True,
        strip_accents: str | None = None,
        stop_words: Iterable[str] | str = (),
        stem: str | None = None,
        fields: Iterable[str] = (),
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        vocabulary: Iterable[str] | None = None,
        hash_bits: int | None = None,
        select: tuple[str, int] | None = None,
        tf: str = "count",
        idf: str = "none",
        norm: str = "none",
        model: str = "auto",
        smoothing: float | str | None = None,
        prior: str | Iterable[float] | None = None,
        class_weight: str | Mapping[Any, float] | Iterable[tuple[Any, float]] | None = None,
        calibrate: bool = True,
        optimize: str | None = None,
        min_recall: Mapping[Any, float] | Iterable[tuple[Any, float]] = (),
        min_precision: Mapping[Any, float] | Iterable[tuple[Any, float]] = (),
        confidence: float = 0.95,
        normalize_weights: bool = False,
        values: int = 4,
        keep_sample: int | None = None,
        group: str | None = None,
        C: float | str = 1.0,
        loss: str = "squared-hinge",
        interpolation: float = 1.0,
        ratio_smoothing: float = 1.0,
        folds: int = 5,
        seed: int = 0,
    ) -> None:
        parameters = {name: value for name, value in locals().items() if name != "self"}
        self.feature_settings, self.model_settings = FeatureSettings(), ModelSettings()
        self.set_params(**parameters)

    @classmethod
    def from_settings(cls, features: FeatureSettings, model_settings: ModelSettings) -> TextClassifier:
        """Return a classifier with these settings, not fitted yet."""
        classifier = cls()
        classifier.feature_settings, classifier.model_settings = features, model_settings
        return classifier

    @classmethod
    def from_model(cls, model: TrainedModel) -> TextClassifier:
        """Return a classifier that predicts with a trained model."""
        classifier = cls.from_settings(*model.fitted.requested_settings)
        return classifier._become(model)

    @classmethod
    def from_sklearn(cls, pipeline: Any) -> TextClassifier:
        """Return the classifier that is equivalent to a scikit-learn pipeline of Naive Bayes; see nbtext.export."""
        from nbtext.export.sklearn_pipeline import from_sklearn

        return cls.from_model(from_sklearn(pipeline))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> TextClassifier:
        """Return the classifier of a model file, without executing code; ArtifactError if it is not a valid model."""
        from nbtext.artifact.model import load_model

        return cls.from_model(load_model(path))

    def save(self, path: str | PathLike[str]) -> None:
        """Write a model file, completely or not at all; equal classifiers give equal bytes."""
        from nbtext.artifact.model import save_model

        save_model(self.model_, path)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters by name."""
        return list_parameters(self.feature_settings, self.model_settings)

    def set_params(self, **parameters: Any) -> TextClassifier:
        """Change parameters by name; they take effect at the next `fit`.

        Raises
        ------
        ValueError
            There is no such parameter, or a value is invalid. Then nothing changes.
        """
        changed = change_parameters(parameters, self.feature_settings, self.model_settings)
        self.feature_settings, self.model_settings = changed
        return self

    def __repr__(self) -> str:
        default = TextClassifier().get_params()
        given = (f"{name}={value!r}" for name, value in self.get_params().items() if value != default[name])
        return f"TextClassifier({', '.join(given)})"

    def fit(self, X: Iterable[str], y: Sequence[Any], *, groups: Sequence[Any] | None = None) -> TextClassifier:
        """Fit to texts X and labels y; InputError if they are not texts and labels, or their lengths differ.

        y       a label for each text; or a list of labels for each, or an indicator matrix, and `predict` returns the
                same
        groups  the group of each text, such as its author; leave-one-out leaves out whole groups
        """
        if groups is not None:
            self.set_params(group=GROUP_FIELD)
        check_hashing(self.feature_settings, self.model_settings)
        counts, label_type, rows = self._count(X, y, sample_size(self.feature_settings, self.model_settings))
        if groups is not None:
            counts = name_groups(counts, groups, rows)
        self.fit_counts(counts, label_type=label_type)
        self._rows, self._n_fitted, self._n_columns = rows, counts.statistics.n_documents, count_columns(y)
        return self

    def fit_source(self, source: Source, *, jobs: int = 1) -> TextClassifier:
        """Fit to all documents of a source, in `jobs` threads; the result does not depend on their number."""
        model = train_on_source(source, self.feature_settings, self.model_settings, jobs=jobs)
        self.feature_settings, _ = model.fitted.requested_settings
        return self._become(model)

    def fit_matrix(self, matrix: Matrix) -> TextClassifier:
        """Fit to a matrix of documents; its settings make features of the texts to predict."""
        from nbtext.model.matrices import train_on_matrix

        model = train_on_matrix(matrix, self.model_settings)
        self.feature_settings, _ = model.fitted.requested_settings
        return self._become(model)

    def fit_counts(self, counts: CorpusCounts, *, label_type: str = "str") -> TextClassifier:
        """Fit to a counted corpus."""
        model = train_on_counts(counts, self.feature_settings, self.model_settings)
        return self._become(replace(model, fitted=replace(model.fitted, label_type=label_type)))

    def partial_fit(self, X: Iterable[str], y: Sequence[Any], classes: Sequence[Any] | None = None) -> TextClassifier:
        """Train on more texts X and their labels y; new labels are added, and `classes` is ignored."""
        if self._model is None:
            return self.fit(X, y)
        growth.check_growth(self._model)
        counts, _, _ = self._count(X, y, growth.growth_sample_size(self._model), self._model.fitted)
        return self._become(growth.update(self._model, counts))

    def forget(self, X: Iterable[str], y: Sequence[Any]) -> TextClassifier:
        """Remove texts X with their labels y from the model, as if it had not been trained on them.

        ModelError, and no change, if the counts show that the model was not trained on them.
        """
        counts, _, _ = self._count(X, y, None, self.model_.fitted)
        return self._become(growth.forget(self.model_, counts))

    def merge(self, *others: TextClassifier) -> TextClassifier:
        """Add the training documents of other classifiers with the same parameters."""
        return self._become(growth.merge([self.model_, *(other.model_ for other in others)]))

    def predict(self, X: Iterable[str]) -> Any:
        """Return the label of each text, shape (n_documents,); with several labels, a tuple for each, or a matrix."""
        return decide(self.fitted_, self._log_posterior(X), self._n_columns)

    def predict_proba(self, X: Iterable[str]) -> NDArray[np.float64]:
        """Return the probability of each label, shape (n_documents, n_classes), in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Iterable[str]) -> NDArray[np.float64]:
        """Return the natural logarithms of the probabilities, shape (n_documents, n_classes)."""
        return self._arrange(self._log_posterior(X), absent=-np.inf)

    def decision_function(self, X: Iterable[str]) -> NDArray[np.float64]:
        """Return log-probabilities plus decision offsets; the largest one determines the label.

        Shape (n_documents, n_classes); with two labels (n_documents,), the log-odds of the second one. If texts have
        several labels, log-odds minus those of the threshold; a label is predicted from 0 on.
        """
        return decision_values(self.fitted_, self._log_posterior(X), self._n_columns)

    def score(self, X: Iterable[str], y: Sequence[Any]) -> float:
        """Return the accuracy on texts X with labels y; with several labels, all of a text must be correct."""
        return accuracy(self.predict(X), y)

    def explain(self, X: Iterable[str], *, label: Any = None, against: Any = None) -> list[Explanation]:
        """Return for each text the terms that add up to the log-odds of its label.

        label    the label to explain; None: the predicted one
        against  the label to compare with; None: the most probable other one
        """
        names = [None if each is None else str(each) for each in (label, against)]
        return explain_batch(self.fitted_, text_batch(list_texts(X)), *names)

    def prevalence(self, X: Iterable[str]) -> Prevalence:
        """Estimate the share of each label among texts X, with 95 % intervals, as `nbtext prevalence` does."""
        from nbtext.model.prevalence import estimate_text_prevalence

        return estimate_text_prevalence(self.fitted_, self._log_posterior(X))

    @property
    def model_(self) -> TrainedModel:
        if self._model is None:
            refuse_unfitted(self)
        return self._model

    @property
    def fitted_(self) -> FittedModel:
        return self.model_.fitted

    @property
    def counts_(self) -> CorpusCounts:
        return self.model_.counts

    @property
    def leave_one_out_predict_proba_(self) -> NDArray[np.float64]:
        if self._rows is None:
            raise AttributeError("leave_one_out_predict_proba_ exists only after fit, not after load or partial_fit")
        rows, found = leave_one_out_probabilities(self.model_)
        return spread_rows(self._arrange(found, absent=0), self._rows[rows], self._n_fitted)

    @property
    def classes_(self) -> NDArray[Any]:
        return label_values(self.fitted_, self._n_columns)

    @property
    def class_log_prior_(self) -> NDArray[np.float64]:
        return self._arrange(self.fitted_.log_prior, absent=-np.inf)

    def _arrange(self, values: NDArray[np.float64], *, absent: float) -> NDArray[np.float64]:
        return arrange_columns(self.fitted_, values, self._n_columns, absent=absent)

    def _become(self, model: TrainedModel) -> TextClassifier:
        self._model, self._predictor, self._rows = model, None, None
        return self

    def _count(
        self, X: Iterable[str], y: Sequence[Any], size: int | None, fitted: FittedModel | None = None
    ) -> tuple[CorpusCounts, str, NDArray[np.int64]]:
        """Return the counts of texts for a model, the type of the labels, and which texts are retained."""
        settings = self.feature_settings if fitted is None else fitted.feature_settings
        label_type = None if fitted is None else fitted.label_type
        return count_texts(X, y, settings, sample_size=size, label_type=label_type)

    def _log_posterior(self, X: Iterable[str]) -> NDArray[np.float64]:
        """Return log-probabilities in the order of the model's classes."""
        if self._predictor is None:
            self._predictor = Predictor(self.fitted_)
        return self._predictor.log_posterior(self._predictor.score((list_texts(X),)))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_predictor": None}

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None

    def __sklearn_tags__(self) -> Any:
        return classifier_tags(takes_texts=True, multi_label=True)

"""Each model as an estimator over a matrix of counts or weights."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics, count_classes
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import in_python_terms
from nbtext.estimators.validation import validate_labels, validate_matrix
from nbtext.features.document_counts import DocumentCounts, concatenate
from nbtext.features.hashing import bucket_hashes, count_matrix
from nbtext.features.settings import FeatureSettings, convert_parameters
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import FittedModel
from nbtext.model.fitting import fit_model
from nbtext.model.sklearn_compat import classifier_tags, refuse_unfitted
from nbtext.model.training import sample_size

HASHED = FeatureSettings(hash_bits=1)  # features are columns without names
LARGEST_COUNT = np.iinfo(np.int32).max


@in_python_terms
@dataclass(eq=False, kw_only=True)
class MatrixClassifier:
    """A scikit-learn model over a matrix (n_samples, n_features), dense or sparse.

    Its parameters are the fields of ModelSettings that its model uses; `fit` checks them.

    classes_        (n_classes,), the labels, sorted
    n_features_in_  columns
    fitted_         the fitted model, with its calibration and leave-one-out estimate
    """

    model: ClassVar[str]
    is_positive: ClassVar[bool] = True  # whether it refuses negative numbers

    classes_: NDArray[Any] = field(init=False, repr=False)
    n_features_in_: int = field(init=False, repr=False)
    fitted_: FittedModel = field(init=False, repr=False)

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to samples X and their labels y; MatrixError (a ValueError) if they are invalid."""
        sample, labels = self._count_samples(X, y, n_features=None)
        self.classes_ = np.unique(labels)
        return self._learn(sample, count_classes(sample, self.n_features_in_, len(self.classes_)))

    def _count_samples(self, X: Any, y: Any, *, n_features: int | None) -> tuple[DocumentCounts, NDArray[Any]]:
        """Return the samples with their class numbers, and the sorted labels of these classes."""
        name = type(self).__name__
        rows = validate_matrix(X, n_features=n_features, is_positive=self.is_positive, name=name)
        labels = validate_labels(y, n_samples=rows.shape[0], name=name)
        self.n_features_in_ = rows.shape[1]
        return self._sample(rows, np.unique(labels, return_inverse=True)[1]), labels

    def _sample(self, rows: Any, classes: NDArray[Any]) -> DocumentCounts:
        """Return the samples; whole numbers become integers, so that their sums are exact."""
        rows.data = self._cells(rows.data)
        rows.eliminate_zeros()
        if self.is_positive and rows.data.max(initial=0) <= LARGEST_COUNT and (rows.data == np.floor(rows.data)).all():
            rows.data = rows.data.astype(np.int32)
        return count_matrix(
            rows.indptr, rows.indices, rows.data, classes, bucket_hashes(np.arange(rows.shape[1], dtype=np.int32))
        )

    def _cells(self, data: NDArray[np.float64]) -> NDArray[np.float64]:
        return data

    def _learn(self, sample: DocumentCounts, statistics: ClassStatistics) -> Self:
        weighting = None if sample.counts.dtype.kind == "i" else Weighting("count")
        model_settings = ModelSettings(model=self.model, **convert_parameters(ModelSettings, self.get_params()))
        size = sample_size(HASHED, model_settings) if weighting is None else None
        names = tuple(map(str, self.classes_))
        self._counts = CorpusCounts(names, None, statistics, sample.smallest(size), size, weighting)
        self.fitted_ = fit_model(self._counts, HASHED, model_settings)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each sample, shape (n_samples,)."""
        log_probabilities = self.predict_log_proba(X)
        return np.asarray(self.classes_[self.fitted_.calibration.decide(log_probabilities)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each label, shape (n_samples, n_classes), in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the natural logarithms of the probabilities."""
        if not hasattr(self, "fitted_"):
            refuse_unfitted(self)
        rows = validate_matrix(
            X, n_features=self.n_features_in_, is_positive=self.is_positive, name=type(self).__name__
        )
        evidence = self.fitted_.evidence(self._sample(rows, np.zeros(rows.shape[0])))
        return self.fitted_.task.log_probabilities(*evidence)

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy."""
        predicted = self.predict(X)
        return float((predicted == validate_labels(y, n_samples=len(predicted), name=type(self).__name__)).mean())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name; ValueError if there is no such parameter."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. It has {list(self.get_params())}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        # models of counts classify continuous features badly
        return classifier_tags(takes_sparse=True, positive_only=self.is_positive, poor_score=self.is_positive)


@dataclass(eq=False, kw_only=True)
class NaiveBayes(MatrixClassifier):
    """The parameters of all event models."""

    smoothing: float | None = None
    prior: str | tuple[float, ...] | None = None
    calibrate: bool = True
    optimize: str | None = None


@in_python_terms
class CountingClassifier(NaiveBayes):
    """An event model of additive counts, which can be trained on more samples."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Train on more samples; for whole counts, the result is that of `fit` on all samples together.

        classes  ignored, because later samples may have new labels
        """
        if not hasattr(self, "fitted_"):
            return self.fit(X, y)
        counts, known = self._counts, self.classes_
        sample, labels = self._count_samples(X, y, n_features=self.n_features_in_)
        self.classes_ = np.unique(np.concatenate((known, labels)))
        more = CorpusCounts(
            (), None, count_classes(sample, self.n_features_in_, len(np.unique(labels))), sample, counts.sample_size
        )
        before, after = (self._renumber(*each) for each in ((counts, known), (more, np.unique(labels))))
        if before[0].counts.dtype != after[0].counts.dtype:
            before, after = _weights(*before), _weights(*after)
        return self._learn(concatenate([before[0], after[0]]), before[1] + after[1])

    def _renumber(self, counts: CorpusCounts, known: NDArray[Any]) -> tuple[DocumentCounts, ClassStatistics]:
        """Return the sample and the statistics over all classes."""
        columns = np.arange(self.n_features_in_, dtype=np.int32)
        numbers = np.searchsorted(self.classes_, known).astype(np.int32)
        statistics = counts.statistics.align(columns, len(columns), classes=numbers, n_classes=len(self.classes_))
        return counts.sample.renumber(columns, numbers), statistics


def _weights(sample: DocumentCounts, statistics: ClassStatistics) -> tuple[DocumentCounts, ClassStatistics]:
    """Return the sample and the statistics as weights; whole counts and weights cannot be added."""
    return (
        replace(sample, counts=sample.counts.astype(np.float64)),
        replace(statistics, occurrences=statistics.occurrences.astype(np.float64)),
    )


@in_python_terms
def make_estimator(name: str) -> type[NaiveBayes]:
    """Return a class of estimators for an event model of the registry, for example for an added one."""
    record = EVENT_MODELS[name]
    base = CountingClassifier if record.sufficient_statistics is None else NaiveBayes
    attributes = {"model": name, "is_positive": not record.allows_negative, "__doc__": f"{name} Naive Bayes."}
    return type(f"{name.title()}NB", (base,), attributes)


@dataclass(eq=False, kw_only=True)
class MultinomialNB(CountingClassifier):
    """Multinomial Naive Bayes; see ModelSettings for its parameters."""

    model: ClassVar[str] = "multinomial"


@dataclass(eq=False, kw_only=True)
class BernoulliNB(CountingClassifier):
    """Bernoulli Naive Bayes of binary counts."""

    model: ClassVar[str] = "bernoulli"


@dataclass(eq=False, kw_only=True)
class ComplementNB(CountingClassifier):
    """Complement Naive Bayes (Rennie et al. 2003)."""

    normalize_weights: bool = False
    model: ClassVar[str] = "complement"


@dataclass(eq=False, kw_only=True)
class CategoricalNB(NaiveBayes):
    """Categorical Naive Bayes of whole numbers; numbers from `values` - 1 on are one value."""

    values: int = 4
    model: ClassVar[str] = "categorical"

    def _cells(self, data: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the data without fractions, as in scikit-learn."""
        return np.trunc(np.minimum(data, self.values))


@dataclass(eq=False, kw_only=True)
class GaussianNB(NaiveBayes):
    """Gaussian Naive Bayes; sparse matrices stay sparse."""

    model: ClassVar[str] = "gaussian"
    is_positive: ClassVar[bool] = False


@dataclass(eq=False, kw_only=True)
class Linear(MatrixClassifier):
    """The parameters of the linear models."""

    C: float | str = 1.0
    calibrate: bool = True
    optimize: str | None = None
    folds: int = 5
    seed: int = 0


@dataclass(eq=False, kw_only=True)
class LogisticRegression(Linear):
    """Softmax regression with an L2 penalty."""

    model: ClassVar[str] = "logistic"
    is_positive: ClassVar[bool] = False


@dataclass(eq=False, kw_only=True)
class NBSVM(Linear):
    """A linear support vector machine over log-count ratios (Wang and Manning 2012)."""

    loss: str = "squared-hinge"
    interpolation: float = 1.0
    ratio_smoothing: float = 1.0
    model: ClassVar[str] = "nbsvm"


@dataclass(eq=False, kw_only=True)
class SVM(Linear):
    """A linear support vector machine, each class against the rest, with a regularized intercept."""

    model: ClassVar[str] = "svm"
    is_positive: ClassVar[bool] = False

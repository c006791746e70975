"""The settings of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields
from typing import TYPE_CHECKING

from nbtext.bayes.event_models import EVENT_MODELS, LINEAR_MODELS
from nbtext.errors import SettingsError
from nbtext.records import dataclass

if TYPE_CHECKING:
    from nbtext.bayes.class_statistics import Prior
    from nbtext.bayes.event_model import EventModel

LOSSES = ("squared-hinge", "logistic")
AUTO = "auto"
OF_SOME_MODELS = (  # fields of ModelSettings that a model takes if its record names them
    "C", "smoothing", "prior", "loss", "interpolation", "ratio_smoothing", "values", "normalize_weights",
)  # fmt: skip
SELECTABLE_MODELS = ("multinomial", "complement")  # by the model `auto`
MAX_VALUES = 1000  # of a feature, 0 included
MAX_KEPT = 2**62  # documents of a retained sample
SMALLEST, LARGEST = 1e-100, 1e100  # of smoothing and priors, so that their ratios and sums are finite
SMALLEST_C, LARGEST_C = 1e-20, 1e20  # outside this range, weights lose precision
DECISION_METRICS = ("accuracy", "macro_f1")  # that decision offsets optimize; see `decision_offsets.STEP_METRICS`
METRICS = (*DECISION_METRICS, "log_loss")  # log-loss is optimized by an adjustment of the prior
PRIORS = ("empirical", "uniform")
CONFIDENCE = 0.95  # of a target of recall or precision
NEAR_DUPLICATES, GROUP_FIELD = GROUPINGS = ("near-duplicates", "field")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearSettings:
    """The settings of linear models: regularization, loss, and the Naive Bayes weights of NB-SVM."""

    C: float | str = 1.0
    loss: str = field(default="squared-hinge", metadata={"choices": LOSSES})
    interpolation: float = 1.0
    ratio_smoothing: float = 1.0
    # The folds of the cross-validation that calibrates and selects C, and the seed of the order of the documents. They
    # are not options of `train`, because `evaluate` has options of these names for its own cross-validation.
    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        is_sound = self.C == AUTO if isinstance(self.C, str) else SMALLEST_C <= self.C <= LARGEST_C
        _require(is_sound, self.C, f"auto, or a number from {SMALLEST_C:g} to {LARGEST_C:g}", "C")
        _require(self.loss in LOSSES, self.loss, " or ".join(LOSSES), "loss")
        _require(0 <= self.interpolation <= 1, self.interpolation, "a number from 0 to 1", "interpolation")
        is_sound = SMALLEST <= self.ratio_smoothing <= LARGEST
        _require(is_sound, self.ratio_smoothing, f"a number from {SMALLEST:g} to {LARGEST:g}", "ratio_smoothing")
        _require(self.folds >= 2, self.folds, "a number of 2 or more", "folds")
        _require(0 <= self.seed < 2**64, self.seed, "a whole number from 0 to 2^64 - 1", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings(LinearSettings):
    """The settings of a model: its event model, smoothing and prior, its calibration and its decision offsets.

    min_recall, min_precision  labels with their minimum recall or precision on new documents
    confidence                 the confidence in each of these targets
    group                      what is left out together: near duplicates, or documents with the same value of a field;
                               None: duplicates
    """

    model: str = field(default=AUTO, metadata={"choices": (AUTO, *EVENT_MODELS, *LINEAR_MODELS)})
    smoothing: float | None = None
    prior: str | tuple[float, ...] | None = None
    class_weight: str | tuple[tuple[str, float], ...] | None = None  # no option: --prior sets the priors
    calibrate: bool = True
    optimize: str | None = field(default=None, metadata={"choices": METRICS})
    min_recall: tuple[tuple[str, float], ...] = ()
    min_precision: tuple[tuple[str, float], ...] = ()
    confidence: float = CONFIDENCE
    normalize_weights: bool = False
    values: int = 4
    keep_sample: int | None = None
    group: str | None = field(default=None, metadata={"choices": GROUPINGS})

    def __post_init__(self) -> None:
        LinearSettings.__post_init__(self)
        defaults = {each.name: each.default for each in fields(self)}
        special = [name for name in OF_SOME_MODELS if getattr(self, name) != defaults[name]]
        if special:  # only then, because the record of a model imports NumPy
            options = LINEAR_MODELS[self.model].options if self.is_linear else self._record.options
            for name in special:
                if name not in options:
                    hint = "leave out this option"
                    raise SettingsError(f"{self.model} does not use this option", where=name, hint=hint)
        if self.smoothing is not None:
            is_sound = self.smoothing == 0 or SMALLEST <= self.smoothing <= LARGEST
            _require(is_sound, self.smoothing, f"0, or a number from {SMALLEST:g} to {LARGEST:g}", "smoothing")
        if isinstance(self.prior, str):
            _require(self.prior in PRIORS, self.prior, f"{', '.join(PRIORS)} or a number for each label", "prior")
        if not 2 <= self.values <= MAX_VALUES:
            raise SettingsError(f"{self.values} is not between 2 and {MAX_VALUES}", where="values")
        is_sound = self.keep_sample is None or 1 <= self.keep_sample <= MAX_KEPT
        _require(is_sound, self.keep_sample, f"a number from 1 to {MAX_KEPT:,}", "keep_sample")
        if self.group is not None and self.keep_sample is not None:
            what = "a model does not retain the groups of its documents"
            raise SettingsError(what, where="keep_sample", hint="leave out this option")
        self._check_class_weight()
        self._check_targets()

    def _check_class_weight(self) -> None:
        if self.class_weight is None:
            return
        if isinstance(self.class_weight, str):
            _require(
                self.class_weight == "balanced", self.class_weight, "balanced or a weight for labels", "class_weight"
            )
        else:
            for label, weight in self.class_weight:
                _require(SMALLEST <= weight <= LARGEST, f"{label}: {weight:g}", "a weight above 0", "class_weight")
        if self.prior is not None:
            what = "cannot be combined with --prior, because both set the class priors"
            raise SettingsError(what, where="class_weight", hint="leave out one of them")

    def _check_targets(self) -> None:
        for name in ("min_recall", "min_precision"):
            targets = getattr(self, name)
            for label, minimum in targets:
                _require(0 < minimum < 1, f"{label}={minimum:g}", "a number between 0 and 1", name)
            if len({label for label, _ in targets}) < len(targets):
                raise SettingsError("a label has two targets", where=name, hint="keep one of them")
        _require(0 < self.confidence < 1, self.confidence, "a number between 0 and 1", "confidence")
        if not self.has_targets and self.confidence != CONFIDENCE:
            raise SettingsError("there is no target", where="confidence", hint="add min_recall or min_precision")
        if self.has_targets and self.optimize in DECISION_METRICS:
            what = f"{self.optimize} and the targets of recall and precision both set the decision offsets"
            raise SettingsError(what, where="optimize", hint="leave out one of them; log_loss can be combined")

    @property
    def has_targets(self) -> bool:
        """Whether a minimum recall or precision is set."""
        return bool(self.targets)

    @property
    def targets(self) -> tuple[tuple[str, str, float], ...]:
        """The metric (`recall` or `precision`), the label and the minimum of each target."""
        recalls = (("recall", *each) for each in self.min_recall)
        return (*recalls, *(("precision", *each) for each in self.min_precision))

    @property
    def is_linear(self) -> bool:
        """Whether it is a discriminative model, which is fitted to documents, not to class statistics."""
        return self.model in LINEAR_MODELS

    @property
    def _record(self) -> EventModel:
        return EVENT_MODELS["multinomial" if self.model == AUTO else self.model]

    @property
    def event_model(self) -> EventModel:
        """The record of the event model, with normalized weights if set; KeyError for a linear model."""
        normalized = self._record.normalized
        return normalized if self.normalize_weights and normalized is not None else self._record

    @property
    def effective_prior(self) -> str | tuple[float, ...]:
        """The given prior, or the default of the model."""
        if self.prior is not None:
            return self.prior
        return "empirical" if self.is_linear else self._record.prior

    def prior_of(self, labels: Sequence[str]) -> Prior:
        """Return the prior of a model of these labels.

        With class weights, a label with n documents of weight w has the prior of n · w documents. "balanced" weights
        all labels alike. A label that is not listed has weight 1.

        raises  SettingsError: a weight is for a label that does not exist
        """
        if self.class_weight is None:
            return self.effective_prior
        if isinstance(self.class_weight, str):
            return "uniform"
        from nbtext.bayes.class_statistics import WeightedPrior  # only then, because it imports NumPy

        return WeightedPrior(tuple(self.class_weights_of(labels, [1] * len(labels)) or ()))

    def class_weights_of(self, labels: Sequence[str], n_documents: Sequence[int]) -> list[float] | None:
        """Return the weight of the documents of each label; None: 1.

        "balanced" is scikit-learn's: all documents / (labels · documents of the label). A label that is not listed has
        weight 1.

        raises  SettingsError: a weight is for a label that does not exist
        """
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, str):
            return [sum(n_documents) / (len(labels) * max(1, n)) for n in n_documents]
        weights = dict(self.class_weight)
        if unknown := sorted(weights.keys() - set(labels)):
            hint = f"there are {', '.join(labels[:10])}"
            raise SettingsError(f"there is no label {unknown[0]}", where="class_weight", hint=hint)
        return [weights.get(label, 1.0) for label in labels]


def _require(is_sound: bool, value: object, wanted: str, option: str) -> None:
    if not is_sound:
        shown = f"{value:g}" if isinstance(value, float) else value
        raise SettingsError(f"{shown} is not a valid value", where=option, hint=f"give {wanted}")

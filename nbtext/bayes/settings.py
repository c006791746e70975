"""The settings of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from nbtext.bayes.event_models import EVENT_MODELS, LINEAR_MODELS
from nbtext.errors import SettingsError, require_label
from nbtext.records import Strings, frozen
from nbtext.registry import load_method, offer
from nbtext.settings import (
    Excludes,
    Needs,
    Rule,
    Settings,
    parse_label_share,
    parse_number_or_auto,
    refuse,
    require_setting,
    setting,
)

if TYPE_CHECKING:
    from nbtext.bayes.class_statistics import Prior
    from nbtext.bayes.event_model import EventModel

LOSSES = ("squared-hinge", "logistic")
AUTO = "auto"
COMBINED = "combined"  # the sum of Naive Bayes models over views; see `combination`
STACKED = "stacked"  # the sum of Naive Bayes and linear models over views; see `stacking`
VECTORS = "vectors"  # the part of a stack that is a regression on word vectors
BEST = "best"  # the model that a search selects
OF_SOME_MODELS = (  # fields of ModelSettings that a model takes if its record names them
    "C",
    "smoothing",
    "prior",
    "loss",
    "values",
    "normalize_weights",
)
# not of `auto`
OF_CHOSEN_MODELS = tuple(name for name in OF_SOME_MODELS if name not in ("smoothing", "prior"))
NOT_SEARCHED = "a search chooses the settings that only some models take"
COMPARED_MODELS = ("multinomial", "complement")  # by the model `auto`, by leave-one-out
# that `auto` also tries where labels have few documents; see `few_documents`
FEW_DOCUMENTS_MODEL = "dirichlet"
SELECTABLE_MODELS = (*COMPARED_MODELS, FEW_DOCUMENTS_MODEL)
VECTOR_WORDS = 100_000  # that a model gets from a table of word vectors
# Documents up to which `auto` with word vectors keeps the lengths of the documents. Of 40 to 400
# messages, the accuracy is 0.93 to 0.98 with the lengths, and 0.85 to 0.97 without. Without them,
# the log-loss of folds is 0.24, not 0.26, on 25,000 reviews, and the solver takes a fourth of the
# time on 11,000 messages of newsgroups.
MAX_WITH_LENGTHS = 4096
MAX_FEATURE_VALUES = 1000  # of a feature, 0 included
MAX_RETAINED_DOCUMENTS = 2**62  # documents of a retained sample
# of smoothing and priors, so that their ratios and sums are finite
SMALLEST_FACTOR = 1e-100
LARGEST_FACTOR = 1e100
# outside this range, weights lose precision
SMALLEST_C = 1e-20
LARGEST_C = 1e20
# that decision offsets optimize; see `decision_offsets.STEP_METRICS`
DECISION_METRICS = ("accuracy", "macro_f1")
# log-loss is optimized by an adjustment of the prior
OPTIMIZED_METRICS = (*DECISION_METRICS, "log_loss")
# each of which is compared with all documents: for a linear model, folds, or label errors
MAX_LABELS = 1 << 14
PRIORS = ("empirical", "uniform")
CONFIDENCE = 0.95  # of a target of recall or precision


def _parse_prior(text: str) -> str | tuple[float, ...]:
    if text in PRIORS:
        return text
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(
            f"{text!r} is neither empirical, uniform nor a list of numbers such as 1,3"
        ) from None


def parse_meanings(path: str) -> Any:
    return load_method("read_names")(path)


@frozen(kw_only=True)
class LinearSettings(Settings):
    """The settings of linear models: regularization, loss, and folds."""

    C: float | str = setting(
        1.0,
        "Inverse regularization strength. `auto` selects it by cross-validation. Only with --model logistic, "
        "nbsvm or svm.",
        low=SMALLEST_C,
        high=LARGEST_C,
        parse=parse_number_or_auto(AUTO),
        metavar="auto|N",
        wanted=f"auto, or a number from {SMALLEST_C:g} to {LARGEST_C:g}",
    )
    loss: str = setting("squared-hinge", "Loss function of nbsvm.", choices=LOSSES, is_option=False)
    # not options, because `evaluate` has options of these names for its own cross-validation
    folds: int = setting(
        5,
        "logistic, nbsvm, svm: number of folds of the cross-validation that calibrates and selects C.",
        low=2,
        is_option=False,
    )
    seed: int = setting(
        0,
        "logistic, nbsvm, svm: seed of the order of the documents.",
        low=0,
        high=2**64 - 1,
        wanted="a whole number from 0 to 2^64 - 1",
        is_option=False,
    )

    def check_values(self) -> None:
        if isinstance(self.C, str):
            require_setting(self.C == AUTO, self.C, "auto or a number", "C")


def check_label_count(n_labels: int, model: str, where: str) -> None:
    """Raise SettingsError if a computation that takes time for each document and each label would
    have too many labels.
    """
    if n_labels > MAX_LABELS:
        raise SettingsError(
            f"{model} compares all documents with each of the {n_labels:,} labels, at most {MAX_LABELS:,}",
            where=where,
            hint="use fewer labels, or train ‹model=multinomial›",
        )


@frozen(kw_only=True)
class ModelSettings(LinearSettings):
    """The settings of a model: its event model, smoothing and prior, its calibration and its
    decision offsets.

    min_recall, min_precision  labels with their minimum recall or precision on new documents
    confidence                 the confidence in each of these targets
    """

    TITLE = "Model"
    RULES: ClassVar[tuple[Rule, ...]] = (
        Excludes("class_weight", "prior", because="both set the class priors"),
        Needs("confidence", "min_recall|min_precision"),
        Needs("vector_words", "vectors"),
        Needs("more_words", "vectors"),
        Needs("names", "vectors"),
        Excludes("vectors", "keep_sample", because="its weights are not sums of counts"),
        *(Excludes(name, "model=best", because=NOT_SEARCHED) for name in OF_CHOSEN_MODELS),
    )
    # see artifact/record.py
    REMOVED: ClassVar = {"duplicates": "together", "interpolation": 1.0, "ratio_smoothing": 1.0}

    model: str = setting(
        AUTO,
        "Model to train; the default, `auto`, selects multinomial or complement Naive Bayes. It compares them on "
        "counts and on binary counts, by leave-one-out accuracy; with up to 25 documents a label on average, it "
        "compares dirichlet, too, by cross-validation. `combined` adds up the weighted scores of Naive Bayes models of "
        "words, of pairs of words and, if texts are short, of characters; of words and characters in a script without "
        "spaces; or of the views of --view. Without options of features, `train` selects it where it is more "
        "accurate. `stacked` adds up those of Naive Bayes, NB-SVM and linear SVM.",
        choices=(AUTO, *EVENT_MODELS, *LINEAR_MODELS),
        metavar="NAME",
    )
    smoothing: float | None = setting(
        None,
        "Additive smoothing of Naive Bayes, the pseudo-count of each feature in each class. `auto` selects it by "
        "leave-one-out; 0 is maximum likelihood. With --model dirichlet, a feature gets N times its mean count in a "
        "class. With --model combined, N multiplies the smoothing of each part. With --model gaussian, N times the "
        "largest variance is added to all "
        "variances; `auto` is 1e-9.",
        parse=parse_number_or_auto(None),
        names=("auto",),
        metavar="auto|N",
        default_help="auto",
    )
    prior: str | tuple[float, ...] | None = setting(
        None,
        "Class prior of Naive Bayes. N,N… is one weight for each label, in sorted order of the labels; only the "
        "proportions of the weights matter.",
        parse=_parse_prior,
        metavar="empirical|uniform|N,N…",
        default_help="empirical; uniform for complement",
    )
    class_weight: str | tuple[tuple[str, float], ...] | None = setting(
        None,
        "How many documents one of a label counts as, in the class prior or in the loss of a linear model: a "
        "dict of weights, or `balanced` for equal sums. It is a weight for each document of the label, as "
        "sample_weight is for any.",
        is_option=False,
    )
    calibrate: bool = setting(
        True,
        "Calibrate probabilities with leave-one-out scores, or those of cross-validation for linear models.",
        default_help="--calibrate",
    )
    optimize: str | None = setting(
        None,
        "Metric to optimize on leave-one-out scores. For accuracy and macro_f1, an offset for each label is "
        "added to its log-probability before the label is chosen; reported probabilities do not change. log_loss "
        "adjusts the probabilities. For a multi-label model, macro_f1 selects a threshold for each label; by default, "
        "one threshold for all labels maximizes micro F1.",
        choices=OPTIMIZED_METRICS,
        metavar="METRIC",
    )
    min_recall: tuple[tuple[str, float], ...] = setting(
        (),
        "Minimum recall of a label on new documents, such as ham=0.995; may be repeated. The threshold is chosen "
        "on leave-one-out scores.",
        parse=parse_label_share,
        metavar="LABEL=P",
        is_repeated=True,
    )
    min_precision: tuple[tuple[str, float], ...] = setting(
        (),
        "Minimum precision of a label on new documents, such as spam=0.99; may be repeated. A document whose most "
        "probable label is not probable enough for it gets no label.",
        parse=parse_label_share,
        metavar="LABEL=P",
        is_repeated=True,
    )
    confidence: float = setting(
        CONFIDENCE,
        "Confidence of each target of --min-recall and --min-precision: the probability that it is met on "
        "new documents, too.",
        is_option=False,
    )
    normalize_weights: bool = setting(
        False,
        "Divide the weights of each class of complement by their sum (Rennie et al. 2003).",
        is_option=False,
    )
    values: int = setting(
        4,
        "Number of categories of a feature of categorical. All counts from `values` - 1 upwards are one category.",
        low=2,
        high=MAX_FEATURE_VALUES,
        is_option=False,
    )
    vectors: Strings | None = setting(
        None,
        "Table of word vectors, for few labeled texts: a text file of word2vec, GloVe or fastText, an .npz file, or "
        "the folder or the installed package of a static model, such as wordllama; may be repeated, to join the vectors of "
        "several tables. The table is not needed to predict: the model holds a weight for each word. With it, `auto` is `stacked`.",
        metavar="FILE|PACKAGE",
        is_repeated=True,
        applications=("vectors",),
    )
    vector_words: int = setting(
        VECTOR_WORDS,
        "Number of words that the model gets from --vectors beside those of the documents: its first ones, which are "
        "the most frequent ones.",
        low=0,
        is_option=False,
    )
    more_words: Strings = setting(
        (),
        "Words that the model gets from `vectors` beside the first ones of the table, such as those of unlabeled texts.",
        is_option=False,
    )
    names: tuple[tuple[str, str], ...] = setting(
        (),
        "File that describes the labels, with --vectors: each line is a label, or `label: a sentence that describes it`. "
        "The model uses these words, or by default the names of the labels, as evidence for the labels, if held-out "
        "documents show that it helps. Without SOURCE, no labeled document is needed.",
        file="input",
        parse=parse_meanings,
        applications=("vectors",),
    )
    keep_sample: int | None = setting(
        None,
        "Number of documents, selected at random, whose counts the model retains; none by default. With them, "
        "update, merge and forget refit smoothing and calibration. A linear model with them also keeps the counts of "
        "each label, which "
        + offer("prevalence", "prevalence, ")
        + "inspect --by z and training on the model need.",
        low=1,
        high=MAX_RETAINED_DOCUMENTS,
        metavar="N",
    )

    def check_values(self) -> None:
        LinearSettings.check_values(self)
        defaults = {each.name: each.default for each in fields(self)}
        special = [name for name in OF_SOME_MODELS if getattr(self, name) != defaults[name]]
        if special:  # only then, because the record of a model imports NumPy
            options = self.linear_model.options if self.is_linear else self._record.options
            for name in special:
                if name not in options:
                    model = STACKED if self.is_linear and self.model == AUTO else self.model
                    raise refuse(name, f"{model} does not use it")
        tables = self.vectors or ()
        require_setting("" not in tables, "", "the name of a table", "vectors")
        if len({*tables}) < len(tables):
            raise SettingsError("a table is given twice", where="vectors", hint="leave out one")
        if tables and self.model not in (AUTO, STACKED):
            raise refuse("vectors", f"{self.model} does not use it; `auto` and `stacked` do")
        if self.smoothing is not None:
            require_setting(
                self.smoothing == 0 or SMALLEST_FACTOR <= self.smoothing <= LARGEST_FACTOR,
                self.smoothing,
                f"0, or a number from {SMALLEST_FACTOR:g} to {LARGEST_FACTOR:g}",
                "smoothing",
            )
        if isinstance(self.prior, str):
            require_setting(
                self.prior in PRIORS,
                self.prior,
                f"{', '.join(PRIORS)} or a number for each label",
                "prior",
            )
        if isinstance(self.class_weight, str):
            require_setting(
                self.class_weight == "balanced",
                self.class_weight,
                "balanced or a weight for labels",
                "class_weight",
            )
        for label, weight in self.class_weight if isinstance(self.class_weight, tuple) else ():
            require_setting(
                SMALLEST_FACTOR <= weight <= LARGEST_FACTOR,
                f"{label}: {weight:g}",
                "a weight above 0",
                "class_weight",
            )
        for name in ("min_recall", "min_precision"):
            targets = getattr(self, name)
            for label, minimum in targets:
                require_setting(
                    0 < minimum < 1, f"{label}={minimum:g}", "a number between 0 and 1", name
                )
            if len({label for label, _ in targets}) < len(targets):
                raise SettingsError("a label has two targets", where=name, hint="keep one of them")
        require_setting(
            0 < self.confidence < 1, self.confidence, "a number between 0 and 1", "confidence"
        )
        if self.targets and self.optimize in DECISION_METRICS:
            raise SettingsError(
                f"{self.optimize} and the targets of recall and precision both set the decision offsets",
                where="optimize",
                hint="leave out one of them; log_loss can be combined",
            )

    @property
    def targets(self) -> tuple[tuple[str, str, float], ...]:
        """The metric (`recall` or `precision`), the label and the minimum of each target."""
        recalls = (("recall", *each) for each in self.min_recall)
        return (*recalls, *(("precision", *each) for each in self.min_precision))

    @property
    def is_linear(self) -> bool:
        """Whether it is a discriminative model, which is fitted to documents, not to class
        statistics.
        """
        return self.model in LINEAR_MODELS or (self.model == AUTO and bool(self.vectors))

    @property
    def linear_model(self) -> Any:
        """The record of the linear model; with word vectors, `auto` is `stacked`."""
        return LINEAR_MODELS[STACKED if self.model == AUTO else self.model]

    @property
    def _record(self) -> EventModel:
        return EVENT_MODELS["multinomial" if self.model == AUTO else self.model]

    @property
    def event_model(self) -> EventModel:
        """The record of the event model, with normalized weights if set; KeyError for a linear
        model.
        """
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

        With class weights, a label with n documents of weight w has the prior of n · w documents.
        "balanced" weights all labels alike. A label that is not listed has weight 1.

        raises  SettingsError: a weight is for a label that does not exist
        """
        if self.class_weight is None:
            return self.effective_prior
        if isinstance(self.class_weight, str):
            return "uniform"
        # only then, because it imports NumPy
        from nbtext.bayes.class_statistics import WeightedPrior

        return WeightedPrior(tuple(self.class_weights_of(labels, [1] * len(labels)) or ()))

    def class_weights_of(
        self, labels: Sequence[str], n_documents: Sequence[int]
    ) -> list[float] | None:
        """Return the weight of the documents of each label; None: 1.

        "balanced" is scikit-learn's: all documents / (labels · documents of the label). A label
        that is not listed has weight 1.

        raises  SettingsError: a weight is for a label that does not exist
        """
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, str):
            return [sum(n_documents) / (len(labels) * max(1, n)) for n in n_documents]
        weights = dict(self.class_weight)
        for label in sorted(weights.keys() - set(labels)):
            require_label(label, labels, "class_weight")
        return [weights.get(label, 1.0) for label in labels]

"""`nbtext evaluate`: the metrics of a model on labeled documents; thresholds set the exit status."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

from nbtext.bayes.settings import AUTO
from nbtext.cli.command import Deferred, Option, command, refuse, typed_options
from nbtext.cli.files import INPUT, MODEL, SOURCE
from nbtext.cli.options import (
    DECISION_STAGE,
    LABELED_INPUT_STAGE,
    REPORT,
    RUN_PARTS,
    SOURCES,
    Parsed,
    RunSettings,
    result_options,
)
from nbtext.cli.running import check_report, open_documents, result_format, say, screen, warn_of_costs, write_result
from nbtext.cli.training_options import (
    FEATURE_STAGE,
    FOLD_STAGE,
    SEARCH_STAGE,
    SEARCHED_MODEL_STAGE,
    is_search,
    list_searched,
)
from nbtext.errors import SettingsError
from nbtext.evaluation.thresholds import check_thresholds, parse_thresholds
from nbtext.report.records import OUTPUT_FORMATS

if TYPE_CHECKING:
    from nbtext.bayes.settings import ModelSettings
    from nbtext.documents.settings import InputSettings
    from nbtext.documents.source import Source
    from nbtext.evaluation.candidates import Candidate
    from nbtext.evaluation.error_log import ErrorLog, PredictedBatch
    from nbtext.evaluation.evaluator import Evaluation
    from nbtext.evaluation.multilabel import MultilabelEvaluation
    from nbtext.evaluation.multilabel_log import SetDiagnosis
    from nbtext.evaluation.predictions_file import PredictionsFile
    from nbtext.evaluation.settings import FoldSettings, SearchSettings
    from nbtext.features.settings import FeatureSettings
    from nbtext.model.corpus_counts import CorpusCounts
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.model.settings import DecisionSettings
    from nbtext.model.source_counting import OnBatch

# options without effect on the content of the page
RUN_OPTIONS = (
    "--jobs", "--quiet", "--no-progress", "--verbose", "--debug", "--to", "--output", "--report", "--fail-under",
    "--force",
)  # fmt: skip
DECISIONS = DECISION_STAGE.without("explain", "top_k").replace(
    Option("--coverage", type=float, metavar="P", title="Predictions",
           help="Evaluate prediction sets, too: the smallest sets of labels that contain the true label with "
           "probability P, such as 0.95 (conformal prediction). A document with an empty set gets no label. For a "
           "multi-label model, the sets contain a share P of the true labels."),
)  # fmt: skip
MODELS = SEARCHED_MODEL_STAGE.without("keep_sample")


@command(
    SOURCES,
    Option("-m", "--model-file", "model_file", type=MODEL, help="Model file to evaluate."),
    Option("--predictions", type=INPUT,
           help="File of predictions to evaluate instead of a model. They are matched to SOURCE by id. Their labels "
           "are final: --cost only adds the cost to the result."),
    FOLD_STAGE,
    Option("--fail-under", "thresholds", type=Parsed("METRIC=N,…", parse_thresholds), default={},
           help="Thresholds of metrics, such as accuracy=0.85,macro_f1=0.8,recall:LABEL=0.9. Exit with status 3 if a "
           "metric is below its threshold, or, for a loss such as log_loss, above it. The names of the metrics are "
           "the fields of --to json."),
    Option("--foreign", type=SOURCE,
           help="Foreign documents, such as texts about other topics, which should be outliers. Measures how well the "
           "likelihood separates them from SOURCE (outlier AUROC)."),
    REPORT,
    *result_options(OUTPUT_FORMATS),
    DECISIONS,
    LABELED_INPUT_STAGE,
    FEATURE_STAGE,
    MODELS,
    SEARCH_STAGE,
    *RUN_PARTS,
    deferred=(FEATURE_STAGE, MODELS),
    common="-m --folds --predictions --fail-under --report -o --to --text-field --label-field --model",
    example="nbtext evaluate letters/test -m letters.joblib --fail-under accuracy=0.8",
    notes="Memory does not grow with SOURCE if -m is given without --report. Cross-validation keeps the counts of all "
    "documents in memory; with --model best also their texts. --report adds about 600 bytes per document, and the "
    "names of at most 10,000 documents.",
)  # fmt: skip
def evaluate(
    sources: tuple[str, ...],
    model_file: str | None,
    predictions: str | None,
    fold_settings: FoldSettings,
    thresholds: dict[str, float],
    foreign: str | None,
    report: str | None,
    output: str,
    output_format: str | None,
    decisions: DecisionSettings,
    input_settings: InputSettings,
    features: Deferred[FeatureSettings],
    model_settings: Deferred[ModelSettings],
    searching: SearchSettings,
    run: RunSettings,
) -> None:
    """Evaluate a model on labeled documents: accuracy, F1, log-loss, calibration.

    Evaluate a model (-m), a file of predictions (--predictions), or, by cross-validation, the models that
    `nbtext train` would train with the same options (--folds, --group-field, --order-field).
    """
    from nbtext.evaluation.error_log import select_predictions
    from nbtext.evaluation.evaluator import Evaluator
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.model.predictor import Predictions
    from nbtext.report.evaluation import format_evaluation

    check_report(report)
    chosen = result_format(output_format, output, OUTPUT_FORMATS)
    subject = _load_subject(model_file, predictions, fold_settings, foreign)
    cross_validation = _CrossValidation(fold_settings, features, model_settings, searching, decisions, run)
    log = _error_log(report, decisions)

    predict = _make_predict(subject, cross_validation, decisions, run)
    trained_on = subject.fitted.input if isinstance(subject, TrainedModel) else None
    if isinstance(subject, TrainedModel):
        warn_of_costs(subject.fitted, decisions, quiet=run.quiet)
    targets = None if decisions.replaces_label else _settings_of(subject, model_settings)
    evaluator = Evaluator(decisions.cost, with_likelihoods=foreign is not None, targets=targets)
    input_settings = fold_settings.add_split(input_settings)
    with open_documents(sources, input_settings, run, trained_on=trained_on) as (source, on_batch):
        has_sets, predicted = _peek(predict(source, on_batch))
        if has_sets:
            sets, diagnosis = _evaluate_sets(predicted, foreign, with_details=report is not None)
        else:
            found = select_predictions(predicted, Predictions, log)
            evaluator.add_all(found)
    if has_sets:
        _write_sets(sets, diagnosis, sources, report, output, chosen)
        check_thresholds(sets, thresholds)
        return
    if foreign is not None:
        with open_documents((foreign,), input_settings, run, trained_on=trained_on) as (source, on_batch):
            evaluator.add_foreign(select_predictions(predict(source, on_batch), Predictions))
    evaluation = evaluator.evaluation()
    if report is not None and log is not None:
        _write_report(report, log, evaluation, subject, sources)
    write_result(format_evaluation(evaluation, output_format=chosen, screen=screen(output)), output, chosen)
    check_thresholds(evaluation, thresholds)


def _load_subject(
    model_file: str | None, predictions: str | None, fold_settings: FoldSettings, foreign: str | None
) -> TrainedModel | PredictionsFile | None:
    """Load what is evaluated: a model, a file of predictions, or (None) models of cross-validation.

    raises  SettingsError: none or several of them are given, or options that have no effect
    """
    if foreign is not None and model_file is None:
        raise SettingsError("this option needs a model", where="--foreign", hint="give one with -m")
    if [model_file, fold_settings.is_wanted or None, predictions].count(None) != 2:
        what = "give exactly one of -m MODEL, --predictions FILE or cross-validation"
        raise SettingsError(f"{what} (--folds, --group-field or --order-field)")
    if not fold_settings.is_wanted:
        refuse(FOLD_STAGE, FEATURE_STAGE, MODELS, because="this option is used only in cross-validation (--folds)")
    if predictions is not None:
        from nbtext.evaluation.predictions_file import PredictionsFile

        return PredictionsFile(predictions)
    if model_file is None:
        return None
    from nbtext.artifact.model import load_model

    return load_model(model_file)


def _make_predict(
    subject: TrainedModel | PredictionsFile | None,
    cross_validation: _CrossValidation,
    decisions: DecisionSettings,
    run: RunSettings,
) -> Callable[[Source, OnBatch], Iterator[PredictedBatch]]:
    """Return the function that predicts the documents of a source, or reads their predictions."""
    from nbtext.evaluation.error_log import predict_by_model, predict_from_file
    from nbtext.model.fitted_model import TrainedModel

    def predict(source: Source, on_batch: OnBatch) -> Iterator[PredictedBatch]:
        if isinstance(subject, TrainedModel):
            return predict_by_model(subject.fitted, source, jobs=run.jobs, decisions=decisions, on_batch=on_batch)
        if subject is not None:
            return predict_from_file(subject, source, decisions)
        return cross_validation.predict(source, on_batch)

    return predict


def _peek(predicted: Iterator[PredictedBatch]) -> tuple[bool, Iterator[PredictedBatch]]:
    """Return whether the predictions have several labels for a document, and the same predictions."""
    from nbtext.model.multilabel_predictions import MultilabelPredictions

    first = list(islice(predicted, 1))
    return any(isinstance(each.predictions, MultilabelPredictions) for each in first), chain(first, predicted)


def _settings_of(
    subject: TrainedModel | PredictionsFile | None, model_settings: Deferred[ModelSettings]
) -> ModelSettings | None:
    """Return the settings of the model that is evaluated, or of those of cross-validation; None if not known."""
    from nbtext.model.fitted_model import TrainedModel

    if isinstance(subject, TrainedModel):
        return subject.fitted.model_settings
    if subject is not None:
        return None
    return model_settings.settings(**{"model": AUTO} if is_search(model_settings) else {})


@dataclass(frozen=True, slots=True)
class _CrossValidation:
    """Predicts each fold of a source by a model of the others, or by the model that a search of the others finds."""

    folds: FoldSettings
    features: Deferred[FeatureSettings]
    model_settings: Deferred[ModelSettings]
    searching: SearchSettings
    decisions: DecisionSettings
    run: RunSettings

    def __post_init__(self) -> None:
        if not is_search(self.model_settings):
            refuse(SEARCH_STAGE, because="this option needs --model best")

    def predict(self, source: Source, on_batch: OnBatch) -> Iterator[PredictedBatch]:
        """Predict all folds; with --model best, print which model was trained for each."""
        from nbtext.evaluation.error_log import PredictedBatch, predict_by_folds

        if not is_search(self.model_settings):
            return predict_by_folds(
                source, self.folds, features=self.features.settings(), model_settings=self.model_settings.settings(),
                decisions=self.decisions, jobs=self.run.jobs, on_batch=on_batch,
            )  # fmt: skip
        from nbtext.evaluation.cross_validation import cross_validate_search

        candidates = list_searched(self.features, self.model_settings, source)
        predicted = cross_validate_search(
            source, self.folds, candidates[0].features, partial(self._search, candidates),
            decisions=self.decisions, jobs=self.run.jobs, on_batch=on_batch,
        )  # fmt: skip
        return (PredictedBatch(predictions, texts) for predictions, texts in predicted)

    def _search(self, candidates: list[Candidate], count: Callable[[FeatureSettings], CorpusCounts]) -> TrainedModel:
        from math import inf
        from time import monotonic

        from nbtext.evaluation.candidates import Budget
        from nbtext.evaluation.search import search_model
        from nbtext.report.training import format_choice

        budget = Budget(self.searching.budget, monotonic)
        trained, found = search_model(candidates, count, budget, reading_seconds=inf, jobs=self.run.jobs)
        say(format_choice(found), quiet=self.run.quiet)
        return trained


def _error_log(report: str | None, decisions: DecisionSettings) -> ErrorLog | None:
    if report is None:
        return None
    from nbtext.evaluation.error_log import ErrorLog

    return ErrorLog(min_probability=decisions.min_probability or 0.0)


def _evaluate_sets(
    predicted: Iterator[PredictedBatch], foreign: str | None, *, with_details: bool
) -> tuple[MultilabelEvaluation, SetDiagnosis | None]:
    """Return the evaluation of predictions of several labels, and its details for the page.

    raises  SettingsError: there are foreign documents, which need a likelihood
    """
    from nbtext.evaluation.error_log import select_predictions
    from nbtext.evaluation.multilabel_evaluator import MultilabelEvaluator
    from nbtext.evaluation.multilabel_log import SetLog
    from nbtext.model.multilabel_predictions import MultilabelPredictions

    if foreign is not None:
        what = "needs a model that gives the likelihood of documents, and a multi-label model does not"
        raise SettingsError(what, where="--foreign", hint="leave out --foreign")
    log, evaluator = SetLog(), MultilabelEvaluator()
    evaluator.add_all(select_predictions(predicted, MultilabelPredictions, log if with_details else None))
    evaluation = evaluator.evaluation()
    return evaluation, log.diagnose(evaluation) if with_details else None


def _write_sets(
    evaluation: MultilabelEvaluation,
    diagnosis: SetDiagnosis | None,
    sources: tuple[str, ...],
    report: str | None,
    output: str,
    output_format: str,
) -> None:
    """Write the evaluation of predictions of several labels, and its page if there are details."""
    from nbtext.report.evaluation import format_set_evaluation

    if diagnosis is not None and report is not None:
        from nbtext.report.evaluation_page import render_set_page
        from nbtext.report.page.rendering import write_page

        names = ", ".join(sources)
        write_page(report, render_set_page(diagnosis, subject=names, settings=_page_settings(names)))
    text = format_set_evaluation(evaluation, output_format=output_format, screen=screen(output))
    write_result(text, output, output_format)


def _page_settings(sources: str) -> dict[str, str]:
    """Return the options that the page shows, as they were typed."""
    return {"SOURCE": sources} | {name: text for name, text in typed_options().items() if name not in RUN_OPTIONS}


def _write_report(
    path: str,
    log: ErrorLog,
    evaluation: Evaluation,
    subject: TrainedModel | PredictionsFile | None,
    sources: tuple[str, ...],
) -> None:
    """Write the page of an evaluation."""
    from nbtext.evaluation.diagnosis import diagnose
    from nbtext.features.occurrences import Locator
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.report.evaluation_page import render_evaluation_page
    from nbtext.report.page.rendering import write_page

    trained = subject if isinstance(subject, TrainedModel) else None
    has_all = subject is None or isinstance(subject, TrainedModel) or subject.has_all_probabilities
    diagnosis = diagnose(log, evaluation, trained, has_all_probabilities=has_all)
    names = ", ".join(sources)
    locate = Locator(trained.fitted.feature_settings) if trained is not None else None
    write_page(path, render_evaluation_page(diagnosis, subject=names, settings=_page_settings(names), locate=locate))

"""`nbtext evaluate`: the metrics of a model on labeled documents; thresholds set the exit status."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from nbtext.bayes.settings import AUTO, BEST, ModelSettings
from nbtext.cli.command import command, refuse_settings, typed_options
from nbtext.cli.options import ResultSettings, RunSettings, labeled_input, report, result, run, sources, trained_model
from nbtext.cli.running import (
    check_report,
    list_searched,
    open_documents,
    result_format,
    say,
    warn_of_costs,
    write_result,
)
from nbtext.errors import SettingsError
from nbtext.evaluation.evaluator import check_thresholds, parse_thresholds
from nbtext.evaluation.settings import FoldSettings, SearchSettings
from nbtext.features.settings import FeatureSettings
from nbtext.model.settings import DecisionSettings
from nbtext.records import dataclass
from nbtext.settings import Needs, part, setting

if TYPE_CHECKING:
    from nbtext.bayes.diagnostics import RepeatedTexts
    from nbtext.documents.settings import InputSettings
    from nbtext.documents.source import Source
    from nbtext.evaluation.diagnosis import Diagnosis, SetDiagnosis
    from nbtext.evaluation.evaluator import Evaluation
    from nbtext.evaluation.outcomes import PredictedBatch
    from nbtext.evaluation.predicted import PredictionsFile
    from nbtext.evaluation.search import Candidate
    from nbtext.model.corpus_counts import CorpusCounts
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.model.source_counting import OnBatch

# options without effect on the content of the page
RUN_OPTIONS = (
    "--jobs", "--quiet", "--no-progress", "--verbose", "--debug", "--to", "--output", "--report", "--fail-under",
    "--force",
)  # fmt: skip
COVERAGE = (
    "Evaluate prediction sets, too: the smallest sets of labels that contain the true label with probability P, such "
    "as 0.95 (conformal prediction). A document with an empty set gets no label. For a multi-label model, the sets "
    "contain a share P of the true labels."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluate:
    """The settings of `nbtext evaluate`."""

    sources: tuple[str, ...] = sources()
    model_file: str | None = setting(None, "Model file to evaluate.", flags=("-m", "--model-file"), file="model")
    predictions: str | None = setting(
        None, "File of predictions to evaluate instead of a model: jsonl, json, tsv or csv of `nbtext predict`, "
        "compressed or not; `-` is standard input. They are matched to SOURCE by id (equal ids in order). Labels are "
        "final: --cost only adds the cost to the result.", file="input",
    )  # fmt: skip
    folds: FoldSettings = part(FoldSettings)
    fail_under: Mapping[str, float] | None = setting(
        None, "Thresholds of metrics, such as accuracy=0.85,macro_f1=0.8,recall:LABEL=0.9. Exit with status 3 if a "
        "metric is below its threshold, or, for a loss such as log_loss, above it. The names of the metrics are the "
        "fields of --to json.", parse=parse_thresholds, metavar="METRIC=N,…",
    )  # fmt: skip
    foreign: str | None = setting(
        None, "Foreign documents, such as texts about other topics, which should be outliers. Measures how well the "
        "likelihood separates them from SOURCE (outlier AUROC).", file="source",
    )  # fmt: skip
    report: str | None = report()
    result: ResultSettings = result()
    decisions: DecisionSettings = part(DecisionSettings, without=("explain", "top_k"), coverage={"help": COVERAGE})
    input: InputSettings = labeled_input()
    features: FeatureSettings = part(FeatureSettings)
    model_settings: Mapping[str, Any] = trained_model("keep_sample")
    search: SearchSettings = part(SearchSettings)
    run: RunSettings = run()

    @property
    def is_search(self) -> bool:
        """Whether the models of cross-validation are searched."""
        return self.model_settings.get("model") == BEST

    @property
    def trained(self) -> ModelSettings:
        """The settings of the models of cross-validation; of a search, those of its first candidate."""
        return ModelSettings(**{**self.model_settings, **({"model": AUTO} if self.is_search else {})})


@command(
    Evaluate,
    common="-m --folds --predictions --fail-under --report -o --to --text-field --label-field --model",
    example="nbtext evaluate letters/test -m letters.joblib --fail-under accuracy=0.8",
    notes="Memory does not grow with SOURCE if -m is given without --report. Cross-validation keeps the counts of all "
    "documents in memory; with --model best also their texts. --report adds about 600 bytes per document, and the "
    "names of at most 10,000 documents.",
    rules=[Needs("foreign", "model_file"), Needs("budget", "model=best")],
)
def evaluate(given: Evaluate) -> None:
    """Evaluate a model on labeled documents: accuracy, F1, log-loss, calibration.

    Evaluate a model (-m), a file of predictions (--predictions), or, by cross-validation, the models that
    `nbtext train` would train with the same options (--folds, --group-field, --order-field).
    """
    from nbtext.evaluation.predicted import PredictionsFile
    from nbtext.evaluation.tasks import TASKS
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.model.predictions import NO_TOKEN
    from nbtext.report.evaluation import evaluation_result

    check_report(given.report)
    chosen, decisions = result_format(given.result), given.decisions
    subject = _load_subject(given)
    corpora: list[CorpusCounts] = []
    repeated: list[RepeatedTexts] = []
    n_empty = 0
    predict = _make_predict(subject, given, on_corpus=corpora.append, on_repeated=repeated.append)
    trained_on = subject.fitted.input if isinstance(subject, TrainedModel) else None
    if isinstance(subject, TrainedModel):
        warn_of_costs(subject.fitted, decisions, quiet=given.run.quiet)
    targets = None if decisions.replaces_label else _settings_of(subject, given)
    input_settings, thresholds = given.folds.add_split(given.input), given.fail_under or {}
    with open_documents(given.sources, input_settings, given.run, trained_on=trained_on) as (source, on_batch):
        predicted = predict(source, on_batch)
        first = list(islice(predicted, 1))
        task = TASKS[first[0].predictions.task if first else "one"]
        evaluator = task.evaluator(decisions.cost, with_likelihoods=given.foreign is not None, targets=targets)
        log: Any = task.log(min_probability=decisions.min_probability or 0.0) if given.report is not None else None
        for batch in chain(first, predicted):
            n_empty += batch.predictions.reasons.count(NO_TOKEN)
            if log is not None:
                log.record(batch)
            evaluator.add(batch.predictions)
    if isinstance(subject, PredictionsFile) and not subject.has_all_probabilities:
        what = "the file has the probabilities only of predicted labels, so that figures of probabilities are rough"
        say(f"{what}; nbtext predict --to jsonl writes all", quiet=given.run.quiet)
    if given.foreign is not None:
        with open_documents((given.foreign,), input_settings, given.run, trained_on=trained_on) as (source, on_batch):
            evaluator.add_foreign(batch.predictions for batch in predict(source, on_batch))
    evaluation = replace(evaluator.evaluation(), repeated=next(iter(repeated), None))
    if given.report is not None:
        trained = subject if isinstance(subject, TrainedModel) else None
        has_all = not isinstance(subject, PredictionsFile) or subject.has_all_probabilities
        diagnosis = log.diagnose(evaluation, trained, has_all_probabilities=has_all)
        _write_report(given.report, diagnosis, trained, given.sources)
    write_result(evaluation_result(evaluation), given.result, chosen)
    _print_first_look(evaluation, corpora, n_empty, quiet=given.run.quiet)
    check_thresholds(evaluation, thresholds)


def _print_first_look(evaluation: Evaluation, corpora: list[CorpusCounts], n_empty: int, *, quiet: bool) -> None:
    """Print what there is to say about the documents: those of the folds, or else the evaluated ones."""
    from nbtext.report.first_look import FirstLook, format_first_look, look_at

    labels = {each.label: each.support for each in evaluation.per_label}
    accuracy = (evaluation.metrics["accuracy"], evaluation.documents) if "accuracy" in evaluation.metrics else None
    look = FirstLook(evaluation.documents, labels, n_empty, is_multilabel=accuracy is None, is_training=False)
    for line in format_first_look(look_at(corpora[0]) if corpora else look, accuracy):
        say(line, quiet=quiet)


def _load_subject(given: Evaluate) -> TrainedModel | PredictionsFile | None:
    """Load what is evaluated: a model, a file of predictions, or (None) models of cross-validation.

    raises  SettingsError: none or several of them are given, or options that have no effect
    """
    if [given.model_file, given.folds.is_wanted or None, given.predictions].count(None) != 2:
        what = "give exactly one of -m MODEL, --predictions FILE or cross-validation"
        raise SettingsError(f"{what} (--folds, --group-field or --order-field)")
    if not given.folds.is_wanted:
        because = "it is used only in cross-validation (--folds)"
        refuse_settings(FoldSettings, FeatureSettings, ModelSettings, because=because)
    if given.predictions is not None:
        from nbtext.evaluation.predicted import PredictionsFile

        return PredictionsFile(given.predictions)
    if given.model_file is None:
        return None
    from nbtext.artifact.model import load_model

    return load_model(given.model_file)


def _make_predict(
    subject: TrainedModel | PredictionsFile | None, given: Evaluate, **listeners: Callable[[Any], None]
) -> Callable[[Source, OnBatch], Iterator[PredictedBatch]]:
    """Return the function that predicts the documents of a source, or reads their predictions.

    listeners  see `cross_validate_source`
    """
    from nbtext.evaluation.predicted import predict_by_model, predict_from_file
    from nbtext.model.fitted_model import TrainedModel

    def predict(source: Source, on_batch: OnBatch) -> Iterator[PredictedBatch]:
        decisions = given.decisions
        if isinstance(subject, TrainedModel):
            return predict_by_model(subject.fitted, source, jobs=given.run.jobs, decisions=decisions, on_batch=on_batch)
        if subject is not None:
            return predict_from_file(subject, source, decisions)
        return _cross_validate(given, source, on_batch=on_batch, **listeners)

    return predict


def _settings_of(subject: TrainedModel | PredictionsFile | None, given: Evaluate) -> ModelSettings | None:
    """Return the settings of the model that is evaluated, or of those of cross-validation; None if not known."""
    from nbtext.model.fitted_model import TrainedModel

    if isinstance(subject, TrainedModel):
        return subject.fitted.model_settings
    return None if subject is not None else given.trained


def _cross_validate(given: Evaluate, source: Source, **listeners: Any) -> Iterator[PredictedBatch]:
    """Predict each fold by a model of the others, or by the model that a search of the others finds."""
    from nbtext.evaluation.cross_validation import cross_validate_search, cross_validate_source
    from nbtext.evaluation.outcomes import PredictedBatch

    if not given.is_search:
        return map(PredictedBatch, cross_validate_source(
            source, given.folds, features=given.features, model_settings=given.trained,
            decisions=given.decisions, jobs=given.run.jobs, **listeners,
        ))  # fmt: skip
    candidates = list_searched(given.features, given.trained, source)
    return cross_validate_search(
        source, given.folds, candidates[0].features, partial(_search_fold, given, candidates),
        decisions=given.decisions, jobs=given.run.jobs, duplicates=given.trained.duplicates, **listeners,
    )  # fmt: skip


def _search_fold(
    given: Evaluate, candidates: list[Candidate], count: Callable[[FeatureSettings], CorpusCounts]
) -> TrainedModel:
    """Search the model of one fold, and print which one was trained."""
    from math import inf
    from time import monotonic

    from nbtext.evaluation.search import Budget, search_model
    from nbtext.report.training import format_choice

    budget = Budget(given.search.budget, monotonic)
    trained, found = search_model(candidates, count, budget, reading_seconds=inf, jobs=given.run.jobs)
    say(format_choice(found), quiet=given.run.quiet)
    return trained


def _page_settings(sources: str) -> dict[str, str]:
    """Return the options that the page shows, as they were typed."""
    return {"SOURCE": sources} | {name: text for name, text in typed_options().items() if name not in RUN_OPTIONS}


def _write_report(
    path: str, diagnosis: Diagnosis | SetDiagnosis, trained: TrainedModel | None, sources: tuple[str, ...]
) -> None:
    """Write the page of an evaluation."""
    from nbtext.features.occurrences import Locator
    from nbtext.report.evaluation_page import render_evaluation_page
    from nbtext.report.page.rendering import write_page

    names = ", ".join(sources)
    locate = Locator(trained.fitted.feature_settings) if trained is not None else None
    write_page(path, render_evaluation_page(diagnosis, subject=names, settings=_page_settings(names), locate=locate))

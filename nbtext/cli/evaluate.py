"""`nbtext evaluate`: the metrics of a model on labeled documents; thresholds set the exit
status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from nbtext.bayes.diagnostics import score_interval
from nbtext.bayes.settings import AUTO, BEST, ModelSettings
from nbtext.cli import options, running
from nbtext.cli.command import command, refuse_settings, typed_options, typed_settings
from nbtext.documents.settings import VALUES, InputSettings
from nbtext.errors import BelowThreshold, SettingsError
from nbtext.evaluation.evaluator import (
    check_thresholds,
    find_min_probability,
    parse_thresholds,
    without_probabilities,
)
from nbtext.evaluation.outcomes import PredictedBatch
from nbtext.evaluation.settings import FoldSettings
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import TrainedModel, list_targets
from nbtext.model.settings import DecisionSettings
from nbtext.output import STANDARD_OUTPUT_PATHS, check_output
from nbtext.records import Strings, frozen
from nbtext.settings import Excludes, Needs, part, refuse, setting

if TYPE_CHECKING:
    from nbtext.documents.source import Source
    from nbtext.evaluation.overlap import Overlap
    from nbtext.evaluation.predicted import PredictionsFile
    from nbtext.model.source_counting import OnBatch

# options without effect on the content of the page
RUN_OPTIONS = str.split(
    "--jobs --quiet --verbose --to --output --report --fail-under --force --held-out"
)
COVERAGE = (
    "Evaluate prediction sets, too: the smallest sets of labels that contain the true label with probability P, such "
    "as 0.95 (conformal prediction). A document with an empty set gets no label. For a multi-label model, the sets "
    "contain a share P of the true labels."
)
OF_PREDICT = ("threshold", "at_least_one", "coverage", "min_known")
ARE_FINAL = "predictions are final: nbtext predict has this option"


@frozen(kw_only=True)
class Evaluate:
    """The settings of `nbtext evaluate`."""

    sources: Strings = options.sources()
    model_file: str | None = setting(
        None, "Model file to evaluate.", flags=("-m", "--model-file"), file="model"
    )
    predictions: str | None = setting(
        None,
        "File of predictions to evaluate instead of a model: what `nbtext predict` wrote in any format with ids, "
        "or any JSON, table, Parquet, Arrow or SQLite file, compressed or not; `-` is standard input. They are matched "
        "to SOURCE by id (equal ids in order; all in order if there are no ids). Labels are final: --cost only adds "
        "the cost to the result.",
        file="input",
    )
    predicted_field: str | None = setting(
        None,
        "Column or JSON key of the predicted label, by any program; a list holds several labels. Without "
        "--predictions it is one of SOURCE, whose --label-field holds the true label.",
        metavar="NAME",
        default_help="label or labels of --predictions",
    )
    probability_field: str | None = setting(
        None,
        "Column or JSON key of the probability of the predicted label.",
        metavar="NAME",
        default_help="probability beside label, x_probability beside x_label",
    )
    folds: FoldSettings = part(FoldSettings)
    fail_under: Mapping[str, float] | None = setting(
        None,
        "Thresholds of metrics, such as accuracy=0.85,macro_f1=0.8,recall:LABEL=0.9. Exit with status 3 if a "
        "metric is below its threshold, or, for a loss such as log_loss, above it; the result then goes to standard "
        "error, and no file is written. The names of the metrics are the fields of --to json. A comma in a label is "
        "typed as \\,.",
        parse=parse_thresholds,
        metavar="METRIC=N,…",
    )
    by: str | None = setting(
        None,
        "Evaluate the documents of each group, too. NAME is the column, JSON key or mail header of the group, such as "
        "the source. Adds the AUROC of each label within groups, and a warning if the group alone predicts the label "
        "almost as well as the model.",
        metavar="NAME",
    )
    target_accuracy: float | None = setting(
        None,
        "Find the least probability from which this share of the labels is right, also on new documents with 0.95 "
        "confidence. `nbtext predict --min-probability` takes it, and --to json has it as "
        "target_accuracy.min_probability.",
        low=0.01,
        high=0.9999,
        metavar="P",
    )
    held_out: str | None = setting(
        None,
        "Write the predictions of cross-validation, too: id, label, probability, true label, fold and the beginning "
        "of the text of each document that was held out, as CSV.",
        file="output",
    )
    report: str | None = options.report()
    result: options.ResultSettings = options.result()
    decisions: DecisionSettings = part(
        DecisionSettings, without=("explain", "top_k"), coverage={"help": COVERAGE}
    )
    input: InputSettings = part(InputSettings)
    features: FeatureSettings = part(FeatureSettings)
    model_settings: Mapping[str, Any] = options.trained_model("keep_sample")
    run: options.RunSettings = options.run()

    @property
    def is_search(self) -> bool:
        """Whether the models of cross-validation are searched."""
        return self.model_settings.get("model") == BEST

    @property
    def trained(self) -> ModelSettings:
        """The settings of the models of cross-validation; of a search, those of its first
        candidate.
        """
        return ModelSettings(
            **{**self.model_settings, **({"model": AUTO} if self.is_search else {})}
        )


@command(
    Evaluate,
    common="-m --folds --predictions --fail-under --report -o --to --text-field --label-field --model",
    example="nbtext evaluate letters/test -m letters.joblib --fail-under accuracy=0.8",
    notes="With -m, memory holds the model and 45 bytes for each document. Cross-validation keeps the counts of all "
    "documents in memory; with --model best also their texts. --report adds the names, and for mistakes "
    "the texts, of at most 25 documents for each true and predicted label.",
    referred=dict.fromkeys(
        ("Features", "Model"), "in cross-validation (--folds, --group-field or --order-field)"
    ),
    rules=[
        Needs("held_out", "folds|group_field|order_field"),
        Excludes("predicted_field", "model_file"),
        Excludes("target_accuracy", "weight_field", "each document must count once"),
        Needs("probability_field", "predicted_field"),
        *(
            Excludes(name, subject, ARE_FINAL)
            for name in OF_PREDICT
            for subject in ("predictions", "predicted_field")
        ),
    ],
)
def evaluate(given: Evaluate) -> None:
    """Evaluate a model on labeled documents: accuracy, F1, log-loss, calibration.

    Evaluate a model (-m), a file of predictions (--predictions), predictions in the documents
    themselves (--predicted-field), or, by cross-validation, the models that `nbtext train` would
    train with the same options (--folds, --group-field, --order-field).
    """
    from nbtext.evaluation.groups import GroupLog, describe_leak
    from nbtext.evaluation.metrics import ALL_METRICS
    from nbtext.evaluation.overlap import Overlap
    from nbtext.features.document_table import count_repeated
    from nbtext.model.tasks import TASKS, find_task
    from nbtext.report.evaluation import evaluation_result
    from nbtext.report.first_look import FirstLook, format_first_look, look_at
    from nbtext.report.label_mistakes import name_unknown

    running.check_report(given.report)
    decisions = given.decisions
    held_out = None
    if given.held_out is None:
        chosen = running.result_format(given.result)
    else:
        from nbtext.report.held_out import HeldOutPredictions

        if given.held_out in STANDARD_OUTPUT_PATHS:
            raise SettingsError(
                "the result goes to standard output", where="held_out", hint="name a file"
            )
        running.format_of(given.held_out, ("csv",))
        check_output(given.held_out)
        chosen = running.result_format(replace(given.result, spreadsheet_safe=False))
        held_out = HeldOutPredictions(given.input.label_separator or ",")
    model, file = _load_subject(given)
    overlap = Overlap(model) if model is not None else None
    n_unknown = 0
    trained_on = model.fitted.input if model is not None else None
    targets = None
    if not decisions.replaces_label and file is None:
        targets = model.fitted.model_settings if model is not None else given.trained
    made = () if model is None else list_targets(model.fitted)
    input_settings = given.folds.add_split(given.input)
    by_group = None
    if given.by is not None:
        if given.folds.split_field not in (None, given.by):
            raise refuse("by", f"‹{given.folds.split_option}› names another field of groups")
        if input_settings.split is None:
            input_settings = input_settings.group_by(given.by, "by")
        by_group = GroupLog(given.by)
    if file is not None and given.predictions is None:
        # the documents have their predictions, and need no text but for the page
        text_field: Strings = ()
        if "--text-field" in typed_options():
            if given.report is None:
                raise refuse("text_field", "predictions that are fields of SOURCE need no text")
            text_field = input_settings.text_field
        input_settings = replace(
            input_settings, text_field=text_field, other_fields=file.fields.names, rows_for=VALUES
        )
    with running.open_documents(
        given.sources, input_settings, given.run, trained_on=trained_on
    ) as (source, on_batch):
        predicted, corpus = _predict(given, model, file, source, on_batch, overlap)
        first = list(islice(predicted, 1))
        task = first[0].predictions.task if first else find_task(True)
        evaluator = TASKS[task].load("evaluator")(decisions, targets, made)
        log = TASKS[task].load("log")() if given.report is not None else None
        for batch in chain(first, predicted):
            n_unknown += int((batch.predictions.known == 0).sum())
            outcomes = evaluator.add(batch.predictions)
            if log is not None:
                log.record(batch, outcomes)
            if held_out is not None:
                held_out.record(batch)
            if by_group is not None:
                by_group.record(batch)
    has_probabilities, note = (True, "") if file is None else file.assess_probabilities()
    needed = {
        "min_probability": decisions.min_probability,
        "target_accuracy": given.target_accuracy,
    }
    for name, value in needed.items():
        if value is not None and not has_probabilities:
            raise refuse(name, "not every prediction has a probability")
    notes = [note] if note else []
    evaluation = evaluator.evaluation()
    if overlap is not None and overlap.trained:
        evaluation = replace(evaluation, trained_on=round(overlap.share * evaluation.documents))
        so = ", so that the figures are too high for new ones" if overlap.is_large else ""
        notes.append(f"the model was trained on {overlap.describe(evaluation.documents)}{so}")
    given.run.say(*notes)
    if corpus is not None and corpus.sample.weights is None and given.folds.split_field is None:
        evaluation = replace(evaluation, duplicates=count_repeated(corpus.sample) or None)
    if by_group is not None:
        evaluation = by_group.add_to(evaluation, evaluator)
    if given.target_accuracy is not None:
        if evaluation.per_label and not evaluator.has_accuracy:
            raise refuse("target_accuracy", "the documents have several labels")
        outcomes = evaluator.outcomes()
        if outcomes.weights is not None:
            raise refuse("target_accuracy", "a document has several labels, each with a share")
        found = find_min_probability(outcomes, given.target_accuracy)
        evaluation = replace(evaluation, target_accuracy=found)
    if not has_probabilities:
        evaluation = without_probabilities(evaluation)
    result = evaluation_result(evaluation)
    failure = None
    try:
        check_thresholds(evaluation, given.fail_under or {})
    except BelowThreshold as error:
        # nothing is written, so that a file which exists has passed the gate
        failure = error
    if failure is None and given.report is not None and log is not None:
        from nbtext.features.analyzer import Locator
        from nbtext.report.evaluation_page import render_evaluation_page
        from nbtext.report.page.rendering import write_page

        diagnosis = log.diagnose(evaluation, evaluator, model)
        names = running.name_sources(given.sources)
        typed = {name: text for name, text in typed_options().items() if name not in RUN_OPTIONS}
        page = render_evaluation_page(
            diagnosis,
            subject=names,
            settings={"SOURCE": names} | typed,
            locate=Locator(model.fitted.feature_settings) if model is not None else None,
            has_probabilities=has_probabilities,
            notes=notes,
        )
        write_page(given.report, page)
    if failure is None and held_out is not None:
        running.write_result(
            held_out.result(), replace(given.result, output=given.held_out or ""), "csv"
        )
    if failure is None or given.result.output in STANDARD_OUTPUT_PATHS:
        running.write_result(result, given.result, chosen)
    else:
        running.say_result(result, chosen)
    # what there is to say about the documents: those of the folds, or else the evaluated ones
    labels = {each.label: each.support for each in evaluation.per_label}
    accuracy = None
    name = "accuracy_among_answered" if evaluation.unanswered else "accuracy"
    metrics = evaluation.metrics
    if name in metrics:
        interval = evaluation.accuracy_interval
        if evaluation.unanswered:
            n_answered = evaluation.documents - evaluation.unanswered
            interval = score_interval(metrics[name], n_answered) if n_answered else None
        accuracy = (metrics[name], interval)
    if corpus is not None:
        look = look_at(corpus, given.features.view)
    else:
        look = FirstLook(
            evaluation.documents,
            labels,
            n_unknown if model is not None else 0,
            has_one_label=TASKS[task].has_one_label,
            is_training=False,
        )
    title = ALL_METRICS[name].title
    recalls = {each.label: each.recall for each in evaluation.per_label if each.support}
    given.run.say(*format_first_look(look, accuracy, name=title, recalls=recalls))
    given.run.say(*describe_leak(evaluation.groups, metrics))
    if first and not given.folds.is_wanted:
        true = [label for label, number in labels.items() if number]
        given.run.say(*name_unknown(true, first[0].predictions.classes, is_model=model is not None))
    if failure is not None:
        raise failure


def _load_subject(given: Evaluate) -> tuple[TrainedModel | None, PredictionsFile | None]:
    """Load what is evaluated: a model, a file of predictions, or (neither) models of
    cross-validation.

    raises  SettingsError: none or several of them are given, or options that have no effect
    """
    fields = given.predicted_field if given.predictions is None else None
    if [given.model_file, given.folds.is_wanted or None, given.predictions, fields].count(
        None
    ) != 3:
        what = "give exactly one of -m MODEL, --predictions FILE, --predicted-field NAME or cross-validation"
        raise SettingsError(f"{what} (--folds, --group-field or --order-field)")
    if not given.folds.is_wanted:
        because = "it is used only in cross-validation (--folds)"
        refuse_settings(FoldSettings, FeatureSettings, ModelSettings, because=because)
    if given.predictions is not None or fields is not None:
        if given.input.separate_fields:
            raise refuse("separate_fields", "predictions are read, and no features are counted")
        from nbtext.evaluation.predicted import PredictedFields, PredictionsFile

        read = given.input
        named = PredictedFields(
            given.predicted_field, given.probability_field, read.label_separator, read.id_field
        )
        return None, PredictionsFile(given.predictions, named)
    if given.model_file is None:
        return None, None
    from nbtext.artifact.model import load_model_file

    return load_model_file(given.model_file), None


def _predict(
    given: Evaluate,
    model: TrainedModel | None,
    file: PredictionsFile | None,
    source: Source,
    on_batch: OnBatch,
    overlap: Overlap | None,
) -> tuple[Iterator[PredictedBatch], CorpusCounts | None]:
    """Predict the documents of a source by a model, or read the predictions; or predict each fold
    by a model of the others, and return the counts of all documents, too.
    """
    from nbtext.evaluation.predicted import predict_by_model, predict_from_file

    decisions = given.decisions
    jobs = given.run.jobs
    if model is not None:
        found = predict_by_model(
            model.fitted,
            source,
            jobs=jobs,
            decisions=decisions,
            on_batch=on_batch,
            overlap=overlap,
        )
        return found, None
    if file is not None:
        return predict_from_file(file, source, decisions), None
    from nbtext.evaluation.cross_validation import cross_validate_search, cross_validate_source

    if not given.is_search:
        validated = cross_validate_source(
            source,
            given.folds,
            features=given.features,
            model_settings=given.trained,
            decisions=decisions,
            jobs=jobs,
            has_ids=given.held_out is not None or given.by is not None,
            may_select=not typed_settings(FeatureSettings),
            on_batch=on_batch,
        )
        return validated.predictions, validated.corpus
    from nbtext.evaluation.search import list_searched, search_model
    from nbtext.report.training import format_choice

    typed = typed_settings(FeatureSettings, ModelSettings)
    candidates = list_searched(given.features, given.trained, source, typed)

    def search(count: Callable[[FeatureSettings], CorpusCounts]) -> TrainedModel:
        found = search_model(candidates, count, jobs=jobs)
        given.run.say(format_choice(found))
        return found.model

    validated = cross_validate_search(
        source,
        given.folds,
        candidates[0].features,
        search,
        decisions=decisions,
        jobs=jobs,
        on_batch=on_batch,
    )
    return validated.predictions, validated.corpus

"""`nbtext evaluate`: how good a model is on labelled texts, as figures and as an exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nbtext.bayes.settings import ModelSettings
from nbtext.cli.files import INPUT, MODEL, OUTPUT, SOURCE
from nbtext.cli.options import StagedCommand, collected, option, refuse_given, settings_options
from nbtext.cli.reporting import Reporter
from nbtext.cli.running import form_or_default, jobs_or_all, print_result, reading, screen
from nbtext.cli.shared_options import feature_options, form_option, reading_options, run_options, sources
from nbtext.cli.types import Parsed
from nbtext.documents.settings import ReadingSettings
from nbtext.errors import SettingsError
from nbtext.evaluation.settings import FoldSettings
from nbtext.evaluation.thresholds import check_bars, parse_bars
from nbtext.features.settings import FeatureSettings
from nbtext.model.settings import DecisionSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.cli.reporting import Asked
    from nbtext.documents.source import Source
    from nbtext.evaluation.seen import Seen
    from nbtext.model.source_counting import OnBatch


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext evaluate corpora/letters/test -m letters.joblib --fail-under accuracy=0.8\n\n"
    "With a model it streams; with --folds and its like it keeps the counts of all documents in memory. "
    "--report adds about 600 bytes a document, and of at most 10,000 their names.",
)
@sources
@option("-m", "--model-file", type=MODEL, help="The model file to judge.")
@option(
    "--predictions",
    type=INPUT,
    help="What was predicted of SOURCE before, matched by id, instead of a model.",
)
@option(
    "--foreign",
    type=SOURCE,
    help="Texts of another kind: say how surely MODEL tells SOURCE from them (AUROC).",
)
@settings_options(FoldSettings, "Options")
@option(
    "--fail-under",
    "bars",
    type=Parsed("METRIC=N,…", parse_bars),
    default={},
    help="Exit with status 3 where a metric is worse than this, as in accuracy=0.85,macro_f1=0.8.",
)
@option(
    "--report",
    type=OUTPUT,
    help="Write a page (HTML, one file) with charts, confusions and mistakes, too; needs nbtext[report].",
)
@form_option
@settings_options(DecisionSettings, "Answers", without=("explain",))
@reading_options
@feature_options
@settings_options(ModelSettings, "Model", without=("keep_sample",))
@run_options
def evaluate(
    sources: tuple[str, ...],
    model_file: str | None,
    foreign: str | None,
    bars: dict[str, float],
    report: str | None,
    form: str | None,
    **options: Any,
) -> None:
    """Say how good a model is on labelled texts.

    Either a model (-m) is asked about SOURCE, or predictions made before are compared with it (--predictions), or with
    --folds models are trained on parts of SOURCE and asked about the rest, with the options of train; --group-field
    leaves parts whole that belong together, and --order-field learns from what was before.
    """
    from nbtext.evaluation.metrics import Judge
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.report.evaluation import format_evaluation

    dealing = collected(FoldSettings, options)
    settings = collected(ReadingSettings, options, mark_field=dealing.mark_field)
    reporter = Reporter(report, sources, least=options["min_probability"] or 0.0)
    if foreign is not None and model_file is None:
        raise SettingsError("it needs a model", where="--foreign", hint="give one with -m")
    progress = {name: options[name] for name in ("quiet", "no_progress")}
    judge = Judge(collected(DecisionSettings, options).cost, with_likelihoods=foreign is not None)
    asked = _asked(model_file, dealing, options)
    unit = asked.fitted.input_unit if isinstance(asked, TrainedModel) else None
    with reading(sources, settings, **progress, input_unit=unit) as (source, on_batch):
        judge.add_all(reporter.watching(_seen(source, asked, on_batch, options)))
    if foreign is not None:
        with reading((foreign,), settings, **progress, input_unit=unit) as (source, on_batch):
            judge.add_foreign(each.predictions for each in _seen(source, asked, on_batch, options))
    evaluation = judge.evaluation()
    reporter.write(evaluation, asked)
    form = form_or_default(form)
    print_result(format_evaluation(evaluation, output_format=form, screen=screen()), form)
    check_bars(evaluation, bars)


def _asked(model_file: str | None, dealing: FoldSettings, options: dict[str, Any]) -> Asked:
    """What answers: a model, predictions made before, or (None) models trained on folds."""
    if [model_file, dealing.is_wanted or None, options["predictions"]].count(None) != 2:
        raise SettingsError("give either a model with -m, or --folds, or --predictions")
    if not dealing.is_wanted:
        records = (FoldSettings, FeatureSettings, ModelSettings)
        refuse_given(*records, options=options, because="it is for models that are trained on folds")
    if options["predictions"] is not None:
        from nbtext.evaluation.predictions_file import PredictionsFile

        return PredictionsFile(options["predictions"])
    if model_file is None:
        return None
    from nbtext.artifact.model import load_model

    return load_model(model_file)


def _seen(source: Source, asked: Asked, on_batch: OnBatch, options: dict[str, Any]) -> Iterator[Seen]:
    """What it answers to each batch of a source."""
    from nbtext.evaluation import seen
    from nbtext.model.fitted_model import TrainedModel

    jobs, decisions = jobs_or_all(options["jobs"]), collected(DecisionSettings, options)
    if asked is None:
        dealing = collected(FoldSettings, options)
        features, modelling = collected(FeatureSettings, options), collected(ModelSettings, options)
        return seen.by_folds(
            source, dealing, features=features, modelling=modelling, decisions=decisions, jobs=jobs, on_batch=on_batch
        )
    if isinstance(asked, TrainedModel):
        return seen.by_model(asked.fitted, source, jobs=jobs, decisions=decisions, on_batch=on_batch)
    return seen.by_file(asked, source, decisions)

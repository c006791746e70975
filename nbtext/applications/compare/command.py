"""`nbtext compare`: trained models side by side, or learning curves of models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtext.applications.compare.settings import CurveSettings
from nbtext.bayes.settings import AUTO, STACKED, ModelSettings
from nbtext.cli import options, running
from nbtext.cli.command import command, refuse_settings
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import STANDARD_INPUT
from nbtext.features.settings import FeatureSettings
from nbtext.records import Strings, frozen
from nbtext.settings import part, setting

if TYPE_CHECKING:
    from nbtext.applications.compare.comparison import Comparison
    from nbtext.applications.compare.learning_curves import LearningCurves
    from nbtext.report.result import Result


@frozen(kw_only=True)
class Compare:
    """The settings of `nbtext compare`."""

    sources: Strings = options.sources()
    model_files: Strings = setting(
        (),
        "Trained model to compare; give -m at least twice.",
        flags=("-m", "--model-file"),
        file="model",
        is_repeated=True,
    )
    curves: CurveSettings = part(CurveSettings)
    report: str | None = options.report()
    result: options.ResultSettings = options.result()
    input: InputSettings = part(
        InputSettings, without=(*options.NOT_FOR_COUNTS, *options.NOT_WEIGHED)
    )
    features: FeatureSettings = part(FeatureSettings)
    model_settings: Mapping[str, Any] = part(
        ModelSettings, without=("model", "keep_sample"), is_open=True
    )
    run: options.RunSettings = options.run()


@command(
    Compare,
    common="-m --models --sizes --seeds --report -o --to --text-field --label-field",
    example="nbtext compare letters/test -m letters.joblib -m bernoulli.joblib",
    notes="For the second model: nbtext train letters.joblib --model bernoulli -o bernoulli.joblib\n\n"
    "For learning curves: nbtext compare letters/train --models multinomial,bernoulli --sizes 50,100\n\n"
    "Memory holds the models and a few numbers for each document; for learning curves, the counts of all documents.",
    referred=dict.fromkeys(("Features", "Model"), "for models to train (without -m)"),
)
def compare(given: Compare) -> None:
    """Compare trained models, or learning curves.

    With -m A -m B, the models predict SOURCE. The result is their accuracy, macro F1 and log-loss
    with bootstrap intervals, the differences with McNemar's test, the prediction time on one core,
    and the file size.

    Without -m, each of --models is trained on more and more documents of SOURCE, and tested on the
    rest. The result is the mean and the standard deviation of accuracy and log-loss over the random
    splits.

    """
    from nbtext.applications.compare.results import (
        comparison_overview,
        comparison_result,
        learning_curves_overview,
        learning_curves_result,
        render,
    )
    from nbtext.report.page.rendering import write_page

    chosen = running.result_format(given.result)
    running.check_report(given.report)
    if given.model_files:
        because = "the models of -m are already trained"
        refuse_settings(CurveSettings, FeatureSettings, ModelSettings, because=because)
        compared = _compare_models(given)
        outcome: Result[Any] = comparison_result(compared)
        overview = comparison_overview(compared)
    else:
        curves = _compute_curves(given)
        outcome = learning_curves_result(curves)
        overview = learning_curves_overview(curves)
    if given.report is not None:
        write_page(given.report, render(overview, subject=running.name_sources(given.sources)))
    running.write_result(outcome, given.result, chosen)


def _compare_models(given: Compare) -> Comparison:
    """Compare trained models by their predictions for the same documents."""
    from nbtext.applications.compare.comparison import NamedModel, compare_models
    from nbtext.artifact.model import load_model_file

    candidates = []
    for path in given.model_files:
        model = load_model_file(path)
        size = os.path.getsize(path) if path != STANDARD_INPUT else None
        candidates.append(NamedModel(path, model, size))
    inputs = {candidate.model.fitted.input for candidate in candidates}
    trained_on = inputs.pop() if len(inputs) == 1 else None
    with running.open_documents(given.sources, given.input, given.run, trained_on=trained_on) as (
        source,
        on_batch,
    ):
        return compare_models(candidates, source, jobs=given.run.jobs, on_batch=on_batch)


def _compute_curves(given: Compare) -> LearningCurves:
    """Compute the learning curves of models."""
    from nbtext.applications.compare.learning_curves import compute_learning_curves
    from nbtext.bayes.event_models import EVENT_MODELS
    from nbtext.documents.batch import Batch
    from nbtext.model.source_counting import CountingTask, count_blocks, source_features
    from nbtext.model.training import check_features
    from nbtext.report.terminal import track_progress

    names = [*(given.curves.models or ())] or [
        name for name, each in EVENT_MODELS.items() if each.sufficient_statistics is None
    ]
    chosen = given.model_settings
    users = {AUTO, STACKED}  # of word vectors
    if chosen.get("vectors") and not users & {*names}:
        names = [*names, STACKED]
    plain = {key: value for key, value in chosen.items() if key not in ("vectors", "names")}
    settings = [ModelSettings(**(chosen if name in users else plain), model=name) for name in names]
    for each in settings:
        check_features(given.features, each)
    run = given.run
    with running.open_documents(given.sources, given.input, run) as (source, on_batch):
        features = source_features(source, given.features)
        jobs = run.jobs if source.first_matrix() is None else 1
        blocks = (block.map(Batch.without_shares) for block in source.blocks())
        corpus = count_blocks(blocks, CountingTask(features, None), jobs, on_batch)
    return compute_learning_curves(
        corpus,
        given.curves,
        features=features,
        model_settings=settings,
        jobs=run.jobs,
        track=partial(track_progress, unit="parts", is_wanted=not run.quiet),
    )

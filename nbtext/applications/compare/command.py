"""`nbtext compare`: trained models side by side, or learning curves of models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtext.applications.compare.settings import CurveSettings
from nbtext.bayes.settings import ModelSettings
from nbtext.cli import options, running
from nbtext.cli.command import command, refuse_settings
from nbtext.documents.formats import HTML_SUFFIXES
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import STANDARD_INPUT, is_model
from nbtext.errors import SettingsError
from nbtext.features.settings import FeatureSettings
from nbtext.records import frozen
from nbtext.settings import Excludes, part, refuse, setting

if TYPE_CHECKING:
    from nbtext.applications.compare.comparison import Comparison
    from nbtext.applications.compare.learning_curves import LearningCurves
    from nbtext.model.corpus_counts import CorpusCounts
    from nbtext.report.result import Result


@frozen(kw_only=True)
class Compare:
    """The settings of `nbtext compare`."""

    sources: tuple[str, ...] = options.sources()
    model_files: tuple[str, ...] = setting(
        (),
        "Trained model to compare; give -m at least twice.",
        flags=("-m", "--model-file"),
        file="model",
        is_repeated=True,
    )
    curves: CurveSettings = part(CurveSettings)
    test: str | None = setting(
        None,
        "Test documents. By default, these are the documents of SOURCE on which a model is not trained.",
        file="source",
        title="Models to train",
    )
    report: str | None = options.report("FILE.svg holds the charts of learning curves alone. ")
    result: options.ResultSettings = options.result()
    input: InputSettings = part(InputSettings, without=options.NOT_FOR_COUNTS)
    features: FeatureSettings = part(FeatureSettings)
    model_settings: Mapping[str, Any] = part(
        ModelSettings, without=("model", "keep_sample"), is_open=True
    )
    run: options.RunSettings = options.run()


@command(
    Compare,
    common="-m --models --sizes --seeds --test --report -o --to --text-field --label-field",
    example="nbtext compare letters/test -m letters.joblib -m bernoulli.joblib",
    notes="For the second model: nbtext train letters.joblib --model bernoulli -o bernoulli.joblib\n\n"
    "For learning curves: nbtext compare letters/train --models multinomial,bernoulli --sizes 50,100\n\n"
    "Memory holds the models and a few numbers for each document; for learning curves, the counts of all documents.",
    referred=dict.fromkeys(("Features", "Model"), "for models to train (without -m)"),
    rules=[
        Excludes("test", "model_files", because="the models are tested on SOURCE"),
    ],
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
    from nbtext.applications.compare.comparison_result import (
        comparison_result,
        render_comparison_page,
    )
    from nbtext.applications.compare.learning_curves_result import (
        learning_curves_result,
        render_learning_curves_page,
        render_learning_curves_svg,
    )
    from nbtext.report.page.rendering import write_page

    chosen = running.result_format(given.result)
    running.check_report(given.report, (*HTML_SUFFIXES, ".svg"))
    models = given.model_files
    sources = given.sources
    test = given.test
    if test is not None and not models and all(map(is_model, sources)):
        models = sources
        sources = (test,)
        test = None
    for path in filter(is_model, sources):
        what = "this is a model; SOURCE must be documents"
        hint = "try: nbtext compare SOURCE -m MODEL -m MODEL"
        raise SettingsError(what, where=path, hint=hint)
    is_svg = (given.report or "").lower().endswith(".svg")
    if models:
        because = "the models of -m are already trained"
        refuse_settings(CurveSettings, FeatureSettings, ModelSettings, because=because)
        if is_svg:
            raise refuse("report", "only learning curves are written as SVG")
        compared = _compare_models(given, sources, models)
        page = partial(render_comparison_page, compared, subject=", ".join(sources))
        outcome: Result[Any] = comparison_result(compared)
    else:
        learned = _compute_curves(given)
        page = partial(render_learning_curves_page, learned, subject=", ".join(sources))
        if is_svg:
            page = partial(render_learning_curves_svg, learned)
        outcome = learning_curves_result(learned)
    if given.report is not None:
        write_page(given.report, page())
    running.write_result(outcome, given.result, chosen)


def _compare_models(
    given: Compare, sources: tuple[str, ...], models: tuple[str, ...]
) -> Comparison:
    """Compare trained models by their predictions for the same documents."""
    from time import thread_time

    from nbtext.applications.compare.comparison import Candidate, compare_models
    from nbtext.artifact.model import load_model

    def size(path: str) -> int | None:
        return os.path.getsize(path) if path != STANDARD_INPUT else None

    candidates = [Candidate(path, load_model(path), size(path)) for path in models]
    inputs = {candidate.model.fitted.input for candidate in candidates}
    trained_on = inputs.pop() if len(inputs) == 1 else None
    with running.open_documents(sources, given.input, given.run, trained_on=trained_on) as (
        source,
        on_batch,
    ):
        return compare_models(
            candidates, source, clock=thread_time, jobs=given.run.jobs, on_batch=on_batch
        )


def _compute_curves(given: Compare) -> LearningCurves:
    """Compute the learning curves of models."""
    from nbtext.applications.compare.learning_curves import compute_learning_curves
    from nbtext.bayes.event_models import EVENT_MODELS
    from nbtext.model.training import check_hashing
    from nbtext.report.terminal import track_progress

    names = given.curves.models or [
        name for name, each in EVENT_MODELS.items() if each.sufficient_statistics is None
    ]
    settings = [ModelSettings(**given.model_settings, model=name) for name in names]
    for each in settings:
        check_hashing(given.features, each)
    corpus, features = _count(given, given.sources, given.features)
    others = _count(given, (given.test,), features)[0] if given.test is not None else None
    is_wanted = not (given.run.quiet or given.run.no_progress)
    return compute_learning_curves(
        corpus,
        given.curves,
        features=features,
        model_settings=settings,
        test=others,
        jobs=given.run.jobs,
        track=lambda results, total: track_progress(
            results, total, unit="parts", is_wanted=is_wanted
        ),
    )


def _count(
    given: Compare, sources: tuple[str, ...], features: FeatureSettings
) -> tuple[CorpusCounts, FeatureSettings]:
    """Count some sources; return the counts, and the feature settings."""
    from nbtext.model.source_counting import count_source, source_features

    with running.open_documents(sources, given.input, given.run) as (source, on_batch):
        features = source_features(source, features)
        return count_source(
            source, features, jobs=given.run.jobs, sample_size=None, on_batch=on_batch
        ), features

"""`nbtext compare`: learning curves of several models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nbtext.bayes.settings import ModelSettings
from nbtext.cli.files import MODEL, OUTPUT, SOURCE
from nbtext.cli.options import StagedCommand, collected, option, refuse_for_matrix, refuse_given, settings_options
from nbtext.cli.reporting import check_report
from nbtext.cli.running import form_or_default, is_matrix_alone, jobs_or_all, print_result, reading, screen, size_of
from nbtext.cli.shared_options import feature_options, form_option, reading_options, run_options, sources
from nbtext.documents.settings import ReadingSettings
from nbtext.documents.streams import is_model
from nbtext.errors import SettingsError
from nbtext.evaluation.settings import CurveSettings
from nbtext.features.settings import FeatureSettings

if TYPE_CHECKING:
    from nbtext.model.corpus_counts import CorpusCounts


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext compare corpora/letters/test -m letters.joblib -m bernoulli.joblib\n\n"
    "Learning curves: nbtext compare corpora/letters/train --models multinomial,bernoulli --sizes 50,100 --seeds 3\n\n"
    "Memory holds the models and a few numbers for each document; for learning curves the counts of all documents.",
)
@sources
@option(
    "-m",
    "--model-file",
    "models_to_ask",
    type=MODEL,
    multiple=True,
    help="A trained model to ask about SOURCE; give two at least, each with its -m.",
)
@settings_options(CurveSettings, "Learning curves")
@option(
    "--test",
    type=SOURCE,
    stage="Learning curves",
    help="Judge by these documents, not by those of SOURCE that no part holds; or, where SOURCE are trained models, "
    "ask them about these.",
)
@option(
    "--report",
    type=OUTPUT,
    help="Write a page (HTML, one file) with charts, too; needs nbtext[report].",
)
@form_option
@reading_options
@feature_options
@settings_options(ModelSettings, "Model", without=("model", "keep_sample"))
@run_options
def compare(sources: tuple[str, ...], test: str | None, form: str | None, jobs: int | None, **options: Any) -> None:
    """Compare trained models, or models as they learn from more and more documents.

    Trained models (-m A -m B) are asked about SOURCE, side by side: accuracy, macro F1 and log-loss with bootstrap
    intervals, of the differences too, and McNemar's test says whether these may be chance; the seconds that the answers
    took one core, and the size of the file.

    Without -m each of --models learns from growing parts of SOURCE, dealt out anew for each seed, and is judged by the
    rest of it: accuracy and log-loss, mean and standard deviation.
    """
    models, form = options.pop("models_to_ask"), form_or_default(form)
    check_report(options["report"])
    if test is not None and not models and all(map(is_model, sources)):
        models, sources, test = sources, (test,), None
    _refuse_models(sources, models)
    if models:
        if test is not None:
            raise SettingsError("SOURCE is what the models are asked about", where="--test", hint="leave it out")
        text = _side_by_side(sources, models, form=form, jobs=jobs_or_all(jobs), options=options)
    else:
        text = _curves(sources, test=test, form=form, jobs=jobs_or_all(jobs), options=options)
    print_result(text, form)


def _refuse_models(sources: tuple[str, ...], models: tuple[str, ...]) -> None:
    """Raise SettingsError where a trained model is in the place of the texts."""
    for path in filter(is_model, sources):
        given = " ".join(f"-m {each}" for each in (*models, path))
        others = " -m ANOTHER" if len(models) == 0 else ""
        what = "is a trained model, in the place of the texts to ask it about"
        raise SettingsError(what, where=path, hint=f"try: nbtext compare SOURCE {given}{others}")


def _side_by_side(
    sources: tuple[str, ...], models: tuple[str, ...], *, form: str, jobs: int, options: dict[str, Any]
) -> str:
    """Trained models asked about the same documents."""
    from time import thread_time

    from nbtext.artifact.model import load_model
    from nbtext.evaluation.comparison import Contestant, side_by_side
    from nbtext.report.rivals import format_side_by_side

    refuse_given(
        CurveSettings, FeatureSettings, ModelSettings, options=options, because="the models are trained already"
    )
    progress = {name: options[name] for name in ("quiet", "no_progress")}
    contestants = [Contestant(path, load_model(path), size_of(path)) for path in models]
    with reading(sources, collected(ReadingSettings, options), **progress) as (source, on_batch):
        found = side_by_side(contestants, source, clock=thread_time, jobs=jobs, on_batch=on_batch)
    if options["report"] is not None:
        from nbtext.report.comparison_page import rivals_page
        from nbtext.report.page.rendering import write_page

        write_page(options["report"], rivals_page(found, subject=", ".join(sources)))
    return format_side_by_side(found, output_format=form, screen=screen())


def _curves(sources: tuple[str, ...], *, test: str | None, form: str, jobs: int, options: dict[str, Any]) -> str:
    """Learning curves of models that are trained for them."""
    from nbtext.evaluation.learning_curves import learning_curves
    from nbtext.model.fitting import check_hashing
    from nbtext.report.curves import format_learning_curves
    from nbtext.report.progress import track_progress

    curves = collected(CurveSettings, options)
    modelling = [collected(ModelSettings, options, model=name) for name in curves.models]
    for each in modelling:
        check_hashing(collected(FeatureSettings, options), each)
    tally, features = _counts(sources, jobs, options)
    others = _counts((test,), jobs, options)[0] if test is not None else None
    is_wanted = not (options["quiet"] or options["no_progress"])
    comparison = learning_curves(
        tally,
        curves,
        features=features,
        modelling=modelling,
        test=others,
        jobs=jobs,
        track=lambda results, total: track_progress(results, total, unit="parts", is_wanted=is_wanted),
    )
    if options["report"] is not None:
        from nbtext.report.comparison_page import curves_page
        from nbtext.report.page.rendering import write_page

        write_page(options["report"], curves_page(comparison, subject=", ".join(sources)))
    return format_learning_curves(comparison, output_format=form, screen=screen())


def _counts(sources: tuple[str, ...], jobs: int, options: dict[str, Any]) -> tuple[CorpusCounts, FeatureSettings]:
    """The counts of some sources, and how they were made."""
    from nbtext.documents.matrix import load_matrix
    from nbtext.model.matrices import matrix_counts, matrix_features
    from nbtext.model.source_counting import count_source

    settings, features = collected(ReadingSettings, options), collected(FeatureSettings, options)
    if is_matrix_alone(sources, settings):
        refuse_for_matrix(options)
        matrix = load_matrix(sources[0])
        features = matrix_features(matrix)
        return matrix_counts(matrix, features), features
    with reading(sources, settings, quiet=options["quiet"], no_progress=options["no_progress"]) as (source, on_batch):
        features = collected(FeatureSettings, options, fields=source.field_names)
        return count_source(source, features, jobs=jobs, sample_size=None, on_batch=on_batch), features

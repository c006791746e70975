"""`nbtext compare`: learning curves of several models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nbtext.bayes.settings import ModelSettings
from nbtext.cli import completion
from nbtext.cli.options import (
    StagedCommand,
    collected,
    feature_options,
    form_option,
    option,
    reading_options,
    refuse_given,
    run_options,
    settings_options,
    sources,
)
from nbtext.cli.running import form_or_default, is_matrix_alone, jobs_or_all, print_result, reading, screen
from nbtext.documents.settings import ReadingSettings
from nbtext.evaluation.curve_settings import CurveSettings
from nbtext.features.settings import FeatureSettings

if TYPE_CHECKING:
    from nbtext.classifier.tally import Tally


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext compare corpora/letters/train --models multinomial,bernoulli --sizes 50,100 --seeds 3\n\n"
    "Memory holds the counts of all documents.",
)
@sources
@settings_options(CurveSettings, "Options")
@option(
    "--test",
    metavar="SOURCE",
    shell_complete=completion.files,
    help="Judge by these documents, not by those of SOURCE that no part holds.",
)
@form_option
@reading_options
@feature_options
@settings_options(ModelSettings, "Model", without=("model", "keep_sample"))
@run_options
def compare(sources: tuple[str, ...], test: str | None, form: str | None, jobs: int | None, **options: Any) -> None:
    """Compare models as they learn from more and more documents.

    Each learns from growing parts of SOURCE, dealt out anew for each seed, and is judged by the rest of it: accuracy
    and log-loss, mean and standard deviation.
    """
    from nbtext.classifier.folding import threads
    from nbtext.evaluation.curves import learning_curves
    from nbtext.report.curves import rendered_comparison

    curves = collected(CurveSettings, options)
    modelling = [collected(ModelSettings, options, model=name) for name in curves.models]
    tally, features = _tally(sources, jobs_or_all(jobs), options)
    others = _tally((test,), jobs_or_all(jobs), options)[0] if test is not None else None
    with threads(jobs_or_all(jobs)) as run:
        comparison = learning_curves(tally, curves, features=features, modelling=modelling, test=others, run=run)
    print_result(rendered_comparison(comparison, form=form_or_default(form), screen=screen()))


def _tally(sources: tuple[str, ...], jobs: int, options: dict[str, Any]) -> tuple[Tally, FeatureSettings]:
    """The counts of some sources, and how they were made."""
    from nbtext.classifier.folding import tally_source
    from nbtext.classifier.matrices import features_of, tally_of
    from nbtext.documents.matrix_reading import load_matrix

    settings, features = collected(ReadingSettings, options), collected(FeatureSettings, options)
    if is_matrix_alone(sources, settings):
        refuse_given(FeatureSettings, options, because="the features of a matrix are made already")
        matrix = load_matrix(sources[0])
        features = features_of(matrix)
        return tally_of(matrix, features), features
    with reading(sources, settings, quiet=options["quiet"], no_progress=options["no_progress"]) as (source, on_batch):
        features = collected(FeatureSettings, options, fields=source.field_names)
        return tally_source(source, features, jobs=jobs, sample_size=None, on_batch=on_batch), features

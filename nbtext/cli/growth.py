"""`nbtext update`, `forget`, `merge` and `calibrate`: change the documents or the fit of a
model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.cli import options, running
from nbtext.cli.command import command
from nbtext.records import Strings, frozen
from nbtext.settings import setting

if TYPE_CHECKING:
    from nbtext.documents.source import Source
    from nbtext.model.fitted_model import TrainedModel


@frozen(kw_only=True)
class Merge:
    """The settings of `nbtext merge`."""

    models: Strings = setting(
        (),
        metavar="MODEL...",
        file="rewritten model",
        is_argument=True,
        is_required=True,
        is_repeated=True,
    )
    output: str | None = options.new_model()
    run: options.RunSettings = options.run()


@command(
    options.Change,
    common="-m -o --input-format --text-field --label-field",
    example="nbtext update letters.joblib letters/test",
    notes="The result has the same bytes as a model that is trained on all documents at once, if the model was "
    "trained with --keep-sample, and the input options are those of the training. Otherwise smoothing and calibration "
    "do not change; `nbtext calibrate` refits them.\n\n"
    "Memory holds the model and the counts of the new documents. It grows with words and labels, not with the corpus.",
)
def update(given: options.Change) -> None:
    """Train a model further on new documents, which may have new words and labels.

    MODEL is replaced atomically, unless -o names another file.
    """
    from nbtext.model.growth import update_source
    from nbtext.report.label_mistakes import name_new

    def change(trained: TrainedModel, source: Source, **run: Any) -> TrainedModel:
        updated = update_source(trained, source, **run)
        known = trained.fitted.labels
        new = sorted(set(updated.fitted.labels) - set(known))
        if new:
            given.run.say(f"new labels: {name_new(new, known)}")
        return updated

    running.rewrite_model(given, change)


@command(
    options.Change,
    common="-m -o --input-format --text-field --label-field",
    example="nbtext forget letters.joblib withdrawn.jsonl",
    notes="The result has the same bytes as a model that is trained on the other documents only, if the model was "
    "trained with --keep-sample N on at most N documents. Otherwise smoothing and calibration are "
    "approximate; `nbtext calibrate` refits them.\n\n"
    "Memory holds the model and the counts of the documents; with a retained sample, the counts of each document.",
)
def forget(given: options.Change) -> None:
    """Remove documents from a model, as if it had not been trained on them.

    The model must have been trained on these documents with the same labels. If its counts show
    that it was not, the command fails and the model does not change. Words and labels that occur in
    no other document are removed, too. MODEL is replaced atomically, unless -o names another file.
    """
    from nbtext.model.growth import forget_source

    running.rewrite_model(given, forget_source)


@command(
    Merge,
    common="-o -j -q",
    example="nbtext merge north.joblib south.joblib -o both.joblib",
    notes="The result has the same bytes as a model that is trained on all their documents at once, if the models were "
    "trained with --keep-sample. Otherwise it has the smoothing and calibration of the model with the most documents; "
    "`nbtext calibrate` refits them.\n\n"
    "Memory holds all the models and their sum.",
)
def merge(given: Merge) -> None:
    """Merge models into one, as if trained on the documents of all of them.

    The models must have been trained with the same options. The output may replace one of them.
    One model alone is written as it is.
    """
    from nbtext.artifact.model import load_model_file
    from nbtext.model import growth

    with running.model_output(given.output) as target:
        models = [load_model_file(model) for model in given.models]
        running.save_and_summarize(
            growth.merge_models(models, names=given.models, jobs=given.run.jobs),
            target,
            given.run,
        )


@command(
    options.Change,
    common="-m -o --input-format --text-field --label-field",
    example="nbtext calibrate letters.joblib letters/test",
    notes="Smoothing and calibration that were set at training by --smoothing N and --no-calibrate do not change.\n\n"
    "Memory holds the model and the counts of at most 16,384 documents that are used for the fit.",
)
def calibrate(given: options.Change) -> None:
    """Refit smoothing and calibration of a model on labeled documents.

    The counts of the model do not change. SOURCE is the training documents, other documents, or
    both. A document that, by the counts of the model, may be a training document is left out of the
    model before it is scored. MODEL is replaced atomically, unless -o names another file.
    """
    from nbtext.model.growth import calibrate_source

    running.rewrite_model(given, calibrate_source)

"""`nbtext update`, `forget`, `merge` and `calibrate`: change the documents or the fit of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nbtext.cli.command import command
from nbtext.cli.files import REWRITTEN_MODEL
from nbtext.cli.options import (
    DECAY_STAGE,
    LABELED_INPUT_STAGE,
    NEW_MODEL,
    REWRITTEN_MODEL_PARTS,
    REWRITTEN_OUTPUT,
    RUN_PARTS,
    SOURCES,
    RunSettings,
)
from nbtext.cli.running import model_output, rewrite_model, save

if TYPE_CHECKING:
    from nbtext.documents.settings import InputSettings
    from nbtext.model.settings import DecaySettings

MODEL_AND_SOURCES = (*REWRITTEN_MODEL_PARTS, SOURCES, REWRITTEN_OUTPUT)


@command(
    *MODEL_AND_SOURCES,
    DECAY_STAGE,
    LABELED_INPUT_STAGE,
    *RUN_PARTS,
    common="-m -o --half-life --elapsed --input-format --text-field --label-field",
    example="nbtext update letters.joblib letters/test",
    notes="The result has the same bytes as a model that is trained on all documents at once, if the model was "
    "trained with --keep-sample, and the input options are those of the training. Otherwise smoothing and calibration "
    "do not change; `nbtext calibrate` refits them.\n\n"
    "Memory holds the model and the counts of the new documents. It grows with words and labels, not with the corpus.",
)
def update(
    model: str,
    sources: tuple[str, ...],
    output: str | None,
    decay: DecaySettings,
    input_settings: InputSettings,
    run: RunSettings,
) -> None:
    """Train a model further on new documents, which may have new words and labels.

    With --half-life and --elapsed, the weight of all earlier documents is multiplied by 0.5 ** (elapsed / half-life).
    MODEL is replaced atomically, unless -o names another file.
    """
    from nbtext.model.growth import update_source

    rewrite_model(
        model, output, sources, input_settings, run,
        lambda trained, source, on_batch: update_source(
            trained, source, factor=decay.factor, jobs=run.jobs, on_batch=on_batch
        ),
    )  # fmt: skip


@command(
    *MODEL_AND_SOURCES,
    LABELED_INPUT_STAGE,
    *RUN_PARTS,
    common="-m -o --input-format --text-field --label-field",
    example="nbtext forget letters.joblib withdrawn.jsonl",
    notes="The result has the same bytes as a model that is trained on the other documents only, if the model was "
    "trained with --keep-sample N on at most N documents. Otherwise smoothing and calibration are "
    "approximate; `nbtext calibrate` refits them.\n\n"
    "Memory holds the model and the counts of the documents; with a retained sample, the counts of each document.",
)
def forget(
    model: str, sources: tuple[str, ...], output: str | None, input_settings: InputSettings, run: RunSettings
) -> None:
    """Remove documents from a model, as if it had not been trained on them.

    The model must have been trained on these documents with the same labels. If its counts show that it was not, the
    command fails and the model does not change. Words and labels that occur in no other document are removed, too.
    MODEL is replaced atomically, unless -o names another file.
    """
    from nbtext.model.growth import forget_source

    rewrite_model(
        model, output, sources, input_settings, run,
        lambda trained, source, on_batch: forget_source(trained, source, jobs=run.jobs, on_batch=on_batch),
    )  # fmt: skip


@command(
    click.Argument(["models"], metavar="MODEL...", nargs=-1, required=True, type=REWRITTEN_MODEL),
    NEW_MODEL,
    *RUN_PARTS,
    common="-o -j -q",
    example="nbtext merge north.joblib south.joblib -o both.joblib",
    notes="The result has the same bytes as a model that is trained on all their documents at once, if the models were "
    "trained with --keep-sample. Otherwise it has the smoothing and calibration of the model with the most documents; "
    "`nbtext calibrate` refits them.\n\n"
    "Memory holds all the models and their sum.",
)
def merge(models: tuple[str, ...], output: str | None, run: RunSettings) -> None:
    """Merge models into one, as if trained on the documents of all of them.

    The models must have been trained with the same options. The output may replace one of them.
    """
    from nbtext.artifact.model import load_model
    from nbtext.model import growth

    with model_output(output) as target:
        merged = growth.merge([load_model(model) for model in models], names=models, jobs=run.jobs)
        save(merged, target, quiet=run.quiet)


@command(
    *MODEL_AND_SOURCES,
    LABELED_INPUT_STAGE,
    *RUN_PARTS,
    common="-m -o --input-format --text-field --label-field",
    example="nbtext calibrate letters.joblib letters/test",
    notes="Smoothing and calibration that were set at training by --smoothing N and --no-calibrate do not change.\n\n"
    "Memory holds the model and the counts of at most 16,384 documents that are used for the fit.",
)
def calibrate(
    model: str, sources: tuple[str, ...], output: str | None, input_settings: InputSettings, run: RunSettings
) -> None:
    """Refit smoothing and calibration of a model on labeled documents.

    The counts of the model do not change. SOURCE is the training documents, other documents, or both. A document that,
    by the counts of the model, may be a training document is left out of the model before it is scored. MODEL is
    replaced atomically, unless -o names another file.
    """
    from nbtext.model.growth import calibrate_source

    rewrite_model(
        model, output, sources, input_settings, run,
        lambda trained, source, on_batch: calibrate_source(trained, source, jobs=run.jobs, on_batch=on_batch),
    )  # fmt: skip

"""`nbtext update`: a model learns more documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.cli.command import command
from nbtext.cli.options import (
    DEBUG,
    DECAY_STAGE,
    INPUT_STAGE,
    REWRITTEN_MODEL_PARTS,
    REWRITTEN_OUTPUT,
    RUN_STAGE,
    SOURCES,
    VERBOSE,
    RunSettings,
)
from nbtext.cli.running import rewrite_model

if TYPE_CHECKING:
    from nbtext.documents.settings import ReadingSettings
    from nbtext.model.settings import FadingSettings


@command(
    *REWRITTEN_MODEL_PARTS,
    SOURCES,
    REWRITTEN_OUTPUT,
    DECAY_STAGE,
    INPUT_STAGE,
    RUN_STAGE,
    VERBOSE,
    DEBUG,
    common="-m -o --half-life --elapsed --input-format --text-field --label-field",
    example="nbtext update letters.joblib corpora/letters/test",
    notes="The result has the same bytes as a model that is trained on all documents at once, if the model was "
    "trained with --keep-sample, and with the input options of this command. Otherwise smoothing and calibration do "
    "not change; `nbtext calibrate` fits them again.\n\n"
    "Memory holds the model and the counts of the new documents. It grows with words and labels, not with the corpus.",
)
def update(
    model: str,
    sources: tuple[str, ...],
    output: str | None,
    decay: FadingSettings,
    reading: ReadingSettings,
    run: RunSettings,
) -> None:
    """Learn more documents, with their new words and labels.

    With --half-life, what the model learned before weighs less, by the time that has passed since. MODEL is replaced,
    completely or not at all, unless -o names another file.
    """
    from nbtext.model.growth import update_source

    rewrite_model(
        model, output, sources, reading, run,
        lambda trained, source, on_batch: update_source(
            trained, source, factor=decay.factor, jobs=run.jobs, on_batch=on_batch
        ),
    )  # fmt: skip

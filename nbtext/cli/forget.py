"""`nbtext forget`: documents are removed from a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.cli.command import command
from nbtext.cli.options import (
    DEBUG,
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


@command(
    *REWRITTEN_MODEL_PARTS,
    SOURCES,
    REWRITTEN_OUTPUT,
    INPUT_STAGE,
    RUN_STAGE,
    VERBOSE,
    DEBUG,
    common="-m -o --input-format --text-field --label-field",
    example="nbtext forget letters.joblib withdrawn.jsonl",
    notes="The result has the same bytes as a model that is trained on the other documents only, if the model was "
    "trained with --keep-sample N and has learned at most N documents. Otherwise smoothing and calibration are "
    "approximate; `nbtext calibrate` fits them again.\n\n"
    "Memory holds the model and the counts of the documents; if the model keeps a sample, the counts of each document.",
)
def forget(
    model: str, sources: tuple[str, ...], output: str | None, reading: ReadingSettings, run: RunSettings
) -> None:
    """Remove documents from a model, as if it had never learned them.

    The model must have learned them, with the same labels. If the counts show that it has not learned one of them, the
    command fails and the model does not change. Words and labels that occur in no other document are removed, too.
    MODEL is replaced, completely or not at all, unless -o names another file.
    """
    from nbtext.model.growth import forget_source

    rewrite_model(
        model, output, sources, reading, run,
        lambda trained, source, on_batch: forget_source(trained, source, jobs=run.jobs, on_batch=on_batch),
    )  # fmt: skip

"""`nbtext calibrate`: smoothing and calibration of a model are fitted again."""

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
    example="nbtext calibrate letters.joblib corpora/letters/test",
    notes="Settings that --smoothing and --no-calibrate fixed at training do not change.\n\n"
    "Memory holds the model and the counts of at most 16,384 documents, to which it is fitted.",
)
def calibrate(
    model: str, sources: tuple[str, ...], output: str | None, reading: ReadingSettings, run: RunSettings
) -> None:
    """Fit smoothing and calibration of a model again, to labeled documents.

    The counts of the model do not change. The documents may be ones that the model has learned, which are then left out
    one by one, or others. MODEL is replaced, completely or not at all, unless -o names another file.
    """
    from nbtext.model.growth import calibrate_source

    rewrite_model(
        model, output, sources, reading, run,
        lambda trained, source, on_batch: calibrate_source(trained, source, jobs=run.jobs, on_batch=on_batch),
    )  # fmt: skip

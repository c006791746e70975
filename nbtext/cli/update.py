"""`nbtext update`: a model learns more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.cli.rewriting import rewriting_command
from nbtext.cli.shared_options import fading_options
from nbtext.model.settings import FadingSettings

if TYPE_CHECKING:
    from nbtext.documents.source import Source
    from nbtext.model.fitted_model import TrainedModel


@rewriting_command(
    further=(FadingSettings, fading_options),
    epilog="Example: nbtext update letters.joblib corpora/letters/test\n\n"
    "The result is byte for byte what training on all texts at once gives, if the model was trained with --keep-sample "
    "(and with --text-field and the like as here). Without it the smoothing and the calibration stay as they were; "
    "nbtext calibrate fits them afresh.\n\n"
    "Memory holds the model, and the counts of the new texts: it grows with words and labels, not with the corpus.",
)
def update(trained: TrainedModel, source: Source, fading: FadingSettings, **running: Any) -> TrainedModel:
    """Learn more texts, new words and new labels included.

    With --half-life, what the model learned before weighs less, by the time that has passed since.
    MODEL is rewritten, whole or not at all, unless -o names another file.
    """
    from nbtext.model.growth import update_source

    return update_source(trained, source, factor=fading.factor, **running)

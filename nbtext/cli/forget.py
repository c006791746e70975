"""`nbtext forget`: a model unlearns texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.cli.rewriting import rewriting_command

if TYPE_CHECKING:
    from nbtext.documents.source import Source
    from nbtext.model.fitted_model import TrainedModel


@rewriting_command(
    epilog="Example: nbtext forget letters.joblib withdrawn.jsonl\n\n"
    "The result is byte for byte what training on the other texts gives, if the model was trained with --keep-sample "
    "N and N documents or fewer are in it. Else the smoothing and the calibration are approximate; nbtext calibrate "
    "fits them afresh.\n\n"
    "Memory holds the model, and the counts of the texts; of a model with a sample, those of each text.",
)
def forget(trained: TrainedModel, source: Source, **running: Any) -> TrainedModel:
    """Take texts out of a model, as if it had never learned them.

    They must be the texts that were learned, with the same labels; where counts show that one was not, the model
    stays as it is. Words and labels that no other text has vanish.
    MODEL is rewritten, whole or not at all, unless -o names another file.
    """
    from nbtext.model.growth import forget_source

    return forget_source(trained, source, **running)

"""`nbtext calibrate`: smoothing and probabilities fitted afresh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.cli.rewriting import rewriting_command

if TYPE_CHECKING:
    from nbtext.documents.source import Source
    from nbtext.model.fitted_model import TrainedModel


@rewriting_command(
    epilog="Example: nbtext calibrate letters.joblib corpora/letters/test\n\n"
    "What was set by --smoothing or --no-calibrate stays as it was set.\n\n"
    "Memory holds the model, and the counts of 16,384 texts at most, by which it is fitted.",
)
def calibrate(trained: TrainedModel, source: Source, **running: Any) -> TrainedModel:
    """Fit a model's smoothing and calibration to labelled texts, of which it learns nothing else.

    They may be texts that it has learned, which are left out of its counts one by one, or others.
    MODEL is rewritten, whole or not at all, unless -o names another file.
    """
    from nbtext.model.growth import calibrate_source

    return calibrate_source(trained, source, **running)

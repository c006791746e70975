"""What is done to scores until they are probabilities, and to these until one label is the answer, as plain data."""

from __future__ import annotations

from typing import Any

from nbtext.model.fitted_model import FittedModel


def probabilities_of(model: FittedModel) -> dict[str, Any]:
    """How scores s of a document with L known tokens become probabilities: with p = softmax(s / (a · max(L, 1)^b)),

    q = (1 − noise) · p + noise / n_labels, and r = softmax(log q + prior_adjustment), which are the probabilities. The
    answer is the label with the largest log r + shift. Where nothing is calibrated a is 1, b and noise are 0;
    prior_adjustment and shift are None where there is none.
    """
    calibration = model.calibration
    found = calibration.temperature
    return {
        "a": 1.0 if found is None else found.a,
        "b": 0.0 if found is None else found.b,
        "noise": 0.0 if found is None else found.noise,
        "prior_adjustment": None if calibration.prior_adjustment is None else calibration.prior_adjustment.tolist(),
        "shift": None if calibration.decision_offsets is None else calibration.decision_offsets.tolist(),
    }

"""The settings of training on unlabeled documents."""

from __future__ import annotations

from nbtext.records import frozen
from nbtext.registry import offer
from nbtext.settings import Excludes, Needs, Settings, setting


@frozen(kw_only=True)
class UnlabeledSettings(Settings):
    """How a model is trained on unlabeled documents."""

    TITLE = "Unlabeled documents"
    RULES_OF_COMMAND = (
        Needs("em", "unlabeled|keywords"),
        *(Excludes("em", name) for name in ("model=best", "max_model_bytes")),
    )

    em: int | None = setting(
        None,
        "Run at most N steps of expectation-maximization on the unlabeled documents. 10 is usual. The weight of "
        "the unlabeled documents is selected on held-out labeled documents. If the result is not better than the model "
        "of the labeled documents alone, that model is saved. Memory: 20 bytes for each distinct word of each document."
        + offer("vectors", " With --vectors, one step is taken, whatever N."),
        low=1,
        metavar="N",
    )

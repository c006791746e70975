"""The ways in which an artifact is refused, each with what would help."""

from __future__ import annotations

from nbtext.errors import ArtifactError

TRAIN_HINT = "give the file that nbtext train wrote"


class Damage(ArtifactError):
    """It is not what was written."""


def code(name: str) -> ArtifactError:
    """It would run something: `name` is what would be looked up or called."""
    short = name if len(name) <= 80 else f"{name[:77]}..."
    return ArtifactError(f"holds code ({short}); nbtext never runs what it loads", hint=TRAIN_HINT)


def foreign(what: str) -> ArtifactError:
    """It is something that nbtext does not write."""
    return ArtifactError(what, hint=TRAIN_HINT)


def damaged(what: str) -> Damage:
    """It is not what was written, if it was a model at all."""
    return Damage(f"is damaged: {what}", hint="copy it again, or train again")

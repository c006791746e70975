"""How the most accurate model is looked for: the options of that stage, and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from nbtext.errors import SettingsError

SEARCHES = ("auto", "best")  # instead of a model's name: among the counting models, or the linear ones too


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """How long to look."""

    budget: float = field(
        default=120.0,
        metadata={
            "help": "auto, best: begin no further trial after so many seconds, as in 30s or 5m; cheap ones come first."
        },
    )

    def __post_init__(self) -> None:
        if not 0 <= self.budget < math.inf:
            raise SettingsError(f"{self.budget} is no time", where="--budget", hint="write 30s or 5m")

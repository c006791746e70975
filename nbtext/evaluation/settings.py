"""How training itself is judged: the options of that stage, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from nbtext.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldSettings:
    """How documents are dealt out to folds, each of which is judged by models of the others."""

    folds: int | None = field(
        default=None, metadata={"help": "Judge training itself: by N folds of SOURCE, without a model."}
    )
    seed: int = field(default=1, metadata={"help": "How the documents are dealt out to folds."})

    def __post_init__(self) -> None:
        if self.folds is not None and self.folds < 2:
            raise SettingsError(f"{self.folds} folds make no sense", where="--folds", hint="10 is usual")

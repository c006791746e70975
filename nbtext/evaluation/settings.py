"""How training itself is judged: the options of that stage, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from nbtext.errors import SettingsError

STEPS = 10  # forward in time, where no number is given


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldSettings:
    """How documents are dealt out to folds, each of which is judged by models of the others."""

    folds: int | None = field(
        default=None, metadata={"help": "Judge training itself: by N folds of SOURCE, without a model."}
    )
    group_field: str | None = field(
        default=None,
        metadata={
            "help": "The column, JSON key or mail header of what belongs together (a thread, an author): judge each "
            "group, or with --folds N as many parts, by models of the others."
        },
    )
    order_field: str | None = field(
        default=None,
        metadata={
            "help": "The column, JSON key or mail header of the time (numbers, dates, else text): judge each of "
            f"--folds N steps by a model of all that was before.  [default: {STEPS} steps]"
        },
    )
    seed: int = field(default=1, metadata={"help": "How the documents are dealt out to folds."})

    @property
    def is_wanted(self) -> bool:
        """Whether training itself is to be judged."""
        return (self.folds, self.group_field, self.order_field) != (None, None, None)

    @property
    def mark_field(self) -> str | None:
        """The field that documents are kept together or put in order by."""
        return self.group_field if self.group_field is not None else self.order_field

    def __post_init__(self) -> None:
        if self.group_field is not None and self.order_field is not None:
            raise SettingsError("groups have no order", where="--order-field", hint="leave out --group-field, or this")
        if self.mark_field == "":
            where = "--group-field" if self.group_field is not None else "--order-field"
            raise SettingsError("a field needs a name", where=where)
        if self.folds is not None and self.folds < 2:
            raise SettingsError(f"{self.folds} folds make no sense", where="--folds", hint="10 is usual")

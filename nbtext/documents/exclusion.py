"""Documents that are excluded by their ids."""

from __future__ import annotations

from nbtext.documents.batch import Batch, Block
from nbtext.records import dataclass

EXCLUDED_IDS = "listed in --exclude-ids"


@dataclass(frozen=True, slots=True)
class ExcludingBlock:
    """A block without the documents of some ids."""

    block: Block
    ids: frozenset[str]

    @property
    def size(self) -> int:
        return self.block.size

    def batch(self) -> Batch:
        """Return the other documents, with a note of how many were excluded."""
        batch = self.block.batch()
        rows = {row for row, identity in enumerate(batch.ids) if identity in self.ids}
        if not rows:
            return batch
        kept = batch.drop(rows)
        kept.notes = kept.notes | {EXCLUDED_IDS: len(rows)}
        return kept

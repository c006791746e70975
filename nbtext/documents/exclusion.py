"""Documents that are excluded: by their ids, or because they have no label."""

from __future__ import annotations

from nbtext.documents.batch import Batch, Block
from nbtext.records import dataclass

EXCLUDED_IDS, UNLABELED = "listed in --exclude-ids", "without a label (--skip-unlabeled)"


@dataclass(frozen=True, slots=True)
class ExcludingBlock:
    """A block without the documents of some ids, or without a label."""

    block: Block
    ids: frozenset[str]
    skips_unlabeled: bool = False

    @property
    def size(self) -> int:
        return self.block.size

    def batch(self) -> Batch:
        """Return the other documents, with a note of how many were excluded; one that cannot be read has no label."""
        batch = self.block.batch()
        rows = {row for row, identity in enumerate(batch.ids) if identity in self.ids}
        unlabeled = {
            row
            for row in range(len(batch))
            if self.skips_unlabeled and row not in rows and row not in batch.problems and batch.labels_of(row) is None
        }
        if not rows and not unlabeled:
            return batch
        kept = batch.drop(rows | unlabeled)
        kept.note(EXCLUDED_IDS, len(rows))
        kept.note(UNLABELED, len(unlabeled))
        return kept

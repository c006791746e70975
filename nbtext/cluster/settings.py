"""The settings of a cluster."""

from __future__ import annotations

from nbtext.errors import SettingsError
from nbtext.records import dataclass

LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """Which cluster does the work, and the size of its shards."""

    cluster: str | None = None
    shard_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.cluster is not None and self.cluster != LOCAL and "://" not in self.cluster:
            raise SettingsError(
                f"{self.cluster!r} is not an address", where="--cluster", hint="give tcp://HOST:8786, or local"
            )
        if self.shard_bytes is not None and self.cluster is None:
            raise SettingsError("is used only with --cluster", where="--shard-bytes", hint="add --cluster")
        if self.shard_bytes is not None and self.shard_bytes < 1:
            raise SettingsError(f"{self.shard_bytes} is less than 1", where="--shard-bytes")

    @property
    def is_local(self) -> bool:
        """Whether the workers are processes of this machine, with the same working directory."""
        return self.cluster == LOCAL

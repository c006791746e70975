"""Where else the work is done: the options of that stage, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from nbtext.errors import SettingsError

LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """Which cluster works, and on pieces of which size."""

    cluster: str | None = field(
        default=None,
        metadata={
            "help": "Have the workers of a Dask cluster do the work, which must see the same paths: the address of its "
            "scheduler, as in tcp://HOST:8786, or `local` for processes here."
        },
    )
    shard_bytes: int | None = field(
        default=None,
        metadata={
            "help": "How large a piece of SOURCE a worker is given, with --cluster.  [default: two for each thread, if "
            "that makes 16 to 512 MiB]"
        },
    )

    def __post_init__(self) -> None:
        if self.cluster is not None and self.cluster != LOCAL and "://" not in self.cluster:
            raise SettingsError(
                f"{self.cluster!r} is no address", where="--cluster", hint="give tcp://HOST:8786, or local"
            )
        if self.shard_bytes is not None and self.cluster is None:
            raise SettingsError("there are no workers to give pieces to", where="--shard-bytes", hint="give --cluster")
        if self.shard_bytes is not None and self.shard_bytes < 1:
            raise SettingsError("a piece needs a byte at least", where="--shard-bytes")

    @property
    def is_local(self) -> bool:
        """Whether the workers are processes of this machine, in the same folder."""
        return self.cluster == LOCAL

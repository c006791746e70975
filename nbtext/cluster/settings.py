"""The settings of a cluster."""

from __future__ import annotations

from nbtext.errors import SettingsError
from nbtext.records import frozen
from nbtext.settings import Settings, setting

LOCAL = "local"


@frozen(kw_only=True)
class ClusterSettings(Settings):
    """Which cluster does the work."""

    TITLE = "Cluster"

    cluster: str | None = setting(
        None,
        "Run on a Dask cluster: a scheduler address such as tcp://HOST:8786, or `local`. Workers must see the "
        "same paths. Needs the extra nbtext[dask].",
        metavar="ADDRESS",
    )

    def check_values(self) -> None:
        if self.cluster is not None and self.cluster != LOCAL and "://" not in self.cluster:
            raise SettingsError(
                f"{self.cluster!r} is not an address",
                where="cluster",
                hint="give tcp://HOST:8786, or local",
            )

    @property
    def is_local(self) -> bool:
        """Whether the workers are processes of this machine, with the same working directory."""
        return self.cluster == LOCAL

"""Error messages of a cluster that fails."""

from concurrent.futures import CancelledError
from types import SimpleNamespace

import pytest
from distributed.scheduler import KilledWorker

from nbtext.cluster.executor import check_paths, cluster_errors
from nbtext.cluster.settings import ClusterSettings
from nbtext.errors import ClusterError, InputError, SettingsError

KILLED = KilledWorker("count_shard-1", SimpleNamespace(address="tcp://10.0.0.1:1", name="one"), 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (
            KILLED,
            "several workers stopped while they processed the same shard; give them more memory, or fewer "
            "threads",
        ),
        (
            ModuleNotFoundError("No module named 'nbtext'"),
            "nbtext is not installed on the workers (No module named 'nbtext')",
        ),
        (
            TimeoutError("late"),
            "does not answer (TimeoutError); check that the scheduler is running and has workers",
        ),
        (CancelledError("count_shard-1"), "the work failed (CancelledError: count_shard-1)"),
        (ValueError("a\nb"), "the work failed (ValueError: a)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_failures_are_a_line(failure: Exception, said: str) -> None:
    """What Dask raises becomes one line that names the cluster."""
    with pytest.raises(ClusterError) as raised, cluster_errors("tcp://h:1"):
        raise failure
    assert str(raised.value).startswith(f"tcp://h:1: {said}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "failure", [InputError("x"), MemoryError(), BrokenPipeError(), KeyboardInterrupt()], ids=repr
)
def test_other_errors_are_raised_unchanged(failure: BaseException) -> None:
    """Errors of the input, of memory and of a closed pipe are raised unchanged."""
    with pytest.raises(type(failure)) as raised, cluster_errors("tcp://h:1"):
        raise failure
    assert raised.value is failure


def test_paths_mean_the_same_to_all() -> None:
    """Relative paths are for workers in the same folder; URLs and absolute paths are for all."""
    there = ClusterSettings(cluster="tcp://h:1")
    here = ClusterSettings(cluster="local")
    check_paths(("/a", "s3://b/c"), there)
    check_paths(("a", "/a", "s3://b/c"), here)
    for paths, settings in ((("a",), there), (("-",), here)):
        with pytest.raises(SettingsError):
            check_paths(paths, settings)


def test_an_address_has_a_scheme() -> None:
    with pytest.raises(SettingsError):
        ClusterSettings(cluster="h")

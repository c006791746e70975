"""Threads, and how many there are."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtext.parallel import available_cpus, parallel_map


def test_cpus_where_the_system_does_not_tell_those_of_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On macOS and Windows it is the number of CPUs of the machine, and 1 where not even that is
    known.
    """
    assert available_cpus() >= 1
    monkeypatch.delattr(os, "sched_getaffinity")
    assert available_cpus() == os.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cpus() == 1


@pytest.mark.parametrize("jobs", [(), ("-j", "2")])
def test_a_command_where_the_system_does_not_tell(
    jobs: tuple[str, ...], letters: Path, tmp_path: Path
) -> None:
    """Commands with and without -j work there."""
    code = "import os, sys; del os.sched_getaffinity; from nbtext.cli.main import main; sys.exit(main())"
    command = [
        sys.executable,
        "-c",
        code,
        "train",
        str(letters / "train"),
        "-o",
        str(tmp_path / "m"),
        *jobs,
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, (tmp_path / "m").exists()) == (0, True), result.stderr


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_are_in_order_and_items_are_not_read_far_ahead(jobs: int) -> None:
    """However many threads there are."""
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    for expected, result in enumerate(parallel_map(lambda number: 2 * number, items(), jobs=jobs)):
        assert result == 2 * expected
        assert len(taken) <= expected + 2 * jobs + 1


def test_an_error_is_raised_in_its_turn() -> None:
    """After the results before it; no thread goes on."""
    results = parallel_map(lambda number: 6 // number, [3, 2, 0, 1], jobs=2)
    assert [next(results), next(results)] == [2, 3]
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert not [
        each
        for each in threading.enumerate()
        if each.name.startswith("ThreadPool") and each.is_alive()
    ]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError])
def test_an_interrupt_does_not_wait_for_threads(kind: type[BaseException]) -> None:
    """A thread may need a lock of the pool that the interrupt has left locked; after other errors,
    it is waited for.
    """
    has_begun = threading.Event()
    is_released = threading.Event()
    ended = list[bool]()

    def work(number: int) -> None:
        if number == 0:
            has_begun.wait()
            raise kind
        has_begun.set()
        ended.append(is_released.wait(0.5))

    with pytest.raises(kind):
        list(parallel_map(work, range(2), jobs=2))
    is_released.set()
    assert ended == ([] if kind is KeyboardInterrupt else [False])

"""What several rooms' tests need."""

import contextlib
import gc
import os
import shutil
import signal
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).with_name("processes")))
from forking import Forker

ARCHIVES = Path(
    os.environ.get("NBTEXT_TEST_CORPORA", Path(__file__).parents[2] / "shared" / "corpora")
)
UNPACKED = Path(__file__).parents[1] / ".corpora"

# As in nbtext.cli: a second thread of the linear algebra of a test would take CPU time from the
# other tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# started in the background of a shell, all that the tests start would ignore interrupts
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sample",
        action="store_true",
        help="run a sample of the exhaustive tests, the same each time",
    )
    parser.addoption(
        "--pages", action="store_true", help="with --sample, run all tests in a browser, too"
    )


def pytest_configure() -> None:
    """No example of a property has a deadline: on a loaded machine it would fail.

    A missing kernel is switched off for the commands that the tests run, so that they do not warn
    of it.
    """
    from hypothesis import settings

    from nbtext.kernel import HAS_KERNEL

    if not HAS_KERNEL:
        os.environ["NBTEXT_KERNEL"] = "off"
    settings.register_profile("nbtext", deadline=None)
    settings.load_profile("nbtext")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """-n auto: one process more than there are CPUs, because many tests wait for services, browsers
    and disks.
    """
    from nbtext.parallel import available_cpus

    return available_cpus() + 1 if config.option.numprocesses == "auto" else None


def pytest_collection_finish() -> None:
    """Search for garbage less often, and never among what was collected: that took a tenth of the
    time.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


LONG_FOLDERS = ("torture", "fuzz", "docs")
COLLECTED = pytest.StashKey[tuple[pytest.Item, ...]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --sample, keep a sample of the tests, and a fourth of a property's examples (plain
    Python: an eighth).

    The files with the longest tests are the first, so that the last tests, which not all processes
    share, are short.
    """
    items.sort(key=lambda item: item.path.parent.name not in LONG_FOLDERS)
    config.stash[COLLECTED] = tuple(items)
    if not config.getoption("--sample"):
        return
    kept, left_out = split_sample(items, has_pages=config.getoption("--pages"))
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)
    from hypothesis import settings

    from nbtext.kernel import HAS_KERNEL

    properties = {item.obj for item in kept if getattr(item.obj, "is_hypothesis_test", False)}
    for test in properties:
        whole = test._hypothesis_internal_use_settings
        test._hypothesis_internal_use_settings = settings(
            whole,
            max_examples=max(whole.max_examples // (4 if HAS_KERNEL else 8), 3),
            derandomize=True,
        )


def split_sample(
    items: Iterable[pytest.Item], *, has_pages: bool = False
) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return the tests of the sample, and those that it leaves out.

    Of a test that is `exhaustive(every=n)` it has every n-th case, the first included, and of one
    that is just `exhaustive` none. Without the kernel, `exhaustive(plain=n)` replaces that number,
    where plain Python takes much longer. Each test in a browser uses seconds of the processor, so
    it is left out, too, unless `has_pages`.
    """
    from nbtext.kernel import HAS_KERNEL

    n_cases: Counter[str] = Counter()
    kept = []
    left_out = []
    for item in items:
        marker = item.get_closest_marker("exhaustive")
        is_of_page = "chromium" in getattr(item, "fixturenames", ())
        if has_pages if is_of_page else marker is None:
            kept.append(item)
            continue
        name = item.nodeid.partition("[")[0]
        numbers = marker.kwargs if marker else {}
        every = numbers.get("every", int("plain" in numbers))
        every = every if HAS_KERNEL else numbers.get("plain", every)
        (kept if every and n_cases[name] % every == 0 else left_out).append(item)
        n_cases[name] += 1
    return kept, left_out


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time do this; the others wait, except on Windows, which has no fcntl."""
    with path.open("w") as file:
        with contextlib.suppress(ImportError):
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def corpora() -> Callable[[str], Path]:
    """The folder of an unpacked real corpus by its name; the test is skipped where the archive is
    missing.
    """

    def unpacked(name: str) -> Path:
        folder = UNPACKED / name
        archive = ARCHIVES / f"{name}.tar.xz"
        if not folder.is_dir():
            if not archive.is_file():
                pytest.skip(f"{archive} is not there")
            UNPACKED.mkdir(exist_ok=True)
            with _locked(UNPACKED / f"{name}.lock"):
                if not folder.is_dir():  # another process did not unpack it meanwhile
                    with (
                        tempfile.TemporaryDirectory(dir=UNPACKED) as scratch,
                        tarfile.open(archive) as tar,
                    ):
                        # Python 3.11.3 and older have no filters
                        tar.extraction_filter = getattr(tarfile, "data_filter", None)
                        tar.extractall(scratch)
                        with contextlib.suppress(OSError):  # on Windows, another process was faster
                            (Path(scratch) / name).rename(folder)
        return folder

    return unpacked


@pytest.fixture(scope="session")
def forker() -> Iterator[Callable[..., Forker]]:
    """forker(kernel=""): return a process that starts nbtext commands within milliseconds (`popen`,
    `run`).
    """
    with contextlib.ExitStack() as ends:

        @cache
        def with_kernel(kernel: str) -> Forker:
            made = Forker(kernel)
            ends.callback(made.end)
            return made

        yield lambda kernel="": with_kernel(kernel)


@pytest.fixture
def hang_guard() -> Iterator[None]:
    """End the test with an error after a minute of CPU time, where what it tests could run for
    hours.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise AssertionError(
            "it used a minute of CPU time: it hangs, or takes more than linear time"
        )

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, 60)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser for all tests, driven by Playwright; where there is none the tests are skipped, but
    never in CI.

    The headless shell draws the same pages as Chromium in two thirds of the time.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        assert "CI" not in os.environ, "CI installs chromium"
        pytest.skip("chromium is not installed")
    api = pytest.importorskip("playwright.sync_api")
    pytest.importorskip("axe_playwright_python")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
            ],
        )
        yield browser
        browser.close()

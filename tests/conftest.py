"""What several rooms' tests need."""

from __future__ import annotations

import os
import signal
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

ARCHIVES = Path(os.environ.get("NBTEXT_TEST_CORPORA", Path(__file__).parents[2] / "shared" / "corpora"))
UNPACKED = Path(__file__).parents[1] / ".corpora"

# started in the background of a shell, all that the tests start would ignore interrupts
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def corpora() -> Callable[[str], Path]:
    """The folder of an unpacked real corpus by its name; the test is skipped where the archive is missing."""

    def unpacked(name: str) -> Path:
        folder, archive = UNPACKED / name, ARCHIVES / f"{name}.tar.xz"
        if not folder.is_dir():
            if not archive.is_file():
                pytest.skip(f"{archive} is not there")
            with tarfile.open(archive) as tar:
                tar.extractall(UNPACKED, filter="data")
        return folder

    return unpacked

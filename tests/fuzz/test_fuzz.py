"""The inputs that the fuzzers found, and combinations of them, crash nothing."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from nbtext.kernel import HAS_KERNEL

LIBRARIES = {"parquet": "pyarrow", "arrow": "pyarrow"}


@pytest.mark.skipif(
    not HAS_KERNEL, reason="the kernel is not compiled, and it is one of those that are compared"
)
@pytest.mark.exhaustive(every=2)
@pytest.mark.parametrize("n_mutations", [100, 1000])
def test_no_input_crashes(n_mutations: int) -> None:
    """Each reader, the loader and the kernel answer the whole corpus and thousands of inputs made
    of it.
    """
    command = [sys.executable, str(Path(__file__).parent), "replay", str(n_mutations)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    inputs = {
        figures["target"]: figures["inputs"]
        for figures in map(json.loads, done.stdout.splitlines())
    }
    folders = {folder.name for folder in (Path(__file__).parent / "corpus").iterdir()}
    lacking = {name for name, library in LIBRARIES.items() if find_spec(library) is None}
    assert folders - lacking == set(inputs)
    assert all(number > n_mutations for number in inputs.values())

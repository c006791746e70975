"""`make test` runs a sample of the exhaustive tests (--sample), `make test-all` all tests."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nbtext.kernel import HAS_KERNEL

TESTS = Path(__file__).parent
# the sample has none of their tests
WHOLE_FILES = {
    "tests/docs/test_makefile_example.py",
    "tests/docs/test_site.py",
    "tests/features/test_imports.py",
    "tests/torture/test_torture.py",
}
EXAMPLE = """
import pytest
from hypothesis import given, settings, strategies

@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("case", range(7))
def test_cases(case): pass

@pytest.mark.exhaustive(plain=2)
@pytest.mark.parametrize("case", range(3))
def test_slow_without_kernel(case): pass

@pytest.mark.exhaustive
def test_long(): pass

@pytest.mark.parametrize("case", [0, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_one_long_case(case): pass

def test_in_a_browser(chromium): pass

@settings(max_examples=40)
@given(strategies.integers())
def test_property(number): print("example")
"""


@pytest.mark.parametrize(("is_sample", "kernel"), [(True, "off"), (True, ""), (False, "")])
def test_what_is_run(tmp_path: Path, is_sample: bool, kernel: str) -> None:
    """The sample has every n-th case, and a fourth of the examples of a property, an eighth in
    plain Python.
    """
    (tmp_path / "test_example.py").write_text(EXAMPLE)
    options = [
        "-p",
        "conftest",
        "-c",
        TESTS.parent / "pyproject.toml",
        "--rootdir",
        tmp_path,
    ]
    command = [
        sys.executable,
        "-m",
        "pytest",
        *options,
        "-vs",
        *["--sample"] * is_sample,
        "test_example.py",
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(TESTS),
        "PATH": str(tmp_path),
        "CI": "",
        "PYTEST_ADDOPTS": "",
        "NBTEXT_KERNEL": kernel,
    }
    environment.pop("CI")  # so that a missing browser is not an error
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"^test_example.py::test_(\S+)", done.stdout, re.MULTILINE)
    is_thin = is_sample and (kernel == "off" or not HAS_KERNEL)
    cases = range(0, 7, 3) if is_sample else range(7)
    slow = [f"slow_without_kernel[{case}]" for case in ((0, 2) if is_thin else (0, 1, 2))]
    rest = (
        ["one_long_case[0]"]
        if is_sample
        else ["long", "one_long_case[0]", "one_long_case[1]", "in_a_browser"]
    )
    assert found == [*(f"cases[{case}]" for case in cases), *slow, *rest, "property"]
    assert done.stdout.count("example\n") == (5 if is_thin else 10 if is_sample else 40)


def test_each_file_has_tests_in_the_sample(request: pytest.FixtureRequest) -> None:
    """Of each function marked with `every` it has the first case."""
    conftest = request.config.pluginmanager.get_plugin(str(TESTS / "conftest.py"))
    collected = request.config.stash[conftest.COLLECTED]
    kept, left_out = conftest.split_sample(collected)
    functions = {item.nodeid.partition("[")[0] for item in kept}
    for item in left_out:
        marker = item.get_closest_marker("exhaustive")
        assert (
            marker is None
            or "every" not in marker.kwargs
            or item.nodeid.partition("[")[0] in functions
        )
    files = {item.nodeid.partition("::")[0] for item in kept}
    chosen = {argument.partition("::")[0] for argument in request.config.args if "::" in argument}
    assert {item.nodeid.partition("::")[0] for item in left_out} - files <= WHOLE_FILES | chosen

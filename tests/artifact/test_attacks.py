"""Hostile model files are refused, and run no code."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ATTACKS = Path(__file__).with_name("attacks")
MAX_SECONDS = 2.0
MAX_MEGABYTES = 200

# in a process of its own for each file, quietly, whatever becomes of it
UNSAFE = """
import joblib, os, sys
for path in sys.argv[1:]:
    if (process := os.fork()) == 0:
        try:
            joblib.load(path)
        finally:
            os._exit(0)
    os.waitpid(process, 0)
"""


# how many attacks of each kind there are at least; the crowds take seconds to judge
KINDS = {"calls": 25, "headers": 100, "crowds": 20}


@pytest.fixture(
    scope="module",
    params=["calls", "headers", pytest.param("crowds", marks=pytest.mark.exhaustive)],
)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all attacks of a kind."""
    folder = tmp_path_factory.mktemp(request.param)
    subprocess.run([sys.executable, ATTACKS, "build", folder, request.param], check=True)
    return folder


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> list[dict[str, Any]]:
    """The result of loading each attack."""
    judge = [sys.executable, ATTACKS, "judge", folder]
    done = subprocess.run(judge, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_there_are_many(
    outcomes: list[dict[str, Any]], folder: Path, request: pytest.FixtureRequest
) -> None:
    """All attacks were loaded."""
    kind = request.node.callspec.params["folder"]
    assert len(outcomes) == len(list(folder.glob("*.joblib"))) > KINDS[kind]
    assert kind != "calls" or len(live_attacks(folder)) > 20


def test_each_is_refused_in_one_line(outcomes: list[dict[str, Any]], folder: Path) -> None:
    """Each attack ends in an ArtifactError: one printable line, which names the file and says what
    is wrong.
    """
    for outcome in outcomes:
        assert outcome["outcome"] == "refused", outcome
        assert outcome["message"].startswith(f"{folder / outcome['name']}.joblib: "), outcome
        assert outcome["message"].isprintable(), outcome
        assert len(outcome["message"]) < len(str(folder)) + 400, outcome


@pytest.mark.parametrize("folder", ["calls"], indirect=True)
def test_no_code_runs(outcomes: list[dict[str, Any]], folder: Path) -> None:
    """No canary was created, and the message names what was refused: a pickle, or damage."""
    assert outcomes
    assert not list(folder.glob("canary-*"))
    messages = {outcome["name"]: outcome["message"] for outcome in outcomes}
    for name in live_attacks(folder):
        assert re.search(
            r"older nbtext|is a pickle|is damaged|is not a model|looks like text",
            messages[name],
        ), name
    assert "was written by an older nbtext" in messages["system-protocol-4"]
    assert (
        "is a pickle, but no nbtext model; nbtext never runs what it loads"
        in messages["system-protocol-2"]
    )
    assert "is not a model" in messages["system-behind-xz"]


def test_time_and_memory_are_bounded(outcomes: list[dict[str, Any]]) -> None:
    """No attack takes long, or much memory above that of an empty start."""
    slowest = max(outcomes, key=lambda outcome: outcome["seconds"])
    largest = max(outcomes, key=lambda outcome: outcome["megabytes"])
    assert slowest["seconds"] < MAX_SECONDS, slowest
    assert largest["megabytes"] < MAX_MEGABYTES, largest


@pytest.mark.parametrize("folder", ["calls"], indirect=True)
def test_attacks_execute_code_under_joblib(folder: Path) -> None:
    """The attacks that should execute code do execute it when joblib loads them, so the other tests
    are meaningful.
    """
    names = live_attacks(folder)
    unsafe = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        UNSAFE,
        *(str(folder / f"{name}.joblib") for name in names),
    ]
    subprocess.run(
        unsafe,
        check=True,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    canaries = list(folder.glob("canary-*"))
    for canary in canaries:
        canary.unlink()
    assert sorted(canary.name for canary in canaries) == sorted(f"canary-{name}" for name in names)


def live_attacks(folder: Path) -> list[str]:
    return (folder / "live").read_text(encoding="ascii").split()

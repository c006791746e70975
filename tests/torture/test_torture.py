"""Small versions of what `make torture` measures."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def measured(folder: Path, *arguments: str) -> Any:
    """What a part of the torture finds."""
    command = [sys.executable, str(Path(__file__).parent), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, timeout=1200
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


@pytest.mark.exhaustive
def test_no_output_is_lost(tmp_path: Path) -> None:
    """Killed at each step of writing and at moments before, a command leaves the old output whole,
    or the new one.

    Here at every fourth step, another fourth for each command: all of them write by one function.
    """
    figures = measured(tmp_path, "kills", "1", "4")
    assert {"train", "vectorize", "predict"} <= set(figures["commands"])
    assert figures["points"] > 5 * len(figures["commands"])
    assert figures["lost"] == 0
    assert figures["old"] > 0 < figures["new"]
    # nothing has a name until it is whole; between that and the renaming are four steps, and
    # microseconds
    assert figures["left"] <= 4 * len(figures["commands"])


@pytest.mark.exhaustive
def test_no_change_is_lost_in_a_race(tmp_path: Path) -> None:
    """Of two commands that replace a model at once, each changes it or fails with a message."""
    figures = measured(tmp_path, "races", "1")
    assert figures["races"] == 10
    assert figures["lost"] == figures["silent"] == 0
    assert figures["one"] + figures["both"] > 0


@pytest.mark.exhaustive
def test_models_with_extreme_numbers(tmp_path: Path) -> None:
    """Models with extreme numbers, some of those of `make torture`: no command prints NaN, crashes,
    warns or hangs.
    """
    figures = measured(tmp_path, "models", "307", "100")
    assert figures["tried"] > 40
    assert figures["commands"] > 150
    assert figures["wrong"] == []


@pytest.mark.exhaustive
def test_small_files_take_little(tmp_path: Path) -> None:
    """Some of the files that would be large: an answer or one line, below 1 GB."""
    figures = measured(tmp_path, "tables", "5")
    assert figures["tried"] > 10
    assert figures["wrong"] == []
    assert figures["megabytes"] < 1000

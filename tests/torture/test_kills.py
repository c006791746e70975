"""Killed at any moment, a command leaves the old output whole, or the new one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_no_output_is_lost(tmp_path: Path) -> None:
    """At each step of writing its output and at moments before; what stays of a temporary file is at most one."""
    command = [sys.executable, str(Path(__file__).parent), "kills", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    figures = json.loads(done.stdout)
    assert {"train", "vectorize", "predict"} <= set(figures["commands"])
    assert figures["points"] > 20 * len(figures["commands"])
    assert figures["lost"] == 0
    assert figures["old"] > 0 < figures["new"]
    # nothing has a name until it is whole; between that and the renaming are four steps, and microseconds
    assert figures["left"] <= 4 * len(figures["commands"])

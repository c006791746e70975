"""Untrusted artifacts: the attacks of tests/artifact."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from kills import TOP

ATTACKS = TOP / "tests" / "artifact" / "attacks"


def attacked(folder: Path) -> dict[str, Any]:
    """Load each attack: how many, how many ran code, were loaded or crashed, the worst time and
    memory.
    """
    subprocess.run([sys.executable, ATTACKS, "build", folder], check=True)
    judged = subprocess.run(
        [sys.executable, ATTACKS, "judge", folder], check=True, capture_output=True, text=True
    )
    outcomes = [json.loads(line) for line in judged.stdout.splitlines()]
    return {
        "tried": len(outcomes),
        "executed": len(list(folder.glob("canary-*"))),
        "not_refused": sum(outcome["outcome"] != "refused" for outcome in outcomes),
        "seconds": max(outcome["seconds"] for outcome in outcomes),
        "megabytes": max(outcome["megabytes"] for outcome in outcomes),
    }

"""Untrusted artifacts: the attacks of tests/artifact, and every bit of a small model flipped."""

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


def flipped(folder: Path, step: int = 1) -> dict[str, int]:
    """Flip every bit of a model (every `step`-th): how many, how many loaded the same, or anything
    else.
    """
    from nbtext import TextClassifier, load_model, save_model
    from nbtext.errors import ArtifactError

    path = folder / "model"
    texts = ["red round leaf", "green round", "yellow long", "yellow curved long"]
    save_model(
        TextClassifier(smoothing=1.0).fit(texts, ["apple", "apple", "banana", "banana"]), str(path)
    )
    honest = path.read_bytes()
    expected = load_model(str(path)).predict_proba(texts).tolist()
    figures = {"tried": 0, "same": 0, "wrong": 0}
    for bit in range(0, 8 * len(honest), step):
        damaged = bytearray(honest)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        figures["tried"] += 1
        try:
            loaded = load_model(str(path))
            found = loaded.predict_proba(texts).tolist()
            _ = loaded.counts_  # they are read when they are used
        except ArtifactError:
            continue
        figures["same" if found == expected else "wrong"] += 1
    return figures

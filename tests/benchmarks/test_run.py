"""Tests of the benchmarks' own measurements."""

import importlib
import itertools
import json
import sys
from functools import partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # there is a package `material`, too
material, measuring = map(importlib.import_module, ("material", "measuring"))


def test_sleep_takes_wall_time_only() -> None:
    """A sleeping process takes wall time and hardly any CPU time."""
    cost = measuring.measure("sleep 0.3")
    assert 0.3 <= cost.wall < 2
    assert cost.cpu < 0.1


def test_peak_memory_is_the_childs() -> None:
    """A process that fills 200 MB is seen to hold as much, though it gives it back."""
    cost = measuring.measure("""python -c "held = bytearray(b'x' * 200_000_000); del held" """)
    assert 200_000_000 < cost.memory < 500_000_000


def test_failure_is_told() -> None:
    """A program that fails says why, and stops no other."""
    results = measuring.measure_in_turns(
        {
            name: partial(measuring.measure, command)
            for name, command in (("a", "true"), ("broken", "echo no such luck >&2; exit 3"))
        },
        rounds=2,
    )
    assert len(results["a"]) == 2
    with pytest.raises(measuring.CommandFailedError, match="exit status 3\nno such luck"):
        raise results["broken"]


def test_repetition_is_of_distinct_documents() -> None:
    """The large file repeats documents, each time with another number in it."""
    documents = material.Labeled(["a very neg film", "a very pos film"], ["neg", "pos"])
    records = [json.loads(line) for line in itertools.islice(material.repeat(documents), 4)]
    assert {record["text"] for record in records[:2]} == {
        f"a very {record['label']} n{number} film" for number, record in enumerate(records[:2])
    }
    assert len({record["text"] for record in records}) == 4

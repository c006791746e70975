"""Tests of the benchmarks' own measurements."""

import importlib
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # there is a package `material`, too
scoring, material, measuring = map(importlib.import_module, ("scoring", "material", "measuring"))


def python(code: str) -> Any:
    return measuring.Step((sys.executable, "-c", code))


def test_sleep_takes_wall_time_only() -> None:
    """A sleeping process takes wall time and hardly any CPU time."""
    cost = measuring.measure([measuring.Step(("sleep", "0.3"))])
    assert 0.3 <= cost.wall < 2
    assert cost.cpu < 0.1


def test_peak_memory_is_the_childs() -> None:
    """A process that fills 200 MB is seen to hold as much, though it gives it back."""
    cost = measuring.measure([python("held = bytearray(b'x' * 200_000_000); del held")])
    assert 200_000_000 < cost.memory < 500_000_000


def test_failure_is_told() -> None:
    """A process that fails stops the measurement, with what it said; the other programs go on."""
    broken = python("raise SystemExit('no such luck')")
    with pytest.raises(measuring.StepFailedError, match="exit status 1\nno such luck"):
        measuring.measure([broken])
    order: list[str] = []
    results = measuring.measure_in_turns(
        {"a": [measuring.Step(("true",))], "broken": [broken], "b": [measuring.Step(("true",))]},
        rounds=2,
        on_cost=lambda name, _: order.append(name),
    )
    assert order == ["a", "b", "a", "b"]
    assert isinstance(results["broken"], measuring.StepFailedError)


def test_repetition_is_of_distinct_documents(tmp_path: Path) -> None:
    """The large file repeats a folder's documents, each time with another number in it."""
    for label in ("neg", "pos"):
        (tmp_path / label).mkdir()
        (tmp_path / label / "1.txt").write_text(f"a very {label} film")
    records = [json.loads(line) for line in itertools.islice(material.repeated_lines(tmp_path), 4)]
    assert [record["id"] for record in records] == ["0", "1", "2", "3"]
    assert {record["text"] for record in records[:2]} == {
        f"a very {record['label']} n{number} film" for number, record in enumerate(records[:2])
    }
    assert len({record["text"] for record in records}) == 4


def test_answers_are_judged_by_the_folder(tmp_path: Path) -> None:
    """A table of predictions is right where the label is the folder that the document lies in."""
    predictions = tmp_path / "predictions.tsv"
    predictions.write_text(f"{tmp_path}/spam/1\tspam\t0.9\n{tmp_path}/ham/x/2\tspam\t0.6\n")
    assert scoring.accuracy_of_table(predictions, tmp_path) == 0.5

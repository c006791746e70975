"""Tests of the benchmarks' own measurements."""

import importlib
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # there is a package `material`, too
programs, jobs, scoring, material, measuring, models, outcome, table = map(
    importlib.import_module,
    ("programs", "jobs", "scoring", "material", "measuring", "models", "outcome", "table"),
)
CONDITIONS = {"date": "2026-01-01", "machine": "an abacus"}


def python(code: str) -> Any:
    return measuring.Step((sys.executable, "-c", code))


def example() -> Any:
    """A job in which nbtext takes a tenth of the time, and too large a model."""
    thresholds = (
        jobs.Threshold("wall", "peer", 1 / 8),
        jobs.Threshold("model", "peer", 1 / 3),
        jobs.Threshold("accuracy", "gone", 1.0),
    )
    names = ("nbtext", "peer", "gone")
    job = jobs.Job("A job", tuple(programs.other(name, "true") for name in names), thresholds)
    rows = (
        outcome.Row(
            "nbtext", "a", measuring.Cost(0.1, 0.15, 50_000_000), model_size=40, accuracy=0.9
        ),
        outcome.Row(
            "peer", "b", measuring.Cost(1.0, 1.0, 900_000_000), model_size=100, accuracy=0.8
        ),
        outcome.Row("gone", "c", problem="not installable here: no package"),
    )
    return outcome.JobResult(job, rows)


def test_frontier() -> None:
    """The frontier is what no other program beats in time and accuracy; slower and worse ones are
    not in it.
    """
    figures = {
        "fast": (1, 0.7),
        "worse": (2, 0.6),
        "equal": (3, 0.7),
        "good": (4, 0.8),
        "slow": (9, 0.75),
    }
    rows = [
        outcome.Row(name, name, measuring.Cost(wall), accuracy=right)
        for name, (wall, right) in figures.items()
    ]
    rows.append(outcome.Row("failed", "failed", problem="failed"))
    assert [row.name for row in models.select_frontier(rows)] == ["fast", "good"]
    result = outcome.JobResult(jobs.Job("Corpus", ()), tuple(rows))
    assert "Frontier, from fast to accurate: fast, good." in models.format_page(
        [result], CONDITIONS, "Medians."
    )


def test_sleep_takes_wall_time_only() -> None:
    """A sleeping process takes wall time and hardly any CPU time."""
    cost = measuring.measure([measuring.Step(("sleep", "0.3"))])
    assert 0.3 <= cost.wall < 2
    assert cost.cpu < 0.1


def test_peak_memory_is_the_childs() -> None:
    """A process that fills 200 MB is seen to hold as much, though it gives it back."""
    cost = measuring.measure([python("held = bytearray(b'x' * 200_000_000); del held")])
    assert 200_000_000 < cost.memory < 500_000_000


def test_costs_of_steps_add_up() -> None:
    """Times of several steps add up, peaks do not, and what clears up is not counted."""
    nap = measuring.Step(("sleep", "0.1"))
    assert 0.2 <= measuring.measure([nap, nap]).wall < 2
    assert measuring.measure([measuring.Step(("true",), counts=False)]) == measuring.Cost()
    assert measuring.Cost(1, 2, 3) + measuring.Cost(1, 2, 1) == measuring.Cost(2, 4, 3)


def test_input_and_output(tmp_path: Path) -> None:
    """A process reads what it is given through a pipe, and writes where it is told to."""
    written = tmp_path / "out.txt"
    measuring.measure([measuring.Step(("cat",), stdin=b"short text\n", stdout=written)])
    assert written.read_bytes() == b"short text\n"


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


def test_bars_are_judged() -> None:
    """The table of thresholds has the ratio to the peer, the threshold, and whether it was
    reached.
    """
    assert table.thresholds_table([example()]).splitlines()[2:] == [
        "| A job | nbtext : peer | wall time | 1/10 | ≤ 1/8 | reached |",
        "| A job | nbtext : peer | model file | 1/2.5 | ≤ 1/3 | **missed** |",
        "| A job | nbtext : gone | accuracy | — | ≥ 1 | — |",
    ]


def test_page_renders() -> None:
    """The page has a row for each program."""
    page = table.document([example()], CONDITIONS, {"gone": "no package"}, "Medians.")
    assert "| peer | 1.00 s | 1.00 s | 900 MB | 0.0001 MB | 0.8000 | 10.00 | `b` |" in page
    assert "| gone | not installable here: no package |" in page


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1 / 12, "1/12"), (0.5, "1/2"), (0.834, "0.834"), (1.0, "1"), (3.0, "3"), (None, "—")],
)
def test_ratio_text(ratio: float | None, text: str) -> None:
    """Small ratios read as fractions."""
    assert table.ratio_text(ratio) == text


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

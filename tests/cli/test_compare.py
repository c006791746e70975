"""`nbtext compare` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_learning_curves(nbtext: Any, letters: Path) -> None:
    """More documents make better models; the same bytes for any number of jobs, with and without the kernel."""
    command = [
        "compare",
        str(letters / "train"),
        "--sizes",
        "25,200",
        "--models",
        "multinomial,bernoulli",
        "--seeds",
        "3",
    ]
    results = [nbtext(*command, "--to", "json", "-j", "1"), nbtext(*command, "--to", "json", "-j", "3")]
    results.append(nbtext(*command, "--to", "json", NBTEXT_KERNEL="off"))
    assert [result.status for result in results] == [0, 0, 0], results[0].err
    assert len({result.out for result in results}) == 1
    record = json.loads(results[0].out)
    points = {(point["model"], point["size"]): point for point in record["points"]}
    assert record["judged"] == 136
    for model in ("multinomial", "bernoulli"):
        assert points[model, 200]["accuracy"] > points[model, 25]["accuracy"] + 0.1
        assert points[model, 200]["log_loss"] < points[model, 25]["log_loss"]
        assert len(points[model, 25]["accuracies"]) == 3
        assert points[model, 25]["accuracy_deviation"] > 0


def test_a_table_with_a_chart(nbtext: Any, letters: Path) -> None:
    """Judged by other documents, with sizes of its own choice."""
    result = nbtext(
        "compare",
        str(letters / "train"),
        "--test",
        str(letters / "test"),
        "--seeds",
        "1",
        "--to",
        "table",
        COLUMNS="90",
    )
    assert result.status == 0, result.err
    assert "336 documents, judged by 84" in result.out
    assert "● multinomial" in result.out
    assert max(map(len, result.out.splitlines())) <= 90


def test_from_a_matrix(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """A matrix file is compared on as the texts are."""
    assert nbtext("vectorize", str(letters / "train"), "-o", "m.npz", cwd=tmp_path).status == 0
    options = ["--sizes", "100", "--seeds", "2", "--models", "multinomial"]
    from_matrix = nbtext("compare", "m.npz", *options, cwd=tmp_path)
    assert from_matrix.status == 0, from_matrix.err
    assert from_matrix.out.startswith("100\tmultinomial\t0.")


def test_mistyped_models_and_sizes(nbtext: Any, letters: Path) -> None:
    """Are told from what was meant."""
    assert "did you mean bernoulli?" in nbtext("compare", str(letters / "train"), "--models", "bernouli").err
    assert "write 50,100,200" in nbtext("compare", str(letters / "train"), "--sizes", "many").err

"""Linear multi-label models, as a user types the commands."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

WORDS = {
    "animals": "cat dog horse cow",
    "cities": "paris rome street bridge",
    "food": "bread soup cheese rice",
}


def write(path: Path, n: int, seed: int) -> None:
    """Write texts with the words of their labels: two, one or none of three."""
    rng = random.Random(seed)
    lines = []
    for _ in range(n):
        labels = sorted(rng.sample(sorted(WORDS), rng.choice((0, 1, 1, 1, 2, 2))))
        words = [word for label in labels for word in rng.sample(WORDS[label].split(), 2)]
        words += rng.sample(["the", "a", "of", "and", "in", "to", "is", "was"], 4)
        rng.shuffle(words)
        lines.append(json.dumps({"text": " ".join(words), "label": labels}) + "\n")
    path.write_text("".join(lines))


@pytest.mark.exhaustive(every=2)
@pytest.mark.parametrize("model", ["svm", "nbsvm"])
def test_linear_models(nbtext: Any, tmp_path: Path, model: str) -> None:
    """They go through all commands; those that need additive counts refuse them in one line."""

    def run(*arguments: str) -> Any:
        return nbtext(*arguments).ok()

    for name, n, seed in (("train", 150, 1), ("test", 60, 2)):
        write(tmp_path / f"{name}.jsonl", n, seed)
    run("train", "train.jsonl", "-o", "m")
    options = ("--model", model, "--weighting", "log-tfidf", "--optimize", "macro_f1")
    messages = run("train", "train.jsonl", *options, "-o", "s").err
    trained = messages.splitlines()[-1]  # a warning may precede it without the kernel
    assert trained.startswith(f"{model}, multi-label: 150 documents, 3 labels")
    assert "; C 1; estimated micro F1 " in trained
    assert "(5 folds, 10 duplicates left out together)" in trained
    evaluated = run("evaluate", "test.jsonl", "-m", "s", "--to", "json", "--report", "p.html").json
    assert evaluated["micro_f1"] > 0.9
    assert len({each["threshold"] for each in evaluated["per_label"]}) > 1
    assert (
        run("evaluate", "train.jsonl", "--folds", "3", *options, "--to", "json").json["micro_f1"]
        > 0.85
    )
    assert len(run("predict", "test.jsonl", "-m", "s", "--at-least-one").out.splitlines()) == 60
    assert {
        each["label"] for each in run("explain", "test.jsonl", "-m", "s", "--to", "jsonl").records
    } == set(WORDS)
    inspected = run("inspect", "s", "--to", "table").out
    assert "C" in inspected
    assert "thresholds  from" in inspected
    compared = run("compare", "test.jsonl", "-m", "s", "-m", "m", "--to", "json").json
    assert [each["model"] for each in compared["models"]] == [model, "auto"]
    assert run("diff", "s", "m").out
    for command in (
        ("update", "s", "train.jsonl"),
        ("forget", "s", "train.jsonl"),
        ("merge", "s", "s"),
    ):
        refused = nbtext(*command, "-o", "x").refused(
            1, f"documents cannot be added to or removed from {model} models"
        )
        assert refused.err.count("\n") == 1

"""Weightings that give weights below zero, or none above it."""

import json
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Documents that all hold the same word, and others that all hold the same two."""
    rows = [
        {"label": "ab"[n % 2], "text": f"common {['red', 'blue'][n % 2]} number{n % 5}"}
        for n in range(20)
    ]
    write_rows(tmp_path / "t.jsonl", rows)
    rows = [{"label": "ab"[n % 2], "text": "same words" + " same" * (n % 3)} for n in range(12)]
    write_rows(tmp_path / "same.jsonl", rows)
    return tmp_path


@pytest.mark.parametrize("model", ["multinomial", "dirichlet", "complement"])
def test_naive_bayes_refuses_them(nbtext: Any, folder: Path, model: str) -> None:
    """The inverse document frequency plus-one of a word in every document is below zero."""
    nbtext(f"train t.jsonl --model {model} --weighting :plus-one -o m", cwd=folder).refused(
        1, "needs weights >= 0"
    )


@pytest.mark.parametrize("model", ["logistic", "nbsvm", "gaussian", "bernoulli"])
def test_other_models_accept_them(nbtext: Any, folder: Path, model: str) -> None:
    """Bernoulli takes binary counts, whatever the weighting."""
    result = nbtext(f"train t.jsonl --model {model} --weighting :plus-one -o m", cwd=folder).ok()
    assert "Warning" not in result.err
    found = nbtext("predict t.jsonl -m m --to jsonl", cwd=folder)
    assert [json.loads(line)["label"] for line in found.out.splitlines()] == ["a", "b"] * 10


def test_a_matrix_that_holds_them(nbtext: Any, folder: Path) -> None:
    """Naive Bayes refuses it as it refuses the texts; a linear model gives the answers of a model
    of the texts.
    """
    nbtext("vectorize t.jsonl --weighting :plus-one -o x.npz", cwd=folder).ok()
    for model in ("multinomial", "dirichlet", "complement"):
        nbtext(f"train x.npz --model {model} -o m", cwd=folder).refused(1, "needs weights >= 0")
    answers = []
    for source in ("x.npz", "t.jsonl"):
        weighting = ["--weighting", ":plus-one"] if source == "t.jsonl" else []
        nbtext(
            "train", source, "--model", "logistic", *weighting, "-o", f"{source}.m", cwd=folder
        ).ok()
        answers.append(nbtext(f"predict t.jsonl -m {source}.m", cwd=folder).ok().out)
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "model",
    str.split("nbsvm logistic multinomial dirichlet complement gaussian bernoulli"),
)
def test_no_weights_at_all_are_no_warning(nbtext: Any, folder: Path, model: str) -> None:
    """The plain inverse document frequency of words that all documents hold is 0."""
    result = nbtext(f"train same.jsonl --model {model} --weighting :plain -o m", cwd=folder).ok()
    assert "Warning" not in result.err

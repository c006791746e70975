"""A document without a word that the model knows is unanswered, in every estimate and prediction of
the commands.
"""

import csv
import io
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nbtext import TextClassifier

WORDS = {"fruit": ["apple", "pear", "plum", "cherry"], "tool": ["hammer", "saw", "drill", "pliers"]}


def make_texts(n: int, seed: int = 0) -> list[tuple[str, str]]:
    """Return texts of two labels, two of three of them fruit: a word, or none, or one that no other
    text has.
    """
    random = Random(seed)
    rows = []
    for i in range(n):
        label = "tool" if i % 3 == 2 else "fruit"
        text = (
            " ".join(random.choices(WORDS[label], k=3))
            if i % 4 < 2
            else ("", f"unheard{i}")[i % 4 - 2]
        )
        rows.append((text, label))
    return rows


def write_csv(path: Path, rows: list[tuple[str, Any]]) -> str:
    lines = io.StringIO()
    csv.writer(lines).writerows([("text", "label"), *rows])
    path.write_text(lines.getvalue(), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "model", ["auto", "dirichlet", "bernoulli", "complement", "categorical", "svm", "logistic"]
)
def test_estimates_agree_on_texts_without_a_known_word(
    nbtext: Any, tmp_path: Path, model: str
) -> None:
    """Half of 240 texts have no known word: `train`, `evaluate --folds` and `evaluate -m` answer
    the other half.
    """
    data = write_csv(tmp_path / "t.csv", make_texts(240))
    out = str(tmp_path / "m")
    trained = nbtext("train", data, "--model", model, "-o", out).err
    assert "accuracy 0.5000" in trained and ", 120 unanswered)" in trained
    folds = nbtext("evaluate", data, "--folds", "5", "--model", model, "--to", "json").json
    new = write_csv(
        tmp_path / "new.csv",
        [(text.replace("unheard", "new"), label) for text, label in make_texts(240)],
    )
    held_out = nbtext("evaluate", new, "-m", out, "--to", "json").json
    for found in (folds, held_out):
        assert (found["unanswered"], found["accuracy"], found["accuracy_among_answered"]) == (
            120,
            0.5,
            1.0,
        )
    answer = nbtext("predict", "-", "-m", out, "--to", "jsonl", input=b"zzz\n").json
    assert (answer["label"], answer["reason"]) == (None, "the document holds no known word")


def test_several_labels_are_not_given_to_a_text_without_a_known_word(
    nbtext: Any, tmp_path: Path
) -> None:
    rows = [{"text": text, "label": [label, "thing"]} for text, label in make_texts(240)]
    data = tmp_path / "t.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for model in ("auto", "svm"):
        out = str(tmp_path / model)
        trained = nbtext("train", str(data), "--model", model, "-o", out).err
        assert "precision at 1 0.5000" in trained and ", 120 unanswered)" in trained
        folds = nbtext("evaluate", str(data), "--folds", "5", "--model", model, "--to", "json").json
        assert folds["unanswered"] == 120 and folds["micro_f1"] == pytest.approx(2 / 3)
        answer = nbtext("predict", "-", "-m", out, "--to", "jsonl", input=b"zzz\n").json
        assert answer["labels"] == [] and answer["reason"] == "the document holds no known word"
        classifier = TextClassifier.load(out)
        assert classifier.predict(["zzz", ""]) == [(), ()]
        assert (classifier.decision_function(["zzz"]) < 0).all()

"""The model `combined` as a user types it."""

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from nbtext.errors import SettingsError
from nbtext.text_classifier import TextClassifier

VIEWS = ("--view", "word:1", "--view", "word:2")


def write_texts(path: Path) -> Path:
    """Texts between words that do not repeat: one half is told by a word, and the other one by the
    order of two.
    """
    random = Random(0)
    rows = []
    for number in range(400):
        label = random.choice(("up", "down"))
        own = random.choice((label, "left right" if label == "up" else "right left"))
        rows.append({"text": f"w{2 * number} {own} w{2 * number + 1}", "label": label})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_parts_are_shown(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """The summary and `inspect` name the parts with their weights; without documents, an update
    keeps them.
    """
    texts = write_texts(tmp_path / "texts.jsonl")
    trained = nbtext("train", str(texts), "--model", "combined", *VIEWS, "-o", "m").ok()
    shown = nbtext("inspect m --to markdown").out.replace("\\_", "_")
    (line,) = (line for line in shown.splitlines() if line.startswith("parts "))
    line = line.removeprefix("parts ")
    assert f"; {line}; estimated accuracy" in trained.err
    parts = nbtext("inspect m --to json").json["parts"]
    named = [
        f"{each['weight']:.3g} × {each['model']} of {each['view']}"
        for each in parts
        if each["weight"]
    ]
    assert (line, len(named) > 1) == (" + ".join(named), True)
    assert sum(part["weight"] for part in parts) == pytest.approx(1)
    updated = nbtext(f"update m {letters}/test -o u").ok()
    assert "approximate (not fitted to all documents): weights, " in updated.err
    assert nbtext("inspect u --to json").json["parts"] == parts


def test_the_best_part_stands_alone_where_others_do_not_pay(nbtext: Any, letters: Path) -> None:
    """The letters are told by words: pairs of words would raise the log-loss."""
    folder = str(letters / "train")
    trained = nbtext("train", folder, "--model", "combined", *VIEWS, "-o", "both").ok()
    assert "; 1 × complement of word:1; " in trained.err
    nbtext("train", folder, "--model", "combined", *VIEWS[:2], "-o", "alone").ok()
    both, words = (
        nbtext(f"inspect {name} --to json").json["expected"]["log_loss"]
        for name in ("both", "alone")
    )
    assert both == pytest.approx(words, abs=0.02)


def test_cross_validation_chooses_views(nbtext: Any, letters: Path) -> None:
    """As training does: the folds of what `train` would count are better than those of words
    alone.
    """
    folds = (
        "evaluate",
        str(letters / "train"),
        "--folds",
        "5",
        "--model",
        "combined",
        "--to",
        "json",
    )
    chosen, given, words = (
        nbtext(*folds, *options).json["accuracy"]
        for options in ((), ("--view", "word:1", "--view", "word:2"), ("--view", "word:1"))
    )
    assert chosen == given
    assert chosen != words


def test_a_matrix_of_words_is_refused(nbtext: Any, letters: Path) -> None:
    """Of its columns, another model would be trained than of the texts; of views, it is the
    same.
    """
    nbtext(f"vectorize {letters}/train -o words.npz").ok()
    for command in ("train words.npz -o m", "evaluate words.npz --folds 3"):
        nbtext(f"{command} --model combined").refused(2, "this matrix has no views of texts")
    with pytest.raises(SettingsError):
        TextClassifier(model="combined").fit(np.eye(2), ["a", "b"])


@pytest.mark.parametrize("options", ["--view word:1 --view word:2", "--ngrams 1,2"])
def test_a_matrix_of_the_same_features_gives_the_same_model(
    nbtext: Any, letters: Path, tmp_path: Path, options: str
) -> None:
    nbtext(f"vectorize {letters}/train {options} -o m.npz").ok()
    nbtext("train m.npz --model combined -o one").ok()
    nbtext(f"train {letters}/train {options} --model combined -o other").ok()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()

"""The model `combined` as a user types it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtext.errors import SettingsError
from nbtext.text_classifier import TextClassifier

VIEWS = ("--view", "word:1", "--view", "char_wb:2,3")


def test_parts_are_shown(nbtext: Any, letters: Path) -> None:
    """The summary and `inspect` name the parts with their weights; without documents, an update
    keeps them.
    """
    trained = nbtext("train", str(letters / "train"), "--model", "combined", *VIEWS, "-o", "m").ok()
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
        nbtext(*folds, *options).json["log_loss"]
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

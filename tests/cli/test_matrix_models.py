"""Models of matrices: the commands, which have texts; texts, their matrix, and its rows in any
order.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtext import TextClassifier


@pytest.mark.parametrize(
    "command",
    """predict t.csv -m m.joblib
explain t.csv -m m.joblib
evaluate t.csv -m m.joblib
prevalence t.csv -m m.joblib
update m.joblib t.csv -o u.joblib
forget m.joblib t.csv -o u.joblib""".splitlines(),
)
def test_texts_are_refused(nbtext: Any, tmp_path: Path, command: str) -> None:
    """In one line; nothing is written."""
    TextClassifier().fit(np.array([[1, 0], [0, 2], [3, 0]]), ["a", "b", "a"]).save(
        tmp_path / "m.joblib"
    )
    (tmp_path / "t.csv").write_text("text,label\nred,a\n")
    nbtext(command).refused(1, "the model was trained on the columns of a matrix, not on words")
    assert not (tmp_path / "u.joblib").exists()


def test_what_needs_no_text_works(nbtext: Any, tmp_path: Path) -> None:
    """The columns are named by their numbers."""
    TextClassifier().fit(np.array([[1, 0], [0, 2], [3, 0]]), ["a", "b", "a"]).save(
        tmp_path / "m.joblib"
    )
    nbtext("inspect m.joblib").ok()
    nbtext("merge m.joblib m.joblib -o n.joblib").ok()
    nbtext("diff m.joblib n.joblib").ok()


def test_negative_idf_is_refused(nbtext: Any, tmp_path: Path) -> None:
    """A word in every document makes the idf `plus-one` negative; training says so instead of
    running for ever.
    """
    (tmp_path / "a.tsv").write_text(
        "text\tlabel\nred one\ta\nred two\tb\nred three\ta\nred four\tb\n", encoding="utf-8"
    )
    nbtext("train a.tsv --weighting :plus-one -o m.joblib").refused(
        1, "multinomial needs weights >= 0"
    )

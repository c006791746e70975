"""Texts, their matrix, and its rows in any order make the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def test_texts_and_matrices_select_the_same(nbtext: Any, tmp_path: Path) -> None:
    """Smoothing and expectation of the texts, of their matrix, and of that of the texts in another order."""
    random = np.random.default_rng(5)
    words = [f"w{number}" for number in range(60)]
    lines = [
        "\t".join((" ".join(random.choice(words[k * 12 :], random.integers(3, 20))), f"class{k}"))
        for k in range(3)
        for _ in range(200)
    ]
    shuffled = [lines[place] for place in random.permutation(len(lines))]
    for name, rows in (("a", lines), ("b", shuffled)):
        (tmp_path / f"{name}.tsv").write_text("\n".join(["text\tlabel", *rows, ""]), encoding="utf-8")
        assert nbtext("vectorize", f"{name}.tsv", "-o", f"{name}.npz", cwd=tmp_path).status == 0
    said = {
        nbtext("train", source, "-o", f"{source}.joblib", cwd=tmp_path).err
        for source in ("a.tsv", "a.npz", "b.tsv", "b.npz")
    }
    assert len(said) == 1, said


def test_negative_idf_is_refused(nbtext: Any, tmp_path: Path) -> None:
    """A word in every document makes `--idf plus-one` negative; training says so instead of running for ever."""
    (tmp_path / "a.tsv").write_text(
        "text\tlabel\nred one\ta\nred two\tb\nred three\ta\nred four\tb\n", encoding="utf-8"
    )
    result = nbtext("train", "a.tsv", "--idf", "plus-one", "-o", "m.joblib", cwd=tmp_path)
    assert result.status == 1
    assert "multinomial needs weights >= 0" in result.err

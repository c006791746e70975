"""The retained sample of a model is in its file, if one was asked for."""

from pathlib import Path

import numpy as np
import pytest
from stored import load

from nbtext import TextClassifier, load_model, save_model

TEXTS = ["red round leaf", "green round", "yellow long", "yellow curved long", "straße", "x1 x1"]
LABELS = ["apple", "apple", "banana", "banana", "city\n", "city\n"]


@pytest.mark.parametrize("keep", [1, 4, 6, 100])
def test_round_trip(keep: int, tmp_path: Path) -> None:
    """A loaded model has the sample that was saved, and saves as the same bytes."""
    first = str(tmp_path / "first")
    second = str(tmp_path / "second")
    classifier = TextClassifier(keep_sample=keep).fit(TEXTS, LABELS)
    save_model(classifier, first)
    model = load_model(first)
    for name in ("indptr", "indices", "counts", "classes", "hashes"):
        expected, found = (getattr(each.counts_.sample, name) for each in (classifier, model))
        assert expected.dtype == found.dtype
        np.testing.assert_array_equal(expected, found)
    save_model(model, second)
    assert Path(first).read_bytes() == Path(second).read_bytes()


def test_no_sample_is_saved_by_default(tmp_path: Path) -> None:
    """A model file contains no sample unless one was asked for."""
    save_model(TextClassifier().fit(TEXTS, LABELS), str(tmp_path / "m"))
    assert "sample" not in load(tmp_path / "m")["counts"]

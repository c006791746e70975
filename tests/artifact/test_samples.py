"""The retained sample of a model is checked when it is used, and refused if it is invalid."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored import change, load, put, remove

from nbtext import TextClassifier, load_model, save_model
from nbtext.errors import ArtifactError

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


WRONG: list[tuple[str, str, Any]] = [
    ("counts.sample.hashes", "counts.sample.hashes", np.zeros(6)),
    ("counts.sample.hashes", "counts.sample.hashes", np.arange(6, dtype=np.uint64)[::-1]),
    ("counts.sample.classes", "counts.sample.classes", np.full(6, 3, dtype=np.uint8)),
    ("counts.sample", "counts.sample.classes", np.zeros(5, dtype=np.uint8)),
    ("counts.sample.indices", "counts.sample.indptr", np.zeros(7, dtype=np.uint8)),
    ("counts.sample.indices", "counts.sample.indices", np.full(12, 200, dtype=np.uint8)),
    ("counts.sample.counts", "counts.sample.counts", np.zeros(12, dtype=np.uint8)),
    ("counts.sample", "counts.sample.counts", np.full(12, 9, dtype=np.uint8)),
    ("counts.sample", "counts.sample.classes", np.zeros(6, dtype=np.uint8)),
    ("counts.below", "counts.below", -1),
    ("counts.below", "counts.below", 1.5),
    ("counts.sample.surprise", "counts.sample.surprise", 1),
]


@pytest.mark.parametrize(
    ("key", "name", "value"), WRONG, ids=[f"{key}-{n}" for n, (key, _, _) in enumerate(WRONG)]
)
def test_an_invalid_sample_is_refused(key: str, name: str, value: Any, tmp_path: Path) -> None:
    """An invalid sample is refused in a line that names the file and the key."""
    path = str(tmp_path / "m")
    save_model(TextClassifier(keep_sample=6).fit(TEXTS, LABELS), path)
    change(path, put(name, value))
    with pytest.raises(ArtifactError) as refusal:
        load_model(path).partial_fit(["red"], ["apple"])
    assert path in str(refusal.value)
    assert f'"{key}"' in str(refusal.value)


@pytest.mark.parametrize("keep", [None, 6])
def test_a_sample_where_none_is_kept(keep: int | None, tmp_path: Path) -> None:
    """A sample without the setting, or the setting without a sample, is refused at once."""
    path = str(tmp_path / "m")
    other = str(tmp_path / "other")
    save_model(TextClassifier(keep_sample=keep).fit(TEXTS, LABELS), path)
    save_model(TextClassifier(keep_sample=6 if keep is None else None).fit(TEXTS, LABELS), other)
    sample = load(other)["counts"].get("sample")
    change(path, remove("counts.sample") if sample is None else put("counts.sample", sample))
    with pytest.raises(ArtifactError, match=r'"counts\.sample"'):
        load_model(path)

"""Labels have at most 1,000 characters each, and their number is not limited."""

from pathlib import Path

import pytest

from nbtext import TextClassifier, load_model, save_model
from nbtext.artifact.record import MAX_TUPLE_VALUES
from nbtext.errors import InputError


def test_a_long_label_is_refused_by_the_library() -> None:
    """The library refuses a label of 1,001 characters in training and in growth."""
    with pytest.raises(InputError, match="10,000,000 characters"):
        TextClassifier().fit(["red", "green"], ["a", "b" * 10_000_000])
    with pytest.raises(InputError, match="1,001 characters"):
        TextClassifier().fit(["red", "green"], ["a", "b"]).partial_fit(["blue"], ["c" * 1001])


def test_weights_of_many_labels(tmp_path: Path) -> None:
    """A long list of pairs of a label and its weight is stored, too."""
    labels = [f"l{number}" for number in range(MAX_TUPLE_VALUES + 1)]
    weights = {label: 1.0 + place for place, label in enumerate(labels)}
    trained = TextClassifier(
        model="multinomial", smoothing=1.0, calibrate=False, class_weight=weights
    )
    save_model(
        trained.fit([f"w{number} more" for number in range(len(labels))], labels), tmp_path / "m"
    )
    assert (
        load_model(tmp_path / "m").get_params()["class_weight"]
        == trained.get_params()["class_weight"]
    )

"""Labels have at most 1,000 characters each, and their number is not limited."""

import subprocess
import sys
from pathlib import Path

import pytest

from nbtext import TextClassifier, load_model, save_model
from nbtext.artifact.record import MAX_TUPLE_VALUES
from nbtext.errors import InputError


def run(*arguments: str, text: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nbtext", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


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


@pytest.mark.exhaustive
def test_as_many_labels_as_documents(tmp_path: Path) -> None:
    """A model of 310,000 labels, more than the values that a model file may hold, can be trained,
    saved, loaded and used.
    """
    path = str(tmp_path / "m")
    lines = "".join(f"__label__{number} w{number % 5000} more\n" for number in range(310_000))
    trained = run(
        "train",
        "-",
        "--input-format",
        "fasttext",
        "--no-calibrate",
        "--smoothing",
        "1",
        "-o",
        path,
        text=lines,
    )
    assert trained.returncode == 0, trained.stderr
    assert len(load_model(path).classes_) == 310_000
    answered = run("predict", "-", "-m", path, text="w7 more\n")
    assert answered.returncode == 0, answered.stderr
    assert int(answered.stdout.split("\t")[1]) % 5000 == 7

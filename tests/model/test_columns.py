"""Columns of texts and labels of any kind, and parameters, as scikit-learn gives them."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nbtext.errors import InputError
from nbtext.text_classifier import TextClassifier

TEXTS = [
    "red round fruit",
    "yellow long fruit",
    "round green fruit",
    "long yellow thing",
    "red thing",
    "long thing",
]
FRUITS = ["apple", "banana", "apple", "banana", "apple", "banana"]


@pytest.mark.parametrize(
    "column", [list, np.array, pd.Series, pl.Series, lambda values: pd.Series(values, dtype="str")]
)
def test_columns_of_any_kind(column: Any) -> None:
    """Lists, arrays, and columns of pandas and polars are texts and labels alike."""
    classifier = TextClassifier(smoothing=1.0).fit(column(TEXTS), column(FRUITS))
    assert classifier.predict(column(["red round"])).tolist() == ["apple"]
    assert classifier.score(column(TEXTS), column(FRUITS)) == 1


@pytest.mark.parametrize(
    ("texts", "labels", "says"),
    [
        ("a text", ["x"], "one text was given; give a list of texts"),
        (
            pd.DataFrame({"text": TEXTS}),
            FRUITS,
            "a table was given; give its column of texts, as in table['text']",
        ),
        (
            pl.DataFrame({"text": TEXTS}),
            FRUITS,
            "a table was given; give its column of texts, as in table['text']",
        ),
        (
            pd.Series(["a", None]),
            ["x", "y"],
            "text 1 is missing; leave out documents without a text",
        ),
        (["ab", 7], ["x", "y"], "text 1 is int, not str"),
        (["ab", "cd"], ["x", None], "label 1 is missing; leave out documents without a label"),
        (["ab", "cd"], ["x"], "2 texts and 1 label differ in number"),
    ],
)
def test_what_is_no_column(texts: Any, labels: Any, says: str) -> None:
    """One line says what it is instead."""
    with pytest.raises(InputError) as caught:
        TextClassifier().fit(texts, labels)
    assert str(caught.value) == says


def test_parameters_are_refused_as_scikit_learn_does() -> None:
    """By a TypeError of the constructor, and by a ValueError of set_params, which names the
    parameter.
    """
    with pytest.raises(TypeError, match="mindf"):
        TextClassifier(mindf=2)
    with pytest.raises(ValueError, match="Invalid parameter 'mindf'"):
        TextClassifier().set_params(mindf=2)

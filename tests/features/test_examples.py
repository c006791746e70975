"""The examples in the docstrings of this room."""

import doctest
from types import ModuleType

import pytest

from nbtext.features import analyzer, vectorizer


@pytest.mark.parametrize("module", [analyzer, vectorizer])
def test_examples_give_what_they_show(module: ModuleType) -> None:
    """Each runs, and prints what stands below it."""
    results = doctest.testmod(module)
    assert (results.failed, results.attempted > 0) == (0, True)

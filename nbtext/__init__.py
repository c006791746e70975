"""nbtext: a command-line text classifier, and the same as a library.

>>> from nbtext import TextClassifier
>>> texts = ["a hole in the road", "the bins overflow"]
>>> TextClassifier().fit(texts, ["streets", "trash"]).predict(["bins"]).tolist()
['trash']
"""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = ["TextClassifier", "Vectorizer", "__version__", "load_model", "save_model"]

_HOMES = {  # imported when they are asked for: the command line starts without NumPy
    "TextClassifier": "nbtext.text_classifier",
    "Vectorizer": "nbtext.features.vectorizer",
}

if TYPE_CHECKING:
    from nbtext.features.vectorizer import Vectorizer
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.text_classifier import TextClassifier
else:

    def __getattr__(name: str) -> object:
        """What stands in another file, from there (PEP 562)."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        """Its own names, and those of other files."""
        return sorted({*globals(), *__all__})


def load_model(path: str | PathLike[str]) -> TextClassifier:
    """Return the classifier of a model file; see `TextClassifier.load`."""
    from nbtext.text_classifier import TextClassifier

    return TextClassifier.load(path)


def save_model(classifier: TextClassifier | TrainedModel, path: str | PathLike[str]) -> None:
    """Write a classifier, or a model such as `from_sklearn` returns, to a file; see
    `TextClassifier.save`.
    """
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.text_classifier import TextClassifier

    if not isinstance(classifier, TextClassifier | TrainedModel):
        raise TypeError(
            f"save_model takes a TextClassifier, then a path; the first is {type(classifier).__name__}"
        )
    (
        TextClassifier.from_model(classifier)
        if isinstance(classifier, TrainedModel)
        else classifier
    ).save(path)

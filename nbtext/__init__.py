"""nbtext: a command-line text classifier, and the same as a library.

>>> from nbtext import TextClassifier
>>> TextClassifier().fit(["a hole in the road", "the bins overflow"], ["streets", "trash"]).predict(["bins"]).tolist()
['trash']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = ["TextClassifier", "Vectorizer", "__version__", "load_model", "save_model"]

_HOMES = {  # imported when they are asked for: the command line starts without NumPy
    "TextClassifier": "nbtext.text_classifier",
    "Vectorizer": "nbtext.features.vectorizer",
    "load_model": "nbtext.text_classifier",
    "save_model": "nbtext.text_classifier",
}

if TYPE_CHECKING:
    from nbtext.features.vectorizer import Vectorizer
    from nbtext.text_classifier import TextClassifier, load_model, save_model
else:

    def __getattr__(name: str) -> object:
        """What stands in another file, from there (PEP 562)."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        """Its own names, and those of other files."""
        return sorted({*globals(), *__all__})

"""Models for, and from, programs that know nothing of nbtext."""

from nbtext.export.sklearn_pipeline import from_sklearn

__all__ = ["from_sklearn"]

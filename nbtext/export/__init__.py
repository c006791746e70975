"""Models for, and from, other programs."""

from nbtext.export.sklearn_pipeline import from_sklearn

__all__ = ["from_sklearn"]

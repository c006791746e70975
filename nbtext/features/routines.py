"""The functions over plain arrays: the compiled kernel's where it is there, else their twins in plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.features.availability import HAS_KERNEL

if TYPE_CHECKING or not HAS_KERNEL:  # of the same types, as _kernel.pyi says
    from nbtext.features import twins as routines
else:
    from nbtext.features import _kernel as routines

__all__ = ["routines"]

"""Whether the kernel is there. No NumPy is imported here, so that `nbtext --version` starts at once.

The environment variable NBTEXT_KERNEL says `off` to do without it, `require` to refuse to go on without it.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

from nbtext.errors import SettingsError


def _has_kernel(wish: str) -> bool:
    if wish == "off":
        return False
    is_there = find_spec("nbtext.features._kernel") is not None
    if wish == "require" and not is_there:
        raise SettingsError(
            "the kernel is not compiled", where="NBTEXT_KERNEL=require", hint="install nbtext where a C compiler is"
        )
    return is_there


HAS_KERNEL = _has_kernel(os.environ.get("NBTEXT_KERNEL", ""))


def kernel_name() -> str:
    """What does the counting, in the words of `nbtext --version`."""
    return "compiled" if HAS_KERNEL else "pure Python (slower)"

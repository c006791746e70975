"""The choice between the compiled kernel and its plain Python version.

The kernel is a few Cython modules (`_counting.pyx`, `_rows.pyx`, and others in the layers that need them), which share
the `.pxd` files of this folder. Installing nbtext without a C compiler leaves them out.

With the environment variable NBTEXT_KERNEL=off, nbtext uses plain Python; with `require`, it stops without a kernel.
This file does not import NumPy, so that `nbtext --version` starts at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TypeVar, cast

from nbtext.errors import SettingsError

Function = TypeVar("Function", bound=Callable[..., object])


def _has_kernel(wish: str) -> bool:
    if wish not in ("", "off", "require"):
        raise SettingsError(f"unknown value {wish!r}", where="NBTEXT_KERNEL", hint="use off or require, or unset it")
    if wish == "off":
        return False
    is_compiled = find_spec("nbtext.features._counting") is not None
    if wish == "require" and not is_compiled:
        raise SettingsError(
            "the compiled kernel (extension modules) is missing",
            where="NBTEXT_KERNEL=require",
            hint="install nbtext again on a system with a C compiler",
        )
    return is_compiled


HAS_KERNEL = _has_kernel(os.environ.get("NBTEXT_KERNEL", ""))
PLAIN_VERSIONS: dict[str, Callable[..., object]] = {}  # by name, for the tests


def kernel_name() -> str:
    """Return the name of the version in use, as `nbtext --version` prints it."""
    return "compiled" if HAS_KERNEL else "pure Python (slower)"


def choose_version(plain: Function, module: str) -> Function:
    """Return the function of the same name in a compiled module, or the plain one if the kernel is not used."""
    PLAIN_VERSIONS[plain.__name__] = plain
    return cast(Function, getattr(import_module(module), plain.__name__)) if HAS_KERNEL else plain

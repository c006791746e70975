"""The choice between the compiled kernel and its plain Python version.

The kernel is one extension module, `nbtext._kernel`. Installing nbtext without a C compiler leaves
it out.

With the environment variable NBTEXT_KERNEL=off, nbtext uses plain Python; with `require`, it stops
without a kernel. This file does not import NumPy, so that `nbtext --version` starts at once.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from typing import TypeVar, cast

from nbtext.errors import KernelWarning, SettingsError

Function = TypeVar("Function", bound=Callable[..., object])
MODULE = "nbtext._kernel"
WISHES = ("", "off", "require")
INSTALL = "install nbtext again where there is a C compiler (GCC or Clang)"


def _is_compiled() -> bool:
    """Return whether there is a file of the extension module. It is not imported, which would take
    time.
    """
    if MODULE in sys.modules:
        return sys.modules[MODULE] is not None
    stem = os.path.join(os.path.dirname(__file__), "_kernel")
    return any(os.path.isfile(stem + suffix) for suffix in EXTENSION_SUFFIXES)


def _why_plain(wish: str) -> str:
    """Return why the kernel is not used; empty if it is."""
    if wish not in WISHES:
        raise SettingsError(
            f"unknown value {wish!r}", where="NBTEXT_KERNEL", hint="use off or require, or unset it"
        )
    if wish == "off":
        return "switched off by NBTEXT_KERNEL"
    if _is_compiled():
        return ""
    if wish == "require":
        raise SettingsError(
            f"the compiled kernel ({MODULE}) is missing",
            where="NBTEXT_KERNEL=require",
            hint=INSTALL,
        )
    return "missing"


WHY_PLAIN = _why_plain(os.environ.get("NBTEXT_KERNEL", ""))
HAS_KERNEL = not WHY_PLAIN
PLAIN_VERSIONS: dict[str, Callable[..., object]] = {}  # by name, for the tests


def kernel_name() -> str:
    """Return the name of the version in use, as `nbtext --version` prints it."""
    return "compiled" if HAS_KERNEL else f"pure Python (slower); the compiled kernel is {WHY_PLAIN}"


def warn_if_missing() -> None:
    """Warn that the work takes longer because the kernel is missing, unless that is wanted."""
    if WHY_PLAIN == "missing":
        message = f"the compiled kernel is {WHY_PLAIN}; pure Python takes several times as long; {INSTALL}"
        warnings.warn(message, KernelWarning, stacklevel=3)


def choose_version(plain: Function) -> Function:
    """Return the function of the same name in the kernel, or the plain one if the kernel is not
    used.
    """
    PLAIN_VERSIONS[plain.__name__] = plain
    return cast(Function, getattr(import_module(MODULE), plain.__name__)) if HAS_KERNEL else plain

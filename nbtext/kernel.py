"""The choice between the compiled kernel and its plain Python version.

The kernel is a few Cython modules, in the layers that need them. It is complete, or it is not used: installing nbtext
without a C compiler leaves it out, and a build that lacks one of the modules is like one that lacks all.

With the environment variable NBTEXT_KERNEL=off, nbtext uses plain Python; with `require`, it stops without a kernel.
This file does not import NumPy, so that `nbtext --version` starts at once.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TypeVar, cast

from nbtext.errors import KernelWarning, SettingsError

Function = TypeVar("Function", bound=Callable[..., object])
MODULES = (  # as in pyproject.toml
    "nbtext._shared",
    "nbtext.documents._files",
    "nbtext.documents._lines",
    "nbtext.features._rows",
    "nbtext.features._counting",
    "nbtext.bayes._products",
    "nbtext.bayes._statistics",
    "nbtext.linear._solvers",
)
WISHES = ("", "off", "require")
INSTALL = "install nbtext again where there is a C compiler (GCC or Clang)"


def _is_compiled(module: str) -> bool:
    """Return whether there is a file of an extension module. Its package is not imported, which would take time."""
    if module in sys.modules:
        return sys.modules[module] is not None
    path = Path(__file__).parents[1].joinpath(*module.split("."))
    return any(path.with_name(path.name + suffix).is_file() for suffix in EXTENSION_SUFFIXES)


def _why_plain(wish: str) -> str:
    """Return why the kernel is not used; empty if it is."""
    if wish not in WISHES:
        raise SettingsError(f"unknown value {wish!r}", where="NBTEXT_KERNEL", hint="use off or require, or unset it")
    if wish == "off":
        return "switched off by NBTEXT_KERNEL"
    missing = [module for module in MODULES if not _is_compiled(module)]
    why = f"missing: {', '.join(missing)}" if 0 < len(missing) < len(MODULES) else "missing" * bool(missing)
    if wish == "require" and why:
        what = f"the compiled kernel (extension modules) is {why}"
        raise SettingsError(what, where="NBTEXT_KERNEL=require", hint=INSTALL)
    return why


WHY_PLAIN = _why_plain(os.environ.get("NBTEXT_KERNEL", ""))
HAS_KERNEL = not WHY_PLAIN
PLAIN_VERSIONS: dict[str, Callable[..., object]] = {}  # by name, for the tests


def kernel_name() -> str:
    """Return the name of the version in use, as `nbtext --version` prints it."""
    return "compiled" if HAS_KERNEL else f"pure Python (slower); the compiled kernel is {WHY_PLAIN}"


def warn_if_missing() -> None:
    """Warn that the work takes longer because the kernel is missing, unless that is wanted."""
    if WHY_PLAIN.startswith("missing"):
        message = f"the compiled kernel is {WHY_PLAIN}; pure Python takes several times as long; {INSTALL}"
        warnings.warn(message, KernelWarning, stacklevel=3)


def choose_version(plain: Function, module: str) -> Function:
    """Return the function of the same name in a compiled module, or the plain one if the kernel is not used."""
    PLAIN_VERSIONS[plain.__name__] = plain
    return cast(Function, getattr(import_module(module), plain.__name__)) if HAS_KERNEL else plain

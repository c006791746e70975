"""The few names that an artifact may mention. None of them is ever looked up or called: each stands for itself."""

from __future__ import annotations

from nbtext.artifact import refusals


class Token:
    """A name that is known, and what is known of it is only the name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


NDARRAY = Token("numpy.ndarray")
DTYPE = Token("numpy.dtype")
WRAPPER = Token("joblib.numpy_pickle.NumpyArrayWrapper")
OBJECT = Token("builtins.object")
RECONSTRUCT = Token("copyreg._reconstructor")

_TOKENS = {
    ("numpy", "ndarray"): NDARRAY,
    ("numpy", "dtype"): DTYPE,
    ("joblib.numpy_pickle", "NumpyArrayWrapper"): WRAPPER,
    # protocols 0 and 1 spell the making of an object as a call
    ("__builtin__", "object"): OBJECT,
    ("copy_reg", "_reconstructor"): RECONSTRUCT,
}


def token(module: str, name: str) -> Token:
    """The token of a name; ArtifactError for every name that plain data does not need."""
    try:
        return _TOKENS[module, name]
    except KeyError:
        raise refusals.code(f"{module}.{name}") from None


def is_exactly(found: object, wanted: tuple[object, ...]) -> bool:
    """Whether a tuple holds these very values of these very types (so True is not 1, and no array is compared)."""
    return (
        type(found) is tuple
        and len(found) == len(wanted)
        and all(type(a) is type(b) and a == b for a, b in zip(found, wanted, strict=True))
    )

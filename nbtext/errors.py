"""The errors that a user can cause, with their exit codes.

    NbtextError            exit 1
    ├── InputError         a document, a source or a matrix that cannot be used
    ├── ArtifactError      a model file that cannot be used
    ├── ModelError         class statistics to which no model can be fitted
    ├── OutputError        a result that cannot be written
    ├── ClusterError       a cluster that cannot be reached, or whose workers fail
    ├── MissingExtra       an optional library that is not installed
    ├── SettingsError      exit 2: options that are wrong, alone or together
    └── BelowThreshold     exit 3: a metric is below its threshold of --fail-under

The message of each is one line: the place, what is wrong, and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Self

# in messages of errors
OUT_OF_MEMORY = ("failed to map segment", "can't start new thread", "Cannot allocate memory")


def find_memory_limit() -> int | None:
    """Return how many bytes of address space this process may use; None if there is no limit, or
    none is known.
    """
    try:
        import resource
    except ImportError:  # Windows
        return None
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min([limit for limit in limits if limit != resource.RLIM_INFINITY], default=None)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that memory was lacking.

    Where Python has no memory for a MemoryError, it raises SystemError, which without a limit is a
    defect of a program.
    """
    if isinstance(error, SystemError):
        return find_memory_limit() is not None
    return isinstance(error, MemoryError) or any(sign in str(error) for sign in OUT_OF_MEMORY)


def _url_parts(beyond: str) -> str:
    """Match what follows `://` in a URL, up to a character of `beyond`; its group may be shown."""
    user = rf"[^/?#{beyond}]*@"
    # a password with a slash, unlike a port
    user_of_database = rf"[^/?#:@\[{beyond}]+:(?!\d+(?:[/?#]|$))[^{beyond}]*@"
    return rf"(?<=://)(?:{user}|{user_of_database})?([^?#{beyond}]*)(?:[?#][^{beyond}]*(?<![,;:]))?"


# compiled when they are needed, because each command imports this module
URL = _url_parts(r"\n")
URL_IN_TEXT = _url_parts(r"\s'\"")


def hide_credentials(text: str, *, is_source: bool = False) -> str:
    """Return a text for people: URLs without their users, passwords, queries and fragments.

    is_source  whether the text is a SOURCE, not a text with URLs in it
    """
    if "://" not in text:
        return text
    return re.sub(URL if is_source else URL_IN_TEXT, r"\1", text)


def printable(text: str) -> str:
    """Return the text on one line, with control and other unprintable characters escaped."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii")
        for c in text
    )


def number_of(number: int | float, noun: str) -> str:
    """Return a number and its noun, such as `1 document` or `2,000 documents`."""
    text = format_number(number)
    return f"{text} {noun}" if number == 1 else f"{text} {noun}s"


def format_number(number: int | float) -> str:
    """Return a number as text, such as `2,000`; a float has six significant digits."""
    return f"{number:,.6g}" if isinstance(number, float) else f"{number:,}"


def list_some(names: Iterable[str], most: int = 10, separator: str = ", ") -> str:
    """Return the first names, with a mark at the end if there are more."""
    found = list(names)
    return separator.join([*found[:most], *(["…"] if len(found) > most else [])])


def suggest(name: str, names: Sequence[str]) -> str:
    """Return the hint of an error about a name that does not exist: the most similar one, or those
    that there are.
    """
    from difflib import get_close_matches

    nearest = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {nearest[0]}?" if nearest else f"there are {list_some(names, 30)}"


def reason_of(error: Exception) -> str:
    """Return what the system says of an error, for the middle of a sentence."""
    return str(getattr(error, "strerror", None) or error).lower()


class NbtextError(Exception):
    """An error that the user can correct.

    Attributes
    ----------
    what : str
        What is wrong, and what was expected.
    where : str
        The file, with the line if it is known (`path:17`), or the setting; "" if there is none.
    hint : str
        What to do; "" if `what` says it.
    spell : callable
        How the message calls a setting that stands in it as ‹name› or ‹name=value›: so in Python,
        and on the command line by its option.
    """

    exit_code = 1
    spell: Callable[[str], str] = str

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def locate(self, where: str) -> Self:
        """Set `where`, unless the error has a place already, and return the error."""
        self.where = self.where or where
        return self

    def __str__(self) -> str:
        located = f"{self.where}: {self.what}" if self.where else self.what
        text = f"{located}; {self.hint}" if self.hint else located
        named = re.sub(r"‹([^›]*)›", lambda found: self.spell(found[1]), text)
        return printable(hide_credentials(named))


class InputError(NbtextError):
    """A document, a source or a matrix that cannot be used."""


class ArtifactError(NbtextError):
    """A model file that cannot be used."""


class ModelError(NbtextError):
    """Class statistics to which no model can be fitted."""


class OutputError(NbtextError):
    """A result that cannot be written."""


class ClusterError(NbtextError):
    """A cluster that cannot be reached, or whose workers fail."""


class MissingExtra(NbtextError):
    """An optional library that is not installed."""

    def __init__(self, feature: str, *, library: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs {library}", hint=f"install it with: pip install 'nbtext[{extra}]'"
        )


class SettingsError(NbtextError):
    """Options that are wrong, alone or together."""

    exit_code = 2


class NbtextWarning(UserWarning):
    """A problem that does not stop the command. The command line prints each category once."""


class AssumptionWarning(NbtextWarning):
    """What was assumed about a file or an option, or left out of the program, which may be meant
    otherwise.
    """


class KernelWarning(NbtextWarning):
    """The compiled kernel is missing, so that the work takes longer."""


class ConvergenceWarning(NbtextWarning):
    """An optimizer stopped before it met its tolerance."""


class BelowThreshold(NbtextError):
    """A metric is below its threshold of --fail-under."""

    exit_code = 3


def require_label(label: str, labels: Sequence[str], where: str = "") -> None:
    """Raise SettingsError if a model of these labels does not have one that a setting names."""
    if label not in labels:
        raise SettingsError(
            f"the model has no label {label!r}", where=where, hint=suggest(label, labels)
        )

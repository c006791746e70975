"""Lines of bytes, compiled: what `_lines.pyx` gives."""

from collections.abc import Sequence

def count_byte(data: bytes, wanted: int) -> int:
    """How often a byte occurs."""

def scan(
    data: bytes, text_names: Sequence[str], other_names: Sequence[str]
) -> tuple[list[list[str]], list[list[str | None]]] | None:
    """The texts of these keys and the names of those, a list of lines each; None where a line is unusual.

    raises  ValueError: something is no UTF-8
    """

"""The page of formulas names code that there is."""

import re
from functools import reduce
from importlib import import_module
from pathlib import Path

import nbtext

PAGE = Path(nbtext.__file__).parent / "guides" / "mathematics.md"


def test_each_formula_is_computed_where_the_page_says() -> None:
    """Each row of a table ends in the dotted names of functions, methods or classes, and all of
    them exist.
    """
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    rows = [row for row in rows if not row.endswith("| computed by |")]
    assert len(rows) > 25
    for row in rows:
        names = re.findall(r"`([\w.]+)`", re.split(r"(?<!\\)\|", row)[-2])
        assert names, row
        for name in names:
            assert callable(found(name)), name


def found(name: str) -> object:
    """What a dotted name below nbtext means: a file of a room, and what is in it."""
    is_application = name.startswith("applications.")
    *module, rest = name.split(".", 3 if is_application else 2)
    return reduce(getattr, rest.split("."), import_module(".".join(("nbtext", *module))))

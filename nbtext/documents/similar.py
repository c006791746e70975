"""The path that was meant by one that does not exist."""

from __future__ import annotations

import os
from difflib import get_close_matches
from itertools import islice

MOST_ENTRIES = 1000  # of a folder, that are looked at


def is_broken_link(path: str) -> bool:
    """Whether the path is a symbolic link to something that does not exist."""
    return os.path.islink(path) and not os.path.exists(path)


def similar_path(path: str) -> str | None:
    """The path of a like name in the same folder; None where there is none."""
    folder, name = os.path.split(path.rstrip(os.sep))
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry in islice(entries, MOST_ENTRIES) if entry.name != name]
    except OSError:
        return None
    nearest = get_close_matches(name, sorted(names), n=1, cutoff=0.7)
    return os.path.join(folder, nearest[0]) if nearest else None

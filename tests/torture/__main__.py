"""The reliability figures of nbtext.

python tests/torture           all of them, as a table
python tests/torture kills N   commands killed at N moments each and at each step of writing, as JSON
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import kills


def main(what: str = "all", number: str = "0") -> int:
    """Measure what is asked."""
    with tempfile.TemporaryDirectory() as folder:
        if what == "kills":
            print(json.dumps(kills.killed(Path(folder), int(number))))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

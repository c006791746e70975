"""The lowest versions that pyproject.toml allows of what nbtext, its tests and its building need,
for pip.

    python tests/release/lowest.py > requirements.txt

Of the extras there are those that the extra `dev` brings along, and of its tools those that run the
tests.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
TESTERS = ("hypothesis", "pytest")


def lowest(pyproject: dict[str, Any]) -> list[str]:
    """A line `name==version` for each requirement `name>=version`."""
    project = pyproject["project"]
    extras = pyproject["project"]["optional-dependencies"]
    (own,) = (line for line in extras["dev"] if line.startswith("nbtext["))
    names = re.findall(r"\w+", own.partition("[")[2])
    tools = [line for line in extras["dev"] if line.startswith(TESTERS)]
    needed = [*pyproject["build-system"]["requires"], *project["dependencies"], *tools]
    return [pinned(line) for line in needed + [line for name in names for line in extras[name]]]


def pinned(requirement: str) -> str:
    """The lowest version that a requirement allows, and it has to have one."""
    found = re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement)
    if found is None:
        raise ValueError(
            f"pyproject.toml: {requirement!r} has no lowest version; write name>=version"
        )
    return f"{found[1]}=={found[2]}"


if __name__ == "__main__":
    sys.stdout.write("\n".join(lowest(tomllib.loads(PYPROJECT.read_text()))) + "\n")

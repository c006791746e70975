"""Every console block of the documentation does what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PAGES = ["README.md"]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def steps(block: str) -> list[tuple[str, str]]:
    """The commands of a block (`$ ` begins one, `> ` goes on with it), each with the output that it shows."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif line.startswith("> ") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", "")
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def run(command: str, folder: Path) -> str:
    """What a shell prints for a command, on both outputs, in the order in which it comes."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    return done.stdout.decode()


@pytest.mark.parametrize("page", PAGES)
def test_console_blocks(page: str, tmp_path: Path) -> None:
    """The commands of a page, run one after the other in an empty folder beside the corpora, print what it shows."""
    (tmp_path / "corpora").symlink_to(TOP / "corpora")
    blocks = BLOCK.findall((TOP / page).read_text(encoding="utf-8"))
    assert blocks
    for command, expected in (step for block in blocks for step in steps(block)):
        printed = run(command, tmp_path)
        visible = "\n".join(line.rstrip() for line in printed.splitlines())
        assert visible == expected.rstrip("\n"), f"{page}: $ {command}\n{printed}"

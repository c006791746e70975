"""The console blocks of a page, run one after the other: `python tests/docs/console.py PAGE...`
writes what they print.

A block of another language after a line that only names a file, as in `Makefile`: with a colon, is
that file.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parents[2]
BLOCK = re.compile(r"(?:^`([^`\n]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def steps(block: str) -> list[tuple[str, str]]:
    """Return the commands of a console block (`$ ` begins one, `> ` continues it), each with the
    output that the page shows.
    """
    found: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif line.startswith("> ") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", "")
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def printed(
    command: str, folder: Path, groups: list[int] | None = None, programs: Path | None = None
) -> str:
    """What a shell prints for a command, on both outputs, as it comes; no blanks at ends of lines.

    groups    gets the process group of the command, in which it may have left something running
    programs  the folder of the programs that are used first
    """
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
        "PATH": os.pathsep.join(
            map(str, filter(None, (programs, Path(sys.executable).parent, os.environ["PATH"])))
        ),
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
    }
    with subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        if groups is not None:
            groups.append(process.pid)
        try:
            output, _ = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return "".join(f"{line.rstrip()}\n" for line in output.decode().rstrip("\n").splitlines())


def played(page: str, folder: Path, programs: Path | None = None) -> Iterator[tuple[str, str, str]]:
    """Run each command of a page in a folder beside the corpora; return it with the shown and the
    actual output.
    """
    (folder / "corpora").symlink_to(TOP / "corpora")
    groups: list[int] = []
    try:
        for name, language, text in BLOCK.findall(page):
            if name:
                (folder / name).write_text(text, encoding="utf-8")
            elif language == "console":
                for command, shown in steps(text):
                    output = printed(command, folder, groups, programs)
                    yield command, shown.rstrip("\n") + "\n" if shown.strip() else "", output
    finally:
        # a service that a block started, and that a failure has kept from being ended
        for group in groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


def recorded(page: str, folder: Path) -> str:
    """Return the page with the actual output of its commands."""
    answers = (
        f"$ {command}\n".replace("\n", "\n> ")[:-2] + out
        for command, _, out in played(page, folder)
    )

    def block(found: re.Match[str]) -> str:
        if found[2] != "console" or found[1]:
            return found[0]
        return "```console\n" + "".join(next(answers) for _ in steps(found[3])) + "```"

    return BLOCK.sub(block, page)


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as scratch:
            path.write_text(
                recorded(path.read_text(encoding="utf-8"), Path(scratch)), encoding="utf-8"
            )

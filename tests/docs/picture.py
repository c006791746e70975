"""Draw the terminal of the README: a few commands, run for real in a terminal of 84 columns.

python tests/docs/picture.py    writes terminal.svg beside this file
"""

import io
import os
import pty
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

HERE = Path(__file__).parent
TOP = HERE.parents[1]
WIDTH = 84
COMMANDS = (
    "nbtext train letters/train -o letters.joblib",
    "nbtext evaluate letters/test -m letters.joblib",
    "echo 'My neighbour drills all night' | nbtext explain - -m letters.joblib",
)
# rich's own, less the fonts that it would fetch from another host
FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>nbtext in a terminal</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
  <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def picture() -> str:
    """The drawing, the same for the same output of the commands."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "letters").symlink_to(TOP / "corpora" / "letters")
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "bold green"), (command, "bold")), soft_wrap=True)
            console.print(Text.from_ansi(shown(command, folder).rstrip()))
    return console.export_svg(title="nbtext", theme=MONOKAI, code_format=FORMAT, unique_id="nbtext")


def shown(command: str, folder: str) -> str:
    """What a shell command shows on a terminal."""
    main, side = pty.openpty()
    environment = {
        **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
        "COLUMNS": str(WIDTH),
        "TERM": "xterm-256color",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    nbtext = f"{shlex.quote(sys.executable)} -m nbtext"
    # the bar, which is shown if messages go to a terminal, vanishes, which no picture can show
    line = f'nbtext() {{ {{ {nbtext} "$@" 2>&1 >&3 | cat; }} 3>&1; }}; {command}'
    with subprocess.Popen(
        ["sh", "-c", line], cwd=folder, env=environment, stdin=side, stdout=side, stderr=side
    ) as process:
        os.close(side)
        seen = b""
        while piece := _read(main):
            seen += piece
        process.wait()
    os.close(main)
    return seen.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other side is closed
        return b""


if __name__ == "__main__":
    Path(*sys.argv[1:2] or [HERE / "terminal.svg"]).write_text(picture(), encoding="utf-8")

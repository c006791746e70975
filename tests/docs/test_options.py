"""Each option that a page, a help text or a message names exists, in the command that is named
with it.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

import nbtext
from nbtext.cli.main import cli

PACKAGE = Path(nbtext.__file__).parent
PAGES = [
    PACKAGE.parent / "README.md",
    *sorted((PACKAGE / "guides").glob("*.md")),
    *sorted(PACKAGE.glob("*/README.md")),
    *sorted((PACKAGE / "applications").glob("*/README.md")),
]
OPTION = r"(?<![\w-])--[a-z][a-z-]*[a-z]"
COMMANDS = frozenset(cli.list_commands(click.Context(cli)))
NAMED = re.compile(rf"nbtext ({'|'.join(sorted(COMMANDS))})\\b((?: [^|;:,.()`&]*)?)")
# of other programs, each after its name
FOREIGN = re.compile(
    r"\b(?:pip|python|git|make|pytest|docker|systemctl|curl|gcc|cc|jq|sqlite3|xz|cron|uvx?|npm|node|mypy|"
    r"tail|podman|hyperfine|ulimit|parallel|tar|fasttext|sort|dask|serve\.py|console\.py|tests/\S+\.py|\S+\.py)\b[^\n]*"
)


@cache
def options_of(name: str) -> frozenset[str]:
    """The options of a command, with those that applications add."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    text = command.get_help(click.Context(command, info_name=name))
    lines = re.findall(r"^ +(?:-\w, )?--.*", text, re.MULTILINE)
    return frozenset(option for line in lines for option in re.findall(OPTION, line))


def wrong_options(text: str) -> Iterator[str]:
    """Yield each option that does not exist, or not in its command."""
    known = frozenset(("--version", "--audit", "--groups", "--no")).union(
        *map(options_of, COMMANDS)
    )
    text = FOREIGN.sub("", text)
    for option in re.findall(OPTION, text):
        if option not in known:
            yield option
    for name, rest in NAMED.findall(text):
        for option in re.findall(OPTION, rest):
            if option not in options_of(name):
                yield f"nbtext {name} {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PACKAGE.parent)))
def test_pages_name_options_that_exist(page: Path) -> None:
    """Also in blocks of commands."""
    assert list(wrong_options(page.read_text().replace("\\\n", " "))) == []


def test_help_texts_and_messages_name_options_that_exist() -> None:
    """All constant texts of the program but for docstrings, and the parts of f-strings."""
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        owner = path.stem if path.stem in COMMANDS else path.parent.name
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                wrong += [(path.name, each) for each in wrong_options(node.value)]
                own = NAMED.sub("", FOREIGN.sub("", node.value))
                if owner in COMMANDS:  # of its command, or how a model is trained for it
                    known = options_of(owner) | options_of("train")
                    wrong += [(owner, each) for each in set(re.findall(OPTION, own)) - known]
    assert wrong == []

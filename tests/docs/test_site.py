"""The documentation site: `make site`."""

import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from nbtext import TextClassifier
from nbtext.cli.command import Option
from nbtext.cli.main import cli

TOP = Path(__file__).parents[2]
pytestmark = pytest.mark.exhaustive
LOADED = re.compile(
    r'<(?:script|img|iframe|source)[^>]* src="([^"]*)"|<link[^>]* rel="stylesheet"[^>]* href="([^"]*)"'
)


def build(target: Path, top: Path = TOP) -> subprocess.CompletedProcess[str]:
    script = top / ".github" / "site" / "build.py"
    return subprocess.run(
        [sys.executable, script, target], capture_output=True, text=True, cwd=top, check=False
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, which is built without a warning: a dead link between pages is one."""
    pytest.importorskip("mkdocstrings")
    target = tmp_path_factory.mktemp("site") / "site"
    done = build(target)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return target


def test_each_option_is_in_the_reference(site: Path) -> None:
    context = click.Context(cli)
    for name in cli.list_commands(context):
        page = (site / "reference" / name / "index.html").read_text(encoding="utf-8")
        command = cli.get_command(context, name)
        assert command is not None
        missing = [
            each.flag
            for each in command.params
            if isinstance(each, Option) and each.flag not in page
        ]
        assert missing == []


def test_each_parameter_is_in_the_python_reference(site: Path) -> None:
    """Each parameter of TextClassifier has a row in the table, and each public method an entry."""
    page = (site / "reference" / "python" / "index.html").read_text(encoding="utf-8")
    text = re.sub(r"<[^>]*>", " ", page)
    for name in inspect.signature(TextClassifier).parameters:
        assert re.search(rf"\s{name}\s", text), name
    for name, _ in inspect.getmembers(TextClassifier, callable):
        assert name.startswith("_") or f"nbtext.TextClassifier.{name}" in page, name


def test_each_page_is_in_the_navigation(site: Path) -> None:
    """Each guide is a page, and the pages of the README's sections have their commands."""
    home = (site / "index.html").read_text(encoding="utf-8")
    for guide in (TOP / "nbtext" / "guides").glob("*.md"):
        assert guide.stem == "README" or f'href="guides/{guide.stem}/"' in home, guide.name
    assert "pip install" in (site / "install" / "index.html").read_text(encoding="utf-8")
    assert "nbtext demo" in re.sub(
        "<[^>]*>", "", (site / "quick-start" / "index.html").read_text(encoding="utf-8")
    )


def test_nothing_is_loaded_from_other_hosts(site: Path) -> None:
    for page in site.rglob("*.html"):
        for found in LOADED.findall(page.read_text(encoding="utf-8")):
            assert not re.match(r"(https?:)?//", "".join(found)), page


def test_a_dead_link_is_an_error(tmp_path: Path) -> None:
    """A link to a heading that does not exist fails the build."""
    pytest.importorskip("mkdocstrings")
    for name in (
        ".github",
        "nbtext",
        "corpora",
        "tests/docs",
        "tests/benchmarks/results",
        "README.md",
        "CHANGELOG.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if (TOP / name).is_dir():
            shutil.copytree(
                TOP / name, tmp_path / name, ignore=shutil.ignore_patterns("*.c", "__pycache__")
            )
        else:
            shutil.copy(TOP / name, tmp_path / name)
    guide = tmp_path / "nbtext" / "guides" / "tour.md"
    guide.write_text(
        guide.read_text(encoding="utf-8") + "\n[nowhere](reference.md#nowhere)\n", encoding="utf-8"
    )
    done = build(tmp_path / "site", tmp_path)
    assert done.returncode != 0
    assert "nowhere" in done.stderr

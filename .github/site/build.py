"""Build the documentation site from the pages of the repository: `python .github/site/build.py
DIR`.

MkDocs needs all pages in one folder. This copies them there, points their links to the copies, and
generates the reference of the commands from their options. The Python reference is generated from
the docstrings (mkdocstrings).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from nbtext.cli.command import SOURCE_HELP, Command
from nbtext.cli.main import COMPLETION, CORE_COMMANDS, cli
from nbtext.registry import group_commands

HERE = Path(__file__).parent
TOP = HERE.parents[1]
GUIDES = "nbtext/guides"
NOT_HOW_TO = (
    "README.md",
    "tour.md",
    "mathematics.md",
    "reference.md",
    "security.md",
    "benchmarks.md",
)
# the page of the site for each file of the repository; the guides are added below
PAGES = {
    "README.md": "index.md",
    "nbtext/README.md": "development/structure.md",
    "nbtext/bayes/README.md": "development/bayes.md",
    "nbtext/model/README.md": "development/model.md",
    "nbtext/cluster/README.md": "development/cluster.md",
    ".github/CONTRIBUTING.md": "development/contributing.md",
    ".github/SECURITY.md": "development/security-policy.md",
    "corpora/README.md": "development/corpora.md",
    "CHANGELOG.md": "development/changes.md",
    **{
        f"{GUIDES}/{path.name}": f"guides/{path.name}"
        for path in sorted((TOP / GUIDES).glob("*.md"))
    },
}
PAGES[f"{GUIDES}/README.md"] = "guides/index.md"
# the sections of the README that become pages of their own
SECTIONS = {"install.md": ("Install",), "quick-start.md": ("Quick start", "Python")}
API = ("nbtext.TextClassifier", "nbtext.Vectorizer", "nbtext.load_model", "nbtext.save_model")
STATUS = (
    ("0", "Success."),
    (
        "1",
        "The input or a model cannot be used, or the output cannot be written; or predict --exit-status answers no.",
    ),
    ("2", "The command line is wrong."),
    ("3", "A metric is worse than its threshold of --fail-under."),
    ("130", "The command was interrupted."),
)
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)((?:#[^)\s]*)?)(?=\))")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)


def write_pages(folder: Path, repository: str) -> None:
    """Write the pages of the site, and the images that they show, to a folder.

    repository  URL of the repository: links to files that are not pages lead there
    """
    for source, page in PAGES.items():
        text = point_links(
            (TOP / source).read_text(encoding="utf-8"), Path(source), page, folder, repository
        )
        if page == "index.md":
            for name, titles in SECTIONS.items():
                found = [take_section(text, title) for title in titles]
                write(folder / name, f"# {titles[0]}\n" + "".join(body for _, body in found))
                for section, _ in found:
                    text = text.replace(section, "")
        write(folder / page, text)
    names = cli.list_commands(click.Context(cli))
    for name in names:
        write(folder / f"reference/{name}.md", "\n".join(describe_command(name)))
    write(folder / "reference/commands.md", "\n".join(describe_commands()))
    write(
        folder / "reference/python.md", "# Python\n\n" + "".join(f"::: {name}\n\n" for name in API)
    )


def point_links(text: str, source: Path, page: str, folder: Path, repository: str) -> str:
    """Return the text of a page with links that are right at its place in the site; copy the images
    that it shows.
    """

    def point(link: re.Match[str]) -> str:
        path, anchor = link.groups()
        target = os.path.normpath(source.parent / path)
        if target in PAGES:
            return os.path.relpath(PAGES[target], Path(page).parent) + anchor
        if target.endswith(".svg"):
            write(folder / "images" / Path(target).name, (TOP / target).read_text(encoding="utf-8"))
            return os.path.relpath(f"images/{Path(target).name}", Path(page).parent)
        kind = "tree" if (TOP / target).is_dir() else "blob"
        return f"{repository}/{kind}/main/{target}{anchor}"

    parts = CODE.split(text)  # code is at the odd places
    return "".join(part if n % 2 else LINK.sub(point, part) for n, part in enumerate(parts))


def take_section(text: str, title: str) -> tuple[str, str]:
    """Return a section of a page with its heading, and without."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"the README has no section {title!r}"
    return found[0], found[1]


def describe_commands() -> Iterator[str]:
    """Yield the page that lists all commands."""
    yield "# Commands\n"
    for group, commands in group_commands(CORE_COMMANDS).items():
        yield from (f"## {group}\n", "| command | |", "|---|---|")
        yield from (f"| [`nbtext {name}`]({name}.md) | {line} |" for name, line in commands.items())
        yield ""
    yield from ("## Exit status\n", "| status | meaning |", "|---|---|")
    yield from (f"| {status} | {meaning} |" for status, meaning in STATUS)
    yield from ("\n## Completion\n", "```sh", COMPLETION.removeprefix("\b\n").strip(), "```")


def describe_command(name: str) -> Iterator[str]:
    """Yield the page of a command: what `--help` prints."""
    parent = click.Context(cli, info_name="nbtext")
    command = cli.get_command(parent, name)
    assert isinstance(command, Command)
    while command.add_options():  # those of applications
        pass
    context = click.Context(command, info_name=name, parent=parent)
    yield f"# nbtext {name}\n"
    yield f"```text\nnbtext {name} {' '.join(command.collect_usage_pieces(context))}\n```\n"
    yield from paragraphs(command.help or "")
    if command.takes_sources:
        yield from paragraphs(SOURCE_HELP)
    for title in filter(None, dict.fromkeys(getattr(each, "title", "") for each in command.params)):
        records = [each.get_help_record(context) for each in command.list_group(title)]
        yield from (f"## {title}\n", "| option | meaning |", "|---|---|")
        yield from (f"| `{cell(names)}` | {cell(escape(help))} |" for names, help in records)
        yield ""
    yield from paragraphs(command.notes)
    yield f"## Example\n\n```sh\n{command.example}\n```\n"


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        yield escape(" ".join(paragraph.split())) + "\n"


def escape(text: str) -> str:
    """Escape what Markdown would take for markup, outside `code`."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if n % 2 else re.sub(r"([*_<>\[\]\\])", r"\\\1", part) for n, part in enumerate(parts)
    )


def cell(text: str) -> str:
    """Escape the separator of table cells."""
    return text.replace("|", "\\|")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_settings(folder: Path, pages: Path) -> tuple[Path, str]:
    """Write the settings of MkDocs, and return their path and the URL of the repository."""
    text = (HERE / "mkdocs.yml").read_text(encoding="utf-8").replace("REPOSITORY", str(TOP))
    guides = "".join(f"\n      - guides/{Path(name).name}" for name in guide_order())
    names = cli.list_commands(click.Context(cli))
    commands = "\n          - reference/commands.md" + "".join(
        f"\n          - reference/{name}.md" for name in names
    )
    text = text.replace(
        " GUIDES # the other guides: build.py fills them in", f"\n      - guides/index.md{guides}"
    )
    text = text.replace(" COMMANDS\n", f"{commands}\n")
    path = folder / "mkdocs.yml"
    path.write_text(f"{text}\ndocs_dir: {pages}\n", encoding="utf-8")
    return path, re.findall(r"^repo_url: (.*)$", text, re.MULTILINE)[0]


def guide_order() -> list[str]:
    """Return the how-to guides in the order of their list."""
    text = (TOP / GUIDES / "README.md").read_text(encoding="utf-8")
    return [name for name, _ in LINK.findall(text) if name not in NOT_HOW_TO]


def main(target: Path) -> None:
    """Build the site in a folder, which is replaced."""
    with tempfile.TemporaryDirectory() as scratch:
        settings, repository = write_settings(Path(scratch), Path(scratch) / "pages")
        write_pages(Path(scratch) / "pages", repository)
        shutil.rmtree(target, ignore_errors=True)
        done = subprocess.run(  # with --quiet, --strict would ignore warnings
            [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", settings, "-d", target],
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    if done.returncode or "WARNING" in done.stdout:
        sys.exit(done.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

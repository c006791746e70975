"""`nbtext demo`: a small corpus to try the commands on."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from pathlib import Path

import click

from nbtext.cli.command import command
from nbtext.errors import InputError, SettingsError, printable
from nbtext.interrupts import temporary_path
from nbtext.output import convert_errors
from nbtext.records import frozen
from nbtext.settings import setting

PACKAGE = Path(__file__).parents[2]
# where the corpus is: in an installed package, and in a source tree
CORPORA = (PACKAGE / "demo", PACKAGE.parent / "corpora" / "letters")


@frozen(kw_only=True)
class Demo:
    """The settings of `nbtext demo`."""

    directory: str = setting("letters", metavar="[DIR]", is_argument=True)
    quiet: bool = setting(False, "Print only errors.", flags=("-q", "--quiet"), title="Running")


@command(
    Demo,
    common="-q --help",
    example="nbtext demo examples",
    notes="The texts were written for nbtext, and have its license (MIT). Memory holds one text at a time.",
)
def demo(given: Demo) -> None:
    """Write a small corpus of labeled texts, to try the commands on.

    The corpus has letters to a town hall, labeled with the department that should answer: 336
    letters in DIR/train and 84 in DIR/test. DIR must not exist; it is `letters` by default.
    """
    directory = given.directory
    corpus = next((path for path in CORPORA if (path / "train").is_dir()), None)
    if corpus is None:
        raise InputError(
            "this installation lacks the corpus", where="nbtext demo", hint="install nbtext again"
        )
    if os.path.lexists(directory):
        raise SettingsError(
            "this path exists already", where=directory, hint="name a new directory"
        )
    with convert_errors(directory):
        copy_directory(corpus, directory)
    if given.quiet:
        return
    training, test = (
        sum(len(files) for *_, files in os.walk(corpus / half)) for half in ("train", "test")
    )
    click.echo(
        f"wrote {training} training and {test} test documents to {printable(directory)}", err=True
    )
    train = printable(shlex.quote(os.path.join(directory, "train")))
    click.echo(f"next: nbtext train {train} -o letters.joblib", err=True)


def copy_directory(source: Path, target: str) -> None:
    """Copy a directory completely or not at all.

    Raises
    ------
    OSError
        The target cannot be written.
    """
    parent = os.path.dirname(os.path.abspath(target))
    with (
        tempfile.TemporaryDirectory(dir=parent, prefix=".nbtext-") as scratch,
        temporary_path(scratch),
    ):
        copy = Path(scratch, "copy")
        for path in source.rglob("*.txt"):
            place = copy / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
        copy.rename(target)

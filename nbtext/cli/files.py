"""The input and output files of a command, and the check that no output replaces an input."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from nbtext.errors import SettingsError
from nbtext.output import STANDARD_OUTPUT
from nbtext.records import dataclass

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    ParamType = click.ParamType[Any]
else:  # before click 8.5 it takes no parameter
    ParamType = click.ParamType

NAMED = "nbtext.files"  # the key under which click keeps the files of the command line
STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that the command line names.

    path         as it was typed
    option       the option or argument that names it
    is_output    whether the command writes it
    is_model     whether the command writes a model to it
    is_rewritten whether it is a model that the command reads and may replace
    """

    path: str
    option: str
    is_output: bool = False
    is_model: bool = False
    is_rewritten: bool = False


class FileType(ParamType):
    """The value of an option or argument that names a file; the command remembers it for `check_files`."""

    name = "file"

    def __init__(
        self,
        metavar: str = "FILE",
        *,
        is_output: bool = False,
        is_model: bool = False,
        is_rewritten: bool = False,
        parse: Callable[[str], Any] = str,
        not_files: tuple[str, ...] = (),
    ) -> None:
        self.metavar = metavar
        self.parse = parse  # a function that raises ValueError for a wrong value
        self.not_files = not_files  # values that are not files
        self.is_output, self.is_model, self.is_rewritten = is_output, is_model, is_rewritten

    def parsing(self, metavar: str, parse: Callable[[str], Any], not_files: tuple[str, ...]) -> FileType:
        """Return the same type with another placeholder, and with a function that makes the value."""
        return FileType(
            metavar, is_output=self.is_output, is_model=self.is_model, is_rewritten=self.is_rewritten,
            parse=parse, not_files=not_files,
        )  # fmt: skip

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "|".join((*self.not_files, self.metavar))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        if ctx is not None and param is not None and value not in self.not_files:
            option = param.opts[0] if isinstance(param, click.Option) else (param.human_readable_name or "").rstrip(".")
            if not value:
                hint = {"SOURCE": "name a file or directory", "DIR": "name a directory"}.get(
                    self.metavar.rstrip("."), "name a file"
                )
                raise SettingsError("the path is empty", where=option, hint=hint)
            found = NamedFile(value, option, self.is_output, self.is_model, self.is_rewritten)
            ctx.meta.setdefault(NAMED, []).append(found)
        try:
            return self.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


SOURCE = FileType("SOURCE")
MODEL = FileType("MODEL")
REWRITTEN_MODEL = FileType("MODEL", is_rewritten=True)
INPUT = FileType()
OUTPUT = FileType(is_output=True)
MODEL_OUTPUT = FileType(is_output=True, is_model=True)


def named_outputs() -> tuple[str, ...]:
    """Return the files that the running command writes."""
    named: list[NamedFile] = click.get_current_context().meta.get(NAMED, [])
    return ("-", *(file.path for file in named if file.is_output))


def check_files(files: Sequence[NamedFile], *, is_forced: bool) -> None:
    """Refuse a command that would destroy a file.

    An output must not be an input, or a document in an input directory. Files are compared by identity, so links are
    recognized. A model must not replace a file of another kind, and other outputs must not replace a model.

    is_forced  whether --force was given: it allows the replacement of a file of another kind
    raises     SettingsError: the command is refused
    """
    inputs = [file for file in files if not file.is_output]
    outputs = [file for file in files if file.is_output and file.path not in STANDARD_OUTPUT]
    outputs = outputs or [
        NamedFile(file.path, file.option, is_output=True, is_model=True) for file in inputs if file.is_rewritten
    ]
    from_standard_input = [file.option for file in inputs if file.path in STANDARD_INPUT]
    if len(from_standard_input) > 1:
        names = " and ".join(dict.fromkeys(from_standard_input))
        raise SettingsError("standard input can be read only once", where=names, hint="name a file instead of -")
    for output in outputs:
        for each in inputs:
            if not (each.is_rewritten and output.is_model):
                _refuse_input(each, _status(output.path), output.option, output.path)
        _refuse_other_kind(output, is_forced)
    for each in inputs:
        _refuse_input(each, _descriptor_status(1), "standard output", "standard output")


def _refuse_input(file: NamedFile, output: os.stat_result | None, option: str, path: str) -> None:
    """Raise SettingsError if the output is this input or a document in it."""
    found = _status(file.path)
    if output is None or found is None or not (stat.S_ISREG(output.st_mode) or stat.S_ISDIR(output.st_mode)):
        return
    hint = "write to another file"
    if os.path.samestat(found, output):
        raise SettingsError(f"{path} is also an input ({file.option} {file.path})", where=option, hint=hint)
    if stat.S_ISDIR(found.st_mode) and stat.S_ISREG(output.st_mode) and output.st_size:
        from nbtext.documents.recognition import is_own_output

        if path != "standard output" and is_own_output(path):
            return  # it is not read as a document
        for inside in _files_in(file.path, output.st_ino):
            if os.path.samestat(inside, output):
                what = f"{path} is an input, a document in {file.option} {file.path}"
                raise SettingsError(what, where=option, hint=hint)


def _refuse_other_kind(output: NamedFile, is_forced: bool) -> None:
    """Raise SettingsError if a model would replace another kind of file, or another output a model."""
    found = _status(output.path)
    if is_forced or found is None or not stat.S_ISREG(found.st_mode) or not found.st_size:
        return
    if _is_model(output.path) != output.is_model:
        what = (
            "is not a model, and a model would replace it" if output.is_model else "is a model, and would be replaced"
        )
        hint = "write to another file, or replace it with --force"
        raise SettingsError(f"{output.path} {what}", where=output.option, hint=hint)


def _is_model(path: str) -> bool:
    from nbtext.documents.recognition import PICKLE_MAGICS

    try:
        with open(path, "rb") as file:
            return file.read(2) in PICKLE_MAGICS
    except OSError:
        return False


def _status(path: str) -> os.stat_result | None:
    """Return the status of a file from the system; None if the file does not exist."""
    if path in STANDARD_INPUT:
        return _descriptor_status(0)
    try:
        return os.stat(path)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return None


def _descriptor_status(descriptor: int) -> os.stat_result | None:
    """Return the status of standard input or output; None if it is closed or not a file."""
    try:
        found = os.fstat((sys.stdin if descriptor == 0 else sys.stdout).fileno())
    except (OSError, AttributeError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _files_in(folder: str, inode: int) -> Iterator[os.stat_result]:
    """Return the files below a folder that may be the file of this inode: those with it, and targets of links."""
    folders, known = [folder], set[tuple[int, int]]()
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.is_dir():
                    status = entry.stat()
                    if (status.st_dev, status.st_ino) not in known:
                        known.add((status.st_dev, status.st_ino))
                        folders.append(entry.path)
                elif entry.inode() == inode or entry.is_symlink():
                    yield entry.stat()
            except OSError:
                continue

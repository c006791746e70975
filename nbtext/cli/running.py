"""What every command does around its one job: threads, progress, and notes about what was read."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, cast

from nbtext.documents.batch import Block
from nbtext.documents.source import Source, open_source
from nbtext.documents.streams import STANDARD_INPUT, is_matrix, is_model
from nbtext.errors import InputError, SettingsError, number_of, printable
from nbtext.output import STANDARD_OUTPUT
from nbtext.parallel import available_cpus

if TYPE_CHECKING:
    from nbtext.documents.batch import Batch
    from nbtext.documents.settings import ReadingSettings
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.model.source_counting import OnBatch
    from nbtext.report.terminal import Screen


def jobs_or_all(jobs: int | None) -> int:
    """As many threads as asked for, else as many as there are cores that this process may use."""
    return jobs if jobs is not None else available_cpus()


def say(sentence: str, *, quiet: bool = False) -> None:
    """A line for people, on standard error."""
    if not quiet:
        sys.stderr.write(printable(sentence) + "\n")


def output_or_pipe(output: str | None) -> str:
    """Where a binary result goes: the named file, or standard output where that is no terminal.

    raises  OutputError: the file could not be written; said now, and not when all is done
    """
    if output is not None:
        from nbtext.output import check_output

        check_output(output)
        return output
    if sys.stdout.isatty():
        raise SettingsError("where should the result go?", where="-o", hint="name a file, or pipe it on with -o -")
    return "-"


def is_watched(output: str = "-") -> bool:
    """Whether results appear on a terminal as they come: they show how far it is, and no bar may run through them."""
    return output in STANDARD_OUTPUT and sys.stdout.isatty()


def form_or_default(form: str | None, output: str = "-", *, piped: str = "tsv") -> str:
    """The form asked for, else a table where a person looks at it, and another one for a program."""
    return form or ("table" if is_watched(output) else piped)


def screen(output: str = "-") -> Screen:
    """What standard output (or a file) can show: NO_COLOR takes the colors away, TERM=dumb all styles."""
    from nbtext.report.terminal import Screen

    is_styled = is_watched(output) and os.environ.get("TERM") != "dumb"
    return Screen(shutil.get_terminal_size().columns, is_styled, is_styled and not os.environ.get("NO_COLOR"))


def print_result(text: str, form: str) -> None:
    """A result on standard output, as UTF-8; what cannot be that is spelled out."""
    with result_file("-", form) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


@contextmanager
def result_file(output: str, form: str) -> Iterator[BinaryIO]:
    """The file of a result, which is written whole or not at all.

    Data are data, and may hold what a terminal obeys; where they go to one, that is spelled out, as tables do it.
    """
    from nbtext.output import atomic_output

    with atomic_output(output) as file:
        yield cast("BinaryIO", _Harmless(file)) if is_watched(output) and form != "table" else file


class _Harmless:
    """A terminal that is written lines to, and nothing that it would obey."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.flush = file.flush

    def write(self, lines: bytes) -> int:
        shown = re.sub(r"[^\n\t]+", lambda found: printable(found[0]), lines.decode("utf-8", "backslashreplace"))
        return self._file.write(shown.encode())


def size_of(path: str) -> int | None:
    """The bytes of a file; None of standard input."""
    return os.path.getsize(path) if path != STANDARD_INPUT else None


def is_matrix_alone(sources: tuple[str, ...], settings: ReadingSettings) -> bool:
    """Whether the one SOURCE is a matrix file, which is learned from as it is."""
    if len(sources) != 1 or settings.input_format not in (None, "matrix"):
        return False
    return settings.input_format == "matrix" or is_matrix(sources[0])


def rewrite_model(
    model: str, output: str | None, change: Callable[[TrainedModel], TrainedModel], *, quiet: bool
) -> None:
    """Change the model of a file, and save it: in its place, or where the output goes.

    Meanwhile nobody else can rewrite the file; reading it goes on.
    """
    from nbtext.artifact.model import load_model

    with model_output(output if output is not None or model == "-" else model) as target:
        save(change(load_model(model)), target, quiet=quiet)


@contextmanager
def model_output(output: str | None) -> Iterator[str]:
    """Where a model is written to; no other nbtext replaces that file meanwhile."""
    from nbtext.output import locked

    target = output_or_pipe(output)
    with locked(target):
        yield target


def save(model: TrainedModel, target: str, *, quiet: bool) -> None:
    """Save a model, and say what it has learned."""
    from nbtext.artifact.model import save_model
    from nbtext.report.training import approximated, trained

    save_model(model, target)
    say(trained(model), quiet=quiet)
    if note := approximated(model):
        say(note, quiet=quiet)


def is_model_alone(sources: tuple[str, ...], settings: ReadingSettings) -> bool:
    """Whether the one SOURCE is a model, whose counts are read again."""
    return len(sources) == 1 and sources[0] != STANDARD_INPUT and not settings.input_format and is_model(sources[0])


@contextmanager
def reading(
    sources: tuple[str, ...],
    settings: ReadingSettings,
    *,
    quiet: bool,
    no_progress: bool,
    outputs: tuple[str, ...] = (),
    input_unit: str | None = None,
) -> Iterator[tuple[Source, OnBatch]]:
    """The documents of a command, and a callback that shows how far it is; at the end says what was odd about them.

    outputs     files that the command writes, beside standard output: they are no documents of a directory
    input_unit  what a document was when the model was trained: it decides where a file of plain text does not tell
    """
    from nbtext.report.progress import progress

    source = open_source(sources, replace(settings, input_unit=input_unit), outputs=("-", *outputs))
    repaired_documents = repaired_bytes = n_unread = 0
    first_unread: InputError | None = None
    with progress(source.size, unit=source.unit, is_wanted=not (quiet or no_progress)) as advance:

        def on_batch(block: Block, batch: Batch) -> None:
            nonlocal repaired_documents, repaired_bytes, n_unread, first_unread
            advance(block.size)
            source.skipped.update(batch.notes)
            repaired_documents += batch.repaired_documents
            repaired_bytes += batch.repaired_bytes
            if batch.problems:
                n_unread += len(batch.problems)
                first_unread = first_unread or batch.problems[min(batch.problems)]

        yield source, on_batch
    for reason, number in sorted(source.skipped.items()):
        say(f"skipped: {reason}: {number:,}", quiet=quiet)
    if first_unread is not None:
        say(f"documents that could not be read: {n_unread:,}; one of them: {first_unread}", quiet=quiet)
    if repaired_documents:
        say(
            f"replaced {number_of(repaired_bytes, 'invalid byte')} in {number_of(repaired_documents, 'document')}; "
            "name their --encoding (as cp1252 for Windows), or refuse them with --encoding-errors strict",
            quiet=quiet,
        )

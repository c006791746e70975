"""Functions that commands share: open sources, write results and models, and print messages."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli.command import (
    named_files,
    refuse_settings,
    typed_options,
    typed_settings,
)
from nbtext.cli.options import Change, ResultSettings, RunSettings
from nbtext.documents.decompression import compress, suffix_compression
from nbtext.documents.formats import HTML_SUFFIXES, check_suffix, content_suffix
from nbtext.documents.settings import (
    DEFAULT_ENCODING,
    OF_FIELDS,
    InputSettings,
    ModelInput,
    already_counted,
)
from nbtext.errors import (
    InputError,
    NbtextError,
    SettingsError,
    hide_credentials,
    number_of,
    printable,
)
from nbtext.features.settings import FeatureSettings
from nbtext.output import (
    STANDARD_OUTPUT_PATHS,
    Writer,
    atomic_output,
    check_output,
    escape_formulas,
    is_written_to,
    lock_file,
)
from nbtext.parallel import share_heap
from nbtext.records import Strings
from nbtext.report.records import OUTPUT_FORMATS, write_and_flush
from nbtext.settings import refuse

if TYPE_CHECKING:
    from nbtext.cluster.executor import Workers
    from nbtext.cluster.settings import ClusterSettings
    from nbtext.documents.batch import Batch, Block
    from nbtext.documents.source import Source
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.model.source_counting import OnBatch
    from nbtext.report.result import Result
    from nbtext.report.terminal import Screen

MAX_NAMED_ENCODINGS = 5  # unknown encodings that are named
MAX_INVALID_SHARE = 0.01  # share of the text; if more of it is invalid, the encoding is guessed
FORMATS_OF_UNITS = {"file": "files", "mail": "mbox"}  # that read a stream as one document
# suffixes of output files, and the format of each
SUFFIX_TABLE = """
.jsonl     jsonl
.ndjson    jsonl
.json      json
.tsv       tsv
.tab       tsv
.csv       csv
.md        markdown
.txt       table
.html      html
.npz       npz
.svmlight  svmlight
.mtx       mtx
"""
OUTPUT_SUFFIXES = dict(map(str.split, SUFFIX_TABLE.strip().splitlines()))


def name_sources(sources: Strings) -> str:
    """Return the names of sources for the title of a page, without credentials."""
    return ", ".join(hide_credentials(source, is_source=True) for source in sources)


def is_watched(output: str) -> bool:
    """Return whether results are printed on a terminal, where a progress bar would disturb them."""
    return output in STANDARD_OUTPUT_PATHS and sys.stdout.isatty()


def format_of(output: str, formats: Sequence[str]) -> str | None:
    """Return the one of these formats that the suffix of a file name implies; None if it implies no
    format.
    """
    own = [suffix for suffix, name in OUTPUT_SUFFIXES.items() if name in formats]
    check_suffix(output, own, "the result cannot have this format")
    return OUTPUT_SUFFIXES.get(content_suffix(output)) if content_suffix(output) in own else None


def result_format(
    settings: ResultSettings,
    formats: Sequence[str] = OUTPUT_FORMATS,
    *,
    piped: str = "tsv",
    may_be_folder: bool = False,
) -> str:
    """Return the format of a result: the given one, that of the file name, a table on a terminal,
    or `piped`.

    That the output can be written is checked, too, before the work begins.
    """
    output = settings.output
    if not may_be_folder:
        check_output(output)
    chosen = settings.to or format_of(output, formats) or ("table" if is_watched(output) else piped)
    check_safety(settings, chosen)
    return chosen


def check_safety(settings: ResultSettings, output_format: str) -> None:
    """Raise SettingsError if --spreadsheet-safe has no effect in a format."""
    if settings.spreadsheet_safe and output_format != "csv":
        raise refuse("spreadsheet_safe", f"the format is {output_format}, not csv")


def screen(output: str = "-") -> Screen:
    """Return the width and the styles of standard output; NO_COLOR disables colors, TERM=dumb all
    styles.
    """
    import shutil

    from nbtext.report.terminal import Screen

    is_styled = is_watched(output) and os.environ.get("TERM") != "dumb"
    return Screen(
        shutil.get_terminal_size().columns, is_styled, is_styled and not os.environ.get("NO_COLOR")
    )


@contextmanager
def result_file(settings: ResultSettings, output_format: str) -> Iterator[Writer]:
    """Open the file of a result, which is written completely or not at all.

    On a terminal, control characters in data are written as escapes. A file with the suffix of a
    compression is compressed.
    """
    compression = suffix_compression(settings.output)[1]
    with atomic_output(settings.output) as plain, compress(plain, compression) as file:
        is_escaped = is_watched(settings.output) and output_format != "table"
        yield _EscapedTerminal(file) if is_escaped else file


def write_result(result: Result[Any], settings: ResultSettings, output_format: str) -> None:
    """Write a result as UTF-8; what UTF-8 cannot encode is written as escapes."""
    from nbtext.report.result import format_result

    shown = (screen(settings.output),) if output_format == "table" else ()
    texts = format_result(result, output_format, *shown)
    if settings.spreadsheet_safe and output_format == "csv":
        texts = map(escape_formulas, texts)
    with result_file(settings, output_format) as file:
        write_and_flush(texts, file)


def say_result(result: Result[Any], output_format: str) -> None:
    """Print a result on standard error, because the file that was to hold it is not written."""
    from nbtext.report.result import format_result

    sys.stderr.write(_escape_controls("".join(format_result(result, output_format))))


def _escape_controls(text: str) -> str:
    """Return text for a terminal, with control characters as escapes."""
    return re.sub(r"[^\n\t]+", lambda found: printable(found[0]), text)


class _EscapedTerminal:
    """A terminal that receives control characters as escapes."""

    def __init__(self, file: Writer) -> None:
        self._file = file
        self.flush = file.flush

    def write(self, lines: bytes) -> int:
        return self._file.write(
            _escape_controls(lines.decode("utf-8", "backslashreplace")).encode()
        )


def binary_output(output: str | None) -> str:
    """Open the output of a binary result: the named file, or standard output if it is not a
    terminal.

    raises  OutputError: the file cannot be written; this is checked before the work
    """
    if output is not None:
        refuse_compression(output)
        check_output(output)
        return output
    if sys.stdout.isatty():
        raise SettingsError(
            "the result is binary, and standard output is a terminal",
            where="-o",
            hint="write it to a file with -o",
        )
    return "-"


def refuse_compression(output: str, where: str = "-o") -> None:
    """Raise SettingsError if the suffix of an output that is not compressed is that of a
    compression.
    """
    name, compression = suffix_compression(output)
    if compression is not None:
        raise SettingsError(
            f"{output}: this output cannot be compressed",
            where=where,
            hint=f"leave out {output[len(name) :]}, and compress the file afterwards",
        )


@contextmanager
def model_output(output: str | None) -> Iterator[str]:
    """Lock the output file of a model, so that no other nbtext process replaces it."""
    with lock_file(binary_output(output)) as target:
        yield target


def save_and_summarize(model: TrainedModel, target: str, run: RunSettings) -> None:
    """Save a model, and print a summary of it."""
    from nbtext.artifact.model import has_unasked_counts, save_model_file
    from nbtext.report.training import (
        NO_COUNTS,
        format_approximation,
        format_decisions,
        format_training_summary,
        format_unused,
    )

    save_model_file(model, target)
    run.say(format_training_summary(model), *format_decisions(model), *format_unused(model))
    if (note := format_approximation(model)) is not None:
        run.say(note)
    if has_unasked_counts(model):
        run.say(NO_COUNTS)


def rewrite_model(given: Change, change: Callable[..., TrainedModel]) -> None:
    """Change a model with the documents of some sources, and save it to the output, or in its
    place.

    change  is called as `update_source`
    """
    from nbtext.artifact.model import load_model_file
    from nbtext.documents.streams import is_url

    is_replaced = given.output is None and given.model != "-"
    if is_replaced and (is_url(given.model) or is_written_to(given.model)):
        raise SettingsError(
            f"{given.model} is not a regular file, so that the changed model cannot replace it",
            where="MODEL",
            hint="name the new file with -o",
        )
    with model_output(given.model if is_replaced else given.output) as target:
        trained = load_model_file(given.model)
        with open_documents(
            given.sources, given.input, given.run, trained_on=trained.fitted.input
        ) as (source, on_batch):
            changed = change(trained, source, jobs=given.run.jobs, on_batch=on_batch)
        save_and_summarize(changed, target, given.run)


def is_model_alone(sources: Strings, settings: InputSettings) -> bool:
    """Return whether SOURCE is one model file."""
    from nbtext.documents.streams import is_model

    return len(sources) == 1 and not settings.input_format and is_model(sources[0])


def _read_as_trained(settings: InputSettings, trained_on: ModelInput | None) -> InputSettings:
    """Return the settings with the unit and the fields of the training documents, unless options
    name other fields.
    """
    if trained_on is None:
        return settings
    typed = typed_options()
    known: dict[str, Any] = {}
    if "--text-field" not in typed:
        is_separate = settings.separate_fields or trained_on.separate_fields
        known |= {"text_field": trained_on.text_field, "separate_fields": is_separate}
    if not typed.keys() & {"--label-field", "--label-fields"}:
        settings = replace(settings, label_field=trained_on.label_field)
        if "--label-separator" not in typed:
            known |= {
                name: getattr(trained_on, name)
                for name in ("label_field", "label_separator", "label_fields")
            }
    if "--label-level" not in typed:
        settings = replace(settings, label_level=trained_on.label_level or 1)
    return replace(settings, **known, input_unit=trained_on.unit, remembered=tuple(known))


@contextmanager
def open_documents(
    sources: Strings,
    settings: InputSettings,
    run: RunSettings,
    *,
    trained_on: ModelInput | None = None,
    output: str = "-",
    has_bar: bool = True,
) -> Iterator[tuple[Source, OnBatch]]:
    """Open the documents of a command; yield the source, and a callback that shows the progress.

    At the end, lines on standard error count the documents that were skipped, unreadable or
    repaired.

    trained_on  the input of the training documents of the model; these documents are read in the
                same way
    output      the file that what is read goes to; if it is not standard output, a line at the end
                says how many documents
    has_bar     whether a progress bar is shown on a terminal
    """
    from nbtext.documents.batch import Batch, Missing, ReadCount, list_skipped, text_lengths
    from nbtext.documents.source import open_source
    from nbtext.documents.streams import warn
    from nbtext.report.terminal import progress

    share_heap()
    settings_of_model = _read_as_trained(settings, trained_on)
    outputs = (file.path for file in named_files() if file.type.is_output)
    source = open_source(sources, settings_of_model, outputs=("-", *outputs))
    if typed_settings(FeatureSettings) and source.first_matrix() is not None:
        refuse_settings(FeatureSettings, because=already_counted())
    _check_places(source, sources)
    has_levels = "label_level" in click.get_current_context().params
    if has_levels and settings_of_model.label_level == 1 and not settings.label:
        run.say(*source.find_deeper_labels())
    read = Batch([], (), [])  # the notes and repairs of all batches
    unit = trained_on.unit if trained_on is not None and not settings.input_format else None
    counted = ReadCount()
    n_characters = 0
    with progress(source.size, unit=source.unit, is_wanted=has_bar and not run.quiet) as advance:

        def on_batch(block: Block, batch: Batch) -> None:
            nonlocal n_characters
            advance(block.size)
            source.skipped.update(batch.notes)
            if len(read.unknown_encodings) > MAX_NAMED_ENCODINGS:
                batch.unknown_encodings.clear()
            read.add_notes(batch)
            n_characters += sum(map(sum, map(text_lengths, batch.columns)))
            counted.add(batch)
            if unit in FORMATS_OF_UNITS and counted.n_documents > 1 and source.path_of_lines:
                what = f"each line is a document, and the model was trained on {unit}s"
                hint = f"give --input-format {FORMATS_OF_UNITS[unit]} if it is one {unit}, or lines"
                warn(source.path_of_lines, f"{what}; {hint}")

        def say_repairs(min_share: float = 0.0) -> None:
            read_as = settings.encoding or DEFAULT_ENCODING
            for name, number in read.unknown_encodings.most_common(MAX_NAMED_ENCODINGS):
                what = f"unknown encoding {name!r} in {number_of(number, 'document')}, read as {read_as}"
                run.say(f"{what}; name the right one with --encoding")
            share = read.repaired_bytes / max(1, n_characters)
            if share > min_share:
                what = f"replaced {number_of(read.repaired_bytes, 'invalid byte')}"
                documents = number_of(read.repaired_documents, "document")
                run.say(f"{what} in {documents}; {_advise_encoding(sources, share)}")

        try:
            yield source, on_batch
            counted.check()
        except NbtextError as error:
            say_repairs(min_share=MAX_INVALID_SHARE)  # which may be the reason
            if isinstance(error, Missing) and type(error) in source.found:
                error.name_option()
            if isinstance(error, InputError):
                counted.check()
                if not (counted.n_documents or error.where or error.hint):
                    error.hint = ", ".join(list_skipped(source.skipped))
            raise
    run.say(*list_skipped(source.skipped))
    if counted.first is not None:
        what = f"{number_of(counted.n_unread, 'document')} could not be read"
        run.say(f"{what}; the first is {counted.first}")
    say_repairs()
    if output not in STANDARD_OUTPUT_PATHS:
        run.say(f"{number_of(counted.n_documents, 'document')} to {output}")


def _check_places(source: Source, sources: Strings) -> None:
    """Raise SettingsError if a setting of directories, or of fields, was typed, and no source has
    them.

    A setting may be for another source of the command, such as that of --unlabeled.
    """
    from nbtext.documents.streams import is_url

    typed = typed_settings(InputSettings)
    named = {file.path for file in named_files() if file.type.metavar.startswith("SOURCE")}
    named.update(sources)
    for name in typed.keys() & {"exclude", "label_level"}:
        if not any(os.path.isdir(path) or is_url(path) for path in named):
            raise refuse(name, "SOURCE is not a directory")
    of_fields = [name for name in typed if name in OF_FIELDS]
    if of_fields and not source.has_fields and named == {*sources}:
        raise refuse(of_fields[0], "SOURCE has texts without fields: files or lines of text")


def _advise_encoding(sources: Strings, share: float) -> str:
    """Return what to do about invalid bytes; if they are more than 1 % of the text, with the
    encoding that fits.
    """
    if share <= MAX_INVALID_SHARE or "--encoding" in typed_options():
        return "give the right --encoding (such as cp1252)"
    from nbtext.documents.recognition import guess_encodings

    guessed = guess_encodings(sources)
    if not guessed:
        return f"they are {share:.0%} of the text; give the right --encoding, such as gb18030, shift_jis or cp1251"
    advice = " or ".join(f"--encoding {codec}" for codec in guessed)
    return (
        f"they are {share:.0%} of the text, which seems to be {' or '.join(guessed)}; try {advice}"
    )


@contextmanager
def open_workers(
    paths: Strings, settings: ClusterSettings, run: RunSettings
) -> Iterator[Workers | None]:
    """Connect to the workers of the cluster, which need these paths; yield None without
    --cluster.
    """
    if settings.cluster is None:
        yield None
        return
    from nbtext.cluster.executor import check_paths, workers

    check_paths(paths, settings)
    with workers(settings, jobs=run.jobs) as found:
        yield found


def check_report(path: str | None) -> None:
    """Check, before anything is read, that the requested page can be written.

    raises  SettingsError: the page and the result would both go to standard output, or the file has
            another suffix MissingExtra: a library is missing OutputError: the file cannot be
            written
    """
    if path is None:
        return
    from nbtext.report.page.rendering import check_page

    if path in STANDARD_OUTPUT_PATHS:
        raise SettingsError(
            "the page and the result cannot both go to standard output",
            where="--report",
            hint="name a file",
        )
    refuse_compression(path, "--report")
    check_suffix(path, HTML_SUFFIXES, "the page is HTML", "--report")
    check_page("--report", path)

"""Continue the output of an interrupted run, after a check that its records are those of this run."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from itertools import islice
from typing import BinaryIO

from nbtext import __version__
from nbtext.documents.batch import Batch
from nbtext.errors import InputError, NbtextError
from nbtext.model.multilabel_predictions import AnyPredictions
from nbtext.model.settings import DecisionSettings
from nbtext.output import NEW
from nbtext.report.predictions import write_predictions
from nbtext.report.records import record_start

MAGIC = b"nbtext predict --resume\n"


def identify_run(model: str, sources: tuple[str, ...], *settings: object) -> str | None:
    """Return a checksum of what determines the records of a run; None if the model is not a regular file.

    Parameters
    ----------
    model : str
        Path of the model file. All its bytes count.
    sources : tuple[str, ...]
        Paths of the sources. The size and the modification time of those that are regular files count too.
    *settings : object
        Settings that determine the records. Their pickled form counts.
    """
    if not os.path.isfile(model):
        return None
    with open(model, "rb") as file:
        model_digest = hashlib.file_digest(file, "sha256").digest()
    states = [(status.st_size, status.st_mtime_ns) for status in map(os.stat, filter(os.path.isfile, sources))]
    return hashlib.sha256(pickle.dumps((__version__, model_digest, sources, states, settings), 4)).hexdigest()


class ResumedRecords:
    """The output file of a run that continues another: its records are checked first, then new ones are appended.

    Every record must begin with the id of its document, and must be what this run writes. A log, which is a hidden
    file beside the output, holds the checksum of the run (`identify_run`), and the length and the checksum of the
    records so far. Records that it confirms are not predicted again. All others are: those of a file without a log, of
    another run, or of a file that was changed. Nothing is cut off before all records are checked.
    """

    def __init__(
        self,
        file: BinaryIO,
        predict: Callable[[Batch], AnyPredictions],
        *,
        output_format: str,
        decisions: DecisionSettings,
        path: str,
        run: str | None,
    ) -> None:
        """Begin at the start of the file.

        Parameters
        ----------
        file : BinaryIO
            Open for reading and writing, at its start.
        predict : Callable[[Batch], AnyPredictions]
            Predicts the documents of a batch, with the options of this run.
        output_format : str
            One with a line for each record and without a header.
        decisions : DecisionSettings
            The options of this run, which determine the columns.
        path : str
            Name of the file, for errors and for the name of the log.
        run : str or None
            Checksum of the run; None: it has no log.
        """
        self._file, self._predict, self._output_format, self._decisions = file, predict, output_format, decisions
        self._path, self._run = path, run
        folder, name = os.path.split(os.path.realpath(path))
        self._log_path = os.path.join(folder, f".{name}.nbtext-resume")
        self._digest = hashlib.sha256()
        self._n_digested = self._n_confirmed = self._read_log()
        self._n_lines = 0
        self._end = 0  # offset of the end of the last record that was checked or written

    def check(self, batch: Batch) -> int:
        """Return the number of documents of the batch that have a record; if some have none, cut the file there.

        Raises
        ------
        InputError
            A record is not that of its document.
        """
        lines = list(islice(self._file, len(batch)))
        rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        for row, line in enumerate(lines):
            if not line.startswith(record_start(batch.ids[row], self._output_format)):
                raise self._error(row, batch.ids[row])
        data = b"".join(lines)
        if self._end + len(data) + len(rest) > self._n_confirmed and (data or rest):
            expected = self._expected_records(batch)
            for row, line in enumerate(lines):
                if line != expected[row]:
                    raise self._error(row, batch.ids[row])
            if rest and not expected[len(lines)].startswith(rest):
                raise self._error(len(lines), batch.ids[len(lines)])
        self._n_lines += len(lines)
        self._advance(data)
        if len(lines) < len(batch):
            self._file.seek(self._end)
            self._file.truncate()
        return len(lines)

    def finish(self) -> None:
        """Check that the file ends here.

        Raises
        ------
        InputError
            There are more records than documents.
        """
        if self._file.read(1):
            hint = "give the same SOURCE as before, or write to a new file"
            raise InputError("it has more records than SOURCE has documents", where=self._path, hint=hint)

    def write(self, records: bytes, /) -> int:
        """Append records."""
        self._file.write(records)
        self._advance(records)
        return len(records)

    def flush(self) -> None:
        """Give the records to the system, then log them; a log that cannot be written is left out."""
        self._file.flush()
        if self._run is not None:
            with suppress(OSError):
                descriptor = os.open(self._log_path, NEW | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
                with os.fdopen(descriptor, "wb") as log:
                    log.write(b"%s%s\n%020d %s\n" % (MAGIC, self._run.encode(), self._end, self._hex_digest()))

    def remove_log(self) -> None:
        """Remove the log, after the last record."""
        with suppress(OSError):
            os.unlink(self._log_path)

    def _read_log(self) -> int:
        """Return the number of bytes of the file that the log confirms, and leave the file at its start."""
        if self._run is None:
            return 0
        try:
            with open(self._log_path, "rb") as log:
                start, end = log.read(len(MAGIC) + 65), log.read(86)
        except OSError:
            return 0
        if start != MAGIC + self._run.encode() + b"\n" or not end[:20].isdigit():
            return 0
        size = n_left = int(end[:20])
        while n_left and (data := self._file.read(min(n_left, 1 << 20))):
            self._digest.update(data)
            n_left -= len(data)
        self._file.seek(0)
        if not n_left and end[20:] == b" %s\n" % self._hex_digest():
            return size
        self._digest = hashlib.sha256()
        return 0

    def _hex_digest(self) -> bytes:
        return self._digest.hexdigest().encode()

    def _advance(self, data: bytes) -> None:
        """Count bytes that were checked or written, and add to the digest those that it lacks."""
        self._digest.update(data[max(0, self._n_digested - self._end) :])
        self._end += len(data)
        self._n_digested = max(self._n_digested, self._end)

    def _expected_records(self, batch: Batch) -> list[bytes]:
        """Return the records of a batch as this run writes them."""
        written = BytesIO()
        write_predictions([self._predict(batch)], written, output_format=self._output_format, decisions=self._decisions)
        return [line + b"\n" for line in written.getvalue().split(b"\n")[:-1]]

    def _error(self, row: int, identity: str) -> NbtextError:
        return InputError(
            f"differs from the record of {identity} by this model and these options",
            where=f"{self._path}:{self._n_lines + row + 1}",
            hint="give the same SOURCE, model and options as before, or write to a new file",
        )

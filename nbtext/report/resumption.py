"""Records that an interrupted run has written: checked to be this run's, then continued."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from itertools import islice
from typing import BinaryIO

from nbtext.documents.batch import Batch
from nbtext.errors import InputError, NbtextError
from nbtext.model.predictor import Predictions
from nbtext.report.records import record_start, write_predictions


class WrittenRecords:
    """The predictions in a file that a run continues.

    Nothing is cut off before all records are checked: the id of each is that of its document, and the records of the
    first and the last batch (a record that is cut off included) are the bytes that this model predicts now. An
    interrupted run writes with one model and one set of options, so this covers the records between them.
    """

    def __init__(
        self, file: BinaryIO, predict: Callable[[Batch], Predictions], *, output_format: str, with_sets: bool, path: str
    ) -> None:
        """Begin at the start of the file.

        Parameters
        ----------
        file : BinaryIO
            Open for reading and writing, at its start.
        predict : Callable[[Batch], Predictions]
            Predicts the documents of a batch, with the options of this run.
        output_format : str
            One with a line for each record and without a header.
        with_sets : bool
            Whether the records have a column of label sets.
        path : str
            Name of the file, for errors.
        """
        self._file, self._predict, self._output_format, self._with_sets, self._path = (
            file,
            predict,
            output_format,
            with_sets,
            path,
        )
        self._n_lines = 0
        self._end = 0  # offset of the end of the last record that was checked

    def check(self, batch: Batch) -> int:
        """The number of documents of the batch that have a record; below the size of the batch, the file is cut there.

        Raises
        ------
        InputError
            A record is not that of its document.
        """
        lines = list(islice(self._file, len(batch)))
        is_last = len(lines) < len(batch) or self._is_at_end()
        rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        for row, line in enumerate(lines):
            if not line.startswith(record_start(batch.ids[row], self._output_format)):
                raise self._error(row, batch.ids[row])
        if (lines or rest) and (self._n_lines == 0 or is_last):
            expected = self._expected(batch)
            for row, line in enumerate([*lines, rest] if rest else lines):
                if line != expected[row] and (line is not rest or not expected[row].startswith(rest)):
                    raise self._error(row, batch.ids[row])
        self._n_lines += len(lines)
        self._end += sum(map(len, lines))
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
        if not self._is_at_end():
            hint = "give the same SOURCE as before, or write to a new file"
            raise InputError("it has more records than SOURCE has documents", where=self._path, hint=hint)

    def _is_at_end(self) -> bool:
        position = self._file.tell()
        is_at_end = not self._file.read(1)
        self._file.seek(position)
        return is_at_end

    def _expected(self, batch: Batch) -> list[bytes]:
        """The records of a batch as this run writes them."""
        written = BytesIO()
        write_predictions([self._predict(batch)], written, output_format=self._output_format, with_sets=self._with_sets)
        return [line + b"\n" for line in written.getvalue().split(b"\n")[:-1]]

    def _error(self, row: int, identity: str) -> NbtextError:
        return InputError(
            f"this is not the record of {identity} by this model and these options",
            where=f"{self._path}:{self._n_lines + row + 1}",
            hint="give the same SOURCE, model and options as before, or write to a new file",
        )

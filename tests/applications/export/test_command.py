"""`nbtext export`: models for other programs, as the command is typed."""

from pathlib import Path
from typing import Any

import pytest

from nbtext.applications.export.command import EXPORTERS


@pytest.mark.parametrize("form", EXPORTERS)
def test_on_a_pipe_and_into_a_file(nbtext: Any, model: str, tmp_path: Path, form: str) -> None:
    """The same bytes; nothing on standard error."""
    for target in ("one", "two"):
        assert nbtext(f"export {model} --to {form} -o {target}").err == ""
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert nbtext(f"export {model} --to {form}").out.encode() == (tmp_path / "one").read_bytes()


def test_errors(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """One line each, and no file: an unknown format, a model that the format cannot hold, no place
    to write to.
    """
    hashed = str(tmp_path / "hashed.joblib")
    nbtext(f"train {letters}/train --hash-bits 12 -q -o {hashed}").ok()
    nbtext(f"export {model} --to pmml").refused(2)
    problem = "--to: is needed, because the suffix of -o does not name a format"
    for output in ([], ["-o", "x.unknown"]):
        result = nbtext("export", model, *output)
        assert (result.status, result.err) == (
            2,
            f"nbtext: {problem}; choose one of {', '.join(EXPORTERS)}, joblib\n",
        )
    result = nbtext(f"export {hashed} --to csv -o out.csv").refused(1)
    assert (
        result.err == "nbtext: hashed features have no names to export; train without --hash-bits\n"
    )
    nbtext(f"export {model} --to csv -o nowhere/out.csv").refused(1)
    assert [path.name for path in tmp_path.iterdir()] == ["hashed.joblib"]

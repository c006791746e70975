"""`nbtext evaluate --report`: a page beside the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_a_page_beside_the_figures(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """The result is what it is without; the page is one file, the same bytes with any number of threads."""
    arguments = ("evaluate", str(letters / "test"), "-m", model)
    plain = nbtext(*arguments)
    pages = []
    for jobs in ("1", "2"):
        result = nbtext(*arguments, "--report", "page.html", "-j", jobs, cwd=tmp_path)
        assert (result.status, result.out, result.err) == (0, plain.out, "")
        assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
        pages.append((tmp_path / "page.html").read_bytes())
    assert pages[0] == pages[1]
    assert pages[0].startswith(b"<!doctype html>")


def test_without_the_extra(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """One line says how to install it, before anything is read."""
    (tmp_path / "vl_convert.py").write_text("raise ImportError")
    top = Path(__file__).parents[2]
    result = nbtext(
        "evaluate", str(letters / "test"), "-m", model, "--report", "page.html", cwd=tmp_path,
        PYTHONPATH=f"{tmp_path}:{top}",
    )  # fmt: skip
    assert (result.status, result.out) == (1, "")
    assert result.err == "nbtext: --report needs vl-convert-python; install it with: pip install 'nbtext[report]'\n"
    assert not (tmp_path / "page.html").exists()


def test_where_it_cannot_be_written(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """One line says so."""
    result = nbtext("evaluate", str(letters / "test"), "-m", model, "--report", "no/page.html", cwd=tmp_path)
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith("nbtext: no/page.html: cannot be written: no such file or directory; ")

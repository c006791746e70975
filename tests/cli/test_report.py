"""`nbtext evaluate --report`: a page beside the figures."""

import re
from pathlib import Path
from typing import Any

import pytest


def test_a_page_beside_the_figures(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """The result is that without --report; the page is one file with the same bytes for any number
    of threads.
    """
    arguments = f"evaluate {letters}/test -m {model}"
    plain = nbtext(arguments)
    pages = []
    for jobs in ("1", "2"):
        result = nbtext(f"{arguments} --report page.html -j {jobs}")
        assert (result.status, result.out, result.err) == (0, plain.out, "")
        assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
        pages.append((tmp_path / "page.html").read_bytes())
    assert pages[0] == pages[1]
    assert pages[0].startswith(b"<!doctype html>")


@pytest.mark.exhaustive
def test_settings_as_they_were_typed(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """By the names of the options, files by their names; what changes nothing in the page is not
    among them.
    """
    (tmp_path / "costs.csv").write_text("trash,noise,3\n")
    asked = [
        "--folds",
        "2",
        "--cost",
        "costs.csv",
        "--stop-words",
        "english",
        "--ngrams",
        "1,2",
        "--no-lowercase",
        "--model",
        "logistic",
        "--C",
        "2",
    ]
    nbtext("evaluate", str(letters / "test"), *asked, "--report", "p.html", "-q", "-j", "2").ok()
    settings = (
        said(tmp_path / "p.html")
        .rpartition("Settings SOURCE ")[2]
        .partition(" What is not shown")[0]
    )
    assert settings.removeprefix(str(letters / "test")).split() == asked


def test_without_the_extra(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """One line says how to install it, before anything is read."""
    (tmp_path / "vl_convert.py").write_text("raise ImportError")
    top = Path(__file__).parents[2]
    result = nbtext(
        f"evaluate {letters}/test -m {model} --report page.html",
        PYTHONPATH=f"{tmp_path}:{top}",
    ).refused(1)
    assert (
        result.err
        == "nbtext: --report needs vl-convert-python; install it with: pip install 'nbtext[report]'\n"
    )
    assert not (tmp_path / "page.html").exists()


def said(page: Path) -> str:
    """Return the text of a page, without its scripts and markup."""
    text = re.sub(
        r"<(script|style).*?</\1>", " ", page.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def test_what_it_says(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """Accuracy with its interval, what is confused most, the threshold for 95 %, and what was asked
    for.
    """
    nbtext(f"evaluate {letters}/test -m {model} --report page.html --coverage 0.9").ok()
    text = said(tmp_path / "page.html")
    assert "The predicted label of 90.5 % of the documents is correct" in text
    assert "The labels that are confused most often are noise and permits : 2 documents." in text
    assert "The misleading words are words like sign" in text
    assert "--coverage 0.9" in text
    threshold = re.search(
        r"At a threshold of (\S+), 95&nbsp;% of the predictions are correct", text
    )
    assert threshold is not None
    again = nbtext(
        "evaluate",
        str(letters / "test"),
        "-m",
        model,
        "--min-probability",
        threshold[1],
        "--to",
        "json",
    )
    assert again.json["accuracy_among_answered"] >= 0.95


@pytest.mark.exhaustive
def test_with_folds(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """All that figures alone can say; what needs texts or one model is named as missing."""
    nbtext(f"evaluate {letters}/train --folds 3 --report page.html").ok()
    text = said(tmp_path / "page.html")
    assert "336 documents, 6 labels" in text
    assert "cross-validation keeps documents as counts only" in text
    assert "--folds 3" in text


def test_of_predictions_made_before(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """With names and texts."""
    nbtext(f"predict {letters}/test -m {model} -o answers").ok()
    nbtext(f"evaluate {letters}/test --predictions answers --report page.html").ok()
    text = said(tmp_path / "page.html")
    assert "they need the one model that made all predictions (-m)" in text
    assert "noise" in text

"""An option without effect on this command line is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

WITHOUT_USE = [
    ("train texts.tsv --budget 5s -o m", "--budget: needs --model best; add --model best, or leave out this option"),
    ("train texts.tsv --shard-bytes 5 -o m", "--shard-bytes: needs --cluster; add --cluster"),
    ("predict texts.tsv -m MODEL --shard-bytes 5", "--shard-bytes: needs --cluster"),
    ("predict texts.tsv -m MODEL --explain 3 --cluster local", "--explain: needs the output format jsonl or json"),
    (
        "train MODEL --cluster local -o m",
        "--cluster: does not apply: SOURCE is a model, whose features are already extracted",
    ),
    ("train MODEL --budget 5s -o m", "--budget: needs --model best; add --model best, or leave out this option"),
    (
        "train matrix.npz --text-field body -o m",
        "--text-field: does not apply: SOURCE is a matrix, whose features are already extracted",
    ),
    (
        "train matrix.npz --cluster local -o m",
        "--cluster: does not apply: SOURCE is a matrix, whose features are already extracted",
    ),
    (
        "train matrix.npz --weighting tfidf -o m",
        "--weighting: does not apply: SOURCE is a matrix, whose features are already extracted",
    ),
    (
        "compare matrix.npz --label-field topic",
        "--label-field: does not apply: SOURCE is a matrix, whose features are already extracted",
    ),
    ("compare texts.tsv -m MODEL -m MODEL --C 3", "--C: does not apply: the models of -m are already trained"),
    (
        "compare texts.tsv --report -",
        "--report: the page and the result cannot both go to standard output; name a file",
    ),
    (
        "evaluate texts.tsv -m MODEL --smoothing 3",
        "--smoothing: does not apply: it is used only in cross-validation (--folds)",
    ),
    (
        "evaluate texts.tsv -m MODEL --min-df 2",
        "--min-df: does not apply: it is used only in cross-validation (--folds)",
    ),
    ("evaluate texts.tsv -m MODEL --seed 2", "--seed: does not apply: it is used only in cross-validation (--folds)"),
    (
        "evaluate texts.tsv --predictions p.jsonl --model nbsvm",
        "--model: does not apply: it is used only in cross-validation (--folds)",
    ),
    (
        "evaluate texts.tsv --predictions p.tsv --coverage 0.9",
        "--coverage: cannot be combined with --predictions, whose prediction sets are final",
    ),
    ("inspect matrix.npz --word red", "--word: does not apply: the file is a matrix, not a model"),
    ("inspect matrix.npz --label x", "--label: does not apply: the file is a matrix, not a model"),
    ("inspect matrix.npz --by z", "--by: does not apply: the file is a matrix, not a model"),
    ("inspect matrix.npz --words-from texts.tsv", "--words-from: does not apply: the file is a matrix, not a model"),
]


@pytest.fixture(scope="module")
def folder(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts, their matrix, and answers to them."""
    folder: Path = tmp_path_factory.mktemp("folder")
    (folder / "texts.tsv").write_text("text\tlabel\nred round\tapple\nlong yellow\tbanana\n")
    (folder / "p.tsv").write_text("texts.tsv:2\tapple\t0.9\ntexts.tsv:3\tbanana\t0.8\n")
    assert nbtext("vectorize", "texts.tsv", "-o", "matrix.npz", cwd=folder).status == 0
    return folder


@pytest.mark.parametrize(("command", "message"), WITHOUT_USE, ids=[command for command, _ in WITHOUT_USE])
def test_one_line_names_it(nbtext: Any, folder: Path, model: str, command: str, message: str) -> None:
    """An option without effect gives status 2 and one line; nothing is written."""
    before = sorted(folder.iterdir())
    result = nbtext(*command.replace("MODEL", model).split(), cwd=folder)
    assert (result.status, result.out, result.err.count("\n")) == (2, "", 1), result.err
    assert result.err.startswith(f"nbtext: {message}")
    assert sorted(folder.iterdir()) == before


ANSWERS = [
    ("p.jsonl", '{"id": "1", "label": "a", "scores": [1]}\n', "p.jsonl:1: is not a record of nbtext predict"),
    ("p.jsonl", '{"id": "1", "label": null, "scores": null}\n', "p.jsonl: no record of the file has a predicted label"),
    ("p.tsv", "1\t\t\n", "p.tsv: no record of the file has a predicted label"),
    ("p.csv", "id,label,probability\n1,,\n", "p.csv: no record of the file has a predicted label"),
]


@pytest.mark.parametrize(("name", "answers", "message"), ANSWERS)
def test_answers_that_cannot_be_judged(nbtext: Any, tmp_path: Path, name: str, answers: str, message: str) -> None:
    """Of predictions that hold no label at all, nothing can be measured; other JSON is not a prediction."""
    (tmp_path / name).write_text(answers)
    (tmp_path / "one.jsonl").write_text('{"id": "1", "text": "red", "label": "a"}\n')
    result = nbtext("evaluate", "one.jsonl", "--predictions", name, cwd=tmp_path)
    assert (result.status, result.out, result.err.count("\n")) == (1, "", 1), result.err
    assert result.err.startswith(f"nbtext: {message}")

"""`evaluate --predictions` reads every file that `predict` writes and that has ids, compressed or not."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from nbtext.documents.batch import Batch
from nbtext.errors import InputError
from nbtext.evaluation.predicted import PredictionsFile


@pytest.fixture(scope="module")
def rows(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models of one label and of several, and documents with odd labels, of which two ids are equal."""
    folder, chance = tmp_path_factory.mktemp("rows"), random.Random(1)
    words = {"a,b": "apple pear", "tab\t|bar": "boat tide", "back\\t": "nail saw", "=plain": "old good"}
    for name, n in (("train", 300), ("test", 40)):
        one, several = [], []
        for number in range(n):
            labels = chance.sample(sorted(words), chance.choice([0, 1, 1, 2, 3]))
            text = " ".join(chance.choice(words[label].split()) for label in labels for _ in range(3)) or "the of"
            identity = "-same" if number in (3, 17) else f"{number}"
            several.append(json.dumps({"id": identity, "text": text, "label": labels}) + "\n")
            one.append(json.dumps({"id": identity, "text": text, "label": labels[0] if labels else "=plain"}) + "\n")
        (folder / f"one-{name}.jsonl").write_text("".join(one))
        (folder / f"several-{name}.jsonl").write_text("".join(several))
    for kind in ("one", "several"):
        nbtext("train", f"{kind}-train.jsonl", "-q", "-o", kind, cwd=folder).ok()
    return folder


@pytest.mark.parametrize("kind", ["one", "several"])
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("form", ["jsonl", "json", "tsv", "csv"])
@pytest.mark.exhaustive(every=3)
def test_evaluate_reads_what_predict_writes(nbtext: Any, rows: Path, kind: str, suffix: str, form: str) -> None:
    """Every format and compression, of one label and of several, gives the decisions of the model."""
    source, path = f"{kind}-test.jsonl", f"{kind}.{form}{suffix}"
    options = ("--id-field", "id", "--to", "json")
    nbtext("predict", source, "-m", kind, "--id-field", "id", "-o", path, cwd=rows).ok()
    direct = nbtext("evaluate", source, "-m", kind, *options, cwd=rows).json
    ran = nbtext("evaluate", source, "--predictions", path, *options, cwd=rows).ok()
    found = ran.json
    names = ("documents", "unanswered", "accuracy", "macro_f1", "micro_f1", "subset_accuracy")
    assert {name: found.get(name) for name in names} == {name: direct.get(name) for name in names}
    for one, other in zip(found["per_label"], direct["per_label"], strict=True):
        assert {**one, "threshold": None} == {**other, "threshold": None}
    assert ("only of predicted labels" in ran.err) is (form in ("tsv", "csv"))


@pytest.mark.parametrize("kind", ["one", "several"])
@pytest.mark.parametrize("form", ["jsonl", "json", "tsv", "csv"])
def test_evaluate_reads_a_pipe(nbtext: Any, rows: Path, kind: str, form: str) -> None:
    """A pipe has no suffix, and can be read once; with prediction sets and the most probable labels, too."""
    source = f"{kind}-test.jsonl"
    extra = ("--coverage", "0.9", "--top-k", "2")
    text = nbtext("predict", source, "-m", kind, "--id-field", "id", "--to", form, *extra, cwd=rows).out
    options = ("--id-field", "id", "--to", "json", "--predictions", "-")
    ran = nbtext("evaluate", source, *options, cwd=rows, input=text.encode()).ok()
    direct = nbtext(
        "evaluate", source, "-m", kind, "--coverage", "0.9", "--id-field", "id", "--to", "json", cwd=rows
    ).json
    found = ran.json
    for name in ("documents", "accuracy", "macro_f1", "micro_f1", "coverage", "mean_set_size"):
        assert found.get(name) == direct.get(name), name


def test_cells_that_are_safe_for_spreadsheets(nbtext: Any, rows: Path) -> None:
    """The quote that --spreadsheet-safe writes before a label or an id is not a part of it."""
    options = ("--id-field", "id", "--to", "csv")
    text = nbtext("predict", "one-test.jsonl", "-m", "one", *options, "--spreadsheet-safe", cwd=rows).out
    assert "'=plain" in text
    assert "'-same" in text
    found = PredictionsFile(_write(rows / "safe.csv", text))
    assert "=plain" in found.of(Batch(["-same", "-same"], ([""] * 2,), ["a"] * 2)).classes


def test_other_formats_of_predict_are_named(nbtext: Any, rows: Path) -> None:
    """What has no ids or is for people is refused with the formats that can be read."""
    for form in ("table", "markdown", "header", "fasttext"):
        text = nbtext("predict", "one-test.jsonl", "-m", "one", "--to", form, cwd=rows).out
        if form == "fasttext":
            text = "__label__a\n"
        with pytest.raises(InputError, match=r"write it with nbtext predict --to jsonl \(or json, tsv, csv\)"):
            PredictionsFile(_write(rows / "p.txt", text))


def _write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


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
    assert nbtext("evaluate", "one.jsonl", "--predictions", name).refused(1).err.startswith(f"nbtext: {message}")

"""`nbtext review -m MODEL` as typed."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from words_of_labels import COMMON, WORDS

Rows = list[dict[str, Any]]
HOSTILE = "\x1b[31m\u202e<b>\n"


def make_rows(n: int, seed: int, *, several: bool = False) -> Rows:
    chance = random.Random(seed)
    found = Rows()
    for number in range(n):
        labels = (
            [name for name in WORDS if chance.random() < 0.4]
            if several
            else [chance.choice(list(WORDS))]
        )
        words = [
            word for label in labels for word in chance.choices(WORDS[label], k=7)
        ] + chance.choices(COMMON, k=8)
        text = " ".join([*words, f"n{seed}x{number}"])
        found.append(
            {"id": f"{seed}-{number}", "text": text, "label": labels if several else labels[0]}
        )
    return found


def write(path: Path, rows: Rows) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`train.jsonl`, 300 documents of which 7 and 50 have a wrong label; models of them;
    `new.jsonl`, 10 documents.
    """
    folder = tmp_path_factory.mktemp("models")
    rows = make_rows(300, 1)
    new = make_rows(10, 2)
    for row in (rows[7], rows[50], new[4]):
        row["label"] = {"fruit": "sea", "sea": "tools", "tools": "fruit"}[row["label"]]
    write(folder / "train.jsonl", rows)
    write(folder / "new.jsonl", new)
    several = make_rows(300, 3, several=True)
    several[9]["label"] = sorted({"fruit", "sea", "tools"} - set(several[9]["label"]))
    write(folder / "several.jsonl", several)
    for name, source, *options in (
        ("m", "train", "--model", "multinomial"),
        ("kept", "train", "--keep-sample", "1000"),
        ("hashed", "train", "--hash-bits", "14", "--model", "bernoulli"),
        ("gaussian", "train", "--model", "gaussian", "--keep-sample", "1000"),
        ("several", "several"),
        ("logistic", "train", "--model", "logistic"),
        ("svm", "several", "--model", "svm"),
        ("lost", "train", "--model", "gaussian"),
    ):
        nbtext("train", f"{source}.jsonl", "-o", f"{name}.model", *options, "-q", cwd=folder).ok()
    return folder


def review(nbtext: Any, folder: Path, *arguments: str, **environment: Any) -> tuple[Rows, str]:
    result = nbtext("review", *arguments, "--to", "jsonl", cwd=folder, **environment).ok()
    return result.records, result.err


def errors(records: Rows) -> set[str]:
    return {
        record["documents"][0]["id"] for record in records if record["finding"] == "label_error"
    }


@pytest.mark.parametrize("model", ["m", "kept", "hashed", "gaussian"])
def test_ten_new_documents(nbtext: Any, folder: Path, model: str) -> None:
    """Their labels are judged by the model; ten documents alone could not tell which label is
    wrong.
    """
    records, summary = review(nbtext, folder, "new.jsonl", "-m", f"{model}.model")
    assert errors(records) == {"2-4"}
    (error,) = (record for record in records if record["finding"] == "label_error")
    rows = [json.loads(line) for line in (folder / "new.jsonl").read_text().splitlines()]
    assert error["label"] == rows[4]["label"] != error["likely_label"]
    assert error["documents"][0]["line"] == 5
    assert "10 documents: label_error 1" in summary
    assert errors(review(nbtext, folder, "new.jsonl")[0]) != {"2-4"}


@pytest.mark.parametrize("model", ["m", "kept", "hashed", "gaussian"])
def test_training_documents(nbtext: Any, folder: Path, model: str) -> None:
    """The model has learned the wrong labels of its training documents, and they are found
    nevertheless.

    So are they if some of the documents are new.
    """
    assert errors(review(nbtext, folder, "train.jsonl", "-m", f"{model}.model")[0]) == {
        "1-7",
        "1-50",
    }
    mixed = ("new.jsonl", "train.jsonl", "-m", f"{model}.model")
    assert errors(review(nbtext, folder, *mixed)[0]) == {"1-7", "1-50", "2-4"}


def test_several_labels(nbtext: Any, folder: Path, tmp_path: Path) -> None:
    """Labels of new documents and of training documents to add and to remove; documents with one
    label, too.
    """
    records, summary = review(
        nbtext, folder, "several.jsonl", "-m", "several.model", "--only", "label_error"
    )
    assert errors(records) == {"3-9"}
    assert "documents lack about" in summary
    new = make_rows(10, 6, several=True)
    new[3]["label"] = sorted({"fruit", "sea", "tools"} - set(new[3]["label"]))
    write(tmp_path / "new.jsonl", new)
    records, _ = review(
        nbtext, tmp_path, "new.jsonl", "-m", str(folder / "several.model"), "--only", "label_error"
    )
    assert errors(records) == {"6-3"}
    given = {record.get("label") for record in records} | {
        record.get("likely_label") for record in records
    }
    assert given - {None} == {"fruit", "sea", "tools"}
    write(
        tmp_path / "single.jsonl",
        [row | {"label": "sea"} for row in new if row["label"] == ["sea"]] or new,
    )
    review(nbtext, tmp_path, "single.jsonl", "-m", str(folder / "several.model"))


def test_new_documents_that_lack_a_label(nbtext: Any, tmp_path: Path) -> None:
    """Without a retained sample, a document is not of the training if it has words of one label,
    and lacks that label.

    Its findings are those of a model that retains all documents, and so knows it to be new.
    """
    chance = random.Random(7)
    new = Rows()
    for number, label in enumerate(["fruit", "sea", "tools"] * 4):
        words = chance.choices(WORDS[label], k=1 + number % 4) + chance.choices(COMMON, k=3)
        new.append(
            {
                "id": str(number),
                "text": " ".join(words),
                "label": ["sea"] * (label == "fruit" and number > 5),
            }
        )
    write(tmp_path / "new.jsonl", [*new, new[4] | {"id": "again"}])
    write(tmp_path / "train.jsonl", make_rows(100, 8, several=True))
    found = []
    for options in ((), ("--keep-sample", "1000")):
        nbtext("train", "train.jsonl", *options, "-q", "-o", "several.model").ok()
        found.append(review(nbtext, tmp_path, "new.jsonl", "-m", "several.model"))
    assert found[0] == found[1]
    added = {
        each["likely_label"]
        for each in found[0][0]
        if each["finding"] == "label_error" and "label" not in each
    }
    assert added == {"fruit", "sea", "tools"}


def test_labels_that_the_model_lacks(nbtext: Any, folder: Path, tmp_path: Path) -> None:
    """The summary names them, without control characters; their documents are not judged, and
    others are.
    """
    rows = [json.loads(line) for line in (folder / "new.jsonl").read_text().splitlines()]
    for number, label in enumerate(["one", "two", "three", HOSTILE.strip(), None]):
        rows[number + 5]["label"] = label
    write(tmp_path / "x.jsonl", rows)
    records, summary = review(nbtext, tmp_path, "x.jsonl", "-m", str(folder / "m.model"))
    assert errors(records) == {"2-4"}
    assert (
        "not judged, because the model lacks the label: \\x1b[31m\\u202e<b>, one, three, and 1 more\n"
        in summary
    )
    assert "\x1b" not in summary
    write(tmp_path / "x.jsonl", [row | {"label": "one"} for row in rows])
    assert (
        "no label was judged"
        in review(nbtext, tmp_path, "x.jsonl", "-m", str(folder / "m.model"))[1]
    )
    several = [row | {"label": ["sea", "other"]} for row in rows]
    write(tmp_path / "y.jsonl", several)
    assert (
        "lacks the label: other"
        in review(nbtext, tmp_path, "y.jsonl", "-m", str(folder / "several.model"))[1]
    )


def test_threads_and_the_plain_version_change_nothing(nbtext: Any, folder: Path) -> None:
    for model in ("m.model", "several.model"):
        source = (
            "train.jsonl" if model == "m.model" else "several.jsonl",
            "-m",
            model,
            "--to",
            "jsonl",
        )
        one = nbtext("review", *source, "-j", "1", cwd=folder).ok()
        assert nbtext("review", *source, "-j", "3", cwd=folder).out == one.out
        assert nbtext("review", *source, "-j", "2", cwd=folder, NBTEXT_KERNEL="off").out == one.out


def test_other_findings(nbtext: Any, folder: Path, tmp_path: Path) -> None:
    """Duplicates, leaks and documents that are not text are found as without a model; outliers are
    those of predict.
    """
    rows = make_rows(10, 2)
    rows += [rows[0] | {"id": "copy"}, {"id": "empty", "text": "", "label": "sea"}]
    rows.append({"id": "foreign", "text": " ".join(f"fremd{n}" for n in range(40)), "label": "sea"})
    write(tmp_path / "x.jsonl", rows)
    options = ("x.jsonl", "--against", "x.jsonl", "-m", str(folder / "m.model"))
    records, _ = review(nbtext, tmp_path, *options)
    kinds = {record["finding"] for record in records}
    assert {"duplicate", "leak", "not_text", "outlier"} <= kinds
    outliers = {
        record["documents"][0]["id"] for record in records if record["finding"] == "outlier"
    }
    found = nbtext("predict", "x.jsonl", "-m", str(folder / "m.model"), "--to", "jsonl").records
    assert outliers == {each["id"] for each in found if each["outlier"]} >= {"foreign"}


@pytest.mark.parametrize("model", ["m.model", "several.model", "hashed.model"])
def test_the_page_and_its_decisions(nbtext: Any, folder: Path, model: str, tmp_path: Path) -> None:
    """The page marks the words of the documents of the model; the decisions are applied without
    it.
    """
    source = folder / ("several.jsonl" if model == "several.model" else "new.jsonl")
    options = ("-m", str(folder / model), "--report", "page.html", "-o", "found.jsonl", "-q")
    nbtext("review", str(source), *options).ok()
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    (error,) = (
        json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()[:1]
    )
    assert error["documents"][0]["id"] in page
    assert ('<mark class="for2">' in page) == (model != "hashed.model")
    decision = {"id": error["documents"][0]["id"], "decision": "remove"}
    write(tmp_path / "decisions.jsonl", [decision])
    nbtext("review", str(source), "--apply", "decisions.jsonl", "-o", "clean.jsonl").ok()
    assert decision["id"] not in {
        json.loads(line)["id"] for line in (tmp_path / "clean.jsonl").read_text().splitlines()
    }


@pytest.mark.parametrize("model", ["m.model", "several.model", "hashed.model"])
def test_documents_without_counts(nbtext: Any, folder: Path, model: str, tmp_path: Path) -> None:
    """No document can be read, all are empty, or none has a word of the model."""
    write(
        tmp_path / "x.jsonl",
        [{"id": "one", "text": text, "label": "sea"} for text in ("", "fremd eins")],
    )
    records, _ = review(nbtext, tmp_path, "x.jsonl", "-m", str(folder / model))
    assert "not_text" in {record["finding"] for record in records}
    records, _ = review(
        nbtext, tmp_path, "x.jsonl", "-m", str(folder / model), "--text-field", "nothing"
    )
    assert [record["finding"] for record in records] == ["not_text", "not_text"]


WRONG = [
    ("new.jsonl -m logistic.model", 1, "-m: a document cannot be left out of logistic models"),
    ("several.jsonl -m svm.model", 1, "-m: a document cannot be left out of svm models"),
    (
        "several.jsonl -m m.model",
        1,
        "the model gives each document one label, and some documents have several",
    ),
    ("new.jsonl -m lost.model", 1, "does not retain all documents"),
    ("new.jsonl -m decayed.model", 1, "documents of the model have different weights"),
    ("new.jsonl -m learned.model", 1, "also trained on unlabeled documents"),
    (
        "new.jsonl -m m.model --ngrams 1,2",
        2,
        "--ngrams: does not apply: the features are those of the model",
    ),
    ("new.jsonl -m train.jsonl", 1, "train.jsonl"),
    ("new.jsonl -m missing.model", 1, "missing.model"),
    ("new.jsonl -m m.model -o m.model", 2, "m.model"),
]


@pytest.mark.parametrize(
    ("command", "status", "message"), WRONG, ids=[command for command, _, _ in WRONG]
)
def test_wrong_things(nbtext: Any, folder: Path, command: str, status: int, message: str) -> None:
    """One line says what is wrong."""
    if "decayed" in command and not (folder / "decayed.model").exists():
        options = ("-o", "decayed.model", "--half-life", "30", "--elapsed", "10", "-q")
        nbtext("update", "m.model", "new.jsonl", *options, cwd=folder).ok()
    if "learned" in command:
        options = (
            "-o",
            "learned.model",
            "--unlabeled",
            "new.jsonl",
            "--model",
            "multinomial",
            "--em",
            "2",
            "-q",
        )
        nbtext("train", "train.jsonl", *options, cwd=folder).ok()
    (folder / "decisions.jsonl").touch()
    before = (folder / "m.model").read_bytes()
    nbtext("review", *command.split(), cwd=folder).refused(status, message)
    assert (folder / "m.model").read_bytes() == before

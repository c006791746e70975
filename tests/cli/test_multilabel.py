"""Several labels for one document, as a user would use them: input, training, predictions,
evaluation, pages.
"""

import csv
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

LABELS = ("animals", "cities & towns", "food")
WORDS = ("cat dog horse cow", "paris rome street bridge", "bread soup cheese rice")
Documents = list[tuple[str, list[str]]]


def documents(n: int, seed: int) -> Documents:
    """Return texts with the words of their labels: two, one or none of three."""
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        labels = sorted(rng.sample(LABELS, rng.choice((0, 1, 1, 1, 2, 2))))
        words = [
            word for label in labels for word in rng.sample(WORDS[LABELS.index(label)].split(), 2)
        ]
        words += rng.sample(["the", "a", "of", "and", "in", "to", "is", "was"], 4)
        rng.shuffle(words)
        found.append((" ".join(words), labels))
    return found


def write_jsonl(path: Path, texts: Documents) -> None:
    """Write JSON lines with lists of labels."""
    path.write_text(
        "".join(json.dumps({"text": text, "label": labels}) + "\n" for text, labels in texts)
    )


def write_csv(path: Path, texts: Documents) -> None:
    """Write a table in whose cells labels are separated."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [("text", "topics"), *((text, " | ".join(labels)) for text, labels in texts)]
        )


@pytest.fixture(scope="module")
def originals(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents in JSON lines and in a table, and a model of each."""
    folder = tmp_path_factory.mktemp("originals")
    for name, n, seed in (("train", 150, 1), ("test", 60, 2)):
        texts = documents(n, seed)
        write_jsonl(folder / f"{name}.jsonl", texts)
        write_csv(folder / f"{name}.csv", texts)
    nbtext("train train.jsonl -o m", cwd=folder).ok()
    options = "--label-field topics --label-separator |"
    nbtext(f"train train.csv {options} -o c", cwd=folder).ok()
    return folder


@pytest.fixture
def folder(originals: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(originals, tmp_path, dirs_exist_ok=True)
    return tmp_path


def records(nbtext: Any, folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """Return the records of predict."""
    return nbtext("predict", *arguments, "--to", "jsonl", cwd=folder).ok().records


def test_train_says_so(nbtext: Any, folder: Path) -> None:
    """The summary says that documents have several labels; the model is the same for any number of
    threads.
    """
    done = nbtext("train train.jsonl -o other -j 2")
    n_labels = sum(len(labels) for _, labels in documents(150, 1))
    assert f"multi-label: 150 documents, 3 labels ({n_labels / 150:.2f} per document)" in done.err
    assert "micro F1" in done.err
    # a fifth of the short texts are nearly equal to another one
    assert len([line for line in done.err.splitlines() if "nearly equal" not in line]) == 1
    assert (folder / "other").read_bytes() == (folder / "m").read_bytes()


def test_all_kinds_of_input(nbtext: Any, folder: Path) -> None:
    """Lists, a separator and columns of 0 and 1 give the same predictions; each model remembers its
    input.
    """
    rows = [
        {"text": text, **{label: int(label in labels) for label in LABELS}}
        for text, labels in documents(150, 1)
    ]
    write_rows(folder / "columns.csv", rows)
    nbtext("train", "columns.csv", "--label-fields", ",".join(LABELS), "-o", "w").ok()
    first, *others = (records(nbtext, folder, "test.jsonl", "-m", model) for model in "mcw")
    for found in others:
        assert [record["scores"] for record in found] == [record["scores"] for record in first]
    lists, joined = (
        nbtext(f"evaluate test.{kind} -m {model} --to json").json
        for kind, model in (("jsonl", "m"), ("csv", "c"))
    )
    assert lists == joined
    assert lists["micro_f1"] > 0.9
    nbtext("evaluate columns.csv -m w").ok()
    nbtext("update c test.csv -o d").ok()


def test_predictions(nbtext: Any, folder: Path) -> None:
    """One record for each document, with the labels above their thresholds, and options that change
    them.
    """
    (folder / "t.txt").write_text("dog cat soup bread\nthe of and\n\nrome\n")
    command = ("t.txt", "--input-format", "lines", "-m", "m")
    found = records(nbtext, folder, *command)
    assert [set(record["labels"]) for record in found] == [
        {"animals", "food"},
        set(),
        set(),
        {"cities & towns"},
    ]
    for record in found:
        assert record["probabilities"] == [record["scores"][label] for label in record["labels"]]
    for options, n_labels in (
        ("--threshold 0", 3),
        ("--threshold 1", 0),
        ("--threshold 1 --threshold food=0", 1),
        ("--threshold 1 --at-least-one", 1),
    ):
        changed = records(nbtext, folder, *command, *options.split())
        assert [len(record["labels"]) for record in changed] == [n_labels] * 4, options
    first, *_ = records(
        nbtext, folder, *command, "--top-k", "2", "--explain", "2", "--coverage", "0.9"
    )
    assert len(first["scores"]) == len(first["explanation"]) == 2
    assert {"animals", "food"} <= set(first["label_set"])


def test_models_of_different_kinds(nbtext: Any, folder: Path, model: str) -> None:
    """What compares, merges or calibrates says in one line that it cannot, and what to do."""
    for arguments in (
        ("diff", "m", model),
        ("diff", model, "m"),
        ("merge", "m", model, "-o", "both"),
    ):
        nbtext(*arguments).refused(
            1, "one of the models gives documents several labels, and the other gives one"
        )
    nbtext("diff m m").ok()
    nbtext("calibrate m test.jsonl -o again").refused(1, "--keep-sample")


def test_a_model_of_one_label_refuses_lists(nbtext: Any, folder: Path) -> None:
    """Nothing is dropped silently: the document with several labels is named; a list of one is a
    label.
    """
    (folder / "one.csv").write_text("text,label\ndog cat,a\nsoup,c\nbread,c\ncow,a\n")
    nbtext("train one.csv -o one").ok()
    write_jsonl(folder / "two.jsonl", [("dog", ["a"]), ("soup", ["a", "c"])])
    nbtext("vectorize two.jsonl --like one -o x.npz").ok()
    for source in ("two.jsonl", "x.npz"):
        nbtext(f"evaluate {source} -m one").refused(1, "the document has 2 labels", "two.jsonl:2")
    write_jsonl(folder / "lists.jsonl", [("dog", ["a"]), ("soup", ["c"])])
    nbtext("evaluate lists.jsonl -m one").ok()
    nbtext("predict test.jsonl -m one").ok()

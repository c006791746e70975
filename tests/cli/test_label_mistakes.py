"""Labels that are almost certainly mistakes are named: in training, evaluation, calibration and
growth.
"""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

WORDS = ("red", "blue", "long", "round", "small", "green", "heavy", "light")
ALIKE = "labels that differ only in case, spaces, Unicode form or the form of a number: "


def write(path: Path, labels: Sequence[Any], n: int = 4) -> Path:
    """Write some texts of each label."""
    rows = [
        {"text": f"{WORDS[place % 8]} {WORDS[number]} word{place}", "label": label}
        for number in range(n)
        for place, label in enumerate(labels)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def said(nbtext: Any, labels: Sequence[Any], tmp_path: Path) -> str:
    """What training on these labels says."""
    write(tmp_path / "t.jsonl", labels)
    return str(nbtext("train t.jsonl -o m.joblib").ok().err)


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        (["Spam", "spam", "ham"], f"{ALIKE}Spam (4) and spam (4); make them equal in SOURCE\n"),
        (["1", 1.0, "2"], f"{ALIKE}1 (4) and 1.0 (4); make them"),
        (["0", "00", "-0.50", "-.5"], f"{ALIKE}-.5 (4) and -0.50 (4); 0 (4) and 00 (4); make them"),
        (["new  york", "New York", "x"], f"{ALIKE}New York (4) and new  york (4); make them"),
        (["caf\u00e9", "cafe\u0301", "x"], f"{ALIKE}cafe\u0301 (4) and caf\u00e9 (4); make them"),
        (["a\u200b", "a", "x"], f"{ALIKE}a (4) and a\\u200b (4); make them"),
        (
            ["['a', 'b']", "['a']", "x"],
            "2 labels look like a list: ['a', 'b']; ['a']; write them as lists in JSON lines",
        ),
        (["[1, 2]", "x"], "1 label looks like a list: [1, 2]; write them as lists"),
        (
            ['{"choices": ["a"]}', "x"],
            '1 label looks like an object: {"choices": ["a"]}; write JSON lines, and name a key',
        ),
        (
            ["a,__label__b", "x"],
            "1 label looks like several labels of fastText: a,__label__b; spaces separate",
        ),
    ],
)
def test_training_names_mistakes(nbtext: Any, tmp_path: Path, labels: list[str], line: str) -> None:
    """One line for each kind, with the labels and what to do."""
    assert line in said(nbtext, labels, tmp_path)


@pytest.mark.parametrize("separator", [",", ";", "|"])
def test_lists_of_labels_in_a_text(nbtext: Any, tmp_path: Path, separator: str) -> None:
    """Many labels that are made of few parts suggest the option, which reads them."""
    labels = [f"{separator} ".join(pair) for pair in itertools.combinations("abcdef", 2)]
    line = f"15 of 16 labels look like lists of labels: a{separator} b; "
    found = said(nbtext, [*labels, "a"], tmp_path)
    assert line in found
    assert f"--label-separator '{separator}' reads several labels" in found
    typed = nbtext(f"train t.jsonl --label-separator {separator} -o m.joblib").ok()
    assert "multi-label: 64 documents, 6 labels" in typed.err
    assert "look like" not in typed.err


@pytest.mark.parametrize(
    "labels",
    [
        ["1", "2", "3", "4", "5"],
        ["1 star", "2 stars", "3 stars"],
        ["-1", "0", "+1"],
        [0.5, 1.0, 1.5],
        ["c", "C++", "C#", "[spam]", "{x}", "a/b"],
        ["Books, Music", "Food, Drink", "Smith, J.", "Smith, K.", "a", "b"],
        [f"sport, {word}" for word in WORDS],
        [True, False],
    ],
)
def test_usual_labels_are_no_mistakes(nbtext: Any, tmp_path: Path, labels: list[Any]) -> None:
    """Stars, numbers, names with commas and languages of programs are left alone."""
    found = said(nbtext, labels, tmp_path)
    assert "differ only" not in found
    assert "like" not in found


def test_names_are_few_short_and_printable(nbtext: Any, tmp_path: Path) -> None:
    """Labels are untrusted, and may be many."""
    labels = [
        name
        for place in range(40)
        for name in (f"Name{place}\x1b[2J" + "x" * 200, f"name{place}\x1b[2J" + "x" * 200)
    ]
    found = said(nbtext, labels, tmp_path)
    (line,) = [line for line in found.splitlines() if line.startswith(ALIKE)]
    assert "\x1b" not in found
    assert len(line) < 800
    assert line.endswith("; …; make them equal in SOURCE")


def test_labels_that_the_model_does_not_know(nbtext: Any, tmp_path: Path) -> None:
    """`evaluate`, `calibrate` and `update` name them, and the label of the model that one is
    like.
    """
    write(tmp_path / "t.jsonl", ["spam", "ham"])
    nbtext("train t.jsonl -o m.joblib").ok()
    write(tmp_path / "some.jsonl", ["spam", "Ham", "junk"])
    write(tmp_path / "none.jsonl", ["Spam", "x\x1b"])
    names = {"some": "Ham (like ham); junk", "none": "Spam (like spam); x\\x1b"}
    lines = {
        (
            "some",
            "-m",
        ): "the model does not know 2 of 3 labels of the documents: {}; it knows ham; spam\n",
        (
            "none",
            "-m",
        ): "the model knows none of the labels of the documents: {}; it knows ham; spam\n",
        (
            "some",
            "--predictions",
        ): "the predictions lack 2 of 3 labels of the documents: {}; they have ham; spam\n",
        (
            "none",
            "--predictions",
        ): "the predictions have none of the labels of the documents: {}; they have ham; spam\n",
    }
    for (name, way), line in lines.items():
        nbtext(f"predict {name}.jsonl -m m.joblib -o p.jsonl").ok()
        command = ("evaluate", f"{name}.jsonl", way, "m.joblib" if way == "-m" else "p.jsonl")
        assert line.format(names[name]) in nbtext(*command).ok().err
        assert nbtext(*command, "-q").ok().err == ""
    calibrate = "calibrate m.joblib -o c.joblib"
    nbtext(f"{calibrate} some.jsonl").refused(1, "the model has no label 'Ham', 'junk'")
    nbtext(f"{calibrate} none.jsonl").refused(1, "no label 'Spam', 'x\\x1b'; it has 'ham', 'spam'")
    updated = nbtext("update m.joblib some.jsonl -o u.joblib").ok()
    assert "new labels: Ham (like ham); junk\n" in updated.err
    assert "new labels" not in nbtext("update m.joblib t.jsonl -o u.joblib").ok().err
    assert "does not know" not in nbtext("evaluate t.jsonl -m m.joblib").ok().err


def test_a_label_that_is_never_predicted_may_be_rare(nbtext: Any, tmp_path: Path) -> None:
    """Of the predictions of another program, only labels that are written in another way are
    named.
    """
    (tmp_path / "t.csv").write_text("text,truth,guess\nx,a,a\ny,b,a\nz,a,a\n")
    columns = "--label-field truth --predicted-field guess"
    assert "labels of the documents" not in nbtext(f"evaluate t.csv {columns}").ok().err
    (tmp_path / "t.csv").write_text("text,truth,guess\nx,1,1.0\ny,2,2.0\nz,1,1.0\n")
    line = "the predictions have none of the labels of the documents: 1 (like 1.0); 2 (like 2.0); they have 1.0; 2.0\n"
    assert line in nbtext(f"evaluate t.csv {columns}").ok().err

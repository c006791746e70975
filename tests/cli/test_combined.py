"""The model `combined` as a user types it."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

VIEWS = ("--view", "word:1", "--view", "char_wb:2,3")


def test_parts_are_shown(nbtext: Any, letters: Path) -> None:
    """The summary and `inspect` name the parts with their weights; without documents, an update
    keeps them.
    """
    trained = nbtext("train", str(letters / "train"), "--model", "combined", *VIEWS, "-o", "m").ok()
    shown = nbtext("inspect m --to markdown").out.replace("\\_", "_")
    (line,) = (line for line in shown.splitlines() if line.startswith("parts "))
    line = line.removeprefix("parts ")
    assert f"; {line}; estimated accuracy" in trained.err
    parts = nbtext("inspect m --to json").json["parts"]
    named = [
        f"{each['weight']:.3g} × {each['model']} of {each['view']}"
        for each in parts
        if each["weight"]
    ]
    assert (line, len(named) > 1) == (" + ".join(named), True)
    assert sum(part["weight"] for part in parts) == pytest.approx(1)
    updated = nbtext(f"update m {letters}/test -o u").ok()
    assert "approximate (not fitted to all documents): weights, " in updated.err
    assert nbtext("inspect u --to json").json["parts"] == parts


def test_standard_input_is_read_once(nbtext: Any) -> None:
    """Short texts are counted twice: those of standard input are kept meanwhile, and the model is
    that of a file.
    """
    rows = b"".join(
        f"{label},a {label} thing {n}\n".encode() for n in range(9) for label in ("red", "green")
    )
    table = b"label,text\n" + rows
    Path("table.csv").write_bytes(table)
    nbtext("train table.csv --model combined -o file.joblib").ok()
    nbtext(
        "train - --input-format csv --model combined -o piped.joblib",
        input=table,
    ).ok()
    assert Path("piped.joblib").read_bytes() == Path("file.joblib").read_bytes()


def test_cross_validation_chooses_views(nbtext: Any, letters: Path) -> None:
    """As training does: the folds of what `train` would count are better than those of words
    alone.
    """
    folds = (
        "evaluate",
        str(letters / "train"),
        "--folds",
        "5",
        "--model",
        "combined",
        "--to",
        "json",
    )
    chosen, given, words = (
        nbtext(*folds, *options).json["accuracy"]
        for options in ((), ("--view", "word:1", "--view", "word:2"), ("--view", "word:1"))
    )
    assert chosen == given
    assert chosen != words


def made_rows(n: int, chance: Random, *, each: float) -> list[dict[str, str]]:
    """Documents of three labels: words that tell them apart, and by chance a code behind each that
    no other one has.
    """
    rows = []
    for number in range(n):
        words = []
        for _ in range(chance.randrange(1, 12)):
            letter = "abc"[number % 3] if chance.random() < 0.15 else "z"
            words.append(f"{letter}{chance.randrange(60):02d}")
            if chance.random() < each:
                words.append(f"u{chance.randrange(10**9)}")
        rows.append({"text": " ".join(words), "label": "abc"[number % 3]})
    return rows


@pytest.mark.parametrize("each", [1.0, 0.97, 0.7])
def test_pairs_that_hardly_repeat(nbtext: Any, each: float) -> None:
    """Behind codes that do not repeat, no pair of words does: the model is that of words, and its
    estimate holds.
    """
    chance = Random(2)
    for name, n in (("train", 600), ("test", 1500)):
        lines = [json.dumps(row) for row in made_rows(n, chance, each=each)]
        Path(f"{name}.jsonl").write_text("\n".join(lines))
    found = {}
    for name, views in {"both": ("word:1", "word:2"), "words": ("word:1",)}.items():
        options = [part for view in views for part in ("--view", view)]
        trained = nbtext("train", "train.jsonl", "--model", "combined", *options, "-o", name).ok()
        tested = nbtext(f"evaluate test.jsonl -m {name} --to json").json
        expected = nbtext(f"inspect {name} --to json").json["expected"]
        found[name] = trained.err, tested, expected
    said, tested, expected = found["both"]
    _, of_words, _ = found["words"]
    assert "no better than" not in said
    error = (0.25 / 600 + 0.25 / 1500) ** 0.5
    assert expected["accuracy"] == pytest.approx(tested["accuracy"], abs=3 * error)
    assert tested["accuracy"] == pytest.approx(of_words["accuracy"], abs=0.02)
    assert tested["log_loss"] == pytest.approx(of_words["log_loss"], abs=0.03)

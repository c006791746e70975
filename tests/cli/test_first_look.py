"""What `train` and `evaluate` say about the data, if there is something to say."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from command_line import DELETED

from nbtext.bayes.diagnostics import score_interval
from nbtext.report.first_look import FirstLook, format_first_look

TRAINED = ("--model", "multinomial")


def write(path: Path, rows: list[tuple[str, Any]]) -> str:
    path.write_text(
        "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows)
    )
    return str(path)


def made(n: int) -> list[tuple[str, str]]:
    return [(f"{'ab'[i % 2]}word x{i % 7}a y{i % 11}b z{i % 13}c", "ab"[i % 2]) for i in range(n)]


def test_nothing_is_said_of_good_data(nbtext: Any, tmp_path: Path) -> None:
    data = write(tmp_path / "t.jsonl", made(60))
    out = str(tmp_path / "m")
    assert len(nbtext("train", data, *TRAINED, "-o", out).err.splitlines()) == 1
    assert nbtext("evaluate", data, "--folds", "3", *TRAINED).err == ""
    (line,) = nbtext(f"evaluate {data} -m {out}").err.splitlines()
    assert line.startswith("the model was trained on 60 of 60 documents")


def test_empty_rare_and_repeated_texts_are_counted(nbtext: Any, tmp_path: Path) -> None:
    """By `train`, and by `evaluate --folds`; `evaluate -m` counts what it predicts, without keeping
    the texts.
    """
    rows = [
        *made(60),
        *[("", "a"), ("?!", "b")] * 2,
        *made(30),
        ("something else", "c"),
        ("a word", "d"),
    ]
    data = write(tmp_path / "t.jsonl", rows)
    out = str(tmp_path / "m")
    empty = "4 of 96 documents hold no token"
    single = "2 labels with only one document: c, d"
    repeated = "33% of the documents repeat the words of another one"
    if "review" not in DELETED:
        repeated += "; nbtext review lists them, and near duplicates"
    for command in (
        ("train", data, *TRAINED, "-o", out),
        ("evaluate", data, "--folds", "3", *TRAINED),
    ):
        lines = nbtext(*command).err.splitlines()[-3:]
        assert lines[0].startswith(empty) and lines[1:] == [single, repeated]
    lines = nbtext(f"evaluate {data} -m {out}").err.splitlines()
    # that a label has one document here says nothing of the model
    assert lines[0].startswith("the model was trained on 92 of 96 documents")
    assert len(lines) == 2 and lines[1].startswith("4 of 96 documents hold no known word")
    assert (
        nbtext(f"evaluate {data} -m {out} -q").err
        == nbtext("train", data, *TRAINED, "-o", out, "-q").err
        == ""
    )


def test_the_largest_label_is_compared(nbtext: Any, tmp_path: Path) -> None:
    """With 9 of 10 texts of one label, accuracy says little; where the words say nothing, it is no
    better.
    """
    skewed = [
        (f"{text} {'spamword' if i % 10 == 0 else 'hamword'}", "ab"[i % 10 == 0])
        for i, (text, _) in enumerate(made(200))
    ]
    useless = [("word other", "ab"[i % 10 == 0]) for i in range(200)]
    useless = [(f"{text} w{i * 37 % 101}w", label) for i, (text, label) in enumerate(useless)]
    always = "always naming the largest label, a"
    for rows, line in (
        (skewed, f"{always}, has the accuracy 0.9000"),
        (useless, f"above 0.9000, that of {always}"),
    ):
        data = write(tmp_path / "t.jsonl", rows)
        out = str(tmp_path / "m")
        assert line in nbtext("train", data, *TRAINED, "-o", out).err
        assert line in nbtext("evaluate", data, "--folds", "5", *TRAINED).err
    assert always in nbtext(f"evaluate {data} -m {out}").err


def test_no_better_is_not_said_of_what_was_asked_for(nbtext: Any, tmp_path: Path) -> None:
    """Neither where documents are withheld, nor of a model of a balanced sample, nor of one that is
    trained for another metric.
    """
    own = {"ham": "lunch home walk", "spam": "prize cash win", "": "day time good"}

    def texts(label: str, **numbers: int) -> list[tuple[str, str]]:
        words = [own[like.strip("_")] for like, n in numbers.items() for _ in range(n)]
        return [(f"{each} v{k}", label) for k, each in enumerate(words)]

    write(tmp_path / "t", texts("ham", ham=100, _=50) + texts("spam", spam=100, _=50))
    write(tmp_path / "s", texts("ham", ham=342, spam=38) + texts("spam", spam=20))
    write(tmp_path / "h", texts("ham", ham=40, _=60) + texts("spam", spam=40, _=40))
    jsonl = "--input-format jsonl"
    assert "is not" not in nbtext(f"train t {jsonl} -o m").ok().err
    ran = nbtext(f"evaluate s {jsonl} -m m").ok()
    assert "but the mean recall of the labels is above that of any guess, 0.5000" in ran.err
    ran = nbtext(f"evaluate h {jsonl} -m m --min-probability 0.9 --to json").ok()
    assert ran.json["accuracy"] < 0.5 and "largest label" not in ran.err
    assert "is not" not in nbtext(f"train s {jsonl} -o m --optimize macro_f1").ok().err


def test_several_labels(nbtext: Any, tmp_path: Path) -> None:
    rows = [(text, [label, "all"]) for text, label in made(40)]
    data = write(tmp_path / "t.jsonl", [*rows, ("", []), ("last", ["rare"])])
    for command in (("train", data, "-o", str(tmp_path / "m")), ("evaluate", data, "--folds", "3")):
        lines = nbtext(*command).err.splitlines()[-2:]
        assert (
            lines[0].startswith("1 of 42 documents holds no token")
            and lines[1] == "1 label with only one document: rare"
        )


@pytest.mark.parametrize(
    ("accuracy", "n_documents", "is_said"),
    [(0.5, 100, True), (0.55, 100, True), (0.65, 100, False), (0.55, 10_000, False)],
)
def test_no_better_is_said_where_the_interval_holds_the_share(
    accuracy: float, n_documents: int, is_said: bool
) -> None:
    interval = score_interval(accuracy, n_documents)
    found = format_first_look(FirstLook(100, {"a": 50, "b": 50}), (accuracy, interval))
    assert bool(found) == is_said == (interval[0] <= 0.5)
    assert ("is not significantly above" in "".join(found)) == (is_said and accuracy > 0.5)


@pytest.mark.parametrize(
    ("look", "is_said"),
    [
        (FirstLook(1000, {"a": 500, "b": 500}, repeated=(19, 19)), False),
        (FirstLook(1000, {"a": 500, "b": 500}, repeated=(2, 20)), True),
        (FirstLook(1000, {"a": 500, "b": 500}, repeated=(99, 1000)), False),
        (FirstLook(100, {"a": 59, "b": 41}), False),
        (FirstLook(100, {"a": 60, "b": 40}), True),
    ],
)
def test_what_is_said_from_where_on(look: FirstLook, is_said: bool) -> None:
    """A tenth of twenty texts that repeat, and a label of three fifths."""
    assert bool(format_first_look(look)) is is_said


def text_of(chance: random.Random) -> list[str]:
    return [f"word{chance.randrange(400)}" for _ in range(30)]


def nearly_again(words: list[str], chance: random.Random) -> list[str]:
    """The same words but one."""
    changed = list(words)
    changed[chance.randrange(len(words))] = f"word{chance.randrange(400)}"
    return changed


NEEDS_REVIEW = pytest.mark.skipif("review" in DELETED, reason="it finds near duplicates")


@NEEDS_REVIEW
@pytest.mark.parametrize("model", [TRAINED, ("--model", "svm"), ("--model", "combined")])
def test_texts_that_are_nearly_equal(nbtext: Any, tmp_path: Path, model: tuple[str, str]) -> None:
    """Where each text is there again but one word, `train` and `evaluate --folds` say so, and what
    it means.
    """
    chance = random.Random(1)
    once = [text_of(chance) for _ in range(60)]
    rows = [(" ".join(words), "ab"[i % 2]) for i, words in enumerate(once)]
    data = write(tmp_path / "t.jsonl", rows)
    out = str(tmp_path / "m")
    assert "nearly equal" not in nbtext("train", data, *model, "-o", out).ok().err
    rows += [(" ".join(nearly_again(words, chance)), "ab"[i % 2]) for i, words in enumerate(once)]
    data = write(tmp_path / "t.jsonl", rows)
    commands = [("train", data, *model, "-o", out)]
    if model == TRAINED:
        commands.append(("evaluate", data, "--folds", "2", *model))
    for command in commands:
        (line,) = (
            each for each in nbtext(*command).ok().err.splitlines() if "nearly equal" in each
        )
        share = int(line.removeprefix("about ").partition("%")[0])
        assert 60 <= share <= 100
        assert "too high for new texts; nbtext review lists them" in line


@NEEDS_REVIEW
def test_most_texts_that_are_nearly_equal_are_not_retained(nbtext: Any, tmp_path: Path) -> None:
    """Of 9,000 texts, 5,120 are compared, so that few pairs are; a share of all texts is told."""
    chance = random.Random(1)
    once = [text_of(chance) for _ in range(6000)]
    again = [nearly_again(words, chance) for words in once[:3000]]
    rows = [(" ".join(words), "ab"[i % 2]) for i, words in enumerate(once + again)]
    data = write(tmp_path / "t.jsonl", rows)
    out = str(tmp_path / "m")
    (line,) = (
        each
        for each in nbtext(f"train {data} -o {out}").ok().err.splitlines()
        if "nearly equal" in each
    )
    assert 40 <= int(line.removeprefix("about ").partition("%")[0]) <= 75  # 67

"""`evaluate --predictions` reads every file that `predict` writes and that has ids, compressed or
not.
"""

import json
import random
import re
from math import log
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

from nbtext.errors import InputError
from nbtext.evaluation.predicted import PredictionsFile


@pytest.fixture(scope="module")
def rows(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models of one label and of several, and documents with odd labels, of which two
    ids are equal.
    """
    folder = tmp_path_factory.mktemp("rows")
    chance = random.Random(1)
    words = {"a,b": "apple pear", "tab\t|bar": "boat tide", "back\\t": "nail saw", "=plain": "old"}
    for name, n in (("train", 300), ("test", 40)):
        one = []
        several = []
        for number in range(n):
            labels = chance.sample(sorted(words), chance.choice([0, 1, 1, 2, 3]))
            own = [chance.choice(words[label].split()) for label in labels * 3]
            identity = "-same" if number in (3, 17) else f"{number}"
            row = {"id": identity, "text": " ".join(own) or "the of", "label": labels}
            several.append(row)
            one.append(row | {"label": [*labels, "=plain"][0]})
        write_rows(folder / f"one-{name}.jsonl", one)
        write_rows(folder / f"several-{name}.jsonl", several)
    for kind in ("one", "several"):
        nbtext(f"train {kind}-train.jsonl -q -o {kind}", cwd=folder).ok()
    return folder


@pytest.mark.parametrize("kind", ["one", "several"])
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("form", ["jsonl", "json", "tsv", "csv"])
@pytest.mark.exhaustive(every=3)
def test_evaluate_reads_what_predict_writes(
    nbtext: Any, rows: Path, kind: str, suffix: str, form: str
) -> None:
    """Every format and compression, of one label and of several, gives the decisions of the
    model.
    """
    source = f"{kind}-test.jsonl"
    path = f"{kind}.{form}{suffix}"
    options = "--id-field id --to json"
    nbtext(f"predict {source} -m {kind} --id-field id -o {path}", cwd=rows).ok()
    direct = nbtext(f"evaluate {source} -m {kind} {options}", cwd=rows).json
    ran = nbtext(f"evaluate {source} --predictions {path} {options}", cwd=rows).ok()
    found = ran.json
    names = ("documents", "unanswered", "accuracy", "macro_f1", "micro_f1", "subset_accuracy")
    assert {name: found.get(name) for name in names} == {name: direct.get(name) for name in names}
    for one, other in zip(found["per_label"], direct["per_label"], strict=True):
        assert {**one, "threshold": None} == {**other, "threshold": None}
    assert ("only of predicted labels" in ran.err) is (form in ("tsv", "csv"))


def test_other_formats_of_predict_are_named(nbtext: Any, rows: Path) -> None:
    """What has no ids or is for people is refused with the formats that can be read."""
    for form in ("table", "markdown", "header", "fasttext"):
        text = nbtext(f"predict one-test.jsonl -m one --to {form}", cwd=rows).out
        if form == "fasttext":
            text = "__label__a\n"
        with pytest.raises(
            InputError, match=r"write it with nbtext predict --to jsonl \(or json, tsv, csv\)"
        ):
            PredictionsFile(_write(rows / "p.txt", text))


def _write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


ODD = [
    "[1",
    "{a",
    "#",
    '"q"',
    "'=x",
    "tab\t",
    "line\n",
    "back\\slash\\n",
    " ",
    "[{",
    "label",
    "0.5",
]


@pytest.mark.parametrize("first", ODD)
@pytest.mark.parametrize("form", ["jsonl", "json", "tsv", "csv"])
def test_ids_that_look_like_something_else(
    nbtext: Any, rows: Path, tmp_path: Path, first: str, form: str
) -> None:
    """The first id may begin as JSON, a comment or a quoted cell does; a blank one is the place of
    the document.
    """
    lines = (rows / "one-test.jsonl").read_text().splitlines()
    documents = [
        json.loads(line) | {"id": f"{first}{number or ''}"} for number, line in enumerate(lines)
    ]
    write_rows(tmp_path / "test.jsonl", documents)
    model = str(rows / "one")
    expected = nbtext(f"evaluate test.jsonl -m {model} --to json").ok().json["accuracy"]
    written = nbtext(f"predict test.jsonl -m {model} --to {form}").ok().out
    (tmp_path / f"p.{form}").write_text(written)
    for path, given in ((f"p.{form}", ""), ("-", written)):
        ran = nbtext(
            f"evaluate test.jsonl --predictions {path} --to json", input=given.encode()
        ).ok()
        assert ran.json["accuracy"] == expected


@pytest.fixture(scope="module")
def tables(rows: Path) -> Path:
    """The test documents as every kind of table to which predictions are added, with the true label
    in `kind`.
    """
    for kind in ("one", "several"):
        lines = (rows / f"{kind}-test.jsonl").read_text().splitlines()
        found = [
            {("kind" if key == "label" else key): value for key, value in json.loads(line).items()}
            for line in lines
        ]
        flat = found if kind == "one" else [row | {"kind": "/".join(row["kind"])} for row in found]
        for form in ("jsonl", "json", "parquet", "arrow"):
            write_rows(rows / f"{kind}-t.{form}", found)
        for form in ("csv", "tsv", "db"):
            write_rows(rows / f"{kind}-t.{form}", flat)
    return rows


@pytest.mark.parametrize("kind", ["one", "several"])
@pytest.mark.parametrize("form", str.split("csv tsv csv.gz jsonl jsonl.zst json parquet arrow db"))
@pytest.mark.parametrize("prefix", ["", "my_"])
@pytest.mark.exhaustive(every=3)
def test_columns_that_were_added(
    nbtext: Any, tables: Path, tmp_path: Path, kind: str, form: str, prefix: str
) -> None:
    """A file of --add-columns is a file of predictions, and it holds the true labels beside
    them.
    """
    plain = form.partition(".")[0]
    source = str(tables / f"{kind}-t.{plain}")
    out = f"out.{form}"
    labels = ["--label-field", "kind"]
    if kind == "several" and plain in ("csv", "tsv", "db"):
        labels += ["--label-separator", "/"]
    model = str(tables / kind)
    direct = nbtext("evaluate", source, "-m", model, *labels, "--to", "json").ok().json
    added = ["--add-columns", "--column-prefix", prefix] if prefix else ["--add-columns"]
    nbtext("predict", source, "-m", model, *added, "--top-k", "4", "-o", out).ok()
    has_all = plain in ("jsonl", "json", "parquet", "arrow")
    column = prefix + ("label" if kind == "one" else "labels")
    named = ["--predicted-field", column]
    unseparated = ["--label-field", "kind"] if "--label-separator" not in labels else labels
    names = ("documents", "unanswered", "accuracy", "macro_f1", "micro_f1", "subset_accuracy")
    ways = [[source, "--predictions", out, *labels, *named], [out, *unseparated, *named]]
    if not prefix:
        ways.append([source, "--predictions", out, *labels])
    for way in ways:
        found = nbtext("evaluate", *way, "--to", "json").ok().json
        assert {name: found.get(name) for name in names} == {
            name: direct.get(name) for name in names
        }, way
        assert found["per_label"] == [
            {**each, "threshold": None} if "threshold" in each else each
            for each in direct["per_label"]
        ]
        name = "log_loss" if kind == "one" else "precision_at_3"
        assert not has_all or found[name] == pytest.approx(direct[name], abs=1e-4)


def test_predictions_without_ids_are_matched_in_order(
    nbtext: Any, tables: Path, tmp_path: Path
) -> None:
    """A table without an id column; one row more or fewer than documents is an error."""
    rows = [line.split(",", 1)[1] for line in (tables / "one-t.csv").read_text().splitlines()]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    model = tables / "one"
    ask = "evaluate t.csv --label-field kind --to json"
    nbtext(f"predict t.csv -m {model} --add-columns -o out.csv").ok()
    direct = nbtext(f"{ask} -m {model}").ok().json
    for named in ("", "--predicted-field label"):
        found = nbtext(f"{ask} --predictions out.csv {named}").ok().json
        assert found["confusion_matrix"] == direct["confusion_matrix"]
    for others, n in ((rows[:-1], "40 predictions for 39 documents"), ([*rows, rows[-1]], "40")):
        (tmp_path / "t.csv").write_text("\n".join(others))
        nbtext(f"{ask} --predictions out.csv").refused(1, f"out.csv: has no ids, and {n}")


TWO_COLUMNS = "name,true,guess,sure\na,x,x,0.9\nb,x,y,0.6\nc,y,y,0.7\nd,y,,\n"


def test_two_columns_of_a_table(nbtext: Any, tmp_path: Path) -> None:
    """By any program: the labels alone give no figure of probabilities, a column of probabilities
    gives them.
    """
    (tmp_path / "t.csv").write_text(TWO_COLUMNS)
    ask = "evaluate --label-field true --predicted-field guess --to json"
    found = nbtext(f"{ask} t.csv").ok().json
    assert (found["documents"], found["unanswered"], found["accuracy"]) == (4, 1, 0.5)
    assert found["macro_f1"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert not {"log_loss", "brier_score", "expected_calibration_error"} & found.keys()
    assert nbtext(f"{ask} -", input=TWO_COLUMNS.encode()).ok().json == found
    header, *lines = TWO_COLUMNS.split()
    write_rows(
        tmp_path / "t.jsonl",
        (dict(zip(header.split(","), line.split(","), strict=True)) for line in lines),
    )
    assert nbtext(f"{ask} t.jsonl").ok().json == found
    (tmp_path / "n.csv").write_text("\n".join(lines))
    numbers = "--label-field 2 --predicted-field 3 --no-header --to json"
    assert nbtext(f"evaluate n.csv {numbers}").ok().json == found
    with_shares = nbtext(f"{ask} t.csv --probability-field sure").ok().json
    assert with_shares["log_loss"] == pytest.approx(-log(0.9 * 0.4 * 0.7 * 0.5) / 4, rel=1e-3)
    assert nbtext(f"{ask} t.csv --fail-under accuracy=0.9").status == 3
    assert "log_loss" in nbtext(f"{ask} t.csv --fail-under log_loss=1").err


def test_several_labels_in_two_columns(nbtext: Any, tmp_path: Path) -> None:
    """Lists of JSON, or texts with a separator."""
    (tmp_path / "t.jsonl").write_text(
        '{"true": ["a", "b"], "guess": ["a"]}\n{"true": [], "guess": ["b"]}\n{"true": ["b"], "guess": ["b"]}\n'
    )
    (tmp_path / "t.csv").write_text("true,guess\na|b,a\n,b\nb,b\n")
    ask = "--label-field true --predicted-field guess --to json"
    found = nbtext(f"evaluate t.jsonl {ask}").ok().json
    assert (found["micro_f1"], found["subset_accuracy"]) == (2 * 2 / 6, 1 / 3)
    assert "precision_at_1" not in found
    of_table = nbtext(f"evaluate t.csv {ask} --label-separator |").ok().json
    assert of_table["micro_f1"] == found["micro_f1"]


PREDICTED = {
    "labels": ({}, ""),
    "probability": ({"probability": 0.75}, "rough"),
    "all": ({"probability": 0.75, "scores": {"a": 0.75, "b": 0.25, "c": 0}}, ""),
    "some": ({"probability": 0.75}, "8 predictions without a probability"),
    "sets": ({"probabilities": [0.75, 0.75]}, "left out"),
    "sets with all": ({"scores": {"a": 0.75, "b": 0.25, "c": 0.75}}, ""),
}


@pytest.mark.exhaustive(every=2)
@pytest.mark.parametrize("kind", PREDICTED)
def test_what_predictions_do_not_say_is_not_shown(nbtext: Any, tmp_path: Path, kind: str) -> None:
    """Without the probability of each prediction, no format and no page shows one, a threshold or a
    ranking by probabilities.
    """
    given, said = PREDICTED[kind]
    has_sets = "sets" in kind
    labels = (["a", "c"], ["b", "a"], ["c", "b"]) if has_sets else ("a", "b", "c")
    true = []
    predicted = []
    for n in range(24):
        true.append({"id": f"d{n}", "text": "sun", "label": labels[n % 3]})
        own = {} if kind == "some" and n % 3 == 0 else given
        predicted.append(
            {"id": f"d{n}", "labels" if has_sets else "label": labels[n % 5 % 3]} | own
        )
    write_rows(tmp_path / "t.jsonl", true)
    write_rows(tmp_path / "p.jsonl", predicted)
    ask = "evaluate t.jsonl --id-field id --predictions p.jsonl --report x.html --to"
    for form in ("table", "markdown", "tsv", "csv", "json"):
        ran = nbtext(f"{ask} {form}").ok()
        assert said in ran.err
        assert said or "probabilit" not in ran.err
    page = (tmp_path / "x.html").read_text()
    shown = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    has_probabilities = kind in ("probability", "all", "sets with all")
    metric = "precision_at_1" if has_sets else "log_loss"
    assert (metric in ran.json) is has_probabilities
    assert ("Reliability" in shown) is has_probabilities
    assert has_probabilities or "most probable" not in shown
    assert ("--min-probability" in shown) is (has_probabilities and not has_sets)
    listed = re.search(r'"d\d+",(null|[01])', page)
    assert has_sets or (listed is not None and (listed[1] == "null") is not has_probabilities)


NO_FIELDS = [
    (
        "evaluate t.csv --predicted-field nothing --label-field true",
        1,
        "t.csv:2: no column or key `nothing`, found name",
    ),
    ("evaluate t.csv --predicted-field guess -m m --label-field true", 2, "--predicted-field"),
    ("evaluate t.csv --predicted-field guess --folds 2", 2, "give exactly one of"),
    ("evaluate t.csv --probability-field sure --predictions t.csv", 2, "--probability-field"),
    ("evaluate t.csv --predicted-field guess --text-field name", 2, "--text-field"),
    ("evaluate t.txt --predicted-field guess", 1, "t.txt:1: no column or key `guess`, found 1"),
    (
        "evaluate f.txt --predicted-field guess",
        1,
        "f.txt: has no columns or keys that hold predictions",
    ),
    (
        "evaluate t.csv --predicted-field guess --probability-field name --label-field true",
        1,
        "t.csv:2",
    ),
]


@pytest.mark.parametrize(("command", "status", "message"), NO_FIELDS)
def test_fields_that_hold_no_predictions(
    nbtext: Any, tmp_path: Path, command: str, status: int, message: str
) -> None:
    """One line names the file, the line and the option."""
    (tmp_path / "t.csv").write_text(TWO_COLUMNS)
    (tmp_path / "t.txt").write_text("a\nb\n")
    (tmp_path / "f.txt").write_text("__label__a b\n")
    nbtext(command).refused(status, message)


ANSWERS = [
    (
        "p.jsonl",
        '{"id": "1", "label": "a", "scores": [1]}\n',
        "p.jsonl:1: is not a record of nbtext predict",
    ),
    ("p.tsv", "1\t\t\n", "p.tsv: no record of the file has a predicted label"),
]


@pytest.mark.parametrize(("name", "answers", "message"), ANSWERS)
def test_answers_that_cannot_be_judged(
    nbtext: Any, tmp_path: Path, name: str, answers: str, message: str
) -> None:
    """Of predictions that hold no label at all, nothing can be measured; other JSON is not a
    prediction.
    """
    (tmp_path / name).write_text(answers)
    (tmp_path / "one.jsonl").write_text('{"id": "1", "text": "red", "label": "a"}\n')
    assert (
        nbtext(f"evaluate one.jsonl --predictions {name}")
        .refused(1)
        .err.startswith(f"nbtext: {message}")
    )

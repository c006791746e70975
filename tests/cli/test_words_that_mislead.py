"""Sentences say what a figure is, and in the right number."""

from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

ROWS = "text,label\n" + "".join(f"red car {n},a\nblue bike {n},b\n" for n in range(10, 22))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(ROWS)
    return tmp_path / "t.csv"


@pytest.mark.parametrize(
    ("options", "judge"),
    [
        (("--model", "multinomial"), "leave-one-out of 24 documents"),
        (("--model", "logistic"), "5 folds of 24 documents"),
    ],
)
def test_inspect_names_the_method_of_the_estimate(
    nbtext: Any, table: Path, options: tuple[str, ...], judge: str
) -> None:
    """As the summary of training does: nothing is held out where documents are left out one by
    one.
    """
    trained = nbtext("train", "t.csv", "-o", "m", *options).ok()
    assert judge.partition(" of")[0] in trained.err
    assert f"({judge})" in " ".join(nbtext("inspect m --to table").ok().out.split())
    rows = [{"text": f"red {n}", "label": ["a", "b"][: 1 + n % 2]} for n in range(30)]
    write_rows(table.with_name("s.jsonl"), rows)
    nbtext("train s.jsonl -o s").ok()
    assert "(leave-one-out of 30 documents)" in nbtext("inspect s --to table").ok().out


def test_columns_that_stay_empty_are_named(nbtext: Any, table: Path) -> None:
    """A linear model has no likelihood of documents, by which outliers are found."""
    nbtext("train t.csv -o linear --model logistic").ok()
    nbtext("train t.csv -o bayes --model multinomial").ok()
    add = "--text-field text --add-columns --column-prefix p_ --columns"
    for columns, verb in (
        ("outlier", "outlier stays"),
        ("label,typicality,outlier", "outlier and typicality stay"),
    ):
        assert (
            f"so that {verb} empty" in nbtext(f"predict t.csv -m linear {add} {columns}").ok().err
        )
        assert nbtext(f"predict t.csv -m bayes {add} {columns}").ok().err == ""
        assert nbtext(f"predict t.csv -m linear {add} {columns} -q").ok().err == ""
    assert nbtext(f"predict t.csv -m linear {add} label").ok().err == ""


def test_estimates_on_a_part_of_the_documents_are_marked(nbtext: Any, tmp_path: Path) -> None:
    """Of several labels, linear models that are not among the best are estimated on 1,024 documents
    only.
    """
    rows = [
        {
            "text": f"word{n % 97} {'xy'[n % 2]}{n % 13}s other{n % 7}",
            "label": [["a"], ["b"], ["a", "b"]][n % 3],
        }
        for n in range(2100)
    ]
    write_rows(tmp_path / "t.jsonl", rows)
    shown = nbtext("train t.jsonl -o m --model best").ok().err
    assert "3 folds of only 1,024" in shown


def test_evaluating_says_what_happens_to_evaluated_documents(nbtext: Any, table: Path) -> None:
    """Not what training does with them."""
    nbtext("train t.csv -o m").ok()
    table.with_name("e.csv").write_text("text,label\nred car,a\n!,b\n")
    said = nbtext("evaluate e.csv -m m").ok().err
    assert said.startswith("1 of 2 documents holds no known word: the label is that of an empty ")
    table.with_name("e.csv").write_text("text,label\n?,a\n!,b\n")
    assert (
        nbtext("evaluate e.csv -m m").ok().err.startswith("2 of 2 documents hold no known word: ")
    )


def test_one_column_and_one_word(nbtext: Any, table: Path) -> None:
    nbtext("train t.csv -o m").ok()
    table.with_name("one.csv").write_text("text\na,b\n")
    assert "expected 1 comma-separated column, found 2" in nbtext("predict one.csv -m m").err
    table.with_name("stop").write_text("red\n")
    nbtext("train t.csv -o m --stop-words stop").ok()
    assert "stop_words=1 word" in nbtext("inspect m --to table").ok().out
    table.with_name("k.csv").write_text("a,blue\nb,10,zzz\n")
    table.with_name("d.txt").write_text("blue zzz\nnothing\n")
    assert (
        "keywords: 1 of 2 documents contains one" in nbtext("train d.txt --keywords k.csv -o m").err
    )

"""`nbtext evaluate --by FIELD`: the figures of each group, and what the group alone tells."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.evaluation.groups import auroc, group_accuracy


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Reviews of three shops; a shop has mostly one label, and words of its own, and words of the
    label are rare.
    """
    random = np.random.default_rng(1)
    for name in ("train", "test"):
        lines = []
        for _ in range(400):
            shop = str(random.choice(list("ABC")))
            is_good = random.random() < (0.06 if shop == "B" else 0.94)
            words = [f"{shop}{n}" for n in random.integers(0, 9, 4)]
            words += [f"w{n}" for n in random.integers(0, 40, 3)]
            month = f"2024-0{random.integers(1, 3)}"
            label = "good" if is_good else "bad"
            lines.append({"text": " ".join(words), "label": label, "shop": shop, "month": month})
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            table = csv.DictWriter(file, list(lines[0]))
            table.writeheader()
            table.writerows(lines)
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    return tmp_path


def evaluate(nbtext: Any, *options: str) -> Any:
    return nbtext("evaluate", *options, "--to", "json").ok().json


def test_the_figures_of_a_group_are_those_of_its_documents(nbtext: Any, folder: Path) -> None:
    """Of a model, of a file of predictions, and by folds; in every format of the result."""
    nbtext("train train.csv -o m").ok()
    nbtext("predict test.csv -m m -o p.jsonl").ok()
    whole = evaluate(nbtext, "test.csv", "-m", "m", "--by", "shop")
    groups = whole.pop("groups")
    assert whole == evaluate(nbtext, "test.csv", "-m", "m")
    assert groups["field"] == "shop"
    predicted = evaluate(nbtext, "test.csv", "--predictions", "p.jsonl", "--by", "shop")["groups"]
    tsv, table, form = (
        nbtext(f"evaluate test.csv -m m --by shop -q --to {name}").out
        for name in ("tsv", "table", "csv")
    )
    assert form.splitlines()[0] == "metric,value,label,group"
    rows = (folder / "test.csv").read_text().splitlines()
    for group, again in zip(groups["per_group"], predicted["per_group"], strict=True):
        shop = group["group"]
        accuracy = group["metrics"]["accuracy"]
        own = [row for row in rows if f",{shop}," in row]
        (folder / "own.csv").write_text("\n".join([rows[0], *own]))
        alone = evaluate(nbtext, "own.csv", "-m", "m")
        assert group["documents"] == len(own) == alone["documents"]
        for name, value in group["metrics"].items():
            assert value == pytest.approx(alone[name])
        assert again["metrics"]["accuracy"] == pytest.approx(accuracy)
        assert f"\naccuracy\t{accuracy:.6f}\t\t{shop}\n" in tsv
        assert f" {shop}  " in table and f"{accuracy:.4f}" in table
    labels = ["test.csv", "--label-field", "label", "--predicted-field", "label", "--by", "shop"]
    found = evaluate(nbtext, *labels)["groups"]
    assert found["per_label"] == []
    assert "log_loss" not in found["per_group"][0]["metrics"]
    for options in ((), ("--model", "best")):
        folds = evaluate(nbtext, "test.csv", "--folds", "3", "--by", "shop", *options)
        per_group = folds["groups"]["per_group"]
        right = sum(each["documents"] * each["metrics"]["accuracy"] for each in per_group)
        assert right / 400 == pytest.approx(folds["accuracy"])


def test_a_model_that_tells_sources_apart(nbtext: Any, folder: Path) -> None:
    """One line says it where the group predicts the label as well, and the AUROC within groups
    shows it; not for another field.
    """
    nbtext("train train.csv -o m").ok()
    ran = nbtext("evaluate test.csv -m m --by shop --to json")
    found = ran.json["groups"]
    assert found["is_leaking"] is True
    assert "the most frequent label of each shop is right in 0.9" in ran.err
    for each in found["per_label"]:
        assert each["auroc"] > 0.85
        assert 0.3 < each["auroc_within_groups"] < 0.7
    other = nbtext("evaluate test.csv -m m --by month --to json")
    assert other.json["groups"]["is_leaking"] is False
    assert "the most frequent label of each" not in other.err
    assert other.json["groups"]["per_label"][0]["auroc_within_groups"] > 0.85
    nbtext("evaluate test.csv -m m --by none").refused(1, "no column `none`", "--by")
    nbtext("evaluate test.csv --folds 3 --group-field shop --by month").refused(
        2, "--by: does not apply: --group-field names another field"
    )


def test_times(nbtext: Any, folder: Path) -> None:
    """Documents are grouped by a time, or by a period of it, whether or not folds are, too."""
    dated = [
        f"word{n} {label}{label},{label},2024-0{1 + n % 3}-11" for n, label in enumerate("ab" * 30)
    ]
    (folder / "dated.csv").write_text("\n".join(["text,label,day", *dated]))
    days = {f"2024-0{month}-11": 20 for month in (1, 2, 3)}
    months = {day[:7]: n for day, n in days.items()}
    for options, expected in (
        ("--by day --folds 2", days),
        ("--by day --order-field day", dict(list(days.items())[1:])),
        ("--by day:month --folds 2", months),
        ("--by day:month --group-field day:month", months),
    ):
        found = evaluate(nbtext, "dated.csv", *options.split())["groups"]["per_group"]
        assert {each["group"]: each["documents"] for each in found} == expected, options
    nbtext("train dated.csv -o dated").ok()
    found = evaluate(nbtext, "dated.csv", "-m", "dated", "--by", "day:month")["groups"]
    assert {each["group"] for each in found["per_group"]} == set(months)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 2)), min_size=1, max_size=30
    )
)
def test_figures_by_definition(rows: list[tuple[int, bool, int]]) -> None:
    """The AUROC is a share of pairs; the accuracy of groups is that of the other documents."""
    scores, is_label, groups = (np.array(column) for column in zip(*rows, strict=True))
    pairs = [
        (one, other)
        for one, has, group in rows
        for other, has_other, other_group in rows
        if has and not has_other and group == other_group
    ]
    won = [(one > other) + (one == other) / 2 for one, other in pairs]
    expected = sum(won) / len(won) if won else None
    assert auroc(scores.astype(float), is_label, groups) == pytest.approx(expected)
    labels = scores
    right = 0
    for n, (label, group) in enumerate(zip(labels, groups, strict=True)):
        others = [labels[m] for m in range(len(rows)) if m != n and groups[m] == group]
        counts = np.bincount(others or labels, minlength=4)
        right += int(counts.argmax() == label)
    assert group_accuracy(labels, groups) == pytest.approx(right / len(rows))

"""`train --group near-duplicates` and `--group-field` as typed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

COPIES = 3


@pytest.fixture(scope="module")
def threads(nbtext: Any, letters: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Letters in threads: each is quoted by two others, which add a word. Models of them, with and without groups."""
    folder = tmp_path_factory.mktemp("grouped")
    rows = [
        {
            "label": path.parent.name,
            "text": f"{path.read_text(encoding='utf-8')} re{number}x{copy}",
            "thread": f"{number:03}",
            "folder": path.parent.name,
        }
        for number, path in enumerate(sorted(letters.glob("test/*/*.txt")))
        for copy in range(COPIES)
    ]
    (folder / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    random.Random(1).shuffle(rows)
    (folder / "shuffled.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for name, options in {"alone": (), "near": ("--group", "near-duplicates"), "field": BY_THREAD}.items():
        found = nbtext("train", "x.jsonl", "-o", f"{name}.joblib", *options, cwd=folder)
        assert found.status == 0, found.err
        (folder / f"{name}.txt").write_text(found.err, encoding="utf-8")
    return folder


BY_THREAD = ("--group-field", "thread")


def estimate(nbtext: Any, path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(nbtext("inspect", str(path), "--to", "json").out)["expected"]
    return found


def test_the_estimate_is_for_new_threads(nbtext: Any, threads: Path, letters: Path) -> None:
    """Leave-one-out is too optimistic, because each letter is quoted; by group it is the accuracy on new letters."""
    test = nbtext("evaluate", str(letters / "train"), "-m", "field.joblib", "--to", "json", cwd=threads)
    accuracy = json.loads(test.out)["accuracy"]
    alone, near, field = (estimate(nbtext, threads / f"{name}.joblib") for name in ("alone", "near", "field"))
    assert alone["accuracy"] > accuracy + 0.1
    assert abs(field["accuracy"] - accuracy) < 0.08
    assert near == field  # all letters of a thread, and no others, are near duplicates
    assert field["documents"] == alone["documents"] == 252


def test_the_summary_counts_the_groups(threads: Path) -> None:
    """One line says what was left out."""
    for name in ("near", "field"):
        assert "(leave-one-out, 84 groups)" in (threads / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [("--group", "near-duplicates"), BY_THREAD])
def test_the_bytes_do_not_depend_on_the_order(nbtext: Any, threads: Path, tmp_path: Path, options: Any) -> None:
    """The same model with any number of threads, order of the documents, and with or without the compiled kernel."""
    runs: list[tuple[str, str, dict[str, str]]] = [
        ("x.jsonl", "1", {}), ("shuffled.jsonl", "3", {}), ("x.jsonl", "2", {"NBTEXT_KERNEL": "off"}),
    ]  # fmt: skip
    for number, (source, jobs, variables) in enumerate(runs):
        target = str(tmp_path / f"{number}.joblib")
        found = nbtext("train", source, "-o", target, "-j", jobs, *options, cwd=threads, **variables)
        assert found.status == 0, found.err
    assert len({(tmp_path / f"{number}.joblib").read_bytes() for number in range(len(runs))}) == 1


@pytest.mark.exhaustive
def test_evaluate_trains_as_train_does(nbtext: Any, threads: Path) -> None:
    """Cross-validation keeps near duplicates in one fold, and selects the model and its calibration by group."""
    command = ("evaluate", "x.jsonl", "--folds", "6", "--to", "json")
    alone, near, field = (
        json.loads(nbtext(*command, *options, cwd=threads).out)
        for options in ((), ("--group", "near-duplicates"), BY_THREAD)
    )
    assert near["accuracy"] < alone["accuracy"] - 0.1
    assert abs(field["accuracy"] - near["accuracy"]) < 0.08
    assert field["log_loss"] < 1.2  # calibrated by threads; otherwise the probabilities are far too close to 0 and 1


def test_linear_models_keep_groups_in_one_fold(nbtext: Any, threads: Path, letters: Path, tmp_path: Path) -> None:
    """The folds that calibrate a linear model do not cut threads."""
    for name, options in {"alone": (), "grouped": BY_THREAD}.items():
        found = nbtext("train", "x.jsonl", "--model", "logistic", "-o", str(tmp_path / name), *options, cwd=threads)
        assert ("84 groups" in found.err) == (name == "grouped")
    alone, grouped = (estimate(nbtext, tmp_path / name)["accuracy"] for name in ("alone", "grouped"))
    assert grouped < alone - 0.1


def test_a_search_compares_by_group(nbtext: Any, threads: Path, tmp_path: Path) -> None:
    """--model best judges all candidates by whole threads."""
    found = nbtext("train", "x.jsonl", "--model", "best", "-o", str(tmp_path / "m"), *BY_THREAD, cwd=threads)
    assert found.status == 0, found.err
    assert estimate(nbtext, tmp_path / "m")["accuracy"] < 0.97


def test_growth_keeps_the_estimate(nbtext: Any, threads: Path, letters: Path, tmp_path: Path) -> None:
    """A model does not store groups: update keeps the smoothing and the calibration, and says so; calibrate refuses."""
    model = tmp_path / "m.joblib"
    model.write_bytes((threads / "field.joblib").read_bytes())
    updated = nbtext("update", str(model), str(letters / "train"))
    assert updated.status == 0, updated.err
    found = json.loads(nbtext("inspect", str(model), "--to", "json").out)
    assert "calibration" in found["approximate"]
    forgotten = nbtext("forget", str(model), str(letters / "train"))
    assert forgotten.status == 0, forgotten.err
    calibrated = nbtext("calibrate", str(model), str(letters / "train"))
    assert (calibrated.status, calibrated.out) == (1, "")
    assert "the model does not store the groups of its training documents" in calibrated.err
    merged = nbtext("merge", str(model), str(threads / "field.joblib"), "-o", str(tmp_path / "both"))
    assert merged.status == 0, merged.err
    refused = nbtext("merge", str(model), str(threads / "alone.joblib"), "-o", str(tmp_path / "no"))
    assert refused.status == 1
    assert "--group is field and not given" in refused.err
    assert not (tmp_path / "no").exists()


def test_refit_keeps_the_calibration(nbtext: Any, threads: Path, tmp_path: Path) -> None:
    """Another model of the same counts is fitted without documents, so it cannot be grouped anew."""
    found = nbtext("train", str(threads / "field.joblib"), "-o", str(tmp_path / "m"))
    assert found.status == 0, found.err
    refused = nbtext("train", str(threads / "alone.joblib"), "--group", "near-duplicates", "-o", str(tmp_path / "no"))
    assert refused.status == 1
    assert "--group: leaving out groups needs the counts of each document" in refused.err


@pytest.mark.parametrize(
    ("options", "status", "what"),
    [
        (("--group-field", "nothing"), 1, "nothing"),
        (("--group-field", ""), 2, "--group-field: the name of the field is empty"),
        ((*BY_THREAD, "--keep-sample", "9"), 2, "--keep-sample: cannot be combined with --group, because"),
        (("--group", "near-duplicates", "--unlabeled", "x.jsonl", "--em", "1"), 2, "cannot be combined with --em"),
        ((*BY_THREAD, "--unlabeled", "x.jsonl", "--em", "1"), 2, "--group-field: cannot be combined with --unlabeled"),
        ((*BY_THREAD, "--label-separator", "e"), 2, "several labels cannot be left out in groups"),
    ],
)  # fmt: skip
def test_refusals(nbtext: Any, threads: Path, tmp_path: Path, options: Any, status: int, what: str) -> None:
    """One line says why, and no model is written."""
    found = nbtext("train", "x.jsonl", "-o", str(tmp_path / "m"), *options, cwd=threads)
    assert (found.status, found.out) == (status, "")
    assert what in found.err
    assert len(found.err.strip().splitlines()) == 1
    assert not (tmp_path / "m").exists()


def test_groups_that_are_the_labels(nbtext: Any, threads: Path, tmp_path: Path) -> None:
    """If each group holds all documents of a label, no model could know the label, so there is no estimate."""
    found = nbtext("train", "x.jsonl", "-o", str(tmp_path / "m"), "--group-field", "folder", cwd=threads)
    assert found.status == 0
    assert "no estimate, because each group holds all documents of a label" in found.err

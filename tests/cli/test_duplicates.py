"""The training summary counts duplicates."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LINES = "red round apple\tapple\ngreen round\tapple\nlong yellow\tbanana\nlong green ripe\tbanana\n"


def test_the_summary_says_how_many_there_are(nbtext: Any, tmp_path: Path) -> None:
    """`train X X` counts the copies, with any number of threads."""
    (tmp_path / "x.tsv").write_text("text\tlabel\n" + LINES * 40, encoding="utf-8")
    trained = [nbtext(f"train x.tsv -o m.joblib --force -j {jobs}") for jobs in ("1", "3")]
    (said,) = {each.err for each in trained}
    assert "156 duplicates" in said


def test_no_fold_tests_on_a_copy(nbtext: Any, tmp_path: Path) -> None:
    """`evaluate --folds` of X X finds no copy of a test document among the training documents."""
    rows = [
        f"only{n} {'red' if n % 2 else 'green'}\t{'a' if (n // 2) % 2 else 'b'}" for n in range(40)
    ]
    (tmp_path / "x.tsv").write_text("\n".join(["text\tlabel", *rows * 2, ""]), encoding="utf-8")
    result = nbtext("evaluate x.tsv --folds 5 --fail-under accuracy=0.9")
    assert result.status == 3, result.err


@pytest.mark.exhaustive
def test_two_copies_of_newsgroups(
    nbtext: Any, corpora: Callable[[str], Path], tmp_path: Path
) -> None:
    """20 Newsgroups, random halves: the estimate of `train X X` is within 0.015 of the test
    accuracy.
    """
    paths = sorted(
        path for part in ("train", "test") for path in (corpora("20news") / part).glob("*/*")
    )
    random.Random(1).shuffle(paths)
    lines = [
        json.dumps({"id": str(path), "text": path.read_text("latin-1"), "label": path.parent.name})
        + "\n"
        for path in paths
    ]
    (tmp_path / "x.jsonl").write_text("".join(lines[: len(lines) // 2]))
    (tmp_path / "test.jsonl").write_text("".join(lines[len(lines) // 2 :]))
    options = "--model multinomial -o m.joblib -q"
    nbtext(f"train x.jsonl x.jsonl {options}").ok()
    inspected = nbtext("inspect m.joblib --to json").json
    tested = nbtext("evaluate test.jsonl -m m.joblib --to json").json
    assert inspected["expected"]["accuracy"] == pytest.approx(tested["accuracy"], abs=0.015)


@pytest.mark.exhaustive
def test_the_halves_of_imdb_share_123_texts(corpora: Callable[[str], Path], nbtext: Any) -> None:
    """All of them are leaks of certainty 1; no other leak has it."""
    folder = corpora("imdb")
    texts: dict[str, set[str]] = {"train": set(), "test": set()}
    for part, found in texts.items():
        found.update(path.read_text() for path in folder.glob(f"{part}/*/*.txt"))
    shared = texts["train"] & texts["test"]
    assert len(shared) == 123
    options = f"--against {folder}/test --only leak --to jsonl -q"
    equal = [
        leak
        for leak in nbtext(f"review {folder}/train {options}").ok().records
        if leak["certainty"] == 1
    ]
    assert {Path(leak["documents"][0]["place"]).read_text() for leak in equal} >= shared
    assert len(equal) < 130

"""`train --holdout P`: a model of a part of the documents, evaluated on the others."""

import shutil
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

SHARE = 0.3


def is_held_out(text: str) -> bool:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) < SHARE * 2**64


@pytest.fixture(scope="module")
def parts(letters: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders: the documents that are held out, and the rest."""
    folder = tmp_path_factory.mktemp("parts")
    for path in sorted((letters / "train").rglob("*.txt")):
        part = "held" if is_held_out(path.read_text()) else "rest"
        copy = folder / part / path.relative_to(letters / "train")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return folder


@pytest.mark.parametrize("options", [(), ("--model", "svm"), ("--model", "best"), ("-j", "3")])
def test_it_is_training_and_evaluating(
    nbtext: Any, letters: Path, parts: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """The model is that of the rest, and the metrics are those of `evaluate` on the documents that
    were held out.
    """
    one = str(tmp_path / "one")
    other = str(tmp_path / "other")
    found = nbtext("train", str(letters / "train"), "--holdout", str(SHARE), "-o", one, *options)
    n_held_out = len(list((parts / "held").rglob("*.txt")))
    assert found.status == 0
    assert (
        f"skipped {n_held_out}: held out (--holdout), chosen by a hash of the text\n" in found.err
    )
    if "best" not in options:  # which has a time limit
        nbtext("train", str(parts / "rest"), "-o", other, *options).ok()
        assert Path(one).read_bytes() == Path(other).read_bytes()
    assert found.out == nbtext(f"evaluate {parts}/held -m {one}").out
    assert 0.8 * SHARE < n_held_out / 336 < 1.2 * SHARE


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_verbose_names_what_is_held_out(nbtext: Any, letters: Path, parts: Path, jobs: str) -> None:
    found = nbtext(f"train {letters}/train --holdout {SHARE} -o m -v -j {jobs}").ok()
    named = [
        line.partition("held out: ")[2] for line in found.err.splitlines() if "held out: " in line
    ]
    held_out = sorted((parts / "held").rglob("*.txt"))
    assert named == [str(letters / "train" / path.relative_to(parts / "held")) for path in held_out]


def test_rows_of_a_table_with_several_labels(nbtext: Any, tmp_path: Path) -> None:
    """Rows with an equal text are held out together; the metrics are those of several labels."""
    rows = [
        {"text": f"word{i % 40} other{i % 7}", "label": ["a", "b"][: 1 + i % 2]} for i in range(400)
    ]
    write_rows(tmp_path / "t.jsonl", rows)
    found = nbtext(f"train t.jsonl --holdout {SHARE} -o m").ok()
    n_held_out = sum(is_held_out(row["text"]) for row in rows)  # type: ignore[arg-type]
    metrics = dict(line.split("\t")[:2] for line in found.out.splitlines())
    assert (int(metrics["documents"]), "micro_f1" in metrics) == (n_held_out, True)


def test_unlabeled_documents_are_not_held_out(nbtext: Any, letters: Path) -> None:
    """They have no label to be evaluated on."""
    unlabeled = f"--unlabeled {letters}/test --em 1"
    found = nbtext(f"train {letters}/train {unlabeled} --holdout {SHARE} -o m.joblib").ok()
    assert found.err.count("held out (--holdout)") == 1

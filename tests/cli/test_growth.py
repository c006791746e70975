"""update, forget, merge and calibrate as a user types them."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from nbtext import load_model

NBTEXT = [sys.executable, "-m", "nbtext"]
VIEWS = ("--view", "word:1,2", "--view", "char_wb:2,3")


def halves(nbtext: Any, letters: Path, folder: Path, *options: str) -> None:
    """Models of the two halves of the letters, and of both."""
    for name, sources in {"a": ["train"], "b": ["test"], "ab": ["train", "test"]}.items():
        paths = [str(letters / source) for source in sources]
        nbtext("train", *paths, *options, "-o", f"{name}.joblib", cwd=folder).ok()


@pytest.mark.exhaustive(every=4)
@pytest.mark.parametrize(
    "options",
    [
        ["--keep-sample", "1000"],
        ["--keep-sample", "50", "--min-df", "2", "--weighting", ":smooth"],
        ["--keep-sample", "1000", "--model", "bernoulli", "--hash-bits", "12"],
        ["--keep-sample", "1000", "--weighting", "tfidf", "--model", "complement"],
        ["--keep-sample", "1000", *VIEWS],
        ["--keep-sample", "1000", *VIEWS, "--model", "combined"],
    ],
    ids=" ".join,
)
def test_the_same_bytes(nbtext: Any, letters: Path, tmp_path: Path, options: list[str]) -> None:
    """Merging, updating and forgetting give the file that training at once gives, with any number
    of jobs.
    """
    halves(nbtext, letters, tmp_path, *options)
    whole = (tmp_path / "ab.joblib").read_bytes()
    nbtext("merge a.joblib b.joblib -o m.joblib").ok()
    assert (tmp_path / "m.joblib").read_bytes() == whole
    for jobs, kernel in (("1", {}), ("3", {"NBTEXT_KERNEL": "off"})):
        arguments = f"update a.joblib {letters}/test -j {jobs} -o u.joblib"
        result = nbtext(arguments, **kernel)
        assert (result.status, result.out) == (0, ""), result.err
        assert (tmp_path / "u.joblib").read_bytes() == whole
    if options[1] == "1000":
        nbtext(f"forget u.joblib {letters}/test").ok()
        assert (tmp_path / "u.joblib").read_bytes() == (tmp_path / "a.joblib").read_bytes()


def test_without_a_sample(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """Without a sample the counts are exact, and smoothing and calibration do not change, which a
    line reports; calibrate refits them.
    """
    halves(nbtext, letters, tmp_path)
    updated = nbtext(f"update a.joblib {letters}/test -o u.joblib")
    merged = nbtext("merge a.joblib b.joblib -o m.joblib")
    for result, name in ((updated, "u"), (merged, "m")):
        assert result.status == 0
        assert (
            "approximate (not fitted to all documents): model, smoothing, calibration" in result.err
        )
        assert "nbtext calibrate" in result.err
        assert "--keep-sample" in result.err
        found, whole = (load_model(tmp_path / f"{each}.joblib") for each in (name, "ab"))
        parts = ("model", "smoothing", "calibration", "outlier_threshold", "nonconformity")
        assert found.fitted_.approximate == parts
        assert (found.counts_.statistics.occurrences == whole.counts_.statistics.occurrences).all()
    # the folders train and test are not labels of the model
    nbtext(f"calibrate u.joblib {letters} --input-format dirs -q").refused(
        1, "has no label 'test', 'train'; it has"
    )
    assert (
        "approximate" not in nbtext(f"calibrate u.joblib {letters}/train {letters}/test").ok().err
    )
    assert (tmp_path / "u.joblib").read_bytes() == (tmp_path / "ab.joblib").read_bytes()


def test_forgetting_other_documents(nbtext: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """Forgetting other documents than those of the training set is one line, and does not change
    the file.
    """
    path = tmp_path / "m.joblib"
    path.write_bytes(Path(model).read_bytes())
    for _ in range(2):
        nbtext(f"forget {path} {letters}/test").refused(1, "not trained on some of these documents")
        assert path.read_bytes() == Path(model).read_bytes()
    assert os.listdir(tmp_path) == ["m.joblib"]


def test_through_a_pipe(forker: Any, letters: Path, model: str, tmp_path: Path) -> None:
    """A model from standard input is updated onto standard output."""
    done = forker().run(
        ["update", "-", str(letters / "test"), "-q"], input=Path(model).read_bytes()
    )
    (tmp_path / "updated").write_bytes(done.stdout)
    assert load_model(tmp_path / "updated").counts_.statistics.n_documents == 420


def test_calibrating_on_texts_that_were_never_learned_is_no_leave_one_out(
    nbtext: Any, letters: Path
) -> None:
    """The summary says how many documents the model has not learned, as far as its counts can
    tell.
    """
    nbtext(f"train {letters}/train -o m").ok()
    new = nbtext(f"calibrate m {letters}/test -o new")
    assert (new.status, "leave-one-out" in new.err) == (0, False), new.err
    assert re.search(r"\(84 documents, 8\d of them not in the training set", new.err), new.err
    both = nbtext(f"calibrate m {letters}/train {letters}/test -o both")
    assert re.search(r"\(420 documents, 8\d of them not in the training set", both.err), both.err
    old = nbtext(f"calibrate m {letters}/train -o old")
    assert "leave-one-out" in old.err and "not learned" not in old.err


def test_one_model_is_merged_into_itself(nbtext: Any, letters: Path) -> None:
    """As where a pattern of the shell names one file."""
    nbtext(f"train {letters}/train -o a.joblib").ok()
    merged = nbtext("merge a.joblib -o m.joblib").ok()
    assert "approximate" not in merged.err
    assert Path("m.joblib").read_bytes() == Path("a.joblib").read_bytes()


@pytest.mark.parametrize("command", ["update", "forget", "calibrate"])
def test_the_first_document_with_several_labels_is_named(
    nbtext: Any, letters: Path, command: str
) -> None:
    """By its file and line."""
    nbtext(f"train {letters}/train -o a.joblib").ok()
    lines = ('{"text": "bins", "label": "trash"}', '{"text": "noise", "label": ["noise", "trash"]}')
    Path("new.jsonl").write_text("\n".join(lines) + "\n")
    nbtext(f"{command} a.joblib new.jsonl -o u.joblib").refused(
        1,
        "new.jsonl:2: the document has 2 labels (noise, trash)",
        "give documents with one label each",
    )


def test_calibrating_on_more_copies_than_were_learned(nbtext: Any, tmp_path: Path) -> None:
    """After a run that ended early, the texts of a source are more than those of the model."""
    rows = ["label\ttext", "a\tred round apple", "b\tlong thin bean", "b\tlong bent banana"]
    Path(tmp_path, "half.tsv").write_text("\n".join([*rows, rows[1]]) + "\n")
    Path(tmp_path, "whole.tsv").write_text("\n".join([*rows, *rows[1:] * 2]) + "\n")
    nbtext("train half.tsv --model multinomial -o half").ok()
    done = nbtext("calibrate half whole.tsv -o calibrated").ok()
    assert "(9 documents, 9 of them not in the training set" in done.err

"""The linear models of --model, as a user types them."""

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

from nbtext.kernel import HAS_KERNEL

LINEAR = [
    ("nbsvm", "--weighting", "tfidf"),
    ("svm", "--weighting", "tfidf"),
    ("logistic", "--C", "10", "--weighting", "binary"),
]


@pytest.mark.exhaustive(plain=2)
@pytest.mark.parametrize("options", LINEAR, ids=" ".join)
def test_train_and_evaluate(
    nbtext: Any, letters: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """The model is the same for any number of threads, is accurate, and not worse than its
    estimate.
    """
    models = [tmp_path / f"{jobs}.joblib" for jobs in (1, 3)]
    for jobs, model in zip(("1", "3"), models, strict=True):
        trained = nbtext(
            "train", str(letters / "train"), "-o", str(model), "-j", jobs, "--model", *options
        )
        assert trained.status == 0
        assert "; C 1; estimated" in trained.err or "; C 10; estimated" in trained.err
        assert "(5 folds)" in trained.err
    assert models[0].read_bytes() == models[1].read_bytes()
    found = nbtext("evaluate", str(letters / "test"), "-m", str(models[0]), "--to", "json").json
    expected = float(trained.err.split("estimated accuracy ")[1].split()[0])
    assert found["accuracy"] > expected - 0.05
    assert found["expected_calibration_error"] < 0.15


@pytest.mark.skipif(
    not HAS_KERNEL, reason="the kernel is not compiled, and Newton's method stops elsewhere"
)
def test_a_model_that_does_not_converge_says_so(nbtext: Any, tmp_path: Path) -> None:
    """Once, when it is trained or in folds, not with --quiet; `inspect` shows it."""
    counted = (("spam " * (i * 37 % 900) + "eggs " * (i * 53 % 700 + 1), i) for i in range(80))
    rows = ({"text": f"{words}w{i % 7} w{i * i % 5}", "label": "ab"[i % 2]} for words, i in counted)
    write_rows(tmp_path / "texts.jsonl", rows)
    limit = (
        "from nbtext.linear.data import SolverSettings; new = SolverSettings.__new__; "
        "new.__defaults__ = (new.__defaults__[0], 2, *new.__defaults__[2:])"  # passes at most
    )

    def run(command: str) -> str:
        program = f"{limit}; from nbtext.__main__ import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", program, *command.split()],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stderr

    train = "train texts.jsonl --model nbsvm -o m --C"
    assert "converge" not in nbtext(f"{train} 1000").ok().err
    assert "converged" not in nbtext("inspect m --to table").out
    for quiet in ("-vq", "-qj2", "--quiet"):
        assert "warning" not in run(f"{train} 1e12 {quiet}")
    assert run(f"{train} 1e12").count("nbtext: warning: nbsvm did not converge") == 1
    assert "converged" in nbtext("inspect m --to table").out
    assert nbtext("inspect m --to json").json["is_converged"] is False
    folds = "evaluate texts.jsonl --folds 3 --model nbsvm --C 1e12"
    assert run(folds).count("did not converge") == 1


def test_without_calibration_there_is_one_fit(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """And no estimate, which the summary says."""
    options = f"train {letters}/train --model nbsvm --no-calibrate --C 1 -o m"
    result = nbtext(options)
    assert result.err.endswith(
        "; C 1; no estimate without calibration (nbtext evaluate --folds gives one)\n"
    )
    assert "expected" in nbtext("inspect m --to json").out
    answer = nbtext("predict - -m m --coverage 0.9", input=b"bins\n")
    assert answer.status != 0
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("model", ["logistic", "nbsvm"])
def test_the_bytes_do_not_depend_on_the_threads_of_blas(
    nbtext: Any, letters: Path, tmp_path: Path, model: str
) -> None:
    """OpenBLAS adds up the products of long vectors in one part for each of its threads."""
    models = [tmp_path / f"{n_threads}.joblib" for n_threads in (1, 2)]
    for n_threads, path in enumerate(models, 1):
        command = f"train {letters}/train -o {path} --model {model}"
        assert nbtext(command, OPENBLAS_NUM_THREADS=str(n_threads)).status == 0
    assert models[0].read_bytes() == models[1].read_bytes()


@pytest.mark.skipif(not HAS_KERNEL, reason="the kernel is not compiled")
@pytest.mark.parametrize("options", ["nbsvm", "logistic", "svm --C auto", "nbsvm --C auto"])
def test_without_the_kernel_the_same_accuracy(nbtext: Any, letters: Path, options: str) -> None:
    """Newton's method in place of coordinate descent: it converges, and estimates and new labels
    are nearly the same.
    """
    found = []
    for kernel in ("require", "off"):
        ran = nbtext(f"train {letters}/train -o {kernel} --model {options}", NBTEXT_KERNEL=kernel)
        assert ran.ok().err.count("\n") == 1
        expected = nbtext(f"inspect {kernel} --to json").json["expected"]
        tested = nbtext(f"evaluate {letters}/test -m {kernel} --to json").json
        found.append((expected, tested))
    for plain, compiled in zip(*found, strict=True):
        assert plain["accuracy"] == pytest.approx(compiled["accuracy"], abs=0.01)
        assert plain["log_loss"] == pytest.approx(compiled["log_loss"], rel=0.02)


@pytest.mark.exhaustive
def test_the_number_of_folds_is_that_of_the_scored_ones(nbtext: Any, tmp_path: Path) -> None:
    """Of many documents, so many folds are scored as an estimate needs; that of several labels, and
    the table of a search, say it, too.
    """
    chance = random.Random(1)
    words = [f"w{k}" for k in range(40)]
    rows = [
        {"text": " ".join(chance.choices(words[k % 2 :: 2], k=4)), "label": "ab"[k % 2]}
        for k in range(36_000)
    ]
    write_rows(tmp_path / "one.jsonl", rows)
    write_rows(tmp_path / "few.jsonl", rows[:300])
    several = [row | {"label": [row["label"], "c"][: 1 + k % 2]} for k, row in enumerate(rows)]
    write_rows(tmp_path / "several.jsonl", several)
    for source, folds in (("one", "1 fold,"), ("several", "3 folds,"), ("few", "5 folds")):
        said = nbtext(f"train {source}.jsonl -o m.joblib --model svm --C 1").ok().err
        assert folds in said, said
        shown = nbtext("inspect m.joblib --to table --features 1").ok().out
        assert folds.strip(",") in shown, shown

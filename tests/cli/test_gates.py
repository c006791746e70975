"""Thresholds of --fail-under in a Makefile: where one is missed, no file says that the gate was
passed.
"""

from pathlib import Path
from typing import Any

import pytest

ROWS = [
    ("red apple", "fruit"),
    ("green pear", "fruit"),
    ("iron saw", "tool"),
    ("steel drill", "tool"),
] * 5
SUBJECTS = ("-m m", "--folds 2", "--predictions p.jsonl")


def write_documents(folder: Path, n_labels: int) -> None:
    """Write documents with one label, or with one or two."""
    more = ";sold" if n_labels == 2 else ""
    rows = [
        f"{text},{label}{more if place % 3 else ''}" for place, (text, label) in enumerate(ROWS)
    ]
    (folder / "d.csv").write_text("\n".join(["text,label", *rows, ""]))


@pytest.mark.exhaustive(every=6)
@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("n_labels", [1, 2])
@pytest.mark.parametrize("suffix", str.split("json tsv csv md txt jsonl json.gz"))
def test_a_gate_that_fails_writes_no_file(
    nbtext: Any, tmp_path: Path, subject: str, n_labels: int, suffix: str
) -> None:
    """The whole result and what fell short go to standard error; an older file stays, and the next
    run fails again.
    """
    write_documents(tmp_path, n_labels)
    read = ["--label-separator", ";"] if n_labels == 2 else []
    nbtext("train", "d.csv", *read, "-q", "-o", "m").ok()
    nbtext("predict d.csv -m m -q -o p.jsonl").ok()
    if "-m" in subject:
        read = []
    metric = "micro_f1" if n_labels == 2 else "accuracy"
    command = ["evaluate", "d.csv", *subject.split(), *read, "-q"]
    output = f"out.{suffix}"
    page = ["--report", "page.html"]
    nbtext(*command, "--fail-under", f"{metric}=0", "-o", output, *page).ok()
    before = {name: Path(name).read_bytes() for name in (output, "page.html")}
    wanted = (
        nbtext(
            *command,
            "--to",
            {"md": "markdown", "txt": "table"}.get(suffix, suffix.partition(".")[0]),
        )
        .ok()
        .out
    )
    gate = ["--fail-under", "log_loss=0" if n_labels == 1 else "classwise_calibration_error=0"]
    missed = nbtext(*command, *gate, "-o", output, *page)
    *_, last = missed.err.splitlines()
    assert (missed.status, missed.out) == (3, "")
    assert missed.err == wanted + last + "\n"
    assert last.startswith("nbtext: ") and last.endswith(", above 0")
    assert {name: Path(name).read_bytes() for name in before} == before
    for name in before:
        Path(name).unlink()
    assert nbtext(*command, *gate, "-o", output, *page) == missed
    assert not any(Path(name).exists() for name in before)
    # standard output is not a target of make
    assert nbtext(*command, *gate).out == nbtext(*command).out


def test_a_metric_that_was_not_measured_writes_no_file(nbtext: Any, tmp_path: Path) -> None:
    write_documents(tmp_path, 1)
    for threshold in ("micro_f1=0.1", "recall:tol=0.5"):
        options = ["--fail-under", threshold, "-o", "x.json", "--report", "x.html"]
        assert nbtext("evaluate", "d.csv", "--folds", "2", *options).status == 2
        assert not list(tmp_path.glob("x.*"))

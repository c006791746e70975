"""Memory holds a model and a few batches, however large the input is."""

import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from nbtext import load_model
from nbtext.cli.main import cli
from nbtext.evaluation.settings import MAX_SIZES, SAMPLE_SIZES
from nbtext.kernel import HAS_KERNEL

TOP = Path(__file__).parents[2]
MEBIBYTE = 1 << 20
NBTEXT = [sys.executable, "-m", "nbtext"]
needs_kernel = pytest.mark.skipif(
    not HAS_KERNEL, reason="without the kernel, all documents stay in memory"
)


def peak(*arguments: str) -> int:
    """The most memory that a command held at once, in bytes."""
    command = [sys.executable, "-m", "nbtext", *arguments, "-q", "-j", "2"]
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(TOP)}) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss * 1024


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory, letters: Path) -> dict[int, Path]:
    """Files of 20 and 80 MB, of the letters over and over, by their megabytes."""
    folder = tmp_path_factory.mktemp("large")
    labeled = [
        (path.parent.name, path.read_text()) for path in sorted((letters / "train").glob("*/*"))
    ]
    once = "".join(
        f"__label__{label} {' '.join(text.split())}\n" for label, text in labeled
    ).encode()
    for size in (20, 80):
        (folder / f"{size}.txt").write_bytes(once * (size * 1_000_000 // len(once)))
    return {size: folder / f"{size}.txt" for size in (20, 80)}


@pytest.mark.exhaustive
def test_predict(lines: dict[int, Path], model: str, tmp_path: Path) -> None:
    """Predicting four times as many documents needs no more memory."""
    ask = ("predict", "-m", model, "--to", "tsv", "-o", str(tmp_path / "out"))
    small, large = (peak(*ask, str(path)) for path in lines.values())
    assert large < small + 20 * MEBIBYTE


def test_train(lines: dict[int, Path], tmp_path: Path) -> None:
    """Training on four times as many documents with the same words needs no more memory once the
    sample is full.
    """
    small, large = (peak("train", str(path), "-o", str(tmp_path / "m")) for path in lines.values())
    assert large < small + 20 * MEBIBYTE


# a command whose documents are stored in temporary files, as if memory were small
STORED = """
import sys
from nbtext.features import stored_documents
stored_documents.MAX_ENTRIES_IN_MEMORY, stored_documents.RUN_ENTRIES, stored_documents.STORED_BLOCK_ENTRIES = 2_000, 1_000, 5_000
from nbtext.linear import blocks
blocks.MIN_BLOCKS = 5
from nbtext.cli.main import main
main()
"""
USUAL = {name: value for name, value in os.environ.items() if name != "TMPDIR"} | {
    "PYTHONPATH": str(TOP)
}


def stored(*arguments: str, cwd: Path, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", STORED, *arguments]
    return subprocess.Popen(
        command, cwd=cwd, text=True, stderr=subprocess.PIPE, **{"env": USUAL, **options}
    )


@needs_kernel
def test_linear_models_of_documents_in_blocks(letters: Path, tmp_path: Path) -> None:
    """The command says where the documents go; its model is as accurate as the one that is fitted
    in memory.
    """
    (tmp_path / "other").mkdir()
    train = (
        "train",
        str(letters / "train"),
        "--model",
        "nbsvm",
        "--weighting",
        "log-tfidf",
    )
    for folder, env in (
        (tmp_path, USUAL),
        (tmp_path / "other", {**USUAL, "TMPDIR": str(tmp_path / "other")}),
    ):
        with stored(*train, "-o", "model", cwd=tmp_path, env=env) as process:
            said = process.communicate()[1]
        assert (
            f"the counted documents are too many to be kept in memory, and go to temporary files in {folder}"
            in said
        )
        assert sorted(os.listdir(tmp_path)) == ["model", "other"]
        assert re.search(r"\(1 fold, scores of [\d,]+ documents", said)
    subprocess.run([*NBTEXT, *train, "-o", "usual", "-q"], cwd=tmp_path, env=USUAL, check=True)
    evaluated = []
    for model in ("usual", "model"):
        ask = [*NBTEXT, "evaluate", str(letters / "test"), "-m", model, "--to", "json"]
        done = subprocess.run(
            ask, cwd=tmp_path, env=USUAL, capture_output=True, text=True, check=True
        )
        evaluated.append(json.loads(done.stdout)["accuracy"])
    assert evaluated[1] == pytest.approx(evaluated[0], abs=0.005)


@needs_kernel
def test_an_interrupt_leaves_nothing(letters: Path, tmp_path: Path) -> None:
    """While documents are stored, or their model is fitted."""
    train = (
        "train",
        str(letters / "train"),
        "--model",
        "nbsvm",
        "--C",
        "auto",
        "-o",
        "model",
    )
    with stored(*train, cwd=tmp_path) as process:
        assert process.stderr is not None
        assert "temporary files" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 130
    assert os.listdir(tmp_path) == []


def test_a_search_on_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search of a large corpus reads a part of it, says so, and what it finds is trained on all
    documents.
    """
    texts = tmp_path / "t.jsonl"
    draw = random.Random(3)
    with texts.open("w") as file:
        for number in range(3000):
            words = " ".join(f"w{draw.randrange(50) * (number % 3 + 1)}" for _ in range(6))
            file.write(json.dumps({"text": words, "label": "abc"[number % 3]}) + "\n")
    train = ["train", str(texts), "--model", "best", "-o", str(tmp_path / "m")]
    monkeypatch.setitem(SAMPLE_SIZES, "bytes", texts.stat().st_size // 3)
    assert (
        "searched on a sample" not in CliRunner().invoke(cli, train, catch_exceptions=False).stderr
    )
    monkeypatch.setitem(MAX_SIZES, "bytes", texts.stat().st_size // 2)
    said = CliRunner().invoke(cli, train, catch_exceptions=False).stderr
    found = re.search(
        r"^searched on a sample of ([\d,]+) documents, without models that need all documents in memory",
        said,
        re.M,
    )
    assert found is not None and 900 <= int(found[1].replace(",", "")) <= 1100
    assert "stacked" not in said and "logistic" not in said
    assert load_model(str(tmp_path / "m")).counts_.statistics.n_documents == 3000

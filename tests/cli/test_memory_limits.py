"""Limits of the memory of a process. `make` runs these tests alone, so that other work does not
slow them down.
"""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from test_faults import limited, run


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are not obeyed elsewhere")
def test_a_page_under_a_limit_of_memory(letters: Path, model: str, tmp_path: Path) -> None:
    """The library of charts would end the process without a line."""
    limit = limited(resource.RLIMIT_AS, 4 << 30)
    arguments = ("evaluate", str(letters / "test"), "-m", model, "--report", "page.html")
    result = run(*arguments, cwd=tmp_path, before=limit)
    assert result.returncode == 1
    assert result.stderr.startswith("nbtext: --report: the library of charts reserves 68 GiB")
    assert result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are not obeyed elsewhere")
def test_too_little_memory(letters: Path, tmp_path: Path) -> None:
    """Under any limit of memory a command does its work, or says in one line that there was too
    little.
    """
    many = tmp_path / "many.txt"
    many.write_text(
        "".join(
            f"__label__l{n % 3000} " + " ".join(f"w{n * k}" for k in range(30)) + "\n"
            for n in range(20_000)
        )
    )
    statuses = []
    for megabytes in (40, 80, 130, 200, 250, 300, 400):
        source = str(letters / "train") if megabytes < 200 else str(many)
        limit = limited(resource.RLIMIT_AS, megabytes << 20)
        result = run("train", source, "-q", "-o", "out", cwd=tmp_path, before=limit)
        statuses.append(result.returncode)
        assert result.returncode in (0, 1), result
        if result.returncode:
            # it struck Python itself, before the first line of nbtext
            if "<frozen runpy>" in result.stderr:
                assert "nbtext" not in result.stderr, result
            else:
                # while NumPy is loaded, the library of linear algebra says it in a line of its own
                said = ("nbtext: out of memory", "OpenBLAS error: Memory allocation")
                assert result.stderr.startswith(said), result
                assert result.stderr.count("\n") == 1
            assert sorted(os.listdir(tmp_path)) == ["many.txt"]
        (tmp_path / "out").unlink(missing_ok=True)
    assert 1 in statuses


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are not obeyed elsewhere")
def test_wide_linear_models_do_not_take_all_memory(tmp_path: Path) -> None:
    """With 300 labels and 300,000 features, their weights would need 700 MB: they are not tried."""
    lines = (
        json.dumps({"text": " ".join(f"w{k}x{i}" for k in range(200)), "label": f"label {i % 300}"})
        for i in range(1500)
    )
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    trained = subprocess.run(
        [
            sys.executable,
            *["-m", "nbtext", "train", "x.jsonl", "--model", "best", "-o", "m", "-j", "1"],
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limited(resource.RLIMIT_DATA, 700 << 20),
    )
    assert trained.returncode == 0, trained.stderr
    said = " ".join(trained.stderr.split())
    assert (
        "left out, because the documents and labels are too many: stacked binary-l2 of pairs"
        in said
    )

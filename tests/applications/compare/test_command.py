"""`nbtext compare` as a user types it."""

import json
from pathlib import Path
from typing import Any

import pytest


def test_learning_curves(nbtext: Any, letters: Path) -> None:
    """More documents make better models; the same bytes for any number of jobs, with and without
    the kernel.
    """
    command = (
        f"compare {letters}/train --sizes 25,200 --models multinomial,bernoulli --seeds 3 --to"
    )
    found = nbtext(f"{command} json -j 1").ok()
    assert nbtext(f"{command} json -j 3") == found
    assert nbtext(f"{command} json", NBTEXT_KERNEL="off") == found
    table = nbtext(f"{command} table", COLUMNS="80").ok().out
    assert max(map(len, table.splitlines())) <= 80
    assert found.json["test_documents"] == 136
    few, *_ = found.json["points"]
    assert (few["model"], few["size"], len(few["values"]["accuracy"])) == ("multinomial", 25, 3)
    assert few["accuracy_deviation"] > 0
    points = {(point["model"], point["size"]): point for point in found.json["points"]}
    for model in ("multinomial", "bernoulli"):
        assert points[model, 200]["accuracy"] > points[model, 25]["accuracy"] + 0.1
        assert points[model, 200]["log_loss"] < points[model, 25]["log_loss"]


def test_from_a_matrix(nbtext: Any, letters: Path) -> None:
    """A matrix file is compared on as the texts are."""
    nbtext(f"vectorize {letters}/train -o m.npz").ok()
    options = ["--sizes", "100", "--seeds", "2", "--models", "multinomial"]
    assert nbtext("compare", "m.npz", *options).ok().out.startswith("100\tmultinomial\t0.")


def test_figures_that_are_not_measured(nbtext: Any, tmp_path: Path) -> None:
    """No model knows the label of a test document, so that there is no log-loss."""
    (tmp_path / "t.csv").write_text("text,label\none two,a\ntwo three,b\n")
    command = "compare t.csv --models multinomial --report page.html --to json"
    (point,) = nbtext(command).ok().json["points"]
    assert (point["accuracy"], point["log_loss"], point["unknown_label"]) == (0, None, 1)


@pytest.fixture(scope="module")
def candidates(
    nbtext: Any, letters: Path, model: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with two models: a.joblib and b.joblib."""
    folder: Path = tmp_path_factory.mktemp("candidates")
    (folder / "a.joblib").write_bytes(Path(model).read_bytes())
    options = ("--model", "bernoulli", "--max-features", "80", "-q", "-o", "b.joblib")
    nbtext("train", str(letters / "train"), *options, cwd=folder).ok()
    return folder


def without_time(out: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(out)
    for model in record["models"]:
        assert model.pop("seconds") > 0
    return record


def test_trained_models(nbtext: Any, letters: Path, candidates: Path) -> None:
    """JSON compares the models; it is the same for any number of jobs, and without the kernel."""
    command = f"compare {letters}/test -m a.joblib -m b.joblib --to json -j"
    record = without_time(nbtext(f"{command} 1", cwd=candidates).ok().out)
    for jobs, kernel in (("3", ""), ("2", "off")):
        again = nbtext(f"{command} {jobs}", cwd=candidates, NBTEXT_KERNEL=kernel).ok()
        assert without_time(again.out) == record
    sizes = [(candidates / name).stat().st_size for name in ("a.joblib", "b.joblib")]
    assert [model["size"] for model in record["models"]] == sizes
    (pair,) = record["pairs"]
    assert pair["accuracy"]["high"] < 0
    assert pair["p_value"] < 0.01
    assert pair["only_first"] > pair["only_second"]


def test_a_table_of_trained_models(nbtext: Any, letters: Path, candidates: Path) -> None:
    """A sentence states which model is better."""
    models = f"-m {candidates}/a.joblib -m {candidates}/b.joblib"
    shown = nbtext(f"compare {letters}/test {models} --to table").ok().out
    assert "a.joblib is significantly more accurate" in " ".join(shown.split())


@pytest.mark.exhaustive
def test_pages(nbtext: Any, letters: Path, candidates: Path, tmp_path: Path) -> None:
    """--report writes a page beside the result: of trained models, and of learning curves."""
    models = f"{letters}/test -m {candidates}/a.joblib -m {candidates}/b.joblib"
    curves = f"{letters}/train --sizes 25,50 --seeds 2 --models multinomial,bernoulli"
    for given, words in ((models, b"McNemar"), (curves, b"Learning curves")):
        result = nbtext(f"compare {given} --report page.html").ok()
        assert (result.err, result.out.count("\n")) == ("", 2 if given == models else 4)
        assert words in (tmp_path / "page.html").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]

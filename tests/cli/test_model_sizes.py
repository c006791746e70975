"""Models without counts, and models of a limited size, as a user types them."""

import re
from pathlib import Path
from typing import Any

import pytest

from nbtext.settings import parse_bytes

MISSING = ("needs the counts of the training documents", "--keep-sample")


@pytest.fixture
def models(nbtext: Any, letters: Path, tmp_path: Path) -> tuple[str, str]:
    """A linear model, and one that keeps counts."""
    model = str(tmp_path / "model.joblib")
    kept = str(tmp_path / "kept.joblib")
    for path, options in ((model, ()), (kept, ("--keep-sample", "1"))):
        nbtext("train", str(letters / "train"), "--model", "svm", *options, "-o", path, "-q").ok()
    return model, kept


def test_what_needs_counts_says_so(nbtext: Any, letters: Path, models: tuple[str, str]) -> None:
    """A linear model keeps none, but with --keep-sample: one line names this option."""
    model, kept = models
    for arguments in (
        ("train", model, "--model", "multinomial", "-o", "other"),
        ("inspect", model, "--by", "z"),
        ("inspect", model, "--by", "frequency"),
        ("prevalence", str(letters / "test"), "-m", model),
    ):
        nbtext(*arguments).refused(1, *MISSING)
        nbtext(*(kept if each == model else each for each in arguments)).ok()
    nbtext(f"update {model} {letters}/test").refused(1, "not fitted to sums of counts")


def test_commands_that_need_no_counts(nbtext: Any, letters: Path, models: tuple[str, str]) -> None:
    """They know how many documents the model was trained on, and leave out what only counts
    tell.
    """
    model, kept = models
    found, expected = (nbtext(f"inspect {each} --word parking --to json").json for each in models)
    assert (found["documents"], found["occurrences"]) == (expected["documents"], None)
    own, other = (each["words"][0]["classes"][0][1] for each in (found, expected))
    assert (own["log_odds"], own["documents"]) == (other["log_odds"], None)
    assert "–" in nbtext(f"inspect {model} --word parking --to table").ok().out
    changes = nbtext(f"diff {model} {kept} --to jsonl").records
    assert all(each["what"] != "log-odds" for each in changes)
    compared = nbtext(f"compare {letters}/test -m {model} -m {kept} --to json").json
    assert [each["documents"] for each in compared["models"]] == [336, 336]


def test_train_a_model_of_a_limited_size(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """The report says what it cost: the estimates hold for the smaller model and the one in
    full.
    """
    train = f"train {letters}/train --model nbsvm --ngrams 1,2 --weighting binary-tfidf"
    said = nbtext(f"{train} --max-model-bytes 20KB -o small").ok().err
    found = re.search(
        r"^kept ([\d,]+) of ([\d,]+) features; estimated accuracy ([\d.]+) \([\d.]+ to [\d.]+\), ([\d.]+) in full$",
        said,
        re.M,
    )
    assert found is not None, said
    n_kept, n_features, accuracy, in_full = found.groups()
    assert f" {n_kept} features; C 1; estimated accuracy {accuracy}" in said
    assert "(5 folds)" in said
    nbtext(f"{train} -o full -q").ok()
    for name, n, expected in (("small", n_kept, accuracy), ("full", n_features, in_full)):
        evaluated = nbtext(f"evaluate {letters}/test -m {name} --to json").json
        assert evaluated["accuracy"] == pytest.approx(float(expected), abs=0.06)
        assert evaluated["expected_calibration_error"] < 0.2
        assert f"{nbtext(f'inspect {name} --to json').json['n_features']:,}" == n
    assert 0.9 * 20_000 < (tmp_path / "small").stat().st_size <= 20_000
    nbtext(f"{train} --max-model-bytes 20000 -q -j 1 -o again").ok()
    assert (tmp_path / "again").read_bytes() == (tmp_path / "small").read_bytes()


def test_a_model_that_is_small_enough(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """It is saved in full, with its counts."""
    model = tmp_path / "model.joblib"
    full = tmp_path / "full.joblib"
    said = nbtext(f"train {letters}/train --max-model-bytes 1.5MiB -o {model}").ok().err
    nbtext(f"train {letters}/train -q -o {full}").ok()
    assert model.read_bytes() == full.read_bytes()
    assert f"the model in full is small enough: {full.stat().st_size:,} bytes" in said


def test_an_impossible_size(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """It is refused with the smallest possible one, and nothing is written."""
    command = f"train {letters}/train -q -o m --max-model-bytes"
    refused = nbtext(f"{command} 1KB").refused(
        2, "--max-model-bytes: 1,000 bytes are too few", "; give "
    )
    smallest = refused.err.split("; give ")[1].split(" ")[0]
    assert not (tmp_path / "m").exists()
    nbtext(f"{command} {smallest}").ok()
    assert (tmp_path / "m").stat().st_size <= int(smallest)
    nbtext(f"{command} many").refused(
        2, "'many' is not a size; write 300KB, 2MB or a number of bytes"
    )
    nbtext(f"{command} 0").refused(2, "--max-model-bytes")
    nbtext(f"{command} 20KB --keep-sample 5").refused(2, "a smaller model holds no counts")


def test_what_is_approximate_in_a_smaller_model(nbtext: Any, letters: Path) -> None:
    """No line advises to calibrate it, which needs counts, but the model in full."""
    nbtext(f"train {letters}/train -o m -q").ok()
    nbtext(f"update m {letters}/test").ok()
    advice = "refit them with nbtext calibrate"
    for options, is_advised in (("--smoothing 2", True), ("--max-model-bytes 20KB", False)):
        trained = nbtext(f"train m {options} -o n --force").ok().err
        shown = nbtext("inspect n --to table").ok().out
        assert "approximate (" in trained and "\napproximate " in shown
        assert (advice in trained, advice in shown) == (is_advised, is_advised)


def test_a_smaller_model_cannot_grow(nbtext: Any, letters: Path) -> None:
    """Each command that would change it, or that reads its counts, says why in one line."""
    nbtext(f"train {letters}/train --max-model-bytes 20KB -o m -q").ok()
    for command in ("update", "forget", "calibrate"):
        nbtext(f"{command} m {letters}/test").refused(
            1, "the model was made smaller", "it cannot grow"
        )
    nbtext("merge m m -o n").refused(1, "the model was made smaller")
    nbtext("train m -o n").refused(1, "the model was made smaller")
    nbtext("inspect m --by z").refused(1, "needs the counts of the training documents")
    nbtext("inspect m").ok()


def test_make_a_model_smaller(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """With labeled documents it is calibrated and estimated on them; without, it keeps its
    calibration.
    """
    nbtext(f"train {letters}/train --model nbsvm -o full -q").ok()
    command = "export full -o small.joblib --max-model-bytes 12KB"
    said = nbtext(f"{command} --documents {letters}/test").ok().err
    accuracy = nbtext(f"evaluate {letters}/test -m small.joblib --to json").json["accuracy"]
    in_full = nbtext(f"evaluate {letters}/test -m full --to json").json["accuracy"]
    assert f"estimated accuracy {accuracy:.3f} (" in said
    assert said.endswith(f"), {in_full:.3f} in full\n")
    assert (tmp_path / "small.joblib").stat().st_size <= 12_000
    said = nbtext("export full --to joblib -o other --max-model-bytes 12KB").ok().err
    assert "calibrated as the model in full, and not estimated again" in said
    nbtext(f"export full -o m.js --documents {letters}/test").refused(2, "--max-model-bytes")
    nbtext("export small.joblib -o m.joblib --max-model-bytes 9KB").refused(
        1, "use the model in full"
    )


def test_documents_that_cannot_calibrate(nbtext: Any, letters: Path, tmp_path: Path) -> None:
    """Documents with several labels are refused, and so are a label that the model lacks, and none
    at all.
    """
    nbtext(f"train {letters}/train --model svm -o full -q").ok()
    for name, content, message in (
        (
            "d.jsonl",
            '{"text": "a", "label": ["noise", "trash"]}\n',
            "d.jsonl:1: the document has 2",
        ),
        ("d.csv", "text,label\na noise,new\n", "the model has no label 'new'"),
        ("d.csv", "text,label\n", "--documents has no labeled documents"),
    ):
        (tmp_path / name).write_text(content)
        command = "export full -o small.joblib --max-model-bytes 12KB --documents"
        nbtext(f"{command} {name}").refused(1, message)
    assert not (tmp_path / "small.joblib").exists()


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("300KB", 300_000),
        ("2MB", 2_000_000),
        ("2M", 2_000_000),
        ("1.5 MiB", 1_572_864),
        ("4096", 4096),
        ("1gb", 10**9),
    ],
)
def test_sizes(text: str, n_bytes: int) -> None:
    assert parse_bytes(text) == n_bytes


@pytest.mark.parametrize("text", ["", "MB", "1.2.3KB", "-5", "5TB", "2 M B", "nan", "inf"])
def test_what_is_not_a_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_bytes(text)

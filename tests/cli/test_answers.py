"""Abstention and prediction sets: `--min-probability`, `--coverage` and `--optimize` of `predict`
and `evaluate`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

QUESTIONS = b"the bins were not emptied\nparking\n\nmy neighbour drills all night\n"


def test_min_probability_abstains(nbtext: Any, model: str) -> None:
    """A label below the minimum probability is left out, and the reason states its probability."""
    plain = nbtext(f"predict - -m {model} --to jsonl", input=QUESTIONS).records
    minimum = (plain[0]["probability"] + plain[3]["probability"]) / 2
    result = nbtext(
        f"predict - -m {model} --to jsonl --min-probability {minimum:g}",
        input=QUESTIONS,
    )
    found = result.records
    assert [record["label"] for record in found] == ["trash", "parking", None, None]
    assert found[2]["reason"].endswith(f"below {minimum:g}")
    probability = plain[3]["probability"]
    assert (
        found[3]["reason"]
        == f"the label noise has probability {probability:.6f}, below {minimum:g}"
    )
    assert found[3]["probability"] is None
    assert found[3]["scores"] == plain[3]["scores"]
    tsv = nbtext(f"predict - -m {model} --min-probability 0.999", input=QUESTIONS).out
    assert tsv.splitlines()[3] == "4\t\t"


def test_evaluate_counts_what_was_answered(nbtext: Any, letters: Path, model: str) -> None:
    """With --min-probability fewer documents have a label, and more of the labels are correct;
    log-loss does not change.
    """
    evaluations = [
        nbtext("evaluate", str(letters / "test"), "-m", model, "--to", "json", *options).json
        for options in ((), ("--min-probability", "0.8"))
    ]
    plain, careful = evaluations
    assert plain["answered"] == 1
    assert plain["accuracy_among_answered"] == plain["accuracy"]
    assert careful["answered"] == 1 - careful["unanswered"] / careful["documents"] < 1
    assert careful["accuracy_among_answered"] > plain["accuracy"] > careful["accuracy"]
    for name in ("log_loss", "brier_score", "expected_calibration_error"):
        assert careful[name] == plain[name]
    assert "coverage" not in careful


@pytest.mark.parametrize("asked", [("-m", "MODEL"), ("--folds", "5")])
def test_evaluate_coverage(nbtext: Any, letters: Path, model: str, asked: tuple[str, str]) -> None:
    """The observed coverage is about the one asked for, and the mean size of the sets is told."""
    how = [model if word == "MODEL" else word for word in asked]
    source = str(letters / ("test" if "-m" in asked else "train"))
    for share in (0.8, 0.95):
        found = nbtext("evaluate", source, *how, "--coverage", str(share), "--to", "json").json
        assert found["coverage"] == pytest.approx(share, abs=0.08)
        assert 0.7 < found["mean_set_size"] < 2
    table = nbtext("evaluate", source, *how, "--coverage", "0.95", "--to", "table").out
    assert (
        f"coverage {found['coverage']:.4f}, mean set size {found['mean_set_size']:.4f}"
        in " ".join(table.split())
    )


@pytest.mark.exhaustive
def test_predict_coverage(nbtext: Any, letters: Path, model: str) -> None:
    """Every format has the set, by decreasing probability; it is larger for more coverage. A
    document whose set is empty has no label, and a reason.
    """
    sizes = []
    for share in ("0.5", "0.9", "0.999"):
        result = nbtext(f"predict {letters}/test -m {model} --to jsonl --coverage {share}")
        found = result.records
        sizes.append(sum(len(record["labels"]) for record in found))
        for record in found:
            chosen = [record["scores"][label] for label in record["labels"]]
            assert chosen == sorted(record["scores"].values(), reverse=True)[: len(chosen)]
            reason = record.get("reason") or ""
            assert (
                (record["label"] is None) == ("prediction set is empty" in reason) == (not chosen)
            )
    assert sizes[0] < sizes[1] < sizes[2]
    rows = nbtext(
        f"predict {letters}/test -m {model} --to csv --coverage {share}",
    ).rows
    assert rows[0] == ["id", "label", "probability", "labels"]
    assert [row[3].split(",") for row in rows[1:]] == [record["labels"] for record in found]
    assert (
        "  [trash"
        in nbtext(f"predict - -m {model} --to table --coverage 0.98", input=QUESTIONS).out
    )


@pytest.fixture(scope="module")
def unbalanced(letters: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The letters as a training and a test file, of which two departments get nearly all."""
    folder = tmp_path_factory.mktemp("unbalanced")
    for half in ("train", "test"):
        lines = []
        for path in sorted(letters.glob(f"{half}/*/*.txt")):
            label = path.parent.name
            number = int(path.stem)
            if label in ("noise", "streets") or number % (1 if half == "test" else 7) == 0:
                lines.append(json.dumps({"label": label, "text": path.read_text()}))
        (folder / f"{half}.jsonl").write_text("\n".join(lines))
    return folder


def test_probability_is_that_of_the_predicted_label(nbtext: Any, unbalanced: Path) -> None:
    """With decision offsets, `probability` is that of the predicted label, also if another label
    has a higher one; folds use offsets, too.
    """
    nbtext("train train.jsonl -o m --optimize macro_f1", cwd=unbalanced).ok()
    found = nbtext("predict test.jsonl -m m --to jsonl", cwd=unbalanced).records
    assert all(record["probability"] == record["scores"][record["label"]] for record in found)
    assert any(record["probability"] < max(record["scores"].values()) for record in found)
    folds = [
        nbtext(
            "evaluate", "train.jsonl", "--folds", "5", "--to", "json", *options, cwd=unbalanced
        ).json
        for options in ((), ("--optimize", "macro_f1"))
    ]
    assert folds[1]["macro_f1"] > folds[0]["macro_f1"]


def test_a_threshold_of_coverage_needs_prediction_sets(
    nbtext: Any, letters: Path, model: str
) -> None:
    found = nbtext(f"evaluate {letters}/test -m {model} --fail-under coverage=0.8")
    assert (found.status, found.err.count("\n"), "give --coverage too" in found.err) == (2, 1, True)


def test_coverage_without_left_out_documents(nbtext: Any, tmp_path: Path) -> None:
    """A model for which no document could be left out refuses --coverage, and states why."""
    (tmp_path / "one.txt").write_text("__label__a red\n__label__b green\n")
    nbtext("train one.txt -o m").ok()
    nbtext("predict one.txt -m m --coverage 0.9").refused(
        2, "train it on at least two documents of each label"
    )

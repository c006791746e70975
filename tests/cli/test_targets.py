"""`--min-recall`, `--min-precision` and `--threshold` as typed, and what `--optimize` and `--cost`
say.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_files import read_cases
from scipy.stats import binomtest

from nbtext import TextClassifier

WORDS = {
    "ham": ["lunch", "meeting", "report", "friend"],
    "spam": ["prize", "cash", "winner", "loan"],
}


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two thousand short mails, some of which have words of the other label."""
    folder = tmp_path_factory.mktemp("mails")
    for name, seed in (("train", 0), ("test", 1)):
        random = np.random.default_rng(seed)
        lines = ["label,text\n"]
        for number in range(2000):
            label = "spam" if random.random() < 0.35 else "ham"
            other = "ham" if label == "spam" else "spam"
            words = [
                str(random.choice(WORDS[label if random.random() < 0.8 else other]))
                for _ in range(6)
            ]
            lines.append(f"{label},{' '.join(words)} word{number % 97} word{number % 89}\n")
        (folder / f"{name}.csv").write_text("".join(lines))
    return folder


def evaluate(nbtext: Any, folder: Path, *options: str) -> Any:
    return nbtext("evaluate", "test.csv", *options, "--to", "json", cwd=folder).json


@pytest.mark.exhaustive(every=2)
@pytest.mark.parametrize("model", ["multinomial", "nbsvm"])
def test_a_target_of_recall(nbtext: Any, mails: Path, model: str) -> None:
    """It is stored, reported with its bound, met by new documents, and checked by `evaluate`."""
    nbtext(f"train train.csv -o plain --model {model}", cwd=mails).ok()
    plain = evaluate(nbtext, mails, "-m", "plain")
    assert plain["per_label"][0]["recall"] < 0.99
    assert "targets" not in plain
    options = f"--model {model} --min-recall ham=0.99"
    trained = nbtext(f"train train.csv -o m {options}", cwd=mails)
    assert "recall of ham: 0.99" in trained.err
    assert "with 0.95 confidence; target 0.99, predicted from probability 0." in trained.err
    found = evaluate(nbtext, mails, "-m", "m")
    (check,) = found["targets"]
    assert check["value"] == found["per_label"][0]["recall"]
    assert check["result"] == "met" if check["low"] >= 0.99 else "undecided"
    assert check["low"] <= check["value"] <= check["high"]
    assert check["high"] > 0.99
    nbtext("evaluate test.csv -m m --fail-under recall:ham=0.97", cwd=mails).ok()
    for output_format, words in (
        ("table", "target recall of ham 0.99: "),
        ("tsv", "target_recall\t0.99"),
    ):
        assert words in nbtext(f"evaluate test.csv -m m --to {output_format}", cwd=mails).out


@pytest.mark.parametrize("model", ["multinomial", "svm"])
def test_a_target_of_precision_leaves_labels_blank(nbtext: Any, tmp_path: Path, model: str) -> None:
    """Documents keep their label or lose it, in the command and the library; so the other labels
    are as right as before.
    """
    write_three_labels(tmp_path)
    nbtext(f"train train.csv -o plain --model {model}").ok()
    trained = nbtext(f"train train.csv -o m --model {model} --min-precision c=0.9").ok()
    assert ", and no label below it" in trained.err
    before, after = (
        nbtext(f"predict test.csv -m {name} --to jsonl").records for name in ("plain", "m")
    )
    (target,) = nbtext("inspect m --to json").json["targets"]
    minimum = target["min_probability"]
    expected = [
        None if old["label"] == "c" and old["probability"] < minimum else old["label"]
        for old in before
    ]
    assert [new["label"] for new in after] == expected
    assert f"below {minimum:.6f}" in after[expected.index(None)]["reason"]
    evaluated = evaluate(nbtext, tmp_path, "-m", "m")
    assert evaluated["targets"][0]["min_probability"] == minimum
    assert evaluated["unanswered"] == expected.count(None)
    assert evaluated["targets"][0]["value"] >= 0.9
    plain = evaluate(nbtext, tmp_path, "-m", "plain")
    assert evaluated["per_label"][:2] == plain["per_label"][:2]
    rows = [line.split(",") for line in (tmp_path / "test.csv").read_text().splitlines()[1:]]
    classifier = TextClassifier.load(tmp_path / "m")
    texts = [text for _, text in rows]
    assert classifier.predict(texts).tolist() == expected
    true = [label for label, _ in rows]
    assert classifier.score(texts, true) == pytest.approx(evaluated["accuracy"])


def write_three_labels(folder: Path) -> None:
    for name, seed in (("train", 0), ("test", 1)):
        random = np.random.default_rng(seed)
        lines = ["label,text\n"]
        for _ in range(1500):
            label = str(random.choice(list("abc"), p=[0.5, 0.3, 0.2]))
            words = [
                f"{label if random.random() < 0.6 else random.choice(list('abc'))}{random.integers(30)}"
                for _ in range(5)
            ]
            lines.append(f"{label},{' '.join(words)}\n")
        (folder / f"{name}.csv").write_text("".join(lines))


def test_the_minimum_probability_of_an_accuracy(nbtext: Any, tmp_path: Path) -> None:
    """`predict` and `evaluate` take the figure, and their labels are then right as often as was
    asked for; what cannot be reached is said.
    """
    write_three_labels(tmp_path)
    nbtext("train train.csv -o m", cwd=tmp_path).ok()
    found = evaluate(nbtext, tmp_path, "-m", "m", "--target-accuracy", "0.95")["target_accuracy"]
    minimum = found["min_probability"]
    again = evaluate(nbtext, tmp_path, "-m", "m", "--min-probability", repr(minimum))
    assert again["accuracy_among_answered"] == pytest.approx(found["accuracy"])
    assert again["answered"] == pytest.approx(found["answered"])
    n = round(1500 * found["answered"])
    low, _ = binomtest(round(n * found["accuracy"]), n).proportion_ci(0.9, "exact")
    assert low >= 0.95
    out = nbtext("evaluate test.csv -m m --target-accuracy 0.95", cwd=tmp_path).out
    assert f"min_probability\t{minimum:.6f}\t" in out
    table = nbtext("evaluate test.csv -m m --target-accuracy 0.999 --to table", cwd=tmp_path).out
    assert "accuracy 0.999 cannot be assured with 0.95 confidence" in table
    by_folds = evaluate(nbtext, tmp_path, "--folds", "3", "--target-accuracy", "0.9")
    assert by_folds["target_accuracy"]["accuracy"] >= 0.9


def test_a_target_of_precision_by_folds(nbtext: Any, mails: Path) -> None:
    """`evaluate --folds` checks what `train` would train."""
    (check,) = evaluate(nbtext, mails, "--folds", "4", "--min-precision", "spam=0.95")["targets"]
    assert (check["metric"], check["label"], check["result"]) == ("precision", "spam", "met")


@pytest.mark.parametrize(
    ("n_correct", "n", "result"),
    [
        (955, 1000, "undecided"),
        (970, 1000, "met"),
        (930, 1000, "missed"),
        (71, 71, "undecided"),
        (72, 72, "met"),
    ],
)
def test_a_target_is_met_missed_or_undecided(
    nbtext: Any, mails: Path, tmp_path: Path, n_correct: int, n: int, result: str
) -> None:
    """An interval that contains the target says neither; the exact interval of SciPy is the
    judge.
    """
    ham = " ".join(WORDS["ham"])
    spam = " ".join(WORDS["spam"])
    asked = f"{ham},ham\n" * n_correct + f"{spam},ham\n" * (n - n_correct)
    (tmp_path / "e.csv").write_text(f"text,label\n{spam},spam\n{asked}")
    nbtext(f"train {mails}/train.csv --min-recall ham=0.95 -o m").ok()
    (check,) = nbtext("evaluate e.csv -m m --to json").json["targets"]
    low, high = binomtest(n_correct, n).proportion_ci(0.95, "exact")
    assert (check["low"], check["high"]) == pytest.approx((low, high))
    assert check["result"] == result
    shown = nbtext("evaluate e.csv -m m --to table").out
    assert f"target recall of ham 0.95: {result}, " in shown


def test_the_default_model_chooses_thresholds_on_all_retained_documents(
    nbtext: Any, tmp_path: Path
) -> None:
    """Not only on those that a model without targets is calibrated with: fewer would make them
    stricter than needed.
    """
    random = np.random.default_rng(3)
    lines = ["label,text\n"]
    for number in range(9000):
        label = "spam" if random.random() < 0.3 else "ham"
        words = [*random.choice(WORDS["ham"] + WORDS["spam"], 3), *random.choice(WORDS[label], 4)]
        lines.append(f"{label},{' '.join(words)} word{number}\n")
    (tmp_path / "t.csv").write_text("".join(lines))
    n_ham = sum(line.startswith("ham") for line in lines)
    trained = nbtext("train t.csv -o m --min-recall ham=0.99").ok()
    assert f" of {n_ham:,}), at least 0.99" in trained.err


@pytest.mark.parametrize(
    ("options", "message"),
    read_cases("""
        --min-recall ham=0.9999 => --min-recall: recall 0.9999 of ham with 0.95 confidence needs at least 29,956
        --min-precision spam=0.999 => --min-precision: precision 0.999 of spam cannot be assured
        --min-recall hum=0.9 => --min-recall: the model has no label 'hum'; did you mean ham?
        --min-recall ham=1 => --min-recall: ham=1 is not a valid value; give a number between 0 and 1
        --min-recall ham=a => 'ham=a' is not LABEL=P
        --min-recall 0.9 => '0.9' is not LABEL=P
        --min-recall ham=0.9 --min-recall ham=0.8 => --min-recall: a label has two targets
        --min-recall ham=0.9 --optimize accuracy => --optimize: accuracy and the targets
        --min-recall ham=0.99 --min-recall spam=0.99 => cannot be reached together with the other targets
    """),
)
def test_targets_without_a_meaning(nbtext: Any, mails: Path, options: str, message: str) -> None:
    """One line says what is wrong, and no model is written."""
    ran = nbtext(f"train train.csv -o none {options}", cwd=mails)
    assert ran.status in (1, 2)
    assert message in ran.err
    assert ran.err.count("\n") <= 4
    assert not (mails / "none").exists()


@pytest.mark.exhaustive
def test_a_growing_model_chooses_again_or_says_that_it_does_not(nbtext: Any, mails: Path) -> None:
    """With a retained sample, `update` equals training on all; without it, the offsets stay and a
    line says so.
    """
    (mails / "both.csv").write_text(
        (mails / "train.csv").read_text() + (mails / "test.csv").read_text()[11:]
    )
    target = ("--min-recall", "ham=0.99")
    kept = (*target, "--keep-sample", "10000")
    nbtext("train", "train.csv", "-o", "kept", *kept, cwd=mails).ok()
    nbtext("update kept test.csv", cwd=mails).ok()
    nbtext("train", "both.csv", "-o", "whole", *kept, cwd=mails).ok()
    assert (mails / "kept").read_bytes() == (mails / "whole").read_bytes()
    nbtext("train", "train.csv", "-o", "lean", *target, cwd=mails).ok()
    assert "decision offsets" in nbtext("update lean test.csv", cwd=mails).err
    assert evaluate(nbtext, mails, "-m", "lean")["targets"][0]["metric"] == "recall"
    refused = nbtext("train lean -o other --min-recall ham=0.95", cwd=mails)
    assert "needs retained documents, and the model has none" in refused.err
    nbtext("train kept -o other --min-recall ham=0.95", cwd=mails).ok()


def test_thresholds(nbtext: Any, mails: Path) -> None:
    """A label is predicted exactly where its probability reaches the threshold; the layer below
    tests what several thresholds decide.
    """
    nbtext("train train.csv -o t", cwd=mails).ok()
    ask = "test.csv -m t --to jsonl --threshold spam=0.9"
    for record in nbtext(f"predict {ask}", cwd=mails).ok().records:
        assert record["label"] == ("spam" if record["scores"]["spam"] >= 0.9 else "ham")
        assert record["probability"] == record["scores"][record["label"]]
    records = nbtext(f"predict {ask} --threshold ham=0.95", cwd=mails).ok().records
    reasons = {record.get("reason") for record in records if record["label"] is None}
    assert reasons == {"no label reaches its threshold"}
    plain = evaluate(nbtext, mails, "-m", "t")
    careful = evaluate(nbtext, mails, "-m", "t", "--threshold", "spam=0.9")
    assert careful["per_label"][0]["recall"] > plain["per_label"][0]["recall"]


def test_thresholds_without_a_meaning(nbtext: Any, mails: Path) -> None:
    nbtext("train train.csv -o t", cwd=mails).ok()
    (mails / "cost.csv").write_text("ham,spam,10\n")
    nbtext("predict test.csv -m t -o p.jsonl", cwd=mails).ok()
    for command, message in read_cases("""
        predict --threshold spam=0.9 --cost cost.csv => cannot be combined with --cost, because both decide
        predict --threshold spum=0.5 => --threshold: the model has no label 'spum'
        evaluate --threshold spum=0.5 => --threshold: the model has no label 'spum'
    """):
        ran = nbtext(f"{command} test.csv -m t", cwd=mails)
        assert ran.status != 0
        assert message in ran.err
    ran = nbtext("evaluate test.csv --predictions p.jsonl --threshold spam=0.9", cwd=mails)
    assert (
        "cannot be combined with --predictions, because predictions are final: nbtext predict has this option"
        in ran.err
    )


def test_optimize_says_what_it_gained(nbtext: Any, mails: Path) -> None:
    """The metric before and after, or that nothing changed."""
    for metric in ("accuracy", "macro_f1", "log_loss"):
        err = nbtext(f"train train.csv -o o --optimize {metric}", cwd=mails).err
        (line,) = [line for line in err.splitlines() if line.startswith("optimized ")]
        assert (
            "nothing changed, because no offsets improve it" in line
            or " without offsets, 0." in line
        )


def test_values_of_targets_are_shown_as_they_are_typed(nbtext: Any, letters: Path) -> None:
    """By inspect, and by the error of models that cannot be merged; no list of models is cut."""
    for name, more in (("a", "--min-precision trash=0.9"), ("b", "")):
        nbtext(f"train {letters}/train -q -o {name}.joblib {more}").ok()
    shown = nbtext("inspect a.joblib --features 1 --to table").ok().out
    assert "min_precision=trash=0.9" in shown
    said = "min_precision is trash=0.9 and not given"
    nbtext("merge a.joblib b.joblib -o c.joblib").refused(1, said)
    ask = f"compare {letters}/train --models"
    nbtext(f"{ask} best").refused(2, "nbtext train --model best tries models")
    listed = nbtext(f"{ask} zzz").refused(2, "there are auto, multinomial").err
    assert "svm" in listed and "…" not in listed

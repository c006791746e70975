"""Misclassification costs: `--cost FILE` as typed."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def spam(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the small corpus of spam, a model of it, and costs: ham among the spam is ten
    times as bad.
    """
    folder = tmp_path_factory.mktemp("spam")
    (folder / "spam").symlink_to(Path(__file__).parents[2] / "corpora" / "spam")
    (folder / "costs.csv").write_text("true,predicted,cost\nham,spam,10\n")
    (folder / "abstain.csv").write_text("true,predicted,cost\nham,spam,10\nspam,,0.5\nham,,0.25\n")
    (folder / "costs.tsv").write_text("ham\tspam\t10\n")
    (folder / "semicolons.csv").write_text("\nham;spam;10\n")
    nbtext("train spam -o m", cwd=folder).ok()
    return folder


def test_the_label_of_least_expected_cost(nbtext: Any, spam: Path) -> None:
    """It is spam only where ten times the probability of ham is less than that of spam, whatever
    separates columns.
    """
    questions = b"win a prize\nmeeting tomorrow\nthe free meeting\nlunch\nfree money for lunch\n"
    plain = nbtext("predict - -m m --to jsonl", input=questions, cwd=spam).records
    for name in ("costs.csv", "costs.tsv", "semicolons.csv"):
        command = f"predict - -m m --to jsonl --cost {name}"
        found = nbtext(command, input=questions, cwd=spam).records
        for before, after in zip(plain, found, strict=True):
            assert after["scores"] == before["scores"]
            if before["label"] is None:
                assert after["label"] is None
                continue
            is_spam = 10 * after["scores"]["ham"] < after["scores"]["spam"]
            assert after["label"] == ("spam" if is_spam else "ham")
            assert after["probability"] == after["scores"][after["label"]]
    assert [record["label"] for record in plain] != [record["label"] for record in found]


def test_predictions_are_judged_as_they_are(nbtext: Any, spam: Path) -> None:
    """The costs of a file of predictions are those of its labels, and --fail-under mean_cost
    works.
    """
    nbtext("predict spam -m m --to tsv --cost costs.csv -o p.tsv", cwd=spam).ok()
    direct = nbtext("evaluate spam -m m --cost costs.csv --to json", cwd=spam).json
    options = "--predictions p.tsv --cost costs.csv --fail-under mean_cost=100"
    assert (
        nbtext(f"evaluate spam {options} --to json", cwd=spam).ok().json["mean_cost"]
        == direct["mean_cost"]
    )


def test_abstaining_may_cost_least(nbtext: Any, spam: Path) -> None:
    """The predicted label "" of the file stands for no label: a document has none if that costs
    least, and a reason.
    """
    questions = b"win a prize\nmeeting tomorrow\nthe free meeting\nlunch\nfree money for lunch\n"
    ask = "predict - -m m --to jsonl --cost abstain.csv"
    found = [
        record
        for record in nbtext(ask, input=questions, cwd=spam).records
        if any(record["scores"].values())
    ]
    labels = set()
    for record in found:
        ham = record["scores"]["ham"]
        spam_ = record["scores"]["spam"]
        costs = {"ham": spam_, "spam": 10 * ham, None: 0.5 * spam_ + 0.25 * ham}
        assert costs[record["label"]] == pytest.approx(min(costs.values()), abs=1e-6)
        assert (record["label"] is None) == ("abstaining" in (record.get("reason") or ""))
        labels.add(record["label"])
    assert None in labels and len(labels) > 1


@pytest.mark.parametrize("how", [("-m", "m"), ("--folds", "4")])
def test_evaluate_counts_abstentions_at_their_cost(
    nbtext: Any, spam: Path, how: tuple[str, str]
) -> None:
    """The mean cost is that of the answers and of the abstentions."""
    ask = ("evaluate", "spam", *how, "--to", "json", "--cost")
    found = nbtext(*ask, "abstain.csv", cwd=spam).json
    assert (found["unanswered"] > 0) == (how[0] == "--folds")  # it is sure of what it has learned
    (ham_right, ham_as_spam), (spam_as_ham, spam_right) = found["confusion_matrix"]
    support = {row["label"]: row["support"] for row in found["per_label"]}
    cost = 10 * ham_as_spam + spam_as_ham
    cost += 0.25 * (support["ham"] - ham_right - ham_as_spam) + 0.5 * (
        support["spam"] - spam_as_ham - spam_right
    )
    assert found["mean_cost"] == pytest.approx(cost / found["documents"])
    table = nbtext("evaluate", "spam", *how, "--cost", "costs.csv", "--to", "table", cwd=spam).out
    assert "mean cost " in table


WRONG = [
    (b"ham,spam,10\nham,spma,1\n", "c:2: the model has no label 'spma'; its labels are ham, spam"),
    (b"ham,spam\n", "c:1: expected 3 columns, found 2"),
    (b"a,b,cost\nham,spam,much\n", "c:2: 'much' is not a cost"),
    (b"ham,spam,inf\n", "c:1: 'inf' is not a cost"),
    (b"ham,spam,1\n\nham,spam,2\n", "c:3: the cost of ham predicted as spam is given twice"),
    (b",spam,1\n", "c:1: the true label is empty"),
    # a first line of labels is not a header
    (b"ham,spam,1O\nspam,ham,2\n", "c:1: '1O' is not a cost"),
    (b"ham,spam,\nspam,ham,2\n", "c:1: '' is not a cost"),
    (b"", "c: the file has no cost"),
    (b"true,predicted,cost\n", "c: the file has no cost"),
    (b"ham\xff,spam,1\n", "c:1: is not UTF-8; save it as UTF-8"),
    (b'ham,"spam,1\n', "c:1: is not valid CSV"),
]


@pytest.mark.parametrize(("data", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_bad_file(nbtext: Any, spam: Path, data: bytes, message: str) -> None:
    """One line names the file, the line and what is wrong with it."""
    (spam / "c").write_bytes(data)
    for command in (
        ["predict", "spam", "-m", "m"],
        ["evaluate", "spam", "-m", "m"],
        ["evaluate", "spam", "--folds", "2"],
    ):
        nbtext(*command, "--cost", "c", cwd=spam).refused(1, message)

"""A true label that the model does not know: wrong in the accuracy, left out of metrics of
probabilities, counted.
"""

import json
from pathlib import Path
from typing import Any

import pytest

KNOWN = {
    "fruit": ["red apple pie", "ripe pear jam", "apple and pear juice", "plum jam and apple"],
    "metal": ["iron bolt and nut", "steel bolt", "iron and steel sheet", "copper nut and wire"],
}
OTHERS = ["green frog", "frog and toad"]  # of the label that no model knows
OF_PROBABILITIES = ("log_loss", "brier_score", "expected_calibration_error")


def write(path: str, rows: list[tuple[str, Any]]) -> str:
    Path(path).write_text(
        "".join(f"{json.dumps({'text': text, 'label': label})}\n" for text, label in rows)
    )
    return path


@pytest.fixture
def corpora() -> dict[str, str]:
    """Training documents; test documents of their labels; and these with those of another label."""
    known = [(text, label) for label, texts in KNOWN.items() for text in texts]
    asked = [(f"{text} again", label) for text, label in known]
    others = [(text, "animal") for text in OTHERS]
    return {
        "train": write("train.jsonl", known),
        "known": write("known.jsonl", asked),
        "all": write("all.jsonl", asked + others),
    }


def test_a_model(nbtext: Any, corpora: dict[str, str]) -> None:
    """What is measured by probabilities is as without these documents; each format says how many
    there are.
    """
    nbtext("train", corpora["train"], "-o", "m.joblib").ok()
    known, found = (
        nbtext("evaluate", corpora[name], "-m", "m.joblib", "--to", "json").ok().json
        for name in ("known", "all")
    )
    assert "unknown_label" not in known
    assert (found["documents"], found["unknown_label"]) == (10, 2)
    assert found["accuracy"] == pytest.approx(known["accuracy"] * 0.8)
    for name in (*OF_PROBABILITIES, "reliability"):
        assert found[name] == known[name]
    for form, row in (
        ("tsv", "unknown_label\t2\t"),
        ("csv", "unknown_label,2,"),
        ("table", "2 with a label that the model does not know"),
    ):
        shown = nbtext("evaluate", corpora["all"], "-m", "m.joblib", "--to", form).ok().out
        assert row in " ".join(shown.split()) if form == "table" else row in shown
    nbtext("evaluate", corpora["all"], "-m", "m.joblib", "--report", "page.html").ok()
    assert "2 with a label that the model does not know" in Path("page.html").read_text()


def test_only_such_documents(nbtext: Any, corpora: dict[str, str]) -> None:
    """Nothing is measured by probabilities, in a page either; a threshold of it is refused by its
    reason.
    """
    nbtext("train", corpora["train"], "-o", "m.joblib").ok()
    write("other.jsonl", [(text, "animal") for text in OTHERS])
    found = nbtext("evaluate other.jsonl -m m.joblib --to json --report page.html").ok().json
    assert (found["accuracy"], found["unknown_label"]) == (0, 2)
    assert not set(OF_PROBABILITIES) & found.keys()
    nbtext("evaluate other.jsonl -m m.joblib --to table").ok()
    refused = nbtext("evaluate other.jsonl -m m.joblib --fail-under log_loss=1")
    assert refused.status == 2
    assert (
        "log_loss was not measured; each document has a label that the model does not know"
        in refused.err
    )


@pytest.mark.parametrize("form", ["jsonl", "tsv"])
def test_predictions(nbtext: Any, corpora: dict[str, str], form: str) -> None:
    """A file of predictions says the same as the model."""
    nbtext("train", corpora["train"], "-o", "m.joblib").ok()
    nbtext("predict", corpora["all"], "-m", "m.joblib", "-o", f"p.{form}").ok()
    by_model = nbtext("evaluate", corpora["all"], "-m", "m.joblib", "--to", "json").ok().json
    by_file = (
        nbtext("evaluate", corpora["all"], "--predictions", f"p.{form}", "--to", "json").ok().json
    )
    assert by_file["unknown_label"] == by_model["unknown_label"] == 2
    assert by_file["log_loss"] == pytest.approx(by_model["log_loss"], abs=1e-5)


def test_labels_alone(nbtext: Any) -> None:
    """Predicted labels without probabilities are of no model, so none of the true ones is unknown
    to it.
    """
    Path("t.csv").write_text("true,guess,text\na,a,x\nb,a,y\nc,a,z\n")
    found = (
        nbtext(
            "evaluate t.csv --label-field true --predicted-field guess --to json",
        )
        .ok()
        .json
    )
    assert "unknown_label" not in found
    assert found["macro_f1"] == pytest.approx((0.5 + 0 + 0) / 3)

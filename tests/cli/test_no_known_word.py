"""A document without a known word is like any other for the commands; --min-known withholds its
label.
"""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from made_texts import make_texts


def write_csv(path: Path, rows: list[tuple[str, Any]]) -> str:
    lines = io.StringIO()
    csv.writer(lines).writerows([("text", "label"), *rows])
    path.write_text(lines.getvalue(), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "model", str.split("auto dirichlet bernoulli complement categorical svm logistic")
)
def test_estimates_agree_on_texts_without_a_known_word(
    nbtext: Any, tmp_path: Path, model: str
) -> None:
    """Half of 240 texts have no known word, and two thirds of them the first label: `train`,
    `evaluate --folds` and `evaluate -m` count them alike.
    """
    data = write_csv(tmp_path / "t.csv", make_texts(240))
    out = str(tmp_path / "m")
    trained = nbtext(f"train {data} --model {model} -o {out}").err
    assert "accuracy 0.83" in trained
    folds = nbtext(f"evaluate {data} --folds 5 --model {model} --to json").json
    new = write_csv(
        tmp_path / "new.csv",
        [(text.replace("unheard", "new"), label) for text, label in make_texts(240)],
    )
    held_out = nbtext(f"evaluate {new} -m {out} --to json").json
    for found in (folds, held_out):
        assert (found["unanswered"], found["accuracy"]) == (0, pytest.approx(5 / 6, abs=0.01))
    for how in (("--folds", "5", "--model", model), ("-m", out)):
        careful = nbtext("evaluate", new, *how, "--min-known", "0.5", "--to", "json").json
        assert (careful["unanswered"], careful["accuracy"]) == (120, 0.5)
        assert careful["accuracy_among_answered"] == 1


def test_min_known(nbtext: Any, tmp_path: Path) -> None:
    """No label unless the model knows at least this share of the tokens; the record says why."""
    data = write_csv(tmp_path / "t.csv", make_texts(240))
    nbtext(f"train {data} -o m").ok()
    lines = b"apple zzz\napple pear plum zzz\nzzz\n"
    command = "predict - -m m --to jsonl"
    free = nbtext(command, input=lines)
    assert [json.loads(line)["label"] for line in free.out.splitlines()] == ["fruit"] * 3
    assert json.loads(free.out.splitlines()[2])["known"] == 0
    careful = nbtext(f"{command} --min-known 0.6", input=lines)
    found = careful.records
    assert [each["label"] for each in found] == [None, "fruit", None]
    assert found[0]["reason"] == "the share 0.500000 of the tokens is known, below 0.6"
    assert found[2]["reason"] == "the share 0.000000 of the tokens is known, below 0.6"
    assert found[2]["scores"] == json.loads(free.out.splitlines()[2])["scores"]
    nbtext(f"{command} --min-known 2", input=lines).refused(2, "--min-known")

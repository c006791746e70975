"""Every event model as a user types it: train, save, predict and cross-validate."""

from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

from nbtext import TextClassifier
from nbtext.bayes.event_models import EVENT_MODELS


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("model", EVENT_MODELS)
def test_the_same_bytes(nbtext: Any, letters: Path, tmp_path: Path, model: str) -> None:
    """Model and answers are the same bytes with the kernel and without, and with any number of
    jobs.
    """
    for name, jobs, environment in (
        ("a", "1", {}),
        ("b", "3", {}),
        ("c", "2", {"NBTEXT_KERNEL": "off"}),
    ):
        arguments = ["--model", model, "-j", jobs, "-o", name]
        trained = nbtext("train", str(letters / "train"), *arguments, **environment).ok()
        assert trained.err.startswith(f"{model}: 336 documents, 6 labels, ")
        asked = ["predict", str(letters / "test"), "-m", name, "-j", jobs, "-o", f"{name}.tsv"]
        nbtext(*asked, **environment).ok()
    assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1
    assert len({(tmp_path / f"{name}.tsv").read_bytes() for name in "abc"}) == 1


def test_normalized_weights_are_calibrated(nbtext: Any, letters: Path) -> None:
    """Weights that sum to one give small scores; smoothing and calibration do not depend on
    that.
    """
    files = sorted((letters / "train").rglob("*.txt"))
    texts = [path.read_text(encoding="utf-8") for path in files]
    classifier = TextClassifier(model="complement", normalize_weights=True)
    classifier.fit(texts, [path.parent.name for path in files]).save("model")
    found = nbtext(f"evaluate {letters}/test -m model --to json").json
    assert found["accuracy"] > 0.92
    assert found["log_loss"] < 0.25


@pytest.mark.parametrize("model", ["nbsvm", "logistic", "multinomial", "dirichlet", "gaussian"])
def test_no_weights_at_all_are_no_warning(nbtext: Any, tmp_path: Path, model: str) -> None:
    """The plain inverse document frequency of words that all documents hold is 0."""
    rows = [{"label": "ab"[n % 2], "text": "same words" + " same" * (n % 3)} for n in range(12)]
    write_rows(tmp_path / "same.jsonl", rows)
    result = nbtext(f"train same.jsonl --model {model} --weighting :plain -o m").ok()
    assert "Warning" not in result.err

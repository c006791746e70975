"""Texts in groups, from Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nbtext import TextClassifier, load_model
from nbtext.errors import InputError, SettingsError

TEXTS = [f"{word} {more} {number}word" for number, (word, more) in enumerate(
    [("red", "round"), ("red", "sweet"), ("green", "round"), ("long", "yellow"), ("long", "ripe"), ("yellow", "ripe")]
    * 4
)]  # fmt: skip
LABELS = (["apple"] * 3 + ["banana"] * 3) * 4
GROUPS = [number // 3 for number in range(len(TEXTS))]


@pytest.mark.parametrize("model", ["auto", "bernoulli", "gaussian", "nbsvm"])
def test_fit_leaves_out_whole_groups(model: str, tmp_path: Path) -> None:
    """The estimate is by group, the model is otherwise the same, and its file says so."""
    alone = TextClassifier(model=model, smoothing=None).fit(TEXTS, LABELS)
    grouped = TextClassifier(model=model).fit(TEXTS, LABELS, groups=GROUPS)
    estimate = grouped.fitted_.estimate
    assert estimate is not None
    assert alone.fitted_.estimate is not None
    assert (estimate.groups, alone.fitted_.estimate.groups) == (8, 0)
    grouped.save(tmp_path / "m.joblib")
    loaded = load_model(tmp_path / "m.joblib")
    assert loaded.fitted_.estimate == estimate
    assert loaded.predict(TEXTS).tolist() == grouped.predict(TEXTS).tolist()


def test_left_out_probabilities_are_those_of_refits() -> None:
    """A text is scored by a model of the texts of other groups, with the calibration of the model."""
    settings = {"model": "multinomial", "smoothing": 1.0, "prior": "uniform", "calibrate": False}
    grouped = TextClassifier(**settings).fit(TEXTS, LABELS, groups=GROUPS)  # type: ignore[arg-type]
    found = grouped.leave_one_out_predict_proba_
    vocabulary = grouped.counts_.vocabulary
    assert vocabulary is not None
    for row, text in enumerate(TEXTS):
        others = [place for place, group in enumerate(GROUPS) if group != GROUPS[row]]
        refitted = TextClassifier(vocabulary=tuple(vocabulary.terms), **settings)  # type: ignore[arg-type]
        refitted.fit([TEXTS[place] for place in others], [LABELS[place] for place in others])
        known = " ".join(
            word for word in text.split() if not word.endswith("word")
        )  # the others do not have its number
        np.testing.assert_allclose(found[row], refitted.predict_proba([known])[0], rtol=1e-9)


def test_near_duplicates() -> None:
    """TextClassifier(group=...) finds the groups itself."""
    texts = [f"{text} one two three four five six seven eight nine ten" for text in TEXTS]
    copies = [f"{text} again" for text in texts]
    fitted = TextClassifier(group="near-duplicates").fit(texts + copies, LABELS * 2).fitted_
    assert fitted.estimate is not None
    assert 0 < fitted.estimate.groups <= len(texts)


def test_wrong_groups() -> None:
    """Groups of another number, and settings that ask for groups which are not given."""
    with pytest.raises(InputError, match="24 texts and 1 group differ in number"):
        TextClassifier().fit(TEXTS, LABELS, groups=[1])
    with pytest.raises(SettingsError, match="give the group of each document"):
        TextClassifier(group="field").fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="author"):
        TextClassifier(group="author")
    with pytest.raises(SettingsError, match="keep_sample"):
        TextClassifier(group="near-duplicates", keep_sample=5)

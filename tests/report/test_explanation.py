"""Explanations as text: complete for programs, and without control characters for terminals."""

import json
import math
import re
from typing import Any

import pytest

from nbtext.documents.batch import Batch
from nbtext.features.analyzer import Locator
from nbtext.model.explanation import Explainer, Explanation
from nbtext.report.explanation import explanations_result, part_weights
from nbtext.report.records import OUTPUT_FORMATS
from nbtext.report.result import format_result
from nbtext.report.terminal import PLAIN_SCREEN, Screen
from nbtext.text_classifier import TextClassifier

HOSTILE = "a\x1b[31m\tb\n<script>|c\\d\udcff"
TEXT = "Red \x1b]0;owned\x07 SUN\r\n\tred [bold]sea[/bold] :smile: 日本語 never"
SEQUENCE = re.compile(r"\x1b\[[\d;]*m")
COLORFUL = Screen(60, is_styled=True, has_color=True)


@pytest.fixture(scope="module")
def classifier() -> TextClassifier:
    """Two labels, one of which a terminal would obey."""
    return TextClassifier().fit(
        ["red sun", "red red", "blue sea", "sea owned"], [HOSTILE, HOSTILE, "cold", "cold"]
    )


def explained(classifier: TextClassifier, text: str = TEXT) -> list[Explanation]:
    return Explainer(classifier.fitted_).explain_batch(
        Batch([HOSTILE, "2"], ([text, ""],), [None, None])
    )


def written(form: str, explanations: list[Explanation], **options: Any) -> str:
    screen = options.pop("screen", PLAIN_SCREEN)
    found = explanations_result(explanations, **options)
    return "".join(format_result(found, form, screen)).encode("utf-8", "backslashreplace").decode()


@pytest.mark.parametrize("form", OUTPUT_FORMATS)
def test_nothing_is_obeyed(classifier: TextClassifier, form: str) -> None:
    """Only the colors of nbtext reach a terminal; markup and emoji codes are plain text; no line is
    too wide.
    """
    locate = Locator(classifier.feature_settings)
    text = written(form, explained(classifier), locate=locate, screen=COLORFUL)
    if form == "table":
        plain = SEQUENCE.sub("", text)
        assert "\\x1b]0;owned\\x07" in plain
        assert "[bold]sea[/bold] :smile: 日本語" in plain
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", plain)
    elif form not in ("csv", "tsv"):
        assert "\x1b" not in text


def test_without_colors(classifier: TextClassifier) -> None:
    """Bold and underlined remain where there are no colors, and nothing at all in a file."""
    locate = Locator(classifier.feature_settings)
    explanations = explained(classifier)
    styled = written("table", explanations, locate=locate, screen=Screen(60, is_styled=True))
    assert set(re.findall(r"\x1b\[([\d;]*)m", styled)) <= {"0", "1", "4", "1;4"}
    assert "\x1b" not in written("table", explanations, locate=locate)


def test_words_are_marked_where_they_stand(classifier: TextClassifier) -> None:
    """Each occurrence bears its share, and all characters of a word the same."""
    (explanation, _) = explained(classifier, "Red sea, RED!")
    ((*marks,),) = part_weights(explanation, Locator(classifier.feature_settings))
    parts = {part.feature: part.log_odds for part in explanation.contributions}
    assert marks[:3] == marks[9:12] == [parts["red"] / 2] * 3
    assert marks[4:7] == [parts["sea"]] * 3
    assert marks[3] == marks[7] == marks[12] == 0


def test_programs_get_it_all(classifier: TextClassifier) -> None:
    """JSON has every contribution in full; if their number is limited, the others are one sum."""
    whole, empty = (
        json.loads(line) for line in written("jsonl", explained(classifier)).splitlines()
    )
    total = sum(whole["terms"].values()) + sum(each["log_odds"] for each in whole["contributions"])
    assert total == pytest.approx(whole["log_odds"], abs=1e-9)
    assert total == pytest.approx(
        math.log(whole["probability"] / whole["other_probability"]), abs=1e-9
    )
    assert (empty["contributions"], "reason" in empty) == ([], False)
    short = json.loads(written("jsonl", explained(classifier), n_features=1).splitlines()[0])
    assert short["contributions"] == whole["contributions"][:1]
    assert short["other_contributions"] == pytest.approx(
        sum(part["log_odds"] for part in whole["contributions"][1:])
    )
    assert json.loads(written("json", explained(classifier))) == [whole, empty]
    assert written("json", []) == "[]\n"


def test_rows(classifier: TextClassifier) -> None:
    """One for each feature shown, one for all others, and one for each other term; they add up
    too.
    """
    rows = [
        line.split("\t")
        for line in written("tsv", explained(classifier), n_features=2).splitlines()
    ]
    terms = ["prior", "absent", "other_labels", "calibration"]
    words = [row for row in rows if row[0] == rows[0][0]]
    assert [row[3] for row in words] == ["feature", "feature", "others", *terms]
    assert [row[3] for row in rows[len(words) :]] == terms  # of a text without words
    whole = json.loads(written("jsonl", explained(classifier)).splitlines()[0])
    total = sum(float(row[6]) for row in words)
    assert total == pytest.approx(whole["log_odds"], abs=1e-5)


@pytest.mark.parametrize("form", ["table", "markdown", "tsv", "csv"])
def test_no_feature_at_all(classifier: TextClassifier, form: str) -> None:
    """Asked for none, it shows none, and what all of them come to."""
    shown = written(form, explained(classifier), n_features=0)
    assert "sun" not in shown  # the text spells it in capitals
    assert "others" in shown

"""The difference between two models."""

import json
from math import log
from typing import Any

import pytest

from nbtext.applications.diff.difference import list_differences
from nbtext.applications.diff.result import difference_result
from nbtext.report.records import OUTPUT_FORMATS
from nbtext.report.result import format_result
from nbtext.text_classifier import TextClassifier

CHINA = (
    ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"],
    ["china", "china", "china", "japan"],
)
HOSTILE = "a\x1b[31m\tb\n<script>|c\\d\udcff"


def difference(before: TextClassifier, after: TextClassifier) -> dict[tuple[str, ...], Any]:
    """Both values of each change, by what, label and name."""
    found = list_differences(before.model_, after.model_)
    return {tuple(change[:3]): tuple(change[3:]) for change in found}


def n_common(found: dict[tuple[str, ...], Any]) -> int:
    return int(found["size", "", "n_common_features"][0])


def test_nothing_has_changed() -> None:
    """Of a model and itself, there are only the sizes."""
    classifier = TextClassifier().fit(*CHINA)
    found = difference(classifier, classifier)
    assert {what for what, *_ in found} == {"size"}
    assert all(before == after for before, after in found.values())
    assert n_common(found) == 6


def test_by_hand() -> None:
    """One document more: Chinese was 6/14 of China against 2/9, and is 6/14 against 4/12
    afterwards.
    """
    texts, labels = CHINA
    before = TextClassifier(smoothing=1.0).fit(texts, labels)
    after = TextClassifier(smoothing=1.0, model="multinomial").fit(
        [*texts, "Chinese Chinese Japan"], [*labels, "japan"]
    )
    found = difference(before, after)
    expected = (log(6 / 14) - log(2 / 9), log(6 / 14) - log(4 / 12))
    assert found["log-odds", "china", "chinese"] == pytest.approx(expected)
    assert found["log-odds", "japan", "chinese"] == pytest.approx([-each for each in expected])
    assert found["size", "", "documents"] == (4, 5)


def test_new_and_lost() -> None:
    """Labels, features and settings that only one of them has."""
    before = TextClassifier(stop_words=("the",)).fit(*CHINA)
    after = TextClassifier(model="bernoulli").fit(
        ["chinese chinese", "paris paris france"], ["china", "france"]
    )
    found = difference(before, after)
    assert found["new label", "france", ""] == found["lost label", "japan", ""] == (None, None)
    new = [(key[2], *values) for key, values in found.items() if key[0] == "new feature"]
    assert new == [("paris", None, 2.0), ("france", None, 1.0)]
    assert n_common(found) == 1
    assert sum(key[0] == "lost feature" for key in found) == 5
    assert {key[2] for key in found if key[0] == "setting"} == {"model", "stop_words"}
    assert {key[1] for key in found if key[0] == "log-odds"} <= {"china"}


def test_hashed_features() -> None:
    """Hashed features are compared by columns if both models have the same number of them,
    otherwise not at all.
    """
    one, other, names = (
        TextClassifier(**options).fit(*CHINA)
        for options in ({"hash_bits": 4}, {"hash_bits": 5}, {})
    )
    assert n_common(difference(one, one)) == 16
    assert n_common(difference(one, other)) == n_common(difference(one, names)) == 0


@pytest.mark.parametrize("form", OUTPUT_FORMATS)
def test_every_form_is_harmless(form: str) -> None:
    """Control characters in labels and features are escaped in every format."""
    before = TextClassifier(analyzer="char").fit(["a\x1b[31m", "b\x07"], [HOSTILE, "b"])
    after = TextClassifier(analyzer="char").fit(
        ["a\x1b[31m", "b\x07", "c\x1b"], [HOSTILE, "b", HOSTILE + "2"]
    )
    changes = list_differences(before.model_, after.model_)
    text = "".join(format_result(difference_result(changes), form))
    assert form in ("csv", "tsv") or "\x1b" not in text
    if form == "json":
        new = [each["label"] for each in json.loads(text) if each["what"] == "new label"]
        assert new == [HOSTILE + "2"]

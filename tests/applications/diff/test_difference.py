"""The difference between two models."""

import json
from math import log

import pytest

from nbtext.applications.diff.difference import Difference, compare_models
from nbtext.applications.diff.result import difference_result
from nbtext.report.records import OUTPUT_FORMATS
from nbtext.report.result import format_result
from nbtext.text_classifier import TextClassifier

CHINA = (
    ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"],
    ["china", "china", "china", "japan"],
)
HOSTILE = "a\x1b[31m\tb\n<script>|c\\d\udcff"


def difference(before: TextClassifier, after: TextClassifier) -> Difference:
    return compare_models(before.model_, after.model_)


def test_nothing_has_changed() -> None:
    """The difference between a model and itself is empty."""
    classifier = TextClassifier().fit(*CHINA)
    found = difference(classifier, classifier)
    assert all(change.before == change.after for change in found.sizes)
    assert (found.settings, found.new_labels, found.lost_labels, found.moves) == ((), (), (), ())
    assert (found.n_common, found.n_new, found.n_lost) == (6, 0, 0)


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
    moves = {(move.label, move.feature): move for move in found.moves}
    assert moves["china", "chinese"].before == pytest.approx(log(6 / 14) - log(2 / 9))
    assert moves["china", "chinese"].after == pytest.approx(log(6 / 14) - log(4 / 12))
    assert moves["china", "chinese"].change == pytest.approx(-moves["japan", "chinese"].change)
    sizes = {change.name: (change.before, change.after) for change in found.sizes}
    assert sizes["documents"] == (4, 5)


def test_new_and_lost() -> None:
    """Labels, features and settings that only one of them has."""
    before = TextClassifier(stop_words=("the",)).fit(*CHINA)
    after = TextClassifier(model="bernoulli").fit(
        ["chinese chinese", "paris paris france"], ["china", "france"]
    )
    found = difference(before, after)
    assert (found.new_labels, found.lost_labels) == (("france",), ("japan",))
    assert found.new_features == (("paris", 2.0), ("france", 1.0))
    assert (found.n_common, found.n_lost) == (1, 5)
    assert {change.name for change in found.settings} == {"model", "stop_words"}
    assert {move.label for move in found.moves} <= {"china"}


def test_hashed_features() -> None:
    """Hashed features are compared by columns if both models have the same number of them,
    otherwise not at all.
    """
    one, other, names = (
        TextClassifier(**options).fit(*CHINA)
        for options in ({"hash_bits": 4}, {"hash_bits": 5}, {})
    )
    assert difference(one, one).n_common == 16
    assert difference(one, other).n_common == difference(one, names).n_common == 0


@pytest.mark.parametrize("form", OUTPUT_FORMATS)
def test_every_form_is_harmless(form: str) -> None:
    """Control characters in labels and features are escaped in every format."""
    before = TextClassifier(analyzer="char").fit(["a\x1b[31m", "b\x07"], [HOSTILE, "b"])
    after = TextClassifier(analyzer="char").fit(
        ["a\x1b[31m", "b\x07", "c\x1b"], [HOSTILE, "b", HOSTILE + "2"]
    )
    text = "".join(format_result(difference_result(difference(before, after)), form))
    assert form in ("csv", "tsv") or "\x1b" not in text
    if form == "json":
        assert json.loads(text)["new_labels"] == [HOSTILE + "2"]

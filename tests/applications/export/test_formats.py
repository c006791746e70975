"""Exported models predict as the model does, in programs without nbtext."""

import csv
import io
import json
import subprocess
import unicodedata
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from demo_models import ask_javascript, check_answers, draw_options, export, exported, predicted

from nbtext.applications.export.command import EXPORTERS
from nbtext.applications.export.exporter import check_dense
from nbtext.applications.export.javascript import javascript
from nbtext.applications.export.sklearn_pipeline import check_pipeline
from nbtext.applications.export.table import PARAMETERS
from nbtext.errors import ModelError
from nbtext.features.analyzer import Analyzer
from nbtext.features.settings import FeatureSettings
from nbtext.model.predictor import Predictor
from nbtext.records import frozen
from nbtext.settings import setting
from nbtext.text_classifier import TextClassifier

PERILOUS = (
    "aAbBéÉßſıİΣσςΑ \t\n\xa0\x1c\x85\u2003\ufeff_-'0½²x\u0301\u0307\u0345ﬁ漢字"
    "\U0001f600\U00010400\U0001d400\udfff:\xadΐŉǰ"
)


@frozen(kw_only=True)
class MoreFeatureSettings(FeatureSettings):
    """Settings with a field that no exporter knows."""

    reversed_words: bool = setting(False, "Read words from right to left.")


@pytest.mark.parametrize("form", ["c", "js", "sklearn"])
@pytest.mark.parametrize("is_changed", [False, True])
def test_a_setting_that_exporters_do_not_know(form: str, is_changed: bool) -> None:
    """A field that is added to the settings of features is refused until it is translated."""
    classifier = TextClassifier().fit(["red round", "long thin"], ["a", "b"])
    fitted = replace(
        classifier.fitted_, feature_settings=MoreFeatureSettings(reversed_words=is_changed)
    )
    check = check_pipeline if form == "sklearn" else EXPORTERS[form].check
    if not is_changed:
        check(fitted)
        return
    with pytest.raises(ModelError, match="the setting `reversed_words`"):
        check(fitted)


@pytest.mark.exhaustive(every=4)
def test_javascript(
    node: str, classifier: TextClassifier, texts: list[str], tmp_path: Path
) -> None:
    """Labels are equal, and probabilities equal to 1e-9, also of a text without a known word."""
    answers = ask_javascript(node, classifier, texts, tmp_path)
    expected = classifier.predict(texts)
    check_answers(answers, classifier, classifier.predict_proba(texts))
    assert [answer["label"] for answer in answers] == list(map(str, expected))


def known_to(node: str, characters: list[str]) -> list[str]:
    """Those that JavaScript's Unicode has."""
    program = """const all = [...JSON.parse(require("node:fs").readFileSync(0))];
        console.log(JSON.stringify(all.filter((each) => !/\\p{Cn}/u.test(each)).join("")));"""
    done = subprocess.run(
        [node, "-e", program],
        input=json.dumps("".join(characters)),
        capture_output=True,
        text=True,
        check=True,
    )
    return list(json.loads(done.stdout))


@pytest.mark.exhaustive
@pytest.mark.parametrize("accents", [None, "unicode", "ascii"])
def test_javascript_finds_the_same_words(node: str, tmp_path: Path, accents: Any) -> None:
    """For every character that Unicode had assigned when this Python was made, and JavaScript,
    between two letters.
    """
    characters = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    assigned = [
        c for c in known_to(node, characters) if unicodedata.category(c) not in ("Cn", "Co")
    ]
    assert len(assigned) > 140_000  # Unicode 14 has as many
    texts = [
        "".join(f" ab{c}cd{c} {c}{c}" for c in assigned[start : start + 500])
        for start in range(0, len(assigned), 500)
    ]
    classifier = TextClassifier(strip_accents=accents).fit(["one two", "three"], ["a", "b"])
    found = ask_javascript(node, classifier, texts, tmp_path, "features")
    analyzer = Analyzer(classifier.feature_settings)
    for text, words in zip(texts, found, strict=True):
        assert words == analyzer(text)


@pytest.mark.parametrize("seed", range(10))
def test_javascript_of_random_texts(node: str, tmp_path: Path, seed: int) -> None:
    """Models of any options, of short texts of characters that programs disagree about, answer
    alike.
    """
    random = Random(seed)
    texts = ["".join(random.choices(PERILOUS, k=random.randint(0, 40))) for _ in range(60)]
    options = draw_options(random, seed) | {
        "strip_accents": random.choice([None, "unicode", "ascii"])
    }
    classifier = TextClassifier(**options).fit(
        texts[:30], [random.choice(["a", '"\\', "\u2028<"]) for _ in range(30)]
    )
    answers = ask_javascript(node, classifier, texts, tmp_path)
    expected = predicted(classifier, texts)
    check_answers(answers, classifier, expected.probabilities)
    assert [
        () if answer["label"] is None else (answer["label"],) for answer in answers
    ] == expected.labels


def test_javascript_of_any_names(node: str, tmp_path: Path) -> None:
    """Words and labels that are syntax in JavaScript or HTML are exported like others."""
    texts = ["__proto__ constructor", "toString 42 </script>"]
    labels = ["__proto__", "</script>"]
    classifier = TextClassifier(model="multinomial").fit(texts * 3, labels * 3)
    assert [
        answer["label"] for answer in ask_javascript(node, classifier, texts, tmp_path)
    ] == labels
    assert b"</script" not in b"".join(javascript(classifier.fitted_)).partition(b"\n")[0]


@pytest.mark.exhaustive(every=3)
def test_csv(classifier: TextClassifier, texts: list[str]) -> None:
    """From the table alone, the scores of every text."""
    rows = list(csv.reader(io.StringIO(exported(classifier, "csv").decode())))
    assert rows[0] == ["kind", "feature", "idf", *classifier.fitted_.labels]
    assert {row[0] for row in rows[2:]} <= {"weight", *PARAMETERS}
    (bias,) = (np.array(row[3:], dtype=np.float64) for row in rows if row[0] == "bias")
    numbers = {row[1]: np.array(row[2:], dtype=np.float64) for row in rows if row[0] == "weight"}
    assert list(numbers) == list(classifier.fitted_.vocabulary or ())
    weighting = classifier.fitted_.weighting
    counted = Predictor(classifier.fitted_).count((texts,))
    weights = weighting.weights(counted.indptr, counted.indices, counted.counts)
    names = list(numbers)
    found = np.tile(bias, (len(texts), 1))
    for i in range(len(texts)):
        for entry in range(counted.indptr[i], counted.indptr[i + 1]):
            found[i] += weights[entry] * numbers[names[counted.indices[entry]]][1:]
    np.testing.assert_allclose(
        found, Predictor(classifier.fitted_).score((texts,)).scores, rtol=1e-12, atol=1e-9
    )
    if weighting.idf is not None:
        assert [row[0] for row in numbers.values()] == weighting.idf.tolist()


def test_a_word_of_no_letters() -> None:
    """A token pattern can find nothing, and that is a feature."""
    classifier = TextClassifier(token_pattern=r"\w*").fit(["one two", "three, four"], ["a", "b"])
    rows = list(csv.reader(io.StringIO(exported(classifier, "csv").decode())))
    weights = [row[:2] for row in rows if row[0] == "weight"]
    assert weights[:2] == [["weight", ""], ["weight", "four"]]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"hash_bits": 10}, " ".join(EXPORTERS)),
    ({"model": "gaussian"}, " ".join(EXPORTERS)),
    ({"model": "categorical"}, " ".join(EXPORTERS)),
    ({"stem": "english"}, "c js"),
    ({"token_pattern": r"\w+"}, "c js"),
    ({"strip_accents": "ascii"}, "c"),
]


@pytest.mark.parametrize(("options", "refusing"), REFUSED)
@pytest.mark.parametrize("form", EXPORTERS)
def test_what_a_format_cannot_hold(
    options: dict[str, Any], refusing: str, form: str, tmp_path: Path
) -> None:
    """A model that a format cannot express is refused in one line with a hint, and no file is left
    behind.
    """
    classifier = TextClassifier(**options).fit(
        ["red round", "red sweet", "long thin", "long bent"], ["a", "a", "b", "b"]
    )
    target = tmp_path / "out"
    if form not in refusing.split():
        export(classifier, form, str(target))
        return
    with pytest.raises(ModelError) as caught:
        export(classifier, form, str(target))
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_model_may_have_as_many_weights_as_a_format_can_hold() -> None:
    """Not one more."""
    model: Any = SimpleNamespace(
        check_one_label=print,  # it has one
        scorer=SimpleNamespace(derivation=None),
        vocabulary=range(1 << 20),
        labels=range(1 << 8),
    )
    check_dense(model)
    model.labels = range(1 + (1 << 8))
    with pytest.raises(ModelError, match="the model has 269,484,032 weights, too many"):
        check_dense(model)

"""Each exporter decides as `predict` does, or refuses the model by the name of what it lacks."""

import csv
import io
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from demo_models import ask_c, ask_javascript, documents, exported, predicted

from nbtext.applications.export.command import EXPORTERS
from nbtext.applications.export.exporter import Exporter
from nbtext.applications.export.javascript import javascript
from nbtext.artifact.model import drop_counts
from nbtext.bayes.calibration import TemperatureScaling
from nbtext.errors import ModelError
from nbtext.features.analyzer import Analyzer
from nbtext.model.fitted_model import make_trained_model
from nbtext.text_classifier import TextClassifier

TEXTS = [text[:60] for text in documents("test")[0]]
TEMPERATURES = {
    "none": None,
    "constant": TemperatureScaling(3.0, 0.0),
    "by length": TemperatureScaling(0.9, 0.5, 0.01),
}
DECISIONS: dict[str, tuple[str, ...]] = {
    "none": (),
    "log_loss": ("prior_adjustment",),
    "macro_f1": ("decision_offsets",),
    "targets": ("min_probabilities",),
    "both": ("prior_adjustment", "decision_offsets"),
    "scales": ("label_scales",),
}
# with a temperature by length; with a constant one, the bias of a pipeline has the adjustment
REFUSED = {
    "csv": "",
    "js": "min probabilities",
    "c": "min probabilities",
    "sklearn": "prior adjustment, decision offsets, min probabilities",
    "foreign": "prior adjustment, decision offsets, min probabilities",
}


@cache
def fit(model: str) -> TextClassifier:
    return TextClassifier(model=model).fit(*documents("train"))


def with_decisions(model: str, temperature: str, decision: str) -> TextClassifier:
    """A model whose labels depend on more than its scores."""
    classifier = fit(model)
    fitted = classifier.fitted_
    random = np.random.default_rng(5)
    n = len(fitted.labels)
    values = {
        "prior_adjustment": random.normal(size=n) * 2,
        "decision_offsets": random.normal(size=n) * 2,
        "min_probabilities": np.full(n, 0.4),
        "label_scales": random.uniform(0.3, 2.0, size=n),
    }
    own = {name: values[name] if name in DECISIONS[decision] else None for name in values}
    calibration = replace(fitted.calibration, temperature=TEMPERATURES[temperature], **own)
    fitted = replace(fitted, task=replace(fitted.task, calibration=calibration))
    return TextClassifier.from_model(make_trained_model(fitted, classifier.counts_))


def ask_csv(classifier: TextClassifier) -> list[str | None]:
    """The labels of the texts by the rows of a table alone."""
    header, *rows = csv.reader(io.StringIO(exported(classifier, "csv").decode()))
    weights = {row[1]: np.array(row[3:], float) for row in rows if row[0] == "weight"}
    numbers = {row[0]: np.array(row[3:], float) for row in rows if row[0] != "weight"}
    labels = header[3:]
    analyze = Analyzer(classifier.feature_settings)
    found: list[str | None] = []
    for text in TEXTS:
        words = [word for word in analyze(text) if word in weights]
        used = set(words) if classifier.fitted_.weighting.tf == "binary" else words
        scores = numbers["bias"] + sum(weights[word] for word in used)
        length = max(1, len(words))
        scores = scores / (numbers["temperature"] * length ** numbers["temperature_exponent"])
        p = np.exp(scores - scores.max())
        q = (1 - numbers["noise"]) * p / p.sum() + numbers["noise"] / len(labels)
        r = q * np.exp(numbers.get("prior_adjustment", 0))
        r /= r.sum()
        best = int((np.log(r) + numbers.get("decision_offset", 0)).argmax())
        is_withheld = r[best] < numbers.get("min_probability", np.zeros(len(labels)))[best]
        found.append(None if is_withheld else labels[best])
    return found


def ask(
    form: str, classifier: TextClassifier, node: str, cc: str, folder: Path
) -> list[str | None]:
    if form == "foreign":
        Exporter((), "", lambda model: None, javascript).check_model(classifier.fitted_)
        form = "js"
    if form == "csv":
        return ask_csv(classifier)
    if form == "sklearn":
        return list(map(str, classifier.to_sklearn().predict(TEXTS)))
    if form == "js":
        return [each["label"] for each in ask_javascript(node, classifier, TEXTS, folder)]
    numbers, _ = ask_c(cc, classifier, [text.encode() for text in TEXTS], folder)
    return [classifier.fitted_.labels[k] for k in numbers]


def test_each_exporter_is_tried() -> None:
    assert {*EXPORTERS, "sklearn", "foreign"} == set(REFUSED)


@pytest.mark.exhaustive(every=5)
@pytest.mark.parametrize("model", ["multinomial", "complement", "logistic"])
@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("form", REFUSED)
def test_labels_are_those_of_predict(
    node: str, cc: str, tmp_path: Path, form: str, decision: str, temperature: str, model: str
) -> None:
    classifier = with_decisions(model, temperature, decision)
    refused = [name.replace("_", " ") for name in DECISIONS[decision]]
    refused = [name for name in refused if name in REFUSED[form]]
    if form == "sklearn" and temperature != "by length":
        refused = [name for name in refused if name != "prior adjustment"]
    if refused:
        with pytest.raises(ModelError, match=refused[0]) as caught:
            ask(form, classifier, node, cc, tmp_path)
        assert caught.value.hint
        return
    labels = [each[0] if each else None for each in predicted(classifier, TEXTS).labels]
    assert ask(form, classifier, node, cc, tmp_path) == labels


@pytest.mark.parametrize("is_small", [False, True])
def test_combinations_with_scales_of_labels(
    node: str, cc: str, tmp_path: Path, is_small: bool
) -> None:
    """In several views, also with weights in 8 bits, as in the file that `train` writes."""
    trained = fit("combined").model_
    trained = drop_counts(trained) if is_small else trained
    fitted = trained.fitted
    scales = np.linspace(0.3, 2.0, len(fitted.labels))
    calibration = replace(fitted.calibration, label_scales=scales)
    fitted = replace(fitted, task=replace(fitted.task, calibration=calibration))
    counts = None if is_small else fit("combined").counts_
    classifier = TextClassifier.from_model(make_trained_model(fitted, counts))
    labels = [each[0] for each in predicted(classifier, TEXTS).labels]
    assert labels != [each[0] for each in predicted(fit("combined"), TEXTS).labels]
    for form in ("js", "c"):
        assert ask(form, classifier, node, cc, tmp_path) == labels

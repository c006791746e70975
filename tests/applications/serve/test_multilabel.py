"""A service of a model that predicts several labels for a document."""

import json
from pathlib import Path
from typing import Any

import pytest
from made_files import read_rows, write_rows

from nbtext.text_classifier import TextClassifier

Running = Any  # see conftest.py
Start = Any
WORDS = {
    "animals": "cat dog horse cow",
    "food": "bread soup cheese rice",
    "cities": "paris rome oslo bern",
}


@pytest.fixture(scope="module")
def topics(nbtext: Any, tmp_path_factory: Any) -> Path:
    """A model of texts with two labels, one or none."""
    folder = tmp_path_factory.mktemp("topics")
    sets = [[], ["animals"], ["food"], ["cities"], ["animals", "food"], ["cities", "food"]]
    rows = []
    for place in range(120):
        labels = sets[place % len(sets)]
        words = [WORDS[label].split()[(place + k) % 4] for label in labels for k in range(2)]
        text = " ".join([*words, "the", "a", ["of", "in", "to"][place // 6 % 3]])
        rows.append({"text": text, "label": labels})
    write_rows(folder / "t.jsonl", rows)
    nbtext("train t.jsonl --keep-sample 200 -o topics.joblib", cwd=folder).ok()
    return folder / "topics.joblib"


@pytest.fixture(scope="module")
def service(start: Start, topics: Path) -> Running:
    """A service of that model."""
    return start("-m", topics)


def test_predictions(service: Running) -> None:
    """Lists of labels and probabilities, in JSON and JSON lines; options of several labels."""
    texts = ["the cat dog and the soup bread", "of the a", ""]
    found = service.predict(texts)
    assert [set(each["labels"]) for each in found] == [{"animals", "food"}, set(), {"food"}]
    assert found[0]["probabilities"] == [found[0]["scores"][label] for label in found[0]["labels"]]
    assert (found[2]["known"], "reason" in found[2]) == (0, False)
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    assert service.post("/v1/predict", lines, content_type="application/jsonl").lines == found
    assert len(service.post("/v1/predict?threshold=0", texts).value[0]["labels"]) == 3
    one = service.post("/v1/predict?threshold=1&at_least_one=true", texts).value[1]
    assert len(one["labels"]) == 1
    service.post("/v1/predict?min_probability=0.5", texts).refused(
        400, "cannot be used with a multi-label model"
    )
    (described,) = service.get("/v1/models").value["models"]
    assert described["several_labels"] is True
    assert described["labels"] == ["animals", "cities", "food"]


def test_explanations(service: Running, nbtext: Any, topics: Path, tmp_path: Path) -> None:
    """Each predicted label by its words, as the command explains it."""
    texts = ["the cat dog and the soup bread", "of the a", ""]
    found = service.post("/v1/explain?marks=true", texts).value
    labels = [one["label"] for one in found[0]["explanations"]]
    assert labels == service.predict(texts)[0]["labels"]
    assert "".join(text for text, _ in found[0]["explanations"][0]["marks"]) == texts[0]
    assert (len(found[1]["explanations"]), found[1]["reason"]) == (1, None)
    assert (found[2]["id"], found[2]["reason"]) == ("3", None)
    write_rows(tmp_path / "one.jsonl", [{"id": "1", "text": texts[0]}])
    explained = nbtext(f"explain one.jsonl -m {topics} --to jsonl")
    one = {"text": texts[0]}
    assert explained.records == service.post("/v1/explain", one).value["explanations"]
    chosen = service.post("/v1/explain?label=cities&features=1", one).value["explanations"]
    assert [(each["label"], len(each["contributions"])) for each in chosen] == [("cities", 1)]
    service.post("/v1/explain?against=food", one).refused(400, "explains each label alone")


def test_most_labels_of_a_document_that_are_explained(start: Start, tmp_path: Path) -> None:
    """An answer repeats the text for each label, so their number has a limit; another label can be
    asked for.
    """
    labels = [f"l{number:02}" for number in range(30)]
    texts = [f"all every {' '.join(labels)}"] * 20 + [f"none {label}" for label in labels]
    TextClassifier().fit(texts, [labels] * 20 + [[]] * 30).save(tmp_path / "many.joblib")
    service = start("-m", tmp_path / "many.joblib")
    assert len(service.predict({"text": texts[0]})["labels"]) == 30
    assert len(service.post("/v1/explain", {"text": texts[0]}).value["explanations"]) == 20
    assert len(service.post("/v1/explain?label=l29", {"text": texts[0]}).value["explanations"]) == 1


def test_options_of_several_labels(start: Start, model: Path) -> None:
    """A single-label model refuses them."""
    service = start("-m", model)
    for option in ("threshold=0.5", "at_least_one=true"):
        service.post(f"/v1/predict?{option}", {"text": "the bins"}).refused(
            400, "cannot be used with a single-label model"
        )


def test_feedback_of_a_column_for_each_label(start: Start, nbtext: Any, tmp_path: Path) -> None:
    """`nbtext update` reads the columns that the model was trained on, also one whose name is a key
    of each line.
    """
    rows = ["red,1,0", "blue,0,1", "red blue,1,1", "green,0,0"] * 3
    (tmp_path / "t.csv").write_text("\n".join(["text,warm,time", *rows, ""]))
    nbtext("train t.csv --label-fields warm,time -o m.joblib").ok()
    service = start("-m", tmp_path / "m.joblib", "--feedback-dir", tmp_path, "--new-labels")
    sent = [{"text": "orange", "label": ["warm"]}, {"text": "dusk", "label": ["time", "warm"]}]
    sent += [{"text": "grey", "label": []}]
    assert service.post("/v1/models/m/feedback", sent).value == {"stored": 3}
    service.post("/v1/models/m/feedback", {"text": "x", "label": ["cold"]}).refused(
        400, "the label 'cold' has no column"
    )
    stored = read_rows(tmp_path / "m.jsonl")
    assert [(each["text"], each["warm"], each["time"]) for each in stored] == [
        ("orange", 1, 0),
        ("dusk", 1, 1),
        ("grey", 0, 0),
    ]
    nbtext("update m.joblib m.jsonl").ok()


def test_feedback_is_learned(start: Start, nbtext: Any, topics: Path, tmp_path: Path) -> None:
    """Feedback has lists of labels, which the model learns; an empty list is a document without
    label.
    """
    model = tmp_path / "topics.joblib"
    model.write_bytes(topics.read_bytes())
    service = start("-m", model, "--feedback-dir", tmp_path / "new")
    path = "/v1/models/topics/feedback"
    labels = [["animals"], ["food", "animals"], [], "cities"]
    sent = [{"text": "the wolf", "label": label} for label in labels]
    assert service.post(path, sent).value == {"stored": 4}
    stored = read_rows(tmp_path / "new" / "topics.jsonl")
    assert [each["label"] for each in stored] == [*labels[:3], ["cities"]]
    service.post(path, {"text": "x", "label": ["animals", "plants"]}).refused(
        400, "no label 'plants'"
    )

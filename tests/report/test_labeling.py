"""What the screen of `nbtext label` says of a prediction."""

from nbtext import TextClassifier
from nbtext.documents.batch import Batch
from nbtext.model.explanation import Explainer
from nbtext.report.labeling import format_prediction


def test_a_label_that_begins_with_not() -> None:
    """`not spam` is a label like others, not the absence of the label `spam`."""
    texts = ["win a prize now", "free money prize", "lunch on monday", "the monday meeting"]
    classifier = TextClassifier().fit(texts, ["spam", "spam", "not spam", "not spam"])
    explainer = Explainer(classifier.model_.fitted)
    batch = Batch(["1"], (["a free prize"],), [None])
    line = format_prediction(explainer.explain_batch(batch))
    assert line.startswith("prediction: spam ")
    assert ", then not spam " in line

"""What the screen of `nbtext label` says of a prediction."""

from rich.cells import cell_len

from nbtext import TextClassifier
from nbtext.applications.label.screen import draw_labels, format_prediction
from nbtext.documents.batch import Batch
from nbtext.model.explanation import Explainer
from nbtext.report.terminal import Screen

LABELS = (
    "transport and traffic / bicycle parking at the stations of regional railways",
    "housing / rent subsidies for families with several children and low income",
    "日本語の長いラベルは二倍の幅を使うので表の幅をはみ出すことがある交通と交通渋滞",
    "none",
)


def test_a_label_that_begins_with_not() -> None:
    """`not spam` is a label like others, not the absence of the label `spam`."""
    texts = ["win a prize now", "free money prize", "lunch on monday", "the monday meeting"]
    classifier = TextClassifier().fit(texts, ["spam", "spam", "not spam", "not spam"])
    explainer = Explainer(classifier.model_.fitted)
    batch = Batch(["1"], (["a free prize"],), [None])
    line = format_prediction(explainer.explain_batch(batch))
    assert line.startswith("prediction: spam ")
    assert ", not spam " in line


def test_labels_to_choose_from_are_cut() -> None:
    """The keys of `nbtext label` stay, and their labels end in a mark."""
    for width in (80, 100):
        lines = draw_labels(LABELS, set(), Screen(width))
        assert max(map(cell_len, lines)) <= width
        shown = "\n".join(lines)
        assert all(f"{n} {label[:10]}" in shown for n, label in enumerate(LABELS, 1))
        assert shown.count("…") == 3

"""What training found, in a few lines."""

from __future__ import annotations

from nbtext.classifier.text_classifier import TextClassifier


def trained(classifier: TextClassifier) -> str:
    """What was learned, which smoothing was chosen, and what leave-one-out expects of new documents."""
    statistics, reading = classifier.tally_.statistics, classifier.reading_
    found = (
        f"{classifier.modelling.model}: {statistics.n_documents:,} documents, {len(classifier.labels):,} labels, "
        f"{reading.scorer.n_features:,} features; "
    )
    choice = reading.choice
    found += f"smoothing {choice.smoothing:.4g}" if choice.penalty is None else f"C {choice.penalty:.4g}"
    expected = reading.choice.expectation
    if expected is None:
        return found
    judge = "leave-one-out" if choice.penalty is None else f"{classifier.modelling.folds} folds"
    return f"{found}; expect accuracy {expected.accuracy:.4f}, log-loss {expected.log_loss:.4f} ({judge})"


def approximated(classifier: TextClassifier) -> str | None:
    """What of the model was fitted to other documents than it has learned by now, and what to do; None: nothing."""
    approximate = classifier.reading_.choice.approximate
    if not approximate:
        return None
    expected = classifier.reading_.choice.expectation
    whose = "as before" if expected is None else f"by {expected.documents:,} documents that its sample still has"
    named = ", ".join(approximate).replace("_", " ")
    return (
        f"approximate ({whose}): {named}; fit them afresh with nbtext calibrate, or train with --keep-sample N, "
        "which keeps what they are fitted to"
    )

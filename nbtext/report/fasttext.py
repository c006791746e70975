"""Predictions as fastText prints them: a line for each document, with its labels as words `__label__NAME`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nbtext.errors import SettingsError
from nbtext.model.multilabel_predictions import AnyPredictions, MultilabelPredictions

PREFIX = "__label__"
DIGITS = 6  # decimals of a probability

_blank = re.compile(r"\s")


def format_fasttext(batch: AnyPredictions, top_k: int | None) -> str:
    """Format the predicted labels, as `fasttext predict` prints them; of `top_k` labels, with their probabilities.

    Raises
    ------
    SettingsError
        A label holds a space, which ends a label in this format.
    """
    for label in batch.classes:
        if _blank.search(label) or not label:
            hint = "choose --to jsonl, or rename the label"
            raise SettingsError(
                f"the label {label!r} holds a space, which ends a label", where="--to fasttext", hint=hint
            )
    if top_k is not None:
        return "".join(
            " ".join(f"{PREFIX}{batch.classes[k]} {batch.probabilities[row, k]:.{DIGITS}f}" for k in classes) + "\n"
            for row, classes in enumerate(batch.most_probable(top_k))
        )
    return "".join(" ".join(f"{PREFIX}{label}" for label in labels) + "\n" for labels in _sets(batch))


def _sets(batch: AnyPredictions) -> Iterable[tuple[str, ...]]:
    if isinstance(batch, MultilabelPredictions):
        return batch.predicted
    return ((label,) if label is not None else () for label in batch.labels)

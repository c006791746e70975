"""Models that let what they learned fade: older documents weigh less than newer ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbtext.errors import ModelError
from nbtext.features.document_counts import concatenate
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitting import needs_all_documents

if TYPE_CHECKING:
    from nbtext.model.text_classifier import TextClassifier

WHOLE = 1.0  # the factor of what has not aged


def faded(tally: CorpusCounts, factor: float) -> CorpusCounts:
    """What was counted, each document of it weighing this many times as much, from 0 to 1.

    All counts are sums over documents, so that it is the same to weigh the counts. With the factor 2^(−t / h) for each
    time t that passes between two updates, h being the half-life, a document of age a weighs
    2^(−t₁ / h) · 2^(−t₂ / h) · … = 2^(−a / h) in the end, whenever the updates were. No count falls below 1e-300, so
    that labels and words stay known.

    source  exponential forgetting: Klinkenberg, Learning Drifting Concepts, 2004, section 3.2 (global weighting)
    """
    if factor == WHOLE:
        return tally
    return replace(tally, statistics=tally.statistics.decayed(factor), sample=concatenate(()), sample_size=0)


def check_fading(classifier: TextClassifier) -> None:
    """Raise ModelError unless older documents can weigh less in this model."""
    hint = "train it without --keep-sample"
    if classifier.modelling.keep_sample is not None:
        raise ModelError("the documents that the model keeps would all weigh alike", where="--half-life", hint=hint)
    if needs_all_documents(classifier.features, classifier.modelling):
        raise ModelError("the model is made of whole documents, which weigh alike", where="--half-life")


def check_whole(classifier: TextClassifier) -> None:
    """Raise ModelError where documents weigh less than one, and nobody knows which weighs how much."""
    if classifier.counts_.statistics.is_decayed:
        raise ModelError(
            "older documents weigh less in this model (--half-life), and it does not know how much each of them does",
            hint="train it again, on the documents that are wanted",
        )

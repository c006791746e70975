"""The words of unlabeled documents, of which a model gets the vectors."""

from __future__ import annotations

from dataclasses import replace

from nbtext.model.source_counting import CountingTask, count_in_threads, source_features
from nbtext.model.training import Documents, Training
from nbtext.model.word_pieces import remove_prefix


def add_unlabeled_words(given: Training, unlabeled: Documents) -> Training:
    """Return what to train on, with the words of unlabeled documents, the most frequent ones first,
    as words that the model gets from a table.
    """
    with unlabeled() as (source, on_batch):
        features = source_features(source, given.features)
        features = replace(features, view=(), analyzer="word", ngrams=(1, 1))
        task = CountingTask(features, 0, is_labeled=False)
        counts = count_in_threads(source, task, given.jobs, on_batch)
    assert counts.vocabulary is not None
    order = (-counts.statistics.feature_occurrences).argsort(kind="stable")
    prefixes = [f"{field}:" for field in features.fields] or [""]
    terms = counts.vocabulary.terms
    words = (remove_prefix(terms[column], prefixes) for column in order.tolist())
    more_words = tuple(dict.fromkeys(words))
    return replace(given, settings=replace(given.settings, more_words=more_words))

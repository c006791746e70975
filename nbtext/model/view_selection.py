"""The views that `train` selects where no option names features, by leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.bayes.diagnostics import LeaveOneOutEstimate, ViewChoice
from nbtext.bayes.settings import AUTO, COMBINED, ModelSettings
from nbtext.documents.batch import Batch
from nbtext.documents.source import MAX_AHEAD, Source
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import (
    UNSPACED,
    WORDS,
    compute_unspaced_share,
    find_views,
    take_view,
)
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.source_counting import OnBatch
from nbtext.model.tasks import TASKS
from nbtext.output import note_phase
from nbtext.records import Strings

if TYPE_CHECKING:
    from nbtext.model.fitted_model import FittedModel

WORD_VIEWS = (WORDS, "word:2")
# With 1,5 in place of 2,5, accuracy on held-out training documents rises by 0.003 to 0.005 for
# messages, and by 0.004 for 1,000 short questions, but falls by 0.003 and 0.006 for 385 and 700.
CHARACTER_VIEW = "char_wb:2,5"
# Where words are not separated. Accuracy beside words, pairs of words and 2,5: Japanese sentences
# (300 and 800) 0.850, 0.870 and 0.906, 0.912; Thai messages (300, 1,000, 3,000 and 17,000) 0.598,
# 0.612, then 0.637, 0.642, then 0.673, 0.677 and 0.704, 0.706, in half the time.
UNSPACED_VIEWS = (WORDS, "char_wb:1,4")
# Mean number of words up to which characters are counted, too: about as many as in what a model
# search calls short. Parts of words are evidence where there are few words. Accuracy on held-out
# training documents without and with them: 77 short questions 0.878, 0.891; sentences 0.788, 0.796;
# messages 0.988, 0.991.
MAX_SHORT_WORDS = 40.0
# Bytes of a source up to which pairs of words, and characters of separated words, are counted
# unasked: they take several times as long as words, and bring less the more documents there are.
MAX_SELECTED_BYTES = 40_000_000
MAX_CHARACTER_BYTES = 16_000_000
MIN_SELECTED = 100  # different documents that leave-one-out needs to tell views apart
MAX_LABELS = 1024  # with more, the scores of all documents in several views are too many
# counts all documents with some settings; the second argument is called with each batch
Count = Callable[[FeatureSettings, OnBatch | None], CorpusCounts]


class NotComparedError(Exception):
    """The documents have several labels, or are too many: then no views are compared."""


class Counted(NamedTuple):
    """A counted corpus.

    fitted  the model of the views that were selected; None: it has to be fitted
    """

    features: FeatureSettings
    settings: ModelSettings
    counts: CorpusCounts
    fitted: FittedModel | None = None


def count_for_model(
    count: Count,
    source: Source,
    features: FeatureSettings,
    settings: ModelSettings,
    on_batch: OnBatch | None,
    *,
    jobs: int,
    may_select: bool,
) -> Counted:
    """Count a corpus in the views that the settings name, or that are best for it.

    If the settings leave the features to the model `combined`, it has a view of words and one of
    pairs of words, and one of character n-grams within words if documents are short; where words
    are not separated, it has words and character n-grams. If the settings leave the model open,
    too, words alone are compared with that; see `fit_better_views`. Of a large corpus whose words
    are separated, words alone are counted.

    on_batch    is called while the documents are counted for the first time
    may_select  whether views may be selected if the settings leave them open
    """
    is_combined = settings.model == COMBINED and features.is_of_single_words
    is_open = (
        may_select
        # the settings name neither features nor an event model
        and (settings.smoothing, settings.prior, settings.model) == (None, None, AUTO)
        and not settings.vectors
        and replace(features, fields=()) == FeatureSettings()
        and not source.names_matrix
    )
    if not (is_open or is_combined):
        return Counted(features, settings, count(features, on_batch))
    views: Strings = WORD_VIEWS
    if is_open and source.measure(MAX_SELECTED_BYTES) > MAX_SELECTED_BYTES:
        views = ()
    else:
        source.keep_documents()
    n_documents = n_told = 0

    def watch(block: Any, batch: Batch) -> None:
        nonlocal n_documents, n_told
        n_documents += len(batch)
        if is_open and (batch.has_lists or n_documents > MAX_AHEAD):
            raise NotComparedError
        if on_batch is not None:
            on_batch(block, batch)
            n_told += 1

    def go_on(block: Any, batch: Batch) -> None:
        nonlocal n_told
        n_told -= 1
        if on_batch is not None and n_told < 0:  # the first ones were told before
            on_batch(block, batch)

    told = watch if len(views) > 0 else on_batch
    try:
        counts = count(replace(features, view=views), told)
    except NotComparedError:
        source.keep_documents()  # all of them, not only those that were counted
        views = ()
        counts = count(features, go_on)
    is_small = is_combined or source.measure(MAX_CHARACTER_BYTES) <= MAX_CHARACTER_BYTES
    chosen = choose_views(counts, views, features.fields, may_add=is_small)
    if is_open and chosen != views and not (source.is_repeatable and can_compare(counts)):
        chosen = views
    if chosen != views:
        del counts
        counts = count(replace(features, view=chosen), None)
    combined = replace(features, view=chosen)
    if is_combined or not chosen:
        return Counted(combined, settings, counts)
    together = fit_better_views(counts, combined, settings, jobs=jobs)
    if together is not None:
        return Counted(combined, together.model_settings, counts, together)
    del counts
    return Counted(features, settings, count(features, None))


def choose_views(
    counts: CorpusCounts, views: Strings, fields: Strings, *, may_add: bool
) -> Strings:
    """Return the views that a combination has: those that were counted, with characters if
    documents are short, or words and characters where words are not separated.

    views    that were counted; none: words
    may_add  whether a view of characters may be added to those that were counted
    """
    words = counts.vocabulary
    assert words is not None  # for the types: views are not hashed
    occurrences = counts.statistics.feature_occurrences
    if views:
        view = views.index(WORDS)
        start, stop = find_views(words, views)[view : view + 2].tolist()
        occurrences = occurrences[start:stop]
        words = take_view(words, views, view)
    if compute_unspaced_share(words, occurrences, fields) >= UNSPACED:
        return UNSPACED_VIEWS
    is_short = occurrences.sum() <= MAX_SHORT_WORDS * counts.statistics.n_documents
    return (*views, CHARACTER_VIEW) if views and may_add and is_short else views


def can_compare(counts: CorpusCounts) -> bool:
    """Return whether there are enough different documents, of one label each, and not too many
    labels to compare views by leave-one-out.
    """
    n_different = 1 + int(np.count_nonzero(np.diff(counts.sample.hashes)))
    is_one = TASKS[counts.task].has_one_label
    return is_one and len(counts.labels) <= MAX_LABELS and n_different >= MIN_SELECTED


def fit_better_views(
    counts: CorpusCounts, features: FeatureSettings, settings: ModelSettings, *, jobs: int
) -> FittedModel | None:
    """Return a combination of the views; None if the model `auto` of words alone has as high a
    leave-one-out accuracy, or as low a log-loss, or if they cannot be compared: there are too few
    different documents, too many labels, or no estimates.

    counts  of all views, which retain documents to leave out
    """
    from nbtext.model.fitting import fit_model

    vocabulary = counts.vocabulary
    if vocabulary is None or not can_compare(counts):
        return None
    view = features.view.index(WORDS)
    words = counts.restrict(np.arange(*find_views(vocabulary, features.view)[view : view + 2]))
    words = replace(words, vocabulary=take_view(vocabulary, features.view, view))
    alone = fit_model(words, replace(features, view=()), settings, jobs=jobs).estimate
    del words
    together = fit_model(counts, features, replace(settings, model=COMBINED), jobs=jobs)
    found = together.estimate
    if not (isinstance(alone, LeaveOneOutEstimate) and isinstance(found, LeaveOneOutEstimate)):
        return None
    for views, each in (("words alone", alone), (", ".join(features.view), found)):
        note_phase("%s: accuracy %.4f, log-loss %.4f", views, each.accuracy, each.log_loss)
    if found.accuracy <= alone.accuracy or found.log_loss >= alone.log_loss:
        return None
    choice = ViewChoice(alone.accuracy, found.accuracy - alone.accuracy)
    return replace(together, view_choice=choice)

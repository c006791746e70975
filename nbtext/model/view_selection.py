"""The views that `train` selects where no option names features, by leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.diagnostics import LeaveOneOutEstimate, ViewChoice
from nbtext.bayes.settings import AUTO, COMBINED, ModelSettings
from nbtext.documents.batch import Batch
from nbtext.documents.source import MAX_AHEAD, Source
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import (
    UNSPACED,
    WORDS,
    Vocabulary,
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
# Views where words are not separated. Accuracy on held-out training documents with words, pairs of
# words and 2,5, and with these: Japanese sentences 0.850, 0.870 (300 of them) and 0.906, 0.912
# (800); Thai messages 0.598, 0.612 (300), 0.637, 0.642 (1,000), 0.673, 0.677 (3,000) and 0.704,
# 0.706 (17,000), in half the time. With words alone, and with these, of too few documents to
# compare: Japanese sentences 0.572, 0.653 (20), 0.557, 0.694 (50) and 0.594, 0.768 (90); Thai
# messages 0.467, 0.476 (20), 0.537, 0.528 (50) and 0.531, 0.521 (90).
UNSPACED_VIEWS = ("char_wb:1,4", WORDS)
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
    too, this combination is compared with words alone; see `fit_views`. Of a large corpus whose
    words are separated, only single words are counted.

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

    views: Strings = ()  # that were counted; none: words
    if is_combined or source.measure(MAX_SELECTED_BYTES) <= MAX_SELECTED_BYTES:
        source.keep_documents()
        try:
            counts = count(replace(features, view=WORD_VIEWS), watch)
            views = WORD_VIEWS
        except NotComparedError:
            source.keep_documents()  # all of them, not only those that were counted
    if not views:
        counts = count(features, go_on)
    is_small = is_combined or source.measure(MAX_CHARACTER_BYTES) <= MAX_CHARACTER_BYTES
    better = choose_views(counts, views, features.fields, may_add=is_small)
    if better != views and (is_combined or (source.is_repeatable and can_combine(counts))):
        views = better
        del counts
        counts = count(replace(features, view=views), None)
    combined = replace(features, view=views)
    if is_combined or not views:
        return Counted(combined, settings, counts)
    together = fit_views(counts, combined, settings, jobs=jobs)
    if together is not None:
        return Counted(combined, together.model_settings, counts, together)
    del counts
    return Counted(features, settings, count(features, None))


def choose_views(
    counts: CorpusCounts, views: Strings, fields: Strings, *, may_add: bool
) -> Strings:
    """Return the views that suit the documents: words and characters where words are not separated;
    else those that were counted, with characters if documents are short.

    views    that were counted; none: words
    may_add  whether characters of separated words may be added
    """
    vocabulary = counts.vocabulary
    statistics = counts.statistics
    assert vocabulary is not None  # for the types: views are not hashed
    if views:
        view = views.index(WORDS)
        statistics = statistics.slice(*find_views(vocabulary, views)[view : view + 2].tolist())
        vocabulary = take_view(vocabulary, views, view)
    if is_unspaced(vocabulary, statistics, fields):
        return UNSPACED_VIEWS
    n_words = statistics.feature_occurrences.sum()
    is_short = n_words <= MAX_SHORT_WORDS * statistics.n_documents
    return (*views, CHARACTER_VIEW) if views and may_add and is_short else views


def is_unspaced(words: Vocabulary, statistics: ClassStatistics, fields: Strings = ()) -> bool:
    """Return whether at least UNSPACED of the words are runs of a script without spaces.

    words   single words, the features of the statistics
    fields  whose names the features begin with
    """
    return compute_unspaced_share(words, statistics.feature_occurrences, fields) >= UNSPACED


def can_combine(counts: CorpusCounts) -> bool:
    """Return whether views may be selected: documents have one label each, and labels are not too
    many.
    """
    return TASKS[counts.task].has_one_label and len(counts.labels) <= MAX_LABELS


def fit_views(
    counts: CorpusCounts, features: FeatureSettings, settings: ModelSettings, *, jobs: int
) -> FittedModel | None:
    """Return a combination of the views; None if the model `auto` of words alone has as high a
    leave-one-out accuracy, or as low a log-loss, or if there are too many labels, or no estimates.

    Fewer than MIN_SELECTED different documents cannot tell: then return None, but a combination
    where words are not separated.

    counts  of all views, which retain documents to leave out
    """
    from nbtext.model.fitting import fit_model

    if not can_combine(counts):
        return None
    combined = replace(settings, model=COMBINED)
    if np.count_nonzero(np.diff(counts.sample.hashes)) < MIN_SELECTED - 1:
        if features.view != UNSPACED_VIEWS:
            return None
        return fit_model(counts, features, combined, jobs=jobs)
    vocabulary = counts.vocabulary
    assert vocabulary is not None  # for the types: views are not hashed
    view = features.view.index(WORDS)
    words = counts.restrict(np.arange(*find_views(vocabulary, features.view)[view : view + 2]))
    words = replace(words, vocabulary=take_view(vocabulary, features.view, view))
    alone = fit_model(words, replace(features, view=()), settings, jobs=jobs).estimate
    del words
    together = fit_model(counts, features, combined, jobs=jobs)
    found = together.estimate
    if not (isinstance(alone, LeaveOneOutEstimate) and isinstance(found, LeaveOneOutEstimate)):
        return None
    for views, each in (("words alone", alone), (", ".join(features.view), found)):
        note_phase("%s: accuracy %.4f, log-loss %.4f", views, each.accuracy, each.log_loss)
    if found.accuracy <= alone.accuracy or found.log_loss >= alone.log_loss:
        return None
    choice = ViewChoice(alone.accuracy, found.accuracy - alone.accuracy)
    return replace(together, view_choice=choice)

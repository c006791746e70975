"""The step of `nbtext train --keywords`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nbtext.applications.keywords.keywords import KeywordFit, extend_ngrams, train_with_keywords
from nbtext.applications.keywords.settings import KeywordSettings
from nbtext.errors import list_some, number_of, printable
from nbtext.model.corpus_counts import SAMPLE_SIZE
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.source_counting import count_source, count_unlabeled, source_features
from nbtext.model.training import Training, train_model
from nbtext.records import Strings
from nbtext.registry import load_method
from nbtext.settings import refuse

MAX_FALL = 0.03  # of the agreement with hidden keywords, without a warning
MAX_CUT = 10  # keywords that are named


def train_by_keywords(settings: KeywordSettings, given: Training) -> TrainedModel:
    """Fit a model to keywords and unlabeled documents, and to labeled ones if there are other
    unlabeled ones.
    """
    keywords = settings.keywords
    assert keywords is not None  # the option asks for this step
    if given.settings.vectors:
        return _describe_labels(keywords, settings, given)
    jobs = given.jobs
    labeled = None
    with (given.unlabeled or given.labeled)() as (source, on_batch):
        for name in ("label", "missing_labels"):
            if getattr(source.settings, name) and not given.unlabeled:
                raise refuse(name, "with --keywords, SOURCE holds unlabeled documents")
        features = extend_ngrams(keywords, source_features(source, given.features))
        counts = count_unlabeled(source, features, jobs=jobs, on_batch=on_batch)
        model_input = source.model_input
    if given.unlabeled:
        with given.labeled() as (source, on_batch):
            labeled = count_source(
                source, features, jobs=jobs, sample_size=SAMPLE_SIZE, on_batch=on_batch
            )
    found = train_with_keywords(
        keywords,
        counts,
        features,
        given.settings,
        labeled=labeled,
        steps=settings.em or 0,
        jobs=jobs,
    )
    given.say(*format_keywords(found, len(counts.sample)))
    return replace(found.model, fitted=replace(found.model.fitted, input=model_input))


def _describe_labels(
    keywords: Mapping[str, Strings], settings: KeywordSettings, given: Training
) -> TrainedModel:
    """Train with word vectors, to which the keywords of a label are a description of it."""
    if settings.em is not None:
        raise refuse("em", "word vectors compare documents with keywords at once")
    names = tuple((label, " ".join(words)) for label, words in keywords.items())
    fit = load_method("train_by_names") if given.unlabeled is None else train_model
    trained: TrainedModel = fit(
        replace(
            given,
            settings=replace(given.settings, names=names),
            unlabeled=given.unlabeled or given.labeled,
            step=None,
        )
    )
    return trained


def format_keywords(found: KeywordFit, n_documents: int) -> list[str]:
    """Format how many documents keywords match, and whether expectation-maximization agrees with
    hidden keywords.
    """
    share = found.n_matched / max(1, n_documents)
    contain = "contains" if found.n_matched == 1 else "contain"
    lines = [
        f"keywords: {found.n_matched:,} of {number_of(n_documents, 'document')} {contain} one ({share:.0%})"
    ]
    if found.missing:
        lines.append(
            f"keywords that occur in no document: {list_some(map(printable, found.missing))}"
        )
    if found.cut:
        names = list_some(
            (f"{printable(word)} as {printable(read)}" for word, read in found.cut), MAX_CUT
        )
        lines.append(
            f"keywords of which only a part is read: {names}; to read every character, give --analyzer char"
        )
    if found.agreement is not None:
        before, after = found.agreement
        line = f"agreement with hidden keywords: {before:.4f} before EM, {after:.4f} after it"
        is_worse = before - after > MAX_FALL
        line += (
            "; warning: EM may make the model worse; compare with a model without --em" * is_worse
        )
        lines.append(line)
    return lines
